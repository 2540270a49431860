"""Positions of cliffs, tapers and plateaus on a sweep's x axis, and their marks on its curve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import CurveFeature, Feature, ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.figures.theme import inches, place_across, readable, text_in
from gpureport.units import format_value, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpureport.records.curves import Level

Point = PredictedPoint | ObservedPoint
Floats = NDArray[np.float64]

_GAP_IN = 0.05  # between a mark and its text
_LETTER_IN = 0.1  # height of a line of text
_ACROSS, _TEXT = 0.1, 1e6  # weights of points on upright lines and of texts; of others: 1
_CLEAR_IN, _DENSE_IN = 0.02, 0.03  # space beside a text; distance of points on lines
_FITTED_PART = 0.3  # of the range of a fitted plateau that is drawn
_NEAR = 0.9  # value / plateau from which a curve has reached it


@dataclass(frozen=True)
class FeatureMark:
    """One feature on the x axis."""

    feature: Feature
    start: float
    x: float
    """Of the main position."""
    end: float
    low: float
    high: float
    texts: tuple[str, ...]
    """The longest first."""


@dataclass(frozen=True)
class Plateau:
    """An observed plateau: its value over a range of x."""

    start: float
    end: float
    value: float
    best: float | None
    """The best sample, if the plateau was fitted and exceeds all samples."""


_MAIN = {"cliff": "midpoint", "taper": "n90"}
"""The main position of each feature."""
_SHAPES: dict[Feature, str] = {"cliff": "v", "taper": "^"}
"""Markers of matplotlib."""


def feature_marks(features: Iterable[CurveFeature], points: Sequence[Point]) -> tuple[FeatureMark, ...]:
    """Return the marks of the cliffs and tapers within the sweep, from left to right."""
    placed: dict[tuple[Feature, Level], dict[str, tuple[float, float, float, CurveFeature]]] = {}
    for feature in features:
        where = place(feature.value, feature.unit, points) if feature.feature != "rate" else None
        if where is None:
            continue
        low = place(feature.ci_low or feature.value, feature.unit, points) or where
        high = place(feature.ci_high or feature.value, feature.unit, points) or where
        placed.setdefault((feature.feature, feature.level), {})[feature.position] = (where, low, high, feature)
    marks = (_mark(kind, found) for (kind, _), found in placed.items() if _MAIN[kind] in found)
    return tuple(sorted(marks, key=lambda mark: mark.x))


def _mark(kind: Feature, found: dict[str, tuple[float, float, float, CurveFeature]]) -> FeatureMark:
    main, low, high, feature = found[_MAIN[kind]]
    places = [where for where, *_ in found.values()]
    unit = "" if feature.unit == "work-items" else feature.unit
    value = format_value(feature.value, unit)
    level = "unexplained" if feature.level.is_unexplained else str(feature.level).removesuffix(" partition")
    taper = (f"n90 {value}", value)
    cliff = (f"{level} cliff {value}", f"{level} {value}", value)
    return FeatureMark(kind, min(places), main, max(places), low, high, cliff if kind == "cliff" else taper)


def plateaus(features: Sequence[CurveFeature], points: Sequence[Point]) -> tuple[Plateau, ...]:
    """Return the plateaus of a curve: each from the cliff or taper before it to its own cliff.

    One without such a start begins at the first value near it. Of a fitted plateau, which the samples only approach, it
    is the last part.
    """
    ends = _ranges(features, points)
    x = [point.point.x for point in points if point.point.x > 0]
    rises = [mark.x for mark in feature_marks(features, points) if mark.feature == "taper"]
    found = []
    for feature in features:
        if feature.position == "plateau" and x:
            end = ends[feature.level][0] if feature.level in ends else max(x)
            before = [high for level, (_, high) in ends.items() if level != feature.level and high < end]
            near = [p.point.x for p in points if p.point.x > 0 and _NEAR <= p.value / feature.value <= 1 / _NEAR]
            start = max([*before, *(rise for rise in rises if rise < end)], default=min(near, default=min(x)))
            start = start if feature.best_point is None else end * (start / end) ** _FITTED_PART
            found.append(Plateau(start, end, feature.value, feature.best_point))
    return tuple(found)


def _ranges(features: Iterable[CurveFeature], points: Sequence[Point]) -> "dict[Level, tuple[float, float]]":
    """Return the range of each cliff within the sweep, by the level that ends there."""
    placed: dict[Level, list[float]] = {}
    for feature in features:
        where = place(feature.value, feature.unit, points) if feature.feature == "cliff" else None
        if where is not None:
            placed.setdefault(feature.level, []).append(where)
    return {level: (min(found), max(found)) for level, found in placed.items()}


def place(value: float, unit: str, points: Sequence[Point]) -> float | None:
    """Convert bytes or work-items to the sweep's x; ``None`` outside the sweep."""
    of = {"B": lambda p: p.point.working_set_bytes, "work-items": lambda p: p.point.work_items}.get(unit)
    if of is None or value <= 0:
        return None
    pairs = sorted({float(of(point)): point.point.x for point in points if of(point) > 0 and point.point.x > 0}.items())
    if len(pairs) < 2 or not pairs[0][0] / 1.1 <= value <= pairs[-1][0] * 1.1:
        return None
    sizes, positions = np.log(np.array(pairs)).T
    return float(np.exp(np.interp(np.log(value), sizes, positions)))


