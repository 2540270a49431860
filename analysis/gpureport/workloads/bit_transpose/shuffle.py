"""Transposition by sub-group shuffles: one row per lane, four rows per lane, or partly through local memory."""

from dataclasses import replace

from gpureport.spec.models import Device
from gpureport.workloads.bit_transpose.family import Transpose
from gpureport.workloads.model import Argument, Demand, Local, Parameters
from gpureport.workloads.sub_group import Exchanging


class Shuffle(Exchanging, Transpose):
    """One row per lane."""

    required = ("shuffle",)
    variant = "shuffle"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/shuffle.cl"
    method = "sub-group shuffle"
    description = (
        "One row per work-item; in each round a shuffle within the sub-group exchanges the rows of a pair. Sub-groups "
        "of 64 lanes process two tiles. With 16 or 8 lanes, a lane has two or four rows, some rounds use its "
        "registers, and the surplus work-items return at once."
    )

    @property
    def exchanged(self) -> tuple[int, int]:
        """All rounds."""
        return 0, self.rounds


class Vector(Shuffle):
    """Four rows per lane."""

    variant = "vector"
    essential = False
    rows_per_item = 4
    source = "bit_transpose/vector.cl"
    method = "sub-group shuffle, four rows per work-item"
    description = (
        "Four rows per work-item, loaded as 16 contiguous bytes; eight lanes process a matrix. Distances 16, 8 and 4 "
        "are shuffles between lanes, 2 and 1 stay in the lane's registers; sub-groups of 8 lanes suffice."
    )

    @property
    def exchanged(self) -> tuple[int, int]:
        """Three rounds between lanes."""
        return 0, 3


class Hybrid(Shuffle):
    """Distant rows through local memory, near ones by shuffles."""

    variant = "hybrid"
    essential = False
    sweeps_memory = False
    source = "bit_transpose/hybrid.cl"
    method = "local memory and sub-group shuffle"
    description = (
        "One row per work-item. Rows 16 and 8 apart are exchanged through local memory, rows 4, 2 and 1 apart by "
        "shuffles, for which sub-groups of 8 lanes suffice."
    )

    @property
    def exchanged(self) -> tuple[int, int]:
        """Two rounds through local memory, three by shuffles."""
        return 2, 3

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add local memory, one half for each of two rounds."""
        return replace(super().demand(parameters, device), local_memory_bytes=2 * 4 * parameters["local"])

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Local memory, two words per work-item."""
        return (*super().arguments(parameters), Local(2 * 4 * parameters["local"]))


WORKLOADS = (Shuffle(), Shuffle(8), Vector(), Hybrid())
