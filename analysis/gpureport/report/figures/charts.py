"""Data of interactive charts, which a script draws in place of figures: one chart for each panel of a figure."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from gpureport.compare.records import CurvePoint, MachineCurve
from gpureport.records.ceilings import ceiling_label
from gpureport.records.curves import Axis, Metric, ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.figures.machines import base_of
from gpureport.report.figures.marks import FeatureMark, Plateau, feature_marks
from gpureport.report.figures.roofline import Dot, operations_of
from gpureport.report.figures.sizes import observed_plateaus
from gpureport.report.figures.traces import Trace, binned
from gpureport.report.grouping import grouped
from gpureport.spec.models import Device
from gpureport.text import printable
from gpureport.units import format_bandwidth, format_bytes, format_time, format_value

Kind = Literal[
    "specification",
    "calibrated",
    "observed",
    "trace",
    "ceiling",
    "machine 1",
    "machine 2",
    "machine 3",
    "machine 4",
]
"""What the values of a series are: predictions, observations, times in order, limits of a roofline, or values of
machines."""
_MACHINES: tuple[Kind, ...] = ("machine 1", "machine 2", "machine 3", "machine 4")
Spacing = Literal["linear", "near", "log2", "log10", "categories"]
"""``near``: linear, not from 0."""
Point = PredictedPoint | ObservedPoint
Number = float | None
Place = tuple[float, str]
"""X and label of a point."""

_WIDE = 5.0
"""Largest / smallest value from which the y axis is logarithmic at first."""
_REACH = 4.0
"""Of a roofline beyond its dots and the ridge point of memory, as a factor."""
_LARGEST_WHOLE = 1e15


@dataclass(frozen=True)
class Scale:
    """One axis of a chart."""

    label: str
    unit: str
    """An SI base unit, or what is counted; empty for plain numbers."""
    spacing: Spacing
    """Of the y axis: only how it is at first."""


@dataclass(frozen=True)
class Series:
    """Values at the common x of a chart; ``None`` where there is none."""

    name: str
    kind: Kind
    values: tuple[Number, ...]
    low: tuple[Number, ...] = ()
    """Lower ends of 95 % intervals of observations, or least times of a trace; empty without intervals."""
    high: tuple[Number, ...] = ()
    spread: tuple[Number, ...] = ()
    """Half-widths of 95 % intervals of predictions, as factors; empty without intervals."""
    dots: bool = False
    """Whether a machine's values were observed."""


@dataclass(frozen=True)
class Mark(FeatureMark):
    """A cliff or taper of a series."""

    kind: Kind


@dataclass(frozen=True)
class Chart:
    """One panel of a figure: series over a common x."""

    title: str
    x: Scale
    y: Scale
    at: tuple[float, ...]
    """The common x, ascending; of categories: 0, 1, …"""
    labels: tuple[str, ...]
    """Name of each x, or empty text; none at all if they would only repeat the values of x."""
    series: tuple[Series, ...]
    joined: bool
    """Whether lines join the predictions."""
    ratios: bool = False
    """Whether there is a second chart below: all values / those of the prediction with intervals, or of the first
    machine."""
    bottlenecks: tuple[str, ...] = ()
    """The predicted bottleneck at each x; empty if none is known."""
    marks: tuple[Mark, ...] = ()
    plateaus: tuple[Plateau, ...] = ()


