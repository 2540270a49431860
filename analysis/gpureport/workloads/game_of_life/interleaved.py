"""Game of Life, one bit per cell, several generations per pass; neighbouring cells are in different words."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.rules import Cells
from gpureport.workloads.game_of_life.steps import AT_BORDERS, MOVES, RESIDENT, SHORTEST, WORDS, Steps
from gpureport.workloads.model import Limits, Parameters

_ROUNDS = 3
_OPERATIONS = 9.5  # of a word
_PER_ROW = 24.0  # operations that add the cells of the strips to the west and east, and remove them again


class Interleaved(Steps):
    """As :class:`Steps`, with half a shift instead of two for each word, and no word that contains edges only.

    Work-items and work-groups are one-dimensional (``local_y`` is 1), so that only the last work-group has idle
    work-items.
    """

    shape = (64, 1)
    source = "game_of_life/interleaved.cl"
    kernel = "step_interleaved"

    def __init__(self, generations: int, number: str) -> None:
        super().__init__(generations, number)
        self.bits = 32 - 2 * ceil(generations / WORDS)
        """Cells per word in memory; in registers the other bits are those of neighbouring strips."""
        self.variant = f"interleaved_steps{generations}"
        self.title = f"Game of Life, interleaved words, {number} generations per pass"
        self.description = (
            f"{generations} generations per dispatch. A work-item processes a strip of {self.strip} cells by row, four "
            f"words with {self.bits} cells each. Neighbouring cells are in different words, so that few shifts are "
            "needed. Sums of the last two rows of every generation stay in registers, so that all generations need one "
            f"pass over memory. The {2 * (32 - self.bits)} columns on either side, and {generations} rows "
            "above and below a strip, are computed twice. The dispatch is one-dimensional, so that only the last "
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
        """Return the rows of a strip, an even number: long strips that occupy the device for whole rounds.

        A core of a CPU processes one work-group at a time.
        """
        strips = self.row_bytes(parameters) // self.element_bytes
        resident = device.compute_units * (RESIDENT if not device.is_cpu else parameters["local_x"])
        down = max(1, _ROUNDS * resident // strips)
        return max(SHORTEST * self.generations, 2 * ceil(parameters["height"] / down / 2))

    def per_row(self, parameters: Parameters) -> tuple[float, float, int]:
        """Return as :class:`Steps`: nine logic operations for each word and generation, and half a shift."""
        words = WORDS * self.generations
        integer = (words * _OPERATIONS + _PER_ROW) * (1 + AT_BORDERS * self.at_border(parameters))
        return integer, integer + words * MOVES + _PER_ROW, 62 + 22 * self.generations

    def at_border(self, parameters: Parameters) -> float:
        """Return the share of work-groups that check for the border, as the kernel decides it."""
        strips, local = self.row_bytes(parameters) // self.element_bytes, parameters["local_x"]
        first = np.arange(0, self.items(parameters)[0], local)
        rows, x = self.rows(parameters), first % strips
        top = first // strips * rows
        at_side = (x == 0) | (x + local + 1 >= strips)
        above_or_below = (top < self.generations) | (top + rows + self.generations > parameters["height"])
        return float((at_side | above_or_below).mean())

    def verification(self) -> tuple[Parameters, ...]:
        """As :class:`Steps`, and a board that ends within the halo of a strip whose work-group has no other border."""
        flat = (
            {**board, "local_x": board["local_x"] * board["local_y"], "local_y": 1} for board in super().verification()
        )
        width = 16 * self.strip + self.generations // 2 - 1
        return (*flat, {"width": width, "height": 37, "local_x": 8, "local_y": 1, "rows": 3})

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Random cells; the other bits of a word are zero."""
        return (super().drawn(rng, nbytes).view(np.uint32) & np.uint32(2**self.bits - 1)).view(np.uint8)

    def cells_in(self, stored: NDArray[np.uint8], width: int) -> Cells:
        """Bit i of word j is cell 4 i + j of a strip."""
        bits = np.unpackbits(stored, axis=1, bitorder="little").reshape(len(stored), -1, WORDS, 32)
        return bits[..., : self.bits].swapaxes(2, 3).reshape(len(stored), -1)[:, :width].astype(np.bool_)

    def stored(self, cells: Cells, row_bytes: int) -> NDArray[np.uint8]:
        """Rows of whole strips."""
        height, width = cells.shape
        strips = row_bytes // self.element_bytes
        padded = np.zeros((height, strips * self.strip), dtype=np.bool_)
        padded[:, :width] = cells
        words = np.zeros((height, strips, WORDS, 32), dtype=np.bool_)
        words[..., : self.bits] = padded.reshape(height, strips, self.bits, WORDS).swapaxes(2, 3)
        return np.packbits(words.reshape(height, -1), axis=1, bitorder="little")


WORKLOADS = (Interleaved(8, "eight"),)
