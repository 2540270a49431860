"""The figure of two devices: one panel per sweep, with the predicted curves of both."""

from collections.abc import Sequence

from gpureport.records.prediction import Prediction
from gpureport.report.figures.canvas import Ink, Pen
from gpureport.report.figures.panels import BAND, COLUMNS, panels, size_scale, value_scale
from gpureport.report.figures.sizes import drawable, value_label, x_text
from gpureport.report.figures.style import OBSERVED, PREDICTED
from gpureport.units import format_bytes

Pair = tuple[Prediction, Prediction]
"""One sweep of the first and of the second device."""

_HEAD_IN, _PLOT_IN = 0.22, {1: 2.1, 2: 1.5, 3: 1.05}
_PENS = (Pen(PREDICTED, 0.9), Pen(OBSERVED, 0.9, dashes=(4, 2)))
_BANDS = (BAND, Ink(OBSERVED, alpha=0.15))


def pair_figure(pairs: Sequence[Pair], titles: Sequence[str]) -> str:
    """Draw the predictions of two devices for sweeps over one kind of size (at least one sweep)."""
    first = pairs[0][0]
    every = [prediction for pair in pairs for prediction in pair]
    columns = min(len(pairs), COLUMNS)
    text = format_bytes if first.axis.quantity == "working_set" else power_text
    x = size_scale([point.point.x for each in every for point in drawable(each.points)], text, 9 // columns)
    y = value_scale([point.value for each in every for point in drawable(each.points)], first.metric.value_unit)
    names = (first.axis.label, value_label(every))
    canvas, found = panels(titles, columns, _PLOT_IN[columns], _HEAD_IN, x, y, names)
    for panel, pair in zip(found, pairs, strict=True):
        for prediction, pen, band in zip(pair, _PENS, _BANDS, strict=True):
            draw_band(panel, prediction, band)
            panel.line([(point.point.x, point.value) for point in drawable(prediction.points)], pen)
    return canvas.drawn()
