"""Measuring in a process of its own, whose end costs one workload and not the run."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, cast

from gpureport.errors import DeviceError
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, RuntimeDevice
from gpureport.measure.child import Child, EndedError, Message
from gpureport.measure.measurer import Aftermath, Measured, Order
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import unmeasured
from gpureport.records.measurement import Compilation, Measurement
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Sweep, Workload

SILENCE_LIMIT_S = 60.0
"""Within which the process must tell of the next sample, seconds: twelve times what the longest may take as predicted,
so that compiling, filling gigabytes and a busy machine have room."""


class RemoteMeasurer:
    """Measures in a process of its own, while this one may do something else."""

    def __init__(self, candidate: RuntimeDevice, child: Child | None = None) -> None:
        """Begin to open a device in a process, a new one or *child*, and to run a kernel that checks it.

        Raises:
            DeviceError: the system starts no process.
        """
        self._candidate = candidate
        self._order: Order | None = None
        self._done: list[Measurement] = []
        self._endings: list[str] = []  # that cost nothing: a new process continued
        self._building_ahead = False
        self._suspect = False  # a kernel failed: drivers may refuse all that follows in the same process
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
        """Open the device for another run.

        Raises:
            DeviceError: it can no longer be opened, or no longer runs kernels.
        """
        self._began_s, self._endings = self.now(), []
        self._replace()

    def _replace(self) -> None:
        """Open the device again, in a new process."""
        self._child.end()
        self._child = self._begin()
        self.opened()

    def __enter__(self) -> Self:
        """Do nothing: the process watches its device by itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._child.end()

    @property
    def device(self) -> PresentDevice:
        """What is open."""
        return self._candidate.device

    def now(self) -> float:
        """Return seconds of the clock that the process reads, too."""
        return time.monotonic()

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Let the process begin to build."""
        self._building_ahead = True
        self._child.send("build_ahead", tuple(requests))
        try:
            self._child.answer(SILENCE_LIMIT_S)
        except EndedError as error:
            self._endings.append(f"{error} (before the first workload)")

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> dict[str, tuple[Compilation | None, ...]]:
        """Let the process build; of what ends it nothing is known but that."""
        self._restore()
        self._child.send("compiled", workload, tuple(sweeps))
        try:
            answer = self._child.answer(SILENCE_LIMIT_S)
        except EndedError as error:
            self._endings.append(f"{error} (while kernels of {workload.name} were built)")
            return {sweep.name: (None,) * len(sweep.points) for sweep in sweeps}
        return cast("dict[str, tuple[Compilation | None, ...]]", answer)

    def _restore(self) -> None:
        if self._child.ended or self._suspect:
            self._building_ahead = self._suspect = False
            self._replace()

    def start(self, order: Order) -> None:
        """Let the process begin; a new one, if the last has ended or a kernel failed in it."""
        self._order, self._done = order, []
        self._ask(order)

    def _ask(self, order: Order) -> None:
        self._restore()
        self._child.send("measure", order)

    def finish(self, progress: Progress) -> Measured:
        """Wait for the process. Sweeps that its end has cost are skipped, and say why."""
        order, doing = self._order, ""
        assert order is not None, "nothing was started"  # noqa: S101 - the caller's fault

        def hear(message: Message) -> None:
            nonlocal doing
            kind, value = message
            if kind == "item":
                self._done.append(cast("Measurement", value))
            else:
                doing, share = cast("tuple[str, float]", value)
                progress.advance(doing, share)

        try:
            aftermath = cast("Aftermath", self._child.answer(SILENCE_LIMIT_S, hear))
        except DeviceError as error:
            self._suspect = True
            reason = f"{error} (while {doing or order.workload.name} was measured)"
            if self._building_ahead and isinstance(error, EndedError) and not error.hung:
                return self._again(order, reason, progress)
            return self._lost(order, reason)
        self._suspect = any(measurement.failed for measurement in self._done)
        return self._measured(self._done, aftermath)

    def so_far(self) -> Measured:
        """Return the sweeps that have ended of what was started last, without waiting."""
        self._done += [cast("Measurement", value) for kind, value in self._child.arrived() if kind == "item"]
        return Measured(tuple(self._done), restarted="; ".join(self._endings))

    def _again(self, order: Order, reason: str, progress: Progress) -> Measured:
        """Continue without builds ahead: the crash may have been another workload's build."""
        self._endings.append(reason)
        try:
            self._ask(replace(order, sweeps=order.sweeps[len(self._done) :]))
        except DeviceError as error:
            return self._lost(order, str(error))
        return self.finish(progress)

    def _lost(self, order: Order, reason: str) -> Measured:
        lost = (unmeasured(order.workload, sweep, reason) for sweep in order.sweeps[len(self._done) :])
        return self._measured([*self._done, *lost], Aftermath())

    def _measured(self, measurements: Sequence[Measurement], aftermath: Aftermath) -> Measured:
        endings, self._endings = self._endings, []
        return Measured(tuple(measurements), aftermath, "; ".join(endings))
