"""Charts of sweeps: over sizes, and of separate cases."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import log
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from gpureport.grouping import grouped
from gpureport.records.ceilings import ceiling_label
from gpureport.records.curves import CurveFeature, Feature, Level, Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.figures.chart import Axis, Chart, Label, Mark, Panel, Role, Scale, Series, Style, stretch
from gpureport.text import shorten
from gpureport.units import abbreviated, format_ratio, format_value, scale_of

P = TypeVar("P", bound=PredictedPoint | ObservedPoint)
Point = PredictedPoint | ObservedPoint
Base = Callable[[float], float]
"""What values are divided by, a function of x."""

MOST_PANELS = {"sizes": 3, "cases": 2}
"""Panels of a figure: small figures leave no large gaps at the ends of pages."""
MOST_CASES = 30
"""Cases of one curve that are drawn, the first ones; all are in the table."""

UNITS = {"working_set": "B", "transfer": "B", "work_items": "work-items"}
"""Unit of each quantity on an x axis."""
_WIDE = 5.0  # largest / smallest value from which an axis of times is logarithmic
_WIDE_CASES = 20.0
_LINE_IN, _ROW_IN = 0.115, 0.14
_LABEL = 34  # characters of a case
_ON_PLATEAU = 0.06  # |ln| of a sample on a plateau / its value
_SHORTEST, _FEWEST_ON_IT = 1.4, 3  # last / first x of a plateau, and samples on it
_MOST_REACH = 4.0  # of ratios, above and below 1
_MAIN = {"cliff": "midpoint", "taper": "n90"}


def drawable(points: Iterable[P]) -> list[P]:
    """Return the points that fit on logarithmic axes, in order."""
    return sorted((p for p in points if p.value > 0 and p.point.x > 0), key=lambda point: point.point.x)


def place(value: float, unit: str, points: Sequence[Point]) -> float | None:
    """Convert bytes or work-items to the sweep's x; ``None`` outside the sweep."""
    of = {"B": lambda p: p.point.working_set_bytes, "work-items": lambda p: p.point.work_items}.get(unit)
    if of is None or value <= 0:
        return None
    pairs = sorted({float(of(point)): point.point.x for point in points if of(point) > 0 and point.point.x > 0}.items())
    if len(pairs) < 2 or not pairs[0][0] / 1.1 <= value <= pairs[-1][0] * 1.1:
        return None
    return interpolation(pairs)(value)


def interpolation(points: Sequence[tuple[float, float]]) -> Base:
    """Return y as a function of x, interpolated on logarithmic axes; *points* (at least one) are ascending in x."""
    x, y = np.log(np.array(points)).T
    return lambda at: float(np.exp(np.interp(np.log(at), x, y)))


def one(_: float) -> float:
    """Return 1: values that are divided by it stay as they are."""
    return 1.0


class FeatureMark(NamedTuple):
    """A cliff or taper on the x axis: its transition range, its main position, and the interval of this position."""

    feature: Feature
    start: float
    x: float
    end: float
    low: float
    high: float
    text: Label


def feature_marks(record: Prediction | Observation | None) -> tuple[FeatureMark, ...]:
    """Return the marks of the cliffs and tapers within the sweep, from left to right."""
    placed: dict[tuple[Feature, Level], dict[str, tuple[float, CurveFeature]]] = {}
    points = record.points if record else ()
    for feature in record.features if record else ():
        where = place(feature.value, feature.unit, points) if feature.feature != "rate" else None
        if where is not None:
            placed.setdefault((feature.feature, feature.level), {})[feature.position] = where, feature
    found = []
    for (kind, level), positions in placed.items():
        if _MAIN[kind] in positions:
            x, main = positions[_MAIN[kind]]
            low, high = (place(end or main.value, main.unit, points) or x for end in (main.ci_low, main.ci_high))
            value = format_value(main.value, "" if main.unit == "work-items" else main.unit)
            name = "unexplained" if level.is_unexplained else f"{level.name} near" if level.near else str(level)
            cliff = f"{name} cliff {value}", f"{name} {value}", value
            text = cliff if kind == "cliff" else (f"n90 {value}", value)
            places = [where for where, _ in positions.values()]
            found.append(FeatureMark(kind, min(places), x, max(places), low, high, text))
    return tuple(sorted(found, key=lambda mark: mark.x))


def plateaus(record: Prediction | Observation | None, role: Role) -> Iterator[Series]:
    """Yield a line with its value for each plateau, over the samples that lie on it.

    One that few samples reach, or only near one x, has none: fitted plateaus that no sample reaches, and
    values of a curve that falls or rises throughout.
    """
    points = drawable(record.points) if record else []
    for feature in (f for f in record.features if f.position == "plateau") if record else ():
        on_it = ((abs(log(p.value / feature.value)) < _ON_PLATEAU, p.point.x) for p in points)
        near = groupby(on_it, key=itemgetter(0))
        runs = [[x for _, x in group] for on_plateau, group in near if on_plateau]
        x = max(runs, key=lambda run: run[-1] / run[0], default=[1.0])
        if x[-1] >= _SHORTEST * x[0] and len(x) >= _FEWEST_ON_IT:
            yield Series("", role, "line", (x[0], x[-1]), (feature.value,) * 2, labelled=True)


