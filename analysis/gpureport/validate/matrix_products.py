"""What the kernels of vendors' libraries for matrix products move and compute: cuBLAS, and rocBLAS with Tensile.

A product of m x k and k x n is cut into tiles of the result. A work-group computes one: again and again it loads some
columns of one matrix and rows of the other into local memory; its work-items multiply what they read from there, and
keep sums in registers (CUTLASS, "Efficient GEMM in CUDA"; Tensile's documentation of kernel parameters). Tiles at an
edge, and all of the last round, take as long as others (NVIDIA, "Matrix multiplication background user's guide": tile
and wave quantization). If tiles are few, several groups share the reduction of each (split-K).

A library has kernels for several tiles, and rules that were fitted to times. Which kernel ran is not known in advance.
Here it is the one with the shortest predicted time.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, sqrt
from typing import NamedTuple

from gpureport.predict.energy import sustained_clock
from gpureport.predict.model import PointModel, point_times
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.validate.operators import elementwise, number
from gpureport.validate.software import SOFTWARE, Row, Tile, stack_of
from gpureport.workloads.model import Demand, Stream


class Unit(NamedTuple):
    """What multiplies: a class of instructions, multiply-adds of a work-item in one of them, bytes of an operand."""

    name: str
    per_instruction: int
    nbytes: int


SPLITS, MOST_SPLIT = constant(((1, 2, 4, 8), 2), "grids in the same data; the limit is assumed")
"""Groups that may share a reduction; if they do, the largest number of groups for each compute unit."""


def kernel(tile: Tile, unit: Unit, device: Device, sizes: tuple[int, int, int, int], split: int = 1) -> Demand:
    """Return the demand of *tile* for *sizes*: batch, m, n, k; *split* groups share the reduction of each tile."""
    (batch, m, n, k), architecture = sizes, device.architecture
    rows, columns, step = ceil(m / tile.m), ceil(n / tile.n), tile.depth * tile.slices
    groups, steps = batch * rows * columns * split, ceil(k / split / step)
    results, words = groups * tile.m * tile.n, unit.nbytes / 4
    loaded = groups * (tile.m + tile.n) * steps * step * words
    sums = tile.m * tile.n * tile.slices
    multiplied = results * steps * step
    # For each element of the reduction, a wave reads two edges of its part of the tile, and a work-item of its own.
    by_wave, by_item = (2 / sqrt(sums * size / tile.work_items) for size in (architecture.wave_size, 1))
    rate = 2 * device.rate_per_s(unit.name) * groups / (ceil(groups / device.compute_units) * device.compute_units)
    clock = sustained_clock(device, rate, rate * 4 * loaded / (2 * multiplied)) if unit.nbytes == 4 else 1.0
    operations = {
        unit.name: multiplied / clock,
        "local": multiplied * by_wave * words + loaded,
        "instruction": multiplied * (1 + by_item * words / 4) / unit.per_instruction + loaded / 2,
        "memory": loaded / 4 + results,
    }
    shared = device.shared_cache
    kept, side = (shared.capacity_bytes / 2 if shared else 0.0), sqrt(2 * device.compute_units * tile.m * tile.n)

    def read(name: str, length: int, passes: int, across: int) -> Stream:
        # Tiles that are computed at the same time form a square, and share what a cache of the device keeps.
        again = 1.0 if length * k * unit.nbytes <= kept else max(1.0, across / side)
        each = (batch * length * k, unit.nbytes, unit.nbytes)
        return Stream(name, *each, passes=passes, outer_passes=passes, memory_passes=again)

    result = Stream("c", batch * m * n, unit.nbytes, unit.nbytes, write=True)
    part = replace(result, buffer="parts", elements=split * batch * m * n)
    parts = (part, replace(part, write=False)) if split > 1 else ()
    return Demand(
        groups * tile.work_items,
        (tile.work_items,),
        (read("a", m, columns, n), read("b", n, rows, m), result, *parts),
        operations,
        {"fp32": steps * tile.depth / unit.per_instruction, "local": steps, "barrier": steps},
        memory_chain=1.0,
        phases_aligned=steps == 1,
        registers=min(255, round(sums / tile.work_items + 2 * by_item * sums / tile.work_items + 32)),
        staged=unit.nbytes == 4,  # kernels for fp16 copy several stages ahead (CUTLASS: multistage pipelines)
        local_memory_bytes=2 * step * (tile.m + tile.n) * unit.nbytes,
    )


def product(row: Row, device: Device) -> tuple[Demand, ...]:
    """Return the kernels that the library has for ``batch`` products of m x k and k x n, each with copies before it.

    ``torch.matmul`` copies operands whose batches have no common stride (``copied`` words), and ``addmm`` may copy the
    bias to the result.
    """
    batch, m, n, k = (int(number(row, name)) for name in ("batch", "m", "n", "k"))
    architecture, stack = device.architecture, stack_of(device)
    copies_bias = row["operator"] == "linear" and stack.copies_of_bias > 0
    words = m * n if copies_bias else float(row.get("copied", 0.0))
    copied = (elementwise({"rows": 1, "columns": words}, device, reads=not copies_bias),) if words else ()
    kernels = SOFTWARE.kernels.get(architecture.id, stack.kernels)
    tiles = (batch > 1 and kernels.batch) or kernels.one
    unit = Unit("matrix_fp32", 32, 4) if "matrix_fp32" in architecture.rates_per_cycle else Unit("fp32", 1, 4)
    if row.get("type") == "fp16":
        tiles, unit = SOFTWARE.tensor_kernels, Unit("matrix_fp16", 64, 2)
    return tuple(
        replace(each, later_dispatches=copied) if copied else each
        for tile in tiles
        for split in (SPLITS if batch == 1 else SPLITS[:1])
        if split == 1 or split * ceil(m / tile.m) * ceil(n / tile.n) <= MOST_SPLIT * device.compute_units
        for each in (kernel(tile, unit, device, (batch, m, n, k), split),)
    )


def fastest(device: Device, alternatives: Sequence[Sequence[Demand]]) -> list[Demand]:
    """Return the demand of each row with the shortest predicted time of its first kernel."""
    points = [PointModel(device, each.dispatches[0]) for own in alternatives for each in own if len(own) > 1]
    times = iter(point_times(points, 0) if points else ())
    return [min(own, key=lambda _: next(times)[0].time_s) if len(own) > 1 else own[0] for own in alternatives]


PRODUCTS = ("linear", "bmm", "matmul")
"""Operators with several kernels to choose from: names in column ``operator``."""
