"""Rows that meet by sub-group shuffles: one a lane, four a lane, or half the way through local memory."""

from collections.abc import Mapping
from dataclasses import replace

from gpureport.spec.models import Device
from gpureport.workloads import sub_group
from gpureport.workloads.bit_transpose.family import COUNTED, Transpose, exchanges
from gpureport.workloads.model import Argument, Demand, Features, Local, Parameters

_ROUTE = (
    "One work-item a row; in each round a row is exchanged with its partner's by a shuffle within the sub-group. "
    "Sub-groups of 64 lanes hold two tiles; where they have 16 or 8 lanes, a lane holds two or four rows, some of "
    "which then meet in its registers, and the work-items left over leave at once."
)


class Shuffle(Transpose):
    """One row a lane."""

    variant = "shuffle"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/shuffle.cl"
    title = "Bit transpose 32 x 32 by sub-group shuffle"
    description = f"{_ROUTE} {COUNTED[32]}"

    def missing(self, features: Features) -> str | None:
        """A shuffle of some kind is needed."""
        return sub_group.missing(features, "shuffle")

    def options(self, features: Features) -> str:
        """Select the device's shuffle."""
        return sub_group.options(features, "shuffle")

    def operations(self, device: Device) -> Mapping[str, float]:
        """A round: one shuffle, rotate, select."""
        integer = exchanges(device)
        each = {"shuffle": 1.0, "int32": integer, "instruction": integer + 1}
        return {name: count * self.rounds for name, count in each.items()}

    def chain(self, device: Device) -> Mapping[str, float]:
        """All of it: a round starts from the result of the one before."""
        return {"shuffle": float(self.rounds), "int32": exchanges(device) * self.rounds}


class Shuffle8x8(Shuffle):
    """Three rounds instead of five."""

    variant = "shuffle_8x8"
    essential = False
    sweeps_memory = False
    size = 8
    title = "Bit transpose 8 x 8 by sub-group shuffle"
    description = f"{_ROUTE} {COUNTED[8]}"


class Vector(Shuffle):
    """Four rows a lane."""

    variant = "vector"
    essential = False
    rows_per_item = 4
    source = "bit_transpose/vector.cl"
    title = "Bit transpose 32 x 32 by sub-group shuffle, four rows a work-item"
    description = (
        "One work-item holds four rows, which it loads as 16 contiguous bytes; eight lanes hold a matrix. Distances "
        "16, 8 and 4 are shuffles between lanes, 2 and 1 stay in the lane's registers; sub-groups of 8 lanes suffice. "
        f"{COUNTED[32]}"
    )
    _shuffled = 3
    """Rounds between lanes."""

    def operations(self, device: Device) -> Mapping[str, float]:
        """Four rows: every round their rotations and selections, three times four shuffles."""
        shuffles = 4.0 * self._shuffled
        integer = 4 * exchanges(device) * self.rounds
        return {"shuffle": shuffles, "int32": integer, "instruction": shuffles + integer}

    def chain(self, device: Device) -> Mapping[str, float]:
        """Four rows go side by side: what waits is one of them."""
        return {"shuffle": float(self._shuffled), "int32": exchanges(device) * self.rounds}


class Hybrid(Shuffle):
    """Distant rows by local memory, near ones by shuffles."""

    variant = "hybrid"
    essential = False
    sweeps_memory = False
    source = "bit_transpose/hybrid.cl"
    title = "Bit transpose 32 x 32 through local memory and by sub-group shuffle"
    description = (
        "One work-item a row; rows 16 and 8 apart meet in local memory, those 4, 2 and 1 apart by shuffles, for which "
        f"sub-groups of 8 lanes suffice. {COUNTED[32]}"
    )
    _local, _shuffled = 2, 3
    """Rounds of each kind."""

    def operations(self, device: Device) -> Mapping[str, float]:
        """The halves of local memory lie at fixed places: no arithmetic for addresses."""
        integer = exchanges(device) * self.rounds
        return {
            "local": 2.0 * self._local,
            "barrier": float(self._local),
            "shuffle": float(self._shuffled),
            "int32": integer,
            "instruction": integer + 3 * self._local + self._shuffled,
        }

    def chain(self, device: Device) -> Mapping[str, float]:
        """One round after the other."""
        return {
            "local": float(self._local),
            "barrier": float(self._local),
            "shuffle": float(self._shuffled),
            "int32": exchanges(device) * self.rounds,
        }

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A half of local memory for each of the two rounds."""
        return replace(super().demand(parameters, device), local_memory_bytes=2 * 4 * parameters["local"])

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Local memory: two words a work-item."""
        return (*super().arguments(parameters), Local(2 * 4 * parameters["local"]))


WORKLOADS = (Shuffle(), Shuffle8x8(), Vector(), Hybrid())
