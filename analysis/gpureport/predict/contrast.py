"""One device beside another: how much faster each workload is predicted to be, where that changes, and what binds.

Both devices are predicted with sweeps of their own, so that each has the work that suits it; their curves are compared
at sizes that both reach. The interval of a ratio is that of the quotient of two uncertain predictions. A figure that
both take from one architecture is one unknown: what it does to both cancels. All other figures, and the model's own
error on each device, are taken as independent; where the model errs alike on both, the interval is wider than need be.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from gpureport.predict import Predicted
from gpureport.predict.outlook import best_point, bound, is_shown
from gpureport.predict.uncertainty.sensitivity import MODEL, NORMAL_95, Fact
from gpureport.records.keys import Axis, Metric, Record, SweepKey
from gpureport.records.quantities import Compact
from gpureport.spec.models import Device
from gpureport.units import format_bytes

Floats = NDArray[np.float64]

SAME = log(1.25)
"""Neighbouring stretches whose ratios lie within 25 % of each other are one: less than any interval."""
INTERVAL = (
    "Intervals of ratios span 95 %. A figure that both devices take from one architecture is one unknown, and what it "
    "does to both cancels; all other figures, and the model's own error "
    f"({100 * MODEL:.2g} % on each device), are taken as independent."
)
_OF_A_CARD = ("clock", "memory.bandwidth", "memory.efficiency", "launch.")
"""Facts that differ from card to card, even if two entries give them the same figure."""


class Ratio(Record):
    """Work per second on the other device / on the first, with its 95 % interval."""

    value: Compact
    ci_low: Compact
    ci_high: Compact


class RatioPoint(Record):
    """The ratio at one size, or of one case."""

    x: Compact
    """Position on the sweep's axis."""
    label: str
    ratio: Ratio
    first_bottleneck: str
    other_bottleneck: str


class Stretch(Record):
    """A stretch of a sweep over which the ratio is about the same."""

    start: Compact
    end: Compact
    """On the sweep's axis: bytes or work-items."""
    ratio: Ratio
    """In the middle of those of its points."""
    first_bottleneck: str
    other_bottleneck: str
    """What binds most of it."""


