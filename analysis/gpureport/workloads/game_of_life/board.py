"""Conway's Game of Life in kernels from naive to fastest: sweeps, boards, demand of a stencil, rule in NumPy."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil, isqrt, prod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Axis, Metric
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid, model

Cells = NDArray[np.bool_]
"""A board of shape (height, width)."""
SHAPES = ((64, 1), (256, 1), (8, 8), (16, 16), (32, 8), (128, 4))
"""Work-group shapes (x, y) of variants whose shapes are not all compared."""

_LEAST_BYTES, _MOST_BYTES = 2**15, 2**34
_SIDES_OF = 64  # sides of boards are multiples of this
_TILE_BYTES = 2**22  # random cells, which larger boards repeat
_SHAPES_S = constant(1.0)
_RUNS_PER_SHAPE = 12  # time of the samples of one shape, relative to one pass over the board at memory bandwidth


class Tiling(NamedTuple):
    """A board cut into equal rectangles, one for each work-item, in two-dimensional groups.

    A CPU processes work-items and work-groups in order. It has no waves, and its cache still contains the rows of the
    previous work-group.
    """

    device: Device
    items: tuple[int, int]  # columns and rows of work-items
    group: tuple[int, int]  # the same of a work-group
    row_bytes: float  # bytes of a row per work-item
    rows: int  # rows per work-item

    @property
    def wave(self) -> tuple[int, int]:
        """Columns and rows of work-items per wave."""
        lanes = self.device.architecture.wave_size
        columns = min(self.group[0], lanes)
        return columns, max(1, min(self.group[1], lanes // columns))

    @property
    def busy_items(self) -> int:
        """Lanes of all waves with at least one cell; idle lanes of these take the same time."""
        if not grid.coalesces(self.device):
            return prod(self.items)
        waves = prod(ceil(n / side) for n, side in zip(self.items, self.wave, strict=True))
        return waves * self.device.architecture.wave_size

    @property
    def lines(self) -> int:
        """Lines that contain the cells of a wave, summed over its rows."""
        if not grid.coalesces(self.device):
            return 1
        columns, rows = self.wave
        return rows * ceil(columns * self.row_bytes / self._line)

    def lines_per_access(self, displaced: float) -> float:
        """Return the lines that an access of a wave touches, on average.

        *displaced* is the share of accesses to an element to the west or east. Their rows of b bytes may start anywhere
        in a line, so they touch b / line + 1 lines.
        """
        if not grid.coalesces(self.device):
            return 1.0
        columns, rows = self.wave
        return (1 - displaced) * self.lines + displaced * rows * (columns * self.row_bytes / self._line + 1)

    def halo(self, reach: int, reach_bytes: float) -> float:
        """Return the bytes that work-groups load in whole sectors, relative to the board.

        They load *reach* rows above and below their own, and *reach_bytes* to the west and east of them.
        """
        if not grid.coalesces(self.device):
            return 1.0
        row, rows = self.group[0] * self.row_bytes, self.group[1] * self.rows
        sectors = ceil(row / self._sector) + 2 * ceil(reach_bytes / self._sector)
        return (rows + 2 * reach) / rows * sectors * self._sector / row

    @property
    def written(self) -> float:
        """Bytes of the sectors that a wave writes in part or completely, relative to the bytes written."""
        if not grid.coalesces(self.device):
            return 1.0
        row = self.wave[0] * self.row_bytes
        return ceil(row / self._sector) * self._sector / row

    @property
    def line_writes(self) -> float:
        """Lines that all waves write, summed over their rows."""
        return prod(self.items) / prod(self.wave) * self.lines * self.rows

    @property
    def line_conflicts(self) -> int:
        """Maximum number of lines of one access that map to the same banks: rows with the same offset in a line."""
        columns, rows = self.wave
        pitch, line = self.items[0] * self.row_bytes * self.rows, self._line
        starts = Counter(int(row * pitch % line) // 4 for row in range(rows))
        return max(starts.values()) * ceil(columns * self.row_bytes / line)

    @property
    def _line(self) -> int:
        return grid.first_line_bytes(self.device)

    @property
    def _sector(self) -> int:
        return self.device.caches[0].sector_bytes if self.device.caches else self.device.memory.access_bytes


class Board(model.Workload):
    """Two boards in turn; each work-item advances a rectangle of cells.

    Subclasses define the storage of cells (:attr:`bits_per_cell`, :attr:`element_bytes`), the rectangle of a work-item
    and its demand. Kernel arguments are ``from``, ``to`` and :meth:`scalars`.
    """

    family = "game_of_life"
    labelled = "{width} x {height} ({working_set:bytes})"
    counted = "cells advanced by one generation."
    metric = Metric(kind="rate", unit="cells", label="cells advanced")
    work_of: model.Factors | None = ("width", "height")
    verification_dispatches = 3
    verified = tuple(
        {"width": width, "height": height, "local_x": x, "local_y": y}
        for width, height, x, y in ((97, 61, 16, 4), (261, 35, 64, 1), (1, 70, 32, 1), (131, 1, 8, 8), (2, 3, 4, 2))
    )
    """Boards whose sides divide nothing: not work-groups, words or rectangles; one column; one row; tiny."""
    kernel: ClassVar[str]
    bits_per_cell: ClassVar[int]  # 1, 8 or 32
    element_bytes: int  # bytes that a work-item loads or stores at once; rows are whole elements
    cells_per_item_x: int = 1
    generations: int = 1  # per dispatch
    in_words: ClassVar[bool] = False
    """Whether the kernel gets words per row, height, and a mask of the cells in a row's last word; otherwise width and
    height in cells."""
    wrapped: ClassVar[bool] = False  # opposite borders touch; otherwise cells beyond the border are dead

    shape: ClassVar[tuple[int, int]] = (256, 1)
    """Work-group shape in the sweep over board sizes, unless the board or the device require a smaller one."""
    mapped: bool = False  # all work-group shapes are compared, instead of SHAPES
    published_side: ClassVar[int] = 0  # of the published board, on which shapes are compared if this is quick enough
    extra_bytes: ClassVar[int] = 0  # of buffers other than the boards

    read_bytes: float = 0.0  # bytes that one work-item loads, unless they depend on the point; see passes
    operations: Mapping[str, float] = {}
    """Operations per work-item by class, unless they depend on the point. Counted in the machine code for compute
    capability 9.0, where ``int32`` is everything that the ALU pipe executes and ``int32_mul`` all multiply-adds."""
    scalar_instructions: float = 0.0
    """Instructions per work-item that a CPU executes without vectors; 0: not counted. Counted while PoCL 5's code for
    x86-64 ran a work-group of 256 x 1 inside a board."""
    chain: ClassVar[Mapping[str, float]] = {"int32": 24.0}
    displaced: ClassVar[float] = 0.0  # share of its loads and stores to the west or east of its own cells
    stores: ClassVar[int] = 1  # per work-item and row
    row_after_row: ClassVar[bool] = False  # a work-item waits for one row before it loads the next
    registers: ClassVar[int] = 32
    branches: ClassVar[bool] = True
    maskable: ClassVar[bool] = False
    lane_bytes: int = 4
    """Bytes of the integers with which a work-item computes. Words of 64 bits count as 4: their operations are counted
    as those of 32-bit integers."""
    indexed: ClassVar[bool] = False
    """Whether loops index arrays of the work-item. Code for GPUs is unrolled; code for CPUs computes the addresses."""

    def row_bytes(self, parameters: model.Parameters) -> int:
        return ceil(parameters["width"] * self.bits_per_cell / (8 * self.element_bytes)) * self.element_bytes

    def board_bytes(self, parameters: model.Parameters) -> int:
        return self.row_bytes(parameters) * parameters["height"]

    def items(self, parameters: model.Parameters) -> tuple[int, int]:
        """Return the columns and rows of work-items that advance a board, without padding of work-groups."""
        return ceil(parameters["width"] / self.cells_per_item_x), parameters["height"]

    def geometry(self, parameters: model.Parameters) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return global and local size of a dispatch."""
        local = (parameters["local_x"], parameters["local_y"])
        return tuple(ceil(n / group) * group for n, group in zip(self.items(parameters), local, strict=True)), local

    def tiling(self, parameters: model.Parameters, device: Device) -> Tiling:
        group = parameters["local_x"], parameters["local_y"]
        return Tiling(device, self.items(parameters), group, *self.rectangle(parameters))

    def rectangle(self, parameters: model.Parameters) -> tuple[float, int]:
        """Return bytes of a row, and rows, of a work-item."""
        return self.cells_per_item_x * self.bits_per_cell / 8, 1

    def sweeps(self, device: Device, limits: model.Limits) -> tuple[model.Sweep, ...]:
        """The side of a square board, through the caches; the work-group shape."""
        far = grid.most_bytes(device, limits, "boards", 2)
        most = min(far, limits.max_bytes - self.extra_bytes, _MOST_BYTES)
        sides = grid.sizes(min(_LEAST_BYTES, most), most, self._side)
        shapes = self.shapes(device, limits)
        side = self._side_for_shapes(device, most, len(shapes))
        largest = min(limits.max_bytes / 2, limits.max_buffer_bytes)
        boards = (self.fitted(_square(each, *self._shape_for(each, limits)), device) for each in sides)
        groups = (self.adapted(_square(side, *shape), device) for shape in shapes)

        def within(points: Iterable[model.Parameters]) -> tuple[model.Parameters, ...]:
            return tuple(point for point in points if self.board_bytes(point) <= largest)

        axis = Axis(quantity="work_group", label="work-group shape")
        return (
            grid.by_working_set(within(boards), limits, "grid_size", "working set, both boards", "board size"),
            model.Sweep("work_group", axis, within(groups), f"work-group shape, board {side} x {side}"),
        )

    def adapted(self, parameters: model.Parameters, device: Device) -> model.Parameters:
        """Return a point with the parameters that the variant chooses for a device."""
        return parameters

    def fitted(self, parameters: model.Parameters, device: Device) -> model.Parameters:
        """Return the same, with a work-group that fits the board."""
        return self.adapted(parameters, device)

    def shapes(self, device: Device, limits: model.Limits) -> tuple[tuple[int, int], ...]:
        if self.mapped:
            return grid.shapes(device, limits)
        return tuple(shape for shape in SHAPES if prod(shape) <= limits.max_work_group)

    def _side(self, working_set_bytes: float) -> int:
        side = isqrt(int(working_set_bytes * 4 / self.bits_per_cell))
        return max(1, side // _SIDES_OF) * _SIDES_OF

    def _shape_for(self, side: int, limits: model.Limits) -> tuple[int, int]:
        columns, _ = self.items(_square(side, 1, 1))
        x = min(self.shape[0], max(32, 1 << (columns - 1).bit_length()), limits.max_work_group)
        return x, min(self.shape[1], max(1, limits.max_work_group // x))

    def _side_for_shapes(self, device: Device, most: float, shapes: int) -> int:
        """Return the side of the board for comparisons of shapes: the published one, or the smallest beyond the caches.

        On a CPU, which has large caches and is slower, the board may fit in a cache.
        """
        published = 2 * self.board_bytes(_square(self.published_side, 1, 1))
        needed_s = shapes * _RUNS_PER_SHAPE * published / device.memory.bandwidth_bytes_per_s
        allowed_s, enough = grid.chosen(device, cpu=(0.0, 2.0**23), gpu=(_SHAPES_S, grid.beyond_bytes(device)))
        if 0 < published <= most and needed_s <= allowed_s:
            return self.published_side
        return self._side(min(most, enough))

    def work_items(self, parameters: model.Parameters) -> int:
        return prod(self.geometry(parameters)[0])

    def nbytes(self, parameters: model.Parameters) -> int:
        return 2 * self.board_bytes(parameters)

    def demand(self, parameters: model.Parameters, device: Device) -> model.Demand:
        items, group = self.geometry(parameters)
        tiling, busy = self.tiling(parameters, device), prod(self.items(parameters))
        return model.Demand(
            work_items=prod(items),
            work_group=group,
            streams=self.streams(parameters, device),
            operations={name: n * tiling.busy_items for name, n in self._operations(device).items()},
            chain=self.chain,
            memory_chain=1.0,
            cached_chain=2.0 if self.row_after_row else 0.0,
            registers=self.registers,
            branches=self.branches,
            maskable=self.maskable,
            lane_bytes=self.lane_bytes,
            scalar_instructions=self.scalar_instructions * busy,
            ping_pong=True,
            idle_items=prod(items) - busy,
            stores_per_sector=float(self.stores),
            lines_per_access=tiling.lines_per_access(self.displaced),
            line_conflicts=tiling.line_conflicts,
            # Stores that fill a row one after another find its lines open; stores of several rows take turns.
            line_writes=tiling.line_writes * (1 if tiling.wave[1] == 1 else self.stores),
        )

    def _operations(self, device: Device) -> Mapping[str, float]:
        """Return the operations; on a CPU without address arithmetic, which is part of loads and stores.

        With :attr:`indexed` arrays it remains; the multiply-adds of addresses are then additions.
        """
        if not device.architecture.groups_as_loops:
            return self.operations
        others = {name: n for name, n in self.operations.items() if name != "int32_mul"}
        if self.indexed:
            return {**others, "int32": self.operations["int32"] + self.operations["int32_mul"]}
        return {**others, "instruction": sum(others.values()) - others.get("instruction", 0.0)}

    def streams(self, parameters: model.Parameters, device: Device) -> tuple[model.Stream, ...]:
        """Return the traffic: reads with the halo of a work-group, writes in whole sectors of a wave."""
        elements, nbytes = self.board_bytes(parameters) / self.element_bytes, self.element_bytes
        tiling = self.tiling(parameters, device)
        halo = tiling.halo(self.generations, self.generations * self.bits_per_cell / 8)
        return (
            model.Stream("from", elements, nbytes, nbytes, passes=self.passes(parameters), outer_passes=halo),
            model.Stream("to", elements, nbytes, nbytes, write=True, outer_passes=tiling.written),
        )

    def passes(self, parameters: model.Parameters) -> float:
        """Return the bytes that all work-items load, relative to the board."""
        return prod(self.items(parameters)) * self.read_bytes / self.board_bytes(parameters)

    def scalars(self, parameters: model.Parameters) -> tuple[model.Argument, ...]:
        """Return the kernel arguments after the two boards; see :attr:`in_words`."""
        if not self.in_words:
            return np.uint32(parameters["width"]), np.uint32(parameters["height"])
        words = self.row_bytes(parameters) // self.element_bytes
        cells = parameters["width"] - (words - 1) * 8 * self.element_bytes // self.bits_per_cell
        mask = np.array([2 ** (cells * self.bits_per_cell) - 1], dtype=f"u{self.element_bytes}")
        return np.uint32(words), np.uint32(parameters["height"]), mask[0]

    def job(self, parameters: model.Parameters, rng: np.random.Generator) -> model.Job:
        """Random cells, half of them alive, the same on both boards."""
        size = self.board_bytes(parameters)
        drawn = self.drawn(rng, min(size, _TILE_BYTES))
        return self.there_and_back({name: model.Buffer(size, drawn) for name in ("a", "b")}, parameters)

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Return *nbytes* of a board with random cells, half of them alive."""
        if self.bits_per_cell == 1:
            return rng.integers(0, 256, nbytes, dtype=np.uint8)
        stored = np.zeros((nbytes * 8 // self.bits_per_cell, self.bits_per_cell // 8), dtype=np.uint8)
        stored[:, 0] = rng.integers(0, 2, len(stored), dtype=np.uint8)
        return stored.ravel()

    def cells_in(self, stored: NDArray[np.uint8], parameters: model.Parameters) -> Cells:
        """Return the cells of a board's bytes, shape (height, bytes per row); those beyond the width are padding.

        The lowest bit of a cell is 1 if it is alive; the westernmost cell comes first, in the lowest bits.
        """
        bits = np.unpackbits(stored, axis=1, bitorder="little")
        return bits[:, :: self.bits_per_cell][:, : parameters["width"]].astype(np.bool_)

    def stored(self, cells: Cells, parameters: model.Parameters) -> NDArray[np.uint8]:
        """Return the bytes of a board, shape (height, :meth:`row_bytes`), padded with zeros."""
        bits = np.zeros((len(cells), self.row_bytes(parameters) * 8), dtype=np.uint8)
        bits[:, : parameters["width"] * self.bits_per_cell : self.bits_per_cell] = cells
        return np.packbits(bits, axis=1, bitorder="little")

    def there_and_back(self, buffers: Mapping[str, model.Buffer], parameters: model.Parameters) -> model.Job:
        arguments = ("a", "b", *self.scalars(parameters))
        there = model.Job.of(buffers, self.kernel_of(parameters), *self.geometry(parameters), arguments)
        return there.ping_pong("a", "b")

    def kernel_of(self, parameters: model.Parameters) -> str:
        return self.kernel

    def expected(
        self, parameters: model.Parameters, job: model.Job, dispatches: int
    ) -> Mapping[str, NDArray[np.generic]]:
        start = job.buffers["a"].filled().view(np.uint8).reshape(parameters["height"], -1)
        cells = self.cells_in(start, parameters)
        after = generations(cells, dispatches * self.generations, wrapped=self.wrapped)
        return {"a" if dispatches % 2 == 0 else "b": self.stored(after, parameters).ravel()}


def _square(side: int, local_x: int, local_y: int) -> model.Parameters:
    return {"width": side, "height": side, "local_x": local_x, "local_y": local_y}


def generations(cells: Cells, count: int, *, wrapped: bool) -> Cells:
    """Advance a board by *count* generations; if *wrapped*, opposite borders touch, otherwise cells beyond are dead."""
    height, width = cells.shape
    for _ in range(count):
        padded = np.pad(cells.astype(np.uint8), 1, mode="wrap" if wrapped else "constant")
        around = (padded[y : y + height, x : x + width] for y in range(3) for x in range(3) if (x, y) != (1, 1))
        neighbours = np.sum(list(around), axis=0, dtype=np.uint8)
        cells = (neighbours == 3) | ((neighbours == 2) & cells)
    return cells
