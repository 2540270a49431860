"""Work in a process of its own: failures and limits."""

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import pytest

from gpureport.errors import GpuReportError
from gpureport.isolation import isolated
from gpureport.system import limited_growth


@pytest.mark.parametrize(
    ("function", "argument", "code", "message"),
    [
        (time.sleep, 10, 2, "the work takes longer than 1 s"),
        (bytearray, 2**30, 2, "the work takes more than 256 MiB"),
        (os._exit, 3, 1, "the process of the work ended with exit code 3"),
        (signal.raise_signal, signal.SIGRTMIN + 1, 1, f"signal {signal.SIGRTMIN + 1}"),
        (int, "a", 1, "ValueError"),
    ],
)
def test_failures_are_one_sentence(function: Callable[[Any], Any], argument: object, code: int, message: str) -> None:
    with pytest.raises(GpuReportError, match=message) as raised:
        isolated("the work", function, 1.0 if function is time.sleep else 30.0, 2**28, argument)
    assert raised.value.exit_code == code


def _limited() -> tuple[int, int]:
    resource.setrlimit(resource.RLIMIT_DATA, (2**33, 2**34))
    with limited_growth(2**41), limited_growth(2**40):
        return resource.getrlimit(resource.RLIMIT_DATA)


def test_present_limits_of_memory_stay() -> None:
    with ProcessPoolExecutor(1) as process:
        assert process.submit(_limited).result() == (2**33, 2**34)


def test_a_process_whose_parent_ended_before_it_began_does_no_work() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as parent:
        pass
    command = (sys.executable, "-P", "-m", "gpureport.isolation", str(parent.pid))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert not process.communicate(pickle.dumps(partial(time.sleep, 60)), timeout=30)[0]
        finally:
            process.kill()
    assert process.returncode == 1