def line_of(record: Prediction | Observation | None, base: Base = one) -> list[tuple[float, ...]]:
    """Return x, value and both ends of its interval for each point that can be drawn; values are divided by *base*."""
    return [
        (
            p.point.x,
            *(end / base(p.point.x) for end in (p.value, min(p.interval[0], p.value), max(p.interval[1], p.value))),
        )
        for p in drawable(record.points if record else ())
    ]


def predictions(curve: CurveRecords, base: Base = one) -> Iterator[Series]:
    """Yield the predictions, with the band of one of them, behind observations."""
    for record in (curve.specification, curve.calibrated):
        points, banded = line_of(record, base), record is curve.prediction
        if record and points:
            labelled = drawable(record.points) if banded and base is one else ()
            limits = tuple(ceiling_label(p.bottleneck) for p in labelled)
            name = PREDICTED_NAMES[record.kind] if base is one else ""
            style: Style = "dashes" if record.specified else "line"
            drawn = points if banded else [point[:2] for point in points]
            yield Series.of(name, "predicted", style, drawn, texts=limits)


PREDICTED_NAMES = {"specification": "predicted from the specification", "calibrated": "predicted, calibrated"}


def observed(curve: CurveRecords, base: Base = one) -> Iterator[Series]:
    """Yield the observed points with their intervals."""
    if points := line_of(curve.observation, base):
        name = seen_word([curve])
        yield Series.of(name if base is one else f"{name} / predicted", "observed", "dots", points)


def size_chart(curves: Sequence[CurveRecords], titles: Sequence[Label]) -> Chart:
    """Return the chart of sweeps over sizes; each must have a point with x and value above 0.

    Above each curve are bottlenecks, cliffs and tapers, below it the values divided by the prediction with the band.
    """
    tracks = [_tracks(curve) for curve in curves]
    rows = sorted({row for found in tracks for row in found})
    return Chart(tuple(_stack(*each, rows) for each in zip(curves, titles, tracks, strict=True)))


Tracks = Mapping[tuple[int, str], list[Series]]
"""Rows above a curve, by place and name: what is drawn in each of them, at 0."""


def _marked(curve: CurveRecords) -> dict[Role, tuple[FeatureMark, ...]]:
    records: dict[Role, Prediction | Observation | None]
    records = {"predicted": curve.specification or curve.calibrated, "observed": curve.observation}
    return {role: feature_marks(record) for role, record in records.items()}


def _tracks(curve: CurveRecords) -> Tracks:
    found: dict[tuple[int, str], list[Series]] = {}
    if curve.prediction:
        found[0, "bottleneck"] = [_bottlenecks(curve.prediction)]
    for role, marks in _marked(curve).items():
        for kind, of in grouped((mark.feature, mark) for mark in marks).items():
            name = f"{kind}, {seen_word([curve]) if role == 'observed' else role}"
            found[1 + 2 * (kind == "taper") + (role == "observed"), name] = [*_mark_series(name, role, of)]
    return found


def _mark_series(name: str, role: Role, marks: Sequence[FeatureMark]) -> Iterator[Series]:
    yield Series.of("", role, "ranges", [(mark.x, 0.0, mark.start, mark.end) for mark in marks])
    intervals = [(mark.x, 0.0, mark.low, mark.high) for mark in marks]
    style: Style = "down" if marks[0].feature == "cliff" else "up"
    yield Series.of(name, role, style, intervals, wide=True, texts=tuple(m.text for m in marks), labelled=True)


def _stack(curve: CurveRecords, title: Label, tracks: Tracks, rows: Sequence[tuple[int, str]]) -> tuple[Panel, ...]:
    ends = stretch([point.point.x for point in drawable(curve.points)], 1.15)
    x = Axis(curve.axis.label, UNITS.get(curve.axis.quantity, ""), "log2", ends)
    marks = tuple(Mark(m.x, m.x, role=role) for role, found in _marked(curve).items() for m in found)
    values = (*predictions(curve), *observed(curve))
    y = Axis(curve.metric.label, curve.metric.value_unit, value_scale(values, rate=curve.metric.kind == "rate"))
    known = [(p.point.x, p.value) for p in drawable(curve.prediction.points)] if curve.prediction else []
    below = known and curve.observation
    panels = [
        Panel(
            x,
            y,
            (*values, *plateaus(curve.observation, "observed")),
            "" if rows else title,
            marks=marks,
            joined=bool(below),
        )
    ]
    if rows:
        names = Axis(scale="rows", rows=tuple(name for _, name in rows))
        drawn = [replace(s, y=(float(n),) * len(s.x)) for n, row in enumerate(rows) for s in tracks.get(row, ())]
        panels.insert(0, Panel(x, names, tuple(drawn), title, len(rows) * _LINE_IN, joined=True))
    if below:
        base = interpolation(known)
        ratio = Axis("ratio", scale="ratio", ends=(0.0, _MOST_REACH))
        panels.append(Panel(x, ratio, (*predictions(curve, base), *observed(curve, base)), "", 0.4, marks))
    return tuple(panels)


