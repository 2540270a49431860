"""Cliffs: onset, midpoint and end of each fall from plateau to plateau, and the values of the plateaus."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from gpureport.observe.cuts import Plateau
from gpureport.observe.staircase import FLATNESS, beside, centre
from gpureport.observe.statistics import Estimate, Floats
from gpureport.records.curves import Position

Positions = dict[Position, Estimate]

NEAR_UPPER = float(np.log(0.95))
"""Onset: ln of rate / upper plateau."""
NEAR_LOWER = float(np.log(1.05))
"""End: ln of rate / lower plateau."""
EDGE = 0.07
"""Part of the range between two points, at either end, that cannot contain a crossing, because a fall has a width."""


def falling_fit(z: Floats, weight: Floats) -> Floats:
    """Return the isotonic (never rising) least-squares fit of each row of *z*, with the weights of its columns."""
    from scipy.optimize import isotonic_regression

    return np.array([isotonic_regression(row, weights=weight, increasing=False).x for row in z])


def crossing(u: Floats, fit: Floats, target: Floats, *, straight: bool) -> tuple[Floats, Floats, Floats]:
    """Return the position at which each row falls to its target, and the range of possible positions.

    Between two points a monotone curve may run anywhere between its chord and the extensions of the neighbouring
    segments. This range is narrow for a well resolved fall, and the whole distance of the points for a sharp one.

    *u*, never falling, has shape (n,), *fit*, never rising, (rows, n), *target* (rows,). *straight*: estimate by the
    chord (at an inflection point) instead of the middle of the range (at a bend).

    Returns:
        Estimate, lower and upper end of the range, each of shape (rows,).
    """
    row = np.arange(len(fit))
    j = np.clip(np.argmax(fit <= target[:, None], axis=1), 1, len(u) - 1)
    reached = fit[:, -1] <= target
    j = np.where(reached, j, len(u) - 1)
    above, below = fit[row, j - 1], fit[row, j]
    slopes = np.diff(fit, axis=1) / np.maximum(np.diff(u), 1e-12)
    slopes = np.minimum(np.pad(slopes, ((0, 0), (1, 1))), -1e-12)
    a, b = u[j - 1], u[j]
    chord = np.clip(a + (above - target) / np.maximum(above - below, 1e-12) * (b - a), a, b)
    left = np.clip(a + (target - above) / slopes[row, j - 1], a, b)
    right = np.clip(b + (target - below) / slopes[row, j + 1], a, b)
    ends = np.sort([left, right], axis=0)
    low = np.where(ends[0] >= chord, chord, ends[0])
    high = np.where(ends[1] <= chord, chord, ends[1])
    nearer = np.where(ends[0] >= chord, ends[0], np.where(ends[1] <= chord, ends[1], low + high - chord))
    return (chord if straight else (chord + nearer) / 2.0), low, high


def replicated(z: Floats, noise: Floats, replicates: int, seed: int = 0) -> Floats:
    """Return the curve (row 0) and copies with Gaussian noise: a parametric bootstrap, reproducible by its *seed*."""
    fresh = np.random.default_rng(seed).standard_normal((replicates, len(z)))
    return np.concatenate([z[None, :], z + noise * fresh])


def cliffs(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]) -> tuple[Positions, ...]:
    """Return onset, midpoint and end of each cliff between *plateaus*, in bytes (or the unit of the size)."""
    return tuple(_cliff(u, copies, noise, upper, lower) for upper, lower in pairwise(plateaus))


def levels(copies: Floats, noise: Floats, plateaus: Iterable[Plateau]) -> tuple[Estimate, ...]:
    """Return the rate of every plateau (or part of one).

    No plateau is perfectly flat, so its points are a sample, too. The interval is the wider one of two: from the noise
    of the points, or from resampling the points.
    """
    typical = float(np.median(noise))
    rng = np.random.default_rng(len(copies))
    found = []
    for plateau in plateaus:
        rates = plateau.of(copies)
        drawn = rates[0][rng.integers(0, len(plateau), size=(len(copies) - 1, len(plateau)))]
        noisy = summary(centre(rates, typical))
        scattered = summary(centre(np.concatenate([rates[:1], drawn]), typical))
        found.append(noisy if scattered.width < noisy.width else scattered)
    return tuple(found)


def summary(values: Floats, draws: Floats | None = None) -> Estimate:
    """Return exp of row 0, with the central 95 % of the replicates (or of *draws* in their place)."""
    value = float(np.exp(values[0]))
    draws = values[1:] if draws is None else draws[1:]
    if not len(draws):
        return Estimate(value)
    low, high = np.exp(np.quantile(draws, (0.025, 0.975)))
    return Estimate(value, min(value, float(low)), max(value, float(high)))


def _cliff(u: Floats, copies: Floats, noise: Floats, upper: Plateau, lower: Plateau) -> Positions:
    before, after = beside(u, upper, end=True), beside(u, lower, end=False)
    typical = float(np.median(noise))
    top, bottom = centre(before.of(copies), typical), centre(after.of(copies), typical)
    zone = Plateau(before.start, after.stop)
    fit = falling_fit(zone.of(copies), 1.0 / np.hypot(zone.of(noise), FLATNESS) ** 2)
    spread = np.random.default_rng(len(copies)).uniform(EDGE, 1.0 - EDGE, size=len(copies))

    def position(target: Floats, *, straight: bool) -> tuple[Floats, Floats]:
        values, low, high = crossing(zone.of(u), fit, target, straight=straight)
        return values, low + spread * (high - low)

    onset, onsets = position(top + NEAR_UPPER, straight=False)
    midpoint, midpoints = position((top + bottom) / 2.0, straight=True)
    end, ends = position(bottom + NEAR_LOWER, straight=False)
    return {
        "onset": summary(onset, onsets),
        "midpoint": summary(np.clip(midpoint, onset, np.maximum(onset, end)), midpoints),
        "end": summary(np.maximum(onset, end), ends),
    }
