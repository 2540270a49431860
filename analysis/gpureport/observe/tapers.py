"""Tapers: how much parallel work fills a device."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.cliffs import summary
from gpureport.observe.crossings import crossing, falling_fit
from gpureport.observe.cuts import Plateau
from gpureport.observe.staircase import FLATNESS, LEAST_DROP, SIGNIFICANCE, centre
from gpureport.observe.statistics import Estimate

Floats = NDArray[np.float64]

NINE_TENTHS = float(np.log(0.9))
"""n90: ln of the share of the plateau."""
FLAT_TIME = float(np.log(1.1))
"""Times up to 10 % (and twice the noise) above the first belong to the flat part."""


@dataclass(frozen=True)
class Taper:
    """How many work-items fill the device.

    Attributes:
        knee: flat time x peak rate; ``None`` if the time is nowhere flat (the sweep starts too late).
        n90: where 90 % of the plateau is reached for good.
    """

    knee: Estimate | None
    n90: Estimate


def flattens(plateaus: tuple[Plateau, ...]) -> bool:
    """Say whether the curve reaches a plateau: two points of equal rate, or a peak before a cliff."""
    return len(plateaus[0]) > 1 or len(plateaus) > 1


def taper(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]) -> Taper | None:
    """Find the taper of a curve, at the first plateau that it reaches.

    Args:
        u: ln(work-items), never falling, shape (n,).
        copies: ln(rate), the curve in row 0 and its replicates below, shape (rows, n).
        noise: standard errors, shape (n,).
        plateaus: of the curve; the first one counts.

    Returns:
        ``None`` if the curve does not rise by more than 10 % (and the noise), or never flattens.
    """
    plateau = plateaus[0]
    if not flattens(plateaus) or u[plateau.stop - 1] <= u[0]:
        return None
    whole = Plateau(0, plateau.stop)
    level = centre(plateau.of(copies), float(np.median(noise)))
    weight = 1.0 / np.hypot(whole.of(noise), FLATNESS) ** 2
    # A rising curve is a falling one, read from the right.
    fit = falling_fit(whole.of(copies)[:, ::-1], weight[::-1])
    if level[0] - fit[0, -1] < max(LEAST_DROP, SIGNIFICANCE * float(noise[0])):
        return None
    values, low, high = crossing(-whole.of(u)[::-1], fit, level + NINE_TENTHS, straight=True)
    spread = np.random.default_rng(len(copies)).uniform(size=len(copies))
    n90 = summary(-values, -(low + spread * (high - low)))
    tolerance = FLAT_TIME + 2.0 * float(np.median(noise))
    return Taper(_knee(whole.of(u), whole.of(copies), weight, level, tolerance), n90)


def _knee(u: Floats, rates: Floats, weight: Floats, level: Floats, tolerance: float) -> Estimate | None:
    """Return flat time x peak rate in work-items.

    Work-items / rate is the time of one pass, up to the work of a work-item, which cancels.
    """
    times = u - rates
    rising = -falling_fit(-times, weight)
    flat = rising <= rising[:, :1] + tolerance
    reach = int(np.flatnonzero(flat[0])[-1])
    if u[reach] - u[0] < np.log(2.0) - 1e-9:
        return None
    medians = np.array([np.median(row[mask]) for row, mask in zip(times, flat, strict=True)])
    return summary(medians + level)
