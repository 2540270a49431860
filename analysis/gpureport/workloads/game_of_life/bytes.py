"""Game of Life, one byte per cell: naive, four cells per work-item, 32-bit loads."""

from collections.abc import Mapping

from gpureport.workloads.game_of_life.board import Board


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
    description = "One cell per work-item: nine byte loads and one store. Dead beyond the border."
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
    description = "Four cells of a row per work-item: 18 byte loads instead of 36. Dead beyond the border."
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
    description = "One 32-bit word of four cells per work-item, whose bytes are added at once. Dead beyond the border."
    element_bytes = 4
    in_words = True
    cells_per_item_x = 4
    read_bytes = 36.0
    displaced = 6 / 10
    operations: Mapping[str, float] = {"memory": 10.0, "int32": 48.0, "int32_mul": 26.0, "instruction": 110.0}
    scalar_instructions = 102.0
    maskable = True
    row_after_row = True


WORKLOADS = (Bytes(), Bytes4(), BytesWide())
