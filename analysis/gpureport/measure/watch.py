"""Readings of device and machine, taken in a separate thread while workloads are measured."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event, Lock, Thread
from typing import Self, cast

from gpureport.measure.backends.common import Backend, Source
from gpureport.measure.backends.sensors import sources_of
from gpureport.observe.disturbance import Span, spans
from gpureport.records.measurement import Reading

_PERIODS_S = {"cpu": 0.5, "gpu": 0.2, "accelerator": 0.2}
"""Readings take time from the cores that run kernels of CPUs."""
_JOIN_S = 2.0
_LEAVE_DEVICE_IDLE = frozenset({"now", "device", "build", "prepare", "compilation", "free"})


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
        """Watch a run that began at *began_s*, or now; by default, kind and vendor decide on sources and period."""
        self._now, self._kind = backend.now, backend.device.kind
        self.began_s = backend.now() if began_s is None else began_s
        self._stack = ExitStack()
        self._sources = list(sources) if sources is not None else sources_of(backend.device, self._stack)
        self._period_s = period_s or _PERIODS_S[self._kind]
        self._end = Event()
        # If it waits for a driver that does not answer, it ends with the process.
        self._thread = Thread(target=self._repeat, name="readings", daemon=True)
        # Total occupied time, and the start of the current occupation. The time before this watch counts as occupied,
        # because its use is not known.
        self._occupied: tuple[float, float | None] = backend.now() - self.began_s, None
        self._measuring = False
        self._readings: list[Reading] = []
        self._taken = 0
        self._lock = Lock()

    def __enter__(self) -> Self:
        self.reading()
        self._thread.start()
        return self

    def _repeat(self) -> None:
        while not self._end.wait(self._period_s):
            self.reading()

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            self._stack.close()

    def reading(self) -> Reading:
        """Take a reading now, store it and return it."""
        with self._lock:
            fields = {name: value for source in self._sources for name, value in source().items()}
            total_s, since_s = self._occupied
            now_s = self._now()
            occupied_s = total_s + (now_s - since_s if since_s is not None else 0.0)
            times = {"at_s": now_s - self.began_s, "occupied_total_s": occupied_s, "measuring": self._measuring}
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

        Later readings may add spans within the last two seconds: a window plus the driver's averaging time.
        """
        with self._lock:
            readings = tuple(self._readings)
        shift = self.began_s
        found = spans(readings, self._kind, since_s - shift)
        return tuple(Span(span.began_s + shift, span.ended_s + shift, span.causes) for span in found)

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
        return self._watch.occupying()(found) if callable(found) else found
