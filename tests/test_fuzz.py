"""No input ends a command with anything but a result or one sentence; ``--fuzz N`` tries N of them, not a few."""

import traceback
import warnings
from pathlib import Path

import pytest

from tests.fuzzing import KINDS, Fuzzer, reports, shipped

_FEW = 320
"""Default number of inputs."""


@pytest.mark.parametrize("kind", KINDS)
def test_changed_inputs_are_refused_or_used(kind: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Neither a traceback, nor a warning of NumPy, nor ten seconds, nor a number that cannot be."""
    seeds, fuzzer = (pytestconfig.getoption("fuzz") or _FEW) // len(KINDS), Fuzzer(tmp_path)
    failures = []
    shipped()
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
