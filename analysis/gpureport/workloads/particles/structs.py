"""Particles as an array of structs: half used as published, whole, and as short as they can be."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Job, Limits, Parameters, Stream, Sweep
from gpureport.workloads.particles.family import BOUNCING, WORKING_SET, Particles, advanced, drawn, there_and_back

_VECTOR_BYTES = 16


class _Structs(Particles):
    """What all arrays of structs share: position and velocity are the first 16 bytes of each."""

    kernel: ClassVar[str]

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """Vectors of a struct; whether particles bounce."""
        return f"-DVECTORS={self.stored_bytes // _VECTOR_BYTES} -DBOUNCE={int(self.bounce)}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Ping-pong; both buffers start alike, so that bytes that are never touched are equal."""
        state = drawn(rng, parameters["count"])
        rest = rng.random((len(state), self.stored_bytes // 4 - 4), dtype=np.float32)
        contents = np.concatenate([state, rest], axis=1)
        return Job(
            {name: Buffer(self.stored_bytes * parameters["count"], contents) for name in ("a", "b")},
            there_and_back(self.kernel, parameters, ("a",), ("b",)),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The buffer that was written last."""
        start = job.buffers["a"].filled().astype(np.float32).reshape(-1, self.stored_bytes // 4)
        state = advanced(start[:, :4], dispatches, bounce=self.bounce)
        return {"a" if dispatches % 2 == 0 else "b": np.concatenate([state, start[:, 4:]], axis=1).ravel()}


class _HalfStructs(_Structs):
    """32-byte structs of which half is used."""

    stored_bytes = 32
    kernel = "step_members"

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Half of each record, in and out."""
        return (Stream("a", count, 32, 16), Stream("b", count, 32, 16, write=True))

    def lines_per_access(self, device: Device) -> float:
        """Return the lines in which a member of all structs of a wave lies; a processor's loads are one by one."""
        if device.kind == "cpu" or not device.caches:
            return 1.0
        return max(1.0, self.stored_bytes * device.architecture.wave_size / device.caches[0].line_bytes)


class Structs(_HalfStructs):
    """As published: with the bounce, which stores in a branch."""

    variant = "structs32"
    essential = True
    title = "Particles, 32-byte structs half used"
    description = (
        "Array of 32-byte structs; position and velocity (16 bytes) are read and written, the rest is never touched; "
        "two buffers in turn. At the border a branch stores the velocity once more, with its sign changed: about one "
        "particle in 64 takes it in a step. Counted: particles advanced by one step."
    )
    accesses = 4.0 + BOUNCING
    branches = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """As the other layouts; and, as published, the times of successive frames."""
        return (*super().sweeps(device, limits), self._frames(device, limits))

    def _frames(self, device: Device, limits: Limits) -> Sweep:
        """Traces at working sets well inside the last cache, just inside, just outside, and far beyond."""
        few = limits.quick or device.kind == "cpu"
        most = self.most(device, limits)
        sizes = [grid.last_cache_bytes(device) * part for part in _around_the_edge(device, 3.0 if few else 8.0)]
        counts = grid.rounded([min(most, size / (2 * self.stored_bytes)) for size in sizes], grid.multiple(256))
        return Sweep(
            "frames",
            Axis(quantity="case", label=WORKING_SET),
            tuple({"count": count, "local": min(256, limits.max_work_group)} for count in counts),
            "time of successive frames",
            frames=200 if few else 300,
        )


def _around_the_edge(device: Device, beyond: float) -> tuple[float, ...]:
    """Return working sets as parts of the last cache: well inside, just inside, just outside, far *beyond*."""
    if not device.caches:
        return (0.125, 0.5, 2.0, beyond)
    transition = device.caches[-1].transition_of_ping_pong
    return (0.125, 0.9 * transition.onset, 1.1 * transition.end, beyond)


class StraightStructs(_HalfStructs):
    """The published layout without the bounce."""

    variant = "structs32_straight"
    title = "Particles, 32-byte structs half used, no bounce"
    description = (
        "As structs32, but particles fly through the border: no branch, and no second store of velocities. Position "
        "and velocity are still stored, so that memory traffic is the same."
    )
    accesses = 4.0
    bounce = False


class WholeStructs(_Structs):
    """32-byte structs, read and written whole."""

    variant = "structs32_whole"
    title = "Particles, 32-byte structs, whole"
    description = (
        "As structs32, but the unused half of each struct is read and written, too: twice the bytes are asked for, yet "
        "no sector is written in part, so that none must be filled from memory. The bounce is computed in registers."
    )
    stored_bytes = 32
    accesses = 4.0
    kernel = "step_whole"

    def streams(self, count: int) -> tuple[Stream, ...]:
        """Every byte of each record, in and out."""
        whole = self.stored_bytes
        return (Stream("a", count, whole, whole), Stream("b", count, whole, whole, write=True))

    @property
    def stores_per_sector(self) -> float:
        """One for each vector of a struct: they are stored one after another."""
        return self.stored_bytes / _VECTOR_BYTES


class ShortStructs(WholeStructs):
    """16-byte structs: one vector a particle."""

    variant = "structs16"
    essential = True
    title = "Particles, 16-byte structs"
    description = (
        "Array of 16-byte structs, position and velocity only: one vector load and one vector store a particle, every "
        "byte used; two buffers in turn. The bounce is computed in registers. Counted: particles advanced by one step."
    )
    stored_bytes = 16
    accesses = 2.0


class StraightShortStructs(ShortStructs):
    """16-byte structs without the bounce."""

    variant = "structs16_straight"
    essential = False
    title = "Particles, 16-byte structs, no bounce"
    description = "As structs16, but particles fly through the border: fewer operations, the same memory traffic."
    bounce = False


WORKLOADS = (Structs(), StraightStructs(), WholeStructs(), ShortStructs(), StraightShortStructs())
