"""Game of Life, one bit per cell, several generations per pass; neighbouring cells are in different words."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.rules import Cells
from gpureport.workloads.game_of_life.steps import AT_BORDERS, SHORTEST, WORDS, Steps
from gpureport.workloads.model import Limits, Parameters

_ROUNDS = 4
_WAVE = 32  # work-items that decide together whether they check for the border
_RESIDENT = 384  # work-items per compute unit with 155 registers each: 12 waves of 32 with 65,536 registers
_UNROLLED = 3  # rows that the kernel's loop processes at once
_OPERATIONS = 9.0  # of a word: 8 with three inputs, and 4 shifts for the sums of 4 words
_DEPENDENT = 7 / (WORDS * _OPERATIONS)  # of a generation's operations: sums, then three to four of a pair and two cells
_PER_ROW = 16.0  # operations that add the cells of the strips to the west and east, and remove them again
_OTHERS = 40.0  # instructions of a row for loads, the store, addresses and branches


class Interleaved(Steps):
    """As :class:`Steps`, with one shift instead of two for each word, and no word that contains edges only.

    Work-items and work-groups are one-dimensional (``local_y`` is 1), so that only the last work-group has idle
    work-items.
    """

    shape = (64, 1)
    dependent = _DEPENDENT
    source = "game_of_life/interleaved.cl"
    kernel = "step_interleaved"

    def __init__(self, generations: int, number: str) -> None:
        super().__init__(generations, number)
        self.halo = ceil(generations / WORDS)
        """Bits on either side of a word: zero in memory, cells of neighbouring strips in registers."""
        self.bits = 32 - 2 * self.halo
        """Cells per word."""
        self.variant = f"interleaved_steps{generations}"
        self.title = f"Game of Life, interleaved words, {number} generations per pass"
        self.description = (
            f"{generations} generations per dispatch. A work-item processes a strip of {self.strip} cells by row, four "
            f"words with {self.bits} cells each. Neighbouring cells are in different words, so that few shifts are "
            "needed, and two neighbouring cells share the sums of two columns. The last two rows of every generation "
            "stay in registers, so that all generations need one pass over memory. The "
            f"{2 * (32 - self.bits)} columns on either side, and {generations} rows above and below a strip, are "
            "computed twice. The dispatch is one-dimensional, so that only the last "
            "work-group has idle work-items. Dead beyond the border. Counted: cells advanced, each "
            f"{generations} times per dispatch."
        )

    @property
    def strip(self) -> int:
        """Cells of a row in one strip."""
        return WORDS * self.bits

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of a row: whole strips."""
        return ceil(parameters["width"] / self.strip) * self.element_bytes

    def _side(self, working_set_bytes: float) -> int:
        return super()._side(working_set_bytes * self.bits / 32)

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """Return rows of one to eight waves of NVIDIA GPUs; larger groups would not fit in the registers."""
        return tuple((2**power, 1) for power in range(5, 9) if 2**power <= limits.max_work_group)

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One work-item per strip, in one dimension."""
        columns, down = super().items(parameters)
        return columns * down, 1

    def strip_rows(self, parameters: Parameters, device: Device) -> int:
        """Return the rows of a strip: long strips that occupy the device for whole rounds.

        With the rows above and below, these are whole passes of the kernel's loop. A core of a CPU processes one
        work-group at a time.
        """
        strips = self.row_bytes(parameters) // self.element_bytes
        groups = 1 if device.is_cpu else max(1, _RESIDENT // parameters["local_x"])
        down = max(1, _ROUNDS * device.compute_units * groups * parameters["local_x"] // strips)
        rows = max(SHORTEST * self.generations, ceil(parameters["height"] / down))
        return _UNROLLED * ceil((rows + 2 * self.generations) / _UNROLLED) - 2 * self.generations

    def per_row(self, parameters: Parameters) -> tuple[float, float, int]:
        """Return as :class:`Steps`: eight logic operations for each word and generation, and one shift; no moves.

        NVIDIA's compiler uses 155 registers for eight generations, of which two rows of each take 64.
        """
        words = WORDS * self.generations
        integer = (words * _OPERATIONS + _PER_ROW) * (1 + AT_BORDERS * self.at_border(parameters))
        return integer, integer + _OTHERS, 91 + 2 * words

    def at_border(self, parameters: Parameters) -> float:
        """Return the share of work-items that check for the border; the kernel decides it for each 32."""
        strips = self.row_bytes(parameters) // self.element_bytes
        first = np.arange(0, self.items(parameters)[0], _WAVE)
        rows, x = self.rows(parameters), first % strips
        top = first // strips * rows
        at_side = (x == 0) | (x + _WAVE + 1 >= strips)
        above_or_below = (top < self.generations) | (top + rows + self.generations + 4 > parameters["height"])
        return float((at_side | above_or_below).mean())

    def verification(self) -> tuple[Parameters, ...]:
        """As :class:`Steps`, and a board that ends within the halo of a strip whose wave has no other border."""
        flat = (
            {**board, "local_x": board["local_x"] * board["local_y"], "local_y": 1} for board in super().verification()
        )
        # Work-items 96 to 127 are strips 10 to 41 of the third block of rows; the last of 43 strips has three cells.
        width = 42 * self.strip + self.generations // 2 - 1
        return (*flat, {"width": width, "height": 37, "local_x": 8, "local_y": 1, "rows": 4})

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Random cells; the other bits of a word are zero."""
        own = np.uint32((2**self.bits - 1) << self.halo)
        return (super().drawn(rng, nbytes).view(np.uint32) & own).view(np.uint8)

    def cells_in(self, stored: NDArray[np.uint8], width: int) -> Cells:
        """Bit halo + i of word j is cell 4 i + j of a strip."""
        bits = np.unpackbits(stored, axis=1, bitorder="little").reshape(len(stored), -1, WORDS, 32)
        own = bits[..., self.halo : self.halo + self.bits]
        return own.swapaxes(2, 3).reshape(len(stored), -1)[:, :width].astype(np.bool_)

    def stored(self, cells: Cells, row_bytes: int) -> NDArray[np.uint8]:
        """Rows of whole strips."""
        height, width = cells.shape
        strips = row_bytes // self.element_bytes
        padded = np.zeros((height, strips * self.strip), dtype=np.bool_)
        padded[:, :width] = cells
        words = np.zeros((height, strips, WORDS, 32), dtype=np.bool_)
        cells_by_word = padded.reshape(height, strips, self.bits, WORDS).swapaxes(2, 3)
        words[..., self.halo : self.halo + self.bits] = cells_by_word
        return np.packbits(words.reshape(height, -1), axis=1, bitorder="little")


WORKLOADS = (Interleaved(8, "eight"),)
