"""One point of a sweep on one device: prepare it, run it, keep its samples."""

from dataclasses import dataclass, field, replace
from functools import cache
from itertools import cycle, islice
from typing import Any

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import AllocationError, Backend, BufferId, LaunchId
from gpureport.measure.buffers import BufferPool, RepeatedDraws
from gpureport.measure.kernels import program_options
from gpureport.records.curves import PointKey
from gpureport.records.measurement import Compilation, MeasuredPoint
from gpureport.workloads.model import Job, Limits, Transfer, Workload


@dataclass(eq=False)
class Point:
    """A point while it is being measured.

    Attributes:
        seed: of its random data, which are drawn again whenever a buffer is initialised; equal seeds share the data.
        job: without the contents of its buffers, which may be large; ``None`` before its first run.
        dispatches: dispatches per sample.
        cost_s: wall time of taking one sample.
        expected_s: predicted time of one dispatch; ``None``: not known.
        isolated: whether each dispatch is timed as an isolated dispatch, on an idle device.
        discarded: number of samples discarded because other load disturbed the device.
        drifted: number of samples discarded because the point's times rose or fell.
        failed: whether one of its kernels did not build or could not be launched.
        late: whether it is skipped because a sample would take too long.
        s_per_work: first estimate of the seconds per unit of work; ``None`` before its pilot run.
        samples: seconds of one dispatch, and when the sample was taken, in seconds since the sweep began.
        counted: what the kernel counted, if it does.
    """

    workload: Workload
    key: PointKey
    seed: int
    job: Job | None = None
    dispatches: int = 1
    cost_s: float = 0.0
    expected_s: float | None = None
    isolated: bool = False
    discarded: int = 0
    drifted: int = 0
    failed: bool = False
    late: bool = False
    s_per_work: float | None = None
    samples: list[tuple[float, float]] = field(default_factory=list)
    skipped: str | None = None
    counted: int | None = None

    @property
    def samples_s(self) -> list[float]:
        """Seconds of one dispatch in each sample."""
        return [seconds for seconds, _ in self.samples]

    def skip(self, error: DeviceError) -> None:
        """Skip the point because of a device error."""
        self.skipped = str(error)
        self.failed = not isinstance(error, AllocationError)

    def record(self) -> MeasuredPoint:
        """Return the point as a report stores it."""
        return MeasuredPoint(
            point=self.key,
            samples_s=tuple(self.samples_s),
            taken_at_s=tuple(at for _, at in self.samples),
            dispatches_per_sample=self.dispatches,
            method="event" if self.dispatches == 1 else "batch",
            skipped=self.skipped,
            late=self.late,
            discarded=self.discarded,
            drifted=self.drifted,
            counted=self.counted,
        )


@dataclass
class _Prepared:
    buffers: dict[str, BufferId]
    before: tuple[LaunchId, ...]
    cycle: tuple[LaunchId, ...]
    has_run: bool = False
    allocations: int = 0

    def batch(self, dispatches: int) -> list[LaunchId]:
        return list(islice(cycle(self.cycle), dispatches))


class Bench:
    """Runs points; buffers and launches stay allocated between the samples of a point while memory allows."""

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self._backend = backend
        self._pool = BufferPool(backend, limits)
        self._prepared: dict[Point, _Prepared] = {}
        self._drawn: dict[tuple[int, int, str, str], Any] = {}

    def run(self, point: Point, dispatches: int) -> float:
        """Return the device seconds of a batch of back-to-back dispatches, divided by their number.

        The last dispatch of the cycle runs first, untimed, so that the first timed one finds the caches in the same
        state as all others. In the first batch the whole cycle runs untimed, so that every buffer has been written. An
        isolated point is one dispatch, which is queued when everything before it has ended.

        Raises:
            DeviceError: a kernel does not build, memory is exhausted, or a launch fails.
        """
        prepared = self._prepare(point)
        if point.isolated:
            self._backend.run(prepared.before)
            return self._backend.time((), prepared.batch(1))
        warm_up = prepared.cycle[-1:] if prepared.has_run else prepared.cycle
        seconds = self._backend.time((*prepared.before, *warm_up), prepared.batch(dispatches))
        prepared.has_run = True
        if point.workload.counter is not None:
            name, word = point.workload.counter
            buffer = next(each for key, each in prepared.buffers.items() if key.startswith(name))
            point.counted = int(self._backend.read(buffer, 4 * word + 4).view("uint32")[word])
        return seconds / dispatches

    def cycle_length(self, point: Point) -> int:
        """Return the number of dispatches in the point's cycle (2 for ping-pong)."""
        return len(self._prepare(point).cycle)

    def compilations(self, point: Point) -> list[Compilation]:
        """Return the compiler's facts about the kernels that the point times.

        Raises:
            DeviceError: the point cannot be prepared.
        """
        launches = self._prepare(point).cycle
        assert point.job is not None  # noqa: S101 - it was just prepared
        launched = zip(launches, point.job.dispatches, strict=True)
        return [self._backend.compilation(launch) for launch, each in launched if not isinstance(each, Transfer)]

    def _prepare(self, point: Point) -> _Prepared:
        prepared = self._prepared.get(point)
        if prepared is None or prepared.allocations != self._pool.allocations:
            prepared = self._again(point, prepared)
            prepared.allocations = self._pool.allocations
        return prepared

    def _again(self, point: Point, prepared: _Prepared | None) -> _Prepared:
        @cache
        def with_contents() -> Job:
            return point.workload.job(point.key.parameters, RepeatedDraws(point.seed, self._drawn))

        if point.job is None:
            empty = {name: replace(buffer, contents=None) for name, buffer in with_contents().buffers.items()}
            point.job = replace(with_contents(), buffers=empty)
        job = point.job
        options = program_options(point.workload, point.key.parameters, self._backend.device)
        program = self._backend.build(point.workload.source, options)
        owner = f"{point.workload.name}: "  # workloads share no buffers
        pooled = self._pool.acquire(
            {owner + name: buffer.nbytes for name, buffer in job.buffers.items()},
            lambda name: with_contents().buffers[name.removeprefix(owner)],
        )
        buffers = dict(zip(job.buffers, pooled.values(), strict=True))
        if prepared is None or prepared.buffers != buffers:
            before, timed = (
                tuple(self._backend.prepare(program, dispatch, buffers) for dispatch in dispatches)
                for dispatches in (job.before, job.dispatches)
            )
            prepared = self._prepared[point] = _Prepared(buffers, before, timed)
        return prepared
