"""Plateaus of a curve and what lies between them: a rise at the start, then a staircase that goes down.

The curve is cut, by dynamic programming over all cuts at once, into a rise, plateaus, and ramps from plateau
to plateau. A plateau is a line of little slope; a ramp may have any falling shape, so each of its points is a
parameter; an information criterion (Schwarz, Ann. Statist. 6, 1978) decides how many plateaus there are.
Everything is in natural logarithms: ``u`` of the size, ``z`` of the rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLATNESS = 0.02
"""Plateaus of real devices are flat to about 2 %, however small the noise."""
TILT = 0.1
"""Steepest plateau, d ln(rate) / d ln(size): 7 % an octave."""
LEAST_DROP = float(np.log(1 / 0.9))
"""Smallest step that counts as a cliff: 10 %."""
SIGNIFICANCE = 4.0
"""Smallest step in standard errors: about one false step in 10,000 comparisons of Gaussian noise."""
MOST_PLATEAUS = 8
LEAST_SPAN = 0.4 * float(np.log(2.0))
"""A plateau between two cliffs is at least 0.4 octaves long."""


@dataclass(frozen=True)
class Plateau:
    """Points *start* … *stop* - 1 of a curve."""

    start: int
    stop: int

    def __len__(self) -> int:
        """Return the number of points."""
        return self.stop - self.start

    def of(self, values: Floats) -> Floats:
        """Return the plateau's part of *values* (points along the last axis)."""
        return values[..., self.start : self.stop]


@dataclass(frozen=True)
class Staircase:
    """A curve's shape.

    Attributes:
        rise: number of points before the first plateau.
        plateaus: from left to right, each lower than the one before it.
        points: number of points of the curve; those behind the last plateau fall (or stray) still.
    """

    rise: int
    plateaus: tuple[Plateau, ...]
    points: int


def centre(z: Floats, noise: float) -> Floats:
    """Return a robust mean along the last axis: the mean of what lies within two *noise* of the median.

    With little noise this is the median, which the rounded corners of a plateau do not bias; with much noise
    it has nearly the efficiency of the mean.
    """
    median = np.median(z, axis=-1, keepdims=True)
    near = np.abs(z - median) <= 2.0 * noise + 1e-12
    near |= np.abs(z - median) == np.min(np.abs(z - median), axis=-1, keepdims=True)
    return np.asarray(np.sum(z, axis=-1, where=near) / np.sum(near, axis=-1))


def beside(u: Floats, plateau: Plateau, *, end: bool) -> Plateau:
    """Return the two octaves (five points at least) of a plateau that lie beside its right or left end."""
    reach = 2.0 * np.log(2.0)
    if end:
        first = int(np.searchsorted(u, u[plateau.stop - 1] - reach - 1e-9))
        return Plateau(max(plateau.start, min(first, plateau.stop - 5)), plateau.stop)
    last = int(np.searchsorted(u, u[plateau.start] + reach + 1e-9))
    return Plateau(plateau.start, min(plateau.stop, max(last, plateau.start + 5)))


def staircase(u: Floats, z: Floats, noise: Floats) -> Staircase:
    """Find the plateaus of a curve.

    Args:
        u: ln(size), ascending, shape (n,), n >= 1.
        z: ln(rate), shape (n,).
        noise: standard error of each ``z``, shape (n,); zeros for a curve without noise.

    Returns:
        The shape; plateaus that differ by less than 10 %, or by less than the noise allows to tell, are one.
    """
    costs = _costs(u, z, np.hypot(noise, FLATNESS))
    plateaus = _significant(u, z, noise, costs, _cheapest_cut(u, costs))
    return Staircase(plateaus[0].start, tuple(plateaus), len(u))


@dataclass(frozen=True)
class _Costs:
    """What each part of a cut costs: chi-square plus penalty.

    Attributes:
        lines: ``lines[i, j]``: points i … j as one plateau, infinite for i > j.
        ramp: ``ramp[i]``: points 0 … i on a ramp: a parameter each, and whatever goes up.
        rise: ``rise[i]``: points 0 … i - 1 on the rise: a parameter each, and whatever goes down, point i included.
        penalty: of one more plateau.
    """

    lines: Floats
    ramp: Floats
    rise: Floats
    penalty: float

    def between(self, upper: Plateau, lower: Plateau) -> float:
        """Return the cost of the ramp from one plateau to the next."""
        return float(self.ramp[lower.start - 1] - self.ramp[upper.stop - 1])

    def of(self, plateaus: Sequence[Plateau]) -> float:
        """Return the cost of a cut, but for what all cuts of as many plateaus share."""
        flat = sum(float(self.lines[p.start, p.stop - 1]) for p in plateaus)
        ramps = sum(self.between(a, b) for a, b in pairwise(plateaus))
        return float(self.rise[plateaus[0].start]) + flat + ramps


