"""Game of Life, one byte per cell: naive, four cells per work-item, 32-bit loads, a tile in local memory."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, prod
from typing import ClassVar

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.model import Argument, Demand, Local, Parameters

# Operations per iteration of the loop that copies rows to local memory, and of its inner loop over columns, one cell.
_COPIED_ROW = {"int32": 4.0, "int32_mul": 4.0, "instruction": 14.0}
_COPIED_CELL = {"memory": 1.0, "local": 1.0, "int32": 7.0, "int32_mul": 2.0, "instruction": 13.0}


class _Bytes(Board):
    source = "game_of_life/bytes.cl"
    bits_per_cell = 8
    element_bytes = 1


class Bytes(_Bytes):
    variant = "bytes"
    essential = True
    mapped = True
    kernel = "step_bytes"
    title = "Game of Life, 1 byte per cell, naive"
    description = (
        "One cell per work-item: nine byte loads and one store. Two boards in turn, random start, dead beyond the "
        "border."
    )
    read_bytes = 9.0
    displaced = 6 / 10
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 25.0, "int32_mul": 12.0, "instruction": 66.0}
    scalar_instructions = 44.0
    maskable = True
    row_after_row = True


class Bytes4(_Bytes):
    variant = "bytes4"  # published as "grouped"
    mapped = True
    kernel = "step_bytes4"
    title = "Game of Life, 1 byte per cell, four cells per work-item"
    description = (
        "Four cells of a row per work-item. Their neighbourhoods overlap: 18 byte loads and four stores instead of 36 "
        "and four. Dead beyond the border."
    )
    cells_per_item_x = 4
    read_bytes = 18.0
    stores = 4
    displaced = 6 / 22
    operations: Mapping[str, float] = {"memory": 22.0, "int32": 68.0, "int32_mul": 35.0, "instruction": 154.0}
    scalar_instructions = 324.0
    row_after_row = True
    indexed = True
    registers = 28


class BytesWide(_Bytes):
    variant = "bytes_wide"
    mapped = True
    kernel = "step_bytes_wide"
    title = "Game of Life, 1 byte per cell, 32-bit loads"
    description = (
        "One 32-bit word of four cells per work-item: nine word loads and one store. Neighbours are added in all four "
        "bytes of a word at once. Rows are padded to whole words with dead bytes; dead beyond the border."
    )
    element_bytes = 4
    in_words = True
    cells_per_item_x = 4
    read_bytes = 36.0
    displaced = 6 / 10
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 48.0, "int32_mul": 26.0, "instruction": 110.0}
    scalar_instructions = 102.0
    maskable = True
    row_after_row = True


class BytesTile(_Bytes):
    variant = "bytes_tile"
    kernel = "step_bytes_tile"
    title = "Game of Life, 1 byte per cell, tile in local memory"
    description = (
        "One cell per work-item. A work-group copies its cells and those around them to local memory, waits at a "
        "barrier, and each work-item reads nine cells from there. Dead beyond the border."
    )
    shape = (32, 8)
    operations: Mapping[str, float] = {
        "memory": 1.0,
        "local": 9.0,
        "int32": 17.0,
        "int32_mul": 9.0,
        "barrier": 1.0,
        "instruction": 60.0,
    }
    chain: ClassVar[Mapping[str, float]] = {"int32": 30.0, "local": 2.0, "barrier": 1.0}

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add the copy of the tile with its halo. All lanes execute the iteration that only two of them need."""
        base, x, y = super().demand(parameters, device), parameters["local_x"], parameters["local_y"]
        rows = (y + 2) / y * self.tiling(parameters, device).busy_items
        cells = rows * ceil((x + 2) / x)
        return replace(
            base,
            operations={
                name: n + _COPIED_ROW.get(name, 0.0) * rows + _COPIED_CELL.get(name, 0.0) * cells
                for name, n in base.operations.items()
            },
            # Iterations are dependent: the first waits for memory, the others for data that neighbours have loaded.
            cached_chain=ceil((y + 2) / y) * ceil((x + 2) / x) - 1.0,
            local_memory_bytes=self._tile_bytes(parameters),
        )

    def passes(self, parameters: Parameters) -> float:
        """Return the size of a tile with its halo, relative to the cells of the work-group."""
        return self._tile_bytes(parameters) / (parameters["local_x"] * parameters["local_y"])

    def _tile_bytes(self, parameters: Parameters) -> int:
        return prod(parameters[side] + 2 for side in ("local_x", "local_y"))

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        return (*super().scalars(parameters), Local(self._tile_bytes(parameters)))


WORKLOADS = (Bytes(), Bytes4(), BytesWide(), BytesTile())
