"""Runs workloads' verification points on one OpenCL platform, in a separate process.

Checkers read their settings when they are loaded, and a runtime may crash. ``python -m tests.kernel_runner PLATFORM
POINTS NAME...`` prints a JSON line for each name: of a workload, or of a kernel file that should copy words. POINTS is
``all`` or ``few``.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from subprocess import run
from unittest.mock import patch

import numpy as np
import pyopencl as cl

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import BufferId
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.runtimes import RuntimeDevice
from gpureport.measure.kernels import verify
from gpureport.measure.presence import find_devices
from gpureport.workloads import select
from gpureport.workloads.model import Buffer, Parameters, Workload
from tests.fake_backend import CopyWorkload
from tests.present import opened, working

TIMEOUT_S = 300
_LOG = "OCLGRIND_LOG"
MOST_WORK_ITEMS = 2**14
"""Largest number of work-items of a verification point: a simulator takes a microsecond per instruction of each.

A point that advances a board by several generations counts once per generation; points of every board size remain.
"""


@dataclass(frozen=True)
class Outcome:
    """The result of one workload.

    Attributes:
        missing: the reason why it was not run.
        cases: number of verified points.
        problems: wrong results and findings of the checker; empty: none.
    """

    missing: str | None = None
    cases: int = 0
    problems: tuple[str, ...] = ()


def few(workload: Workload) -> tuple[Parameters, ...]:
    """Return one verification point of each kernel of a variant, and all of one without kernels."""
    points = tuple(workload.verification())
    return points if workload.family == "transfer" else tuple({p.get("case"): p for p in reversed(points)}.values())


def outcomes(
    platform: str, names: Sequence[str], environment: Mapping[str, str], *, every: bool = True
) -> dict[str, Outcome]:
    """Run the named workloads on *platform* in a new process and return their results.

    Args:
        platform: part of its name; ``auto``: the platform of the device of ``--device auto``.
        names: ``family/variant``, or kernel files.
        environment: additional variables.
        every: all verification points, not :func:`few`.
    """
    line = [sys.executable, "-m", __name__, platform, "all" if every else "few", *names]
    done = run(line, env={**os.environ, **environment}, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    lines = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("[")]
    found = {name: Outcome(**{**fields, "problems": tuple(fields["problems"])}) for name, fields in lines}
    if done.returncode:
        ended = Outcome(problems=(f"the process ended with {done.returncode}: {done.stderr[-2000:]}",))
        unfinished = set(names) - set(found) | {name for name, _ in lines[-1:]}
        found |= dict.fromkeys(unfinished, ended)
    return found


class Copy(CopyWorkload):
    """A kernel file that should copy words, in work-groups of eight."""

    def verification(self) -> Sequence[Parameters]:
        """One point."""
        return ({"items": 64, "local": 8},)


class Traceable(OpenCLBackend):
    """Uses only operations for which oclgrind tracks initialised memory.

    It does not track buffers that the device fills or copies, or whose addresses are reused. A buffer without contents
    remains uninitialised, so that oclgrind finds kernels that read it before they write it.
    """

    def allocate(self, buffer: Buffer) -> BufferId:
        """Allocate a buffer, and initialise it only from the host."""
        return super().allocate(buffer if buffer.contents is None else replace(buffer, contents=buffer.filled()))

    def _fill(self, memory: cl.Buffer, buffer: Buffer) -> None:
        if buffer.contents is not None:
            super()._fill(memory, buffer)

    def clear(self) -> None:
        """Keep all buffers: they are small."""


def main() -> None:
    """Run the workloads; print each name before the workload runs, so that a crash can be attributed."""
    platform, which, *names = sys.argv[1:]
    candidate = _named(platform)
    backend = opened(candidate, Traceable if _simulated() else OpenCLBackend)
    for name in names:
        _print(name, Outcome(problems=("it did not finish",)))
        _print(name, _outcome(backend, _workload(name), every=which == "all"))


def _named(platform: str) -> RuntimeDevice:
    if platform == "auto":
        return working()
    return next(each for each in find_devices().candidates if platform in each.device.platform)


def _print(name: str, outcome: Outcome) -> None:
    sys.stdout.write(json.dumps([name, asdict(outcome)]) + "\n")
    sys.stdout.flush()


def _workload(name: str) -> Workload:
    return Copy(source=name) if name.endswith(".cl") else select((name,))[0]


def _outcome(backend: OpenCLBackend, workload: Workload, *, every: bool) -> Outcome:
    reason = workload.missing(backend.device)
    if reason:
        return Outcome(missing=reason)
    before = len(_log())
    points = tuple(workload.verification()) if every else few(workload)
    points = _small(workload, points) if _simulated() else points
    problems = []
    with patch.object(workload, "verification", return_value=points):
        try:
            verification = verify(backend, workload, np.random.default_rng(5))
        except DeviceError as error:
            problems.append(str(error))
        else:
            problems += [] if verification.passed else [verification.message]
    report = _log()[before:].strip()
    return Outcome(cases=len(points), problems=(*problems, *([report[:2000]] if report else [])))


def _simulated() -> bool:
    return _LOG in os.environ


def _log() -> str:
    """Return the checker's output so far."""
    with suppress(KeyError, FileNotFoundError):
        return Path(os.environ[_LOG]).read_text(encoding="utf-8")
    return ""


def _small(workload: Workload, points: Sequence[Parameters]) -> tuple[Parameters, ...]:
    """Return the points that are small enough for a simulator, and the smallest in any case."""
    by_size = sorted(points, key=lambda parameters: _work_items(workload, parameters))
    return tuple(p for n, p in enumerate(by_size) if n == 0 or _work_items(workload, p) <= MOST_WORK_ITEMS)


def _work_items(workload: Workload, parameters: Parameters) -> int:
    job = workload.verification_job(parameters, np.random.default_rng(0))
    each = [int(np.prod(dispatch.global_size)) for dispatch in (*job.once, *job.before, *job.dispatches)]
    return sum(each) * workload.verification_dispatches * getattr(workload, "generations", 1)


if __name__ == "__main__":
    main()
