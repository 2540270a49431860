"""Particles that fly and bounce: 32-byte structs of which half is used, as published, and arrays that waste nothing."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes, format_count
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Argument,
    Buffer,
    Demand,
    Dispatch,
    Job,
    Limits,
    Parameters,
    Stream,
    Sweep,
    Workload,
)

_STEP_S = np.float32(1 / 256)


class _Particles(Workload):
    """What both layouts share: the sweeps, the physics, the ping-pong."""

    family = "particles"
    source = "particles.cl"
    metric = Metric(kind="rate", unit="particles", label="particles advanced")
    verification_dispatches = 3
    stored_bytes: ClassVar[int]
    """Bytes that one particle occupies in one buffer set."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The number of particles, through the caches; and the work-group size, beyond them."""
        both = 2 * self.stored_bytes
        most = min(2.0**25, limits.max_bytes / both, limits.max_buffer_bytes / self.stored_bytes)
        dense = [cliff / both for cliff in grid.cliffs(device)]
        counts = grid.octaves(2**12, most, 1 if limits.quick else 2, dense, 4 if limits.quick else 6)
        sizes = tuple({"count": count, "local": 256} for count in grid.rounded(counts, grid.multiple(256)))
        beyond = 4 * grid.last_cache_bytes(device) / both
        count = grid.multiple(1024)(min(most, max(2.0**20, beyond)))
        groups = tuple({"count": count, "local": n} for n in grid.WORK_GROUPS_1D if n <= limits.max_work_group)
        return (
            Sweep(
                "particles",
                Axis(quantity="working_set", label="working set, both buffers"),
                sizes,
                "number of particles",
            ),
            Sweep(
                "work_group",
                Axis(quantity="work_group", label="work-group size"),
                groups,
                f"work-group size at {format_count(count)} particles",
            ),
        )

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is particles."""
        count, size = parameters["count"], 2 * self.stored_bytes * parameters["count"]
        by_group = sweep.axis.quantity == "work_group"
        return PointKey(
            label=str(parameters["local"]) if by_group else f"{format_count(count)} ({format_bytes(size)})",
            parameters=dict(parameters),
            work=count,
            work_items=count,
            working_set_bytes=size,
            x=parameters["local"] if by_group else size,
        )

    @abstractmethod
    def streams(self, count: int) -> tuple[Stream, ...]:
        """Return the global memory traffic of one step."""

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """A few operations a particle, all independent; the next step finds what this one wrote."""
        count = parameters["count"]
        return Demand(
            work_items=count,
            work_group=(parameters["local"],),
            streams=self.streams(count),
            operations={
                "fp32": 2.0 * count,
                "int32": 10.0 * count,
                "memory": 4.0 * count,
                "instruction": 30.0 * count,
            },
            chain={"int32": 14.0},
            memory_chain=1.0,
            registers=20,
            branches=True,
        )

    def verification(self) -> Sequence[Parameters]:
        """A count that fills no work-group."""
        return ({"count": 2347, "local": 64},)


def _particles(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Return random positions in the unit square and velocities that reach its border: shape (count, 4)."""
    values = rng.random((count, 4), dtype=np.float32)
    values[:, 2:] = (values[:, 2:] - 0.5) * np.float32(8)
    return values


def _advanced(state: NDArray[np.float32], steps: int) -> NDArray[np.float32]:
    """Advance (count, 4) positions and velocities in single precision, rounding after every operation."""
    position, velocity = state[:, :2].copy(), state[:, 2:].copy()
    for _ in range(steps):
        position += velocity * _STEP_S
        velocity[(position < 0) | (position > 1)] *= np.float32(-1)
    return np.concatenate([position, velocity], axis=1)


_TILE = 2**17
"""Particles drawn; a larger buffer repeats them."""


class Structs(_Particles):
    """As published: 32-byte structs, 16 bytes used."""

    variant = "structs32"
    essential = True
    title = "Particles, 32-byte structs half used"
    description = (
        "Array of 32-byte structs; position and velocity (16 bytes) are read and written, the rest is never touched; "
        "bounce at the border; two buffers in turn. Counted: particles advanced by one step."
    )
    stored_bytes = 32

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Half of each record, in and out."""
        return (Stream("a", count, 32, 16), Stream("b", count, 32, 16, write=True))

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong; both buffers start alike so that the untouched halves are equal."""
        count, local = parameters["count"], parameters["local"]
        drawn = _particles(rng, min(count, _TILE))
        contents = np.concatenate([drawn, rng.random(drawn.shape, dtype=np.float32)], axis=1)
        items = -(-count // local) * local
        buffers = {name: Buffer(32 * count, contents) for name in ("a", "b")}
        return Job(
            buffers,
            tuple(
                Dispatch("step_structs", (items,), (local,), (*pair, np.uint32(count), _STEP_S))
                for pair in (("a", "b"), ("b", "a"))
            ),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The buffer that was written last."""
        start = job.buffers["a"].filled().astype(np.float32).reshape(-1, 8)
        state = np.concatenate([_advanced(start[:, :4], dispatches), start[:, 4:]], axis=1)
        return {"a" if dispatches % 2 == 0 else "b": state.ravel()}


class Arrays(_Particles):
    """The control: a structure of arrays."""

    variant = "arrays"
    essential = True
    title = "Particles, structure of arrays"
    description = (
        "Positions and velocities in arrays of their own, 16 bytes a particle, every byte used; otherwise as the "
        "structs. Counted: particles advanced by one step."
    )
    stored_bytes = 16

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Two arrays in, two out."""
        return (
            Stream("positions_a", count, 8, 8),
            Stream("velocities_a", count, 8, 8),
            Stream("positions_b", count, 8, 8, write=True),
            Stream("velocities_b", count, 8, 8, write=True),
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong between two pairs of arrays."""
        count, local = parameters["count"], parameters["local"]
        drawn = _particles(rng, min(count, _TILE))
        position, velocity = np.ascontiguousarray(drawn[:, :2]), np.ascontiguousarray(drawn[:, 2:])
        buffers = {
            "positions_a": Buffer(8 * count, position),
            "velocities_a": Buffer(8 * count, velocity),
            "positions_b": Buffer(8 * count, position),
            "velocities_b": Buffer(8 * count, velocity),
        }
        items = -(-count // local) * local
        a: tuple[Argument, ...] = ("positions_a", "velocities_a")
        b: tuple[Argument, ...] = ("positions_b", "velocities_b")
        return Job(
            buffers,
            tuple(
                Dispatch("step_arrays", (items,), (local,), (*pair, np.uint32(count), _STEP_S))
                for pair in ((*a, *b), (*b, *a))
            ),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The pair that was written last."""
        position = job.buffers["positions_a"].filled().astype(np.float32).reshape(-1, 2)
        velocity = job.buffers["velocities_a"].filled().astype(np.float32).reshape(-1, 2)
        state = _advanced(np.concatenate([position, velocity], axis=1), dispatches)
        side = "a" if dispatches % 2 == 0 else "b"
        return {f"positions_{side}": state[:, :2].ravel(), f"velocities_{side}": state[:, 2:].ravel()}


WORKLOADS = (Structs(), Arrays())
