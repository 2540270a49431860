"""Readings of device and machine, taken in a separate thread while workloads are measured."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event, Lock, Thread
from typing import cast

from gpureport.measure.backends import nvidia
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.conditions.nvml import Nvml
from gpureport.measure.conditions.processor import Processor
from gpureport.measure.conditions.sysfs import Sysfs
from gpureport.observe.disturbance import Span, spans
from gpureport.records.measurement import Reading
from gpureport.spec.models import PresentDevice

Source = Callable[[], dict[str, object]]
"""Returns fields of a :class:`~gpureport.records.measurement.Reading`, without those that are not known."""

_PERIOD_S = 0.2  # a reading of NVML takes 1.4 ms
_PERIOD_CPU_S = 0.5  # a reading takes time from the cores that run the kernels
_JOIN_S = 2.0
_LEAVE_DEVICE_IDLE = frozenset({"now", "device", "build", "prepare", "compilation", "free", "rest"})


class Watch:
    """Takes readings inside ``with Watch(backend) as watch``.

    Its arguments and results are times of ``backend.now()``; times in readings are seconds since the run began.
    """

    def __init__(
        self,
        backend: Backend,
        sources: Sequence[Source] | None = None,
        period_s: float | None = None,
        began_s: float | None = None,
    ) -> None:
        """Watch the device of a run that began at *began_s*, or begins now.

        By default, sources of readings and the period between them depend on the device's kind and vendor.
        """
        self._now, self._kind = backend.now, backend.device.kind
        self._began_s = backend.now() if began_s is None else began_s
        self._stack = ExitStack()
        self._sources = list(sources) if sources is not None else sources_of(backend.device, self._stack)
        self._period_s = period_s or (_PERIOD_CPU_S if self._kind == "cpu" else _PERIOD_S)
        # Total occupied time, and the start of the current occupation. The time before this watch counts as occupied,
        # because its use is not known.
        self._occupied: tuple[float, float | None] = backend.now() - self._began_s, None
        self._measuring = False
        self._readings: list[Reading] = []
        self._taken = 0
        self._lock, self._end = Lock(), Event()
        self._thread = Thread(target=self._run, name="readings", daemon=True)

    def __enter__(self) -> "Watch":
        self.reading()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread; if it waits for a driver that does not answer, it ends with the process."""
        self._end.set()
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._stack.close()

    def _run(self) -> None:
        while not self._end.wait(self._period_s):
            self.reading()

    def reading(self) -> Reading:
        """Take a reading now, store it and return it."""
        with self._lock:
            fields = {name: value for source in self._sources for name, value in source().items()}
            total_s, since_s = self._occupied
            now_s = self._now()
            occupied_s = total_s + (now_s - since_s if since_s is not None else 0.0)
            times = {"at_s": now_s - self._began_s, "occupied_total_s": occupied_s, "measuring": self._measuring}
            reading = Reading.model_validate(fields | times)
            self._readings.append(reading)
        return reading

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Take a reading at the begin and at the end of the context; mark those in between."""
        self.reading()
        self._measuring = True
        try:
            yield
        finally:
            self._measuring = False
            self.reading()

    def taken(self) -> tuple[Reading, ...]:
        """Return the readings since the last call."""
        with self._lock:
            new = tuple(self._readings[self._taken :])
            self._taken = len(self._readings)
        return new

    def spans(self, since_s: float) -> tuple[Span, ...]:
        """Return the disturbed spans since a moment, as known now.

        Later readings may add spans within the last :data:`~gpureport.observe.disturbance.SETTLED_S` seconds.
        """
        with self._lock:
            readings = tuple(self._readings)
        shift = self._began_s
        found = spans(readings, self._kind, since_s - shift)
        return tuple(Span(span.began_s + shift, span.ended_s + shift, span.causes) for span in found)

    def since_began(self, at_s: float) -> float:
        """Convert a time of ``backend.now()`` to the clock of the readings: seconds since the run began."""
        return at_s - self._began_s

    def counted(self, backend: Backend) -> Backend:
        """Wrap *backend*: the time in which its calls may occupy the device is counted."""
        return cast("Backend", _Counted(backend, self))

    @contextmanager
    def occupying(self) -> Iterator[None]:
        """Count the time inside the context as occupying the device."""
        total_s, began_s = self._occupied[0], self._now()
        self._occupied = total_s, began_s
        try:
            yield
        finally:
            self._occupied = total_s + self._now() - began_s, None


class _Counted:
    def __init__(self, backend: Backend, watch: Watch) -> None:
        self._backend, self._watch = backend, watch

    def __getattr__(self, name: str) -> object:
        if name in _LEAVE_DEVICE_IDLE:
            return getattr(self._backend, name)
        with self._watch.occupying():
            found = getattr(self._backend, name)  # a property may run kernels
        if not callable(found):
            return found

        def counted(*arguments: object, **keywords: object) -> object:
            with self._watch.occupying():
                return found(*arguments, **keywords)

        return counted


def sources_of(device: PresentDevice, stack: ExitStack) -> list[Source]:
    """Return the sources of readings for a device and its machine; *stack* closes what they open."""
    processor = Processor()
    if device.is_cpu:
        return [processor, processor.clock]
    sources: list[Source] = [processor]
    opened = stack.enter_context(nvidia.opened(device))
    if opened is not None:
        sources.append(Nvml(opened))
    elif device.pci_address is not None:
        sources.append(Sysfs(device.pci_address))
    return sources