def _costs(u: Floats, z: Floats, scale: Floats) -> _Costs:
    """Price the parts of a curve with total standard errors *scale*."""
    per_point = float(np.log(max(len(u), 3)))
    step = np.diff(z, prepend=z[:1])
    variance = scale**2 + np.concatenate([scale[:1], scale[:-1]]) ** 2
    down = np.cumsum(np.maximum(-step, 0.0) ** 2 / variance)
    return _Costs(
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
    """Return the costs of a first and of a later plateau, infinite where it would be too short.

    A first plateau may be a single point only as the peak of a rise; the last may have two points.
    """
    index = np.arange(len(u))
    length = index[None, :] - index[:, None] + 1
    long = (length >= 3) & (u[None, :] - u[:, None] >= LEAST_SPAN)
    last = (index[None, :] == len(u) - 1) & (length >= 2)
    peak = (index[:, None] > 0) | (len(u) == 1)
    return np.where((length >= 2) | peak, lines, np.inf), np.where(long | last, lines, np.inf)


def _cheapest_cut(u: Floats, costs: _Costs) -> list[Plateau]:
    """Return the plateaus of the cut with the least chi-square plus penalty, by dynamic programming."""
    n, index = len(u), np.arange(len(u))
    first, later = _allowed(u, costs.lines)
    before, allowed = costs.rise, first
    best: list[Floats] = []
    starts: list[NDArray[np.intp]] = []
    ends: list[NDArray[np.intp]] = []
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


def _significant(u: Floats, z: Floats, noise: Floats, costs: _Costs, plateaus: list[Plateau]) -> list[Plateau]:
    """Undo steps, the least first, until every step down is large and significant."""
    while len(plateaus) > 1:
        steps = [_step(u, z, noise, upper, lower) for upper, lower in pairwise(plateaus)]
        least = int(np.argmin([size - required for size, required in steps]))
        size, required = steps[least]
        if size >= required:
            break
        if least == 0 and size <= -LEAST_DROP:
            plateaus = plateaus[1:]
        else:
            plateaus = _without(plateaus, least, costs)
    return plateaus


def _without(plateaus: list[Plateau], step: int, costs: _Costs) -> list[Plateau]:
    """Undo one step: join its two plateaus, unless it is far better to leave one of them to the ramps."""
    upper, lower = plateaus[step], plateaus[step + 1]
    joined = [*plateaus[:step], Plateau(upper.start, lower.stop), *plateaus[step + 2 :]]
    drops = [plateaus[:i] + plateaus[i + 1 :] for i in (step, step + 1) if 0 < i < len(plateaus) - 1]
    better = min(drops, key=costs.of, default=joined)
    return better if costs.of(joined) > costs.of(better) + 2.0 * costs.penalty else joined


def _step(u: Floats, z: Floats, noise: Floats, upper: Plateau, lower: Plateau) -> tuple[float, float]:
    """Return the size of a step down and the size that it needs to count, both in ln(rate).

    A slope that goes on through both plateaus is no step: their own slopes may explain half of it at most.
    """
    parts = beside(u, upper, end=True), beside(u, lower, end=False)
    edge = (u[upper.stop - 1] + u[lower.start]) / 2.0
    typical = float(np.median(noise))
    levels = [float(centre(part.of(z), typical)) for part in parts]
    errors, explained, doubt = [], 0.0, 0.0
    for part, level in zip(parts, levels, strict=True):
        count, lever, spread = len(part), part.of(u) - part.of(u).mean(), part.of(z) - level
        slope = float(np.sum(lever * spread) / max(np.sum(lever**2), 1e-12))
        arm = abs(edge - float(part.of(u).mean()))
        scatter = float(np.sqrt(np.mean((spread - slope * lever) ** 2)))
        error = max(scatter, float(np.sqrt(np.mean(part.of(noise) ** 2))))
        errors.append(error / np.sqrt(count))
        explained += max(-slope, 0.0) * arm
        doubt += error**2 * arm**2 / max(float(np.sum(lever**2)), 1e-12)
    required = max(LEAST_DROP, SIGNIFICANCE * float(np.hypot(*errors)), 2.0 * (explained - float(np.sqrt(doubt))))
    return levels[0] - levels[1], required
