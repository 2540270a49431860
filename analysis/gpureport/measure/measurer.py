"""Measuring the workloads of a run on one device: in this process, or in a separate one (:mod:`~.remote`)."""
# ruff: noqa: D102 - the methods are those of the protocol

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from gpureport.errors import InputError
from gpureport.measure.backends import sensors
from gpureport.measure.backends.protocol import Backend, State
from gpureport.measure.energy import Load, measure_energy
from gpureport.measure.kernels import compile_sweep
from gpureport.measure.limits import SweepSettings
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task, measure_workload
from gpureport.measure.watch import Watch
from gpureport.records.energy import Energy
from gpureport.records.measurement import Compilation, Measurement, Reading
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.grid import WORKING_SET
from gpureport.workloads.model import Limits, Sweep, Workload

Compilations = Mapping[str, tuple[Compilation | None, ...]]
"""By sweep, the compiler's facts about each point's first kernel; see :func:`~.compile_sweep`."""
_NOTHING = Sweep("check", WORKING_SET, (), "check")
_CHECKING = SweepSettings(Limits(2.0**30, 2.0**30, 2**10, quick=True))


@dataclass(frozen=True)
class Aftermath:
    """The state after a workload was measured.

    Attributes:
        readings: of the device and its machine since the last workload.
        state: of the device.
        took_s: seconds for verifying the workload and measuring its sweeps.
    """

    readings: tuple[Reading, ...] = ()
    state: State = field(default_factory=State)
    took_s: float = 0.0


@dataclass(frozen=True)
class Measured:
    """The results of measuring a workload.

    Attributes:
        measurements: one for each sweep.
        aftermath: the state after them.
        restarted: how the driver process ended, if a new process measured the remaining sweeps; nothing was lost, but
            it may be a fault of the driver.
    """

    measurements: tuple[Measurement, ...]
    aftermath: Aftermath = field(default_factory=Aftermath)
    restarted: str = ""


class Measurer(Protocol):
    """One open device. A context manager, which closes it.

    If the device was lost, ``compiled``, ``start``, ``energy`` and ``reopen`` raise DeviceError.
    """

    @property
    def device(self) -> PresentDevice:
        """The open device."""

    def now(self) -> float:
        """Return the seconds of a monotonic clock."""

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Start builds of (source, options), where that saves time."""

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> Compilations:
        """Build the kernels of sweeps; on a CPU, the smallest points run once."""

    def start(self, task: Task) -> None:
        """Begin to measure a workload."""

    def finish(self, progress: Progress) -> Measured:
        """Wait for the end of the started task; *progress* receives every sample."""

    def so_far(self) -> Measured:
        """Return the completed sweeps of the started task, without waiting and without readings."""

    def energy(self, loads: Sequence[Load], settings: SweepSettings, progress: Progress) -> Energy:
        """Read power and energy while kernels run."""

    def reopen(self) -> None:
        """Close the device and open it again, as another run would find it."""

    def __enter__(self) -> Self:
        """Begin to watch the device."""

    def __exit__(self, *error: object) -> None:
        """Close the device."""


class LocalMeasurer:
    """Measures in this process, in :meth:`finish`."""

    def __init__(self, backend: Backend, began_s: float | None = None) -> None:
        """Use the open device of a run that began at *began_s*, or begins now."""
        self._watch = Watch(backend, began_s=began_s)
        self._backend = self._watch.counted(backend)
        self._task: Task | None = None
        self._done: list[Measurement] = []
        self._began_s = 0.0

    def __enter__(self) -> Self:
        self._watch.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.__exit__(*error)

    @property
    def device(self) -> PresentDevice:
        return self._backend.device

    def now(self) -> float:
        return self._backend.now()

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        self._backend.build_ahead(requests)

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> Compilations:
        return {sweep.name: compile_sweep(self._backend, workload, sweep) for sweep in sweeps}

    def energy(self, loads: Sequence[Load], settings: SweepSettings, progress: Progress) -> Energy:
        return measure_energy(self._backend, loads, settings, progress)

    def reopen(self) -> None:
        """Leave the device open."""

    def start(self, task: Task) -> None:
        self._task, self._done = task, []

    def finish(self, progress: Progress) -> Measured:
        assert self._task is not None, "nothing was started"  # noqa: S101 - the caller's fault
        self._done += self.measure(self._task, progress)  # one by one: an interrupted run saves those that are complete
        return Measured(tuple(self._done), self.aftermath())

    def so_far(self) -> Measured:
        return Measured(tuple(self._done))

    def measure(self, task: Task, progress: Progress) -> Iterator[Measurement]:
        """Yield the measurement of each sweep, with the time at which it began."""
        self._began_s = self.now()
        with self._watch.measuring():
            for each in measure_workload(self._backend, task, progress, self._watch.spans):
                began_s = self._watch.since_began(self.now() - each.duration_s)
                yield each.model_copy(update={"began_s": round(began_s, 6)})

    def aftermath(self) -> Aftermath:
        """Return the readings since the last call, and the device's state now."""
        return Aftermath(self._watch.taken(), sensors.state(self.device), self.now() - self._began_s)


def check_kernel(measurer: Measurer, workload: Workload, progress: Progress) -> str | None:
    """Build and verify a workload on an open device; return why it cannot be measured, or ``None``.

    Wrong results have the place of the expected ones in front.

    Raises:
        DeviceError: the device was lost.
    """
    measurer.start(Task(workload, [_NOTHING], _CHECKING))
    (checked,) = measurer.finish(progress).measurements
    wrong = checked.verification is not None and not checked.verification.passed
    missing = checked.verification is None
    place = workload.place if wrong and workload.place else workload.title
    return f"{place}: {checked.skipped}" if checked.failed or wrong or missing else None


def refuse_faulty(
    measurer: Measurer, workloads: Iterable[Workload], device: Device, limits: Limits, progress: Progress
) -> None:
    """Check whether workloads fit a device, and each of them as :func:`check_kernel` does.

    Raises:
        InputError: one does not fit within the *limits* of *device*, does not build, cannot be launched, or gives wrong
            results.
        DeviceError: the device was lost.
    """
    for workload in workloads:
        workload.sweeps(device, limits)
        if problem := check_kernel(measurer, workload, progress):
            raise InputError(problem)
