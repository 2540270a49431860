"""Where cliffs and tapers lie on a sweep's x axis, and how they are drawn above its curve."""

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
class Mark:
    """One feature on the x axis."""

    start: float
    main: float
    end: float
    low: float
    high: float
    text: str
    shape: Shape


def feature_marks(features: Iterable[CurveFeature], points: Sequence[Point]) -> tuple[Mark, ...]:
    """Place the cliffs and tapers that lie within the sweep on its x axis, from left to right."""
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
"""The position of each feature that is marked."""


def _mark(kind: str, found: dict[str, tuple[float, float, float, CurveFeature]]) -> Mark:
    main, low, high, feature = found[_MAIN[kind]]
    places = [where for where, *_ in found.values()]
    value = format_value(feature.value, feature.unit)
    level = str(feature.level) if feature.level.is_unexplained else f"{feature.level} {value}"
    text = level if kind == "cliff" else f"full at {value.removesuffix(' work-items')}"
    return Mark(min(places), main, max(places), low, high, text, "down" if kind == "cliff" else "up")


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


def draw_marks(panel: Panel, marks: Sequence[Mark], height_in: float, colour: str) -> None:
    """Draw *marks* above the panel's curve: span, interval, position, name, and a thin line down to the axis."""
    canvas = panel.canvas
    for mark in marks:
        left, right = panel.across(mark.start), panel.across(mark.end)
        low, main, high = (panel.across(x) for x in (mark.low, mark.main, mark.high))
        canvas.rectangle((low, height_in - 0.03), (high, height_in + 0.03), Ink(colour, alpha=0.3))
        canvas.segment((left, height_in), (right, height_in), Pen(colour, 0.7))
        canvas.segment((main, panel.bottom_in), (main, panel.top_in), Pen(colour, 0.5, alpha=0.45, order=1))
        canvas.mark((main, height_in), mark.shape, _TIP_IN, Ink(colour, order=3))
    _label_marks(panel, marks, height_in, colour)


def _label_marks(panel: Panel, marks: Sequence[Mark], height_in: float, colour: str) -> None:
    """Write each mark's text to its right or else its left, where it meets no other mark; else nowhere.

    Of marks that overlap, what counts is where all of them start and end, so that none lies on a text.
    """
    left = [panel.across(min(mark.start, mark.low)) - _GAP_IN for mark in marks]
    right = [panel.across(max(mark.end, mark.high)) + _GAP_IN for mark in marks]
    starts = list(accumulate([panel.right_in, *reversed(left)], min))[::-1]
    ends = list(accumulate([panel.left_in, *right], max))
    for index, mark in enumerate(marks):
        width = text_in(mark.text)
        if ends[index + 1] + width <= starts[index + 1]:
            panel.canvas.text((ends[index + 1], height_in), mark.text, size_pt=TINY_PT, colour=colour)
            ends[index + 1] += width
        elif ends[index] + width <= starts[index]:
            panel.canvas.text((starts[index], height_in), mark.text, size_pt=TINY_PT, colour=colour, ha="right")
