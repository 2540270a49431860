"""Shared by all Game of Life kernels: sweeps, boards, the demand of a stencil, reference results."""

from collections.abc import Mapping, Sequence
from math import ceil, isqrt, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.game_of_life.rules import Cells, cells_of, generations, random_cells, stored_of
from gpureport.workloads.model import Argument, Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload
from gpureport.workloads.tiling import Tiling

SHAPES = ((64, 1), (256, 1), (8, 8), (16, 16), (32, 8), (128, 4))
"""Work-group shapes (x, y) of variants whose shapes are not all compared."""

_LEAST_BYTES, _MOST_BYTES = 2.0**15, 2.0**34
_TILE_BYTES = 2**22  # random cells, which larger boards repeat
_SHAPES_S = 1.0
_RUNS_PER_SHAPE = 12  # time of the samples of one shape, relative to one pass over the board at memory bandwidth


class Board(Workload):
    """Two boards in turn; each work-item advances a rectangle of cells.

    Subclasses define the storage of cells (:attr:`bits_per_cell`, :attr:`element_bytes`), the rectangle of a work-item
    and its demand. Kernel arguments are ``from``, ``to`` and :meth:`scalars`.
    """

    family = "game_of_life"
    metric = Metric(kind="rate", unit="cells", label="cells advanced")
    verification_dispatches = 3
    kernel: ClassVar[str]
    bits_per_cell: ClassVar[int]
    """1, 8 or 32."""
    element_bytes: int
    """Bytes that a work-item loads or stores at once; rows are whole elements."""
    cells_per_item_x: int = 1
    rows_per_item: ClassVar[int] = 1
    generations: int = 1
    """Generations per dispatch."""
    wrapped: ClassVar[bool] = False
    """Whether opposite borders touch; otherwise cells beyond the border are dead."""

    shape: ClassVar[tuple[int, int]] = (256, 1)
    """Work-group shape in the sweep over board sizes, unless the board or the device require a smaller one."""
    mapped: bool = False
    """Whether all work-group shapes are compared, instead of :data:`SHAPES`."""
    published_side: ClassVar[int] = 0
    """Side of the published board, on which shapes are compared if this is quick enough."""
    side_multiple: ClassVar[int] = 64
    """Boards of sweeps have sides that are multiples of this."""
    extra_bytes: ClassVar[int] = 0
    """Bytes of buffers other than the boards."""

    read_bytes: float = 0.0
    """Bytes that one work-item loads, unless they depend on the point; see :meth:`passes`."""
    operations: Mapping[str, float] = {}
    """Operations per work-item by class, unless they depend on the point. Counted in the machine code for compute
    capability 9.0, where ``int32`` is everything that the ALU pipe executes and ``int32_mul`` all multiply-adds."""
    scalar_instructions: float = 0.0
    """Instructions per work-item that a CPU executes without vectors; 0: not counted. Counted while PoCL 5's code for
    x86-64 ran a work-group of 256 x 1 inside a board."""
    chain: ClassVar[Mapping[str, float]] = {"int32": 24.0}
    displaced: ClassVar[float] = 0.0
    """Share of its loads and stores that access an element to the west or east of its own cells."""
    stores: ClassVar[int] = 1
    """Stores per work-item and row."""
    row_after_row: ClassVar[bool] = False
    """Whether a work-item waits for one row before it loads the next."""
    registers: ClassVar[int] = 32
    branches: ClassVar[bool] = True
    maskable: ClassVar[bool] = False
    lane_bytes: int = 4
    """Bytes of the integers with which a work-item computes. Words of 64 bits count as 4: their operations are counted
    as those of 32-bit integers."""
    indexed: ClassVar[bool] = False
    """Whether loops index arrays of the work-item. Code for GPUs is unrolled; code for CPUs computes the addresses."""

    # Sizes

    def row_bytes(self, parameters: Parameters) -> int:
        """Return the bytes from one row to the next."""
        return ceil(parameters["width"] * self.bits_per_cell / (8 * self.element_bytes)) * self.element_bytes

    def board_bytes(self, parameters: Parameters) -> int:
        """Return the bytes of one board."""
        return self.row_bytes(parameters) * parameters["height"]

    def items(self, parameters: Parameters) -> tuple[int, int]:
        """Return the columns and rows of work-items that advance a board, without padding of work-groups."""
        return ceil(parameters["width"] / self.cells_per_item_x), ceil(parameters["height"] / self.rows_per_item)

    def geometry(self, parameters: Parameters) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return global and local size of a dispatch."""
        local = (parameters["local_x"], parameters["local_y"])
        return tuple(ceil(n / group) * group for n, group in zip(self.items(parameters), local, strict=True)), local

    def tiling(self, parameters: Parameters, device: Device) -> Tiling:
        """Return how work-items, waves and work-groups cover the board."""
        return Tiling(
            device,
            self.items(parameters),
            (parameters["local_x"], parameters["local_y"]),
            self.cells_per_item_x * self.bits_per_cell / 8,
            self.rows_per_item,
        )

    # Sweeps

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The side of a square board, through the caches; the work-group shape."""
        most = self._most_bytes(device, limits)
        sides = grid.sizes(min(_LEAST_BYTES, most), most, self._side)
        shapes = self.shapes(device, limits)
        side = self._side_for_shapes(device, most, len(shapes))
        return (
            Sweep(
                "grid_size",
                Axis(quantity="working_set", label="working set, both boards"),
                tuple(_square(side, *self._fitted(side, limits)) for side in sides),
                "board size",
                coarse=grid.coarse(limits),
            ),
            Sweep(
                "work_group",
                Axis(quantity="work_group", label="work-group shape"),
                tuple(_square(side, *shape) for shape in shapes),
                f"work-group shape, board {side} x {side}",
            ),
        )

    def shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
        """Return the work-group shapes to compare."""
        if self.mapped:
            return grid.shapes(limits, device.kind)
        return tuple(shape for shape in SHAPES if prod(shape) <= limits.max_work_group)

    def _most_bytes(self, device: Device, limits: Limits) -> float:
        """Return the largest working set, well beyond the caches; smaller on a CPU, which is slower."""
        beyond = 4 if device.is_cpu else 16 if limits.quick else 64
        return min(
            limits.max_bytes - self.extra_bytes,
            2 * limits.max_buffer_bytes,
            beyond * grid.last_cache_bytes(device),
            _MOST_BYTES,
        )

    def _side(self, working_set_bytes: float) -> int:
        """Return the largest side of two boards within *working_set_bytes*."""
        side = isqrt(int(working_set_bytes * 4 / self.bits_per_cell))
        return max(1, side // self.side_multiple) * self.side_multiple

    def _fitted(self, side: int, limits: Limits) -> tuple[int, int]:
        """Return :attr:`shape`, reduced for narrow boards and for the device's limit."""
        columns, _ = self.items(_square(side, 1, 1))
        x = min(self.shape[0], max(32, 1 << (columns - 1).bit_length()), limits.max_work_group)
        return x, min(self.shape[1], max(1, limits.max_work_group // x))

    def _side_for_shapes(self, device: Device, most: float, shapes: int) -> int:
        """Return the side of the board for comparisons of shapes: the published one, or the smallest beyond the caches.

        On a CPU, which has large caches and is slower, the board may fit in a cache.
        """
        published = 2 * self.board_bytes(_square(self.published_side, 1, 1))
        streamed_s = published / device.memory.bandwidth_bytes_per_s
        quick = not device.is_cpu and shapes * _RUNS_PER_SHAPE * streamed_s <= _SHAPES_S
        if published and published <= most and quick:
            return self.published_side
        return self._side(min(most, 2.0**23 if device.is_cpu else 4 * grid.last_cache_bytes(device)))

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is cells times generations."""
        width, height, size = parameters["width"], parameters["height"], 2 * self.board_bytes(parameters)
        by_group = sweep.axis.quantity == "work_group"
        shape = f"{parameters['local_x']} x {parameters['local_y']}"
        return grid.key(
            parameters,
            shape if by_group else f"{width} x {height} ({format_bytes(size)})",
            work=width * height * self.generations,
            items=prod(self.geometry(parameters)[0]),
            nbytes=size,
            x=sweep.points.index(parameters) if by_group else size,
        )

    # Demand

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A stencil: work-groups read their cells with a halo."""
        items, group = self.geometry(parameters)
        tiling = self.tiling(parameters, device)
        return Demand(
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
            scalar_instructions=self.scalar_instructions * prod(self.items(parameters)),
            ping_pong=True,
            idle_items=prod(items) - prod(self.items(parameters)),
            stores_per_sector=float(self.stores),
            lines_per_access=tiling.lines_per_access(self.displaced),
            line_conflicts=tiling.line_conflicts,
            # Stores that fill a row one after another find its lines open; stores of several rows take turns.
            line_writes=tiling.line_writes * (1 if tiling.wave[1] == 1 else self.stores),
        )

    def _operations(self, device: Device) -> Mapping[str, float]:
        """Return the operations.

        On a CPU without address arithmetic, which is part of loads and stores. With :attr:`indexed` arrays it remains;
        the multiply-adds of addresses are then additions.
        """
        if not device.is_cpu:
            return self.operations
        if self.indexed:
            others = {name: n for name, n in self.operations.items() if name != "int32_mul"}
            return {**others, "int32": self.operations["int32"] + self.operations["int32_mul"]}
        kept = {name: n for name, n in self.operations.items() if name not in ("int32_mul", "instruction")}
        return {**kept, "instruction": sum(kept.values())}

    def streams(self, parameters: Parameters, device: Device) -> tuple[Stream, ...]:
        """Return the traffic: reads with the halo of a work-group, writes in whole sectors of a wave."""
        elements, nbytes = self.board_bytes(parameters) / self.element_bytes, self.element_bytes
        tiling = self.tiling(parameters, device)
        halo = tiling.halo(self.generations, self.generations * self.bits_per_cell / 8)
        return (
            Stream("from", elements, nbytes, nbytes, passes=self.passes(parameters), outer_passes=halo),
            Stream("to", elements, nbytes, nbytes, write=True, outer_passes=tiling.written),
        )

    def passes(self, parameters: Parameters) -> float:
        """Return the bytes that all work-items load, relative to the board."""
        return prod(self.items(parameters)) * self.read_bytes / self.board_bytes(parameters)

    # Running and checking

    def scalars(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return the kernel arguments after the two boards: width and height in cells."""
        return np.uint32(parameters["width"]), np.uint32(parameters["height"])

    def word_scalars(self, parameters: Parameters) -> tuple[np.generic, ...]:
        """Return, for kernels that process words: words per row, height, mask of the cells in a row's last word."""
        words = self.row_bytes(parameters) // self.element_bytes
        cells = parameters["width"] - (words - 1) * 8 * self.element_bytes // self.bits_per_cell
        mask = np.array([2 ** (cells * self.bits_per_cell) - 1], dtype=f"u{self.element_bytes}")
        return np.uint32(words), np.uint32(parameters["height"]), mask[0]

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random cells, half of them alive, the same on both boards."""
        size = self.board_bytes(parameters)
        drawn = self.drawn(rng, min(size, _TILE_BYTES))
        return self.there_and_back({name: Buffer(size, drawn) for name in ("a", "b")}, parameters)

    def drawn(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
        """Return *nbytes* of a board with random cells, half of them alive."""
        return random_cells(rng, nbytes, self.bits_per_cell)

    def cells_in(self, stored: NDArray[np.uint8], parameters: Parameters) -> Cells:
        """Return the cells of a board's bytes, shape (height, bytes per row)."""
        return cells_of(stored, parameters["width"], self.bits_per_cell)

    def stored(self, cells: Cells, parameters: Parameters) -> NDArray[np.uint8]:
        """Return the bytes of a board, shape (height, :meth:`row_bytes`)."""
        return stored_of(cells, self.row_bytes(parameters), self.bits_per_cell)

    def there_and_back(self, buffers: Mapping[str, Buffer], parameters: Parameters) -> Job:
        """Return the job of two dispatches: from *a* to *b*, and back."""
        scalars = self.scalars(parameters)
        arguments = (("a", "b", *scalars), ("b", "a", *scalars))
        return Job.of(buffers, self.kernel_of(parameters), *self.geometry(parameters), *arguments)

    def kernel_of(self, parameters: Parameters) -> str:  # noqa: ARG002 - the same for all points of most variants
        """Return the name of the kernel."""
        return self.kernel

    def verification(self) -> Sequence[Parameters]:
        """Boards whose sides divide nothing: not work-groups, words or rectangles; one column; one row; tiny."""
        boards = ((97, 61, 16, 4), (261, 35, 64, 1), (1, 70, 32, 1), (131, 1, 8, 8), (2, 3, 4, 2))
        return tuple(dict(zip(("width", "height", "local_x", "local_y"), board, strict=True)) for board in boards)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The board written last."""
        start = job.buffers["a"].filled().view(np.uint8).reshape(parameters["height"], -1)
        cells = self.cells_in(start, parameters)
        after = generations(cells, dispatches * self.generations, wrapped=self.wrapped)
        return {"a" if dispatches % 2 == 0 else "b": self.stored(after, parameters).ravel()}


def _square(side: int, local_x: int, local_y: int) -> Parameters:
    return {"width": side, "height": side, "local_x": local_x, "local_y": local_y}
