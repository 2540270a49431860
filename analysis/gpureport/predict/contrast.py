"""Two devices compared by prediction: speed ratio of each workload, where it changes, and the bottlenecks.

Each device is predicted with its own sweeps, which suit its size. Curves are compared at sizes that both sweeps cover.
The interval of a ratio is that of the quotient of two uncertain predictions. A figure that both devices take from one
architecture is one unknown, and its effect cancels. All other figures, and the model's own error on each device, count
as independent. If the model has the same error on both devices, the interval is wider than necessary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from gpureport.predict import Predicted
from gpureport.predict.outlook import best_point, bottleneck_of, is_shown
from gpureport.predict.uncertainty.sensitivity import MODEL, NORMAL_95, Fact
from gpureport.records.keys import Axis, Metric, Record, SweepKey
from gpureport.records.quantities import Compact
from gpureport.spec.models import Device
from gpureport.units import format_bytes

Floats = NDArray[np.float64]

SAME = log(1.25)
"""Neighbouring stretches are joined if their ratios differ by less than 25 %, which is less than any interval."""
INTERVAL = (
    "Ratios have 95 % intervals. A figure that both devices take from one architecture is one unknown, and its effect "
    f"cancels. All other figures, and the model's own error ({100 * MODEL:.2g} % on each device), count as independent."
)
_CARD_FACTS = ("clock", "memory.bandwidth", "memory.efficiency", "launch.")
"""Facts that differ between cards, even if two entries list the same figure."""


class PredictedRatio(Record):
    """Work per second on the other device / on the first, with its 95 % interval."""

    value: Compact
    ci_low: Compact
    ci_high: Compact


class RatioPoint(Record):
    """The ratio at one size, or for one case."""

    x: Compact
    """Position on the sweep's axis."""
    label: str
    ratio: PredictedRatio
    first_bottleneck: str
    other_bottleneck: str


class Stretch(Record):
    """Part of a sweep in which the ratio is nearly constant."""

    start: Compact
    end: Compact
    """Positions on the sweep's axis: bytes or work-items."""
    ratio: PredictedRatio
    """Median ratio of its points."""
    first_bottleneck: str
    other_bottleneck: str
    """Most frequent pair of bottlenecks."""


class Contrast(Record):
    """One sweep on both devices."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: tuple[RatioPoint, ...]
    best: PredictedRatio
    """Ratio of the best points of both devices, at any size."""
    first_bottleneck: str
    other_bottleneck: str
    """Bottlenecks of the best points."""
    stretches: tuple[Stretch, ...]
    """Stretches of nearly constant ratio; empty for a sweep over cases."""


@dataclass(frozen=True)
class _Curve:
    """A curve of one device: logarithms of x and rate, shape (n,), deviations, shape (n, facts), by increasing x."""

    x: Floats
    rate: Floats
    deviations: Floats
    bottlenecks: tuple[str, ...]
    labels: tuple[str, ...]

    def at(self, x: float) -> tuple[float, Floats, int]:
        """Return ln(rate) and deviations at *x* = ln(size) by linear interpolation, and the nearest point's index."""
        right = int(np.clip(np.searchsorted(self.x, x), 1, len(self.x) - 1)) if len(self.x) > 1 else 0
        left = max(right - 1, 0)
        span = self.x[right] - self.x[left]
        share = float(np.clip((x - self.x[left]) / span, 0.0, 1.0)) if span > 0 else 0.0
        rate = (1 - share) * self.rate[left] + share * self.rate[right]
        deviations = (1 - share) * self.deviations[left] + share * self.deviations[right]
        return float(rate), deviations, right if share > 0.5 else left