def draw_marks(
    axes: "Sequence[Axes]", marks: Sequence[FeatureMark], height: float, colour: str, *, hollow: bool = False
) -> None:
    """Draw *marks* above the first of *axes*, with a line down through all: transition range, interval, position, name.

    *height* is in heights of the first axes.
    """
    first = axes[0]
    where = first.get_xaxis_transform()
    for mark in marks:
        for ends, width, alpha in (((mark.low, mark.high), 4.0, 0.3), ((mark.start, mark.end), 0.7, 1.0)):
            first.plot(
                ends, (height, height), transform=where, color=colour, linewidth=width, alpha=alpha, clip_on=False
            )
        first.plot(
            mark.x,
            height,
            _SHAPES[mark.feature],
            transform=where,
            color=colour,
            markersize=3.5,
            markeredgewidth=0.8,
            markerfacecolor="white" if hollow else colour,
            clip_on=False,
        )
        for axis in axes:
            axis.axvline(mark.x, color=colour, linewidth=0.5, alpha=0.45, zorder=1)
    _label_marks(first, marks, height, colour)


def _label_marks(axis: "Axes", marks: Sequence[FeatureMark], height: float, colour: str) -> None:
    """Write each mark's text to its right, or else to its left, if it overlaps no other mark there.

    If the longer text fits nowhere, the shorter one is tried. Overlapping marks count as one wide mark.
    """
    width_in, _ = inches(axis)
    left = [place_across(axis, min(mark.start, mark.low)) * width_in - _GAP_IN for mark in marks]
    right = [place_across(axis, max(mark.end, mark.high)) * width_in + _GAP_IN for mark in marks]
    starts = list(accumulate([width_in, *reversed(left)], min))[::-1]
    ends = list(accumulate([0.0, *right], max))
    for index, mark in enumerate(marks):
        for text in mark.texts:
            width = text_in(text)
            after = ends[index + 1] + width <= starts[index + 1]
            if after or ends[index] + width <= starts[index]:
                x = ends[index + 1] if after else starts[index]
                side = "left" if after else "right"
                axis.annotate(
                    text, (x / width_in, height), xycoords="axes fraction", color=readable(colour), ha=side, va="center"
                )
                ends[index + 1] += width if after else 0
                break


def draw_plateaus(axis: "Axes", found: Sequence[Plateau], colour: str) -> None:
    """Draw a horizontal line over each plateau."""
    for each in found:
        axis.plot((each.start, each.end), (each.value,) * 2, color=colour, linewidth=1.1, alpha=0.6)


def label_plateaus(axis: "Axes", found: Sequence[Plateau], unit: str, colour: str) -> None:
    """Write the value of each plateau near its line, free of what is drawn, the last plateau first.

    Values are in the axis's unit; fitted ones come with the best sample.
    """
    divisor, _ = scale_of(axis.dataLim.y1, unit)
    for each in reversed(found):
        text = _number(each.value / divisor)
        if each.best is not None:
            text = f"fitted {text}, best {_number(each.best / divisor)}"
        label_line(axis, text, (each.start, each.end), each.value, colour)


