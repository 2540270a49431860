"""Measuring in a separate process: if a driver ends it, only one workload is lost and the run continues."""
# ruff: noqa: D102 - methods without a docstring do what the protocol says

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, cast

from gpureport.errors import DeviceError
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, RuntimeDevice
from gpureport.measure.child import Child, EndedError
from gpureport.measure.energy import Load
from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Aftermath, Compilations, Measured
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task, unmeasured
from gpureport.records.energy import Energy
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Sweep, Workload

if TYPE_CHECKING:
    from gpureport.records.measurement import Measurement

SILENCE_LIMIT_S = 60.0
"""Longest time between two messages of the process, seconds: twelve times the longest permitted sample, to allow for
compiling, initialising gigabytes and a busy machine."""


class RemoteMeasurer:
    """Measures in a separate process, which watches the device by itself, while this one may do other work."""

    def __init__(self, candidate: RuntimeDevice, child: Child | None = None) -> None:
        """Begin to open a device in a process, a new one or *child*, and to run a test kernel on it.

        Raises:
            DeviceError: the system starts no process.
        """
        self._candidate = candidate
        self._task: Task | None = None
        self._done: list[Measurement] = []
        self._endings: list[str] = []  # how processes ended without loss, because a new one continued
        self._building_ahead = False
        self._suspect = False  # a kernel failed: drivers may refuse all later calls of the same process
        self._began_s = self.now()
        self._child = self._begin(child)

    def _begin(self, child: Child | None = None) -> Child:
        child = child or Child(self._candidate.runtime)
        child.send("open", self._candidate, self._began_s)
        return child

    def opened(self, limit_s: float = ANSWER_LIMIT_S) -> Self:
        """Wait until the device is open, at most *limit_s* seconds.

        Raises:
            DeviceError: it cannot be opened, or runs no kernels.
        """
        try:
            self._child.answer(limit_s)
        except DeviceError:
            self._child.end()
            raise
        return self

    def reopen(self) -> None:
        self._began_s, self._endings = self.now(), []
        self._replace()

    def _replace(self) -> None:
        self._child.end()
        self._child = self._begin()
        self.opened()

    def _send(self, name: str, *arguments: object) -> None:
        """Send a request to the process, or to a new one if it has ended or a kernel failed in it."""
        if self._child.ended or self._suspect:
            self._building_ahead = self._suspect = False
            self._replace()
        self._child.send(name, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._child.end()

    @property
    def device(self) -> PresentDevice:
        return self._candidate.device

    def now(self) -> float:
        return time.monotonic()  # the process reads the same clock

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        self._building_ahead = True
        self._child.send("build_ahead", tuple(requests))
        try:
            self._child.answer(SILENCE_LIMIT_S)
        except EndedError as error:
            self._endings.append(f"{error} (before the first workload)")

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> Compilations:
        """Build in the process, and run once on a CPU; if the process ends, no facts are known."""
        self._send("compiled", workload, tuple(sweeps))
        try:
            return cast("Compilations", self._child.answer(SILENCE_LIMIT_S))
        except EndedError as error:
            self._endings.append(f"{error} (while building kernels of {workload.name})")
            return {sweep.name: (None,) * len(sweep.points) for sweep in sweeps}

    def energy(self, loads: Sequence[Load], settings: SweepSettings, progress: Progress) -> Energy:
        """Read power in the process; if it ends, there are no readings."""
        self._send("energy", loads, settings)
        try:
            return cast("Energy", self._child.answer(SILENCE_LIMIT_S, progress))
        except EndedError as error:
            return Energy(missing=f"The driver process ended while power was read: {error}.")

    def start(self, task: Task) -> None:
        self._task, self._done = task, []
        self._send("measure", task)

    def finish(self, progress: Progress) -> Measured:
        """Wait for the process. If it ends, the remaining sweeps are skipped with the reason."""
        task = self._task
        assert task is not None, "nothing was started"  # noqa: S101 - the caller's fault
        try:
            aftermath = self._child.answer(SILENCE_LIMIT_S, progress, self._done)
        except DeviceError as error:
            self._suspect, aftermath = True, Aftermath()
            reason = f"{error} (while measuring {self._child.doing or task.workload.name})"
            if self._building_ahead and isinstance(error, EndedError) and not error.hung:
                self._endings.append(reason)
                try:  # another workload's build ahead may have caused the crash: continue without any
                    self._send("measure", replace(task, sweeps=task.sweeps[len(self._done) :]))
                    return self.finish(progress)
                except DeviceError as lost:
                    reason = str(lost)
            self._done += [unmeasured(task.workload, sweep, reason) for sweep in task.sweeps[len(self._done) :]]
        else:
            self._suspect = any(measurement.failed for measurement in self._done)
        endings, self._endings = self._endings, []
        return Measured(tuple(self._done), aftermath, "; ".join(endings))

    def so_far(self) -> Measured:
        self._done += self._child.arrived()
        return Measured(tuple(self._done), restarted="; ".join(self._endings))
