"""The figure of sweeps over sizes: for each curve the values, and below the values relative to the prediction."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.figures.marks import draw_marks, feature_marks
from gpureport.report.figures.style import DASHED, FAINT, INK, MUTED, OBSERVED, PREDICTED, SMALL_PT, shorten, text_in
from gpureport.report.figures.theme import Margins, bars, binary_axis, dots, sheet, value_axis
from gpureport.report.run.curves import CurveRecords
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = TypeVar("P", bound=PredictedPoint | ObservedPoint)

COLUMNS = 3
MOST_PANELS = 3
"""One row: small figures leave no large gaps at the ends of pages."""

_HEAD_IN = 0.62
"""Above each curve: title, bottlenecks, predicted and observed marks."""
_BOTTLENECK_IN, _PREDICTED_IN, _OBSERVED_IN = 0.31, 0.18, 0.07
_PLOT_IN = {1: 1.7, 2: 1.4, 3: 1.1}  # by panels side by side
_STRIP_IN, _BETWEEN_IN = 0.4, 0.06
_MOST_TICKS = {1: 9, 2: 5, 3: 4}
_LEAST_REACH, _MOST_REACH = 1.3, 4.0  # of the strip, above and below 1
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def size_figure(curves: Sequence[CurveRecords], titles: Sequence[str]) -> "Figure":
    """Draw sweeps of one kind whose x axis is a size; each must have a point with x and value above 0.

    The lower panel of a curve shows the same marks divided by the prediction in the band.
    """
    columns = min(len(curves), COLUMNS)
    rows = -(-len(curves) // columns)
    with_strips = any(curve.prediction and curve.observation for curve in curves)
    heights = [(_HEAD_IN + (0.35 if row else 0), _PLOT_IN[columns]) for row in range(rows)]
    if with_strips:
        heights = [each for pair in heights for each in (pair, (_BETWEEN_IN, _STRIP_IN))]
    figure, axes = sheet(heights, columns, margins=Margins(top=0.02), gap_in=0.55)
    each_row = 2 if with_strips else 1
    for index, (curve, title) in enumerate(zip(curves, titles, strict=True)):
        row, column = divmod(index, columns)
        found = [line[column] for line in axes[row * each_row : (row + 1) * each_row]]
        _draw(found, curve, shorten(title, 90 // columns), _MOST_TICKS[columns])
        found[0].set_ylabel(value_label([curve]) if column == 0 else "")
        found[-1].set_xlabel(curve.axis.label)
        if with_strips and column == 0:
            found[-1].set_ylabel("observed /\npredicted")
    for index in range(len(curves), rows * columns):
        for line in axes[(rows - 1) * each_row :]:
            line[index % columns].remove()
    figure.align_ylabels()
    return figure


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


def _draw(axes: "Sequence[Axes]", curve: CurveRecords, title: str, most_ticks: int) -> None:
    """Draw a curve on its axes: that of values, then that of ratios, if there is one."""
    values, *ratios = axes
    base = _base(curve)
    _draw_values(values, curve, lambda _: 1.0)
    if ratios and base:
        _draw_values(ratios[0], curve, base)
        ratios[0].axhline(1, color=MUTED, linewidth=0.5, zorder=1)
        _ratio_axis(ratios[0])
    elif ratios:
        ratios[0].set_visible(False)
    for axis in axes:
        binary_axis(axis, x_text(curve), most_ticks)
        axis.set_xlim(*_ends([p.point.x for p in drawable(curve.points)]))
    if ratios:
        values.tick_params(labelbottom=ratios[0] is None or not ratios[0].get_visible())
    value_axis(values, curve.value_unit, zero=curve.metric.kind == "rate")
    height = values.get_window_extent().height / values.figure.dpi
    top = 1 + (_HEAD_IN - 0.14) / height
    values.text(0, top, title, transform=values.transAxes, weight=600, va="bottom")
    if curve.is_work_group or curve.prediction is None:
        return
    _draw_bottleneck(values, curve.prediction, 1 + _BOTTLENECK_IN / height)
    predicted = curve.specification or curve.calibrated
    for above_in, colour, record in (
        (_PREDICTED_IN, PREDICTED, predicted),
        (_OBSERVED_IN, OBSERVED, curve.observation),
    ):
        if record and record.points:
            draw_marks(axes, feature_marks(record.features, record.points), 1 + above_in / height, colour)


def _base(curve: CurveRecords) -> Callable[[float], float] | None:
    """Return the prediction with the band as a function of x, interpolated on logarithmic axes."""
    points = drawable(curve.prediction.points) if curve.prediction else []
    if not points or not curve.observation:
        return None
    x, y = np.log([p.point.x for p in points]), np.log([p.value for p in points])
    return lambda at: float(np.exp(np.interp(np.log(at), x, y)))


def _draw_values(axis: "Axes", curve: CurveRecords, base: Callable[[float], float]) -> None:
    """Draw band, predictions and observations, all divided by *base* of x."""
    import seaborn as sns

    if curve.prediction:
        points = drawable(curve.prediction.points)
        x, middle = [p.point.x for p in points], [p.value / base(p.point.x) for p in points]
        low, high = ([m * p.spread**sign for m, p in zip(middle, points, strict=True)] for sign in (-1, 1))
        axis.fill_between(x, low, high, color=PREDICTED, alpha=0.15, linewidth=0)
    for prediction, dashes in ((curve.specification, DASHED), (curve.calibrated, "-")):
        if prediction:
            points = drawable(prediction.points)
            line = {"x": [p.point.x for p in points], "y": [p.value / base(p.point.x) for p in points]}
            sns.lineplot(line, x="x", y="y", ax=axis, color=PREDICTED, linewidth=0.8, linestyle=dashes, legend=False)
    if curve.observation:
        seen = drawable(curve.observation.points)
        x, bases = [p.point.x for p in seen], np.array([base(p.point.x) for p in seen])
        value, low, high = (
            np.array([(p.value, min(p.ci_low, p.value), max(p.ci_high, p.value)) for p in seen]).T / bases
        )
        bars(axis, x, low, high, OBSERVED)
        dots(axis, x, value, OBSERVED)
    axis.set(xlabel="", ylabel="")


def _ratio_axis(axis: "Axes") -> None:
    """Make the axis of ratios logarithmic, symmetrical around 1, within limits."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    found = [float(y) for line in axis.get_lines() for y in np.asarray(line.get_ydata(), dtype=float) if y > 0]
    reach = min(max([_LEAST_REACH, *(1.05 * max(y, 1 / y) for y in found)]), _MOST_REACH)
    axis.set_yscale("log")
    axis.set_ylim(1 / reach, reach)
    near = 1.2 if reach < 1.7 else 1.5 if reach < 2.5 else 2.0
    axis.yaxis.set_major_locator(FixedLocator([1 / near, 1, near]))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}"))
    axis.yaxis.set_minor_locator(NullLocator())


