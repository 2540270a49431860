"""Game of Life, one bit per cell: words of 8, 32 or 64 cells, one word per work-item."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.model import Parameters


class Packed(Board):
    """Words of *bits* cells; one kernel for all sizes."""

    source = "game_of_life/packed.cl"
    kernel = "step_packed"
    bits_per_cell = 1
    in_words = True
    published_side = 65_536
    displaced = 6 / 10
    maskable = True
    row_after_row = True
    computed: ClassVar[Mapping[int, Mapping[str, float]]] = {
        8: {"int32": 74.0, "int32_mul": 16.0, "instruction": 125.0},
        32: {"int32": 58.0, "int32_mul": 25.0, "instruction": 119.0},
        64: {"int32": 91.0, "int32_mul": 25.0, "instruction": 162.0},
    }

    def __init__(self, bits: Literal[8, 32, 64]) -> None:
        self.variant = f"packed{bits}"
        self.title = f"Game of Life, {bits} cells per word"
        self.description = (
            f"One bit per cell, one {bits}-bit word per work-item: nine word loads and one store. Bit-plane adders "
            f"count the neighbours of {bits} cells at once. Dead beyond the border; bits beyond the last column are "
            "masked. Counted: cells advanced by one generation."
        )
        self.mapped = bits == 64
        self.element_bytes = bits // 8
        self.lane_bytes = min(4, self.element_bytes)
        self.cells_per_item_x = bits
        self.read_bytes = 9.0 * self.element_bytes
        self.operations = {"memory": 10.0, **self.computed[bits]}
        self.scalar_instructions = {8: 110.0, 32: 121.0, 64: 103.0}[bits]

    def build_options(self, parameters: Parameters) -> str:
        return f"-DBITS={8 * self.element_bytes}"


WORKLOADS = (Packed(8), Packed(32), Packed(64))
