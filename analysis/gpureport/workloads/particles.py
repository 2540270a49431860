"""Moving particles in several memory layouts: half-used 32-byte structures, as published, and denser ones."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload

WORKING_SET = "working set, both buffers"
STEP_S = np.float32(1 / 256)
SPEED = np.float32(4)
"""Maximum speed along each axis: crossing the unit square takes at least 64 steps."""
BOUNCING = 2 * float(SPEED) / 2 * float(STEP_S)
"""Share of the particles that cross a border per step: two axes, each with half the maximum speed on average."""
_MOST = 2**25
_TILE = 2**17
"""Number of random particles, which larger buffers repeat."""


class Particles(Workload):
    """One memory layout of the particles."""

    family = "particles"
    source = "particles.cl"
    labelled = "{count:count} ({working_set:bytes})"
    metric = Metric(kind="rate", unit="particles", label="particles advanced")
    verification_dispatches = 3
    work_of = work_items_of = ("count",)
    verified = ({"count": 2347, "local": 64}, {"count": 37, "local": 64})
    kernel: ClassVar[str]
    arrays: ClassVar[Mapping[str, int]]
    """Words per particle of each array, by the beginning of its name; position and velocity come first."""
    unused_bytes: ClassVar[int] = 0
    """Bytes of a particle that are neither read nor written."""
    accesses: ClassVar[float]
    """Loads and stores per work-item."""
    branches: ClassVar[bool] = False
    """Whether the bounce is a branch with additional stores."""

    @property
    def stored_bytes(self) -> int:
        return 4 * sum(self.arrays.values())

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        both = 2 * self.stored_bytes
        most = min(_MOST, grid.most_bytes(device, limits, "particles", 2) / both)
        usual = min(256, limits.max_work_group)
        counts = grid.sizes(min(2**12, most), most, grid.multiple(256))
        sizes = ({"count": count, "local": usual} for count in counts)
        beyond = grid.multiple(1024)(min(most, max(2**20, grid.beyond_bytes(device) / both)))
        groups = ({"count": beyond, "local": local} for local in grid.work_groups(device, limits))
        return (
            grid.by_working_set(sizes, limits, "particles", WORKING_SET, "number of particles"),
            grid.by_group_size(groups, f"{format_count(beyond)} particles"),
        )

    def nbytes(self, parameters: Parameters) -> int:
        return 2 * self.stored_bytes * parameters["count"]

    def lines_per_access(self, device: Device) -> float:
        """Return the lines that contain the used part of all particles of a wave; 1 if it is contiguous."""
        if not (self.unused_bytes and grid.coalesces(device) and device.caches):
            return 1.0
        return max(1.0, self.stored_bytes * device.architecture.wave_size / device.caches[0].line_bytes)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A few independent operations per particle.

        Multiplication and addition are two operations, as they are not fused; so are the comparisons of each coordinate
        with both borders.
        """
        count = parameters["count"]
        return Demand(
            *self.launched(parameters),
            # Each array is read from one set of buffers and written to the other.
            streams=tuple(
                Stream(f"{name}{side}", count, 4 * words, 4 * words - self.unused_bytes, write=side == "b")
                for side in "ab"
                for name, words in self.arrays.items()
            ),
            operations={
                "fp32": 8.0 * count,
                "int32": 10.0 * count,
                "memory": self.accesses * count,
                "instruction": 30.0 * count,
            },
            chain={"int32": 10.0, "fp32": 4.0},
            memory_chain=1.0,
            registers=20,
            branches=self.branches,
            vector_words=2,  # position and velocity
            ping_pong=True,
            lines_per_access=self.lines_per_access(device),
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong between two sets of buffers; unused members are random, too."""
        count = parameters["count"]
        state = drawn(rng, count)
        rest = rng.random((len(state), self.stored_bytes // 4 - 4), dtype=np.float32)
        parts = self._parts(np.concatenate([state, rest], axis=1))
        a, b = self._names("a"), self._names("b")
        named = zip(a + b, parts * 2, strict=True)
        buffers = {name: Buffer(4 * part.shape[1] * count, part) for name, part in named}
        scalars = (np.uint32(count), STEP_S)
        return Job.linear(buffers, self.kernel, count, parameters["local"], (*a, *b, *scalars)).ping_pong(a, b)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        stored = [job.buffers[name].filled().astype(np.float32) for name in self._names("a")]
        state = np.concatenate([part.reshape(parameters["count"], -1) for part in stored], axis=1)
        state[:, :4] = advanced(state[:, :4], dispatches)
        names = self._names("a" if dispatches % 2 == 0 else "b")
        return {name: part.ravel() for name, part in zip(names, self._parts(state), strict=True)}

    def _names(self, side: str) -> list[str]:
        return [f"{name}{side}" for name in self.arrays]

    def _parts(self, particles: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        ends = np.cumsum(list(self.arrays.values()))
        return [np.ascontiguousarray(part) for part in np.split(particles, ends[:-1], axis=1)]


def drawn(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Return random positions in the unit square and velocities up to :data:`SPEED`, shape (at most count, 4)."""
    values = rng.random((min(count, _TILE), 4), dtype=np.float32).copy()
    values[:, 2:] = (values[:, 2:] - np.float32(0.5)) * (2 * SPEED)
    return values


def advanced(state: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
    """Advance positions and velocities, shape (count, 4), in single precision, rounded after every operation."""
    position, velocity = state[:, :2].copy(), state[:, 2:].copy()
    for _ in range(steps):
        position += velocity * STEP_S
        np.negative(velocity, out=velocity, where=(position < 0) | (position > 1))
    return np.concatenate([position, velocity], axis=1)


class Arrays(Particles):
    variant = "arrays"
    kernel = "step_arrays"
    title = "Structure of arrays"
    description = "Positions and velocities in separate arrays, 16 bytes per particle, all of them used."
    arrays: ClassVar[Mapping[str, int]] = {"positions_": 2, "velocities_": 2}
    accesses = 4.0


class Structs(Particles):
    variant = "structs32"
    essential = True
    title = "Structures of 32 bytes, half used"
    description = "As published: at a border, a branch stores the velocity again, for one particle in 64 per step."
    arrays: ClassVar[Mapping[str, int]] = {"": 8}
    unused_bytes = 16
    kernel = "step_members"
    accesses = 4.0 + BOUNCING
    branches = True


class ShortStructs(Particles):
    variant = "structs16"
    essential = True
    title = "Structures of 16 bytes"
    description = "Position and velocity only: one vector load and one vector store per particle. No branch at borders."
    arrays: ClassVar[Mapping[str, int]] = {"": 4}
    kernel = "step_whole"
    accesses = 2.0


WORKLOADS = (Arrays(), Structs(), ShortStructs())
