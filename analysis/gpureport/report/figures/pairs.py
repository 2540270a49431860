"""The figure of two devices: one panel per sweep, with the predicted curves of both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.figures.sizes import drawable, power_text
from gpureport.report.figures.style import DASHED, FONT_PT, OBSERVED, PREDICTED, SMALL_PT, fitted, spread
from gpureport.report.figures.theme import Margins, binary_axis, named, sheet, value_axis
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[Prediction, Prediction]
"""One sweep of the first and of the second device."""
MOST_PANELS = 3

_COLUMNS = 2
_PLOT_IN = {1: 1.9, 2: 1.5}
_APART_PT = 8.0  # between the letters of two curves
_COLOURS = (PREDICTED, OBSERVED)


def pair_figure(pairs: Sequence[Pair], titles: Sequence[str], devices: Sequence[tuple[str, str]]) -> "Figure":
    """Draw the predictions of two devices for sweeps over one kind of size (at least one sweep).

    *devices* are letter and name of both; the letters stand at the ends of their curves.
    """
    columns = min(len(pairs), _COLUMNS)
    rows = -(-len(pairs) // columns)
    heights = [(0.45 if row else 0.17, _PLOT_IN[columns]) for row in range(rows)]
    figure, axes = sheet(heights, columns, margins=Margins(right=0.25), gap_in=1.05)
    places = [axis for row in axes for axis in row]
    for number, (axis, pair, title) in enumerate(zip(places, pairs, titles, strict=False)):
        _draw(axis, pair, columns)
        width_in = axis.get_window_extent().width / axis.figure.dpi
        axis.set_title(fitted(title, width_in / 1.1, FONT_PT))
        axis.set_xlabel(pair[0].axis.label if number + columns >= len(pairs) else "")
        _letters(axis, pair, [letter for letter, _ in devices])
    for axis in places[len(pairs) :]:
        axis.remove()
    names = [f"{letter}: {name}" for letter, name in devices]
    named(figure, list(zip(names, _COLOURS, strict=True)))
    return figure


def _draw(axis: "Axes", pair: Pair, columns: int) -> None:
    """Draw both curves with their intervals."""
    import seaborn as sns

    for prediction, colour, dashes in zip(pair, _COLOURS, ("-", DASHED), strict=True):
        points = drawable(prediction.points)
        x, y = [point.point.x for point in points], [point.value for point in points]
        low, high = ([p.value * p.spread**sign for p in points] for sign in (-1, 1))
        axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        sns.lineplot(x=x, y=y, ax=axis, color=colour, linestyle=dashes)
    first = pair[0]
    binary_axis(axis, format_bytes if first.axis.quantity in ("working_set", "transfer") else power_text, 8 // columns)
    value_axis(axis, first.metric.value_unit, zero=first.metric.kind == "rate")
    axis.set_ylabel("")
    axis.tick_params(axis="x", pad=5)  # apart from the lowest text of the y axis


def _letters(axis: "Axes", pair: Pair, letters: Sequence[str]) -> None:
    """Write each device's letter at the end of its curve."""
    ends: list[PredictedPoint] = [drawable(prediction.points)[-1] for prediction in pair]
    heights = [float(axis.transData.transform((end.point.x, end.value))[1]) for end in ends]
    pt = 72 / axis.figure.dpi
    placed = np.array(spread([height * pt for height in heights], _APART_PT)) / pt
    bottom, top = axis.bbox.y0, axis.bbox.y1
    for letter, end, height, colour in zip(letters, ends, placed, _COLOURS, strict=True):
        axis.annotate(
            letter,
            (end.point.x, (height - bottom) / (top - bottom)),
            (3, 0),
            ("data", "axes fraction"),
            "offset points",
            color=colour,
            size=SMALL_PT,
            weight=600,
            va="center",
        )
