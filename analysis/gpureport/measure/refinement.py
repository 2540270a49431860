"""Choice of the points of a sweep to measure next: those where the curve bends. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from math import log

BEND = 0.04
"""A gap is divided if the curve may deviate by more than this (in log) from the straight line across it."""


def between(positions: Sequence[float], times: Sequence[float | None], most: int) -> list[int]:
    """Return the indices of the points to measure next, the most informative first.

    The deviation from the line across a gap is estimated from the difference between its slope and the slopes of the
    neighbouring gaps.

    Args:
        positions: of all points of the sweep on its axis, ascending, shape (n,).
        times: seconds per unit of work, ``None`` for points that were not measured, shape (n,).
        most: largest number of indices.
    """
    known = [index for index, time in enumerate(times) if time is not None]
    x = [log(positions[index]) for index in known]
    y = [log(time) for time in times if time is not None]
    widths = [after - before for before, after in pairwise(x)]
    slopes = [(y[i + 1] - y[i]) / width for i, width in enumerate(widths)]
    scores = {}
    for gap, width in enumerate(widths):
        first, last = known[gap], known[gap + 1]
        neighbours = [slopes[other] for other in (gap - 1, gap + 1) if 0 <= other < len(slopes)]
        deviation = max((abs(slopes[gap] - slope) for slope in neighbours), default=0.0) * width / 2
        if last - first > 1 and deviation > BEND:
            # A jump also changes the slope difference of its neighbours: the gap with the jump comes first.
            scores[(first + last) // 2] = deviation + abs(slopes[gap]) * width / 4
    return sorted(scores, key=lambda index: -scores[index])[:most]
