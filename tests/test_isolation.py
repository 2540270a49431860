"""Work in a process of its own: results, errors and limits."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from gpureport.errors import GpuReportError, InputError
from gpureport.inputs import parse_yaml
from gpureport.isolation import isolated


@pytest.mark.parametrize(
    ("function", "argument", "error", "message"),
    [
        (time.sleep, 10, InputError, "longer than 0.5 s"),
        (bytearray, 2**30, InputError, "more than 256 MiB"),
        (os._exit, 3, GpuReportError, "exit code 3"),
        (int, "a", GpuReportError, "ValueError"),
        (os.abort, None, GpuReportError, "SIGABRT"),
    ],
)
def test_failures_are_one_sentence(
    function: Callable[[Any], Any], argument: object, error: type[GpuReportError], message: str
) -> None:
    arguments = [] if argument is None else [argument]
    with pytest.raises(error, match=message) as raised:
        isolated(function, 0.5 if function is time.sleep else 30.0, 2**28, *arguments)
    assert type(raised.value) is error


def test_results_and_errors_of_the_function_come_back(capfd: pytest.CaptureFixture[str]) -> None:
    assert isolated(sorted, 30.0, 2**28, [2, 1], reverse=True) == [2, 1]
    isolated(print, 30.0, 2**28, "text")
    assert capfd.readouterr().out == ""
    with pytest.raises(InputError, match=r"^name:1: is not valid YAML"):
        isolated(parse_yaml, 30.0, 2**28, "a: b: c", "name")
