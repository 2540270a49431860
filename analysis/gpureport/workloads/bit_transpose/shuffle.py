"""Transposition by sub-group shuffles: one row per lane, four rows per lane, or partly through local memory."""

from collections.abc import Mapping
from dataclasses import replace

from gpureport.spec.models import Device
from gpureport.workloads import sub_group
from gpureport.workloads.bit_transpose.family import COUNTED, Transpose, exchanges
from gpureport.workloads.model import Argument, Demand, Features, Local, Parameters

_ROUTE = (
    "One row per work-item; in each round a shuffle within the sub-group exchanges the rows of a pair. Sub-groups of "
    "64 lanes process two tiles. With 16 or 8 lanes, a lane has two or four rows, some rounds use its registers, and "
    "the surplus work-items return at once."
)


class Shuffle(Transpose):
    """One row per lane."""

    variant = "shuffle"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/shuffle.cl"
    title = "Bit transpose 32 x 32, sub-group shuffle"
    description = f"{_ROUTE} {COUNTED[32]}"

    def missing(self, features: Features) -> str | None:
        """A shuffle is required."""
        return sub_group.missing(features, "shuffle")

    def options(self, features: Features) -> str:
        """The back end of shuffles."""
        return sub_group.options(features, "shuffle")

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each round a shuffle, a rotation and a selection."""
        integer = exchanges(device)
        each = {"shuffle": 1.0, "int32": integer, "instruction": integer + 1}
        return {name: count * self.rounds for name, count in each.items()}

    def chain(self, device: Device) -> Mapping[str, float]:
        """All operations: each round uses the result of the previous one."""
        return {"shuffle": float(self.rounds), "int32": exchanges(device) * self.rounds}


class Shuffle8x8(Shuffle):
    """Three rounds instead of five."""

    variant = "shuffle_8x8"
    essential = False
    sweeps_memory = False
    size = 8
    title = "Bit transpose 8 x 8, sub-group shuffle"
    description = f"{_ROUTE} {COUNTED[8]}"


class Vector(Shuffle):
    """Four rows per lane."""

    variant = "vector"
    essential = False
    rows_per_item = 4
    source = "bit_transpose/vector.cl"
    title = "Bit transpose 32 x 32, sub-group shuffle, four rows per work-item"
    description = (
        "Four rows per work-item, loaded as 16 contiguous bytes; eight lanes process a matrix. Distances 16, 8 and 4 "
        "are shuffles between lanes, 2 and 1 stay in the lane's registers; sub-groups of 8 lanes suffice. "
        f"{COUNTED[32]}"
    )
    _shuffled = 3
    """Rounds between lanes."""

    def operations(self, device: Device) -> Mapping[str, float]:
        """Rotations and selections of four rows in every round; four shuffles in three rounds."""
        shuffles = 4.0 * self._shuffled
        integer = 4 * exchanges(device) * self.rounds
        return {"shuffle": shuffles, "int32": integer, "instruction": shuffles + integer}

    def chain(self, device: Device) -> Mapping[str, float]:
        """Rows are independent: the chain is that of one row."""
        return {"shuffle": float(self._shuffled), "int32": exchanges(device) * self.rounds}


class Hybrid(Shuffle):
    """Distant rows through local memory, near ones by shuffles."""

    variant = "hybrid"
    essential = False
    sweeps_memory = False
    source = "bit_transpose/hybrid.cl"
    title = "Bit transpose 32 x 32, local memory and sub-group shuffle"
    description = (
        "One row per work-item. Rows 16 and 8 apart are exchanged through local memory, rows 4, 2 and 1 apart by "
        "shuffles, "
        f"for which sub-groups of 8 lanes suffice. {COUNTED[32]}"
    )
    _local, _shuffled = 2, 3
    """Rounds of each kind."""

    def operations(self, device: Device) -> Mapping[str, float]:
        """Addresses of local memory are constant."""
        integer = exchanges(device) * self.rounds
        return {
            "local": 2.0 * self._local,
            "barrier": float(self._local),
            "shuffle": float(self._shuffled),
            "int32": integer,
            "instruction": integer + 3 * self._local + self._shuffled,
        }

    def chain(self, device: Device) -> Mapping[str, float]:
        """All rounds."""
        return {
            "local": float(self._local),
            "barrier": float(self._local),
            "shuffle": float(self._shuffled),
            "int32": exchanges(device) * self.rounds,
        }

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add local memory, one half for each of two rounds."""
        return replace(super().demand(parameters, device), local_memory_bytes=2 * 4 * parameters["local"])

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Local memory, two words per work-item."""
        return (*super().arguments(parameters), Local(2 * 4 * parameters["local"]))


WORKLOADS = (Shuffle(), Shuffle8x8(), Vector(), Hybrid())
