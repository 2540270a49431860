"""Positions of cliffs and tapers on a sweep's x axis, and their marks above its curve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.features import CurveFeature
from gpureport.records.observation import ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.figures.canvas import Ink, Pen, Shape
from gpureport.report.figures.panels import Panel
from gpureport.report.figures.style import TINY_PT, text_in
from gpureport.units import format_value

if TYPE_CHECKING:
    from gpureport.records.levels import Level

Point = PredictedPoint | ObservedPoint

_TIP_IN, _GAP_IN = 0.03, 0.05


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
    shape: Shape


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
    return FeatureMark(min(places), main, max(places), low, high, texts, "down" if kind == "cliff" else "up")


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


def draw_marks(panel: Panel, marks: Sequence[FeatureMark], height_in: float, colour: str) -> None:
    """Draw *marks* above the panel's curve: transition range, interval, position, name, and a line down to the axis."""
    canvas = panel.canvas
    for mark in marks:
        left, right = panel.across(mark.start), panel.across(mark.end)
        low, main, high = (panel.across(x) for x in (mark.low, mark.main, mark.high))
        canvas.rectangle((low, height_in - 0.03), (high, height_in + 0.03), Ink(colour, alpha=0.3))
        canvas.segment((left, height_in), (right, height_in), Pen(colour, 0.7))
        canvas.segment((main, panel.bottom_in), (main, panel.top_in), Pen(colour, 0.5, alpha=0.45, order=1))
        canvas.mark((main, height_in), mark.shape, _TIP_IN, Ink(colour, order=3))
    _label_marks(panel, marks, height_in, colour)


def _label_marks(panel: Panel, marks: Sequence[FeatureMark], height_in: float, colour: str) -> None:
    """Write each mark's text to its right, or else to its left, if it overlaps no other mark there.

    If the longer text fits nowhere, the shorter one is tried. Overlapping marks count as one wide mark.
    """
    left = [panel.across(min(mark.start, mark.low)) - _GAP_IN for mark in marks]
    right = [panel.across(max(mark.end, mark.high)) + _GAP_IN for mark in marks]
    starts = list(accumulate([panel.right_in, *reversed(left)], min))[::-1]
    ends = list(accumulate([panel.left_in, *right], max))
    for index, mark in enumerate(marks):
        for text in mark.texts:
            width = text_in(text)
            if ends[index + 1] + width <= starts[index + 1]:
                panel.canvas.text((ends[index + 1], height_in), text, size_pt=TINY_PT, colour=colour)
                ends[index + 1] += width
                break
            if ends[index] + width <= starts[index]:
                panel.canvas.text((starts[index], height_in), text, size_pt=TINY_PT, colour=colour, ha="right")
                break
