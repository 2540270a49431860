"""Cliffs: onset, midpoint and end of each fall from plateau to plateau, and the values of the plateaus."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.crossings import crossing, falling_fit
from gpureport.observe.cuts import Plateau
from gpureport.observe.staircase import FLATNESS, beside, centre
from gpureport.observe.statistics import Estimate

Floats = NDArray[np.float64]

NEAR_UPPER = float(np.log(0.95))
"""Onset: ln of rate / upper plateau."""
NEAR_LOWER = float(np.log(1.05))
"""End: ln of rate / lower plateau."""
EDGE = 0.07
"""Part of the range between two points, at either end, that cannot contain a crossing, because a fall has a width."""


@dataclass(frozen=True)
class Cliff:
    """Positions of one cliff, in bytes (or the unit of the size)."""

    onset: Estimate
    midpoint: Estimate
    end: Estimate


def replicated(z: Floats, noise: Floats, replicates: int, seed: int = 0) -> Floats:
    """Return the curve (row 0) and *replicates* copies with fresh Gaussian noise: a parametric bootstrap.

    Args:
        z: ln(rate), shape (n,).
        noise: standard error of each, shape (n,).
        replicates: number of copies; 0 for a curve without noise.
        seed: of the generator; a fixed seed makes reports reproducible.
    """
    fresh = np.random.default_rng(seed).standard_normal((replicates, len(z)))
    return np.concatenate([z[None, :], z + noise * fresh])


def cliffs(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]) -> tuple[Cliff, ...]:
    """Locate the cliffs between plateaus.

    Args:
        u: ln(size), ascending, shape (n,).
        copies: ln(rate), the curve in row 0 and its replicates below, shape (rows, n).
        noise: standard errors, shape (n,).
        plateaus: of the curve.
    """
    return tuple(_cliff(u, copies, noise, upper, lower) for upper, lower in pairwise(plateaus))


def levels(copies: Floats, noise: Floats, plateaus: Iterable[Plateau]) -> tuple[Estimate, ...]:
    """Return the rate of every plateau (or part of one), arguments as for :func:`cliffs`.

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


def _cliff(u: Floats, copies: Floats, noise: Floats, upper: Plateau, lower: Plateau) -> Cliff:
    """Locate one cliff by crossings of a monotone fit between the two plateaus."""
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
    return Cliff(
        onset=summary(onset, onsets),
        midpoint=summary(np.clip(midpoint, onset, np.maximum(onset, end)), midpoints),
        end=summary(np.maximum(onset, end), ends),
    )
