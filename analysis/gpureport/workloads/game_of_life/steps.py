"""Game of Life, one bit per cell, several generations per pass over memory (temporal blocking)."""

from dataclasses import replace
from math import ceil
from typing import ClassVar

import numpy as np

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.model import Argument, Demand, Limits, Parameters, Sweep
from gpureport.workloads.tiling import Tiling

WORDS = 4
_RING = WORDS + 1
ROUNDS = 2
_OPERATIONS, MOVES = 11.0, 3.0  # of a word
DEPENDENT = 0.6  # of the operations: on compute capability 9.0 a single wave issues one every 2.4 cycles
AT_BORDERS = 0.2  # additional instructions; 14 to 26 % in the machine code for compute capability 9.0
RESIDENT = 256  # work-items per compute unit with sums of many rows in registers
SHORTEST = 8  # rows of a strip per generation; shorter strips would read too many rows twice


class Steps(Board):
    """Strips of four words and many rows; a pipeline of *generations* (in words: *number*) in registers."""

    source = "game_of_life/steps.cl"
    kernel = "step_steps"
    bits_per_cell = 1
    element_bytes = 4 * WORDS
    published_side = 65_536
    branches = True
    dependent: ClassVar[float] = DEPENDENT
    """Share of the operations that wait for each other."""

    def __init__(self, generations: int, number: str) -> None:
        self.generations = generations
        self.variant = f"packed_steps{generations}"
        self.title = f"Game of Life, 1 bit per cell, {number} generations per pass"
        self.description = (
            f"{generations} generations per dispatch. A work-item processes a strip of 128 cells by row. It keeps sums "
            "of the last two rows of every generation in registers, so that all generations need one pass over memory. "
            "The 16 cells on either side of a strip, and the rows above and below it, are computed twice. Dead beyond "
            f"the border. Counted: cells advanced, each {generations} times per dispatch."
        )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The usual sweeps, with the rows of a strip."""
        return tuple(
            replace(sweep, points=tuple({**p, "rows": self.strip_rows(p, device)} for p in sweep.points))
            for sweep in super().sweeps(device, limits)
        )

    def strip_rows(self, parameters: Parameters, device: Device) -> int:
        """Return the rows of a strip, an even number: enough work-items for the device, in few long strips."""
        resident = device.compute_units * (RESIDENT if not device.is_cpu else 1)
        columns = self.row_bytes(parameters) // self.element_bytes
        return max(SHORTEST * self.generations, 2 * ceil(columns * parameters["height"] / (ROUNDS * resident) / 2))

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One work-item per strip."""
        return self.row_bytes(parameters) // self.element_bytes, ceil(parameters["height"] / self.rows(parameters))

    def rows(self, parameters: Parameters) -> int:
        """Return the rows of a strip."""
        return parameters.get("rows", SHORTEST * self.generations)

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Return how strips cover the board."""
        group = (parameters["local_x"], parameters["local_y"])
        return Tiling(device, self.items(parameters), group, self.element_bytes, self.rows(parameters))

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Loads, stores and operations of each row, and of the rows above and below the strip."""
        worked = min(self.rows(parameters), parameters["height"]) + 2 * self.generations
        busy = self.tiling(parameters, device).busy_items * worked
        integer, instructions, registers = self.per_row(parameters)
        return replace(
            super().demand(parameters, device),
            operations={"memory": 4.0 * busy, "int32": integer * busy, "instruction": instructions * busy},
            chain={"int32": self.dependent * integer * worked},
            memory_chain=float(worked),
            registers=min(255, registers),
        )

    def per_row(self, parameters: Parameters) -> tuple[float, float, int]:
        """Return integer operations and instructions of a row, and registers.

        For each word and generation two shifts and nine logic operations; a fifth word for the edges.
        """
        words = _RING * self.generations
        integer = (words * _OPERATIONS + 12.0) * (1 + AT_BORDERS * self.at_border(parameters))
        return integer, integer + words * MOVES + 12.0, 40 + _RING * (1 + 5 * self.generations)

    def at_border(self, parameters: Parameters) -> float:
        """Return the share of work-groups with cells beyond the border: first and last strips, partial columns."""
        columns, strips = (
            n / side
            for n, side in zip(self.items(parameters), (parameters["local_x"], parameters["local_y"]), strict=True)
        )
        covered = ceil(columns) * parameters["local_x"] * WORDS * 32
        at_side = 1 / ceil(columns) if covered > parameters["width"] else 0.0
        return 1 - (1 - at_side) * (1 - min(1.0, 2 / ceil(strips)))

    def passes(self, parameters: Parameters) -> float:
        """Each strip also reads one row per generation above and below it."""
        rows = min(self.rows(parameters), parameters["height"])
        return (rows + 2 * self.generations) / rows

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002 - the same for all points
        """The generations of a pass."""
        return f"-DSTEPS={self.generations}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Vectors per row, height, width, rows of a strip."""
        vectors = self.row_bytes(parameters) // self.element_bytes
        width, height = parameters["width"], parameters["height"]
        return np.uint32(vectors), np.int32(height), np.uint32(width), np.int32(self.rows(parameters))

    def verification(self) -> tuple[Parameters, ...]:
        """The usual boards in strips that do not divide them, longer and shorter than the generations."""
        return tuple({**board, "rows": rows} for board in super().verification() for rows in (3, 21))


WORKLOADS = (Steps(2, "two"), Steps(4, "four"), Steps(8, "eight"))
