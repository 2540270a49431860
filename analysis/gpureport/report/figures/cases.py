"""The figure of separate cases (instructions, strides): one line per case with the predicted and the observed value."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpureport.records.curves import ObservedPoint
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.figures.sizes import heights
from gpureport.report.figures.theme import (
    FONT_PT,
    OBSERVED,
    PREDICTED,
    WIDTH_IN,
    across,
    dots,
    first_fitting,
    inches,
    panel,
    value_ticks,
    write_above,
    write_title,
)
from gpureport.text import shorten
from gpureport.units import abbreviated, format_ratio, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CASES = 30
"""Cases of one curve that are drawn, the first ones; all are in the table."""
MOST_ROWS = 24
"""Lines of one figure: small figures leave no large gaps at the ends of pages."""

_ROW_IN, _HEAD_IN, _FOOT_IN, _TOP_IN = 0.14, 0.24, 0.42, 0.04
_LABEL_IN, _VALUE_IN, _GAP_IN = 1.2, 0.8, 0.15
_LABEL = 24  # characters
_NARROW_IN = 2.0  # width of a plot with few ticks
_WIDE = 20.0  # largest / smallest value from which the axis is logarithmic


def case_labels(curve: CurveRecords) -> list[str]:
    """Return the labels of the drawn cases, in the order of the sweep."""
    ordered = sorted(curve.points, key=lambda point: point.point.x)
    return list(dict.fromkeys(point.point.label for point in ordered if point.value > 0))[:MOST_CASES]


def case_figure(curves: Sequence[CurveRecords], titles: Sequence[Sequence[str]]) -> "Figure":
    """Draw curves of separate cases, two panels side by side; each must have a point with a value above 0.

    *titles* are for each curve its titles, the longest first.
    """
    from matplotlib.figure import Figure

    columns = min(2, len(curves))
    column_in = (WIDTH_IN - _GAP_IN * (columns - 1)) / columns
    bottoms = [_TOP_IN] * columns
    plan = []
    for curve in curves:
        column = bottoms.index(min(bottoms))
        bottoms[column] += _HEAD_IN + _ROW_IN * len(case_labels(curve)) + _FOOT_IN
        plan.append((column, bottoms[column]))
    height = max(bottoms)
    figure = Figure(figsize=(WIDTH_IN, height))
    width = column_in - _LABEL_IN - _VALUE_IN
    for curve, known, (column, bottom) in zip(curves, titles, plan, strict=True):
        labels = case_labels(curve)
        left, size = column * (column_in + _GAP_IN) + _LABEL_IN, _ROW_IN * len(labels)
        axis = panel(figure, left, height - bottom + _FOOT_IN, width, size)
        _draw(axis, curve, labels)
        _write_values(axis, curve, labels, width)
        title = first_fitting(known, column_in - _VALUE_IN, 1.1 * FONT_PT)
        write_title(axis, title, 0.1, x=-_LABEL_IN / width)
    return figure


def _draw(axis: "Axes", curve: CurveRecords, labels: Sequence[str]) -> None:
    """Draw the first case at the top: band, predictions, observation with its interval."""
    row = {label: number for number, label in enumerate(labels)}
    if curve.prediction:
        points = [p for p in curve.prediction.points if p.point.label in row and p.value > 0 and p.spread > 1]
        low, high = ([p.value * p.spread**sign for p in points] for sign in (-1, 1))
        across(axis, [row[p.point.label] for p in points], low, high, PREDICTED, 6, alpha=0.18)
    for prediction, marker in ((curve.specification, "o"), (curve.calibrated, "|")):
        found = [p for p in (prediction.points if prediction else ()) if p.point.label in row and p.value > 0]
        x, y = [p.value for p in found], [row[p.point.label] for p in found]
        axis.plot(x, y, marker, color=PREDICTED, markersize=4.2, markerfacecolor="white", markeredgewidth=0.9, zorder=3)
    seen = _observed(curve, labels)
    rows = [row[label] for label in seen]
    low, high = [min(p.ci_low, p.value) for p in seen.values()], [max(p.ci_high, p.value) for p in seen.values()]
    across(axis, rows, low, high, OBSERVED, 0.8)
    dots(axis, [p.value for p in seen.values()], rows, OBSERVED, 3.4)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.set_yticks(range(len(labels)), [shorten(label, _LABEL) for label in labels])
    ends = [p.value * p.spread**sign for p in (curve.prediction.points if curve.prediction else ()) for sign in (-1, 1)]
    values = [value for value in (*heights(curve), *ends) if value > 0]
    wide = max(values) > _WIDE * min(values)
    if wide:
        axis.set_xscale("log")
    limits = min(values) / 1.2 if wide else 0.0, max(values) * (1.2 if wide else 1.05)
    axis.set_xlim(*limits)
    unit = value_ticks(
        axis.xaxis, limits, _scale(curve), logarithmic=wide, most=3 if inches(axis)[0] < _NARROW_IN else 6
    )
    axis.set_xlabel(f"{curve.metric.label} ({unit})", labelpad=1)


def _scale(curve: CurveRecords) -> tuple[float, str]:
    return scale_of(max(heights(curve)), abbreviated(curve.value_unit))


def _observed(curve: CurveRecords, labels: Sequence[str]) -> dict[str, ObservedPoint]:
    points = curve.observation.points if curve.observation else ()
    return {p.point.label: p for p in points if p.point.label in labels and p.value > 0}


def _write_values(axis: "Axes", curve: CurveRecords, labels: Sequence[str], width_in: float) -> None:
    """Write to the right of each case its observed value and the ratio to the prediction; or the predicted value."""
    seen = _observed(curve, labels)
    prediction = curve.specification or curve.calibrated
    predicted = {p.point.label: p.value for p in prediction.points} if prediction else {}
    divisor, _ = _scale(curve)
    colour, right = OBSERVED if seen else PREDICTED, 1 + _VALUE_IN / width_in
    head = f"{seen_word([curve])}{' (ratio)' if predicted else ''}" if seen else "predicted"
    write_above(axis, head, 0.08, x=right, colour=colour, ha="right")
    for row, label in enumerate(labels):
        value = seen[label].value if label in seen else None if seen else predicted.get(label)
        text = "" if value is None else format_ratio(value / divisor)
        if label in seen and predicted.get(label):
            text += f" ({format_ratio(seen[label].value / predicted[label])})"
        where = axis.get_yaxis_transform()
        axis.text(right, row, text, transform=where, color=colour, ha="right", va="center_baseline")
