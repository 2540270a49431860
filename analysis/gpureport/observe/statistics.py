"""Statistics of samples and of a curve's noise: medians with intervals, outliers, clock states, drift."""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.uncertainty import MAD_TO_SIGMA, NORMAL_95

Floats = NDArray[np.float64]

_STEP_TO_SIGMA = MAD_TO_SIGMA / np.sqrt(2.0)
"""Standard deviation of samples / the median absolute difference of successive ones."""
FEWEST_FOR_NOISE = 5
"""Least number of points that show a curve's noise."""
ENOUGH_SAMPLES = 6
"""Least number of samples whose range contains the median with 95 % confidence (1 - 2 / 2^6 = 97 %)."""
FEWEST_TOGETHER = 20
"""Least number of samples, of several points together, that show two clock states or the timer's tick."""
FEWEST_CORRELATED = 12
"""Least number of samples of a point that show a correlation of successive ones."""
LEAST_DRIFT = 0.03
"""Smallest relative change of a point's times that counts as drift."""
_NORMAL_99_9 = 3.2905
"""Half-width of the 99.9 % interval of a normal distribution: one of 1000 steady points is wrongly found to drift."""
_MOST_RANKED = 1000
"""Of more samples of a point, every second, third, … is ranked: the time grows with the square of their number."""
SHORTEST_TICK_S = 0.5e-9
"""Smaller differences are rounding errors, because time stamps count nanoseconds."""


class Estimate(NamedTuple):
    """A value with its 95 % interval; ``None`` without one, as for a curve that has no noise."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of_logarithm(cls, value: float, error: float) -> "Estimate":
        """Return exp(*value*), with the half-width *error* of its interval; without an interval if that is zero."""
        ends = np.exp([value - error, value + error]).tolist() if error > 0.0 else ()
        return cls(float(np.exp(value)), *ends)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, or twice the value."""
        return (self.value if self.low is None else self.low), (self.value if self.high is None else self.high)

    @property
    def width(self) -> float:
        """Upper end / lower end of the interval; 1 without interval."""
        return self.high / self.low if self.low and self.high else 1.0

    @property
    def side(self) -> float:
        """Larger factor between the value and an end of its interval; 1 without interval."""
        return max(self.value / self.low, self.high / self.value) if self.low and self.high else 1.0


