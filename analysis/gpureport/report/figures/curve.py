"""The figure of a sweep over sizes: predicted lines, observed points, and a strip of features."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records import CurveFeature, ObservedPoint, PredictedPoint, Prediction
from gpureport.report.curves import Curve
from gpureport.report.figures.style import (
    FAINT,
    INK,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    WIDTH_IN,
    binary_axis,
    new_figure,
    shorten,
    spread,
    value_axis,
)
from gpureport.report.figures.svg import svg
from gpureport.units import format_bytes, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = PredictedPoint | ObservedPoint

_ROW_IN = 0.19
_PLOT_IN = 2.35
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True)
class _Row:
    """One line of the strip: a record's features."""

    name: str
    colour: str
    dashes: str
    features: tuple[CurveFeature, ...]
    points: Sequence[Point]


@dataclass(frozen=True)
class Mark:
    """One feature on the x axis."""

    start: float
    main: float
    end: float
    low: float
    high: float
    text: str
    marker: str


@svg
def curve_figure(curve: Curve) -> "Figure":
    """Draw a sweep whose x axis is a size. It must have at least one point above 0."""
    points = [point for point in curve.points if point.value > 0 and point.point.x > 0]
    rows = _rows(curve)
    strip_in = _ROW_IN * (len(rows) + 1)
    figure = new_figure(_PLOT_IN + strip_in + 0.5)
    strip, axes = figure.subplots(
        2,
        1,
        sharex=True,
        gridspec_kw={
            "height_ratios": (strip_in, _PLOT_IN),
            "hspace": 0.05,
            "left": 0.16,
            "right": 0.875,
            "top": 0.995,
            "bottom": 0.42 / (_PLOT_IN + strip_in + 0.5),
        },
    )
    low, high = min(point.point.x for point in points), max(point.point.x for point in points)
    binary_axis(axes, low, high, x_text(curve))
    value_axis(axes, [point.value for point in points], curve.value_unit)
    axes.set_xlabel(shorten(curve.axis.label, 80))
    axes.set_ylabel(shorten(curve.metric.label))
    _draw_values(axes, curve)
    _draw_plateaus(axes, curve)
    _draw_strip(strip, axes, rows, curve.prediction)
    return figure


def x_text(curve: Curve) -> Callable[[float], str]:
    """Return what writes a power of two on the curve's x axis."""
    if curve.axis.quantity == "working_set":
        return format_bytes
    return lambda value: "2" + str(round(np.log2(value))).translate(_SUPERSCRIPTS)


def _rows(curve: Curve) -> tuple[_Row, ...]:
    named = (
        ("specification", PREDICTED, "--", curve.specification),
        ("calibrated", PREDICTED, "-", curve.calibrated),
        ("observed", OBSERVED, "-", curve.observation),
    )
    return tuple(
        _Row(name, colour, dashes, record.features, record.points)
        for name, colour, dashes, record in named
        if record is not None and record.points
    )


def _draw_values(axes: "Axes", curve: Curve) -> None:
    for prediction, dashes in ((curve.specification, (0, (4, 2))), (curve.calibrated, "-")):
        if prediction:
            x, y = _series(prediction.points)
            axes.plot(x, y, color=PREDICTED, linestyle=dashes, linewidth=1.1, zorder=2)
    if curve.observation and curve.observation.points:
        points = curve.observation.points
        x, y = _series(points)
        below = [max(0.0, point.value - point.ci_low) for point in points]
        above = [max(0.0, point.ci_high - point.value) for point in points]
        axes.errorbar(x, y, yerr=(below, above), fmt="o", color=OBSERVED, markersize=2.8, elinewidth=0.8, zorder=3)


def _series(points: Iterable[Point]) -> tuple[list[float], list[float]]:
    ordered = sorted(points, key=lambda point: point.point.x)
    return [point.point.x for point in ordered], [point.value for point in ordered]


def _draw_plateaus(axes: "Axes", curve: Curve) -> None:
    """Name the predicted plateaus at the right edge, each at its height."""
    if curve.prediction is None:
        return
    low, high = axes.get_ylim()
    plateaus = [f for f in curve.prediction.features if f.feature == "rate" and low < f.value < high]
    transform = axes.get_yaxis_transform()
    heights = [float(axes.transAxes.inverted().transform(axes.transData.transform((1, f.value)))[1]) for f in plateaus]
    for feature, height in zip(plateaus, spread(heights, 0.085), strict=True):
        axes.axhline(feature.value, color=PREDICTED, linewidth=0.5, linestyle=":", zorder=1)
        text = f"{feature.level}\n{format_value(feature.value, feature.unit)}"
        axes.text(
            1.015,
            height,
            text,
            transform=axes.transAxes,
            fontsize=SMALL_PT - 0.5,
            color=PREDICTED,
            va="center",
        )
        axes.plot(
            [1.0, 1.012],
            [feature.value] * 2,
            transform=transform,
            color=PREDICTED,
            linewidth=0.5,
            clip_on=False,
        )


