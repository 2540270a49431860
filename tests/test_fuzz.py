"""No input ends a command with anything but a result or one sentence; ``--fuzz N`` tries N of them."""

import traceback
import warnings
from pathlib import Path

import pytest

from tests import fuzzing
from tests.fuzzing import KINDS, Fuzzer, reports

FEW, MANY = 48, 320
"""Default numbers of inputs: of the fast suite, and with ``--all``."""


@pytest.mark.parametrize("kind", KINDS)
def test_changed_inputs_are_refused_or_used(kind: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Neither a traceback, nor a warning of NumPy, nor ten seconds, nor a number that cannot be."""
    fuzzing.EVERY = every = bool(pytestconfig.getoption("all") or pytestconfig.getoption("fuzz"))
    seeds = (pytestconfig.getoption("fuzz") or (MANY if every else FEW)) // len(KINDS)
    fuzzer, failures = Fuzzer(tmp_path), []
    reports()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(seeds):
            try:
                fuzzer(kind, seed)
            except Exception as error:  # noqa: BLE001 - any is a failure
                frame = traceback.extract_tb(error.__traceback__)[-1]
                failures.append(f"{kind} {seed}: {type(error).__name__} in {frame.name}: {str(error)[:200]}")

    assert not failures, "\n".join([f"{len(failures)} of {seeds}", *failures[:20]])
    assert min(fuzzer.outcomes[f"{kind} {outcome}"] for outcome in ("accepted", "refused")) > seeds / 10