def chart_json(charts: Sequence[Chart]) -> str:
    """Return *charts* as JSON that can be the content of an element ``script``."""
    data = [_rounded(asdict(chart)) for chart in charts]
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _rounded(data: object) -> object:
    """Return *data* with six significant digits, as reports store them; whole numbers have a shorter text."""
    if isinstance(data, dict):
        return {name: _rounded(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return list(map(_rounded, data))
    if isinstance(data, bool) or not isinstance(data, int | float):
        return data
    rounded = float(f"{data:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < _LARGEST_WHOLE else rounded


def sweep_charts(curves: Sequence[CurveRecords], titles: Sequence[str], *, cases: bool = False) -> tuple[Chart, ...]:
    """Return a chart for each sweep (at least one value is above 0): over sizes above 0, or of separate *cases*."""
    return tuple(_sweep_chart(curve, title, cases=cases) for curve, title in zip(curves, titles, strict=True))


def _sweep_chart(curve: CurveRecords, title: str, *, cases: bool) -> Chart:
    predictions = (
        ("predicted from the specification", curve.specification),
        ("predicted, calibrated", curve.calibrated),
    )
    records = [_Record(name, p.kind, p.points, intervals=p is curve.prediction) for name, p in predictions if p]
    if curve.observation:
        records.append(_Record(seen_word((curve,)), "observed", curve.observation.points))
    chart = _chart(title, curve.axis, curve.metric, records, cases=cases)
    if cases or curve.is_work_group:
        return chart
    both = bool(curve.prediction and curve.observation)
    return replace(chart, ratios=both, marks=_marks(curve), plateaus=observed_plateaus(curve))


def _marks(curve: CurveRecords) -> tuple[Mark, ...]:
    """Return the marks that the figure of a sweep over sizes shows."""
    predicted = curve.specification or curve.calibrated
    found: list[tuple[Kind, FeatureMark]] = []
    if predicted:
        found += [(predicted.kind, mark) for mark in feature_marks(predicted.features, predicted.points)]
    if curve.observation:
        found += [("observed", mark) for mark in feature_marks(curve.observation.features, curve.observation.points)]
    return tuple(Mark(**{**vars(mark), "texts": tuple(map(printable, mark.texts))}, kind=kind) for kind, mark in found)


def trace_charts(found: Sequence[Trace]) -> tuple[Chart, ...]:
    """Return a chart for each trace: median, minimum and maximum of each time bin / median of the trace."""
    return tuple(map(_trace_chart, found))


def _trace_chart(trace: Trace) -> Chart:
    at, *columns = binned(trace.at_s, trace.times_s / trace.median_s)
    middle, low, high = (_column(column.tolist()) for column in columns)
    return Chart(
        title=f"{printable(trace.title)}, median {format_time(trace.median_s)}",
        x=Scale("time since the first dispatch", "s", "linear"),
        y=Scale("time / median", "", "near"),
        at=tuple(at.tolist()),
        labels=(),
        series=(Series("median (minimum to maximum)", "trace", middle, low, high),),
        joined=True,
    )


def machine_charts(sweeps: Sequence[Sequence[MachineCurve]], machines: Sequence[str]) -> tuple[Chart, ...]:
    """Return a chart for each of *sweeps*, which has curves of some *machines*, in the order of their colours."""
    kinds = dict(zip(machines, _MACHINES, strict=False))
    return tuple(
        replace(
            _chart(
                curves[0].key.variant,
                curves[0].axis,
                curves[0].metric,
                [_Record(curve.machine, kinds[curve.machine], curve.points, dots=curve.observed) for curve in curves],
            ),
            ratios=base_of(curves, machines) is not None,
        )
        for curves in sweeps
    )


@dataclass(frozen=True)
class _Record:
    """Points of a series, with or without intervals."""

    name: str
    kind: Kind
    points: Sequence[Point | CurvePoint]
    intervals: bool = True
    dots: bool = False


def _chart(title: str, axis: Axis, metric: Metric, records: Iterable[_Record], *, cases: bool = False) -> Chart:
    """Return the chart of *records*, without points that do not fit on logarithmic axes."""
    shown = [(r, {_place(p): p for p in r.points if p.value > 0 and (cases or _place(p)[0] > 0)}) for r in records]
    places = sorted({place for _, points in shown for place in points})
    values = [point.value for _, points in shown for point in points.values()]
    linear = max(values) <= _WIDE * min(values) or (metric.kind == "rate" and not cases)  # as in the static figure
    return Chart(
        title=printable(title),
        x=Scale(
            printable(axis.label), "" if cases else _X_UNITS.get(axis.quantity, ""), "categories" if cases else "log2"
        ),
        y=Scale(printable(metric.label), metric.value_unit, "linear" if linear else "log10"),
        at=tuple(map(float, range(len(places)))) if cases else tuple(x for x, _ in places),
        labels=() if all(label == format_bytes(x) for x, label in places) else tuple(printable(n) for _, n in places),
        series=tuple(_series(r, [points.get(place) for place in places]) for r, points in shown if points),
        joined=not cases,
        bottlenecks=_bottlenecks(shown, places),
    )


def _bottlenecks(
    shown: Iterable[tuple[_Record, Mapping[Place, Point | CurvePoint]]], places: Iterable[Place]
) -> tuple[str, ...]:
    """Return the bottleneck at each of *places* according to the prediction with intervals; empty without one."""
    found = {
        place: ceiling_label(point.bottleneck)
        for record, points in shown
        for place, point in points.items()
        if record.intervals and isinstance(point, PredictedPoint)
    }
    return tuple(found.get(place, "") for place in places) if found else ()


_X_UNITS = {"working_set": "B", "transfer": "B", "work_items": "work-items", "work_group": "work-items", "case": ""}


def _place(point: Point | CurvePoint) -> Place:
    key = point if isinstance(point, CurvePoint) else point.point
    return key.x, key.label


def _series(record: _Record, points: Sequence[Point | CurvePoint | None]) -> Series:
    """Return the series of a record's *points* at each x."""
    return Series(
        name=printable(record.name),
        kind=record.kind,
        values=_column(point.value if point else None for point in points),
        low=_column(None if point is None or isinstance(point, PredictedPoint) else point.ci_low for point in points),
        high=_column(None if point is None or isinstance(point, PredictedPoint) else point.ci_high for point in points),
        spread=_column(
            point.spread if record.intervals and isinstance(point, PredictedPoint) else None for point in points
        ),
        dots=record.dots,
    )


def _column(values: Iterable[Number]) -> tuple[Number, ...]:
    """Return *values*; empty if none is known."""
    column = tuple(values)
    return column if any(value is not None for value in column) else ()


@dataclass(frozen=True)
class _Ceiling:
    """A line of a roofline between two intensities, through rate + slope x intensity."""

    name: str
    start: float
    end: float
    rate: float = 0.0
    slope: float = 0.0

    def at(self, intensity: float) -> Number:
        """Operations/s; ``None`` beyond its ends."""
        return self.rate + self.slope * intensity if self.start <= intensity <= self.end else None


def roofline_charts(dots: Sequence[Dot], device: Device) -> tuple[Chart, ...]:
    """Return a chart for each class of operations: its *dots* under the ceilings of memory, caches and the class."""
    classes = grouped((dot.operations, dot) for dot in dots)
    return tuple(_roofline_chart(name, members, device) for name, members in classes.items())


def _roofline_chart(operations: str, dots: Sequence[Dot], device: Device) -> Chart:
    ceilings = _ceilings(operations, device)
    bends = [x for c in ceilings for x in (c.start, c.end) if 0 < x < math.inf]
    reach = [max(bends), *(dot.intensity for dot in dots)]
    low, high = min(reach) / _REACH, max(reach) * _REACH
    corners: list[tuple[float, Dot | None]] = [(x, None) for x in {low, high, *bends} if low <= x <= high]
    places = sorted([*corners, *((dot.intensity, dot) for dot in dots)], key=lambda place: place[0])
    series: list[tuple[str, Kind, list[Number]]] = [
        ("predicted", "specification", [dot.predicted_per_s if dot else None for _, dot in places]),
        ("observed", "observed", [dot.observed_per_s if dot else None for _, dot in places]),
    ]
    series += [(c.name, "ceiling", [c.at(x) for x, _ in places]) for c in ceilings]
    return Chart(
        title=operations_of(operations),
        x=Scale("arithmetic intensity", "op/B", "log10"),
        y=Scale("operations per second", "op/s", "log10"),
        at=tuple(x for x, _ in places),
        labels=tuple(printable(dot.name) if dot else "" for _, dot in places),
        series=tuple(
            Series(printable(name), kind, column) for name, kind, values in series if (column := _column(values))
        ),
        joined=False,
    )


def _ceilings(operations: str, device: Device) -> list[_Ceiling]:
    """Return the bandwidths up to the rate of a class of operations, and this rate from the ridge point of memory."""
    rate, memory = device.rate_per_s(operations), device.memory.bandwidth_bytes_per_s
    slopes = {"DRAM": memory, "DRAM, achievable": memory * device.memory.efficiency}
    slopes |= {cache.name: device.level_bandwidth_bytes_per_s(cache) for cache in reversed(device.caches)}
    bandwidths = (
        _Ceiling(f"{name}: {format_bandwidth(slope)}", 0, rate / slope, slope=slope) for name, slope in slopes.items()
    )
    text = f"{operations_of(operations)}: {format_value(rate, 'op/s')}"
    return [*bandwidths, _Ceiling(text, rate / memory, math.inf, rate=rate)]
