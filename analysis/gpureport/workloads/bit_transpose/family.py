"""Shared by all bit transpositions: tiles, sweeps, reference results, memory traffic."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import AmdOccupancy, Device, IntelOccupancy, NvidiaOccupancy, PooledOccupancy
from gpureport.spec.values import constant
from gpureport.units import format_bytes, format_count
from gpureport.workloads import grid
from gpureport.workloads.model import Argument, Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload

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
_ROLLED_CHAIN = constant(
    15.0,
    "means of local memory and of the hybrid on an H200: 42 and 76 cycles per round of one wave, 10 and 16 issue slots "
    "per round of many",
    measured_on=("nvidia/h200_sxm",),
)
"""Operations, and dependent integer operations, that a round takes more if the loop over rounds is not unrolled
(parameter ``rolled``): constants read by index, addresses, branches."""

_COUNTED = {
    32: "Counted: transpositions of a 32 x 32 bit matrix, each of the previous result.",
    8: "Counted: transpositions of an 8 x 8 bit matrix, each of the previous result. A tile of 32 words contains 16.",
}


class Transpose(Workload):
    """One way to transpose all tiles of an array repeatedly; matrices have *size* rows and columns.

    Descriptions of subclasses leave out the unit of work.
    """

    family = "bit_transpose"
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
    local_rounds: int = 0
    """Rounds through local memory, at most."""
    shuffled_rounds: int = 0
    """Rounds by shuffles, at most; in the others a work-item exchanges rows in its registers."""
    description_8x8: ClassVar[str] = ""
    """Replaces the description for 8 x 8."""
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
            self.description = self.description_8x8 or self.description
            self.essential = self.sweeps_memory = False
        self.description = f"{self.description} {_COUNTED[size]}"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The number of tiles, beyond saturation; work-group shapes; for some variants the array size.

        Tiles fill whole work-groups: idle lanes would take the same time.
        """
        saturating = _saturating_tiles(device, self.rows_per_item)
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
        far = min(grid.reach(device, limits, "matrices") * grid.last_cache_bytes(device), limits.max_bytes)
        most = min(_MOST_TILES, far / (2 * TILE_BYTES), limits.max_buffer_bytes / TILE_BYTES)
        counts = grid.sizes(min(_FEWEST_TILES, most / 4), most, grid.multiple(least))
        points = ({"tiles": n, **shape, "repeats": 1} for n in counts)
        title = "size of the arrays, one transposition a load"
        return load, groups, grid.by_working_set(points, limits, "once", "working set, both arrays", title)

    def shape(self, items: int) -> dict[str, int]:
        return {"local": items}

    def shapes(self, device: Device, limits: Limits) -> Sequence[Parameters]:
        return tuple({"local": n} for n in grid.work_groups(device, limits))

    def work_group(self, parameters: Parameters) -> tuple[int, ...]:
        return (parameters["local"],)

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        """Work-groups are in the order of the sweep."""
        by_group = sweep.axis.quantity == "work_group"
        return sweep.points.index(parameters) if by_group else super().x(parameters, sweep)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        matrices = f"{format_count(parameters['tiles'] * self.matrices_per_tile)} matrices"
        return {
            "work_items": matrices,
            "work_group": " x ".join(map(str, self.work_group(parameters))),
            "working_set": f"{matrices} ({format_bytes(self.nbytes(parameters))})",
        }[sweep.axis.quantity]

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
        """All transpositions of all work-items; one load and one store of the array."""
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
            work_items=items,
            work_group=self.work_group(parameters),
            streams=(Stream("from", rows, 4, 4), Stream("to", rows, 4, 4, write=True)),
            operations={**totals, **{name: totals.get(name, 0.0) + n * items for name, n in around.items()}},
            chain=chain | {"int32": chain.get("int32", 0.0) + _ROLLED_CHAIN * rolled},
            memory_chain=1.0,
            registers=20 + self.rows_per_item,
            lines_per_access=lines,
            line_conflicts=lines,
            stores_per_sector=max(1.0, min(sector, 4.0 * self.rows_per_item) / _ACCESS_BYTES),
            line_writes=accesses / 2 * items / device.architecture.wave_size * lines,
        )

    def lines_per_access(self, parameters: Parameters, device: Device) -> float:
        """Return the lines that one access of a wave touches; its rows are contiguous."""
        lanes = device.architecture.wave_size
        return min(float(lanes), max(1.0, lanes * 4 * self.rows_per_item / grid.first_line_bytes(device)))

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        return ("from", "to", np.uint32(parameters["tiles"]))

    def build_options(self, parameters: Parameters) -> str:
        """Transpositions per dispatch; the first round; operations of an exchange; whether rounds are a loop."""
        shifts = " -DSHIFTS" if parameters.get("exchange", _ROTATION) != _ROTATION else ""
        rolled = " -DROLLED" if parameters.get("rolled") else ""
        return f"-DREPEATS={parameters['repeats']} -DFIRST_ROUND={5 - self.rounds}{shifts}{rolled}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        group, nbytes = self.work_group(parameters), TILE_BYTES * parameters["tiles"]
        groups = -(-self.work_items(parameters) // prod(group))
        buffers = {"from": Buffer(nbytes, grid.random_words(rng, 2**22)), "to": Buffer(nbytes)}
        return Job.of(buffers, "transpose", (groups * group[0], *group[1:]), group, self.arguments(parameters))

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
    """Transpose the bit matrices of *size* rows and columns (32 or 8) in whole tiles of 32 words each.

    Bit c of a word is column c.
    """
    columns = np.arange(ROWS, dtype=np.uint32)
    bits = words.reshape(-1, size, 1) >> columns & np.uint32(1)
    matrices = bits.reshape(-1, size, ROWS // size, size)
    rows = matrices.transpose(0, 3, 2, 1).reshape(-1, ROWS)
    return np.asarray(np.bitwise_or.reduce(rows << columns, axis=1), dtype=np.uint32)


def _used(local: float, barrier: float, shuffle: float) -> dict[str, float]:
    counts = {"local": local, "barrier": barrier, "shuffle": shuffle}
    return {name: float(count) for name, count in counts.items() if count}


def _saturating_tiles(device: Device, rows_per_item: int) -> int:
    """Return a number of tiles well beyond saturation: two to eight times the resident work-items."""
    rules = device.architecture.occupancy
    match rules:
        case NvidiaOccupancy() | PooledOccupancy():
            waves = rules.max_waves
        case AmdOccupancy():
            waves = rules.max_waves_per_simd * rules.simds
        case IntelOccupancy():
            waves = rules.threads // rules.units_per_subslice
        case _:
            return 1024 * device.compute_units
    resident = device.compute_units * waves * device.architecture.wave_size
    return max(2, 8 // rows_per_item) * resident * rows_per_item // ROWS