def contrasts(
    devices: tuple[Device, Device], first: Iterable[Predicted], other: Iterable[Predicted]
) -> tuple[Contrast, ...]:
    """Compare the sweeps over sizes and cases that both devices have, in the first device's order.

    Args:
        devices: the first and the other device.
        first: all sweeps of the first device.
        other: all sweeps of the other device.
    """
    others = {predicted.prediction.key: predicted for predicted in other}
    pairs = ((mine, others[mine.prediction.key]) for mine in first if mine.prediction.key in others)
    found = (_contrast(devices, *pair) for pair in pairs if all(is_shown(each.prediction) for each in pair))
    return tuple(contrast for contrast in found if contrast is not None)


def _contrast(devices: tuple[Device, Device], first: Predicted, other: Predicted) -> Contrast | None:
    prediction = first.prediction
    shared = _SharedFacts.of(devices, first.facts, other.facts)
    cases = prediction.axis.quantity == "case"
    points = _cases(shared, first, other) if cases else _sizes(shared, _curve(first), _curve(other))
    if not points:
        return None
    bests = [best_point(each.prediction) for each in (first, other)]
    indices = [each.prediction.points.index(best) for each, best in zip((first, other), bests, strict=True)]
    rates = [_ln_rate(prediction.metric, best.value) for best in bests]
    deviations = [each.relative[index] for each, index in zip((first, other), indices, strict=True)]
    return Contrast(
        key=prediction.key,
        metric=prediction.metric,
        axis=prediction.axis,
        points=points,
        best=shared.ratio(rates[0], deviations[0], rates[1], deviations[1]),
        first_bottleneck=bottleneck_of(bests[0]),
        other_bottleneck=bottleneck_of(bests[1]),
        stretches=() if cases else _stretches(points),
    )


def _ln_rate(metric: Metric, value: float) -> float:
    return log(value) if metric.kind == "rate" else -log(value)


def _curve(predicted: Predicted) -> _Curve:
    """Return a curve by size, with the first point of each size."""
    points = predicted.prediction.points
    x, first = np.unique([point.point.x for point in points], return_index=True)
    return _Curve(
        x=np.log(x),
        rate=np.array([_ln_rate(predicted.prediction.metric, points[i].value) for i in first]),
        deviations=predicted.relative[first],
        bottlenecks=tuple(bottleneck_of(points[i]) for i in first),
        labels=tuple(points[i].point.label for i in first),
    )


def _sizes(shared: "_SharedFacts", first: _Curve, other: _Curve) -> tuple[RatioPoint, ...]:
    """Compare at every size of either curve within the range of both."""
    low, high = max(first.x[0], other.x[0]), min(first.x[-1], other.x[-1])
    sizes = np.unique(np.round(np.concatenate([first.x, other.x]), 6))
    points = []
    for x in (float(size) for size in sizes if low - 1e-6 <= size <= high + 1e-6):
        (rate, deviations, near), (other_rate, other_deviations, other_near) = first.at(x), other.at(x)
        points.append(
            RatioPoint(
                x=exp(x),
                label=first.labels[near],
                ratio=shared.ratio(rate, deviations, other_rate, other_deviations),
                first_bottleneck=first.bottlenecks[near],
                other_bottleneck=other.bottlenecks[other_near],
            )
        )
    return tuple(points)


def _cases(shared: "_SharedFacts", first: Predicted, other: Predicted) -> tuple[RatioPoint, ...]:
    """Compare the cases that both sweeps have, by label."""
    metric = first.prediction.metric
    indices = {point.point.label: i for i, point in enumerate(other.prediction.points)}
    points = []
    for i, mine in enumerate(first.prediction.points):
        j = indices.get(mine.point.label)
        if j is None:
            continue
        theirs = other.prediction.points[j]
        rates = _ln_rate(metric, mine.value), _ln_rate(metric, theirs.value)
        points.append(
            RatioPoint(
                x=mine.point.x,
                label=mine.point.label,
                ratio=shared.ratio(rates[0], first.relative[i], rates[1], other.relative[j]),
                first_bottleneck=bottleneck_of(mine),
                other_bottleneck=bottleneck_of(theirs),
            )
        )
    return tuple(points)


