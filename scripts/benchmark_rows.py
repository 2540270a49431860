"""The rows of the benchmark: kernels, sizes and targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_H200 = "nvidia/h200_sxm"


@dataclass(frozen=True)
class Row:
    """A kernel, a size and a target.

    Attributes:
        label: in the table.
        workload: ``family/variant``.
        sweep: that provides the launch parameters.
        counts: bytes or operations per unit of work.
        size: parameters on a GPU; on other devices, and if empty, a working set beyond the caches is used.
        part: of a cache that the working set occupies instead, as (index of the cache, share).
        case: label of the point in sweeps of cases.
        shares: required shares of the copy rate, by kind of device.
        published: rates of other tools, by database entry: gpu-benches' gpu-stream, gpu-l2-cache and gpu-cache (CUDA),
            clpeak.
        best_of: group of rows of which only the best must reach its target.
        unit: of the rate.
    """

    label: str
    workload: str
    sweep: str
    counts: float
    size: Mapping[str, int] = field(default_factory=dict)
    part: tuple[int, float] | None = None
    case: str = ""
    shares: Mapping[str, float] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    best_of: str = ""
    unit: str = "B/s"

    @property
    def beside_copy(self) -> bool:
        """Whether the row is timed with a copy, because memory limits it."""
        return self.part is None and not self.case


_BOARD = {"width": 65_536, "height": 65_536}
_CELLS = {"gpu": 0.95, "cpu": 0.85}
_SEVERAL = "several generations per pass"

ROWS = (
    Row("Game of Life, one byte per cell", "game_of_life/bytes_strips", "grid_size", 2, _BOARD, shares=_CELLS),
    Row("Game of Life, one bit per cell", "game_of_life/packed_strips", "grid_size", 0.25, _BOARD, shares=_CELLS),
    *(
        Row(
            f"Game of Life, one bit per cell, {n} generations per pass",
            f"game_of_life/interleaved_steps{n}",
            "grid_size",
            0.25,
            _BOARD,
            shares={"gpu": 1 / 0.7},
            best_of=_SEVERAL,
        )
        for n in (2, 4, 8)
    ),
    Row("particles, 16-byte structs", "particles/structs16", "particles", 32, {"count": 2**25}, shares={"gpu": 0.97}),
    *(
        Row(
            f"transpose 32 x 32, once a load, {variant}",
            f"bit_transpose/{variant}",
            "once",
            256,
            {"tiles": 2**22},
            shares={"gpu": 0.95},
            best_of="transpose",
        )
        for variant in ("vector", "shuffle", "registers", "local")
    ),
    *(
        Row(f"stream {variant}", f"memory/{variant}", "working_set", 1, published={_H200: rate})
        for variant, rate in (("write", 4.67e12), ("read", 4.45e12), ("copy", 4.26e12), ("triad", 4.47e12))
    ),
    Row("read from the last cache", "memory/read", "working_set", 1, part=(-1, 1 / 3), published={_H200: 9.6e12}),
    Row("read from the first cache", "memory/read_private", "every_unit", 1, part=(0, 3 / 4), published={_H200: 33e12}),
    *(
        Row(label, "instructions/rate", "operation", 2, case=case, published={_H200: rate}, unit="op/s")
        for label, case, rate in (
            ("multiply-add, two operations", "fp32", 65.4e12),
            ("integer multiply-add, two operations", "int32_mul", 33.1e12),
        )
    ),
)
