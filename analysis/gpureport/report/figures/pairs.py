"""The figure of two devices: one panel per sweep, with the predicted curves of both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpureport.records.prediction import Prediction
from gpureport.report.figures.sizes import COLUMNS, drawable, power_text
from gpureport.report.figures.style import DASHED, OBSERVED, PREDICTED, shorten
from gpureport.report.figures.theme import binary_axis, sheet, value_axis
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pair = tuple[Prediction, Prediction]
"""One sweep of the first and of the second device."""

_PLOT_IN = {1: 2.1, 2: 1.5, 3: 1.05}


def pair_figure(pairs: Sequence[Pair], titles: Sequence[str]) -> "Figure":
    """Draw the predictions of two devices for sweeps over one kind of size (at least one sweep)."""
    import seaborn as sns

    columns = min(len(pairs), COLUMNS)
    rows = -(-len(pairs) // columns)
    figure, axes = sheet([(0.45 if row else 0, _PLOT_IN[columns]) for row in range(rows)], columns, gap_in=0.55)
    places = [axis for row in axes for axis in row]
    for axis, pair, title in zip(places, pairs, titles, strict=False):
        for prediction, colour, dashes in zip(pair, (PREDICTED, OBSERVED), ("-", DASHED), strict=True):
            points = drawable(prediction.points)
            x, y = [point.point.x for point in points], [point.value for point in points]
            low, high = ([p.value * p.spread**sign for p in points] for sign in (-1, 1))
            axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
            sns.lineplot(x=x, y=y, ax=axis, color=colour, linestyle=dashes)
        first = pair[0]
        binary_axis(axis, format_bytes if first.axis.quantity == "working_set" else power_text, 9 // columns)
        value_axis(axis, first.metric.value_unit, zero=first.metric.kind == "rate")
        axis.set_title(shorten(title, 90 // columns))
        axis.set_xlabel(first.axis.label)
        axis.set_ylabel("")
    for axis in places[len(pairs) :]:
        axis.remove()
    return figure
