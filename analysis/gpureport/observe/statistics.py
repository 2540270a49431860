"""Statistics of samples and of a curve's noise: medians with intervals, strays, clock states, drift."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NORMAL_95 = 1.96
"""Half-width of the 95 % interval of a normal distribution, in standard deviations."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution / its median absolute deviation."""
_STEP_TO_SIGMA = MAD_TO_SIGMA / np.sqrt(2.0)
"""Standard deviation of samples / the median absolute difference of successive ones."""
FEWEST_FOR_NOISE = 5
"""Fewest points of a curve that show its noise."""
ENOUGH_SAMPLES = 6
"""Fewest samples whose range holds the median with 95 % confidence (1 - 2 / 2^6 = 97 %)."""
FEWEST_TOGETHER = 20
"""Fewest samples of several points that together show two clock states, or the timer's tick."""
FEWEST_CORRELATED = 12
"""Fewest samples of a point that show whether successive ones are alike."""
LEAST_DRIFT = 0.03
"""Change of a point's times that is called a drift."""
CHANCE_OF_DRIFT = 1e-3
"""Share of steady points that may be taken for drifting ones."""
SHORTEST_TICK_S = 0.5e-9
"""Time stamps count nanoseconds: what differs by less was rounded."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; ``None`` for a curve that has no noise."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float:
        """Return the upper end of the interval / the lower: 1 without one."""
        return self.high / self.low if self.low and self.high else 1.0


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
    """Return the median and its distribution-free interval from order statistics.

    Args:
        samples: at least one, in the order taken. With fewer than six, 95 % cannot be had and the interval is the
            range.

    Returns:
        The median; the binomial distribution of the number of samples below it gives the interval (David and
        Nagaraja, Order Statistics, 2003, section 7.1). Where successive samples lie on one side of the median more
        often than independent ones do, that number varies more, by :func:`correlation_time`.
    """
    ordered, n = np.sort(samples), len(samples)
    together = correlation_time(samples)
    rank = _rank(n) if together <= 1.0 else max(0, int(n / 2.0 - NORMAL_95 / 2.0 * np.sqrt(n * together)))
    return Estimate(float(np.median(ordered)), float(ordered[rank]), float(ordered[-1 - rank]))


def medians(values: Floats, counts: NDArray[np.intp]) -> Floats:
    """Return the medians of groups, sooner than one by one.

    Args:
        values: those of the first group, then those of the second and so on.
        counts: number of values of each group, at least one.
    """
    table = np.full((len(counts), np.max(counts, initial=1)), np.inf)
    table[np.arange(table.shape[1]) < counts[:, np.newaxis]] = values
    table.sort(axis=1)
    every = np.arange(len(counts))
    return np.asarray((table[every, (counts - 1) // 2] + table[every, counts // 2]) / 2.0)


def correlation_time(samples: Floats) -> float:
    """Return how many successive samples tell as much of the median as one independent sample; 1: all are.

    The integrated autocorrelation time of lying above or below the median (C. J. Geyer, Practical Markov Chain Monte
    Carlo, Statistical Science 7, 1992, section 3.3: the initial positive sequence). Estimates from few samples are too
    low: they grow by a share of four times themselves / samples, with which 95 % intervals of autoregressive series
    cover the median in 90 to 97 % of cases (correlation of neighbours up to 0.6, twenty samples or more).

    Args:
        samples: in the order taken; of fewer than twelve nothing can be said.
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
    """Say whether a point's times rose or fell while it was measured: by 3 % or more, and not by chance.

    Kendall's rank correlation with time, which in steady series is as large in one of a thousand (M. G. Kendall, Rank
    Correlation Methods, 1948), and the medians of the first and last third.

    Args:
        samples: in the order taken, shape (n,); of fewer than ten nothing can be said.
        taken_at: when, seconds, shape (n,).
    """
    third = len(samples) // 3
    if third < 3 or len(samples) != len(taken_at):
        return False
    change = float(np.median(samples[-third:]) / np.median(samples[:third]))
    if abs(change - 1.0) < LEAST_DRIFT:
        return False
    from scipy.stats import kendalltau

    return bool(kendalltau(samples, taken_at).pvalue < CHANCE_OF_DRIFT)


def sampling_noise(samples: Sequence[Floats]) -> Floats:
    """Return the relative standard error of each point's median.

    A point's own scatter is known poorly from a few samples, so it is averaged, in squares, with that of the
    whole curve. Zero where no point has two samples.

    Args:
        samples: of each point, positive, in the order taken.
    """
    counts = np.array([len(point) for point in samples])
    within = np.ones(np.sum(counts), dtype=bool)
    within[np.cumsum(counts) - 1] = False  # from the last sample of a point to the first of the next is no step
    steps = np.abs(np.diff(np.log(np.concatenate(samples)), append=0.0))[within]
    pooled = _sigma(steps)
    enough = counts >= ENOUGH_SAMPLES
    own = np.full(len(samples), pooled)
    own[enough] = _STEP_TO_SIGMA * medians(steps[np.repeat(enough, counts - 1)], counts[enough] - 1)
    # The median's variance is pi / 2 times the mean's; of one or two samples it is the mean.
    excess = np.where(counts > 2, np.pi / 2.0, 1.0)
    return np.asarray(np.sqrt(excess * (own**2 + pooled**2) / 2.0 / counts))


