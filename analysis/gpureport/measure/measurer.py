"""What measures the workloads of a run on one device: in this process, or in one of its own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from gpureport.measure.backends import nvidia
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.compiling import compile_sweep
from gpureport.measure.conditions import Watch
from gpureport.measure.limits import SweepSettings, features
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Guide, measure_workload
from gpureport.records.measurement import Compilation, Measurement, Reading
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Sweep, Workload


@dataclass(frozen=True)
class Order:
    """What is to be measured.

    Attributes:
        workload: of which.
        sweeps: of it, in this order.
        settings: how long each may take, and all seeds.
        expected: seconds of one dispatch as predicted, by the sweep's name and the point's label.
    """

    workload: Workload
    sweeps: Sequence[Sweep]
    settings: SweepSettings
    expected: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Aftermath:
    """What is known after a workload was measured.

    Attributes:
        readings: of the device and its machine since the last.
        state: of the device.
        took_s: checking its results and measuring its sweeps, seconds.
    """

    readings: tuple[Reading, ...] = ()
    state: nvidia.State = field(default_factory=nvidia.State)
    took_s: float = 0.0


@dataclass(frozen=True)
class Measured:
    """What measuring a workload gave.

    Attributes:
        measurements: one for each sweep.
        aftermath: what is known after them.
        restarted: how the driver's process ended before, if a new one continued; without loss, but it may be a fault.
    """

    measurements: tuple[Measurement, ...]
    aftermath: Aftermath = field(default_factory=Aftermath)
    restarted: str = ""


class Measurer(Protocol):
    """One open device. A context manager, which closes it."""

    @property
    def device(self) -> PresentDevice:
        """What is open."""
        ...

    def now(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Begin to build sources with options, where that saves time."""
        ...

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> dict[str, tuple[Compilation | None, ...]]:
        """Return, by sweep, what the compiler made of each point's first kernel; see :func:`~.compile_sweep`.

        Raises:
            DeviceError: the device was lost.
        """
        ...

    def start(self, order: Order) -> None:
        """Begin to measure a workload.

        Raises:
            DeviceError: the device was lost.
        """
        ...

    def finish(self, progress: Progress) -> Measured:
        """Wait for the end of what was started; *progress* hears of every sample."""
        ...

    def so_far(self) -> Measured:
        """Return the sweeps that have ended of what was started last, without waiting and without readings."""
        ...

    def reopen(self) -> None:
        """Close the device and open it again, as another run would find it.

        Raises:
            DeviceError: it can no longer be opened, or no longer runs kernels.
        """
        ...

    def __enter__(self) -> Self:
        """Begin to watch the device."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the device."""
        ...


class LocalMeasurer:
    """Measures in this process, when it is waited for."""

    def __init__(self, backend: Backend, began_s: float | None = None) -> None:
        """Take the open device, of a run that began then, or now."""
        self._watch = Watch(backend, began_s=began_s)
        self._backend = self._watch.counted(backend)
        self._order: Order | None = None
        self._done: list[Measurement] = []
        self._began_s = 0.0

    def __enter__(self) -> Self:
        """Begin to take readings."""
        self._watch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take no more readings."""
        self._watch.__exit__(kind, error, trace)

    @property
    def device(self) -> PresentDevice:
        """What is open."""
        return self._backend.device

    def now(self) -> float:
        """Return the backend's time."""
        return self._backend.now()

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Begin to build."""
        self._backend.build_ahead(requests)

    def compiled(self, workload: Workload, sweeps: Sequence[Sweep]) -> dict[str, tuple[Compilation | None, ...]]:
        """Build now."""
        present = features(self.device)
        return {sweep.name: compile_sweep(self._backend, workload, sweep, present) for sweep in sweeps}

    def reopen(self) -> None:
        """Leave the device open."""

    def start(self, order: Order) -> None:
        """Keep the order for :meth:`finish`."""
        self._order, self._done = order, []

    def finish(self, progress: Progress) -> Measured:
        """Measure now."""
        assert self._order is not None, "nothing was started"  # noqa: S101 - the caller's fault
        for each in self.measure(self._order, progress):
            self._done.append(each)
        return Measured(tuple(self._done), self.aftermath())

    def so_far(self) -> Measured:
        """Return the sweeps that have ended."""
        return Measured(tuple(self._done))

    def measure(self, order: Order, progress: Progress) -> Iterator[Measurement]:
        """Yield the measurement of each sweep, with the time at which it began."""
        guide = Guide(order.expected, self._watch.spans)
        present = features(self.device)
        self._began_s = self.now()
        with self._watch.measuring():
            for each in measure_workload(
                self._backend, order.workload, order.sweeps, present, order.settings, progress, guide
            ):
                began_s = self._watch.since_began(self.now() - each.duration_s)
                yield each.model_copy(update={"began_s": round(began_s, 6)})

    def aftermath(self) -> Aftermath:
        """Return the readings since the last call, and the device's state now."""
        return Aftermath(self._watch.taken(), nvidia.state(self.device), self.now() - self._began_s)
