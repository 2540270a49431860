"""Conway's Game of Life: one byte a cell, and 64 cells a word."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Buffer,
    Demand,
    Dispatch,
    Job,
    Limits,
    Parameters,
    Stream,
    Sweep,
    Workload,
)


class _GameOfLife(Workload):
    """What all layouts share: the sweeps, the rules."""

    family = "game_of_life"
    source = "game_of_life.cl"
    metric = Metric(kind="rate", unit="cells", label="cells advanced")
    verification_dispatches = 3
    cells_per_element: ClassVar[int]
    element_bytes: ClassVar[int]

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The side of a square board, through the caches; and the shape of the work-group."""
        per_cell = 2 * self.element_bytes / self.cells_per_element
        most = min(
            limits.max_bytes,
            2 * limits.max_buffer_bytes,
            (16 if limits.quick else 64) * grid.last_cache_bytes(device),
        )
        sizes = grid.octaves(2**15, most, 1 if limits.quick else 2, grid.cliffs(device), 4 if limits.quick else 6)
        sides = grid.rounded(np.sqrt(sizes / per_cell), grid.multiple(64))
        whole = tuple({"width": side, "height": side, "local_x": self._row(side), "local_y": 1} for side in sides)
        # The shapes are compared on a board that fits no cache on a GPU; on a CPU on one that does not take long.
        board = 4 * grid.last_cache_bytes(device) if device.kind != "cpu" else 2.0**23
        side = grid.multiple(64)(float(np.sqrt(min(most, board) / per_cell)))
        shapes = tuple(
            {"width": side, "height": side, "local_x": x, "local_y": y}
            for x, y in grid.WORK_GROUPS_2D
            if x * y <= limits.max_work_group
        )
        return (
            Sweep(
                "grid_size",
                Axis(quantity="working_set", label="working set, both boards"),
                whole,
                "board size",
            ),
            Sweep(
                "work_group",
                Axis(quantity="work_group", label="work-group shape"),
                shapes,
                f"work-group shape, board {side} x {side}",
            ),
        )

    def _row(self, side: int) -> int:
        """Return the length of a one-dimensional work-group for a board: at most 256, at least one wave."""
        elements = -(-side // self.cells_per_element)
        return int(min(256, max(32, 2 ** np.ceil(np.log2(elements)))))

    def _elements(self, parameters: Parameters) -> int:
        """Return the elements (bytes or words) of one row."""
        return -(-parameters["width"] // self.cells_per_element)

    def _board_bytes(self, parameters: Parameters) -> int:
        return self._elements(parameters) * parameters["height"] * self.element_bytes

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is cells."""
        width, height, size = parameters["width"], parameters["height"], 2 * self._board_bytes(parameters)
        by_group = sweep.axis.quantity == "work_group"
        shape = f"{parameters['local_x']} x {parameters['local_y']}"
        return PointKey(
            label=shape if by_group else f"{width} x {height} ({format_bytes(size)})",
            parameters=dict(parameters),
            work=width * height,
            work_items=self._elements(parameters) * height,
            working_set_bytes=size,
            x=sweep.points.index(parameters) if by_group else size,
        )

    operations: ClassVar[Mapping[str, float]]
    """Lane operations of one work-item by class, counted in the machine code for compute capability 9.0."""

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A stencil: every element is asked for nine times, crosses the outer caches with its halo, memory once."""
        x, y = parameters["local_x"], parameters["local_y"]
        items = self._elements(parameters) * parameters["height"]
        sector = device.caches[0].sector_bytes if device.caches else 32
        # A group fetches whole sectors: its own columns and, left and right, one sector each for the neighbours.
        row = x * self.element_bytes
        halo = (y + 2) / y * (-(-row // sector) + 2) * sector / row
        return Demand(
            work_items=items,
            work_group=(x, y),
            streams=(
                Stream("from", items, self.element_bytes, self.element_bytes, passes=9.0, outer_passes=halo),
                Stream("to", items, self.element_bytes, self.element_bytes, write=True),
            ),
            operations={name: count * items for name, count in self.operations.items()},
            chain={"int32": 24.0},
            memory_chain=1.0,
            registers=32,
            branches=True,
            lines_per_access=max(1.0, min(y, device.architecture.wave_width / x)),
        )

    def verification(self) -> Sequence[Parameters]:
        """Odd boards: no side a multiple of the group or of a word, a single column, a single row."""
        return (
            {"width": 97, "height": 61, "local_x": 16, "local_y": 4},
            {"width": 1, "height": 70, "local_x": 32, "local_y": 1},
            {"width": 131, "height": 1, "local_x": 8, "local_y": 8},
        )

    def _dispatches(self, kernel: str, parameters: Parameters, *scalars: np.generic) -> tuple[Dispatch, ...]:
        local = (parameters["local_x"], parameters["local_y"])
        size = (self._elements(parameters), parameters["height"])
        items = tuple(-(-n // group) * group for n, group in zip(size, local, strict=True))
        return tuple(Dispatch(kernel, items, local, (*pair, *scalars)) for pair in (("a", "b"), ("b", "a")))


def _generations(board: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Advance a (height, width) board whose surroundings are dead."""
    for _ in range(count):
        padded = np.pad(board.astype(np.uint8), 1)
        height, width = board.shape
        neighbours = sum(
            padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dx, dy) != (0, 0)
        )
        board = (neighbours == 3) | ((neighbours == 2) & board)
    return board


class Bytes(_GameOfLife):
    """The naive kernel."""

    variant = "bytes"
    essential = True
    title = "Game of Life, one byte a cell"
    description = (
        "One work-item a cell, nine byte loads and one store, boards in turn, random start, dead beyond the border. "
        "Counted: cells advanced by one generation."
    )
    cells_per_element = 1
    element_bytes = 1
    operations: ClassVar[Mapping[str, float]] = {"memory": 10.0, "int32": 25.0, "int32_mul": 12.0, "instruction": 75.0}

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random cells, half alive."""
        cells = rng.integers(0, 2, size=min(2**22, self._board_bytes(parameters)), dtype=np.uint8)
        size = np.uint32(parameters["width"]), np.uint32(parameters["height"])
        return Job(
            buffers={name: Buffer(self._board_bytes(parameters), cells) for name in ("a", "b")},
            dispatches=self._dispatches("step_bytes", parameters, *size),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The board that was written last."""
        start = job.buffers["a"].filled().reshape(parameters["height"], parameters["width"]).astype(bool)
        board = _generations(start, dispatches).astype(np.uint8)
        return {"a" if dispatches % 2 == 0 else "b": board.ravel()}


class Packed64(_GameOfLife):
    """Bit planes in 64-bit words."""

    variant = "packed64"
    essential = True
    title = "Game of Life, 64 cells a word"
    description = (
        "One bit a cell, one work-item a 64-bit word; the neighbours of 64 cells are added at once on bit planes; nine "
        "word loads and one store; dead beyond the border, bits beyond the last column are masked. Counted: cells "
        "advanced by one generation."
    )
    cells_per_element = 64
    element_bytes = 8
    operations: ClassVar[Mapping[str, float]] = {"memory": 10.0, "int32": 96.0, "int32_mul": 38.0, "instruction": 187.0}

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random words, half the cells alive."""
        words, tail = self._elements(parameters), parameters["width"] % 64
        mask = np.uint64(2**64 - 1 if tail == 0 else 2**tail - 1)
        contents = rng.integers(0, 2**64, size=min(2**19, self._board_bytes(parameters) // 8), dtype=np.uint64)
        return Job(
            buffers={name: Buffer(self._board_bytes(parameters), contents) for name in ("a", "b")},
            dispatches=self._dispatches(
                "step_packed64", parameters, np.uint32(words), np.uint32(parameters["height"]), mask
            ),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The board that was written last, bit 0 the westernmost cell of a word."""
        height, width = parameters["height"], parameters["width"]
        words = job.buffers["a"].filled().astype("<u8").reshape(height, -1)
        cells = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :width].astype(bool)
        board = np.zeros((height, words.shape[1] * 64), dtype=np.uint8)
        board[:, :width] = _generations(cells, dispatches)
        packed = np.packbits(board, axis=1, bitorder="little").view("<u8")
        return {"a" if dispatches % 2 == 0 else "b": packed.astype(np.uint64).ravel()}


WORKLOADS = (Bytes(), Packed64())
