"""One point of a sweep on one device: made ready, run, and its samples kept."""

from dataclasses import dataclass, field, replace
from functools import cache

from gpureport.errors import DeviceError
from gpureport.measure.backends.protocol import AllocationError, Backend, BufferId, LaunchId, ProgramId
from gpureport.measure.compiling import program_options
from gpureport.measure.draws import Draws
from gpureport.measure.pool import BufferPool
from gpureport.records.keys import PointKey
from gpureport.records.measurement import Compilation, MeasuredPoint
from gpureport.workloads.model import Buffer, Dispatch, Features, Job, Limits, Workload


@dataclass
class Point:
    """A point while it is being measured.

    Attributes:
        workload: of which it is a point.
        key: what it is.
        seed: of its random data, which are made again whenever a buffer must be filled; points of one seed share them.
        job: without the contents of its buffers, which may be large; ``None`` before its first run.
        dispatches: of one sample.
        cost_s: wall time of taking one sample.
        expected_s: time of one dispatch as predicted; ``None``: not known.
        alone: whether each dispatch is timed by itself, on an idle device.
        drifted: number of samples that were discarded, since its times rose or fell.
        failed: whether a kernel of it did not build or could not be launched.
        discarded: number of samples that were, since other load disturbed the device.
        late: whether it is skipped because a sample takes too long.
        s_per_work: first estimate of the time of a unit of work, seconds; ``None`` before its pilot run.
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
    samples_s: list[float] = field(default_factory=list)
    taken_at_s: list[float] = field(default_factory=list)
    skipped: str | None = None

    def refuse(self, error: DeviceError) -> None:
        """Skip the point, since the device refuses it."""
        self.skipped = str(error)
        self.failed = not isinstance(error, AllocationError)

    def record(self) -> MeasuredPoint:
        """Return what a report keeps."""
        return MeasuredPoint(
            point=self.key,
            samples_s=tuple(self.samples_s),
            taken_at_s=tuple(self.taken_at_s),
            dispatches_per_sample=self.dispatches,
            method="event" if self.dispatches == 1 else "batch",
            skipped=self.skipped,
            late=self.late,
            discarded=self.discarded,
            drifted=self.drifted,
        )


@dataclass
class _Ready:
    buffers: dict[str, BufferId]
    before: tuple[LaunchId, ...]
    turn: tuple[LaunchId, ...]
    filled: bool = False


class Bench:
    """Runs points; buffers and launches are kept from one visit to the next, while there is room."""

    def __init__(self, backend: Backend, features: Features, limits: Limits) -> None:
        self._backend = backend
        self._features = features
        self._pool = BufferPool(backend, limits)
        self._ready: dict[int, _Ready] = {}
        self._draws = _ByTheirSeed()

    def run(self, point: Point, dispatches: int) -> float:
        """Return the device time, in seconds, of a row of dispatches, divided by their number.

        The last dispatch of a turn runs before, untimed, so that caches hold what the first of the row would find in
        the midst of turns; the first time a whole turn, so that it reads data and not what was in new buffers.

        Raises:
            DeviceError: it does not build, has no room, or cannot be launched.
        """
        ready = self._prepare(point)
        warming = ready.turn[-1:] if ready.filled else ready.turn
        row = [ready.turn[i % len(ready.turn)] for i in range(dispatches)]
        seconds = self._backend.time((*ready.before, *warming), row)
        ready.filled = True
        return seconds / dispatches

    def trace(self, point: Point, dispatches: int) -> list[tuple[float, float]]:
        """Return when each of a row of dispatches began, and how long it took: device seconds from the first on.

        What is to run before a sample runs before the row; within it, each dispatch finds what the one before left.

        Raises:
            DeviceError: as for :meth:`run`.
        """
        ready = self._prepare(point)
        row = [ready.turn[i % len(ready.turn)] for i in range(dispatches)]
        if ready.before:
            self._backend.run(ready.before)
        return self._backend.trace(row)

    def turn(self, point: Point) -> int:
        """Return how many dispatches take turns."""
        return len(self._prepare(point).turn)

    def compilations(self, point: Point) -> list[Compilation]:
        """Return what the compiler made of the kernels that the point times.

        Raises:
            DeviceError: the point cannot be made ready.
        """
        return [self._backend.compilation(launch) for launch in self._prepare(point).turn]

    def _prepare(self, point: Point) -> _Ready:
        @cache
        def full() -> Job:
            return point.workload.job(point.key.parameters, self._draws[point.seed].generator())

        job = point.job = point.job or _emptied(full())
        options = program_options(point.workload, point.key.parameters, self._features)
        program = self._backend.build(point.workload.source, options)
        owner = f"{point.workload.name}: "  # workloads share no buffers
        sizes = {owner + name: buffer.nbytes for name, buffer in job.buffers.items()}
        held = self._pool.acquire(sizes, lambda name: full().buffers[name.removeprefix(owner)].contents)
        buffers = {name.removeprefix(owner): identity for name, identity in held.items()}
        ready = self._ready.get(id(point))
        if ready is None or ready.buffers != buffers:
            ready = self._ready[id(point)] = self._set_up(program, job, buffers)
        return ready

    def _set_up(self, program: ProgramId, job: Job, buffers: dict[str, BufferId]) -> _Ready:
        def launches(dispatches: tuple[Dispatch, ...]) -> tuple[LaunchId, ...]:
            return tuple(self._backend.prepare(program, dispatch, buffers) for dispatch in dispatches)

        return _Ready(
            buffers=buffers,
            before=launches(job.before),
            turn=launches(job.dispatches),
        )


class _ByTheirSeed(dict[int, Draws]):
    def __missing__(self, seed: int) -> Draws:
        self[seed] = Draws(seed)
        return self[seed]


def _emptied(job: Job) -> Job:
    empty = {name: Buffer(buffer.nbytes) for name, buffer in job.buffers.items()}
    return replace(job, buffers=empty)