class Contrast(Record):
    """One sweep on both devices."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: tuple[RatioPoint, ...]
    best: Ratio
    """Of the best points of both, wherever they are."""
    first_bottleneck: str
    other_bottleneck: str
    """What binds the best points."""
    stretches: tuple[Stretch, ...]
    """None for cases."""


@dataclass(frozen=True)
class _Line:
    """A curve of one device in logarithms, shape (n,) or (n, facts), by increasing x."""

    x: Floats
    rate: Floats
    moved: Floats
    bottlenecks: tuple[str, ...]
    labels: tuple[str, ...]

    def at(self, x: float) -> tuple[float, Floats, int]:
        """Return ln(rate) and its deviations at *x* = ln(size), interpolated, and the index of the nearest point."""
        right = int(np.clip(np.searchsorted(self.x, x), 1, len(self.x) - 1)) if len(self.x) > 1 else 0
        left = max(right - 1, 0)
        span = self.x[right] - self.x[left]
        share = float(np.clip((x - self.x[left]) / span, 0.0, 1.0)) if span > 0 else 0.0
        rate = (1 - share) * self.rate[left] + share * self.rate[right]
        moved = (1 - share) * self.moved[left] + share * self.moved[right]
        return float(rate), moved, right if share > 0.5 else left


def contrasts(
    devices: tuple[Device, Device], first: Iterable[Predicted], other: Iterable[Predicted]
) -> tuple[Contrast, ...]:
    """Compare the sweeps over sizes and cases that both devices have, in the order of the first.

    Args:
        devices: the first, and the other one.
        first: all sweeps of the first device.
        other: of the other.
    """
    others = {predicted.prediction.key: predicted for predicted in other}
    pairs = ((mine, others[mine.prediction.key]) for mine in first if mine.prediction.key in others)
    found = (_contrast(devices, *pair) for pair in pairs if all(is_shown(each.prediction) for each in pair))
    return tuple(contrast for contrast in found if contrast is not None)


def _contrast(devices: tuple[Device, Device], first: Predicted, other: Predicted) -> Contrast | None:
    prediction = first.prediction
    joint = _Joint.of(devices, first.facts, other.facts)
    cases = prediction.axis.quantity == "case"
    points = _cases(joint, first, other) if cases else _sizes(joint, _line(first), _line(other))
    if not points:
        return None
    bests = [best_point(each.prediction) for each in (first, other)]
    places = [each.prediction.points.index(best) for each, best in zip((first, other), bests, strict=True)]
    rates = [_ln_rate(prediction.metric, best.value) for best in bests]
    moved = [each.relative[place] for each, place in zip((first, other), places, strict=True)]
    return Contrast(
        key=prediction.key,
        metric=prediction.metric,
        axis=prediction.axis,
        points=points,
        best=joint.ratio(rates[0], moved[0], rates[1], moved[1]),
        first_bottleneck=bound(bests[0]),
        other_bottleneck=bound(bests[1]),
        stretches=() if cases else _stretches(points),
    )


def _ln_rate(metric: Metric, value: float) -> float:
    return log(value) if metric.kind == "rate" else -log(value)


def _line(predicted: Predicted) -> _Line:
    """Return a curve by size, the first of several points of one size."""
    points = predicted.prediction.points
    x, first = np.unique([point.point.x for point in points], return_index=True)
    return _Line(
        x=np.log(x),
        rate=np.array([_ln_rate(predicted.prediction.metric, points[i].value) for i in first]),
        moved=predicted.relative[first],
        bottlenecks=tuple(bound(points[i]) for i in first),
        labels=tuple(points[i].point.label for i in first),
    )


def _sizes(joint: "_Joint", first: _Line, other: _Line) -> tuple[RatioPoint, ...]:
    """Compare at every size of either curve that both reach."""
    low, high = max(first.x[0], other.x[0]), min(first.x[-1], other.x[-1])
    sizes = np.unique(np.round(np.concatenate([first.x, other.x]), 6))
    points = []
    for x in (float(size) for size in sizes if low - 1e-6 <= size <= high + 1e-6):
        (rate, moved, near), (other_rate, other_moved, other_near) = first.at(x), other.at(x)
        points.append(
            RatioPoint(
                x=exp(x),
                label=first.labels[near],
                ratio=joint.ratio(rate, moved, other_rate, other_moved),
                first_bottleneck=first.bottlenecks[near],
                other_bottleneck=other.bottlenecks[other_near],
            )
        )
    return tuple(points)


def _cases(joint: "_Joint", first: Predicted, other: Predicted) -> tuple[RatioPoint, ...]:
    """Compare the cases that both have, by their names."""
    metric = first.prediction.metric
    places = {point.point.label: i for i, point in enumerate(other.prediction.points)}
    points = []
    for i, mine in enumerate(first.prediction.points):
        j = places.get(mine.point.label)
        if j is None:
            continue
        theirs = other.prediction.points[j]
        rates = _ln_rate(metric, mine.value), _ln_rate(metric, theirs.value)
        moved = first.relative[i], other.relative[j]
        ratio = joint.ratio(rates[0], moved[0], rates[1], moved[1])
        label = mine.point.label
        points.append(
            RatioPoint(
                x=mine.point.x,
                label=label,
                ratio=ratio,
                first_bottleneck=bound(mine),
                other_bottleneck=bound(theirs),
            )
        )
    return tuple(points)


def _stretches(points: Sequence[RatioPoint]) -> tuple[Stretch, ...]:
    """Cut a curve where what binds changes, then join neighbours of about the same ratio."""
    parts = [list(group) for _, group in groupby(points, lambda p: (p.first_bottleneck, p.other_bottleneck))]
    joined: list[list[RatioPoint]] = []
    for part in parts:
        if joined and abs(log(_middle(part).ratio.value / _middle(joined[-1]).ratio.value)) < SAME:
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(_stretch(part) for part in joined)


def _middle(part: Sequence[RatioPoint]) -> RatioPoint:
    """Return the point whose ratio is the median."""
    return sorted(part, key=lambda point: point.ratio.value)[len(part) // 2]


def _stretch(part: Sequence[RatioPoint]) -> Stretch:
    pairs = [(point.first_bottleneck, point.other_bottleneck) for point in part]
    first, other = max(dict.fromkeys(pairs), key=pairs.count)
    return Stretch(
        start=part[0].x, end=part[-1].x, ratio=_middle(part).ratio, first_bottleneck=first, other_bottleneck=other
    )


@dataclass(frozen=True)
class _Joint:
    """Which facts of two devices are one: their places in the columns of both."""

    first: Sequence[int]
    other: Sequence[int]

    @classmethod
    def of(cls, devices: tuple[Device, Device], first: Sequence[Fact], other: Sequence[Fact]) -> "_Joint":
        """Find the facts that both devices take from one architecture."""
        mine = {fact.path: i for i, fact in enumerate(first) if _is_shared(devices, fact.path)}
        theirs = {fact.path: i for i, fact in enumerate(other)}
        both = [path for path in mine if path in theirs]
        return cls([mine[path] for path in both], [theirs[path] for path in both])

    def ratio(self, rate: float, moved: Floats, other_rate: float, other_moved: Floats) -> Ratio:
        """Return the ratio of two rates, given as logarithms, with deviations of the times by fact."""
        shared = moved[self.first] - other_moved[self.other]
        own = [np.delete(moved, self.first), np.delete(other_moved, self.other)]
        variance = float(shared @ shared) + sum(float(each @ each) for each in own) + 2.0 * MODEL**2
        value, factor = exp(other_rate - rate), exp(NORMAL_95 * sqrt(variance))
        return Ratio(value=value, ci_low=value / factor, ci_high=value * factor)


def _is_shared(devices: tuple[Device, Device], path: str) -> bool:
    """Return whether a fact of both devices is one figure of their architecture, not one of each card."""
    first, other = devices
    if first.id == other.id:
        return True
    if first.architecture.id != other.architecture.id or path.startswith(_OF_A_CARD) or path.endswith(".capacity"):
        return False
    origin = first.provenance.get(path)
    return origin is not None and origin == other.provenance.get(path)


def held_longer(devices: tuple[Device, Device]) -> str | None:
    """Say in a sentence which working sets the caches of one device hold and those of the other do not."""
    held = [_usable_bytes(device) for device in devices]
    if not all(held) or abs(log(held[0] / held[1])) < SAME:
        return None
    small, large = sorted(range(2), key=lambda i: held[i])
    return (
        f"Working sets between {format_bytes(held[small])} and {format_bytes(held[large])} stay in the caches of "
        f"{devices[large].name}, but not in those of {devices[small].name}."
    )


def _usable_bytes(device: Device) -> float:
    """Return the working set, written too, at which the last cache that all compute units share has half given out."""
    shared = [cache for cache in device.caches if cache.scope == "device"] or list(device.caches)
    return max((cache.capacity_bytes * cache.transition_of_writes.midpoint for cache in shared), default=0.0)
