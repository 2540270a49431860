"""The corner of a taper: a constant time that goes over into one in proportion to the work.

T(n) = T0 (s + (1 - s) (1 + (n / k)^p)^(1/p)): a share s of the constant time (launch cost) adds to the work, the
rest (latency) hides behind it with a soft corner of exponent p. The same shape as the prediction's, but all four
numbers are the curve's own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.statistics import NORMAL_95, Estimate

Floats = NDArray[np.float64]

FEWEST_POINTS = 8
"""Twice the parameters."""
USUAL = np.array([np.log(3.0), -4.0])
"""ln p and the logit of s where the points cannot tell: a corner of p = 3, mostly hidden."""
DOUBT = np.array([0.6, 2.5])
"""Standard deviations of these."""
LEAST_ERROR = 1e-3
"""Standard error of a point of a curve without noise."""
LEAST_SCALE = 0.1
"""Variance of the residuals, in terms of what the noise makes expect, that is believed without more points."""
WIDEST = float(np.log(1e6))
"""Half-width of an interval that says nothing."""
OCTAVE = float(np.log(2.0))


@dataclass(frozen=True)
class Corner:
    """A fitted corner. Its plateau is its rate at the last point.

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
        """Return the work-items at which nine tenths of the plateau's rate are reached."""
        return self._estimate(self._n90)

    def has(self, where: float, tolerance: float) -> bool:
        """Say whether the points have the fit's shape at ln(work-items) *where*, against its plateau.

        Compared are means over an octave, in ln(rate); besides *tolerance*, they may differ by twice their error.
        """
        away = self.times - _times(self.best, self.u)
        near, end = (np.abs(self.u - place) <= OCTAVE for place in (where, self.u[-1]))
        if where < self.u[0] or not np.any(near):
            return False
        error = float(np.median(self.noise)) * np.sqrt(1.0 / np.sum(near) + 1.0 / np.sum(end))
        return bool(abs(np.mean(away[near]) - np.mean(away[end])) <= tolerance + 2.0 * error)

    def _plateau(self, parameters: Floats) -> Floats:
        return np.asarray(self.u[-1] - _times(parameters, self.u[-1]))

    def _n90(self, parameters: Floats) -> Floats:
        """Return ln n90 by bisection; *parameters* of shape (4, columns)."""
        target = np.log(0.9) + self._plateau(parameters)
        low, high = target + parameters[0] - 1.0, np.full(len(target), self.u[-1])
        for _ in range(40):
            middle = (low + high) / 2.0
            beyond = middle - _times(parameters, middle) >= target
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high

    def _estimate(self, logarithm: Callable[[Floats], Floats]) -> Estimate:
        """Return exp of a function of the parameters, with its error to first order."""
        step = 1e-4
        value, *sides = logarithm(self.best[:, None] + step * np.hstack([np.zeros((4, 1)), np.eye(4), -np.eye(4)]))
        slope = (np.array(sides[:4]) - np.array(sides[4:])) / (2.0 * step)
        variance = float(slope @ self.covariance @ slope)  # rounding makes it negative where nothing is known
        error = min(NORMAL_95 * sqrt(variance), WIDEST) if variance >= 0.0 else WIDEST
        return Estimate(*np.exp([value, value - error, value + error]).tolist())


def _times(parameters: Floats, u: Floats | float) -> Floats:
    """Return ln(time) at ln(work-items) *u*; *parameters* along the first axis."""
    flat, knee, exponent, share = parameters
    p = np.exp(exponent)
    hidden = -np.logaddexp(0.0, share)
    return np.asarray(flat + np.logaddexp(share + hidden, hidden + np.logaddexp(0.0, p * (u - knee)) / p))


def corner(u: Floats, times: Floats, noise: Floats) -> Corner | None:
    """Fit a corner by least squares; its errors are those that its own residuals show.

    Args:
        u: ln(work-items), never falling, shape (n,).
        times: ln(time), shape (n,).
        noise: standard errors, shape (n,).

    Returns:
        ``None`` if the points are too few.
    """
    from scipy.optimize import least_squares

    if len(u) < FEWEST_POINTS:
        return None
    error = np.maximum(noise, LEAST_ERROR)

    def residuals(parameters: Floats) -> Floats:
        return np.hstack([(_times(parameters, u) - times) / error, (parameters[2:] - USUAL) / DOUBT])

    knee = times[0] - times[-1] + u[-1]
    starts = ([times[0], knee, np.log(p), -2.0] for p in (1.5, 4.0))
    fit = min((least_squares(residuals, x, method="lm") for x in starts), key=lambda fit: float(fit.cost))
    best, jacobian = np.asarray(fit.x), np.asarray(fit.jac)
    scale = float(np.mean(((_times(best, u) - times) / error) ** 2)) * len(u) / (len(u) - 4.0)
    return Corner(u, times, error, best, _inverse(jacobian.T @ jacobian) * max(scale, LEAST_SCALE))


def _inverse(normal: Floats) -> Floats:
    """Return a covariance; one as wide as can be written of a parameter that the points do not depend on."""
    try:
        return np.asarray(np.linalg.inv(normal))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.inv(normal + 1e-12 * np.trace(normal) * np.eye(len(normal))))
