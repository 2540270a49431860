"""The best division of a curve into a rise, plateaus, and ramps from plateau to plateau.

Dynamic programming finds it among all divisions ("cuts"). A plateau is a line with a small slope. A ramp may have any
falling shape, so each of its points is a parameter. An information criterion (Schwarz, Ann. Statist. 6, 1978)
determines the number of plateaus. All values are natural logarithms: ``u`` of the size, ``z`` of the rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.statistics import Floats

_Indices = NDArray[np.intp]

TILT = 0.1
"""Largest slope of a plateau, d ln(rate) / d ln(size): 7 % per octave."""
MOST_PLATEAUS = 8
LEAST_SPAN = 0.4 * float(np.log(2.0))
"""Minimum length of a plateau between two cliffs: 0.4 octaves."""


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


@dataclass(frozen=True)
class Costs:
    """Cost of each part of a cut: chi-square plus penalty.

    Attributes:
        lines: ``lines[i, j]``: points i … j as one plateau, infinite for i > j.
        ramp: ``ramp[i]``: points 0 … i on a ramp: a parameter each, plus chi-square of upward steps.
        rise: ``rise[i]``: points 0 … i - 1 on the rise: a parameter each, plus chi-square of downward steps up to i.
        penalty: of one more plateau.
    """

    lines: Floats
    ramp: Floats
    rise: Floats
    penalty: float

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
