"""How many dispatches make a sample, and how many samples make a point. Pure."""

from collections.abc import Sequence
from math import ceil, comb
from statistics import median

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


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the order statistics that hold the median with 95 % probability (all samples if fewer than six).

    The number of samples below the median is binomial (n, 1/2), whatever their distribution: W. J. Conover,
    Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2.
    """
    ordered = sorted(samples)
    n = len(ordered)
    below, tail = 0, 1.0
    while (tail + comb(n, below + 1)) / 2**n <= 0.025:
        below += 1
        tail += comb(n, below)
    return ordered[below], ordered[n - 1 - below]


def is_narrow(samples: Sequence[float], width: float = 0.01) -> bool:
    """Say whether the median is known to within ± *width* of itself."""
    low, high = median_interval(samples)
    return (high - low) / 2 <= width * median(samples)
