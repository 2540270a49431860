"""The transpositions: through local memory, by sub-group exchanges, and in the registers of one work-item."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from gpureport.spec.models import Device
from gpureport.spec.values import constant
from gpureport.workloads import grid
from gpureport.workloads.bit_transpose.family import ROWS, Transpose
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters
from gpureport.workloads.sub_group import Exchanging

_JOINED = constant(12.0)
_ROUTE = (
    "in each round a work-item stores its row to local memory, waits at one barrier and reads its partner's row "
    "(two halves of local memory in turn)"
)
_COLUMNS = (
    "Two-dimensional work-groups, as published: x is the matrix and y the row. The rows of a matrix are contiguous, so "
    "consecutive work-items are whole matrices apart"
)


class LocalMemory(Transpose):
    """One-dimensional work-groups: neighbouring work-items have neighbouring rows."""

    variant = "local"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/local.cl"
    method = "local memory"
    local_rounds = 5
    description = f"One row per work-item, one-dimensional work-groups; {_ROUTE}."
    description_8x8 = f"One row of a tile per work-item, one-dimensional work-groups; {_ROUTE}."

    def pitch(self, parameters: Parameters) -> int:
        """Return the distance between columns of work-items in local memory, in words."""
        return parameters["local"]

    def _half(self, parameters: Parameters) -> int:
        return parameters.get("local_x", 1) * self.pitch(parameters)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add two halves of local memory and the bank conflicts of the first wave.

        On a CPU these are its accesses, if they are not of adjacent words.
        """
        items, columns = prod(self.work_group(parameters)), parameters.get("local_x", 1)
        lanes = range(min(device.architecture.wave_size, items))
        words = [lane % columns * self.pitch(parameters) + lane // columns for lane in lanes]
        conflicts = bank_conflicts(words, device.architecture.local_memory_banks)
        if not grid.coalesces(device):
            conflicts = 1.0 if words == [*range(len(words))] else float(len(words))
        base, local_bytes = super().demand(parameters, device), 2 * 4 * self._half(parameters)
        return replace(base, local_memory_bytes=local_bytes, local_conflicts=conflicts)

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """The layout of local memory, and local memory."""
        half = self._half(parameters)
        return (*super().arguments(parameters), np.uint32(self.pitch(parameters)), np.uint32(half), Local(2 * 4 * half))


class Columns(LocalMemory):
    """Two-dimensional work-groups: neighbouring work-items have the same row of neighbouring matrices."""

    variant = "local_2d"
    essential = False
    sweeps_memory = False
    repeats = 201
    method = "local memory, 2D work-groups"
    description = f"{_COLUMNS} and access the same bank of local memory; {_ROUTE}."
    description_8x8 = ""

    def pitch(self, parameters: Parameters) -> int:
        return parameters["local_y"]

    def shape(self, items: int) -> dict[str, int]:
        """32 rows, as published."""
        return {"local_x": items // ROWS, "local_y": ROWS}

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        """Shapes whose columns contain whole matrices."""
        return tuple({"local_x": x, "local_y": y} for x, y in grid.shapes(device, limits) if y % ROWS == 0)

    def work_group(self, parameters: Parameters) -> tuple[int, ...]:
        return (parameters["local_x"], parameters["local_y"])

    def build_options(self, parameters: Parameters) -> str:
        return f"{super().build_options(parameters)} -DTWO_D"

    def lines_per_access(self, parameters: Parameters, device: Device) -> float:
        """Return one line per matrix of a wave, if that is more."""
        along = super().lines_per_access(parameters, device)
        return max(along, float(min(device.architecture.wave_size, parameters["local_x"])))

    def verification(self) -> Sequence[Parameters]:
        """Also columns of two and three matrices."""
        return (
            *super().verification(),
            {"tiles": 29, "local_x": 2, "local_y": 64, "repeats": 3},
            {"tiles": 10, "local_x": 1, "local_y": 96, "repeats": 1},
        )


class PaddedColumns(Columns):
    """The same with padding, which distributes a wave over all banks."""

    variant = "local_2d_padded"
    method = "local memory, padded 2D work-groups"
    description = (
        f"{_COLUMNS}. Padding after each column lets the work-items of a wave access different banks (one word for 32 "
        f"matrices per work-group row, four for 8); {_ROUTE}."
    )
    description_8x8 = (
        f"{_COLUMNS}. Padding after each column lets the work-items of a wave access different banks; {_ROUTE}."
    )

    def pitch(self, parameters: Parameters) -> int:
        """32 / x of 32 lanes are in one column; those of the next column use the next banks."""
        return parameters["local_y"] + (max(1, ROWS // parameters["local_x"]) if parameters["local_x"] > 1 else 0)


def bank_conflicts(words: Sequence[int], banks: int) -> float:
    """Return the time of one access of a wave, of 4-byte *words*, relative to one without bank conflicts.

    One bank is cached memory without banks.
    """
    if banks <= 1:
        return 1.0
    fullest = max(Counter(word % banks for word in set(words)).values())
    return fullest / -(-len(words) // banks)


class Registers(Transpose):
    """Five rounds with 32 registers."""

    variant = "registers"
    essential = True
    sweeps_memory = True
    rows_per_item = ROWS
    usual_group = 64
    repeats = 301
    source = "bit_transpose/registers.cl"
    method = "registers"
    description = (
        "Each work-item keeps a whole tile in 32 registers, without local memory or sub-groups. It loads 128 "
        "contiguous bytes, 16 at a time, so the loads of neighbouring work-items touch different lines."
    )

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each row and round a shift and a selection; a CPU permutes vectors, a GPU renames registers.

        Shift counts are constant. Compilers for GPUs turn left shifts, half of them, into multiplications.
        """
        rows = float(ROWS * self.rounds)
        return grid.chosen(
            device,
            cpu={"int32": 5.0 * rows, "permute": 3.0 * ROWS, "instruction": 5.0 * rows + 3.0 * ROWS},
            gpu={"int32": 1.5 * rows, "int32_mul": 0.5 * rows, "instruction": 2.0 * rows},
        )


class Shuffle(Exchanging, Transpose):
    """One row per lane."""

    required = ("shuffle",)
    variant = "shuffle"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/shuffle.cl"
    shuffled_rounds = 5
    method = "sub-group shuffle"
    description = (
        "One row per work-item; in each round a shuffle within the sub-group exchanges the rows of a pair. Sub-groups "
        "of 64 lanes process two tiles. With 16 or 8 lanes, a lane has two or four rows, some rounds use its "
        "registers, and the surplus work-items return at once."
    )


class Vector(Shuffle):
    """Four rows per lane."""

    variant = "vector"
    essential = False
    rows_per_item = 4
    source = "bit_transpose/vector.cl"
    shuffled_rounds = 3
    method = "sub-group shuffle, four rows per work-item"
    description = (
        "Four rows per work-item, loaded as 16 contiguous bytes; eight lanes process a matrix. Distances 16, 8 and 4 "
        "are shuffles between lanes, 2 and 1 stay in the lane's registers; sub-groups of 8 lanes suffice."
    )


class Hybrid(Shuffle):
    """Distant rows through local memory, near ones by shuffles."""

    variant = "hybrid"
    essential = False
    sweeps_memory = False
    source = "bit_transpose/hybrid.cl"
    local_rounds = 2
    shuffled_rounds = 3
    method = "local memory and sub-group shuffle"
    description = (
        "One row per work-item. Rows 16 and 8 apart are exchanged through local memory, rows 4, 2 and 1 apart by "
        "shuffles, for which sub-groups of 8 lanes suffice."
    )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add local memory, one half for each of two rounds."""
        return replace(super().demand(parameters, device), local_memory_bytes=2 * 4 * parameters["local"])

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        return (*super().arguments(parameters), Local(2 * 4 * parameters["local"]))


class Ballot(Exchanging, Transpose):
    """One ballot per column."""

    required = ("ballot",)
    variant = "ballot"
    source = "bit_transpose/ballot.cl"
    repeats = 301
    method = "sub-group ballot"
    description = (
        "One row per work-item. A ballot of one bit of all rows is a row of the transposed matrix, so one "
        "transposition takes 32 ballots, of which each lane selects its own. Sub-groups of 64 lanes process two "
        "matrices; with 16 or 8 lanes, a row takes two or four ballots."
    )

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each column a vote, a comparison of the lane index and a selection."""
        return {"ballot": 1.0 * ROWS, "int32": 2.0 * ROWS, "instruction": 3.0 * ROWS}

    def chain(self, device: Device) -> Mapping[str, float]:
        """The ballots are independent; each selection depends on the previous one."""
        return {"ballot": 1.0, "int32": ROWS + 1.0}


class Ballot8x8(Ballot):
    """One ballot per column of four matrices."""

    description = (
        "One row of four adjacent matrices per work-item. Each lane keeps four of the 32 ballots, and from each the "
        "byte of its own matrix. 8 x 8 needs as many ballots as 32 x 32, while shuffles need three rounds instead of "
        "five."
    )

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each column a vote and a selection; eight comparisons; bytes of four words extracted and joined."""
        integer = ROWS + 8 + _JOINED
        return {"ballot": 1.0 * ROWS, "int32": integer, "instruction": ROWS + integer}

    def chain(self, device: Device) -> Mapping[str, float]:
        """Four independent chains of selections, then the bytes are joined one after another."""
        return {"ballot": 1.0, "int32": ROWS / 4 + 1.0 + _JOINED / 2}


WORKLOADS = (
    *(Ballot(), Ballot8x8(8)),
    *(LocalMemory(), Columns(), PaddedColumns(), LocalMemory(8), Columns(8), PaddedColumns(8)),
    *(Registers(), Registers(8)),
    *(Shuffle(), Shuffle(8), Vector(), Hybrid()),
)
