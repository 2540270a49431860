"""Tapers: the amount of parallel work, or the size of a transfer, at which throughput saturates."""

from dataclasses import replace

import numpy as np

from gpureport.observe.cliffs import Positions, crossing, falling_fit, summary
from gpureport.observe.cuts import Plateau
from gpureport.observe.saturation import NINE_TENTHS, saturation
from gpureport.observe.smooth_maximum import OCTAVE, fit_smooth_maximum
from gpureport.observe.staircase import FLATNESS, LEAST_DROP, SIGNIFICANCE, beside, centre
from gpureport.observe.statistics import Estimate, Floats, curve_noise
from gpureport.spec.uncertainty import NORMAL_95

NOISY = 0.03
"""Median noise of the points beyond which copies of a curve widen the interval of n90. With less, the fit is enough."""
SCATTERED = 25
"""Rows for that, the curve itself included: the range of 24 copies contains 92 % of further ones."""
FLAT_TIME = float(np.log(1.1))
"""Times up to 10 % (plus twice the noise) above the first belong to the flat part."""
_LARGE = 1 / 8
"""Transfers above this share of the largest belong to the plateau."""


def flattens(plateaus: tuple[Plateau, ...]) -> bool:
    """Return whether the curve reaches a plateau: two points of equal rate, or a peak before a cliff."""
    return len(plateaus[0]) > 1 or len(plateaus) > 1


def taper(u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]) -> Positions:
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
    saturates = saturation(u, copies[0], error)
    if saturates and float(np.median(noise)) > NOISY:
        saturates = replace(saturates, n90=_with_scatter(saturates.n90, u, copies[1:SCATTERED], error))
    whole = Plateau(0, plateau.stop)
    u, copies, noise, error = whole.of(u), whole.of(copies), whole.of(noise), whole.of(error)
    weight = 1.0 / np.hypot(noise, FLATNESS) ** 2
    level = centre(beside(u, plateau, end=True).of(copies), float(np.median(noise)))
    if level[0] - _rising(copies[:1], weight)[0, 0] < max(LEAST_DROP, SIGNIFICANCE * float(noise[0])):
        return {}
    n90 = saturates.n90 if saturates else _crossed_n90(u, copies, weight, level)
    if np.log(n90.value) <= u[0]:
        return {}
    times = u - copies
    knee = _flat_time_knee(u, times, weight, level, error)
    if knee and (shape := fit_smooth_maximum(u, times[0], error)) and shape.fits_at(u[0], FLATNESS):
        knee = shape.knee()
    found: Positions = {"knee": knee, "n90": n90} if knee else {"n90": n90}
    return found if len(copies) > 1 else {position: Estimate(each.value) for position, each in found.items()}


def _with_scatter(n90: Estimate, u: Floats, copies: Floats, error: Floats) -> Estimate:
    """Extend an interval to the n90 of *copies* of a noisy curve: their peaks, and so their n90, scatter."""
    found = [again.n90.value for rates in copies if (again := saturation(u, rates, error))]
    return Estimate(n90.value, min(n90.ends[0], *found, n90.value), max(n90.ends[1], *found, n90.value))


def _rising(z: Floats, weight: Floats) -> Floats:
    return -falling_fit(-z, weight)


def _crossed_n90(u: Floats, copies: Floats, weight: Floats, level: Floats) -> Estimate:
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
