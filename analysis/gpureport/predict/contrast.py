"""Two devices compared by prediction: speed ratio of each workload, where it changes, and the bottlenecks.

Each device is predicted with its own sweeps, which suit its size. Curves are compared at sizes that both sweeps cover.
The interval of a ratio is that of the quotient of two uncertain predictions. A figure that both devices take from one
architecture is one unknown, and its effect cancels. All other figures, and the model's own error on each device, count
as independent. If the model has the same error on both devices, the interval is wider than necessary.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict import Predicted
from gpureport.predict.outlook import best_point, bottleneck_of, is_shown
from gpureport.predict.uncertainty.sensitivity import Fact
from gpureport.records.curves import Axis, Metric, Record, SweepKey
from gpureport.records.quantities import Compact
from gpureport.spec.files import declaration
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_MODEL
from gpureport.units import format_bytes, format_percent
from gpureport.workloads.grid import part_of_units

SAME = log(1.25)
"""Neighbouring stretches are joined if their ratios differ by less than 25 %, which is less than any interval."""
INTERVAL = (
    "Ratios have 95 % intervals. A figure that both devices take from one architecture is one unknown, and its effect "
    f"cancels. All other figures, and the model's own error ({format_percent(SIGMA_MODEL, '.2g')} on each device), "
    "count as independent."
)


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
class Rates:
    """Points of one device's curve: ln(rate), shape (points,), and the deviations of times, shape (points, facts)."""

    x: Floats
    labels: tuple[str, ...]
    rates: Floats
    deviations: Floats
    bottlenecks: tuple[str, ...]

    def take(self, indices: Iterable[int]) -> "Rates":
        """Return some of the points."""
        found = list(indices)
        labels, bottlenecks = (tuple(each[i] for i in found) for each in (self.labels, self.bottlenecks))
        return Rates(self.x[found], labels, self.rates[found], self.deviations[found], bottlenecks)


def rates_of(predicted: Predicted) -> Rates:
    """Return the points of a predicted sweep."""
    points = predicted.prediction.points
    rates = np.log([point.value for point in points]) * (1 if predicted.prediction.metric.kind == "rate" else -1)
    labels, bottlenecks = tuple(p.point.label for p in points), tuple(map(bottleneck_of, points))
    return Rates(np.array([p.point.x for p in points]), labels, rates, predicted.relative, bottlenecks)


def interpolated(curve: Rates, sizes: Floats) -> Rates:
    """Return the nearest points of a curve, with rates and deviations at ln(size) by linear interpolation."""
    known = np.log(curve.x)
    right = np.searchsorted(known, sizes).clip(min(1, len(known) - 1), len(known) - 1)
    left = np.maximum(right - 1, 0)
    share = ((sizes - known[left]) / np.maximum(known[right] - known[left], 1e-300)).clip(0, 1)
    nearest = curve.take(np.where(share > 0.5, right, left).tolist())
    rates = (1 - share) * curve.rates[left] + share * curve.rates[right]
    deviations = (1 - share)[:, None] * curve.deviations[left] + share[:, None] * curve.deviations[right]
    return replace(nearest, x=np.exp(sizes), rates=rates, deviations=deviations)


def contrasts(
    devices: tuple[Device, Device], first: Iterable[Predicted], other: Iterable[Predicted]
) -> tuple[Contrast, ...]:
    """Compare the sweeps over sizes and cases that both devices have, in the first device's order.

    Sweeps of :func:`not_comparable` are left out.
    """
    found = (_contrast(devices, *pair) for pair in _pairs(first, other) if _is_comparable(devices, pair))
    return tuple(contrast for contrast in found if contrast is not None)


def not_comparable(
    devices: tuple[Device, Device], first: Iterable[Predicted], other: Iterable[Predicted]
) -> tuple[str, ...]:
    """Return the sweeps whose rates are those of different parts of the devices: their ratio says nothing."""
    return tuple(str(pair[0].prediction.key) for pair in _pairs(first, other) if not _is_comparable(devices, pair))


def _pairs(first: Iterable[Predicted], other: Iterable[Predicted]) -> Iterator[tuple[Predicted, Predicted]]:
    others = {predicted.prediction.key: predicted for predicted in other}
    for mine in first:
        theirs = others.get(mine.prediction.key)
        if theirs is not None and is_shown(mine.prediction) and is_shown(theirs.prediction):
            yield mine, theirs


def _is_comparable(devices: tuple[Device, Device], pair: tuple[Predicted, Predicted]) -> bool:
    if pair[0].prediction.metric.kind == "time":
        return True
    parts = [
        part_of_units((point.point.parameters for point in each.prediction.points), device.compute_units)
        for each, device in zip(pair, devices, strict=True)
    ]
    return parts[0] == parts[1]


