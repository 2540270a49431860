"""Repeated transposition of bit matrices in registers, through local memory and by sub-group exchanges."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device, resident_work_items
from gpureport.spec.uncertainty import sourced
from gpureport.units import format_count, label_count
from gpureport.workloads import grid
from gpureport.workloads.model import Arguments, Buffer, Demand, Job, Limits, Local, Parameters, Stream, Sweep, Workload
from gpureport.workloads.sub_group import Exchanging

ROWS = 32
"""Rows of a tile, each a 32-bit word."""
TILE_BYTES = 4 * ROWS
_ACCESS_BYTES = 16
"""Maximum width of a load or store."""
_MOST_TILES = 2**22
_FEWEST_TILES = 2**10

_ROTATION = 2
"""Integer operations of an exchange of rows on a GPU: a rotation and a selection of bits. Published kernels need four:
shifts in both directions, a selection between them, and a selection of bits (parameter ``exchange``)."""

_ROLLED = {"int32": 6.0, "instruction": 13.0}
_ROLLED_CHAIN = sourced("workloads.bit_transpose._ROLLED_CHAIN", float)
"""Operations, and dependent integer operations, that a round takes more if the loop over rounds is not unrolled
(parameter ``rolled``): constants read by index, addresses, branches."""


class Transpose(Workload):
    """One way to transpose all tiles of an array repeatedly; matrices have *size* rows and columns."""

    family = "bit_transpose"
    counted = "transpositions of a 32 x 32 bit matrix, each of the previous result."
    metric = Metric(kind="rate", unit="matrices", label="matrices transposed")
    method: ClassVar[str]
    """For the title."""
    rows_per_item: ClassVar[int] = 1
    usual_group: ClassVar[int] = 256
    """Work-group size, except in sweeps of it."""
    repeats: ClassVar[int] = 1001
    """Transpositions per dispatch on a GPU: odd, so that the result differs from the input, and many, so that the
    launch cost is small."""
    sweeps_memory: bool = False
    """Whether single transpositions of arrays of several sizes are also measured, for 32 x 32 only."""
    sub_group: ClassVar[int] = 0
    """Work-items of the sub-groups that the kernel requires; 0: any number."""
    local_rounds: int = 0
    """Rounds through local memory, at most."""
    shuffled_rounds: int = 0
    """Rounds by shuffles, at most; in the others a work-item exchanges rows in its registers."""
    working_set_of = (2 * TILE_BYTES, "tiles")

    def __init__(self, size: Literal[32, 8] = 32) -> None:
        self.size = size
        self.rounds = size.bit_length() - 1
        self.local_rounds = min(self.local_rounds, self.rounds)
        self.shuffled_rounds = min(self.shuffled_rounds, self.rounds)
        self.matrices_per_tile = (ROWS // size) ** 2
        self.work_of = ("tiles", self.matrices_per_tile, "repeats")
        self.title = f"Bit transpose {size} x {size}, {self.method}"
        if size == 8:
            self.variant += "_8x8"
            self.essential = self.sweeps_memory = False
            self.counted = (
                "transpositions of an 8 x 8 bit matrix, each of the previous result. A tile of 32 words contains 16."
            )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The number of tiles, in whole groups (idle lanes take the same time); work-group shapes; some array sizes."""
        # Two to eight times the resident work-items, well beyond saturation.
        resident, rows = resident_work_items(device), self.rows_per_item
        saturating = max(2, 8 // rows) * resident * rows // ROWS if resident else 1024 * device.compute_units
        repeats = grid.chosen(device, cpu=33, gpu=self.repeats)  # a CPU has far fewer lanes
        shape = self.shape(min(self.usual_group, limits.max_work_group))
        least = prod(shape.values()) * self.rows_per_item // ROWS
        counts = grid.sizes(least, max(4 * least, saturating), grid.multiple(least))
        loads = ({"tiles": n, **shape, "repeats": repeats} for n in counts)
        load = grid.by_work_items("matrices", loads, "number of matrices", grid.coarse(limits))
        tiles = max(1 << round(np.log2(saturating / 2)), limits.max_work_group * self.rows_per_item // ROWS)
        points = ({"tiles": tiles, **each, "repeats": repeats} for each in self.shapes(device, limits))
        groups = grid.by_group_size(points, f"{format_count(tiles * self.matrices_per_tile)} matrices")
        if not self.sweeps_memory:
            return load, groups
        most = min(_MOST_TILES, grid.most_bytes(device, limits, "matrices", 2) / (2 * TILE_BYTES))
        counts = grid.sizes(min(_FEWEST_TILES, most / 4), most, grid.multiple(least))
        points = ({"tiles": n, **shape, "repeats": 1} for n in counts)
        title = "size of the arrays, one transposition a load"
        return load, groups, grid.by_working_set(points, limits, "once", "working set, both arrays", title)

    def shape(self, items: int) -> dict[str, int]:
        return {"local": items}

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        return tuple({"local": n} for n in grid.work_groups(device, limits))

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        """Work-groups are in the order of the sweep."""
        by_group = sweep.axis.quantity == "work_group"
        return sweep.points.index(parameters) if by_group else super().x(parameters, sweep)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        label = super().label(parameters, sweep)
        if sweep.axis.quantity == "work_group":
            return label
        matrices = f"{label_count(parameters['tiles'] * self.matrices_per_tile)} matrices"
        return f"{matrices} ({label})" if sweep.axis.quantity == "working_set" else matrices

    def work_items(self, parameters: Parameters) -> int:
        return parameters["tiles"] * ROWS // self.rows_per_item

    def operations(self, device: Device) -> Mapping[str, float]:
        """Return the operations of one work-item per transposition, by instruction class.

        In every round each row is rotated and selected. Local memory also needs a store, a load and a barrier;
        addresses are constant.
        """
        local, shuffles = self.local_rounds, self.rows_per_item * self.shuffled_rounds
        integer = self.rows_per_item * self.exchange(device) * self.rounds
        return {**_used(2 * local, local, shuffles), "int32": integer, "instruction": integer + 3.0 * local + shuffles}

    def chain(self, device: Device) -> Mapping[str, float]:
        """Return the dependent operations of one transposition, by instruction class; rows are independent."""
        used = _used(self.local_rounds, self.local_rounds, self.shuffled_rounds)
        return {**used, "int32": self.exchange(device) * self.rounds}

    def exchange(self, device: Device) -> float:
        """Return the integer operations of one row per round: a rotation and a selection of bits.

        One instruction each on GPUs, three each with AVX2 (two shifts and an or; and, and-not, or).
        """
        return grid.chosen(device, cpu=6.0, gpu=2.0)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        repeats, items = parameters["repeats"], self.work_items(parameters)
        rows = parameters["tiles"] * ROWS
        accesses, lines = 2.0 * self.rows_per_item, 1.0
        if grid.coalesces(device):
            accesses /= min(_ACCESS_BYTES // 4, self.rows_per_item)
            lines = self.lines_per_access(parameters, device)
        sector = grid.last_sector_bytes(device)
        around = {"memory": accesses, "int32": 38.0, "int32_mul": 15.0, "instruction": 70.0}
        totals = {name: count * repeats * items for name, count in self.operations(device).items()}
        rounds = self.rounds * repeats
        rolled = rounds if parameters.get("rolled") else 0
        shifts = self.rows_per_item * rounds * (parameters.get("exchange", _ROTATION) - _ROTATION)
        totals |= {name: totals[name] + (shifts + _ROLLED[name] * rolled) * items for name in _ROLLED}
        chain = {name: count * repeats for name, count in self.chain(device).items()}
        return Demand(
            *self.launched(parameters),
            streams=(Stream("from", rows, 4, 4), Stream("to", rows, 4, 4, write=True)),
            operations={**totals, **{name: totals.get(name, 0.0) + n * items for name, n in around.items()}},
            chain=chain | {"int32": chain.get("int32", 0.0) + _ROLLED_CHAIN * rolled},
            memory_chain=1.0,
            registers=20 + self.rows_per_item,
            sub_group=self.sub_group,
            local_memory_bytes=self.local_bytes(parameters),
            lines_per_access=lines,
            line_conflicts=lines,
            stores_per_sector=max(1.0, min(sector, 4.0 * self.rows_per_item) / _ACCESS_BYTES),
            line_writes=accesses / 2 * items / device.architecture.wave_size * lines,
        )

    def lines_per_access(self, parameters: Parameters, device: Device) -> float:
        """Return the lines that one access of a wave touches: those of contiguous rows, or one for each matrix."""
        lanes = device.architecture.wave_size
        touched = lanes * 4 * self.rows_per_item / grid.first_line_bytes(device)
        return min(float(lanes), max(float(parameters.get("local_x", 1)), touched))

    def local_bytes(self, parameters: Parameters) -> int:
        """Return the local memory of a work-group: two halves, used in turn."""
        return 2 * 4 * prod(self.launched(parameters)[1]) if self.local_rounds else 0

    def build_options(self, parameters: Parameters) -> str:
        """Transpositions per dispatch; first round; operations of an exchange; loops of rounds; dimensions."""
        shifts = " -DSHIFTS" if parameters.get("exchange", _ROTATION) != _ROTATION else ""
        rolled = " -DROLLED" if parameters.get("rolled") else ""
        columns = " -DTWO_D" if "local_x" in parameters else ""
        return f"-DREPEATS={parameters['repeats']} -DFIRST_ROUND={5 - self.rounds}{shifts}{rolled}{columns}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        (items, group), nbytes = self.launched(parameters), TILE_BYTES * parameters["tiles"]
        groups, local = -(-items // prod(group)), self.local_bytes(parameters)
        arguments: Arguments = ("from", "to", np.uint32(parameters["tiles"]), *([Local(local)] if local else []))
        buffers = {"from": Buffer(nbytes, grid.random_words(rng, 2**22)), "to": Buffer(nbytes)}
        return Job.of(buffers, "transpose", (groups * group[0], *group[1:]), group, arguments)

    def verification(self) -> Sequence[Parameters]:
        """Partial work-groups; odd and even numbers of transpositions."""
        return (
            {"tiles": 37, **self.shape(64), "repeats": 3},
            {"tiles": 5, **self.shape(32), "repeats": 2},
            {"tiles": 67, **self.shape(128), "repeats": 1},
            {"tiles": 7, **self.shape(64), "repeats": 3, "exchange": 4, "rolled": 1},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        rows = job.buffers["from"].filled().astype(np.uint32)
        return {"to": transposed(rows, self.size) if parameters["repeats"] % 2 else rows}


def transposed(words: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    """Transpose bit matrices of *size* (32 or 8) rows and columns in whole tiles of 32 words; bit c is column c."""
    columns = np.arange(ROWS, dtype=np.uint32)
    bits = words.reshape(-1, size, 1) >> columns & np.uint32(1)
    matrices = bits.reshape(-1, size, ROWS // size, size)
    rows = matrices.transpose(0, 3, 2, 1).reshape(-1, ROWS)
    return np.asarray(np.bitwise_or.reduce(rows << columns, axis=1), dtype=np.uint32)


def _used(local: float, barrier: float, shuffle: float) -> dict[str, float]:
    counts = {"local": local, "barrier": barrier, "shuffle": shuffle}
    return {name: float(count) for name, count in counts.items() if count}


class LocalMemory(Transpose):
    variant = "local"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/local.cl"
    method = "local memory"
    local_rounds = 5
    description = "In each round a work-item stores its row, waits at one barrier and reads its partner's row."


class Columns(LocalMemory):
    variant = "local_2d"
    essential = False
    sweeps_memory = False
    repeats = 201
    method = "local memory, 2D work-groups"
    description = "As published: x is the matrix and y the row. Neighbours access the same bank of local memory."

    def shape(self, items: int) -> dict[str, int]:
        """32 rows, as published."""
        return {"local_x": items // ROWS, "local_y": ROWS}

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Add the bank conflicts of the first wave; on a CPU its accesses, if they are not of adjacent words."""
        columns, rows = parameters["local_x"], parameters["local_y"]
        lanes = range(min(device.architecture.wave_size, columns * rows))
        words = [lane % columns * rows + lane // columns for lane in lanes]
        in_turn = 1.0 if words == [*lanes] else float(len(words))
        conflicts = grid.chosen(device, cpu=in_turn, gpu=grid.bank_conflicts(words, device))
        return replace(super().demand(parameters, device), local_conflicts=conflicts)

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        """Shapes whose columns contain whole matrices."""
        return tuple({"local_x": x, "local_y": y} for x, y in grid.shapes(device, limits) if y % ROWS == 0)

    def verification(self) -> Sequence[Parameters]:
        """Also columns of two and three matrices."""
        return (
            *super().verification(),
            {"tiles": 29, "local_x": 2, "local_y": 64, "repeats": 3},
            {"tiles": 10, "local_x": 1, "local_y": 96, "repeats": 1},
        )


class Registers(Transpose):
    variant = "registers"
    essential = True
    sweeps_memory = True
    rows_per_item = ROWS
    usual_group = 64
    repeats = 301
    source = "bit_transpose/registers.cl"
    method = "registers"
    description = "Each work-item keeps a whole tile in 32 registers. It loads 128 contiguous bytes, 16 at a time."

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each row and round a shift and a selection; a CPU permutes vectors, a GPU renames registers.

        Shift counts are constant. Compilers for GPUs turn left shifts, half of them, into multiplications.
        """
        rows = float(ROWS * self.rounds)
        return grid.chosen(
            device,
            cpu={"int32": 5.0 * rows, "permute": 3.0 * ROWS, "instruction": 5.0 * rows + 3.0 * ROWS},
            gpu={"int32": 1.5 * rows, "int32_mul": 0.5 * rows, "instruction": 2.0 * rows},
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """The kernel computes with vectors, for CPUs."""
        vector = grid.chosen(device, cpu=ROWS // 2, gpu=0)
        return replace(super().demand(parameters, device), vector_words=vector)


class Shuffle(Exchanging, Transpose):
    required = ("shuffle",)
    variant = "shuffle"
    essential = True
    sweeps_memory = True
    source = "bit_transpose/shuffle.cl"
    sub_group = ROWS
    shuffled_rounds = 5
    method = "sub-group shuffle"
    description = "One row per work-item; in each round a shuffle exchanges the rows of a pair."


class Vector(Shuffle):
    variant = "vector"
    essential = False
    rows_per_item = 4
    source = "bit_transpose/vector.cl"
    sub_group = 0
    shuffled_rounds = 3
    method = "sub-group shuffle, four rows per work-item"
    description = "Each work-item loads four rows as 16 bytes. Distances 16, 8 and 4 are shuffles between lanes."


class Hybrid(Shuffle):
    variant = "hybrid"
    essential = False
    sweeps_memory = False
    source = "bit_transpose/hybrid.cl"
    sub_group = 0
    local_rounds = 2
    shuffled_rounds = 3
    method = "local memory and sub-group shuffle"
    description = "Rows 16 and 8 apart are exchanged through local memory, rows 4, 2 and 1 apart by shuffles."


class Ballot(Exchanging, Transpose):
    required = ("ballot",)
    variant = "ballot"
    source = "bit_transpose/ballot.cl"
    sub_group = ROWS
    repeats = 301
    method = "sub-group ballot"
    description = "A ballot of one bit of all rows is a row of the result: 32 ballots for one transposition."

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each column a vote, a comparison of the lane index and a selection."""
        return {"ballot": 1.0 * ROWS, "int32": 2.0 * ROWS, "instruction": 3.0 * ROWS}

    def chain(self, device: Device) -> Mapping[str, float]:
        """The ballots are independent; each selection depends on the previous one."""
        return {"ballot": 1.0, "int32": ROWS + 1.0}


WORKLOADS = (
    *(Ballot(), LocalMemory(), Columns(), LocalMemory(8), Columns(8), Registers()),
    *(Shuffle(), Shuffle(8), Vector(), Hybrid()),
)
