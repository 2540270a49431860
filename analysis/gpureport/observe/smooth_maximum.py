"""The smooth maximum at a taper: a constant time that turns into a time proportional to the work.

T(n) = T0 (s + (1 - s) (1 + (n / k)^p)^(1/p)): a share s of the constant time (launch cost) adds to the work. The rest
(latency) overlaps with it, as a smooth maximum with exponent p. The prediction has the same shape; here all four
parameters are fitted to the curve.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from gpureport.observe.statistics import Estimate, Floats
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


@dataclass(frozen=True)
class SmoothMaximum:
    """A fitted smooth maximum. Its plateau is its rate at the last point.

    Attributes:
        u: ln(work-items) of the points, never falling, shape (n,).
        times: their ln(time), shape (n,).
        noise: standard errors of these, shape (n,).
        best: ln T0, ln k, ln p, logit s; shape (4,).
        covariance: of these, shape (4, 4).
    """

    u: Floats
    times: Floats
    noise: Floats
    best: Floats
    covariance: Floats

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
