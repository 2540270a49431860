"""Measuring in a separate process: if a driver ends it, only one workload is lost and the run continues."""
# ruff: noqa: D102 - methods without a docstring do what the protocol says

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self, cast

from gpureport.errors import DeviceError
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, RuntimeDevice
from gpureport.measure.child import Child, EndedError, Message
from gpureport.measure.energy import EnergyTask
from gpureport.measure.measurer import Aftermath, Measured
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task, unmeasured
from gpureport.records.energy import Energy
from gpureport.records.measurement import Compilation, Measurement
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Sweep, Workload

SILENCE_LIMIT_S = 60.0
"""Longest time between two messages of the process, seconds: twelve times the longest permitted sample, to allow for
compiling, initialising gigabytes and a busy machine."""


class RemoteMeasurer:
    """Measures in a separate process, while this one may do other work."""

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
        """Open the device again, in a new process."""
        self._child.end()
        self._child = self._begin()
        self.opened()

    def __enter__(self) -> Self:
        return self  # the process watches its device by itself

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

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> dict[str, tuple[Compilation | None, ...]]:
        """Build in the process, and run once on a CPU; if the process ends, no facts are known."""
        self._restore()
        self._child.send("compiled", workload, tuple(sweeps))
        try:
            answer = self._child.answer(SILENCE_LIMIT_S)
        except EndedError as error:
            self._endings.append(f"{error} (while building kernels of {workload.name})")
            return {sweep.name: (None,) * len(sweep.points) for sweep in sweeps}
        return cast("dict[str, tuple[Compilation | None, ...]]", answer)

    def energy(self, task: EnergyTask, progress: Progress) -> Energy:
        """Read power in the process; if it ends, there are no readings."""
        self._restore()
        self._child.send("energy", task)

        try:
            return cast("Energy", self._child.answer(SILENCE_LIMIT_S, lambda message: _advance(progress, message)))
        except EndedError as error:
            return Energy(missing=f"The driver process ended while power was read: {error}.")

    def _restore(self) -> None:
        if self._child.ended or self._suspect:
            self._building_ahead = self._suspect = False
            self._replace()

    def start(self, task: Task) -> None:
        """Begin in the process, or in a new one if it has ended or a kernel failed in it."""
        self._task, self._done = task, []
        self._send(task)

    def _send(self, task: Task) -> None:
        self._restore()
        self._child.send("measure", task)

    def finish(self, progress: Progress) -> Measured:
        """Wait for the process. If it ends, the remaining sweeps are skipped with the reason."""
        task, label = self._task, ""
        assert task is not None, "nothing was started"  # noqa: S101 - the caller's fault

        def on_message(message: Message) -> None:
            nonlocal label
            kind, value = message
            if kind == "item":
                self._done.append(cast("Measurement", value))
            else:
                label = _advance(progress, message)

        try:
            aftermath = cast("Aftermath", self._child.answer(SILENCE_LIMIT_S, on_message))
        except DeviceError as error:
            self._suspect = True
            reason = f"{error} (while measuring {label or task.workload.name})"
            if self._building_ahead and isinstance(error, EndedError) and not error.hung:
                return self._retry(task, reason, progress)
            return self._lost(task, reason)
        self._suspect = any(measurement.failed for measurement in self._done)
        return self._measured(self._done, aftermath)

    def so_far(self) -> Measured:
        self._done += [cast("Measurement", value) for kind, value in self._child.arrived() if kind == "item"]
        return Measured(tuple(self._done), restarted="; ".join(self._endings))

    def _retry(self, task: Task, reason: str, progress: Progress) -> Measured:
        """Continue without builds ahead: another workload's build may have caused the crash."""
        self._endings.append(reason)
        try:
            self._send(replace(task, sweeps=task.sweeps[len(self._done) :]))
        except DeviceError as error:
            return self._lost(task, str(error))
        return self.finish(progress)

    def _lost(self, task: Task, reason: str) -> Measured:
        lost = (unmeasured(task.workload, sweep, reason) for sweep in task.sweeps[len(self._done) :])
        return self._measured([*self._done, *lost], Aftermath())

    def _measured(self, measurements: Sequence[Measurement], aftermath: Aftermath) -> Measured:
        endings, self._endings = self._endings, []
        return Measured(tuple(measurements), aftermath, "; ".join(endings))


def _advance(progress: Progress, message: Message) -> str:
    """Report the progress in a message; return its label."""
    label, share = cast("tuple[str, float]", message[1])
    progress.advance(label, share)
    return label
