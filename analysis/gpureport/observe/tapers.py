"""Tapers: the amount of parallel work, or the size of a transfer, at which throughput saturates.

A smooth maximum is a constant time that turns into a time proportional to the work::

    T(n) = T0 (s + (1 - s) (1 + (n / k)^p)^(1/p))

A share s of the constant time (launch cost) adds to the work. The rest (latency) overlaps with it, as a smooth maximum
with exponent p. The prediction has the same shape; here all four parameters are fitted to the curve.

Work-groups run in rounds: the rate rises in steps and falls back behind each of them, so the size at which the points
themselves reach 90 % depends on their selection. A fitted smooth maximum averages over the steps, but may miss the
shape of a curve: where caches or launch costs bend it, for instance. The smooth curve is therefore the fit plus the
mean residual of the surrounding octave, as far as that exceeds the noise of the points. Predicted and observed curves
are treated alike.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from gpureport.observe import cliffs
from gpureport.observe.statistics import Estimate, Floats, curve_noise
from gpureport.spec.uncertainty import NORMAL_95

FEWEST_POINTS = 8
"""Twice the number of parameters."""
USUAL = np.array([np.log(3.0), -4.0])
"""Prior of ln p and the logit of s, which decides if the points do not: p = 3, mostly latency."""
DOUBT = np.array([0.6, 2.5])
"""Standard deviations of the prior."""
LEAST_ERROR = 1e-3
"""Standard error of a point of a curve without noise."""
LEAST_SCALE = 0.1
"""Smallest variance of the residuals, relative to the expected noise, that so few points can show."""
WIDEST = float(np.log(1e6))
"""Half-width of an interval without information."""
OCTAVE = float(np.log(2.0))
TOLERANCES = {"ftol": 1e-8, "xtol": 1e-8, "gtol": 1e-8}
"""Of the least squares (MINPACK's lmder): relative changes of the sum and of the parameters, cosine of the gradient."""
NINE_TENTHS = float(np.log(0.9))
"""n90: ln of the share of the peak."""
SIGNIFICANT = 3.0
"""Residuals of a fit count as far as they exceed this number of standard errors of their mean. With less, noise moves
n90 of more than 5 % of the synthetic tapers of ``scripts/detector.py`` by more than 5 %."""
PER_OCTAVE = 24
"""Sizes of the smooth curve in an octave."""
NOISY = 0.03
"""Median noise of the points beyond which copies of a curve widen the interval of n90. With less, the fit is enough."""
SCATTERED = 25
"""Rows for that, the curve itself included: the range of 24 copies contains 92 % of further ones."""
FLAT_TIME = float(np.log(1.1))
"""Times up to 10 % (plus twice the noise) above the first belong to the flat part."""
_LARGE = 1 / 8
"""Transfers above this share of the largest belong to the plateau."""


class SmoothMaximum(NamedTuple):
    """A fitted smooth maximum. Its plateau is its rate at the last point."""

    u: Floats
    """ln(work-items) of the points, never falling, shape (n,)."""
    times: Floats
    """Their ln(time), shape (n,)."""
    noise: Floats
    """Standard errors of these, shape (n,)."""
    best: Floats
    """ln T0, ln k, ln p, logit s; shape (4,)."""
    covariance: Floats
    """Covariance of these, shape (4, 4)."""

    def knee(self) -> Estimate:
        """Return flat time x rate of the plateau, in work-items."""
        return self._estimate(lambda parameters: parameters[0] + self._plateau(parameters))

    def n90(self) -> Estimate:
        """Return the work-items at which the rate reaches 90 % of the plateau."""
        return self._estimate(self._n90)

    def fits_at(self, where: float, tolerance: float) -> bool:
        """Return whether the points follow the fit at ln(work-items) *where* as well as on its plateau.

        Compares means over an octave, in ln(rate). They may differ by *tolerance* plus twice their standard error.
        """
        residuals = self.times - log_times(self.best, self.u)
        near, end = (np.abs(self.u - place) <= OCTAVE for place in (where, self.u[-1]))
        if where < self.u[0] or not np.any(near):
            return False
        error = float(np.median(self.noise)) * np.sqrt(1.0 / np.sum(near) + 1.0 / np.sum(end))
        return bool(abs(np.mean(residuals[near]) - np.mean(residuals[end])) <= tolerance + 2.0 * error)

    def _plateau(self, parameters: Floats) -> Floats:
        return np.asarray(self.u[-1] - log_times(parameters, self.u[-1]))

    def _n90(self, parameters: Floats) -> Floats:
        """Return ln n90 by bisection; *parameters* of shape (4, columns)."""
        target = np.log(0.9) + self._plateau(parameters)
        low, high = target + parameters[0] - 1.0, np.full(len(target), self.u[-1])
        for _ in range(40):
            middle = (low + high) / 2.0
            beyond = middle - log_times(parameters, middle) >= target
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high

    def _estimate(self, logarithm: Callable[[Floats], Floats]) -> Estimate:
        """Return exp of a function of the parameters, with its first-order error."""
        step = 1e-4
        value, *sides = logarithm(self.best[:, None] + step * np.hstack([np.zeros((4, 1)), np.eye(4), -np.eye(4)]))
        slope = (np.array(sides[:4]) - np.array(sides[4:])) / (2.0 * step)
        variance = float(slope @ self.covariance @ slope)  # rounding can make it negative without information
        error = min(NORMAL_95 * sqrt(variance), WIDEST) if variance >= 0.0 else WIDEST
        return Estimate.of_logarithm(value, error)


def log_times(parameters: Floats, u: Floats | float) -> Floats:
    """Return ln(time) at ln(work-items) *u*, with the *parameters* along the first axis."""
    flat, knee, exponent, share = parameters
    p = np.exp(exponent)
    hidden = -np.logaddexp(0.0, share)
    return np.asarray(flat + np.logaddexp(share + hidden, hidden + np.logaddexp(0.0, p * (u - knee)) / p))


def log_slopes(parameters: Floats, u: Floats) -> Floats:
    """Return the derivatives of ln(time) by the *parameters*, shape (4, n)."""
    _, knee, exponent, share = parameters
    p = np.exp(exponent)
    past = u - knee
    rise = np.logaddexp(0.0, p * past)
    beyond = np.exp(p * past - rise)
    hidden = np.exp(-np.logaddexp(0.0, share - rise / p))  # the share of the time that is latency or work
    added = np.exp(-np.logaddexp(0.0, -share))
    return np.array([np.ones_like(u), -hidden * beyond, hidden * (beyond * past - rise / p), 1.0 - hidden - added])


def fit_smooth_maximum(u: Floats, times: Floats, noise: Floats) -> SmoothMaximum | None:
    """Fit a smooth maximum to ln(time) by least squares, with errors from its residuals.

    ``None`` if the points are too few, or all on one side of the knee.
    """
    from scipy.optimize import leastsq

    if len(u) < FEWEST_POINTS:
        return None
    error = np.maximum(noise, LEAST_ERROR)
    by_usual = np.vstack([np.zeros((2, 2)), np.diag(1.0 / DOUBT)])

    def residuals(parameters: Floats) -> Floats:
        return np.concatenate([(log_times(parameters, u) - times) / error, (parameters[2:] - USUAL) / DOUBT])

    def jacobian(parameters: Floats) -> Floats:
        return np.hstack([log_slopes(parameters, u) / error, by_usual])

    def fitted(p: float) -> Floats:
        start = np.array([times[0], times[0] - times[-1] + u[-1], np.log(p), -2.0])
        # least_squares takes the same steps in twice the time. Steps may overflow; the covariance is not used.
        with np.errstate(over="ignore", invalid="ignore"):
            found = leastsq(residuals, start, Dfun=jacobian, col_deriv=True, full_output=True, **TOLERANCES)  # type: ignore[call-overload]
        return np.asarray(found[0])

    fits = [fit for fit in map(fitted, (1.5, 4.0)) if np.isfinite(fit).all()]
    if not fits:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # p may diverge without a knee
        costs = [float(np.nan_to_num(np.sum(residuals(fit) ** 2), nan=np.inf)) for fit in fits]
        best = fits[costs.index(min(costs))]
        slopes = jacobian(best)
        information = slopes @ slopes.T
    if not np.isfinite(information).all() or np.linalg.matrix_rank(information) < len(best):
        return None
    scale = float(np.mean(((log_times(best, u) - times) / error) ** 2)) * len(u) / (len(u) - 4.0)
    covariance = np.linalg.inv(information) * max(scale, LEAST_SCALE)
    return SmoothMaximum(u, times, error, best, np.asarray(covariance, dtype=np.float64))


def saturation(u: Floats, rates: Floats, noise: Floats) -> tuple[Estimate, float] | None:
    """Return n90: the fewest work-items with which the smooth curve has 90 % of its peak; and its slope there.

    The slope is that of ln(rate) over ln(work-items).
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
    return Estimate(*np.exp([value, value - error, last + error]).tolist()), float(slope)


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
    if means[np.argmax(means) :].min() > means.max() - cliffs.LEAST_DROP:
        return len(u)
    return int(np.flatnonzero(means >= means.max() - cliffs.FLATNESS)[-1]) + 1


def flattens(plateaus: tuple[cliffs.Plateau, ...]) -> bool:
    """Return whether the curve reaches a plateau: two points of equal rate, or a peak before a cliff."""
    return len(plateaus[0]) > 1 or len(plateaus) > 1


def taper(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[cliffs.Plateau, ...]) -> cliffs.Positions:
    """Find the taper of a curve, at its first plateau: the work-items at which throughput saturates.

    The smooth rate permanently reaches 90 % of its peak at ``n90``. It comes from a smooth curve through all points
    (:func:`saturation`), with few points from a monotone fit. The ``knee``, flat time x peak rate, comes from a smooth
    maximum fitted to the points up to the end of the first plateau, if they follow it.

    Returns:
        No ``knee`` without a flat part (the sweep starts too late). Nothing if the curve does not rise by more than
        10 % (and the noise), never flattens, or has 90 % of its peak with the fewest work-items already.
    """
    plateau = plateaus[0]
    if not flattens(plateaus) or u[plateau.stop - 1] <= u[0]:
        return {}
    error = np.maximum(noise, curve_noise(copies[0]))
    n90, _ = saturation(u, copies[0], error) or (None, None)
    if n90 and float(np.median(noise)) > NOISY:  # the peaks of noisy copies, and so their n90, scatter
        again = (saturation(u, rates, error) for rates in copies[1:SCATTERED])
        values = [n90.value, *(found.value for found, _ in filter(None, again))]
        n90 = Estimate(n90.value, min(n90.ends[0], *values), max(n90.ends[1], *values))
    whole = cliffs.Plateau(0, plateau.stop)
    u, copies, noise, error = whole.of(u), whole.of(copies), whole.of(noise), whole.of(error)
    weight = 1.0 / np.hypot(noise, cliffs.FLATNESS) ** 2
    level = cliffs.centre(cliffs.beside(u, plateau, end=True).of(copies), float(np.median(noise)))
    if level[0] - _rising(copies[:1], weight)[0, 0] < max(cliffs.LEAST_DROP, cliffs.SIGNIFICANCE * float(noise[0])):
        return {}
    if n90 is None:  # a rising curve, reversed, is a falling one
        middle, low, high = cliffs.crossing(
            -u[::-1], _rising(copies, weight)[:, ::-1], level + NINE_TENTHS, straight=True
        )
        spread = np.random.default_rng(len(copies)).uniform(size=len(copies))
        n90 = cliffs.summary(-middle, -(low + spread * (high - low)))
    if np.log(n90.value) <= u[0]:
        return {}
    times = u - copies
    knee = _flat_time_knee(u, times, weight, level, error)
    if knee and (shape := fit_smooth_maximum(u, times[0], error)) and shape.fits_at(u[0], cliffs.FLATNESS):
        knee = shape.knee()
    found: cliffs.Positions = {"knee": knee, "n90": n90} if knee else {"n90": n90}
    return found if len(copies) > 1 else {position: Estimate(each.value) for position, each in found.items()}


def _rising(z: Floats, weight: Floats) -> Floats:
    return -cliffs.falling_fit(-z, weight)


def _flat_time_knee(u: Floats, times: Floats, weight: Floats, level: Floats, error: Floats) -> Estimate | None:
    """Return flat time x peak rate in work-items; ``None`` if the time is flat for less than an octave.

    *times* are work-items / rate: the time of a dispatch divided by the work of a work-item, which cancels.
    """
    rising = _rising(times[:1], weight)[0]
    flat = rising <= rising[0] + FLAT_TIME + 2.0 * float(np.median(error))
    reach = u[np.flatnonzero(flat)[-1]]
    if reach - u[0] < OCTAVE - 1e-9:
        return None
    return cliffs.summary(np.median(times[:, flat], axis=1) + level)


def saturation_of_transfers(size: Floats, rates: Floats, noise: Floats) -> tuple[Estimate, Estimate | None]:
    """Return the plateau of a curve, the median rate of the largest transfers, and its n90.

    Rates may exceed the plateau before it, where caches of the host serve small transfers. *size*, ascending, is in
    bytes, *rates* are in bytes/s, *noise* are their relative standard errors, zeros for a predicted curve, without
    intervals; all have shape (n,). The n90 is the size in bytes from which on the rate is at least 90 % of the
    plateau; ``None`` if the smallest transfers reach it.
    """
    large = size > size[-1] * _LARGE
    level = float(np.median(np.log(rates[large])))
    error = NORMAL_95 * float(np.median(noise[large]))
    plateau = Estimate.of_logarithm(level, error)
    u, shares = np.log(size), np.log(rates) - level
    reached = np.flatnonzero(shares >= NINE_TENTHS)
    first = int(reached[0]) if len(reached) else 0
    if not first:
        return plateau, None
    slope = (shares[first] - shares[first - 1]) / (u[first] - u[first - 1])
    place = float(u[first - 1] + (NINE_TENTHS - shares[first - 1]) / slope)
    return plateau, Estimate.of_logarithm(place, NORMAL_95 * float(noise[first]) / max(float(slope), 0.1))
