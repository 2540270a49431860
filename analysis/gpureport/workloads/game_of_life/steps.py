"""Game of Life, one bit a cell, several generations while memory is passed once (temporal blocking)."""

from dataclasses import replace
from math import ceil
from typing import ClassVar

import numpy as np

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.game_of_life.tiling import Tiling
from gpureport.workloads.model import Argument, Demand, Limits, Parameters, Sweep

_WORDS = 4
_RING = _WORDS + 1
_ROUNDS = 2
_IN_SERIES = (
    0.6  # of the operations: in the machine code of compute capability 9.0 a lone wave starts one in 2.4 cycles
)
_AT_BORDERS = 0.2  # instructions more, in the machine code of compute capability 9.0: 14 to 26 %
_RESIDENT = 256  # work-items of a compute unit, when each keeps sums of many rows in registers
_SHORTEST = 8  # rows of a strip, in units of the generations: more would be read beside it than in it


class _Steps(Board):
    """Strips of four words and many rows; the pipeline of generations stays in registers."""

    source = "game_of_life/steps.cl"
    kernel = "step_steps"
    bits_per_cell = 1
    element_bytes = 4 * _WORDS
    shape = (256, 1)
    published_side = 65_536
    branches = False
    operations_of_a_word: ClassVar[float] = 11.0
    moves_of_a_word: ClassVar[float] = 3.0

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The usual ones, cut into strips."""
        return tuple(
            replace(sweep, points=tuple({**p, "rows": self._strip(p, device)} for p in sweep.points))
            for sweep in super().sweeps(device, limits)
        )

    def _strip(self, parameters: Parameters, device: Device) -> int:
        """Return the rows of a strip, an even number: few rounds of work-items, since strips read rows of others."""
        resident = device.compute_units * (_RESIDENT if device.kind != "cpu" else 1)
        columns = self.row_bytes(parameters) // self.element_bytes
        return max(_SHORTEST * self.generations, 2 * ceil(columns * parameters["height"] / (_ROUNDS * resident) / 2))

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One column of work-items a vector, one row of them a strip."""
        return self.row_bytes(parameters) // self.element_bytes, ceil(parameters["height"] / self._rows(parameters))

    def _rows(self, parameters: Parameters) -> int:
        return parameters.get("rows", _SHORTEST * self.generations)

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Vectors of a strip's rows."""
        group = (parameters["local_x"], parameters["local_y"])
        return Tiling(device, self.items(parameters), group, self.element_bytes, self._rows(parameters))

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each word of each row of each generation: two shifts, nine logic operations; a fifth word for the edges."""
        base = super().demand(parameters, device)
        worked = self._rows(parameters) + 2 * self.generations
        busy = self.tiling(parameters, device).busy_items * worked
        integer = _RING * self.generations * self.operations_of_a_word + 12.0
        integer *= 1 + _AT_BORDERS * self._bordered(parameters)
        return replace(
            base,
            operations={
                "memory": 4.0 * busy,
                "int32": integer * busy,
                "instruction": (integer + _RING * self.generations * self.moves_of_a_word + 12.0) * busy,
            },
            chain={"int32": _IN_SERIES * integer * worked},
            memory_chain=float(worked),
            registers=min(255, 40 + _RING * (1 + 5 * self.generations)),
        )

    def _bordered(self, parameters: Parameters) -> float:
        """Return the share of the groups that keep cells beyond the border dead.

        Those of the first and last strips, and of the last columns, if they are not full.
        """
        columns, strips = (
            n / side
            for n, side in zip(self.items(parameters), (parameters["local_x"], parameters["local_y"]), strict=True)
        )
        covered = ceil(columns) * parameters["local_x"] * _WORDS * 32
        at_side = 1 / ceil(columns) if covered > parameters["width"] else 0.0
        return 1 - (1 - at_side) * (1 - min(1.0, 2 / ceil(strips)))

    def passes(self, parameters: Parameters) -> float:
        """A strip reads as many rows above and below it as there are generations."""
        rows = self._rows(parameters)
        return (rows + 2 * self.generations) / rows

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002 - the same for all points
        """Generations."""
        return f"-DSTEPS={self.generations}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Vectors of a row, height, width, rows of a strip."""
        vectors = self.row_bytes(parameters) // self.element_bytes
        width, height = parameters["width"], parameters["height"]
        return np.uint32(vectors), np.int32(height), np.uint32(width), np.int32(self._rows(parameters))

    def verification(self) -> tuple[Parameters, ...]:
        """The odd boards, in strips of rows that do not divide them, longer and shorter than the generations."""
        return tuple({**board, "rows": rows} for board in super().verification() for rows in (3, 21))


def _description(generations: int) -> str:
    return (
        f"{generations} generations a dispatch: a work-item goes down a strip of 128 cells and keeps sums of the last "
        "two rows of every generation in registers, so that memory is passed once for all of them; the 16 cells at "
        "either side of a strip, and the rows above and below it, are worked on twice. Dead beyond the border. "
        f"Counted: cells advanced, each {generations} times a dispatch."
    )


class PackedSteps2(_Steps):
    """Two generations."""

    variant = "packed_steps2"
    title = "Game of Life, one bit a cell, two generations a pass"
    description = _description(2)
    generations = 2


class PackedSteps4(_Steps):
    """Four generations."""

    variant = "packed_steps4"
    title = "Game of Life, one bit a cell, four generations a pass"
    description = _description(4)
    generations = 4


class PackedSteps8(_Steps):
    """Eight generations."""

    variant = "packed_steps8"
    title = "Game of Life, one bit a cell, eight generations a pass"
    description = _description(8)
    generations = 8


WORKLOADS = (PackedSteps2(), PackedSteps4(), PackedSteps8())
