"""The figure of sweeps over sizes: for each curve the values, and below the values relative to the prediction."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from gpureport.records.ceilings import ceiling_label
from gpureport.records.curves import Feature, Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.figures.marks import Plateau, draw_marks, draw_plateaus, feature_marks, label_plateaus, plateaus
from gpureport.report.figures.theme import (
    BETWEEN_IN,
    DASHED,
    FAINT,
    FONT_PT,
    OBSERVED,
    PREDICTED,
    STRIP_IN,
    Margins,
    bars,
    binary_axis,
    dots,
    first_fitting,
    inches,
    interpolated,
    name_at_edge,
    place_across,
    ratio_axis,
    sheet,
    size_format,
    text_in,
    value_axis,
    write_above,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = TypeVar("P", bound=PredictedPoint | ObservedPoint)
Basis = Literal["bottleneck", "predicted", "observed"]
Line = tuple[Feature | None, Basis]
"""What a line above a curve shows: bottlenecks, or the marks of one feature."""

MOST_PANELS = 3
"""One row: small figures leave no large gaps at the ends of pages."""

_MARGINS = Margins(left=0.66, top=0.02, bottom=0.36)
_GAP_IN = 0.52  # between columns, with room for ticks and unit
_PLOT_IN = 1.06  # three rows with captions and a heading fill a page
_LINE_IN, _TITLE_IN = 0.11, 0.15  # of the head above each curve
_UNIT_IN = 0.14  # of the unit above the y axis
_MOST_TICKS = {1: 9, 2: 5, 3: 4}


def size_figure(curves: Sequence[CurveRecords], titles: Sequence[Sequence[str]]) -> "Figure":
    """Draw sweeps of one kind whose x axis is a size; each must have a point with x and value above 0.

    The lower panel of a curve shows the same marks divided by the prediction in the band; searches have none.

    Args:
        curves: at most :data:`MOST_PANELS`.
        titles: for each curve its titles, the longest first: the first that fits is drawn.
    """
    columns = len(curves)
    with_strips = any(_base(curve) for curve in curves)
    lines = mark_lines(curves)
    head = _TITLE_IN + _LINE_IN * (len(lines) + 0.5) + _UNIT_IN
    heights = [(head, _PLOT_IN), *([(BETWEEN_IN, STRIP_IN)] if with_strips else [])]
    figure, axes = sheet(heights, columns, margins=_MARGINS, gap_in=_GAP_IN)
    for column, (curve, known) in enumerate(zip(curves, titles, strict=True)):
        first, *below = found = axes[column::columns]
        _draw(found, curve, _MOST_TICKS[columns])
        _draw_head(found, curve, lines, named=column == 0)
        label_plateaus(first, observed_plateaus(curve), curve.value_unit, OBSERVED)
        write_title(first, first_fitting(known, inches(first)[0] + 0.3, 1.1 * FONT_PT), head - _TITLE_IN / 2)
        found[-1 if found[-1].get_visible() else 0].set_xlabel(curve.axis.label, labelpad=1)
        if column == 0 and below:
            name_at_edge(below[0], f"{seen_word(curves)} /\npredicted", _MARGINS.left)
        if column == 0 or curve.metric.label != curves[column - 1].metric.label:
            name_at_edge(first, curve.metric.label, _GAP_IN if column else _MARGINS.left)
    return figure


def mark_lines(curves: Sequence[CurveRecords]) -> tuple[Line, ...]:
    """Return the lines that any of the curves needs; searches have none."""
    found: set[Line] = {
        (mark.feature, basis)
        for curve in curves
        for basis, record in _marked(curve).items()
        for mark in feature_marks(record.features, record.points)
    }
    found |= {(None, "bottleneck") for curve in curves if curve.prediction and not curve.is_work_group}
    every: tuple[Line, ...] = (
        (None, "bottleneck"),
        ("cliff", "predicted"),
        ("cliff", "observed"),
        ("taper", "predicted"),
        ("taper", "observed"),
    )
    return tuple(line for line in every if line in found)


def _marked(curve: CurveRecords) -> dict[Basis, Prediction | Observation]:
    """Return the records whose features are drawn."""
    records: dict[Basis, Prediction | Observation | None]
    records = {"predicted": curve.specification or curve.calibrated, "observed": curve.observation}
    return {name: record for name, record in records.items() if record and record.points and not curve.is_work_group}


def heights(curve: CurveRecords) -> list[float]:
    """Return every drawn value of a curve above 0, including the ends of intervals."""
    observed = curve.observation.points if curve.observation else ()
    ends = [end for point in observed for end in (point.ci_low, point.ci_high)]
    return [value for value in [*(point.value for point in curve.points), *ends] if value > 0]


def drawable(points: Iterable[P]) -> list[P]:
    """Return the points that fit on logarithmic axes, in order."""
    return sorted((p for p in points if p.value > 0 and p.point.x > 0), key=lambda point: point.point.x)


def _draw(axes: "Sequence[Axes]", curve: CurveRecords, most_ticks: int) -> None:
    """Draw a curve on its axes: that of values, then that of ratios, if there is one."""
    values, *ratios = axes
    base = _base(curve)
    write = "{:.0f}".format if curve.is_work_group else size_format(curve.axis.unit)
    _draw_values(values, curve)
    for axis in axes:
        binary_axis(axis, write, most_ticks)
        x = [p.point.x for p in drawable(curve.points)]
        axis.set_xlim(min(x) / 1.15, max(x) * 1.15)
    if ratios and base and curve.observation:
        _draw_values(ratios[0], curve, base)
        seen = [(p.point.x, p.value / base(p.point.x)) for p in drawable(curve.observation.points)]
        ratio_axis(ratios[0], {OBSERVED: seen})
        values.tick_params(labelbottom=False)
    elif ratios:
        ratios[0].set_visible(False)
    draw_plateaus(values, observed_plateaus(curve), OBSERVED)
    value_axis(values, curve.value_unit, zero=curve.metric.kind == "rate")


def observed_plateaus(curve: CurveRecords) -> tuple[Plateau, ...]:
    """Return the observed plateaus that figures show; searches have none."""
    seen = _marked(curve).get("observed")
    return plateaus(seen.features, drawable(seen.points)) if seen else ()


def _draw_head(axes: "Sequence[Axes]", curve: CurveRecords, lines: Sequence[Line], *, named: bool) -> None:
    """Draw bottlenecks and *lines* of marks above the curve; the names of the lines, where *named*, left of it."""
    width, height = inches(axes[0])
    marked = _marked(curve)
    for number, (feature, basis) in enumerate(reversed(lines)):
        above = _UNIT_IN + _LINE_IN * (number + 0.6)
        at = 1 + above / height
        if named:
            name = seen_word([curve]) if basis == "observed" else basis
            write_above(axes[0], name, above, x=-0.05 / width, ha="right")
        if feature is None and curve.prediction:
            _draw_bottleneck(axes[0], curve.prediction, at)
        elif basis in marked:
            record, predicted = marked[basis], basis == "predicted"
            marks = [mark for mark in feature_marks(record.features, record.points) if mark.feature == feature]
            draw_marks(axes, marks, at, PREDICTED if predicted else OBSERVED, hollow=predicted)


def _base(curve: CurveRecords) -> Callable[[float], float] | None:
    """Return the prediction with the band as a function of x, interpolated on logarithmic axes."""
    points = drawable(curve.prediction.points) if curve.prediction else []
    if not points or not curve.observation or curve.is_work_group:
        return None
    return interpolated([(p.point.x, p.value) for p in points])


def _draw_values(axis: "Axes", curve: CurveRecords, base: Callable[[float], float] | None = None) -> None:
    """Draw band, predictions and observations, all divided by *base* of x: the prediction with the band."""
    import seaborn as sns

    of = base or (lambda _: 1.0)
    axis.set(xlabel=" ", ylabel=" ")  # else seaborn computes all ticks for labels of its own, in each call
    if curve.prediction:
        points = drawable(curve.prediction.points)
        x, middle = [p.point.x for p in points], [p.value / of(p.point.x) for p in points]
        low, high = ([m * p.spread**sign for m, p in zip(middle, points, strict=True)] for sign in (-1, 1))
        axis.fill_between(x, low, high, color=PREDICTED, alpha=0.15, linewidth=0)
    for prediction, dashes in ((curve.specification, DASHED), (curve.calibrated, "-")):
        if prediction and prediction is curve.prediction and base:
            axis.axhline(1, color=PREDICTED, linewidth=0.8, linestyle=dashes)
        elif prediction:
            points = drawable(prediction.points)
            x, y = [p.point.x for p in points], [p.value / of(p.point.x) for p in points]
            sns.lineplot(x=x, y=y, ax=axis, color=PREDICTED, linewidth=0.8, linestyle=dashes, estimator=None)
    if curve.observation:
        seen = drawable(curve.observation.points)
        x, bases = [p.point.x for p in seen], np.array([of(p.point.x) for p in seen])
        value, low, high = (
            np.array([(p.value, min(p.ci_low, p.value), max(p.ci_high, p.value)) for p in seen]).T / bases
        )
        bars(axis, x, low, high, OBSERVED)
        dots(axis, x, value, OBSERVED)
    axis.set(xlabel="", ylabel="")


def _draw_bottleneck(axis: "Axes", prediction: Prediction, height: float) -> None:
    """Write the bottlenecks above the curve, in alternating shades; *height* is in heights of the axes."""
    points = [point for point in sorted(prediction.points, key=lambda p: p.point.x) if point.point.x > 0]
    places = np.log([point.point.x for point in points])
    bounds = np.exp([*places[:1], *((a + b) / 2 for a, b in pairwise(places)), *places[-1:]])
    where = axis.get_xaxis_transform()
    width_in, _ = inches(axis)
    names = [ceiling_label(point.bottleneck) for point in points]
    for shade, (name, group) in enumerate(groupby(range(len(points)), key=names.__getitem__)):
        indices = list(group)
        start, end = bounds[indices[0]], bounds[indices[-1] + 1]
        axis.plot(
            (start, end),
            (height, height),
            transform=where,
            color="#EEEEEE" if shade % 2 else FAINT,
            linewidth=7,
            solid_capstyle="butt",
            clip_on=False,
        )
        if text_in(name) <= width_in * (place_across(axis, end) - place_across(axis, start)):
            axis.text(float(np.sqrt(start * end)), height, name, transform=where, ha="center", va="center")