def label_line(axis: "Axes", text: str, ends: tuple[float, float], value: float, colour: str) -> None:
    """Write *text* where it covers least of the lines of *axis*, as near as possible to a line; never on a text.

    Args:
        axis: axes with their final limits.
        text: one line.
        ends: x of the ends of the horizontal line that the text describes.
        value: y of that line.
        colour: of the text; it is darkened until the text is readable.
    """
    size = inches(axis)
    to_axes = axis.transData + axis.transAxes.inverted()
    (left, line), (right, _) = to_axes.transform([(ends[0], value), (ends[1], value)]) * size
    half = text_in(text) / 2, _LETTER_IN / 2
    x, y = (each.ravel() for each in np.meshgrid(_along(left, right, half[0], size[0]), _beside(line, size[1])))
    filled, weights = _filled(axis)
    covers = (np.abs(x[:, None] - filled[:, 0]) < half[0] + _CLEAR_IN) & (np.abs(y[:, None] - filled[:, 1]) < half[1])
    covered = covers @ weights
    best = np.lexsort((np.abs(y - line) + 0.3 * np.abs(x - (left + right) / 2), covered))[0]
    if covered[best] >= _TEXT:
        return
    axis.text(
        x[best] / size[0],
        y[best] / size[1],
        text,
        transform=axis.transAxes,
        color=readable(colour),
        ha="center",
        va="center",
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0},  # over upright lines
    )


def _along(left: float, right: float, half: float, width: float) -> Floats:
    """Return the middles of a text of half-width *half* along a line from *left* to *right*, inside the axes."""
    middles = np.linspace(min(left, right - 2 * half), max(right, left + 2 * half), 15)
    found: Floats = np.clip(np.append(middles, (left + right) / 2), half, max(width - half, half))
    return found


def _beside(line: float, height: float) -> Floats:
    """Return the heights of a text above and below a line, inside the axes."""
    away = np.linspace(0.75, 5.5, 20) * _LETTER_IN
    found = np.concatenate((line + away, line - away))
    inside: Floats = found[(found >= _LETTER_IN / 2) & (found <= height - _LETTER_IN / 2)]
    return inside if inside.size else np.array([height / 2])


def _filled(axis: "Axes") -> tuple[Floats, Floats]:
    """Return points on all lines and texts of the axes, and their weights: less for upright lines, most for texts.

    The points are in inches from the lower left corner, shape (n, 2); the weights have shape (n,).
    """
    from matplotlib.text import Annotation

    to_axes, size = axis.transAxes.inverted(), np.array(inches(axis))
    points, weights = [np.empty((0, 2))], [np.empty(0)]
    for line in axis.lines:
        shown = line.get_transform().transform(line.get_xydata())
        vertices = to_axes.transform(np.atleast_2d(shown)) * size
        gaps = np.nan_to_num(np.hypot(*np.diff(vertices, axis=0).T))
        counts = np.clip(gaps / _DENSE_IN, 0, 400).astype(int) + 1
        parts = (np.linspace(a, b, n, endpoint=False) for a, b, n in zip(vertices, vertices[1:], counts, strict=False))
        points.append(np.concatenate([*parts, vertices[-1:]]))
        upright = len(vertices) == 2 and abs(vertices[1, 0] - vertices[0, 0]) < _DENSE_IN
        weights.append(np.full(len(points[-1]), _ACROSS if upright else 1.0))
    for text in axis.texts:
        middle = to_axes.transform(text.get_transform().transform(text.get_position())) * size
        half = text_in(text.get_text()) / 2
        if not isinstance(text, Annotation):
            points.append(middle + np.array([[x, y] for x in np.linspace(-half, half, 9) for y in (-0.04, 0.0, 0.04)]))
            weights.append(np.full(len(points[-1]), _TEXT))
    found = np.concatenate(points)
    finite = np.isfinite(found).all(axis=1)
    return found[finite], np.concatenate(weights)[finite]


def _number(value: float) -> str:
    """Write four digits, of large numbers all."""
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
