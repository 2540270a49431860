"""Transitions where more work-items are idle: sizes that are no multiples of the work-group."""

from collections.abc import Iterable
from math import prod

from gpureport.records.keys import PointKey
from gpureport.workloads.model import REPEATS

IDLE = 0.9
"""Beyond a transition, the work of a work-item falls below this share if more work-items are idle."""
IDLE_WORK_ITEMS = "idle work-items"
"""The cause, as the name of a level."""


def work_per_item(size_bytes: float, points: Iterable[PointKey]) -> float:
    """Return the work of a work-item just beyond a working set / just before it; 1 if a side has no points."""
    work = {
        point.working_set_bytes: point.work / point.work_items / prod(point.parameters.get(name, 1) for name in REPEATS)
        for point in points
    }
    around = sizes_around(size_bytes, work)
    return work[around[-1]] / work[around[0]] if around else 1.0


def sizes_around(size_bytes: float, sizes: Iterable[float]) -> tuple[float, ...]:
    """Return the sizes just before and just beyond a size; neither if a side has none."""
    before = max((size for size in sizes if size < size_bytes), default=None)
    beyond = min((size for size in sizes if size >= size_bytes), default=None)
    return () if before is None or beyond is None else (before, beyond)
