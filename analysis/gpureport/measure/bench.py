"""One point of a sweep on one device: made ready, run, and its samples kept."""

from dataclasses import dataclass, field, replace
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from gpureport.measure.backend import Backend, BufferId, LaunchError, LaunchId
from gpureport.measure.pool import BufferPool
from gpureport.measure.verify import build_options
from gpureport.records import Compilation, MeasuredPoint, PointKey
from gpureport.workloads.model import Buffer, Dispatch, Features, Job, Workload


@dataclass
class Point:
    """A point while it is being measured.

    Attributes:
        key: what it is.
        seed: of its random data, which are made again whenever a buffer must be filled.
        job: without the contents of its buffers.
        dispatches: of one sample.
        cost_s: wall time of taking one sample.
    """

    key: PointKey
    seed: int
    job: Job
    dispatches: int = 1
    cost_s: float = 0.0
    samples_s: list[float] = field(default_factory=list)
    taken_at_s: list[float] = field(default_factory=list)
    skipped: str | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by buffer name."""
        return {name: buffer.nbytes for name, buffer in self.job.buffers.items()}

    def record(self) -> MeasuredPoint:
        """Return what a report keeps."""
        return MeasuredPoint(
            point=self.key,
            samples_s=() if self.skipped else tuple(self.samples_s),
            taken_at_s=() if self.skipped else tuple(self.taken_at_s),
            dispatches_per_sample=self.dispatches,
            method="event" if self.dispatches == 1 else "batch",
            skipped=self.skipped,
        )


def new_point(workload: Workload, key: PointKey, seed: int) -> Point:
    """Return a point that holds no data yet."""
    job = workload.job(key.parameters, np.random.default_rng(seed))
    empty = {name: Buffer(buffer.nbytes) for name, buffer in job.buffers.items()}
    return Point(key, seed, replace(job, buffers=empty))


@dataclass(frozen=True)
class _Ready:
    buffers: dict[str, BufferId]
    before: tuple[LaunchId, ...]
    turn: tuple[LaunchId, ...]


class Bench:
    """Runs points of one workload; buffers and launches are kept from one visit to the next."""

    def __init__(self, backend: Backend, workload: Workload, features: Features, pool: BufferPool) -> None:
        self._backend = backend
        self._workload = workload
        self._features = features
        self._pool = pool
        self._ready: dict[int, _Ready] = {}

    def run(self, point: Point, dispatches: int) -> float:
        """Return the device time, in seconds, of a row of dispatches, divided by their number.

        A whole turn runs before, untimed, so that caches hold what such a turn leaves in them.

        Raises:
            DeviceError: it does not build, has no room, or cannot be launched.
        """
        ready = self._prepare(point)
        row = [ready.turn[i % len(ready.turn)] for i in range(dispatches)]
        return self._backend.time((*ready.before, *ready.turn), row) / dispatches

    def compilations(self, point: Point) -> list[Compilation]:
        """Return what the compiler made of the kernels that the point times."""
        return [self._backend.compilation(launch) for launch in self._prepare(point).turn]

    def check_group(self, point: Point) -> None:
        """Refuse work-groups that are larger than the kernel, as compiled, allows.

        Raises:
            LaunchError: they are.
        """
        for compilation, dispatch in zip(self.compilations(point), point.job.dispatches, strict=True):
            size, most = prod(dispatch.local_size), compilation.max_work_group
            if most is not None and size > most:
                raise LaunchError(
                    f"work-groups of {size}: the kernel, as compiled, allows {most} work-items in a group"
                )

    def _prepare(self, point: Point) -> _Ready:
        program = self._backend.build(self._workload.source, build_options(self._workload, point.job, self._features))
        buffers = self._buffers(point)
        ready = self._ready.get(id(point))
        if ready is None or ready.buffers != buffers:

            def launches(dispatches: tuple[Dispatch, ...]) -> tuple[LaunchId, ...]:
                return tuple(self._backend.prepare(program, dispatch, buffers) for dispatch in dispatches)

            ready = _Ready(buffers, launches(point.job.before), launches(point.job.dispatches))
            self._ready[id(point)] = ready
        return ready

    def _buffers(self, point: Point) -> dict[str, BufferId]:
        @cache
        def filled() -> Job:
            return self._workload.job(point.key.parameters, np.random.default_rng(point.seed))

        def contents(name: str) -> NDArray[np.generic] | None:
            return filled().buffers[name].contents

        return self._pool.acquire(point.sizes, contents)