@lru_cache(maxsize=256)
def _rank(n: int) -> int:
    """Return the largest rank r (from 0) so that samples r and n - 1 - r enclose the median in >= 95 % of cases."""
    tail = 0
    for rank in range(n // 2):
        tail += comb(n, rank)
        if 40 * tail > 2**n:
            return max(rank - 1, 0)
    return 0


def median_interval(samples: Floats) -> Estimate:
    """Return the median of at least one sample, and its 95 % interval; for fewer than six samples their range.

    The binomial distribution of the number of samples below the median gives the interval (David and Nagaraja, Order
    Statistics, 2003, section 7.1). Correlation of successive samples, which are in order of measurement, increases the
    variance of this number by :func:`correlation_time`.
    """
    ordered, n = np.sort(samples), len(samples)
    together = correlation_time(samples)
    rank = _rank(n) if together <= 1.0 else max(0, int(n / 2.0 - NORMAL_95 / 2.0 * np.sqrt(n * together)))
    return Estimate(float(np.median(ordered)), float(ordered[rank]), float(ordered[-1 - rank]))


def medians(values: Floats, counts: NDArray[np.intp]) -> Floats:
    """Return the medians of groups, faster than one by one, from all values and the number of each group's."""
    table = np.full((len(counts), np.max(counts, initial=1)), np.inf)
    table[np.arange(table.shape[1]) < counts[:, np.newaxis]] = values
    table.sort(axis=1)
    every = np.arange(len(counts))
    return np.asarray((table[every, (counts - 1) // 2] + table[every, counts // 2]) / 2.0)


def correlation_time(samples: Floats) -> float:
    """Return the number of successive samples with as much information on the median as one independent sample.

    The integrated autocorrelation time of the side of the median (C. J. Geyer, Practical Markov Chain Monte Carlo,
    Statistical Science 7, 1992, section 3.3: the initial positive sequence). Estimates from few samples are too low, so
    each is multiplied by 1 + 4 estimate / samples. With this factor, 95 % intervals of autoregressive series cover the
    median in 90 to 97 % of cases (correlation of neighbours up to 0.6, at least twenty samples). *samples* are in
    order of measurement. Independent ones, and fewer than twelve, give 1.
    """
    n = len(samples)
    side = np.sign(samples - np.median(samples))
    side -= np.mean(side)
    power = float(np.mean(side**2))
    if n < FEWEST_CORRELATED or power == 0.0:
        return 1.0
    spectrum = np.fft.rfft(side, 2 * n)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum))[: n // 2 * 2] / (n * power)
    pairs = correlation[::2] + correlation[1::2]
    negative = np.flatnonzero(pairs <= 0.0)
    time = 2.0 * float(np.sum(pairs[: negative[0] if len(negative) else len(pairs)])) - 1.0
    return 1.0 if time <= 1.0 else time * (1.0 + 4.0 * time / n)


def drifts(samples: Floats, taken_at: Floats) -> bool:
    """Return whether a point's times drifted during its measurement, significantly and by at least 3 %.

    Uses the medians of the first and last third, and Kendall's rank correlation with time at a significance level of
    0.001 (M. G. Kendall, Rank Correlation Methods, 1948; its quantile by Cornish and Fisher, from the variance and the
    fourth moment). *samples* are in order of measurement, *taken_at* are their times in s, both of shape (n,). Fewer
    than nine never drift.
    """
    third = len(samples) // 3
    if third < 3 or len(samples) != len(taken_at):
        return False
    change = float(np.median(samples[-third:]) / np.median(samples[:third]))
    if abs(change - 1.0) < LEAST_DRIFT:
        return False
    ranked = samples[:: ceil(len(samples) / _MOST_RANKED)]
    later, earlier = np.tril_indices(len(ranked), -1)
    ordered = abs(np.sum(np.sign(ranked[later] - ranked[earlier])))
    # The k-th of n values in random order is before any number of the earlier ones, from 0 to k - 1, by equal chance.
    k = np.arange(1.0, len(ranked) + 1)
    variance = np.sum(k**2 - 1) / 3
    excess = -np.sum(k**4 - 1) * 2 / 15 / variance**2
    limit = _NORMAL_99_9 + (_NORMAL_99_9**3 - 3 * _NORMAL_99_9) * excess / 24
    return bool(ordered - 1 >= limit * np.sqrt(variance))


def sampling_noise(samples: Sequence[Floats]) -> Floats:
    """Return the relative standard error of each point's median.

    A few samples show a point's own scatter poorly, so its variance is averaged with that of the whole curve. Samples
    are in order of measurement. Zero if no point has two.
    """
    counts = np.array([len(point) for point in samples])
    within = np.ones(np.sum(counts), dtype=bool)
    within[np.cumsum(counts) - 1] = False  # exclude differences between samples of different points
    steps = np.abs(np.diff(np.log(np.concatenate(samples)), append=0.0))[within]
    pooled = steps_to_sigma(steps)
    enough = counts >= ENOUGH_SAMPLES
    own = np.full(len(samples), pooled)
    own[enough] = _STEP_TO_SIGMA * medians(steps[np.repeat(enough, counts - 1)], counts[enough] - 1)
    # The median's variance is pi / 2 times the mean's; of one or two samples it is the mean.
    excess = np.where(counts > 2, np.pi / 2.0, 1.0)
    return np.asarray(np.sqrt(excess * (own**2 + pooled**2) / 2.0 / counts))


def steps_to_sigma(steps: Floats) -> float:
    """Return the standard deviation of samples from absolute differences of successive ones.

    Unlike the deviation from the median, it is unbiased for any number of samples and insensitive to drift.
    """
    return float(_STEP_TO_SIGMA * np.median(steps)) if len(steps) else 0.0


def timer_tick(samples: Sequence[Floats], dispatches: Sequence[int]) -> float:
    """Return the timer's tick in seconds; 0 if the samples do not show one.

    The tick is the smallest difference of two samples of a sweep, if small differences are integer multiples of it.
    Samples are seconds of one dispatch; each took several *dispatches*.
    """
    stamps = np.unique(np.concatenate([point * n for point, n in zip(samples, dispatches, strict=True)]))
    steps = np.diff(stamps)
    steps = steps[steps > SHORTEST_TICK_S]
    if len(steps) < FEWEST_TOGETHER:
        return 0.0
    ticks = steps[steps < 100.0 * np.min(steps)] / np.min(steps)
    whole = np.abs(ticks - np.round(ticks)) < 0.1
    return float(np.min(steps)) if len(ticks) > 1 and np.mean(whole) > 0.9 else 0.0


def curve_noise(z: Floats) -> float:
    """Return a robust estimate of the standard deviation of a curve's points *z* = ln(value) about a smooth line.

    From the median absolute second difference, which has 6 times the variance of a point. A few steps and bends do not
    matter.
    """
    if len(z) < FEWEST_FOR_NOISE:
        return 0.0
    return float(MAD_TO_SIGMA / np.sqrt(6.0) * np.median(np.abs(np.diff(z, 2))))


def strays(z: Floats, noise: Floats, counts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mark outliers: single points far from two neighbours that agree with each other.

    A point with enough samples is never an outlier, because they cannot all be wrong by chance. *counts* are the
    numbers of samples of the points.
    """
    marked = np.zeros(len(z), dtype=bool)
    if len(z) < FEWEST_FOR_NOISE:
        return marked
    between = (z[2:] + z[:-2]) / 2.0
    distance = np.abs(z[1:-1] - between)
    limit = np.maximum(5.0 * noise[1:-1], 0.05)
    marked[1:-1] = (distance > limit) & (np.abs(z[2:] - z[:-2]) < distance / 2.0) & (counts[1:-1] < ENOUGH_SAMPLES)
    marked[1:] &= ~marked[:-1]
    return marked


def clock_states(samples: Sequence[Floats]) -> float | None:
    """Return the ratio of two speeds between which the device switched, or ``None``.

    Each point's samples are divided at the widest gap of their logarithms. Two states are two tight clusters with at
    least a fifth of the samples each, with the same ratio in most points. Points with few samples are divided together,
    each sample relative to the fastest of its point.
    """
    ratios = [_two_clusters(np.sort(np.log(point))) for point in samples if len(point) >= ENOUGH_SAMPLES]
    found = np.array([ratio for ratio in ratios if ratio is not None])
    if len(found) < 3 or len(found) < len(ratios) / 2.0:
        return _states_of_few(samples)
    typical = float(np.median(found))
    alike = np.abs(found - typical) < max(0.25 * typical, 0.01)
    return float(np.exp(typical)) if np.sum(alike) > 0.7 * len(found) else None


def _states_of_few(samples: Sequence[Floats]) -> float | None:
    """Return the ratio of two speeds in all points with few samples together, or ``None``."""
    few = [np.log(point / np.min(point)) for point in samples if 1 < len(point) < ENOUGH_SAMPLES]
    together = np.sort(np.concatenate(few)) if few else np.zeros(0)
    ratio = _two_clusters(together) if len(together) >= FEWEST_TOGETHER else None
    return None if ratio is None else float(np.exp(ratio))


def _two_clusters(ordered: Floats) -> float | None:
    n = len(ordered)
    least = max(2, int(np.ceil(n / 5)))
    gaps = np.diff(ordered)[least - 1 : n - least]
    split = least + int(np.argmax(gaps))
    lower, upper = ordered[:split], ordered[split:]
    distance = float(np.median(upper) - np.median(lower))
    within = max(float(np.subtract(*np.quantile(part, (0.9, 0.1)))) for part in (lower, upper))
    return distance if distance > 0.03 and float(np.max(gaps)) > 3.0 * within else None


def drift(samples: Sequence[Floats], taken_at: Sequence[Floats]) -> float | None:
    """Return the relative change of times from the first to the last third of the run: 0.05 if they grew by 5 %.

    Points are measured in random order, so a common trend over time is drift and not shape. ``None``: a change below
    3 % or within the noise. *samples* of each point are in order of measurement, *taken_at* are their times in s.
    """
    pairs = [(t, np.log(s / np.median(s))) for s, t in zip(samples, taken_at, strict=True) if len(s) == len(t) > 2]
    if not pairs:
        return None
    when, what = (np.concatenate(part) for part in zip(*pairs, strict=True))
    early, late = (what[when <= np.quantile(when, 1 / 3)], what[when >= np.quantile(when, 2 / 3)])
    if min(len(early), len(late)) < 10:
        return None
    change = float(np.median(late) - np.median(early))
    variances = [(MAD_TO_SIGMA * np.median(np.abs(part - np.median(part)))) ** 2 / len(part) for part in (early, late)]
    error = float(np.sqrt(np.pi / 2.0 * sum(variances)))
    return float(np.expm1(change)) if abs(change) > max(0.03, 5.0 * error) else None