def value_scale(series: Iterable[Series], *, rate: bool) -> Scale:
    """Return the scale of an axis of values: logarithmic for times that span a factor of five, else from 0."""
    values = [value for each in series for value in each.y]
    return "zero" if rate or max(values) <= _WIDE * min(values) else "log10"


def _bottlenecks(prediction: Prediction) -> Series:
    points = sorted((point for point in prediction.points if point.point.x > 0), key=lambda point: point.point.x)
    x = [point.point.x for point in points]
    bounds = [x[0], *((a * b) ** 0.5 for a, b in pairwise(x)), x[-1]]
    names = [ceiling_label(point.bottleneck) for point in points]
    parts = [(name, [*group]) for name, group in groupby(range(len(x)), key=names.__getitem__)]
    ends = [(bounds[part[0]], bounds[part[-1] + 1]) for _, part in parts]
    boxes = [((low * high) ** 0.5, 0.0, low, high) for low, high in ends]
    return Series.of("", "ink", "boxes", boxes, texts=tuple(name for name, _ in parts), labelled=True)


def case_chart(curves: Sequence[CurveRecords], titles: Sequence[Label]) -> Chart:
    """Return the chart of separate cases, a row each; every curve must have a point with a value above 0."""
    return Chart(tuple((_case_panel(*each),) for each in zip(curves, titles, strict=True)))


def _case_panel(curve: CurveRecords, title: Label) -> Panel:
    ordered = sorted(curve.points, key=lambda point: point.point.x)
    labels = list(dict.fromkeys(point.point.label for point in ordered if point.value > 0))[:MOST_CASES]
    rows = {label: float(row) for row, label in enumerate(labels)}
    series = list(_case_series(curve, rows))
    values = [value for each in series for value in each.x]
    wide = max(values) > _WIDE_CASES * min(values)
    return Panel(
        Axis(curve.metric.label, curve.metric.value_unit, "log10" if wide else "zero"),
        Axis(scale="rows", rows=tuple(shorten(label, _LABEL) for label in labels)),
        tuple(series),
        title,
        len(labels) * _ROW_IN,
        notes=tuple(_case_notes(curve, labels, max(values))),
    )


def _case_series(curve: CurveRecords, rows: Mapping[str, float]) -> Iterator[Series]:
    """Yield predictions and observations of cases; of predictions, one has the intervals."""
    for record in (curve.specification, curve.calibrated):
        found = [p for p in (record.points if record else ()) if p.point.label in rows and p.value > 0]
        if record and found:
            spreads = [p.interval if record is curve.prediction else () for p in found]
            points = [(p.value, rows[p.point.label], *ends) for p, ends in zip(found, spreads, strict=True)]
            style: Style = "rings" if record.specified else "strokes"
            yield Series.of(PREDICTED_NAMES[record.kind], "predicted", style, points, wide=True)
    seen = [p for p in (curve.observation.points if curve.observation else ()) if p.point.label in rows and p.value > 0]
    if seen:
        points = [(p.value, rows[p.point.label], min(p.ci_low, p.value), max(p.ci_high, p.value)) for p in seen]
        yield Series.of(seen_word([curve]), "observed", "dots", points)


def _case_notes(curve: CurveRecords, labels: Sequence[str], largest: float) -> Iterator[tuple[str, Role]]:
    """Yield for each case its observed value and its ratio to the prediction, or the predicted one; then a heading."""
    record = curve.specification or curve.calibrated
    predicted = {p.point.label: p.value for p in record.points} if record else {}
    seen = {p.point.label: p.value for p in curve.observation.points} if curve.observation else {}
    divisor, _ = scale_of(largest, abbreviated(curve.metric.value_unit))
    role: Role = "observed" if seen else "predicted"
    for label in labels:
        value = (seen or predicted).get(label)
        ratio = f" ({format_ratio(value / predicted[label])})" if seen and value and predicted.get(label) else ""
        yield f"{format_ratio(value / divisor)}{ratio}" if value else "", role
    yield (f"{seen_word([curve])}{' (ratio)' if predicted else ''}" if seen else "predicted"), role
