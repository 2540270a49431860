"""Game of Life, one byte per cell; one bit per cell, in words or with several generations per pass over memory."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.game_of_life.board import Board, Cells
from gpureport.workloads.model import Argument, Demand, Limits, Parameters

_WORDS = 4
_GPU_LANES, _CPU_LANES = 1, 8  # strips of a work-item
_WAVE = 32  # work-items of a GPU that decide together whether they check for the border
_UNROLLED = 3  # rows that the kernel's loop processes at once
_ROUNDS = 4
_REGISTERS = {2: 66, 4: 97, 8: 155}  # of a work-item, by generations: NVIDIA's compiler, compute capability 9.0
_REGISTER_FILE = 65_536  # registers of a compute unit of an NVIDIA GPU, for which the length of strips is chosen
_SHORTEST = 8  # rows of a strip per generation; shorter strips would read too many rows twice

_OPERATIONS = constant(9.0)  # of a word: 8 with three inputs, and 4 shifts for the sums of 4 words
# Share of the operations that wait for each other: sums, then three to four of a pair and two cells.
_DEPENDENT = 7 / (_WORDS * _OPERATIONS)
_PER_ROW = constant(16.0)  # operations that add the cells of the strips to the west and east, and remove them again
_OTHERS = constant(40.0)  # instructions of a row for loads, the store, addresses and branches
_AT_BORDERS = constant(0.2)  # additional instructions; 14 to 26 % in the machine code for compute capability 9.0

# Counted in the machine code for AVX2 of eight generations: 27 operations and 15 loads, stores and copies of registers
# for each word. Of 22 operations with two inputs, 5 are for the sum of a column, 4 for what two cells share, 12 for the
# rule; the others invert operands and clear cells beyond the border.
_CPU_OPERATIONS = constant(27.0)
_CPU_MOVES = constant(15.0)  # of a word: loads and stores of rows and of sums that do not fit in 16 registers


class Interleaved(Board):
    """Strips of four words and many rows; a pipeline of *generations* (in words: *number*) in registers.

    Neighbouring cells are in different words. Work-items and work-groups are one-dimensional (``local_y`` is 1), so
    that only the last work-group has idle work-items. A work-item of a CPU processes as many strips as the parameter
    ``lanes`` says.
    """

    source = "game_of_life/interleaved.cl"
    kernel = "step_interleaved"
    bits_per_cell = 1
    element_bytes = 4 * _WORDS
    published_side = 65_536
    shape = (64, 1)

    def __init__(self, generations: int, number: str) -> None:
        self.generations = generations
        self.work_of = ("width", "height", generations)
        self.halo = ceil(generations / _WORDS)
        """Bits on either side of a word: zero in memory, cells of neighbouring strips in registers."""
        self.bits = 32 - 2 * self.halo
        """Cells per word."""
        self.variant = f"interleaved_steps{generations}"
        self.title = f"Game of Life, 1 bit per cell, {number} generations per pass"
        self.description = f"Strips of {self.strip} cells by row; two rows of every generation stay in registers."
        self.counted = f"cells advanced, each {generations} times per dispatch."

    @property
    def strip(self) -> int:
        return _WORDS * self.bits

    def columns(self, parameters: Parameters) -> int:
        return ceil(parameters["width"] / (self.strip * _lanes(parameters)))

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of a row: the strips of whole work-items."""
        return self.columns(parameters) * _lanes(parameters) * self.element_bytes

    def _side(self, working_set_bytes: float) -> int:
        return super()._side(working_set_bytes * self.bits / 32)

    def rows(self, parameters: Parameters) -> int:
        return parameters.get("rows", _SHORTEST * self.generations)

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """Return the work-items of all strips, in one dimension."""
        return self.columns(parameters) * ceil(parameters["height"] / self.rows(parameters)), 1

    def rectangle(self, parameters: Parameters) -> tuple[float, int]:
        return self.element_bytes * _lanes(parameters), self.rows(parameters)

    def adapted(self, parameters: Parameters, device: Device) -> Parameters:
        """Add the strips of a work-item and the rows of a strip."""
        point = {**parameters, "lanes": grid.chosen(device, cpu=_CPU_LANES, gpu=_GPU_LANES)}
        return {**point, "rows": self.strip_rows(point, device)}

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
        """Return rows of one to eight waves of NVIDIA GPUs; larger groups would not fit in the registers."""
        return tuple((2**power, 1) for power in range(5, 9) if 2**power <= limits.max_work_group)

    def strip_rows(self, parameters: Parameters, device: Device) -> int:
        """Return the rows of a strip: long strips that occupy the device for whole rounds.

        With the rows above and below, these are whole passes of the kernel's loop. A core of a CPU processes one
        work-group at a time.
        """
        resident = _REGISTER_FILE // (_WAVE * 8 * ceil(_REGISTERS[self.generations] / 8)) * _WAVE
        groups = grid.chosen(device, cpu=1, gpu=max(1, resident // parameters["local_x"]))
        wanted = _ROUNDS * device.compute_units * groups * parameters["local_x"]
        down = max(1, wanted // self.columns(parameters))
        rows = max(_SHORTEST * self.generations, ceil(parameters["height"] / down))
        return _UNROLLED * ceil((rows + 2 * self.generations) / _UNROLLED) - 2 * self.generations

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        worked = min(self.rows(parameters), parameters["height"]) + 2 * self.generations
        busy = self.tiling(parameters, device).busy_items * worked * _lanes(parameters)
        words, at_border = _WORDS * self.generations, 1 + _AT_BORDERS * self.at_border(parameters)
        each, memory, others = grid.chosen(
            device, cpu=(_CPU_OPERATIONS, words * _CPU_MOVES, words * _CPU_MOVES), gpu=(_OPERATIONS, 4.0, _OTHERS)
        )
        integer = (words * each + _PER_ROW) * at_border
        return replace(
            super().demand(parameters, device),
            operations={"memory": memory * busy, "int32": integer * busy, "instruction": (integer + others) * busy},
            chain={"int32": _DEPENDENT * (words * _OPERATIONS + _PER_ROW) * at_border * worked},
            memory_chain=float(worked),
            registers=_REGISTERS[self.generations],
            branches=_lanes(parameters) == 1,
            vector_words=_lanes(parameters) if _lanes(parameters) > 1 else 0,
        )

    def at_border(self, parameters: Parameters) -> float:
        """Return the share of work-items that check for the border; on a GPU, the kernel decides it for each wave."""
        columns, wave = self.columns(parameters), _WAVE if _lanes(parameters) == 1 else 1
        first = np.arange(0, self.items(parameters)[0], wave)
        rows, x = self.rows(parameters), first % columns
        top = first // columns * rows
        at_side = (x == 0) | (x + wave + 1 >= columns)
        above_or_below = (top < self.generations) | (top + rows + self.generations + 4 > parameters["height"])
        return float((at_side | above_or_below).mean())

    def passes(self, parameters: Parameters) -> float:
        """Each strip also reads one row per generation above and below it."""
        rows = min(self.rows(parameters), parameters["height"])
        return (rows + 2 * self.generations) / rows

    def build_options(self, parameters: Parameters) -> str:
        return f"-DSTEPS={self.generations} -DLANES={_lanes(parameters)}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Work-items side by side, height, width, rows of a strip."""
        width, height = parameters["width"], parameters["height"]
        return np.uint32(self.columns(parameters)), np.int32(height), np.uint32(width), np.int32(self.rows(parameters))

    def verification(self) -> tuple[Parameters, ...]:
        """The usual boards in strips that do not divide them, longer and shorter than the generations.

        Also a board that ends within the halo of a strip whose wave has no other border.
        """
        flat = tuple(
            {**board, "local_x": board["local_x"] * board["local_y"], "local_y": 1, "rows": rows}
            for board in self.verified
            for rows in (3, 21)
        )
        # Work-items 96 to 127 are strips 10 to 41 of the third block of rows; the last of 43 strips has few cells.
        width = 42 * self.strip + max(1, self.generations // 2 - 1)
        boards = (*flat, {"width": width, "height": 37, "local_x": 8, "local_y": 1, "rows": 4})
        return tuple({**board, "lanes": lanes} for lanes in (_GPU_LANES, _CPU_LANES) for board in boards)

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Random cells; the other bits of a word are zero."""
        own = np.uint32((2**self.bits - 1) << self.halo)
        return (super().drawn(rng, nbytes).view(np.uint32) & own).view(np.uint8)

    def cells_in(self, stored: NDArray[np.uint8], parameters: Parameters) -> Cells:
        """Bit halo + i of word j is cell 4 i + j of a strip; the same words of a work-item's strips are together."""
        lanes = _lanes(parameters)
        bits = np.unpackbits(stored, axis=1, bitorder="little").reshape(len(stored), -1, _WORDS, lanes, 32)
        own = bits[..., self.halo : self.halo + self.bits]
        return own.transpose(0, 1, 3, 4, 2).reshape(len(stored), -1)[:, : parameters["width"]].astype(np.bool_)

    def stored(self, cells: Cells, parameters: Parameters) -> NDArray[np.uint8]:
        (height, width), columns, lanes = cells.shape, self.columns(parameters), _lanes(parameters)
        padded = np.zeros((height, columns * lanes * self.strip), dtype=np.bool_)
        padded[:, :width] = cells
        words = np.zeros((height, columns, _WORDS, lanes, 32), dtype=np.bool_)
        by_word = padded.reshape(height, columns, lanes, self.bits, _WORDS).transpose(0, 1, 4, 2, 3)
        words[..., self.halo : self.halo + self.bits] = by_word
        return np.packbits(words.reshape(height, -1), axis=1, bitorder="little")


def _lanes(parameters: Parameters) -> int:
    return parameters.get("lanes", _GPU_LANES)


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
        64: {"int32": 91.0, "int32_mul": 25.0, "instruction": 162.0},
    }

    def __init__(self, bits: Literal[8, 64]) -> None:
        self.variant = f"packed{bits}"
        self.title = f"Game of Life, {bits} cells per word"
        self.description = f"One {bits}-bit word per work-item, whose neighbours are counted at once, on bit planes."
        self.mapped = bits == 64
        self.element_bytes = bits // 8
        self.lane_bytes = min(4, self.element_bytes)
        self.cells_per_item_x = bits
        self.read_bytes = 9.0 * self.element_bytes
        self.operations = {"memory": 10.0, **self.computed[bits]}
        self.scalar_instructions = {8: 110.0, 64: 103.0}[bits]

    def build_options(self, parameters: Parameters) -> str:
        return f"-DBITS={8 * self.element_bytes}"


WORKLOADS = (
    *(Bytes(), Bytes4(), BytesWide(), Interleaved(2, "two"), Interleaved(4, "four"), Interleaved(8, "eight")),
    *(Packed(8), Packed(64)),
)
