"""Particles as arrays of structures: half used (as published), completely used, and without unused bytes."""

from collections.abc import Mapping
from typing import ClassVar

from gpureport.records.keys import Axis
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Limits, Parameters, Sweep
from gpureport.workloads.particles.family import BOUNCING, WORKING_SET, Particles

_VECTOR_BYTES = 16


class _Structs(Particles):
    """Base of the arrays of structures, whose first 16 bytes are position and velocity."""

    arrays: ClassVar[Mapping[str, int]] = {"": 8}

    def build_options(self, parameters: Parameters) -> str:
        return f"-DVECTORS={self.stored_bytes // _VECTOR_BYTES} {super().build_options(parameters)}"


class _HalfStructs(_Structs):
    """32-byte structures, half of which is used."""

    unused_bytes = 16
    kernel = "step_members"

    def lines_per_access(self, device: Device) -> float:
        """Return the lines that contain one member of all structures of a wave; 1 on a CPU."""
        if device.is_cpu or not device.caches:
            return 1.0
        return max(1.0, self.stored_bytes * device.architecture.wave_size / device.caches[0].line_bytes)


class Structs(_HalfStructs):
    """As published: the bounce stores in a branch."""

    variant = "structs32"
    essential = True
    title = "Structures of 32 bytes, half used"
    description = (
        "Array of 32-byte structures. Position and velocity (16 bytes) are read and written, the rest is unused; two "
        "buffers in turn. At the border a branch stores the velocity again with the opposite sign, for about one "
        "particle in 64 per step. Counted: particles advanced by one step."
    )
    accesses = 4.0 + BOUNCING
    branches = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The sweeps of all layouts and, as published, the times of successive frames."""
        return (*super().sweeps(device, limits), self._frames(device, limits))

    def _frames(self, device: Device, limits: Limits) -> Sweep:
        """Return frame traces at four working sets around the capacity of the last cache."""
        few = limits.quick or device.is_cpu
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
    """Return working sets relative to the last cache: well inside, just inside, just outside, far *beyond*."""
    if not device.caches:
        return (0.125, 0.5, 2.0, beyond)
    transition = device.caches[-1].transition_of_ping_pong
    return (0.125, 0.9 * transition.onset, 1.1 * transition.end, beyond)


class StraightStructs(_HalfStructs):
    """The published layout without the bounce."""

    variant = "structs32_straight"
    title = "Structures of 32 bytes, half used, no bounce"
    description = (
        "As the half-used structures, but particles cross the border: no branch, and no second store of velocities. "
        "Position and velocity are still stored, so the memory traffic is the same."
    )
    accesses = 4.0
    bounce = False


class WholeStructs(_Structs):
    """32-byte structures, read and written completely."""

    variant = "structs32_whole"
    title = "Structures of 32 bytes, completely used"
    description = (
        "As the half-used structures, but all 32 bytes are read and written. Twice the bytes are transferred, but all "
        "sectors are written completely, so none has to be read first. The bounce is computed in registers, without a "
        "branch."
    )
    accesses = 4.0
    kernel = "step_whole"

    @property
    def stores_per_sector(self) -> float:
        """One store per vector of a structure."""
        return self.stored_bytes / _VECTOR_BYTES


class ShortStructs(WholeStructs):
    """16-byte structures: one vector per particle."""

    variant = "structs16"
    essential = True
    title = "Structures of 16 bytes"
    description = (
        "Array of 16-byte structures, position and velocity only: one vector load and one vector store per particle, "
        "every byte used; two buffers in turn. The bounce is computed in registers. Counted: particles advanced by one "
        "step."
    )
    arrays: ClassVar[Mapping[str, int]] = {"": 4}
    accesses = 2.0


class StraightShortStructs(ShortStructs):
    """16-byte structures without the bounce."""

    variant = "structs16_straight"
    essential = False
    title = "Structures of 16 bytes, no bounce"
    description = (
        "As structures of 16 bytes, but particles cross the border: fewer operations, the same memory traffic."
    )
    bounce = False


WORKLOADS = (Structs(), StraightStructs(), WholeStructs(), ShortStructs(), StraightShortStructs())
