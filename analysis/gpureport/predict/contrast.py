"""Two devices compared by prediction: speed ratio of each workload, where it changes, and the bottlenecks.

Each device is predicted with its own sweeps, which suit its size. Curves are compared at sizes that both sweeps cover.
The interval of a ratio is that of the quotient of two uncertain predictions. A figure that both devices take from one
architecture is one unknown, and its effect cancels. All other figures, and the model's own error on each device, count
as independent. If the model has the same error on both devices, the interval is wider than necessary.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import exp, log, sqrt

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict import Predicted
from gpureport.predict.outlook import best_point, bottleneck_of, is_shown
from gpureport.predict.uncertainty.sensitivity import SIGMA_MODEL, Fact
from gpureport.records.curves import Axis, Metric, Record, SweepKey
from gpureport.records.quantities import Compact
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95
from gpureport.units import format_bytes, format_percent
from gpureport.workloads.grid import part_of_units

SAME = log(1.25)
"""Neighbouring stretches are joined if their ratios differ by less than 25 %, which is less than any interval."""
INTERVAL = (
    "Ratios have 95 % intervals. A figure that both devices take from one architecture is one unknown, and its effect "
    f"cancels. All other figures, and the model's own error ({format_percent(SIGMA_MODEL, '.2g')} on each device), "
    "count as independent."
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
class ContrastPoint:
    """A point of one device's curve: ln(rate), and the deviations of its time by fact, shape (facts,)."""

    x: float
    label: str
    rate: float
    deviations: Floats
    bottleneck: str


def _point(predicted: Predicted, index: int) -> ContrastPoint:
    point = predicted.prediction.points[index]
    rate = log(point.value) if predicted.prediction.metric.kind == "rate" else -log(point.value)
    return ContrastPoint(point.point.x, point.point.label, rate, predicted.relative[index], bottleneck_of(point))


def curve_of(predicted: Predicted) -> tuple[ContrastPoint, ...]:
    """Return the first point of each size of a predicted sweep, by increasing size."""
    _, first = np.unique([point.point.x for point in predicted.prediction.points], return_index=True)
    return tuple(_point(predicted, int(index)) for index in first)


def interpolated(curve: Sequence[ContrastPoint], x: float) -> ContrastPoint:
    """Return the nearest point of a curve, with rate and deviations at *x* = ln(size) by linear interpolation."""
    sizes = np.log([point.x for point in curve])
    index = int(np.clip(np.searchsorted(sizes, x), 1, len(sizes) - 1)) if len(sizes) > 1 else 0
    before = max(index - 1, 0)
    left, right, span = curve[before], curve[index], sizes[index] - sizes[before]
    share = float(np.clip((x - sizes[before]) / span, 0.0, 1.0)) if span > 0 else 0.0
    return replace(
        right if share > 0.5 else left,
        x=exp(x),
        rate=(1 - share) * left.rate + share * right.rate,
        deviations=(1 - share) * left.deviations + share * right.deviations,
    )


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
    """Yield the sweeps over sizes and cases that both devices have."""
    others = {predicted.prediction.key: predicted for predicted in other}
    for mine in first:
        theirs = others.get(mine.prediction.key)
        if theirs is not None and is_shown(mine.prediction) and is_shown(theirs.prediction):
            yield mine, theirs


def _is_comparable(devices: tuple[Device, Device], pair: tuple[Predicted, Predicted]) -> bool:
    """Return whether both sweeps use all compute units of their devices, or the same number of work-groups."""
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
    pairs = _cases(first, other) if cases else _sizes(curve_of(first), curve_of(other))
    points = tuple(ratio_point(shared, *pair) for pair in pairs)
    if not points:
        return None
    best_points = (_point(each, each.prediction.points.index(best_point(each.prediction))) for each in (first, other))
    best = ratio_point(shared, *best_points)
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


def _sizes(
    first: Sequence[ContrastPoint], other: Sequence[ContrastPoint]
) -> Iterator[tuple[ContrastPoint, ContrastPoint]]:
    """Yield points at every size of either curve within the range of both."""
    low, high = log(max(first[0].x, other[0].x)), log(min(first[-1].x, other[-1].x))
    sizes = np.unique(np.round(np.log([point.x for point in (*first, *other)]), 6))
    for x in sizes[(sizes >= low - 1e-6) & (sizes <= high + 1e-6)].tolist():
        yield interpolated(first, x), interpolated(other, x)


def _cases(first: Predicted, other: Predicted) -> Iterator[tuple[ContrastPoint, ContrastPoint]]:
    mine, theirs = (
        {point.point.label: _point(each, i) for i, point in enumerate(each.prediction.points)}
        for each in (first, other)
    )
    for label in mine:
        if label in theirs:
            yield mine[label], theirs[label]


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


def ratio_point(shared: Columns, first: ContrastPoint, other: ContrastPoint) -> RatioPoint:
    """Return the ratio of two rates."""
    difference = first.deviations[shared[0]] - other.deviations[shared[1]]
    own = [np.delete(point.deviations, columns) for point, columns in zip((first, other), shared, strict=True)]
    variance = float(difference @ difference) + sum(float(each @ each) for each in own) + 2.0 * SIGMA_MODEL**2
    value, factor = exp(other.rate - first.rate), exp(NORMAL_95 * sqrt(variance))
    return RatioPoint(
        x=first.x,
        label=first.label,
        ratio=PredictedRatio(value=value, ci_low=value / factor, ci_high=value * factor),
        first_bottleneck=first.bottleneck,
        other_bottleneck=other.bottleneck,
    )


def is_shared(devices: tuple[Device, Device], path: str) -> bool:
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
    shared = ([c for c in device.caches if c.scope == "device"] or device.caches for device in devices)
    midpoints = [max((c.capacity_bytes * c.transition_of_writes.midpoint for c in of), default=0.0) for of in shared]
    if not all(midpoints) or abs(log(midpoints[0] / midpoints[1])) < SAME:
        return None
    small, large = sorted(range(2), key=lambda i: midpoints[i])
    return (
        f"Working sets between {format_bytes(midpoints[small])} and {format_bytes(midpoints[large])} fit the caches of "
        f"{devices[large].name}, but not those of {devices[small].name}."
    )
