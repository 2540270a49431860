"""Measuring the workloads of a run on one device, in a separate process; what a run gets from it."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import NamedTuple, Self, TypeVar, cast

from gpureport.errors import DeviceError, GpuReportError, InputError
from gpureport.measure import Progress
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, RuntimeDevice
from gpureport.measure.child import Child, EndedError
from gpureport.measure.energy import Load
from gpureport.measure.limits import SweepSettings
from gpureport.measure.sweep import Task, measurement_of
from gpureport.records.measurement import Compilation, Energy, Measurement, Reading
from gpureport.spec.models import Device, PresentDevice
from gpureport.system import usable_cores
from gpureport.workloads.grid import WORKING_SET
from gpureport.workloads.model import Limits, Sweep, Workload

W = TypeVar("W", bound=Workload)
SILENCE_LIMIT_S = 60.0
"""Longest time between two messages of the process, seconds: twelve times the longest permitted sample, to allow for
compiling, initialising gigabytes and a busy machine."""
Compilations = Mapping[str, tuple[Compilation | None, ...]]
"""By sweep, the compiler's facts about each point's first kernel; see :func:`~.compile_sweep`."""
_BUILDERS, _BUILDERS_PROGRAMS = 3, 32
"""Most processes that build programs, each of which needs memory of the device; one starts for so many programs."""
_NOTHING = Sweep("check", WORKING_SET, (), "check")
_CHECKING = SweepSettings(Limits(2.0**30, 2.0**30, 2**10, quick=True))


class Measured(NamedTuple):
    """The results of measuring a workload, and the state afterwards.

    Attributes:
        readings: of the device and its machine since the last workload.
        facts: current settings, power and temperature of the device, ready to print.
    """

    measurements: tuple[Measurement, ...] = ()
    readings: tuple[Reading, ...] = ()
    facts: Mapping[str, str] = {}


class Measurer:
    """One open device: measures in a separate process, while this one may do other work; to be closed.

    If a driver ends the process, one workload is lost. If the device is lost, calls raise DeviceError. Its remarks are
    sentences on how the device was chosen.
    """

    remarks: tuple[str, ...] = ()

    def __init__(self, candidate: RuntimeDevice, child: Child | None = None) -> None:
        """Begin to open a device in a process, a new one or *child*, and to run a test kernel on it.

        Raises:
            DeviceError: the system starts no process.
        """
        self.candidate = candidate
        self._task: Task | None = None
        self._done: list[Measurement] = []
        self._suspect = False  # a kernel failed: drivers may refuse all later calls of the same process
        self._began_s = self.now()
        self._child = self._begin(child)

    def _begin(self, child: Child | None = None) -> Child:
        child = child or Child(self.candidate.runtime)
        child.send("open", self.candidate, self._began_s)
        return child

    def opened(self, limit_s: float = ANSWER_LIMIT_S) -> Self:
        """Wait at most *limit_s* seconds for the open device; a DeviceError if it does not open, or runs no kernels."""
        try:
            device: PresentDevice = self._child.answer(limit_s)
        except DeviceError:
            self._child.end()
            raise
        self.candidate = replace(self.candidate, device=device)
        return self

    def reopen(self, began_s: float | None = None) -> None:
        """Close the device and open it again, as another run would find it, which began at *began_s* or begins now."""
        self._began_s = self.now() if began_s is None else began_s
        self._replace()

    def _replace(self) -> None:
        self._child.end()
        self._child = self._begin()
        self.opened()

    def _send(self, name: str, *arguments: object) -> None:
        if self._child.ended or self._suspect:
            self._suspect = False
            self._replace()
        self._child.send(name, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        Thread(target=self._child.end).start()  # a driver takes up to a second to free its device

    @property
    def device(self) -> PresentDevice:
        """The open device."""
        return self.candidate.device

    def now(self) -> float:
        """Return the seconds of the monotonic clock, which the process reads, too."""
        return time.monotonic()

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Begin builds of (source, options) in other processes, where that saves time: not of code for a CPU.

        A CPU's compiler generates code for a size of work-group when a kernel first starts with it. If a builder fails,
        the process that measures builds its programs.
        """
        needed = tuple(dict.fromkeys(requests))
        most = min(_BUILDERS, -(-len(needed) // _BUILDERS_PROGRAMS), max(1, len(usable_cores()) // 2))
        with suppress(GpuReportError):  # no process can be started
            for number in () if self.device.on_host else range(most):
                self._child.builders.append(builder := Child(self.candidate.runtime, self._child.folder))
                builder.send("build_ahead", self.candidate, needed[number::most], self._child.folder)
                builder.close()

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> Compilations:
        """Build kernels; on a CPU, the smallest points run once. If the process ends, no facts are known."""
        self._send("compiled", workload, tuple(sweeps))
        try:
            return cast("Compilations", self._child.answer(SILENCE_LIMIT_S))
        except EndedError:
            return {sweep.name: (None,) * len(sweep.points) for sweep in sweeps}

    def energy(self, loads: Sequence[Load], settings: SweepSettings, progress: Progress) -> Energy:
        """Read power and energy while kernels run; if the process ends, there are no readings."""
        self._send("energy", loads, settings)
        try:
            return cast("Energy", self._child.answer(SILENCE_LIMIT_S, progress))
        except EndedError as error:
            return Energy(missing=f"The driver process ended while power was read: {error}.")

    def start(self, task: Task) -> None:
        """Begin to measure a workload."""
        self._task, self._done = task, []
        self._send("measure", task)

    def finish(self, progress: Progress) -> Measured:
        """Wait for the end of the task. If the process ends, the sweeps that are left are skipped with the reason."""
        task = self._task
        assert task is not None, "nothing was started"  # noqa: S101 - the caller's fault
        try:
            measured: Measured = self._child.answer(SILENCE_LIMIT_S, progress, self._done)
        except DeviceError as error:
            self._suspect, measured = True, Measured()
            reason = f"{error} (while measuring {self._child.doing or task.workload.name})"
            left = task.sweeps[len(self._done) :]
            self._done += [measurement_of(task.workload, sweep, skipped=reason, failed=True) for sweep in left]
        else:
            self._suspect = any(measurement.failed for measurement in self._done)
        return measured._replace(measurements=tuple(self._done))

    def so_far(self) -> Measured:
        """Return the completed sweeps of the started task, without waiting and without readings."""
        self._done += self._child.arrived()
        return Measured(tuple(self._done))


def checked(
    measurer: Measurer, workloads: Sequence[W], device: Device, limits: Limits, progress: Progress
) -> tuple[list[W], list[str]]:
    """Check whether workloads fit a device, and build and verify each of them on the open one.

    Problems of wrong results begin with the place of the expected ones; without one, the kernel or the device is wrong.

    Returns:
        The workloads that fit, and all problems.

    Raises:
        InputError: none is right: they do not fit within the *limits* of *device*, do not build, cannot be launched, or
            give other results than described.
        GpuReportError: none is right, and the first gives other results than its source executed on the host.
        DeviceError: the device was lost.
    """
    fitting, errors = list[W](), list[GpuReportError]()
    for workload in workloads:
        try:
            largest = (sweep.points[-1] for sweep in workload.sweeps(device, limits))
            for point in (*largest, *workload.verification()):
                workload.demand(point, device)  # accesses beyond the ends of buffers are refused
        except InputError as error:
            errors.append(error)
            continue
        fitting.append(workload)
        measurer.start(Task(workload, [_NOTHING], _CHECKING))
        (measured,) = measurer.finish(progress).measurements
        place = workload.place if measured.is_wrong and workload.place else workload.title
        kind = GpuReportError if measured.is_wrong and not workload.place else InputError
        if measured.failed or measured.is_wrong or measured.verification is None:
            errors.append(kind(f"{place}: {measured.skipped}"))
    if errors and len(errors) == len(workloads):
        raise errors[0]
    return fitting, [str(error) for error in errors]
