"""Work for 90 % of the peak, from a smooth curve through points that may rise in steps.

Work-groups run in rounds: the rate rises in steps and falls back behind each of them, so the size at which the points
themselves reach 90 % depends on their selection. A fitted smooth maximum averages over the steps, but may miss the
shape of a curve: where caches or launch costs bend it, for instance. The smooth curve is therefore the fit plus the
mean residual of the surrounding octave, as far as that exceeds the noise of the points. Predicted and observed curves
are treated alike.
"""

from dataclasses import dataclass

import numpy as np

from gpureport.observe.smooth_maximum import OCTAVE, SmoothMaximum, fit_smooth_maximum, log_times
from gpureport.observe.staircase import FLATNESS, LEAST_DROP
from gpureport.observe.statistics import Estimate, Floats
from gpureport.spec.uncertainty import NORMAL_95

NINE_TENTHS = float(np.log(0.9))
"""n90: ln of the share of the peak."""
SIGNIFICANT = 3.0
"""Residuals of a fit count as far as they exceed this number of standard errors of their mean. With less, noise moves
n90 of more than 5 % of the synthetic tapers of ``scripts/detector.py`` by more than 5 %."""
PER_OCTAVE = 24
"""Sizes of the smooth curve in an octave."""


@dataclass(frozen=True)
class Saturation:
    """n90 in work-items, and the slope of ln(rate) over ln(work-items) there."""

    n90: Estimate
    slope: float


def saturation(u: Floats, rates: Floats, noise: Floats) -> Saturation | None:
    """Return n90: the fewest work-items with which the smooth curve has 90 % of its peak.

    If the curve falls below 90 % again before the peak, the interval extends to where it finally exceeds it: noise
    decides between these crossings. ``None`` if no smooth maximum can be fitted.
    """
    u, index, counts = np.unique(u, return_inverse=True, return_counts=True)
    rates, noise = (np.bincount(index, values) / counts for values in (rates, noise))
    stop = _end_of_peak(u, rates)
    u, rates, noise = u[:stop], rates[:stop], noise[:stop]
    fit = fit_smooth_maximum(u, u - rates, noise)
    if fit is None:
        return None
    sizes, smooth, corrections, errors = _smooth_curve(fit, float(np.median(noise)))
    peak = int(np.argmax(smooth))
    below = np.flatnonzero(smooth[:peak] < smooth[peak] + NINE_TENTHS)
    i = int(np.argmax(smooth >= smooth[peak] + NINE_TENTHS)) - 1
    if i < 0:
        return None
    slope = (smooth[i + 1] - smooth[i]) / (sizes[i + 1] - sizes[i])
    value = sizes[i] + (smooth[peak] + NINE_TENTHS - smooth[i]) / slope
    last = sizes[int(below[-1]) + 1] if below[-1] > i else value
    error = float(np.log(fit.n90().width)) / 2.0
    if corrections[i]:
        error = float(np.hypot(error, NORMAL_95 * errors[i] / slope))
    return Saturation(Estimate(*np.exp([value, value - error, last + error]).tolist()), float(slope))


def _smooth_curve(fit: SmoothMaximum, noise: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Add to a fit the mean residual of the surrounding octave relative to that at the end, as far as significant.

    Returns:
        ln(work-items), ascending; ln(rate); the part of the latter that the fit does not have; standard errors of the
        mean residuals. All of shape (m,).
    """
    sizes = np.linspace(fit.u[0], fit.u[-1], max(2, round(PER_OCTAVE * (fit.u[-1] - fit.u[0]) / OCTAVE)))
    means = octave_means(fit.u, log_times(fit.best, fit.u) - fit.times, sizes, OCTAVE)
    first, stop = (np.searchsorted(fit.u, sizes + half) for half in (-OCTAVE / 2.0, OCTAVE / 2.0))
    last = np.sum(fit.u >= fit.u[-1] - OCTAVE / 2.0)
    errors = noise * np.sqrt(1.0 / np.maximum(1, stop - first) + 1.0 / last)
    excess = means - means[-1]
    corrections = np.sign(excess) * np.maximum(0.0, np.abs(excess) - SIGNIFICANT * errors)
    return sizes, sizes - log_times(fit.best, sizes) + corrections, corrections, errors


def octave_means(u: Floats, values: Floats, sizes: Floats, width: float) -> Floats:
    """Return the means of a piecewise linear function over a *width* (in ln) around each size.

    Near an end the width shrinks, so that it stays symmetric. *u*, ascending, and *values* have shape (n,); *sizes*,
    shape (m,), are within the range of *u*. Both *u* and *sizes* are ln(work-items).
    """
    integrals = np.concatenate([[0.0], np.cumsum(np.diff(u) * (values[1:] + values[:-1]) / 2.0)])
    slopes = np.diff(values) / np.diff(u)

    def integral(x: Floats) -> Floats:
        i = np.clip(np.searchsorted(u, x) - 1, 0, len(u) - 2)
        past = x - u[i]
        return np.asarray(integrals[i] + past * (values[i] + slopes[i] * past / 2.0))

    half = np.clip(np.minimum(sizes - u[0], u[-1] - sizes), 1e-6, width / 2.0)
    low, high = np.maximum(sizes - half, u[0]), np.minimum(sizes + half, u[-1])
    return np.asarray((integral(high) - integral(low)) / (high - low))


def _end_of_peak(u: Floats, rates: Floats) -> int:
    means = octave_means(u, rates, u, 2.0 * OCTAVE)
    if means[np.argmax(means) :].min() > means.max() - LEAST_DROP:
        return len(u)
    return int(np.flatnonzero(means >= means.max() - FLATNESS)[-1]) + 1
