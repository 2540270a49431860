"""The figure of separate cases (instructions, strides): bars of observed values, ticks of predicted ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpureport.records.observation import ObservedPoint
from gpureport.report.figures.canvas import Canvas, Ink, Pen
from gpureport.report.figures.panels import BAND, INTERVAL, Panel, Scale, value_scale, zero_scale
from gpureport.report.figures.sizes import heights
from gpureport.report.figures.style import OBSERVED, PREDICTED, SMALL_PT, WIDTH_IN, shorten
from gpureport.report.run.curves import CurveRecords

MOST_CASES = 30
"""Cases of one curve that are drawn, the first ones; all are in the table."""
MOST_ROWS = 50
"""Bars of one figure."""

_ROW_IN, _HEAD_IN, _FOOT_IN = 0.125, 0.2, 0.3
_LABEL_IN, _GAP_IN, _RIGHT_IN = 1.25, 0.2, 0.15
_LABEL = 26  # characters
_MOST_TICKS = 4
_SPECIFICATION, _CALIBRATED = Pen(PREDICTED, 1.5, order=4), Pen(PREDICTED, 1.0, dashes=(1, 1), order=4)
_WIDE = 20.0  # largest / smallest value from which the axis is logarithmic


def case_labels(curve: CurveRecords) -> list[str]:
    """Return the labels of the drawn cases, in the order of the sweep."""
    ordered = sorted(curve.points, key=lambda point: point.point.x)
    return list(dict.fromkeys(point.point.label for point in ordered if point.value > 0))[:MOST_CASES]


def case_figure(curves: Sequence[CurveRecords], titles: Sequence[str]) -> str:
    """Draw curves of separate cases, two panels side by side; each must have a point with a value above 0."""
    columns = min(2, len(curves))
    width = (WIDTH_IN - _GAP_IN * (columns - 1)) / columns - _LABEL_IN - _RIGHT_IN
    bottoms = [0.0] * columns
    plan = []
    for curve in curves:
        column = bottoms.index(min(bottoms))
        bottoms[column] += _HEAD_IN + _ROW_IN * len(case_labels(curve)) + _FOOT_IN
        plan.append((column, bottoms[column]))
    canvas = Canvas(max(bottoms))
    for curve, title, (column, bottom) in zip(curves, titles, plan, strict=True):
        left = _LABEL_IN + column * (width + _RIGHT_IN + _LABEL_IN + _GAP_IN)
        labels = case_labels(curve)
        y = Scale(-0.5, len(labels) - 0.5, (), (), logarithmic=False)
        place = (left, canvas.height_in - bottom + _FOOT_IN, width, _ROW_IN * len(labels))
        fitting = (each for x in _scales(curve) if (each := Panel(canvas, *place, x, y)).ticks_fit)
        panel = max(fitting, key=lambda each: len(each.x.ticks))  # one tick always fits
        panel.frame(labels=(True, False))
        name = shorten(f"{title}: {curve.metric.label}", round((width + _LABEL_IN) * 14))
        canvas.text((left - _LABEL_IN, panel.top_in + 0.09), name, weight=600)
        _draw(panel, curve, labels)
    return canvas.drawn()


def _scales(curve: CurveRecords) -> Iterator[Scale]:
    """Yield scales of a curve's values, from many ticks to a single one."""
    values = heights(curve)
    for most in range(_MOST_TICKS, 1, -1):
        if max(values) > _WIDE * min(values):
            scale = value_scale(values, curve.value_unit, most)
        else:
            scale = zero_scale(max(values), curve.value_unit, most)
        for every in range(1, _MOST_TICKS + 1):
            yield replace(scale, ticks=scale.ticks[::every], texts=scale.texts[::every])


def _draw(panel: Panel, curve: CurveRecords, labels: Sequence[str]) -> None:
    """Draw the first case at the top."""
    rows = {label: panel.up(len(labels) - 1 - number) for number, label in enumerate(labels)}
    for label, height in rows.items():
        text = shorten(label, _LABEL)
        panel.canvas.text((panel.left_in - 0.04, height), text, size_pt=SMALL_PT, ha="right")
    if curve.observation:
        for point in curve.observation.points:
            if point.point.label in rows and point.value > 0:
                _draw_bar(panel, point, rows[point.point.label])
    for prediction, pen in ((curve.specification, _SPECIFICATION), (curve.calibrated, _CALIBRATED)):
        for predicted in prediction.points if prediction else ():
            if predicted.point.label in rows and predicted.value > 0:
                x, height = panel.across(predicted.value), rows[predicted.point.label]
                if prediction is curve.prediction and predicted.spread > 1:
                    ends = [
                        panel.across(predicted.value * factor) for factor in (1 / predicted.spread, predicted.spread)
                    ]
                    low, high = (ends[0], height - 0.35 * _ROW_IN), (ends[1], height + 0.35 * _ROW_IN)
                    panel.canvas.rectangle(low, high, BAND)
                panel.canvas.segment((x, height - 0.45 * _ROW_IN), (x, height + 0.45 * _ROW_IN), pen)


def _draw_bar(panel: Panel, point: ObservedPoint, height: float) -> None:
    end = panel.across(point.value)
    panel.canvas.rectangle((panel.left_in, height - 0.03), (end, height + 0.03), Ink(OBSERVED, alpha=0.5))
    low, high = panel.across(min(point.ci_low, point.value)), panel.across(max(point.ci_high, point.value))
    panel.canvas.segment((low, height), (high, height), INTERVAL)
