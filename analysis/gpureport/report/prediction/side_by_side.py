"""Tables that compare the predictions of several devices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, sqrt

from gpureport.predict.ceilings import Ceiling, ceilings
from gpureport.predict.contrast import SAME, Contrast, PredictedRatio, RatioPoint
from gpureport.predict.outlook import best_point, is_shown, outlooks
from gpureport.records.ceilings import ceiling_label
from gpureport.records.prediction import Prediction
from gpureport.report.prediction.forecast import cliffs_and_n90, joined, value_of
from gpureport.report.text.tables import Table
from gpureport.spec.models import Device
from gpureport.units import RATIO, UNKNOWN, format_interval, format_ratio, format_value

_KINDS = ("bandwidth", "latency", "rate", "launch", "transfer", "per watt")


@dataclass(frozen=True)
class DevicePredictions:
    """A device with its predictions and its letter in tables."""

    letter: str
    device: Device
    predictions: Sequence[Prediction]
    families: Mapping[str, str] = field(default_factory=dict)
    """Titles of the families of users' kernels, by identifier."""


@dataclass(frozen=True)
class DeviceComparison:
    """A device compared with the first one."""

    predicted: DevicePredictions
    contrasts: Sequence[Contrast]
    left: Sequence[str] = ()
    """Sweeps that are not compared: each device measures another part of its compute units."""


def ceilings_table(sides: Sequence[DevicePredictions]) -> Table:
    """List the ceilings of all devices, with the speeds relative to the first device: shorter times are faster."""
    found = [{(c.kind, c.name): c for c in ceilings(side.device)} for side in sides]
    keys = sorted(dict.fromkeys(key for each in found for key in each), key=lambda key: _KINDS.index(key[0]))
    first, *others = found
    rows = []
    for key in keys:
        kind, called = key
        name = f"latency of {called}" if kind == "latency" else ceiling_label(called) if kind == "rate" else called
        cells = [value_of(each[key]) if key in each else UNKNOWN for each in found]
        ratios = [
            format_ratio(_speed(each[key], first[key])) if key in each and key in first else UNKNOWN for each in others
        ]
        rows.append((name, *cells, *ratios))
    letters = [side.letter for side in sides]
    columns = ("ceiling", *letters, *(over(letter, letters[0]) for letter in letters[1:]))
    return Table(columns, joined(rows), frozenset(columns[1:]))


def _speed(other: Ceiling, first: Ceiling) -> float:
    ratio = other.value / first.value
    return 1 / ratio if first.unit == "s" else ratio


def over(other: str, first: str) -> str:
    """Return the head of a column of ratios."""
    return f"{other} / {first}"


def features_table(sides: Sequence[DevicePredictions]) -> Table:
    """List cliffs and tapers of each workload on each device."""
    found = [{each.workload: each for each in outlooks(side.predictions)} for side in sides]
    names = dict.fromkeys(name for each in found for name in each)
    rows = []
    for name in names:
        cliffs, n90s = zip(*(cliffs_and_n90(each[name]) if name in each else ("", "") for each in found), strict=True)
        if any((*cliffs, *n90s)):
            rows.append((name, *cliffs, *n90s))
    letters = [side.letter for side in sides]
    columns = ("workload", *(f"cliffs {letter}" for letter in letters), *(f"n90 {letter}" for letter in letters))
    return Table(columns, tuple(rows), frozenset(columns[len(letters) + 1 :]))


def ratio_table(first: DevicePredictions, other: DeviceComparison, *, sizes: bool) -> Table:
    """List the speed ratio of each sweep, with both bottlenecks, and with *sizes* the ratio by size."""
    sweeps = [[p for p in side.predictions if is_shown(p)] for side in (first, other.predicted)]
    bests = [{p.key: _best(p) for p in shown} for shown in sweeps]
    names = [contrast.key.workload for contrast in other.contrasts]
    rows = (
        (
            f"{name}, {contrast.key.sweep}" if names.count(name) > 1 else name,
            *(best[contrast.key] for best in bests),
            with_factor(contrast.best),
            ceiling_label(contrast.first_bottleneck),
            ceiling_label(contrast.other_bottleneck),
            *((by_size(contrast),) if sizes else ()),
        )
        for contrast, name in zip(other.contrasts, names, strict=True)
    )
    a, b = first.letter, other.predicted.letter
    ratio = over(b, a)
    columns: tuple[str, ...] = ("workload", f"best {a}", f"best {b}", ratio, f"bottleneck {a}", f"bottleneck {b}")
    columns += (f"{ratio} by size",) if sizes else ()
    return Table(columns, tuple(rows), frozenset(columns[1:4]))


def _best(prediction: Prediction) -> str:
    best, unit = best_point(prediction), prediction.metric.value_unit
    return format_interval(best.value, best.value / best.spread, best.value * best.spread, unit, "predicted")


def with_factor(ratio: PredictedRatio) -> str:
    """Write a ratio with its interval: ``0.52 (factor 1.7)``."""
    return format_interval(ratio.value, ratio.ci_low, ratio.ci_high, RATIO, "factor")


def by_size(contrast: Contrast) -> str:
    """Write the ratio by size: ``1.31 up to 7.3 MiB, 0.16 beyond``; for cases, the lowest and the highest."""
    if contrast.axis.quantity == "case":
        return _of_cases(contrast.points)
    found = contrast.stretches
    if len(found) < 2:
        return ""
    ends = (
        f"{format_ratio(a.ratio.value)} up to {format_value(sqrt(a.end * b.start), contrast.axis.unit)}"
        for a, b in pairwise(found)
    )
    return ", ".join((*ends, f"{format_ratio(found[-1].ratio.value)} beyond"))


def _of_cases(points: Sequence[RatioPoint]) -> str:
    low, high = (pick(points, key=lambda point: point.ratio.value) for pick in (min, max))
    if log(high.ratio.value / low.ratio.value) < SAME:
        return ""
    return " to ".join(f"{format_ratio(point.ratio.value)} ({point.label})" for point in (low, high))


def stretch_table(first: DevicePredictions, other: DeviceComparison) -> Table:
    """List the ranges of each sweep with a nearly constant ratio, with the bottlenecks of both devices."""
    rows = [
        (
            contrast.key.workload if not number else "",
            " to ".join(format_value(end, contrast.axis.unit) for end in (stretch.start, stretch.end)),
            with_factor(stretch.ratio),
            ceiling_label(stretch.first_bottleneck),
            ceiling_label(stretch.other_bottleneck),
        )
        for contrast in other.contrasts
        if len(contrast.stretches) > 1
        for number, stretch in enumerate(contrast.stretches)
    ]
    a, b = first.letter, other.predicted.letter
    columns = ("workload", "working set or work-items", over(b, a), f"bottleneck {a}", f"bottleneck {b}")
    return Table(columns, tuple(rows), frozenset({over(b, a)}))
