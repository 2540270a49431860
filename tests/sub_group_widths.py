"""Verifies the sub-group transpositions at every width on Intel's OpenCL runtime for CPUs, in a process of its own.

``python -m tests.sub_group_widths`` prints ``variant lanes`` and what was wrong, a line for each pair.
"""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from subprocess import run
from unittest.mock import patch

import numpy as np

from gpureport.measure.limits import features
from gpureport.measure.opencl import OpenCLBackend, list_devices
from gpureport.measure.verify import verify
from gpureport.workloads.bit_transpose import ballot, shuffle
from gpureport.workloads.bit_transpose.family import Transpose

VARIANTS: tuple[Transpose, ...] = (shuffle.Shuffle(), ballot.Ballot())
WIDTHS = (8, 16, 32, 64)
LIBRARY = Path(sysconfig.get_path("data")) / "lib" / "libintelocl.so"


@cache
def problems() -> dict[tuple[str, int], str]:
    """Return what is wrong by variant and width (empty: nothing), computed where Intel's runtime is registered."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "intel.icd").write_text(f"{LIBRARY}\n")
        registered = {"OCL_ICD_VENDORS": folder, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
        done = run(
            [sys.executable, "-m", __name__],
            env={**os.environ, **registered},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise AssertionError(done.stderr)
    lines = (line.split(" ", 2) for line in done.stdout.splitlines())
    return {(variant, int(lanes)): problem for variant, lanes, problem in lines}


def verified() -> Iterator[tuple[str, int, str]]:
    """Verify each variant at each width."""
    device = next(device for device in list_devices() if "Intel" in device.platform)
    backend, present = OpenCLBackend(device), features(device)
    for workload in VARIANTS:
        for lanes in WIDTHS:
            options = f"{workload.options(present)} -DLANES={lanes}"
            one = workload.verification()[:1]
            with (
                patch.object(workload, "options", return_value=options),
                patch.object(workload, "verification", return_value=one),
            ):
                yield workload.variant, lanes, verify(backend, workload, present, np.random.default_rng(5)).message


if __name__ == "__main__":
    for outcome in verified():
        sys.stdout.write(" ".join(map(str, outcome)) + "\n")
