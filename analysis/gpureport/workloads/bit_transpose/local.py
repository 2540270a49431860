"""Transposition through local memory, with one- and two-dimensional work-groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.bit_transpose.family import ROWS, Transpose
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters

_ROUTE = (
    "in each round a work-item stores its row to local memory, waits at one barrier and reads its partner's row "
    "(two halves of local memory in turn)"
)
_COLUMNS = (
    "Two-dimensional work-groups, as published: x is the matrix and y the row. The rows of a matrix are contiguous, so "
    "consecutive work-items are whole matrices apart"
)


class LocalMemory(Transpose):
    """One-dimensional work-groups: neighbouring work-items have neighbouring rows."""

    variant = "local"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/local.cl"
    method = "local memory"
    description = f"One row per work-item, one-dimensional work-groups; {_ROUTE}."

    def pitch(self, parameters: Parameters) -> int:
        """Return the distance between columns of work-items in local memory, in words."""
        return parameters["local"]

    def _half(self, parameters: Parameters) -> int:
        """Return the words of one half of a work-group's local memory."""
        return self.pitch(parameters)

    @property
    def exchanged(self) -> tuple[int, int]:
        """All rounds."""
        return self.rounds, 0

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add two halves of local memory and their bank conflicts."""
        return replace(
            super().demand(parameters, device),
            local_memory_bytes=2 * 4 * self._half(parameters),
            local_conflicts=self._conflicts(parameters, device),
        )

    def _conflicts(self, parameters: Parameters, device: Device) -> float:
        """Return the bank conflicts of the first wave; on a CPU its accesses, if they are not of adjacent words."""
        lanes = range(min(device.architecture.wave_size, prod(self.work_group(parameters))))
        columns = self.work_group(parameters)[0] if len(self.work_group(parameters)) > 1 else 1
        words = [lane % columns * self.pitch(parameters) + lane // columns for lane in lanes]
        if device.is_cpu:
            return 1.0 if words == [*range(len(words))] else float(len(words))
        return bank_conflicts(words, device.architecture.local_memory_banks)

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """The layout of local memory, and local memory."""
        half = self._half(parameters)
        return (*super().arguments(parameters), np.uint32(self.pitch(parameters)), np.uint32(half), Local(2 * 4 * half))


class LocalMemory8x8(LocalMemory):
    """One row of several matrices per work-item."""

    description = f"One row of a tile per work-item, one-dimensional work-groups; {_ROUTE}."


class Columns(LocalMemory):
    """Two-dimensional work-groups: neighbouring work-items have the same row of neighbouring matrices."""

    variant = "local_2d"
    essential = False
    sweeps_memory = False
    repeats = 201
    method = "local memory, 2D work-groups"
    description = f"{_COLUMNS} and access the same bank of local memory; {_ROUTE}."

    def pitch(self, parameters: Parameters) -> int:
        """Columns are adjacent."""
        return parameters["local_y"]

    def _half(self, parameters: Parameters) -> int:
        return parameters["local_x"] * self.pitch(parameters)

    def shape(self, items: int) -> dict[str, int]:
        """32 rows, as published."""
        return {"local_x": items // ROWS, "local_y": ROWS}

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        """Shapes whose columns contain whole matrices."""
        tried = grid.shapes(limits, device.kind)
        return tuple({"local_x": x, "local_y": y} for x, y in tried if y % ROWS == 0)

    def work_group(self, parameters: Parameters) -> tuple[int, ...]:
        """Return matrices and rows."""
        return (parameters["local_x"], parameters["local_y"])

    def build_options(self, parameters: Parameters) -> str:
        """The same kernel with two dimensions."""
        return f"{super().build_options(parameters)} -DTWO_D"

    def lines_per_access(self, parameters: Parameters, device: Device) -> float:
        """Return one line per matrix of a wave, if that is more."""
        along = super().lines_per_access(parameters, device)
        return max(along, float(min(device.architecture.wave_size, parameters["local_x"])))

    def verification(self) -> Sequence[Parameters]:
        """Also columns of two and three matrices."""
        return (
            *super().verification(),
            {"tiles": 29, "local_x": 2, "local_y": 64, "repeats": 3},
            {"tiles": 10, "local_x": 1, "local_y": 96, "repeats": 1},
        )


class PaddedColumns(Columns):
    """The same with padding, which distributes a wave over all banks."""

    variant = "local_2d_padded"
    method = "local memory, padded 2D work-groups"
    description = (
        f"{_COLUMNS}. Padding after each column lets the work-items of a wave access different banks (one word for 32 "
        f"matrices per work-group row, four for 8); {_ROUTE}."
    )

    def pitch(self, parameters: Parameters) -> int:
        """32 / x of 32 lanes are in one column; those of the next column use the next banks."""
        return parameters["local_y"] + (max(1, ROWS // parameters["local_x"]) if parameters["local_x"] > 1 else 0)


class PaddedColumns8x8(PaddedColumns):
    """A row of the work-group has 16 times as many matrices."""

    description = (
        f"{_COLUMNS}. Padding after each column lets the work-items of a wave access different banks; {_ROUTE}."
    )


def bank_conflicts(words: Sequence[int], banks: int) -> float:
    """Return the time of one access of a wave relative to one without bank conflicts.

    Args:
        words: the 4-byte word that each lane accesses.
        banks: of local memory; 1: cached memory without banks.
    """
    if banks <= 1:
        return 1.0
    fullest = max(Counter(word % banks for word in set(words)).values())
    return fullest / -(-len(words) // banks)


WORKLOADS = (LocalMemory(), Columns(), PaddedColumns(), LocalMemory8x8(8), Columns(8), PaddedColumns8x8(8))
