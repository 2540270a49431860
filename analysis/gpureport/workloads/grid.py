"""Where the points of a sweep lie: even in log, denser around the sizes at which something should happen."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device

WORK_GROUPS_1D = (32, 64, 128, 256, 512, 1024)
WORK_GROUPS_2D = (
    *((size, 1) for size in WORK_GROUPS_1D),
    *((8, 8), (16, 8), (16, 16), (32, 4), (32, 8), (32, 16), (32, 32), (64, 4), (64, 16), (128, 2), (8, 32)),
    *((4, 64), (1, 64), (1, 256)),
)
"""Shapes (x, y) of two-dimensional work-groups that a sweep tries: rows, squares, columns."""


def octaves(
    low: float,
    high: float,
    per_octave: int,
    dense_at: Iterable[float] = (),
    dense_per_octave: int | None = None,
) -> NDArray[np.float64]:
    """Return sizes from *low* to *high*, *per_octave* to a doubling.

    Within a factor of two of each size in *dense_at* there are *dense_per_octave* to a doubling instead.
    """

    def even(start: float, stop: float, step: int) -> NDArray[np.float64]:
        first, last = np.ceil(np.log2(start) * step - 1e-9), np.floor(np.log2(stop) * step + 1e-9)
        return np.exp2(np.arange(first, last + 1) / step)

    parts = [even(low, high, per_octave)]
    parts += [
        even(max(low, centre / 2), min(high, centre * 2), dense_per_octave or per_octave)
        for centre in dense_at
        if low < centre * 2 and centre / 2 < high
    ]
    return np.unique(np.concatenate(parts))


def rounded(sizes: Sequence[float] | NDArray[np.float64], to: Callable[[float], int]) -> tuple[int, ...]:
    """Return *sizes* made whole by *to*, without repeats, ascending."""
    return tuple(sorted({to(float(size)) for size in sizes}))


def multiple(of: int) -> Callable[[float], int]:
    """Return a rounding to the nearest positive multiple of *of*."""
    return lambda size: max(1, round(size / of)) * of


def cliffs(device: Device, *, private: bool = False) -> tuple[float, ...]:
    """Return the working sets in bytes near which device-wide (or, with *private*, all) caches should give out."""
    return tuple(
        cache.capacity_bytes * cache.bandwidth_extent.midpoint
        for cache in device.caches
        if private or cache.scope == "device"
    )


def last_cache_bytes(device: Device) -> float:
    """Return the capacity of the outermost cache, in bytes (1 MiB if the device has none)."""
    return device.caches[-1].capacity_bytes if device.caches else 2.0**20


def random_words(rng: np.random.Generator, nbytes: int) -> NDArray[np.uint32]:
    """Return random 32-bit words: enough for *nbytes*, but at most 4 MiB of them (a buffer repeats them)."""
    return rng.integers(0, 2**32, size=max(1, min(nbytes, 2**22) // 4), dtype=np.uint32)
