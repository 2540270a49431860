"""Positions of cliffs and tapers on a sweep's x axis, and their marks above its curve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.features import CurveFeature
from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.figures.style import SMALL_PT, text_in
from gpureport.units import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpureport.records.levels import Level

Point = PredictedPoint | ObservedPoint

_GAP_IN = 0.05  # between a mark and its text


@dataclass(frozen=True)
class FeatureMark:
    """One feature on the x axis."""

    start: float
    main: float
    end: float
    low: float
    high: float
    texts: tuple[str, str]
    """A longer and a shorter one."""
    shape: str
    """Marker of matplotlib."""


def feature_marks(features: Iterable[CurveFeature], points: Sequence[Point]) -> tuple[FeatureMark, ...]:
    """Return the marks of the cliffs and tapers within the sweep, from left to right."""
    placed: dict[tuple[str, Level], dict[str, tuple[float, float, float, CurveFeature]]] = {}
    for feature in features:
        where = place(feature.value, feature.unit, points) if feature.feature != "rate" else None
        if where is None:
            continue
        low = place(feature.ci_low or feature.value, feature.unit, points) or where
        high = place(feature.ci_high or feature.value, feature.unit, points) or where
        placed.setdefault((feature.feature, feature.level), {})[feature.position] = (where, low, high, feature)
    marks = (_mark(kind, found) for (kind, _), found in placed.items() if _MAIN[kind] in found)
    return tuple(sorted(marks, key=lambda mark: mark.main))


_MAIN = {"cliff": "midpoint", "taper": "n90"}
"""The main position of each feature."""


def _mark(kind: str, found: dict[str, tuple[float, float, float, CurveFeature]]) -> FeatureMark:
    main, low, high, feature = found[_MAIN[kind]]
    places = [where for where, *_ in found.values()]
    value = format_value(feature.value, feature.unit)
    level = "unexplained" if feature.level.is_unexplained else feature.level
    items = value.removesuffix(" work-items")
    taper = (f"90 % of peak at {items}", f"n90 {items}")
    texts = (f"{level} cliff {value}", f"{level} {value}") if kind == "cliff" else taper
    return FeatureMark(min(places), main, max(places), low, high, texts, "v" if kind == "cliff" else "^")


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


def draw_marks(axes: "Sequence[Axes]", marks: Sequence[FeatureMark], height: float, colour: str) -> None:
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
        first.plot(mark.main, height, mark.shape, transform=where, color=colour, markersize=3.5, clip_on=False)
        for axis in axes:
            axis.axvline(mark.main, color=colour, linewidth=0.5, alpha=0.45, zorder=1)
    _label_marks(first, marks, height, colour)


def _label_marks(axis: "Axes", marks: Sequence[FeatureMark], height: float, colour: str) -> None:
    """Write each mark's text to its right, or else to its left, if it overlaps no other mark there.

    If the longer text fits nowhere, the shorter one is tried. Overlapping marks count as one wide mark.
    """
    low, high = np.log(axis.get_xlim())
    width_in = axis.get_window_extent().width / axis.figure.dpi

    def across(x: float) -> float:
        """Return inches from the left edge of the axes."""
        return float((np.log(x) - low) / (high - low)) * width_in

    left = [across(min(mark.start, mark.low)) - _GAP_IN for mark in marks]
    right = [across(max(mark.end, mark.high)) + _GAP_IN for mark in marks]
    starts = list(accumulate([width_in, *reversed(left)], min))[::-1]
    ends = list(accumulate([0.0, *right], max))
    for index, mark in enumerate(marks):
        for text in mark.texts:
            width = text_in(text, SMALL_PT)
            after = ends[index + 1] + width <= starts[index + 1]
            if after or ends[index] + width <= starts[index]:
                x = ends[index + 1] if after else starts[index]
                axis.annotate(
                    text,
                    (x / width_in, height),
                    xycoords="axes fraction",
                    size=SMALL_PT,
                    color=colour,
                    ha="left" if after else "right",
                    va="center",
                )
                ends[index + 1] += width if after else 0
                break