def _contrast(devices: tuple[Device, Device], first: Predicted, other: Predicted) -> Contrast | None:
    prediction, shared = first.prediction, shared_facts(devices, first.facts, other.facts)
    cases = prediction.axis.quantity == "case"
    curves = rates_of(first), rates_of(other)
    points = ratio_points(shared, *(_cases(*curves) if cases else _sizes(*curves)))
    if not points:
        return None
    places = (each.prediction.points.index(best_point(each.prediction)) for each in (first, other))
    (best,) = ratio_points(shared, *(curve.take([place]) for curve, place in zip(curves, places, strict=True)))
    return Contrast(
        key=prediction.key,
        metric=prediction.metric,
        axis=prediction.axis,
        points=points,
        best=best.ratio,
        first_bottleneck=best.first_bottleneck,
        other_bottleneck=best.other_bottleneck,
        stretches=() if cases else stretches_of(points),
    )


def _sizes(*curves: Rates) -> tuple[Rates, ...]:
    """Return two curves at every size of either within the range of both; of points of one size, the first counts."""
    first, other = (curve.take(np.unique(curve.x, return_index=True)[1].tolist()) for curve in curves)
    low, high = log(max(first.x[0], other.x[0])), log(min(first.x[-1], other.x[-1]))
    sizes: Floats = np.unique(np.log(np.append(first.x, other.x)).round(6))
    sizes = sizes[(sizes >= low - 1e-6) & (sizes <= high + 1e-6)]
    return interpolated(first, sizes), interpolated(other, sizes)


def _cases(first: Rates, other: Rates) -> tuple[Rates, ...]:
    """Return the points of both curves that have the same label; of those of one curve, the last counts."""
    mine, theirs = ({label: number for number, label in enumerate(curve.labels)} for curve in (first, other))
    both = [label for label in mine if label in theirs]
    return first.take(mine[label] for label in both), other.take(theirs[label] for label in both)


def stretches_of(points: Sequence[RatioPoint]) -> tuple[Stretch, ...]:
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
    return sorted(part, key=lambda point: point.ratio.value)[len(part) // 2]


def _stretch(part: Sequence[RatioPoint]) -> Stretch:
    pairs = [(point.first_bottleneck, point.other_bottleneck) for point in part]
    first, other = max(dict.fromkeys(pairs), key=pairs.count)
    return Stretch(
        start=part[0].x, end=part[-1].x, ratio=_middle(part).ratio, first_bottleneck=first, other_bottleneck=other
    )


Columns = tuple[list[int], list[int]]
"""Columns of the facts that two devices share, in the deviations of both."""


def shared_facts(devices: tuple[Device, Device], first: Sequence[Fact], other: Sequence[Fact]) -> Columns:
    """Return the facts that both devices take from one architecture."""
    theirs = {fact.path: i for i, fact in enumerate(other)}
    both = {i: theirs[f.path] for i, f in enumerate(first) if f.path in theirs and is_shared(devices, f.path)}
    return list(both), list(both.values())


def ratio_points(shared: Columns, first: Rates, other: Rates) -> tuple[RatioPoint, ...]:
    """Return the ratios of two rates at each point."""
    common = np.sum(first.deviations[:, shared[0]] * other.deviations[:, shared[1]], axis=1)
    squares = (np.sum(each.deviations**2, axis=1) for each in (first, other))
    factors = np.exp(NORMAL_95 * np.sqrt(sum(squares) - 2 * common + 2 * SIGMA_MODEL**2)).tolist()
    columns = (first.x.tolist(), first.labels, np.exp(other.rates - first.rates).tolist(), factors)
    return tuple(
        RatioPoint(
            x=x,
            label=label,
            ratio=PredictedRatio(value=value, ci_low=value / factor, ci_high=value * factor),
            first_bottleneck=mine,
            other_bottleneck=theirs,
        )
        for x, label, value, factor, mine, theirs in zip(*columns, first.bottlenecks, other.bottlenecks, strict=True)
    )


def is_shared(devices: tuple[Device, Device], path: str) -> bool:
    """Return whether a fact of both devices is one figure of their architecture, not of each card."""
    first, other = devices
    if first.id == other.id:
        return True
    if first.architecture.id != other.architecture.id or declaration(path).of_card:
        return False
    origin = first.provenance.get(path)
    return origin is not None and origin == other.provenance.get(path)


def capacity_difference(devices: tuple[Device, Device]) -> str | None:
    """Return a sentence about working sets that fit the caches of one device only; ``None`` if there are none."""
    shared = ([c for c in device.caches if c.scope == "device"] or device.caches for device in devices)
    midpoints = [
        max((c.capacity_bytes * c.transition("write_transition").midpoint for c in of), default=0.0) for of in shared
    ]
    if not all(midpoints) or abs(log(midpoints[0] / midpoints[1])) < SAME:
        return None
    small, large = sorted(range(2), key=lambda i: midpoints[i])
    return (
        f"Working sets between {format_bytes(midpoints[small])} and {format_bytes(midpoints[large])} fit the caches of "
        f"{devices[large].name}, but not those of {devices[small].name}."
    )
