"""Shared by all particle layouts: sweeps, equations of motion, ping-pong dispatches."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes, format_count
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload

WORKING_SET = "working set, both buffers"
STEP_S = np.float32(1 / 256)
SPEED = np.float32(4)
"""Maximum speed along each axis: crossing the unit square takes at least 64 steps."""
BOUNCING = 2 * float(SPEED) / 2 * float(STEP_S)
"""Share of the particles that cross a border per step: two axes, each with half the maximum speed on average."""
_MOST = 2.0**25
_TILE = 2**17
"""Number of random particles, which larger buffers repeat."""


class Particles(Workload):
    """One memory layout of the particles, with or without the bounce at the border."""

    family = "particles"
    source = "particles.cl"
    metric = Metric(kind="rate", unit="particles", label="particles advanced")
    verification_dispatches = 3
    kernel: ClassVar[str]
    arrays: ClassVar[Mapping[str, int]]
    """Words per particle of each array, by the beginning of its name; position and velocity come first."""
    unused_bytes: ClassVar[int] = 0
    """Bytes of a particle that are neither read nor written."""
    accesses: ClassVar[float]
    """Loads and stores per work-item."""
    bounce: ClassVar[bool] = True
    """Whether velocities change sign at the border."""
    branches: ClassVar[bool] = False
    """Whether the bounce is a branch with additional stores."""

    @property
    def stored_bytes(self) -> int:
        """Bytes per particle in one set of buffers."""
        return 4 * sum(self.arrays.values())

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The number of particles, through the caches; the work-group size, beyond them."""
        both, most = 2 * self.stored_bytes, self.most(device, limits)
        usual = min(256, limits.max_work_group)
        counts = grid.sizes(min(2.0**12, most), most, grid.multiple(256))
        beyond = grid.multiple(1024)(min(most, max(2.0**20, 4 * grid.last_cache_bytes(device) / both)))
        return (
            Sweep(
                "particles",
                Axis(quantity="working_set", label=WORKING_SET),
                tuple({"count": count, "local": usual} for count in counts),
                "number of particles",
                coarse=grid.coarse(limits),
            ),
            grid.by_group_size(
                ({"count": beyond, "local": local} for local in grid.work_groups(device, limits)),
                f"{format_count(beyond)} particles",
            ),
        )

    def most(self, device: Device, limits: Limits) -> float:
        """Return the maximum number of particles: on a CPU or for a quick run, eight times the last cache."""
        both = 2 * self.stored_bytes
        most = min(_MOST, limits.max_bytes / both, limits.max_buffer_bytes / self.stored_bytes)
        few = limits.quick or device.is_cpu
        return min(most, 8 * grid.last_cache_bytes(device) / both) if few else most

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is particles."""
        count, size = parameters["count"], 2 * self.stored_bytes * parameters["count"]
        label, x = f"{format_count(count)} ({format_bytes(size)})", size
        if sweep.axis.quantity == "work_group":
            label, x = str(parameters["local"]), parameters["local"]
        elif sweep.axis.quantity == "case":
            x = sweep.points.index(parameters)
        return grid.key(parameters, label, work=count, items=count, nbytes=size, x=x)

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Return the global memory traffic of one step: each array is read from one set and written to the other."""
        return tuple(
            Stream(f"{name}{side}", count, 4 * words, 4 * words - self.unused_bytes, write=side == "b")
            for side in "ab"
            for name, words in self.arrays.items()
        )

    def lines_per_access(self, device: Device) -> float:  # noqa: ARG002 - neighbours are adjacent in most layouts
        """Return the lines that one access of a wave touches; 1 if its bytes are contiguous."""
        return 1.0

    @property
    def stores_per_sector(self) -> float:
        """Number of stores that together write one sector."""
        return 1.0

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A few independent operations per particle.

        Multiplication and addition are two operations, as they are not fused; so are the comparisons of each coordinate
        with both borders.
        """
        count = parameters["count"]
        return Demand(
            work_items=count,
            work_group=(parameters["local"],),
            streams=self.streams(count),
            operations={
                "fp32": (8.0 if self.bounce else 4.0) * count,
                "int32": 10.0 * count,
                "memory": self.accesses * count,
                "instruction": (30.0 if self.bounce else 20.0) * count,
            },
            chain={"int32": 10.0, "fp32": 4.0 if self.bounce else 2.0},
            memory_chain=1.0,
            registers=20,
            branches=self.branches,
            vector_words=2,  # position and velocity
            ping_pong=True,
            stores_per_sector=self.stores_per_sector,
            lines_per_access=self.lines_per_access(device),
        )

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """Whether particles bounce."""
        return f"-DBOUNCE={int(self.bounce)}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong between two sets of buffers; unused members are random, too."""
        count, local = parameters["count"], parameters["local"]
        state = drawn(rng, count)
        rest = rng.random((len(state), self.stored_bytes // 4 - 4), dtype=np.float32)
        parts = self._parts(np.concatenate([state, rest], axis=1))
        a, b = self._names("a"), self._names("b")
        named = zip(a + b, parts * 2, strict=True)
        buffers = {name: Buffer(4 * part.shape[1] * count, part) for name, part in named}
        scalars = (np.uint32(count), STEP_S)
        items = -(-count // local) * local
        return Job.of(buffers, self.kernel, (items,), (local,), (*a, *b, *scalars), (*b, *a, *scalars))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The set written last."""
        stored = [job.buffers[name].filled().astype(np.float32) for name in self._names("a")]
        state = np.concatenate([part.reshape(parameters["count"], -1) for part in stored], axis=1)
        state[:, :4] = advanced(state[:, :4], dispatches, bounce=self.bounce)
        names = self._names("a" if dispatches % 2 == 0 else "b")
        return {name: part.ravel() for name, part in zip(names, self._parts(state), strict=True)}

    def _names(self, side: str) -> list[str]:
        return [f"{name}{side}" for name in self.arrays]

    def _parts(self, particles: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return the contents of each array."""
        ends = np.cumsum(list(self.arrays.values()))
        return [np.ascontiguousarray(part) for part in np.split(particles, ends[:-1], axis=1)]

    def verification(self) -> Sequence[Parameters]:
        """Partial work-groups: many and less than one."""
        return ({"count": 2347, "local": 64}, {"count": 37, "local": 64})


def drawn(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Return random positions in the unit square and velocities up to :data:`SPEED`, shape (at most count, 4)."""
    values = rng.random((min(count, _TILE), 4), dtype=np.float32)
    values[:, 2:] = (values[:, 2:] - np.float32(0.5)) * (2 * SPEED)
    return values


def advanced(state: NDArray[np.float32], steps: int, *, bounce: bool) -> NDArray[np.float32]:
    """Advance positions and velocities, shape (count, 4), in single precision, rounded after every operation."""
    position, velocity = state[:, :2].copy(), state[:, 2:].copy()
    for _ in range(steps):
        position += velocity * STEP_S
        if bounce:
            np.negative(velocity, out=velocity, where=(position < 0) | (position > 1))
    return np.concatenate([position, velocity], axis=1)