def _ends(x: Sequence[float]) -> tuple[float, float]:
    return min(x) / 1.15, max(x) * 1.15


def _draw_bottleneck(axis: "Axes", prediction: Prediction, height: float) -> None:
    """Write the bottlenecks above the curve, in alternating shades; *height* is in heights of the axes."""
    points = [point for point in sorted(prediction.points, key=lambda p: p.point.x) if point.point.x > 0]
    places = np.log([point.point.x for point in points])
    bounds = np.exp([*places[:1], *((a + b) / 2 for a, b in pairwise(places)), *places[-1:]])
    left, right = np.log(axis.get_xlim())
    width_in = axis.get_window_extent().width / axis.figure.dpi
    for shade, (name, group) in enumerate(groupby(range(len(points)), key=lambda i: points[i].bottleneck)):
        indices = list(group)
        start, end = bounds[indices[0]], bounds[indices[-1] + 1]
        axis.plot(
            (start, end),
            (height, height),
            transform=axis.get_xaxis_transform(),
            color="#EEEEEE" if shade % 2 else FAINT,
            linewidth=7,
            solid_capstyle="butt",
            clip_on=False,
        )
        if text_in(name, SMALL_PT) <= width_in * np.log(end / start) / (right - left):
            middle = float(np.sqrt(start * end))
            where = axis.get_xaxis_transform()
            axis.text(middle, height, name, transform=where, size=SMALL_PT, ha="center", va="center", color=INK)
