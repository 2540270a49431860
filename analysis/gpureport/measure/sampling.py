"""How points are sampled: dispatches of a sample, samples of a point, and which points are added. Pure."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from gpureport.observe.statistics import median_interval

MAX_DISPATCHES = 500
"""Most dispatches in one sample: command queues accept about a thousand."""

_MULTIPLE = 20.0
_SHORTEST_SAMPLE_S = 200e-6
BEND = 0.04
"""A gap between points is divided if the curve may deviate by more than this (in log) from the straight line across."""


def sample_length_s(tick_s: float, launch_cost_s: float) -> float:
    """Return the shortest duration of a sample: timer tick and launch cost may each be at most 5 % of it."""
    return max(_SHORTEST_SAMPLE_S, _MULTIPLE * max(tick_s, launch_cost_s))


def dispatches(length_s: float, dispatch_s: float, cycle: int) -> int:
    """Return the number of dispatches of a sample: one if that is long enough, otherwise whole cycles.

    Args:
        length_s: shortest duration of a sample.
        dispatch_s: estimated time of one dispatch; 0 if it was below the timer's tick.
        cycle: number of dispatches in the job's cycle (2 for ping-pong).
    """
    if dispatch_s >= length_s:
        return 1
    most = max(1, MAX_DISPATCHES // cycle)
    cycle_s = max(dispatch_s * cycle, length_s / most)
    return min(ceil(length_s / cycle_s), most) * cycle


def is_narrow(samples: Sequence[float], width: float = 0.01) -> bool:
    """Return whether the median's confidence interval is within ± *width* of the median; ``False`` without samples."""
    found = median_interval(np.array(samples)) if samples else None
    return bool(found and found.low and found.high and (found.high - found.low) / 2 <= width * found.value)


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
    widths = np.diff(np.log([positions[index] for index in known]))
    steps = np.diff(np.log([time for time in times if time is not None]))
    changes = np.pad(np.abs(np.diff(steps / widths)), 1)  # of the slope, at both ends of each gap
    deviations = np.maximum(changes[:-1], changes[1:]) * widths / 2
    # A jump also changes the slope difference of its neighbours: the gap with the jump comes first.
    scores = deviations + np.abs(steps) / 4
    order = np.argsort(-scores, kind="stable").tolist()
    bent = [gap for gap in order if known[gap + 1] - known[gap] > 1 and deviations[gap] > BEND]
    return [(known[gap] + known[gap + 1]) // 2 for gap in bent[:most]]
