"""The figure of one sweep on several machines: one panel for each sweep, one curve for each machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.compare.records import MachineCurve
from gpureport.report.figures.landmarks import MACHINES
from gpureport.report.figures.theme import (
    BETWEEN_IN,
    FONT_PT,
    STRIP_IN,
    Margins,
    Pairs,
    bars,
    binary_axis,
    dots,
    fitted,
    inches,
    interpolated,
    name_at_edge,
    named,
    ratio_axis,
    sheet,
    size_format,
    value_axis,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 3

_PLOT_IN = {1: 1.5, 2: 1.3, 3: 1.2}
_MARGINS = Margins(left=0.66, top=0.5, right=0.1, bottom=0.36)
_TITLE_IN, _GAP_IN = 0.24, 0.52
_MOST_REACH = 25.0  # of ratios, above and below 1
_DASH, _SPACE = 4.0, 2.0  # line widths; the dashes of machines begin at different places, so that equal curves are seen


def machine_figure(sweeps: Sequence[Sequence[MachineCurve]], machines: Sequence[str]) -> "Figure":
    """Draw *sweeps*, at most :data:`MOST_PANELS`; *machines* are the names in the order of their colours.

    Observed curves are dots with lines, with intervals as bars. Predicted ones are dashed lines, with intervals as
    bands. Below a curve are the values divided by those of the first machine, if it has the sweep; without bands, which
    are not those of ratios: predictions share uncertainties.
    """
    columns = len(sweeps)
    bases = [base_of(curves, machines) for curves in sweeps]
    heights = [(0.0, _PLOT_IN[columns]), *([(BETWEEN_IN, STRIP_IN)] if any(bases) else [])]
    figure, axes = sheet(heights, columns, margins=_MARGINS, gap_in=_GAP_IN)
    for column, (curves, base) in enumerate(zip(sweeps, bases, strict=True)):
        _draw(axes[column::columns], curves, machines, base, 9 // columns)
    labels = [curves[0].metric.label for curves in sweeps]
    for column, (axis, label) in enumerate(zip(axes, labels, strict=False)):
        if not column or label != labels[column - 1]:
            name_at_edge(axis, label, _GAP_IN if column else _MARGINS.left)
    if bases[0]:
        name_at_edge(axes[columns], "ratio", _MARGINS.left)
    named(figure, list(zip(machines, MACHINES, strict=False)))
    return figure


def base_of(curves: Sequence[MachineCurve], machines: Sequence[str]) -> MachineCurve | None:
    """Return the curve that all are divided by: that of the first of *machines*, if there is another one."""
    return next((curve for curve in curves if curve.machine == machines[0] and len(curves) > 1), None)


def _draw(
    axes: "Sequence[Axes]",
    curves: Sequence[MachineCurve],
    machines: Sequence[str],
    base: MachineCurve | None,
    most_ticks: int,
) -> None:
    """Draw a sweep on its axes: that of values, then that of ratios, if there is one."""
    first, (values, *below) = curves[0], axes
    _draw_curves(values, curves, machines)
    x = [point.x for curve in curves for point in curve.points]
    for axis in axes:
        binary_axis(axis, size_format(first.axis.unit), most_ticks)
        axis.set_xlim(min(x) / 1.15, max(x) * 1.15)
    value_axis(values, first.metric.value_unit, zero=first.metric.kind == "rate")
    write_title(values, fitted(first.key.variant, (inches(values)[0] + 0.3) / 1.1, FONT_PT), _TITLE_IN)
    if base and below:
        ratio_axis(below[0], _draw_curves(below[0], curves, machines, base), _MOST_REACH)
        values.tick_params(labelbottom=False)
    elif below:
        below[0].set_visible(False)
    (below[0] if base and below else values).set_xlabel(first.axis.label, labelpad=1)


def _draw_curves(
    axis: "Axes", curves: Sequence[MachineCurve], machines: Sequence[str], base: MachineCurve | None = None
) -> dict[str, Pairs]:
    """Draw all curves, divided by *base* where it has values; return x and y of each, by colour."""
    colours = dict(zip(machines, MACHINES, strict=False))
    under = interpolated([(point.x, point.value) for point in base.points]) if base else lambda _: 1.0
    ends = (base.points[0].x, base.points[-1].x) if base else (0.0, np.inf)
    drawn: dict[str, Pairs] = {}
    for curve in curves:
        points = [point for point in curve.points if ends[0] / 1.01 <= point.x <= ends[1] * 1.01]
        if not points:
            continue
        colour, number = colours[curve.machine], machines.index(curve.machine)
        x, bases = [point.x for point in points], np.array([under(point.x) for point in points])
        y = np.array([point.value for point in points]) / bases
        drawn[colour] = list(zip(x, y, strict=True))
        dashes = (number * (_DASH + _SPACE) / 2, (_DASH, _SPACE))
        axis.plot(x, y, color=colour, linewidth=0.8, linestyle="-" if curve.observed else dashes)
        ends_of = np.array([(p.ci_low or np.nan, p.ci_high or np.nan) for p in points]).T
        low, high = ends_of / bases
        if curve.observed:
            bars(axis, x, low, high, colour)
            dots(axis, x, y, colour, 2.0)
        elif base is None:
            axis.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
    return drawn
