"""Tapers: the amount of parallel work at which throughput saturates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.cliffs import summary
from gpureport.observe.crossings import crossing, falling_fit
from gpureport.observe.cuts import Plateau
from gpureport.observe.smooth_maximum import OCTAVE, SmoothMaximum, fit_smooth_maximum
from gpureport.observe.staircase import FLATNESS, LEAST_DROP, SIGNIFICANCE, beside, centre
from gpureport.observe.statistics import Estimate, curve_noise

Floats = NDArray[np.float64]

NINE_TENTHS = float(np.log(0.9))
"""n90: ln of the share of the plateau."""
FLAT_TIME = float(np.log(1.1))
"""Times up to 10 % (plus twice the noise) above the first belong to the flat part."""
WIDE = 1.5
"""If the interval of n90 (upper end / lower end) is wider, a fit to the points near n90 and beyond is tried as well."""


@dataclass(frozen=True)
class Taper:
    """The work-items at which throughput saturates.

    Attributes:
        knee: flat time x peak rate; ``None`` without a flat part (the sweep starts too late).
        n90: where the rate permanently reaches 90 % of the plateau.
    """

    knee: Estimate | None
    n90: Estimate


def flattens(plateaus: tuple[Plateau, ...]) -> bool:
    """Return whether the curve reaches a plateau: two points of equal rate, or a peak before a cliff."""
    return len(plateaus[0]) > 1 or len(plateaus) > 1


def taper(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]) -> Taper | None:
    """Find the taper of a curve, at its first plateau.

    Both positions come from a smooth maximum fitted to all points. If that is uncertain, for instance because a cliff
    comes before n90, a fit to the points near n90 and beyond may replace it. If neither fits at n90, or points are few,
    a monotone fit gives n90.

    Args:
        u: ln(work-items), never falling, shape (n,).
        copies: ln(rate), the curve in row 0 and its replicates below, shape (rows, n).
        noise: standard errors, shape (n,).
        plateaus: of the curve; only the first one is used.

    Returns:
        ``None`` if the curve does not rise by more than 10 % (and the noise), or never flattens.
    """
    plateau = plateaus[0]
    if not flattens(plateaus) or u[plateau.stop - 1] <= u[0]:
        return None
    whole = Plateau(0, plateau.stop)
    u, copies, noise = whole.of(u), whole.of(copies), whole.of(noise)
    weight = 1.0 / np.hypot(noise, FLATNESS) ** 2
    level = centre(beside(u, plateau, end=True).of(copies), float(np.median(noise)))
    if level[0] - _rising(copies[:1], weight)[0, 0] < max(LEAST_DROP, SIGNIFICANCE * float(noise[0])):
        return None
    times, error = u - copies, np.maximum(noise, curve_noise(copies[0]))
    knee, n90 = _flat_time_knee(u, times, weight, level, error), _crossed_n90(u, copies, weight, level)
    shape = fit_smooth_maximum(u, times[0], error)
    fitted = _fitted_n90(shape)
    if fitted is None or fitted.width > WIDE:
        beyond = u >= np.log(n90.value) - OCTAVE
        local = _fitted_n90(fit_smooth_maximum(u[beyond], times[0][beyond], error[beyond]))
        if local and (fitted is None or local.width < fitted.width / WIDE):
            fitted = local
    n90 = fitted or n90
    if knee and shape and shape.fits_at(u[0], FLATNESS):
        knee = shape.knee()
    if len(copies) > 1:
        return Taper(knee, n90)
    return Taper(knee and Estimate(knee.value), Estimate(n90.value))


def _fitted_n90(shape: SmoothMaximum | None) -> Estimate | None:
    """Return n90 of a fit if the points follow it there."""
    found = shape.n90() if shape else None
    return found if shape and found and shape.fits_at(float(np.log(found.value)), FLATNESS) else None


def _rising(z: Floats, weight: Floats) -> Floats:
    """Return the isotonic (never falling) fit of each row."""
    return -falling_fit(-z, weight)


def _crossed_n90(u: Floats, copies: Floats, weight: Floats, level: Floats) -> Estimate:
    """Return where a monotone fit reaches 90 % of the level."""
    # A rising curve, reversed, is a falling one.
    values, low, high = crossing(-u[::-1], _rising(copies, weight)[:, ::-1], level + NINE_TENTHS, straight=True)
    spread = np.random.default_rng(len(copies)).uniform(size=len(copies))
    return summary(-values, -(low + spread * (high - low)))


def _flat_time_knee(u: Floats, times: Floats, weight: Floats, level: Floats, error: Floats) -> Estimate | None:
    """Return flat time x peak rate in work-items; ``None`` if the time is flat for less than an octave.

    *times* are work-items / rate: the time of a dispatch divided by the work of a work-item, which cancels.
    """
    rising = _rising(times[:1], weight)[0]
    flat = rising <= rising[0] + FLAT_TIME + 2.0 * float(np.median(error))
    reach = u[np.flatnonzero(flat)[-1]]
    if reach - u[0] < OCTAVE - 1e-9:
        return None
    return summary(np.median(times[:, flat], axis=1) + level)
