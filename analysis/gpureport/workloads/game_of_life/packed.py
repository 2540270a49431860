"""Game of Life, one bit per cell: words of 8, 32 or 64 cells, one word per work-item."""

from collections.abc import Mapping
from typing import ClassVar

from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.model import Argument, Parameters


class _Packed(Board):
    """One kernel for all word sizes."""

    source = "game_of_life/packed.cl"
    kernel = "step_packed"
    bits_per_cell = 1
    published_side = 65_536
    displaced = 6 / 10
    row_after_row = True

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        return f"-DBITS={8 * self.element_bytes}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        return self.word_scalars(parameters)


def _description(bits: int) -> str:
    return (
        f"One bit per cell, one {bits}-bit word per work-item: nine word loads and one store. Bit-plane adders count "
        f"the neighbours of {bits} cells at once. Dead beyond the border; bits beyond the last column are masked. "
        "Counted: cells advanced by one generation."
    )


class Packed8(_Packed):
    """Eight cells per work-item."""

    variant = "packed8"
    title = "Game of Life, 8 cells a word"
    description = _description(8)
    element_bytes = 1
    cells_per_item_x = 8
    read_bytes = 9.0
    operations: ClassVar[Mapping[str, float]] = {"memory": 10.0, "int32": 74.0, "int32_mul": 16.0, "instruction": 125.0}


class Packed32(_Packed):
    """32 cells per work-item."""

    variant = "packed32"
    title = "Game of Life, 32 cells a word"
    description = _description(32)
    element_bytes = 4
    cells_per_item_x = 32
    read_bytes = 36.0
    operations: ClassVar[Mapping[str, float]] = {"memory": 10.0, "int32": 58.0, "int32_mul": 25.0, "instruction": 119.0}


class Packed64(_Packed):
    """64 cells per work-item."""

    variant = "packed64"
    mapped = True
    title = "Game of Life, 64 cells a word"
    description = _description(64)
    element_bytes = 8
    cells_per_item_x = 64
    read_bytes = 72.0
    operations: ClassVar[Mapping[str, float]] = {"memory": 10.0, "int32": 91.0, "int32_mul": 25.0, "instruction": 162.0}


WORKLOADS = (Packed8(), Packed32(), Packed64())
