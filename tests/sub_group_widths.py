"""Verifies sub-group transpositions at every width, and times a chain of shuffles, on Intel's OpenCL runtime for CPUs.

It runs in a process of its own.

The runtime has Khronos's extensions and Intel's own, so that both back ends can be tried.
``python -m tests.sub_group_widths`` prints ``variant back-end lanes`` and the problem, one line per case.
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

from gpureport.measure.backends.common import Backend
from gpureport.measure.kernels import program_options, verify
from gpureport.measure.presence import find_devices
from gpureport.workloads.bit_transpose import WORKLOADS, Transpose
from gpureport.workloads.instructions import WORKLOADS as INSTRUCTIONS
from gpureport.workloads.sub_group import Exchanging
from tests.builders import altered
from tests.present import opened

VARIANTS: dict[str, Transpose] = {w.variant: w for w in WORKLOADS if isinstance(w, Exchanging)}
OWN = 0
"""The compiler chooses the lanes."""
CASES = (
    *((variant, "KHR", lanes) for variant in ("shuffle", "ballot") for lanes in (8, 16, 32, 64)),
    *(("shuffle", "INTEL", lanes) for lanes in (OWN, 8, 64)),
    *((variant, "INTEL", OWN) for variant in ("vector", "hybrid")),  # they require no sub-group size
)
"""Variant, back end, lanes."""
CHAIN = ("chain", "KHR", OWN)
"""Shuffles one after another, whose time is measured."""
_KHRONOS = {"cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot"}
_SIZED = {"cl_intel_required_subgroup_size"}
LIBRARY = Path(sysconfig.get_path("data")) / "lib" / "libintelocl.so"


@cache
def problems() -> dict[tuple[str, str, int], str]:
    """Return the problem of each case (empty: none), from a process that uses Intel's runtime."""
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
    lines = (line.split(" ", 3) for line in done.stdout.splitlines())
    return {(variant, back_end, int(lanes)): problem for variant, back_end, lanes, problem in lines}


def verified() -> Iterator[tuple[str, str, int, str]]:
    """Verify each variant at each width."""
    candidate = next(each for each in find_devices().candidates if "Intel" in each.device.platform)
    backend, present = opened(candidate), candidate.device
    for variant, back_end, lanes in CASES:
        workload = VARIANTS[variant]
        hidden = (_KHRONOS if back_end == "INTEL" else set()) | (_SIZED if lanes == OWN else set())
        options = workload.options(altered(present, extensions={*present.extensions} - hidden))
        assert f"-DSUB_GROUP_{back_end}" in options
        one = workload.verification()[:1]
        with (
            patch.object(workload, "options", return_value=f"{options} -DLANES={lanes}" if lanes else options),
            patch.object(workload, "verification", return_value=one),
        ):
            yield variant, back_end, lanes, verify(backend, workload, np.random.default_rng(5)).message
    yield *CHAIN, _combined(backend)


def _combined(backend: Backend) -> str:
    """Return a problem if the compiler combined the shuffles of a chain, which then take less than a cycle each."""
    latency = next(each for each in INSTRUCTIONS if each.variant == "sub_group_latency")
    parameters = {"case": 1, "chains": 1, "steps": 16, "rounds": 20_000, "groups": 1, "local": 16, "lanes": 1}
    job = latency.job(parameters, np.random.default_rng(5))
    program = backend.build(latency.source, program_options(latency, parameters, backend.device))
    buffers = {name: backend.allocate(buffer) for name, buffer in job.buffers.items()}
    launches = [backend.prepare(program, dispatch, buffers) for dispatch in job.dispatches]
    each_s = min(backend.time([], launches) for _ in range(5)) / (16 * 20_000)
    return "" if each_s > 0.2e-9 else f"{each_s} s for each shuffle"


if __name__ == "__main__":
    for outcome in verified():
        sys.stdout.write(" ".join(map(str, outcome)) + "\n")
