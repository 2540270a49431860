"""Shape of a curve: a rise at the start, then plateaus, each lower than the previous one.

Starts from the best cut by an information criterion (:mod:`gpureport.observe.cuts`) and joins plateaus until each
remaining step down is large, significant, and larger than the slope of its surroundings explains.
"""

from collections.abc import Sequence

import numpy as np

from gpureport.observe.cuts import Costs, Plateau, cheapest_cut, price
from gpureport.observe.statistics import Floats

FLATNESS = 0.02
"""Plateaus of real devices are flat to about 2 %, however small the noise."""
LEAST_DROP = float(np.log(1 / 0.9))
"""Smallest step that counts as a cliff: 10 %."""
SIGNIFICANCE = 4.5
"""Smallest step in standard errors. It is large because many positions are tried and the noise is an estimate."""
LONG_SPAN = float(np.log(2.0))
"""Plateaus of at least an octave are accepted; shorter ones must be evidently flat."""


def centre(z: Floats, noise: float) -> Floats:
    """Return a robust mean along the last axis: the mean of the values within twice the *noise* of the median.

    With little noise this is the median, which the rounded ends of a plateau do not bias. With much noise it is nearly
    as efficient as the mean.
    """
    median = np.median(z, axis=-1, keepdims=True)
    apart = np.abs(z - median)  # two values are equally far from their median, but for rounding
    near = apart <= np.maximum(2.0 * noise, np.min(apart, axis=-1, keepdims=True)) + 1e-12
    return np.asarray(np.sum(z, axis=-1, where=near) / np.sum(near, axis=-1))


def beside(u: Floats, plateau: Plateau, *, end: bool) -> Plateau:
    """Return the two octaves (at least five points) of a plateau next to its right or left end."""
    reach = 2.0 * np.log(2.0)
    if end:
        first = int(np.searchsorted(u, u[plateau.stop - 1] - reach - 1e-9))
        return Plateau(max(plateau.start, min(first, plateau.stop - 5)), plateau.stop)
    last = int(np.searchsorted(u, u[plateau.start] + reach + 1e-9))
    return Plateau(plateau.start, min(plateau.stop, max(last, plateau.start + 5)))


def staircase(u: Floats, z: Floats, noise: Floats) -> tuple[Plateau, ...]:
    """Find the plateaus of a curve.

    Returns:
        At least one plateau, from left to right, each significantly lower than the previous one, by at least 10 %.
        Points before the first plateau rise. Points after the last one fall, or are outliers.
    """
    costs = price(u, z, np.hypot(noise, FLATNESS))
    return tuple(_significant(u, z, noise, costs, cheapest_cut(u, costs)))


def _significant(u: Floats, z: Floats, noise: Floats, costs: Costs, plateaus: list[Plateau]) -> list[Plateau]:
    """Remove steps, the least significant first, until every step down is large and significant."""
    while len(plateaus) > 1:
        steps = [_step(u, z, noise, plateaus, k) for k in range(len(plateaus) - 1)]
        least = int(np.argmin([size - required for size, required in steps]))
        size, required = steps[least]
        if size >= required:
            break
        rising = least == 0 and size <= -LEAST_DROP
        plateaus = plateaus[1:] if rising else without_plateau(plateaus, least, costs)
    return plateaus


def without_plateau(plateaus: list[Plateau], step: int, costs: Costs) -> list[Plateau]:
    """Remove one step: join its two plateaus, or assign one of them to the ramps if that fits far better."""
    upper, lower = plateaus[step], plateaus[step + 1]
    joined = [*plateaus[:step], Plateau(upper.start, lower.stop), *plateaus[step + 2 :]]
    drops = [plateaus[:i] + plateaus[i + 1 :] for i in (step, step + 1) if 0 < i < len(plateaus) - 1]
    better = min(drops, key=costs.of, default=joined)
    return better if costs.of(joined) > costs.of(better) + 2.0 * costs.penalty else joined


def _step(u: Floats, z: Floats, noise: Floats, plateaus: Sequence[Plateau], step: int) -> tuple[float, float]:
    """Return the size of a step down and the size that it needs to count, both in ln(rate).

    A slope through both plateaus is no step: the slopes may explain at most half of it. A long plateau counts as flat
    unless its slope is evident. A short one between two cliffs may be part of a ramp and must be evidently flat.
    """
    upper, lower = plateaus[step : step + 2]
    edge = (u[upper.stop - 1] + u[lower.start]) / 2.0
    parts = beside(u, upper, end=True), beside(u, lower, end=False)
    levels, errors, explained, doubts = zip(*(_end(u, z, noise, part, edge) for part in parts), strict=True)
    doubt = 0.0
    for plateau, own in zip((upper, lower), doubts, strict=True):
        inner = plateau not in (plateaus[0], plateaus[-1])
        short = u[plateau.stop - 1] - u[plateau.start] < LONG_SPAN
        doubt += own if inner and short else -own
    required = max(LEAST_DROP, SIGNIFICANCE * float(np.hypot(*errors)), 2.0 * (sum(explained) + doubt))
    return levels[0] - levels[1], required


def _end(u: Floats, z: Floats, noise: Floats, part: Plateau, edge: float) -> tuple[float, float, float, float]:
    """Return a plateau's level beside a step and its error, the part of the step that its slope explains, its error."""
    lever = part.of(u) - part.of(u).mean()
    level = float(centre(part.of(z), float(np.median(noise))))
    grip = max(float(np.sum(lever**2)), 1e-12)
    slope = float(np.sum(lever * part.of(z))) / grip
    line = slope * lever if len(part) > 2 else 0.0  # a line through two points leaves no scatter
    scatter = float(np.sqrt(np.mean((part.of(z) - level - line) ** 2)))
    error = max(scatter, float(np.sqrt(np.mean(part.of(noise) ** 2))))
    arm = abs(edge - float(part.of(u).mean()))
    return level, error / len(part) ** 0.5, max(-slope, 0.0) * arm, error * arm / grip**0.5
