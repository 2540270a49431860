"""The figure of two devices side by side: a panel a sweep, with the predicted curve of each."""

from collections.abc import Sequence

from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.figures.canvas import Ink, Pen
from gpureport.report.figures.panels import BAND, Panel, columns_of, panels, size_scale, value_scale
from gpureport.report.figures.sizes import power_text, value_label
from gpureport.report.figures.style import OBSERVED, PREDICTED
from gpureport.units import format_bytes

Pair = tuple[Prediction, Prediction]
"""One sweep of the first device, and of the other."""

_HEAD_IN, _PLOT_IN = 0.22, {1: 2.1, 2: 1.5, 3: 1.05}
_PENS = (Pen(PREDICTED, 0.9), Pen(OBSERVED, 0.9, dashes=(4, 2)))
_BANDS = (BAND, Ink(OBSERVED, alpha=0.15))


def pair_figure(pairs: Sequence[Pair], titles: Sequence[str]) -> str:
    """Draw sweeps over sizes of one kind, at least one, as predicted of two devices."""
    first = pairs[0][0]
    every = [prediction for pair in pairs for prediction in pair]
    columns = columns_of(len(pairs))
    text = format_bytes if first.axis.quantity == "working_set" else power_text
    x = size_scale([point.point.x for each in every for point in _drawable(each)], text, 9 // columns)
    unit = f"{first.metric.unit}/s" if first.metric.kind == "rate" else "s"
    y = value_scale([point.value for each in every for point in _drawable(each)], unit)
    names = (first.axis.label, value_label(every))
    canvas, found = panels(titles, columns, _PLOT_IN[columns], _HEAD_IN, x, y, names)
    for panel, pair in zip(found, pairs, strict=True):
        for prediction, pen, band in zip(pair, _PENS, _BANDS, strict=True):
            _draw(panel, prediction, pen, band)
    return canvas.drawn()


def _drawable(prediction: Prediction) -> list[PredictedPoint]:
    """Return the points that a logarithmic axis has a place for, in order."""
    return sorted((p for p in prediction.points if p.value > 0 and p.point.x > 0), key=lambda point: point.point.x)


def _draw(panel: Panel, prediction: Prediction, pen: Pen, band: Ink) -> None:
    points = _drawable(prediction)
    upper = [panel.at(point.point.x, point.value * point.spread) for point in points]
    lower = [panel.at(point.point.x, point.value / point.spread) for point in points]
    panel.canvas.area([*upper, *reversed(lower)], band)
    panel.line([(point.point.x, point.value) for point in points], pen)
