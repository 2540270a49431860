"""Number of dispatches of a sample, and of samples of a point. Pure."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from gpureport.observe.statistics import median_interval

MAX_DISPATCHES = 500
"""Most dispatches in one sample: command queues accept about a thousand."""

_MULTIPLE = 20.0
_SHORTEST_SAMPLE_S = 200e-6


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
    if not samples:
        return False
    found = median_interval(np.array(samples))
    return found.low is not None and found.high is not None and (found.high - found.low) / 2 <= width * found.value
