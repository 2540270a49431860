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
from gpureport.spec.uncertainty import constant, sourced
from gpureport.validate.operators import Row, elementwise, number, on_rocm
from gpureport.workloads.model import Demand, Stream


class Tile(NamedTuple):
    """A kernel: the rows and columns of the result of a work-group, and its work-items."""

    m: int
    n: int
    work_items: int = 256
    slices: int = 1
    """Parts of the work-items that share each sum: each adds its own part of the reduction."""
    depth: int = 8
    """Elements of the reduction that each slice loads at once."""


class Unit(NamedTuple):
    """What multiplies: a class of instructions, multiply-adds of a work-item in one of them, bytes of an operand."""

    name: str
    per_instruction: int
    nbytes: int


def _tiles(*sizes: tuple[int, int], work_items: int = 256, slices: int = 1, depth: int = 8) -> tuple[Tile, ...]:
    return tuple(Tile(m, n, work_items, slices, depth) for m, n in sizes)


_NAMED = ("nvidia/a100_pcie_40", "nvidia/h100_sxm", "nvidia/v100_pcie_32")
_WIDE = (*_tiles((128, 128)), *_tiles((64, 128), work_items=128))
_NARROW = (*_tiles((128, 32), (32, 128)), *_tiles((64, 64), work_items=64))
_SLICED = (*_tiles((32, 32), work_items=128, slices=4), *_tiles((32, 64), (32, 128), slices=4))
_XMMA = _tiles((256, 64), (128, 128), (64, 256), (128, 64), (64, 128), (64, 64), (128, 32), work_items=128)
_DEEP = _tiles((128, 128), (96, 128), (128, 64), (64, 128), (96, 96), (64, 64), (32, 64), (32, 32), (16, 64), depth=32)
_TENSILE = (*_DEEP, *_tiles((128, 160), (64, 144), depth=16), *_tiles((16, 16), work_items=64, depth=32))
_SGEMM = (*_WIDE, *_NARROW, *_SLICED)
KERNELS = dict(
    constant(
        (
            ("ROCm", (_TENSILE, _TENSILE)),
            ("hopper_90", (_XMMA, _XMMA)),
            ("ampere_80", (_SGEMM, _WIDE[:1])),
            ("pascal_61", ((*_WIDE, *_NARROW), _WIDE[1:])),
            ("", (_SGEMM, _NARROW)),
        ),
        "names of kernels in sitar-lab/NeuSight @6945927, PyTorch 2.1: of cuBLAS (maxwell_, volta_, ampere_sgemm, "
        "sm80_xmma; at least 97 % of the batched ones), and of Tensile (Cijk_)",
        measured_on=("amd/mi100", "nvidia/p4", *_NAMED),
        held_out="the names of T4 and A100 with 80 GB (the same chip with other memory) were not looked at",
        only="PyTorch",
    )
)
"""Kernels for one product, and for a batch, by architecture, or on ROCm; those of an empty name are for all others."""
TENSOR = _tiles((256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64), depth=32)
"""Kernels for matrix units and fp16: "Matrix multiplication background user's guide", typical tile dimensions."""
SPLITS, MOST_SPLIT = constant(((1, 2, 4, 8), 2), "grids in the same data; the limit is assumed")
"""Groups that may share a reduction; if they do, the largest number of groups for each compute unit."""
KERNEL_DEVIATION: tuple[float, float] = sourced("validate.matrix_products.KERNEL_DEVIATION")
"""Relative standard deviation because the library may choose another kernel: cuBLAS, and Tensile."""


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

    ``torch.matmul`` copies operands whose batches have no common stride (``copied`` words). ``addmm`` of ROCm first
    copies the bias to the result, while cuBLAS adds it (PyTorch, ``aten/src/ATen/native/cuda/Blas.cpp``).
    """
    batch, m, n, k = (int(number(row, name)) for name in ("batch", "m", "n", "k"))
    copies_bias = row["operator"] == "linear" and on_rocm(device)
    words = m * n if copies_bias else float(row.get("copied", 0.0))
    copied = (elementwise("copy", not copies_bias, {"rows": 1, "columns": words}, device),) if words else ()
    architecture = device.architecture
    stack = "ROCm" if on_rocm(device) else ""
    tiles = next(KERNELS[name] for name in (architecture.id, stack, "") if name in KERNELS)[batch > 1]
    unit = Unit("matrix_fp32", 32, 4) if "matrix_fp32" in architecture.rates_per_cycle else Unit("fp32", 1, 4)
    if row.get("type") == "fp16":
        tiles, unit = TENSOR, Unit("matrix_fp16", 64, 2)
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
