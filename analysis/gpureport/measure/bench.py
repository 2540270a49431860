"""One point of a sweep on one device: prepare it, run it, keep its samples; buffers that points share by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partialmethod
from itertools import cycle, islice
from typing import Any

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import AllocationError, Backend, BufferId, LaunchId, ProgramId
from gpureport.measure.kernels import program_options
from gpureport.records.curves import PointKey
from gpureport.records.measurement import Compilation, MeasuredPoint
from gpureport.units import format_bytes
from gpureport.workloads.model import Buffer, Job, Limits, Transfer, Workload

_LARGEST_DRAW_BYTES = 2**23


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

    def record(self, *, by_host: bool = False) -> MeasuredPoint:
        """Return the point as a report stores it; *by_host*: the clock of the host timed it."""
        return MeasuredPoint(
            point=self.key,
            samples_s=tuple(self.samples_s),
            taken_at_s=tuple(at for _, at in self.samples),
            dispatches_per_sample=self.dispatches,
            method="host" if by_host else "event" if self.dispatches == 1 else "batch",
            skipped=self.skipped,
            late=self.late,
            discarded=self.discarded,
            drifted=self.drifted,
            counted=self.counted,
        )


class RepeatedDraws(np.random.Generator):
    """A generator whose n-th draw of one method and size is one constant array for all generators with one *cache*.

    Drawing data again for each point would take longer than using them.
    """

    def __init__(self, seed: int, cache: dict[tuple[int, int, str, str], Any]) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed, self._cache, self._draws = seed, cache, 0

    def _draw(self, name: str, *arguments: object, **keywords: object) -> Any:  # noqa: ANN401 - as the method it replaces
        self._draws += 1
        # sizes and bounds: no workload passes an array
        key = self._seed, self._draws, name, repr((arguments, keywords))
        if (drawn := self._cache.get(key)) is None:
            drawn = getattr(np.random.default_rng([self._seed, self._draws]), name)(*arguments, **keywords)
            if isinstance(drawn, np.ndarray):
                drawn.setflags(write=False)  # others get the same
            if getattr(drawn, "nbytes", 0) <= _LARGEST_DRAW_BYTES:
                self._cache[key] = drawn
        return drawn

    integers = partialmethod(_draw, "integers")
    random = partialmethod(_draw, "random")
    permutation = partialmethod(_draw, "permutation")
    uniform = partialmethod(_draw, "uniform")
    choice = partialmethod(_draw, "choice")


class BufferPool:
    """Buffers by name: allocates and enlarges them; frees those used longest ago when memory runs short."""

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self._backend = backend
        self._limits = limits
        self._pooled: dict[str, tuple[BufferId, int]] = {}  # with their sizes; least recently used first

    def acquire(self, sizes: Mapping[str, int], make: Callable[[str], Buffer]) -> dict[str, BufferId]:
        """Return for each name a buffer of at least the requested number of bytes.

        *make* returns a buffer by its name. It is called only to initialise one, because contents may be large.

        Raises:
            AllocationError: the sizes exceed the limits, or memory is exhausted even after freeing all other buffers.
        """
        total, largest = sum(sizes.values()), max(sizes.values(), default=0)
        if total > self._limits.max_bytes:
            most = format_bytes(self._limits.max_bytes)
            raise AllocationError(f"needs {format_bytes(total)} of memory, but a run may use at most {most}")
        if largest > self._limits.max_buffer_bytes:
            most = format_bytes(self._limits.max_buffer_bytes)
            raise AllocationError(f"needs a buffer of {format_bytes(largest)}, but a buffer may have at most {most}")
        return {name: self._ensure(name, sizes, make) for name in sizes}

    def _ensure(self, name: str, sizes: Mapping[str, int], make: Callable[[str], Buffer]) -> BufferId:
        identity, nbytes = self._pooled.pop(name, (None, 0))
        if identity is not None and nbytes < sizes[name]:
            self._backend.free(identity)
        if identity is None or nbytes < sizes[name]:
            nbytes = sizes[name]
            self._free_others(self._limits.max_bytes - nbytes, sizes)
            try:
                identity = self._backend.allocate(make(name))
            except AllocationError:
                self._free_others(0, sizes)
                identity = self._backend.allocate(make(name))
        self._pooled[name] = identity, nbytes
        return identity

    def _free_others(self, most: float, sizes: Mapping[str, int]) -> None:
        for name in [name for name in self._pooled if name not in sizes]:
            if sum(nbytes for _, nbytes in self._pooled.values()) <= most:
                return
            self._backend.free(self._pooled.pop(name)[0])


@dataclass
class _Prepared:
    program: ProgramId
    buffers: dict[str, BufferId]
    before: tuple[LaunchId, ...]
    cycle: tuple[LaunchId, ...]
    has_run: bool = False

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
        """Return the compiler's facts about kernels that the point times; a DeviceError if it cannot be prepared."""
        launches = self._prepare(point).cycle
        assert point.job is not None  # noqa: S101 - it was just prepared
        launched = zip(launches, point.job.dispatches, strict=True)
        return [self._backend.compilation(launch) for launch, each in launched if not isinstance(each, Transfer)]

    def _prepare(self, point: Point) -> _Prepared:
        @cache
        def with_contents() -> Job:
            return point.workload.job(point.key.parameters, RepeatedDraws(point.seed, self._drawn))

        if point.job is None:
            empty = {name: replace(buffer, contents=None) for name, buffer in with_contents().buffers.items()}
            point.job = replace(with_contents(), buffers=empty)
        job, prepared = point.job, self._prepared.get(point)
        if prepared:
            program = prepared.program
        else:
            options = program_options(point.workload, point.key.parameters, self._backend.device)
            program = self._backend.build(point.workload.source, options)
        owner = f"{point.workload.name}: "  # workloads share no buffers
        pooled = self._pool.acquire(
            {owner + name: buffer.nbytes for name, buffer in job.buffers.items()},
            lambda name: with_contents().buffers[name.removeprefix(owner)],
        )
        buffers = dict(zip(job.buffers, pooled.values(), strict=True))
        if prepared is None or prepared.buffers != buffers:
            once, before, timed = (
                tuple(self._backend.prepare(program, dispatch, buffers) for dispatch in dispatches)
                for dispatches in (job.once, job.before, job.dispatches)
            )
            self._backend.run(once)
            prepared = self._prepared[point] = _Prepared(program, buffers, before, timed)
        return prepared
