"""The figure of one sweep on several machines: one panel for each sweep, one curve for each machine."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpureport.compare.records import MachineCurve
from gpureport.report.figures.landmarks import MACHINES
from gpureport.report.figures.sizes import power_text
from gpureport.report.figures.style import DASHED, FONT_PT, fitted
from gpureport.report.figures.theme import Margins, binary_axis, dots, inches, named, sheet, value_axis
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 3

_PLOT_IN = {1: 1.9, 2: 1.5, 3: 1.2}
_MARGINS = Margins(left=0.66, top=0.4, right=0.1)


def machine_figure(sweeps: Sequence[Sequence[MachineCurve]], machines: Sequence[str]) -> "Figure":
    """Draw *sweeps*, at most :data:`MOST_PANELS`; *machines* are the names in the order of their colours.

    Observed curves are dots with lines. Predicted ones are dashed lines.
    """
    columns = len(sweeps)
    figure, (axes,) = sheet([(0, _PLOT_IN[columns])], columns, margins=_MARGINS, gap_in=0.52)
    colours = dict(zip(machines, MACHINES, strict=False))
    for axis, curves in zip(axes, sweeps, strict=True):
        _draw(axis, curves, colours, 9 // columns)
    named(figure, [(name, colours[name]) for name in machines])
    return figure


def _draw(axis: "Axes", curves: Sequence[MachineCurve], colours: Mapping[str, str], most_ticks: int) -> None:
    for curve in curves:
        x, y = [point.x for point in curve.points], [point.value for point in curve.points]
        colour = colours[curve.machine]
        axis.plot(x, y, color=colour, linewidth=0.7, linestyle="-" if curve.observed else DASHED)
        if curve.observed:
            dots(axis, x, y, colour, 2.0)
    first = curves[0]
    binary_axis(axis, format_bytes if first.axis.quantity in ("working_set", "transfer") else power_text, most_ticks)
    value_axis(axis, first.metric.value_unit, zero=first.metric.kind == "rate")
    axis.set_title(fitted(first.key.variant, inches(axis)[0] / 1.1, FONT_PT), pad=14)
    axis.set_xlabel(first.axis.label, labelpad=1)
    axis.set_ylabel("")
