"""Shape of a curve: a rise at the start, then plateaus, each lower than the previous one, and cliffs between them.

Dynamic programming finds the best among all divisions ("cuts") of a curve into a rise, plateaus, and ramps from plateau
to plateau. A plateau is a line with a small slope. A ramp may have any falling shape, so each of its points is a
parameter. An information criterion (Schwarz, Ann. Statist. 6, 1978) determines the number of plateaus. Then plateaus
are joined until each remaining step down is large, significant, and larger than the slope of its surroundings explains.
A cliff has an onset, a midpoint and an end. All values are natural logarithms: ``u`` of the size, ``z`` of the rate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.statistics import Estimate, Floats
from gpureport.records.curves import Position

_Indices = NDArray[np.intp]
Positions = dict[Position, Estimate]

TILT = 0.1
"""Largest slope of a plateau, d ln(rate) / d ln(size): 7 % per octave."""
MOST_PLATEAUS = 8
LEAST_SPAN = 0.4 * float(np.log(2.0))
"""Minimum length of a plateau between two cliffs: 0.4 octaves."""
FLATNESS = 0.02
"""Plateaus of real devices are flat to about 2 %, however small the noise."""
LEAST_DROP = float(np.log(1 / 0.9))
"""Smallest step that counts as a cliff: 10 %."""
SIGNIFICANCE = 4.5
"""Smallest step in standard errors. It is large because many positions are tried and the noise is an estimate."""
LONG_SPAN = float(np.log(2.0))
"""Plateaus of at least an octave are accepted; shorter ones must be evidently flat."""
NEAR_UPPER = float(np.log(0.95))
"""Onset: ln of rate / upper plateau."""
NEAR_LOWER = float(np.log(1.05))
"""End: ln of rate / slower plateau."""
EDGE = 0.07
"""Part of the range between two points, at either end, that cannot contain a crossing, because a fall has a width."""


@dataclass(frozen=True)
class Plateau:
    """Points *start* … *stop* - 1 of a curve."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def of(self, values: Floats) -> Floats:
        """Return the plateau's part of *values* (points along the last axis)."""
        return values[..., self.start : self.stop]


class Costs(NamedTuple):
    """Cost of each part of a cut: chi-square plus penalty."""

    lines: Floats
    """``lines[i, j]``: points i … j as one plateau, infinite for i > j."""
    ramp: Floats
    """``ramp[i]``: points 0 … i on a ramp: a parameter each, plus chi-square of upward steps."""
    rise: Floats
    """``rise[i]``: points 0 … i - 1 on the rise: a parameter each, plus chi-square of downward steps up to i."""
    penalty: float
    """Penalty of one more plateau."""

    def of(self, plateaus: Sequence[Plateau]) -> float:
        """Return the cost of a cut, without the part that is equal for all cuts with the same number of plateaus."""
        flat = sum(float(self.lines[p.start, p.stop - 1]) for p in plateaus)
        ramps = sum(float(self.ramp[b.start - 1] - self.ramp[a.stop - 1]) for a, b in pairwise(plateaus))
        return float(self.rise[plateaus[0].start]) + flat + ramps


def price(u: Floats, z: Floats, scale: Floats) -> Costs:
    """Return the costs of the parts of a curve with total standard errors *scale*."""
    per_point = float(np.log(max(len(u), 3)))
    step = np.diff(z, prepend=z[:1])
    variance = scale**2 + np.concatenate([scale[:1], scale[:-1]]) ** 2
    down = np.cumsum(np.maximum(-step, 0.0) ** 2 / variance)
    return Costs(
        lines=_line_costs(u, z, 1.0 / scale**2),
        ramp=np.cumsum(per_point + np.maximum(step, 0.0) ** 2 / variance),
        rise=np.where(np.arange(len(u)) > 0, per_point * np.arange(len(u)) + down, 0.0),
        penalty=2.0 * per_point,
    )


def _line_costs(u: Floats, z: Floats, weight: Floats) -> Floats:
    """Return the chi-square of points i … j about their best line of slope within ±TILT."""

    def sums(values: Floats) -> Floats:
        total = np.concatenate([[0.0], np.cumsum(weight * values)])
        return np.asarray(total[None, 1:] - total[:-1, None])

    u, z = u - u.mean(), z - z.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        w = sums(np.ones_like(u))
        uu = sums(u * u) - sums(u) ** 2 / w
        uz = sums(u * z) - sums(u) * sums(z) / w
        zz = sums(z * z) - sums(z) ** 2 / w
        slope = np.clip(np.where(uu > 0.0, uz / uu, 0.0), -TILT, TILT)
        cost = np.maximum(zz - 2.0 * slope * uz + slope**2 * uu, 0.0)
    return np.asarray(np.where(np.tri(len(u), k=-1, dtype=bool), np.inf, cost))


def _allowed(u: Floats, lines: Floats) -> tuple[Floats, Floats]:
    """Return the costs of a first and of a later plateau, infinite for plateaus that are too short.

    A first plateau may be a single point only after a rise. The last plateau may have two points.
    """
    index = np.arange(len(u))
    length = index[None, :] - index[:, None] + 1
    long = (length >= 3) & (u[None, :] - u[:, None] >= LEAST_SPAN)
    last = (index[None, :] == len(u) - 1) & (length >= 2)
    peak = (index[:, None] > 0) | (len(u) == 1)
    return np.where((length >= 2) | peak, lines, np.inf), np.where(long | last, lines, np.inf)


def cheapest_cut(u: Floats, costs: Costs) -> list[Plateau]:
    """Return the plateaus of the cut with the least chi-square plus penalty, by dynamic programming."""
    n, index = len(u), np.arange(len(u))
    first, later = _allowed(u, costs.lines)
    before, allowed = costs.rise, first
    best: list[Floats] = []
    starts: list[_Indices] = []
    ends: list[_Indices] = []
    for _ in range(min(MOST_PLATEAUS, n)):
        table = before[:, None] + costs.penalty + allowed
        starts.append(np.argmin(table, axis=0))
        best.append(table[starts[-1], index] - costs.ramp)
        # The best end of this plateau for every start of the next.
        lowest = np.minimum.accumulate(best[-1])
        ends.append(np.maximum.accumulate(np.where(best[-1] <= lowest, index, 0)))
        before, allowed = np.concatenate([[np.inf], lowest[:-1] + costs.ramp[:-1]]), later
    level = int(np.argmin([np.min(costs_of_level) for costs_of_level in best]))
    stop = int(np.argmin(best[level]))
    plateaus: list[Plateau] = []
    for k in range(level, -1, -1):
        start = int(starts[k][stop])
        plateaus.insert(0, Plateau(start, stop + 1))
        stop = int(ends[k - 1][start - 1]) if k else 0
    return plateaus


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
    plateaus = cheapest_cut(u, costs)
    while len(plateaus) > 1:  # remove the least significant step
        steps = [_step(u, z, noise, plateaus, k) for k in range(len(plateaus) - 1)]
        least = int(np.argmin([size - required for size, required in steps]))
        size, required = steps[least]
        if size >= required:
            break
        rising = least == 0 and size <= -LEAST_DROP
        plateaus = plateaus[1:] if rising else without_plateau(plateaus, least, costs)
    return tuple(plateaus)


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