def _stretches(points: Sequence[RatioPoint]) -> tuple[Stretch, ...]:
    """Divide a curve where a bottleneck changes, then join neighbours with similar ratios."""
    parts = [list(group) for _, group in groupby(points, lambda p: (p.first_bottleneck, p.other_bottleneck))]
    joined: list[list[RatioPoint]] = []
    for part in parts:
        if joined and abs(log(_middle(part).ratio.value / _middle(joined[-1]).ratio.value)) < SAME:
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(_stretch(part) for part in joined)


def _middle(part: Sequence[RatioPoint]) -> RatioPoint:
    """Return the point with the median ratio."""
    return sorted(part, key=lambda point: point.ratio.value)[len(part) // 2]


def _stretch(part: Sequence[RatioPoint]) -> Stretch:
    pairs = [(point.first_bottleneck, point.other_bottleneck) for point in part]
    first, other = max(dict.fromkeys(pairs), key=pairs.count)
    return Stretch(
        start=part[0].x, end=part[-1].x, ratio=_middle(part).ratio, first_bottleneck=first, other_bottleneck=other
    )


@dataclass(frozen=True)
class _SharedFacts:
    """The facts that two devices share: their columns in the deviations of both."""

    first: Sequence[int]
    other: Sequence[int]

    @classmethod
    def of(cls, devices: tuple[Device, Device], first: Sequence[Fact], other: Sequence[Fact]) -> "_SharedFacts":
        """Find the facts that both devices take from one architecture."""
        mine = {fact.path: i for i, fact in enumerate(first) if _is_shared(devices, fact.path)}
        theirs = {fact.path: i for i, fact in enumerate(other)}
        both = [path for path in mine if path in theirs]
        return cls([mine[path] for path in both], [theirs[path] for path in both])

    def ratio(self, rate: float, deviations: Floats, other_rate: float, other_deviations: Floats) -> PredictedRatio:
        """Return the ratio of two rates, from their logarithms and the deviations of the times by fact."""
        shared = deviations[self.first] - other_deviations[self.other]
        own = [np.delete(deviations, self.first), np.delete(other_deviations, self.other)]
        variance = float(shared @ shared) + sum(float(each @ each) for each in own) + 2.0 * MODEL**2
        value, factor = exp(other_rate - rate), exp(NORMAL_95 * sqrt(variance))
        return PredictedRatio(value=value, ci_low=value / factor, ci_high=value * factor)


def _is_shared(devices: tuple[Device, Device], path: str) -> bool:
    """Return whether a fact of both devices is one figure of their architecture, not of each card."""
    first, other = devices
    if first.id == other.id:
        return True
    if first.architecture.id != other.architecture.id or path.startswith(_CARD_FACTS) or path.endswith(".capacity"):
        return False
    origin = first.provenance.get(path)
    return origin is not None and origin == other.provenance.get(path)


def capacity_difference(devices: tuple[Device, Device]) -> str | None:
    """Return a sentence about working sets that fit the caches of one device only; ``None`` if there are none."""
    midpoints = [_last_midpoint(device) for device in devices]
    if not all(midpoints) or abs(log(midpoints[0] / midpoints[1])) < SAME:
        return None
    small, large = sorted(range(2), key=lambda i: midpoints[i])
    return (
        f"Working sets between {format_bytes(midpoints[small])} and {format_bytes(midpoints[large])} fit the caches of "
        f"{devices[large].name}, but not those of {devices[small].name}."
    )


def _last_midpoint(device: Device) -> float:
    """Return the midpoint of the last shared cache's cliff, bytes, for kernels that also write; 0 without caches."""
    shared = [cache for cache in device.caches if cache.scope == "device"] or list(device.caches)
    return max((cache.capacity_bytes * cache.transition_of_writes.midpoint for cache in shared), default=0.0)
