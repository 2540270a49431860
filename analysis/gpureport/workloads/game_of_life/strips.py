"""Game of Life at the speed of memory: strips of eight rows a work-item, one byte or one bit a cell."""

from dataclasses import replace
from math import ceil
from typing import ClassVar

from gpureport.spec.models import Device
from gpureport.workloads.game_of_life.board import Board
from gpureport.workloads.game_of_life.tiling import Tiling
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters, Stream, Sweep

_ROWS = 8


class _Strips(Board):
    """Vectors of ``words`` 32-bit words: 16 bytes a lane of a GPU, 64 bytes a work-item of a CPU.

    Work-items of a GPU exchange the words at their edges through local memory; those of a CPU, which run one after the
    other, load them.
    """

    source = "game_of_life/strips.cl"
    kernel = "step_strips"
    essential = True
    element_bytes = 64
    rows_per_item = _ROWS
    shape = (128, 1)
    published_side = 65_536
    read_bytes = 16.0 * (_ROWS + 2)
    registers = 96
    branches = False
    sum_operations: ClassVar[float]
    """Integer operations that sum a word of a row with its neighbours."""
    rule_operations: ClassVar[float]
    """Those that make a word of the next generation of three sums."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The usual ones, cut into vectors for the device."""
        words = 16 if device.kind == "cpu" else 4
        return tuple(
            replace(sweep, points=tuple({**point, "words": words} for point in sweep.points))
            for sweep in super().sweeps(device, limits)
        )

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """One column of work-items a vector, one row of them eight rows."""
        return self._vectors(parameters), ceil(parameters["height"] / _ROWS)

    def _vectors(self, parameters: Parameters) -> int:
        return self.row_bytes(parameters) // (4 * parameters["words"])

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Vectors of eight rows."""
        group = (parameters["local_x"], parameters["local_y"])
        return Tiling(device, self.items(parameters), group, 4 * parameters["words"], _ROWS)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Ten rows are loaded and summed for eight that are written; sums are shared by the rows that need them."""
        base = super().demand(parameters, device)
        busy, words = self.tiling(parameters, device).busy_items, parameters["words"]
        integer = words * (self.sum_operations * (_ROWS + 2) + self.rule_operations * _ROWS)
        addresses = 6.0 * (_ROWS + 2) + 3.0 * _ROWS
        local = 4.0 * (_ROWS + 2) if words == 4 else 0.0  # two words of each row to local memory, two from there
        per_item = {
            "memory": 2.0 * _ROWS + 2,
            "int32": integer + addresses,
            "instruction": integer + 1.5 * addresses + local + 2.0 * _ROWS + 2,
            **({"local": local, "barrier": 1.0} if local else {}),
        }
        return replace(
            base,
            operations={name: count * busy for name, count in per_item.items()},
            chain={"int32": 8.0 * words + 2.0 * _ROWS, **({"local": 2.0, "barrier": 1.0} if local else {})},
            local_memory_bytes=self._local_bytes(parameters) if local else 0,
        )

    def streams(self, parameters: Parameters, device: Device) -> tuple[Stream, ...]:
        """Each row is loaded by the work-items of its strip, and by those above and below at the edge."""
        read, written = super().streams(parameters, device)
        return replace(read, passes=(_ROWS + 2) / _ROWS), written

    def _local_bytes(self, parameters: Parameters) -> int:
        return 2 * 4 * (_ROWS + 2) * parameters["local_x"] * parameters["local_y"]

    def build_options(self, parameters: Parameters) -> str:
        """The form of cells and vectors."""
        words = parameters["words"]
        return f"-DBITS={self.bits_per_cell} -DROWS={_ROWS} -DWORDS={words} -DEXCHANGE={int(words == 4)}"

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Vectors of a row, height and width; where words are exchanged, room for the first and the last of each."""
        vectors, (width, height) = self._vectors(parameters), super().scalars(parameters)
        half = Local(self._local_bytes(parameters) // 2)
        return (type(height)(vectors), height, width, *((half, half) if parameters["words"] == 4 else ()))

    def verification(self) -> tuple[Parameters, ...]:
        """The odd boards, cut for GPUs and for CPUs."""
        return tuple({**board, "words": words} for board in super().verification() for words in (4, 16))


class BytesStrips(_Strips):
    """One byte a cell."""

    variant = "bytes_strips"
    title = "Game of Life, one byte a cell, strips"
    description = (
        "The fastest kernel of bytes: a work-item asks for ten rows of 16 bytes at once (64 on a CPU), sums each row's "
        "cells with their neighbours once, and writes eight; work-items side by side exchange the words at their edges "
        "through local memory; dead beyond the border. Counted: cells advanced by one generation."
    )
    bits_per_cell = 8
    # Two shifts across words and an addition; then three additions, the test for three, and its bit.
    sum_operations = 3.0
    rule_operations = 7.0


class PackedStrips(_Strips):
    """One bit a cell."""

    variant = "packed_strips"
    title = "Game of Life, one bit a cell, strips"
    description = (
        "The fastest kernel of bits for one generation: as the strips of bytes, with 128 cells a row of a work-item "
        "(512 on a CPU), summed on bit planes; dead beyond the border. Counted: cells advanced by one generation."
    )
    bits_per_cell = 1
    # Two shifts across words, parity and majority; then four of sums and carries, and the rule.
    sum_operations = 4.0
    rule_operations = 9.0


WORKLOADS = (BytesStrips(), PackedStrips())
