"""Game of Life, one bit per cell, several generations per pass over memory (temporal blocking)."""

from dataclasses import replace
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.game_of_life.rules import Cells
from gpureport.workloads.game_of_life.tiling import Tiling
from gpureport.workloads.model import Argument, Demand, Limits, Parameters, Sweep

_WORDS = 4
_ROUNDS = 2
_OPERATIONS, _MOVES = 9.5, 3.0  # of a word
_PER_ROW = 24.0  # operations that add the cells of the strips to the west and east, and remove them again
_DEPENDENT = 0.6  # of the operations: on compute capability 9.0 a single wave issues one every 2.4 cycles
_AT_BORDERS = 0.2  # additional instructions; 14 to 26 % in the machine code for compute capability 9.0
_RESIDENT = 256  # work-items per compute unit with sums of many rows in registers
_SHORTEST = 8  # rows of a strip per generation; shorter strips would read too many rows twice


class Steps(Board):
    """Strips of four words and many rows; a pipeline of *generations* (in words: *number*) in registers."""

    source = "game_of_life/steps.cl"
    kernel = "step_steps"
    bits_per_cell = 1
    element_bytes = 4 * _WORDS
    published_side = 65_536
    branches = True

    def __init__(self, generations: int, number: str) -> None:
        self.generations = generations
        self.bits = 32 - 2 * ceil(generations / _WORDS)
        """Cells per word in memory; in registers the other bits are those of neighbouring strips."""
        self.variant = f"interleaved_steps{generations}"
        self.title = f"Game of Life, 1 bit per cell, {number} generations per pass"
        self.description = (
            f"{generations} generations per dispatch. A work-item processes a strip of {self.strip} cells by row, four "
            f"words with {self.bits} cells each. Neighbouring cells are in different words, so that few shifts are "
            "needed. Sums of the last two rows of every generation stay in registers, so that all generations need one "
            f"pass over memory. The {2 * (32 - self.bits)} columns on either side, and {generations} rows "
            "above and below a strip, are computed twice. Dead beyond the border. Counted: cells advanced, each "
            f"{generations} times per dispatch."
        )

    @property
    def strip(self) -> int:
        """Cells of a row in one strip."""
        return _WORDS * self.bits

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of a row: whole strips."""
        return ceil(parameters["width"] / self.strip) * self.element_bytes

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The usual sweeps, with the rows of a strip."""
        return tuple(
            replace(sweep, points=tuple({**p, "rows": self._strip_rows(p, device)} for p in sweep.points))
            for sweep in super().sweeps(device, limits)
        )

    def _side(self, working_set_bytes: float) -> int:
        return super()._side(working_set_bytes * self.bits / 32)

    def _strip_rows(self, parameters: Parameters, device: Device) -> int:
        """Return the rows of a strip, an even number: few long strips that occupy the device in whole rounds."""
        resident = device.compute_units * (_RESIDENT if not device.is_cpu else 1)
        strips = self.row_bytes(parameters) // self.element_bytes
        across = ceil(strips / parameters["local_x"]) * parameters["local_x"] if not device.is_cpu else strips
        down = max(1, _ROUNDS * resident // across)
        return max(_SHORTEST * self.generations, 2 * ceil(parameters["height"] / down / 2))

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One work-item per strip."""
        return self.row_bytes(parameters) // self.element_bytes, ceil(parameters["height"] / self._rows(parameters))

    def _rows(self, parameters: Parameters) -> int:
        return parameters.get("rows", _SHORTEST * self.generations)

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Return how strips cover the board."""
        group = (parameters["local_x"], parameters["local_y"])
        return Tiling(device, self.items(parameters), group, self.element_bytes, self._rows(parameters))

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """For each word, row and generation nine logic operations, and half a shift; three loads of a row."""
        base = super().demand(parameters, device)
        worked = min(self._rows(parameters), parameters["height"]) + 2 * self.generations
        busy = self.tiling(parameters, device).busy_items * worked
        words = _WORDS * self.generations
        integer = words * _OPERATIONS + _PER_ROW
        integer *= 1 + _AT_BORDERS * self._bordered(parameters)
        return replace(
            base,
            operations={
                "memory": 4.0 * busy,
                "int32": integer * busy,
                "instruction": (integer + words * _MOVES + _PER_ROW) * busy,
            },
            chain={"int32": _DEPENDENT * integer * worked},
            memory_chain=float(worked),
            registers=min(255, 62 + 22 * self.generations),
        )

    def _bordered(self, parameters: Parameters) -> float:
        """Return the share of work-groups with cells beyond the border: at any of its four sides."""
        groups = (
            ceil(n / side)
            for n, side in zip(self.items(parameters), (parameters["local_x"], parameters["local_y"]), strict=True)
        )
        return 1 - prod(1 - min(1.0, 2 / count) for count in groups)

    def passes(self, parameters: Parameters) -> float:
        """Each strip also reads one row per generation above and below it."""
        rows = min(self._rows(parameters), parameters["height"])
        return (rows + 2 * self.generations) / rows

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002 - the same for all points
        """The generations of a pass."""
        return f"-DSTEPS={self.generations}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Strips per row, height, width, rows of a strip."""
        strips = self.row_bytes(parameters) // self.element_bytes
        width, height = parameters["width"], parameters["height"]
        return np.uint32(strips), np.int32(height), np.uint32(width), np.int32(self._rows(parameters))

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Random cells; the other bits of a word are zero."""
        return (super().drawn(rng, nbytes).view(np.uint32) & np.uint32(2**self.bits - 1)).view(np.uint8)

    def cells_in(self, stored: NDArray[np.uint8], width: int) -> Cells:
        """Bit i of word j is cell 4 i + j of a strip."""
        bits = np.unpackbits(stored, axis=1, bitorder="little").reshape(len(stored), -1, _WORDS, 32)
        return bits[..., : self.bits].swapaxes(2, 3).reshape(len(stored), -1)[:, :width].astype(np.bool_)

    def stored(self, cells: Cells, row_bytes: int) -> NDArray[np.uint8]:
        """Rows of whole strips."""
        height, width = cells.shape
        strips = row_bytes // self.element_bytes
        padded = np.zeros((height, strips * self.strip), dtype=np.bool_)
        padded[:, :width] = cells
        words = np.zeros((height, strips, _WORDS, 32), dtype=np.bool_)
        words[..., : self.bits] = padded.reshape(height, strips, self.bits, _WORDS).swapaxes(2, 3)
        return np.packbits(words.reshape(height, -1), axis=1, bitorder="little")

    def verification(self) -> tuple[Parameters, ...]:
        """The usual boards in strips that do not divide them, longer and shorter than the generations."""
        return tuple({**board, "rows": rows} for board in super().verification() for rows in (3, 21))


WORKLOADS = (Steps(2, "two"), Steps(4, "four"), Steps(8, "eight"))
