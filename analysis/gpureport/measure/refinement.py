"""Which points of a sweep are worth measuring next: those between which the curve bends. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

BEND = 0.04
"""A gap is divided where the curve may lie further than this (in log) from the straight line across it."""


def between(positions: Sequence[float], times: Sequence[float | None], most: int) -> list[int]:
    """Return the indices of the points to measure next, the most rewarding first.

    How far the curve may stray from the line across a gap follows from how much its slope differs from that of the
    neighbouring gaps: a curve that bends by as much has its corner somewhere in between.

    Args:
        positions: of all points of the sweep on its axis, ascending, shape (n,).
        times: seconds for a unit of work, ``None`` where a point was not measured, shape (n,).
        most: as many are returned at most.
    """
    known = [index for index, time in enumerate(times) if time is not None]
    x = [log(positions[index]) for index in known]
    y = [log(time) for time in times if time is not None]
    widths = [after - before for before, after in pairwise(x)]
    slopes = [(y[i + 1] - y[i]) / width for i, width in enumerate(widths)]
    rewards = {}
    for gap, width in enumerate(widths):
        first, last = known[gap], known[gap + 1]
        neighbours = [slopes[other] for other in (gap - 1, gap + 1) if 0 <= other < len(slopes)]
        stray = max((abs(slopes[gap] - slope) for slope in neighbours), default=0.0) * width / 2
        if last - first > 1 and stray > BEND:
            # A jump makes its neighbours look bent as well: the gap that it crosses goes first.
            rewards[(first + last) // 2] = stray + abs(slopes[gap]) * width / 4
    return sorted(rewards, key=lambda index: -rewards[index])[:most]