def _sigma(steps: Floats) -> float:
    """Return the standard deviation of samples from absolute differences of successive ones.

    Unlike the deviation from the median it is unbiased for any number of samples, and drift hardly counts.
    """
    return float(_STEP_TO_SIGMA * np.median(steps)) if len(steps) else 0.0


def timer_tick(samples: Sequence[Floats], dispatches: Sequence[int]) -> float:
    """Return the timer's tick in seconds; 0 if the samples do not show one.

    The tick is the least by which two samples of a sweep differ, if small differences are whole multiples of it.

    Args:
        samples: of each point, seconds of one dispatch.
        dispatches: that each sample of a point timed together.
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
    """Return the standard deviation of a curve's points about a smooth line, robustly.

    Args:
        z: ln(value) of the points in order; steps and corners, being few, do not count.

    Returns:
        From the median absolute second difference, which has 6 times the variance of a point.
    """
    if len(z) < FEWEST_FOR_NOISE:
        return 0.0
    return float(MAD_TO_SIGMA / np.sqrt(6.0) * np.median(np.abs(np.diff(z, 2))))


def strays(z: Floats, noise: Floats, counts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Mark single points that lie far from neighbours which agree with each other.

    A point with enough samples of its own is believed: all of them are not wrong by chance.

    Args:
        z: ln(value), shape (n,).
        noise: standard errors, shape (n,).
        counts: samples of each point, shape (n,).
    """
    marked = np.zeros(len(z), dtype=bool)
    if len(z) < FEWEST_FOR_NOISE:
        return marked
    between = (z[2:] + z[:-2]) / 2.0
    away = np.abs(z[1:-1] - between)
    limit = np.maximum(5.0 * noise[1:-1], 0.05)
    marked[1:-1] = (away > limit) & (np.abs(z[2:] - z[:-2]) < away / 2.0) & (counts[1:-1] < ENOUGH_SAMPLES)
    marked[1:] &= ~marked[:-1]
    return marked


def clock_states(samples: Sequence[Floats]) -> float | None:
    """Return the ratio of two speeds between which the device switched, or ``None``.

    Each point's samples are split where their logarithms' gap is widest. Two states are two tight clusters, a
    fifth of the samples each at least, seen in most of the points and with the same ratio. Points of few samples are
    split together, each sample against the fastest of its point.
    """
    ratios = [_two_clusters(np.sort(np.log(point))) for point in samples if len(point) >= ENOUGH_SAMPLES]
    found = np.array([ratio for ratio in ratios if ratio is not None])
    if len(found) < 3 or len(found) < len(ratios) / 2.0:
        return _states_of_few(samples)
    typical = float(np.median(found))
    alike = np.abs(found - typical) < max(0.25 * typical, 0.01)
    return float(np.exp(typical)) if np.sum(alike) > 0.7 * len(found) else None


def _states_of_few(samples: Sequence[Floats]) -> float | None:
    """Return the ratio of two speeds that the points of few samples show together."""
    few = [np.log(point / np.min(point)) for point in samples if 1 < len(point) < ENOUGH_SAMPLES]
    together = np.sort(np.concatenate(few)) if few else np.zeros(0)
    ratio = _two_clusters(together) if len(together) >= FEWEST_TOGETHER else None
    return None if ratio is None else float(np.exp(ratio))


def _two_clusters(ordered: Floats) -> float | None:
    """Return the distance of two clusters of sorted values, or ``None`` if they are one."""
    n = len(ordered)
    least = max(2, int(np.ceil(n / 5)))
    gaps = np.diff(ordered)[least - 1 : n - least]
    split = least + int(np.argmax(gaps))
    lower, upper = ordered[:split], ordered[split:]
    distance = float(np.median(upper) - np.median(lower))
    within = max(float(np.subtract(*np.quantile(part, (0.9, 0.1)))) for part in (lower, upper))
    return distance if distance > 0.03 and float(np.max(gaps)) > 3.0 * within else None


def drift(samples: Sequence[Floats], taken_at: Sequence[Floats]) -> float | None:
    """Return by how much times changed from the first to the last third of the run, or ``None``.

    Points are taken in random order, so what all of them do together over time is drift and not shape.

    Args:
        samples: of each point, in the order taken.
        taken_at: when, s.

    Returns:
        Relative change, e.g. 0.05 for times that grew by 5 %; ``None`` if below 3 % or within the noise.
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
