"""How many dispatches make a sample, and how many samples make a point. Pure."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from gpureport.observe.statistics import median_interval

MAX_DISPATCHES = 500
"""Most dispatches in one sample: queues hold about a thousand."""

_TIMES_THE_COST = 20.0
_SHORTEST_SAMPLE_S = 200e-6


def sample_length_s(tick_s: float, launch_cost_s: float) -> float:
    """Return how long a sample should last: neither tick nor launch cost may weigh more than 5 % in it."""
    return max(_SHORTEST_SAMPLE_S, _TIMES_THE_COST * max(tick_s, launch_cost_s))


def dispatches(length_s: float, dispatch_s: float, in_turn: int) -> int:
    """Return how many dispatches make a sample: one if that is long enough, otherwise whole turns.

    Args:
        length_s: least duration of a sample.
        dispatch_s: estimated time of one dispatch; 0 if it was below the timer's tick.
        in_turn: dispatches that take turns (two for ping-pong).
    """
    if dispatch_s >= length_s:
        return 1
    most = max(1, MAX_DISPATCHES // in_turn)
    turn_s = max(dispatch_s * in_turn, length_s / most)
    return min(ceil(length_s / turn_s), most) * in_turn


def is_narrow(samples: Sequence[float], width: float = 0.01) -> bool:
    """Say whether the median is known to within ± *width* of itself; not of no samples."""
    if not samples:
        return False
    found = median_interval(np.array(samples))
    return found.low is not None and found.high is not None and (found.high - found.low) / 2 <= width * found.value
