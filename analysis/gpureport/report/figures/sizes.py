"""The figure of sweeps over sizes: one panel per curve, with predictions, observations, and bottlenecks above."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import TypeVar

import numpy as np

from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.figures.canvas import Ink
from gpureport.report.figures.marks import draw_marks, feature_marks
from gpureport.report.figures.panels import (
    BAND,
    CALIBRATED,
    COLUMNS,
    DOT,
    INTERVAL,
    SPECIFICATION,
    Panel,
    panels,
    size_scale,
    value_scale,
)
from gpureport.report.figures.style import FAINT, OBSERVED, PREDICTED, TINY_PT, text_in
from gpureport.report.run.curves import CurveRecords
from gpureport.units import format_bytes

P = TypeVar("P", bound=PredictedPoint | ObservedPoint)

MOST_PANELS = 6

_HEAD_IN = 0.44
_BOTTLENECK_IN, _PREDICTED_IN, _OBSERVED_IN = 0.24, 0.145, 0.055  # above the curve
_PLOT_IN = {1: 1.7, 2: 1.4, 3: 1.0}  # by panels side by side
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def size_figure(curves: Sequence[CurveRecords], titles: Sequence[str]) -> str:
    """Draw sweeps of one kind whose x axis is a size; each must have a point with x and value above 0."""
    columns = min(len(curves), COLUMNS)
    x = size_scale([p.point.x for curve in curves for p in drawable(curve.points)], x_text(curves[0]), 9 // columns)
    y = value_scale([value for curve in curves for value in heights(curve)], curves[0].value_unit)
    names = (curves[0].axis.label, value_label(curves))
    canvas, found = panels(titles, columns, _PLOT_IN[columns], _HEAD_IN, x, y, names)
    for panel, curve in zip(found, curves, strict=True):
        _draw(panel, curve)
    return canvas.drawn()


def value_label(curves: Sequence[CurveRecords | Prediction]) -> str:
    """Return the common last words of the metrics' labels, such as ``bandwidth``; if none, ``rate`` or ``time``."""
    first, *others = (curve.metric.label.split()[::-1] for curve in curves)
    same = [all(words[: n + 1] == first[: n + 1] for words in others) for n in range(len(first))]
    return " ".join(first[: sum(same)][::-1]) or curves[0].metric.kind


def x_text(curve: CurveRecords) -> Callable[[float], str]:
    """Return the format of powers of two on the curve's x axis."""
    if curve.axis.quantity == "working_set":
        return format_bytes
    if curve.is_work_group:
        return lambda value: str(round(value))
    return power_text


def power_text(value: float) -> str:
    """Format a power of two: ``2¹⁰``."""
    return "2" + str(round(np.log2(value))).translate(_SUPERSCRIPTS)


def heights(curve: CurveRecords) -> list[float]:
    """Return every drawn value of a curve above 0, including the ends of intervals."""
    observed = curve.observation.points if curve.observation else ()
    ends = [end for point in observed for end in (point.ci_low, point.ci_high)]
    return [value for value in [*(point.value for point in curve.points), *ends] if value > 0]


def drawable(points: Iterable[P]) -> list[P]:
    """Return the points that fit on logarithmic axes, in order."""
    return sorted((p for p in points if p.value > 0 and p.point.x > 0), key=lambda point: point.point.x)


def _draw(panel: Panel, curve: CurveRecords) -> None:
    if curve.prediction:
        draw_band(panel, curve.prediction)
    for prediction, pen in ((curve.specification, SPECIFICATION), (curve.calibrated, CALIBRATED)):
        if prediction:
            panel.line([(point.point.x, point.value) for point in drawable(prediction.points)], pen)
    if curve.observation:
        _draw_observed(panel, curve.observation.points)
    if curve.is_work_group or curve.prediction is None:
        return
    _draw_bottleneck(panel, curve.prediction)
    predicted = curve.specification or curve.calibrated
    for above_in, colour, record in (
        (_PREDICTED_IN, PREDICTED, predicted),
        (_OBSERVED_IN, OBSERVED, curve.observation),
    ):
        if record and record.points:
            draw_marks(panel, feature_marks(record.features, record.points), panel.top_in + above_in, colour)


def draw_band(panel: Panel, prediction: Prediction, band: Ink = BAND) -> None:
    """Shade the interval of a prediction."""
    points = drawable(prediction.points)
    upper = [panel.at(point.point.x, point.value * point.spread) for point in points]
    lower = [panel.at(point.point.x, point.value / point.spread) for point in points]
    if any(point.spread > 1 for point in points):
        panel.canvas.area([*upper, *reversed(lower)], band)


def _draw_observed(panel: Panel, points: Iterable[ObservedPoint]) -> None:
    """Draw the medians as dots, with intervals that are larger than the dot."""
    for point in points:
        if point.value > 0 and point.point.x > 0:
            x, y = point.point.x, point.value
            low, high = min(point.ci_low, y), max(point.ci_high, y)
            if max(panel.up(high) - panel.up(y), panel.up(y) - panel.up(low)) > DOT.width_pt / 72 / 2:
                panel.line(((x, low), (x, high)), INTERVAL)
            panel.line(((x, y), (x, y)), DOT)


def _draw_bottleneck(panel: Panel, prediction: Prediction) -> None:
    """Write the bottlenecks above the curve, in alternating shades."""
    points = [point for point in sorted(prediction.points, key=lambda p: p.point.x) if point.point.x > 0]
    places = [panel.across(point.point.x) for point in points]
    bounds = [*places[:1], *((a + b) / 2 for a, b in pairwise(places)), *places[-1:]]
    height = panel.top_in + _BOTTLENECK_IN
    for shade, (name, group) in enumerate(groupby(range(len(points)), key=lambda i: points[i].bottleneck)):
        indices = list(group)
        start, end = bounds[indices[0]], bounds[indices[-1] + 1]
        panel.canvas.rectangle((start, height - 0.05), (end, height + 0.05), Ink("#EEEEEE" if shade % 2 else FAINT))
        if start + text_in(name) <= end:
            panel.canvas.text(((start + end) / 2, height), name, size_pt=TINY_PT, ha="center")