def _draw_strip(strip: "Axes", axes: "Axes", rows: Sequence[_Row], prediction: Prediction | None) -> None:
    """Draw one row a record, and one that names what binds; join them to the curve with thin lines."""
    strip.set_ylim(len(rows) + 0.5, -0.5)
    strip.tick_params(bottom=False, labelbottom=False, left=False, labelsize=SMALL_PT)
    strip.spines[["left", "bottom"]].set_visible(False)
    strip.set_yticks(range(len(rows) + 1), ["what binds", *(row.name for row in rows)])
    for label, colour in zip(strip.get_yticklabels(), [MUTED, *(row.colour for row in rows)], strict=True):
        label.set_color(colour)
    if prediction:
        _draw_binding(strip, prediction)
    for height, row in enumerate(rows, start=1):
        marks = feature_marks(row.features, row.points)
        for mark in marks:
            _draw_mark(strip, mark, height, row)
            axes.axvline(mark.main, color=row.colour, linestyle=row.dashes, linewidth=0.5, alpha=0.5, zorder=1)
        _label_marks(strip, marks, height, row.colour)


def _draw_binding(strip: "Axes", prediction: Prediction) -> None:
    points = sorted(prediction.points, key=lambda point: point.point.x)
    bounds = [points[0].point.x]
    bounds += [float(np.sqrt(a.point.x * b.point.x)) for a, b in pairwise(points)]
    bounds.append(points[-1].point.x)
    for shade, (name, group) in enumerate(groupby(range(len(points)), key=lambda i: points[i].binding)):
        indices = list(group)
        start, end = bounds[indices[0]], bounds[indices[-1] + 1]
        strip.fill_betweenx([-0.4, 0.4], start, end, color="#EEEEEE" if shade % 2 else FAINT, linewidth=0)
        if _fits(strip, start, end, name):
            strip.text(np.sqrt(start * end), 0, name, ha="center", va="center_baseline", fontsize=SMALL_PT, color=INK)


def _draw_mark(strip: "Axes", mark: Mark, height: int, row: _Row) -> None:
    strip.plot([mark.low, mark.high], [height] * 2, color=row.colour, linewidth=6, alpha=0.25)
    strip.plot([mark.start, mark.end], [height] * 2, color=row.colour, linewidth=1, linestyle=row.dashes)
    strip.plot([mark.main], [height], color=row.colour, marker=mark.marker, markersize=4)


def _label_marks(strip: "Axes", marks: Sequence[Mark], height: int, colour: str) -> None:
    """Write each mark's text to its right or else its left, where it meets no other mark; else nowhere."""
    low, high = strip.get_xlim()
    starts = [min(mark.start, mark.low) for mark in marks] + [high * 1e9]
    ends = [low] + [max(mark.end, mark.high) for mark in marks]
    for index, mark in enumerate(marks):
        gap = 1.0 + 0.012 * float(np.log(high / low))
        room_right = (ends[index + 1] * gap, min(starts[index + 1], high))
        room_left = (ends[index], starts[index] / gap)
        if _fits(strip, *room_right, mark.text):
            strip.text(room_right[0], height, mark.text, va="center_baseline", fontsize=SMALL_PT, color=colour)
            ends[index + 1] *= float((high / low) ** _width(strip, mark.text)) * gap
        elif _fits(strip, *room_left, mark.text):
            strip.text(
                room_left[1],
                height,
                mark.text,
                va="center_baseline",
                ha="right",
                fontsize=SMALL_PT,
                color=colour,
            )


def _fits(strip: "Axes", start: float, end: float, text: str) -> bool:
    low, high = strip.get_xlim()
    return start > 0 and end > start and np.log(end / start) / np.log(high / low) > _width(strip, text)


def _width(strip: "Axes", text: str) -> float:
    """Estimate a text's width as a share of the axes: half an em a character."""
    return 0.53 * SMALL_PT / 72 * len(text) / (strip.get_position().width * WIDTH_IN)


def feature_marks(features: Iterable[CurveFeature], points: Sequence[Point]) -> tuple[Mark, ...]:
    """Place the cliffs and tapers that lie within the sweep on its x axis, from left to right."""
    placed: dict[tuple[str, str], dict[str, tuple[float, float, float, CurveFeature]]] = {}
    for feature in features:
        where = place(feature.value, feature.unit, points) if feature.feature != "rate" else None
        if where is None:
            continue
        low = place(feature.ci_low or feature.value, feature.unit, points) or where
        high = place(feature.ci_high or feature.value, feature.unit, points) or where
        placed.setdefault((feature.feature, feature.level), {})[feature.position] = (
            where,
            low,
            high,
            feature,
        )
    return tuple(sorted((_mark(kind, found) for (kind, _), found in placed.items()), key=lambda mark: mark.main))


def _mark(kind: str, found: dict[str, tuple[float, float, float, CurveFeature]]) -> Mark:
    preferred = found.get("midpoint") or found.get("n90") or next(iter(found.values()))
    main, low, high, feature = preferred
    places = [where for where, *_ in found.values()]
    value = format_value(feature.value, feature.unit)
    text = f"{feature.level} {value}" if kind == "cliff" else f"fills at {value.removesuffix(' work-items')}"
    return Mark(min(places), main, max(places), low, high, text, "v" if kind == "cliff" else "^")


def place(value: float, unit: str, points: Sequence[Point]) -> float | None:
    """Translate bytes or work-items into the sweep's x; ``None`` where that is outside it."""
    of = {"B": lambda p: p.point.working_set_bytes, "work-items": lambda p: p.point.work_items}.get(unit)
    if of is None or value <= 0:
        return None
    pairs = sorted({float(of(point)): point.point.x for point in points if of(point) > 0 and point.point.x > 0}.items())
    if len(pairs) < 2 or not pairs[0][0] / 1.1 <= value <= pairs[-1][0] * 1.1:
        return None
    sizes, positions = np.log(np.array(pairs)).T
    return float(np.exp(np.interp(np.log(value), sizes, positions)))
