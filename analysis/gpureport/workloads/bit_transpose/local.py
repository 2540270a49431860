"""Rows that meet in local memory, by work-groups of one and two dimensions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.bit_transpose.family import COUNTED, ROWS, Transpose, exchanges
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters

_ROUTE = (
    "in each round a row is stored to local memory and its partner's read, with one barrier between "
    "(the two halves in turn)"
)
_COLUMNS = (
    "Two-dimensional work-groups, as published: x is the matrix, y the row, a matrix's rows are contiguous. "
    "Consecutive work-items are therefore whole matrices apart"
)


class LocalMemory(Transpose):
    """One-dimensional work-groups: neighbours are neighbouring rows."""

    variant = "local"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/local.cl"
    title = "Bit transpose 32 x 32 through local memory"
    description = f"One work-item a row, one-dimensional work-groups; {_ROUTE}. {COUNTED[32]}"

    def pitch(self, parameters: Parameters) -> int:
        """Return the words of local memory from one column of work-items to the next."""
        return parameters["local"]

    def _half(self, parameters: Parameters) -> int:
        """Return the words of one of the two halves of a work-group's local memory."""
        return self.pitch(parameters)

    def operations(self, device: Device) -> Mapping[str, float]:
        """A round: a store, a load, a barrier; rotate, select. The halves lie at places known when compiled."""
        integer = exchanges(device)
        each = {"local": 2.0, "int32": integer, "instruction": integer + 3, "barrier": 1.0}
        return {name: count * self.rounds for name, count in each.items()}

    def chain(self, device: Device) -> Mapping[str, float]:
        """A round: the load waits for the barrier, and that for all stores."""
        each = {"local": 1.0, "int32": exchanges(device), "barrier": 1.0}
        return {name: count * self.rounds for name, count in each.items()}

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Two halves of local memory, and what banks make of their addresses."""
        return replace(
            super().demand(parameters, device),
            local_memory_bytes=2 * 4 * self._half(parameters),
            local_conflicts=self._conflicts(parameters, device),
        )

    def _conflicts(self, parameters: Parameters, device: Device) -> float:
        """Lay the lanes of the first wave over the banks."""
        lanes = range(min(device.architecture.wave_size, prod(self.work_group(parameters))))
        columns = self.work_group(parameters)[0] if len(self.work_group(parameters)) > 1 else 1
        words = [lane % columns * self.pitch(parameters) + lane // columns for lane in lanes]
        return bank_conflicts(words, device.architecture.local_memory_banks)

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """The layout of local memory, and that memory."""
        half = self._half(parameters)
        return (
            *super().arguments(parameters),
            np.uint32(self.pitch(parameters)),
            np.uint32(half),
            Local(2 * 4 * half),
        )


class LocalMemory8x8(LocalMemory):
    """Three rounds instead of five."""

    variant = "local_8x8"
    essential = False
    sweeps_memory = False
    size = 8
    title = "Bit transpose 8 x 8 through local memory"
    description = f"One work-item for a row of a tile, one-dimensional work-groups; {_ROUTE}. {COUNTED[8]}"


class Columns(LocalMemory):
    """Two-dimensional work-groups: neighbours are the same row of neighbouring matrices."""

    variant = "local_2d"
    essential = False
    sweeps_memory = False
    repeats = 201
    title = "Bit transpose 32 x 32 through local memory, 2D work-groups"
    description = f"{_COLUMNS}, which puts them into one bank of local memory; {_ROUTE}. {COUNTED[32]}"

    def pitch(self, parameters: Parameters) -> int:
        """Columns follow one another without a gap."""
        return parameters["local_y"]

    def _half(self, parameters: Parameters) -> int:
        return parameters["local_x"] * self.pitch(parameters)

    def shape(self, items: int) -> dict[str, int]:
        """As published: 32 rows."""
        return {"local_x": items // ROWS, "local_y": ROWS}

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        """Shapes whose columns hold whole matrices."""
        tried = grid.shapes(limits, device.kind)
        return tuple({"local_x": x, "local_y": y} for x, y in tried if y % ROWS == 0)

    def work_group(self, parameters: Parameters) -> tuple[int, ...]:
        """Matrices, rows."""
        return (parameters["local_x"], parameters["local_y"])

    def build_options(self, parameters: Parameters) -> str:
        """The same kernel, told of its second dimension."""
        return f"{super().build_options(parameters)} -DTWO_D"

    def lines_per_access(self, parameters: Parameters, device: Device) -> float:
        """A wave's rows lie in as many matrices as the work-group is wide."""
        along = super().lines_per_access(parameters, device)
        return max(along, float(min(device.architecture.wave_size, parameters["local_x"])))

    def verification(self) -> Sequence[Parameters]:
        """As ever, and columns of two and three matrices."""
        return (
            *super().verification(),
            {"tiles": 29, "local_x": 2, "local_y": 64, "repeats": 3},
            {"tiles": 10, "local_x": 1, "local_y": 96, "repeats": 1},
        )


class PaddedColumns(Columns):
    """The same, with gaps that spread a wave over all banks."""

    variant = "local_2d_padded"
    title = "Bit transpose 32 x 32 through local memory, padded 2D work-groups"
    description = (
        f"{_COLUMNS}; so many words are left free after each column that the work-items of a wave fall into "
        f"different banks (one word where 32 matrices lie abreast, four where 8 do); {_ROUTE}. {COUNTED[32]}"
    )

    def pitch(self, parameters: Parameters) -> int:
        """Of 32 lanes, 32 / x are in one column: the next column's go to the banks behind them."""
        return parameters["local_y"] + (max(1, ROWS // parameters["local_x"]) if parameters["local_x"] > 1 else 0)


class Columns8x8(Columns):
    """Three rounds instead of five."""

    variant = "local_2d_8x8"
    size = 8
    title = "Bit transpose 8 x 8 through local memory, 2D work-groups"
    description = f"{_COLUMNS}, which puts them into one bank of local memory; {_ROUTE}. {COUNTED[8]}"


class PaddedColumns8x8(PaddedColumns):
    """Three rounds instead of five."""

    variant = "local_2d_padded_8x8"
    size = 8
    title = "Bit transpose 8 x 8 through local memory, padded 2D work-groups"
    description = (
        f"{_COLUMNS}; so many words are left free after each column that the work-items of a wave fall into "
        f"different banks; {_ROUTE}. {COUNTED[8]}"
    )


def bank_conflicts(words: Sequence[int], banks: int) -> float:
    """Return how many times longer one access of a wave takes than one that spreads over all banks evenly.

    Args:
        words: the 4-byte word that each lane touches.
        banks: of local memory; 1: ordinary cached memory, which has none.
    """
    if banks <= 1:
        return 1.0
    fullest = max(Counter(word % banks for word in set(words)).values())
    return fullest / -(-len(words) // banks)


WORKLOADS = (LocalMemory(), Columns(), PaddedColumns(), LocalMemory8x8(), Columns8x8(), PaddedColumns8x8())
