"""Small multiples: panels in rows and columns on common scales, with labels only at the edges."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log
from typing import TypeVar

from gpureport.report.figures.canvas import Canvas, Ink, Pen, Place
from gpureport.report.figures.style import (
    FAINT,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    WIDTH_IN,
    binary_ticks,
    decimal_ticks,
    linear_ticks,
    shorten,
    text_in,
    tick_text,
)

T = TypeVar("T")

COLUMNS = 3
"""Most panels side by side."""

SPECIFICATION = Pen(PREDICTED, 0.8, dashes=(4, 2), alpha=0.8)
CALIBRATED = Pen(PREDICTED, 0.8, alpha=0.8)
BAND = Ink(PREDICTED, alpha=0.15)
INTERVAL = Pen(OBSERVED, 0.6, order=3)
DOT = Pen(OBSERVED, 2.6, order=4, round=True)

_GRID = Pen(FAINT, 0.4, order=0.5)
_EDGE = Pen(MUTED, 0.6, order=1.5)
_LEFT_IN, _RIGHT_IN, _GAP_IN, _FOOT_IN = 0.9, 0.18, 0.13, 0.4
_APART_IN = 0.02  # between the texts of two ticks
_TICKS_IN = 0.15  # height of the x ticks' texts between rows


@dataclass(frozen=True)
class Scale:
    """One axis: its limits, its ticks and their texts."""

    low: float
    high: float
    ticks: tuple[float, ...]
    texts: tuple[str, ...]
    logarithmic: bool = True

    def share(self, value: float) -> float:
        """Return the position of *value* between the limits, 0 to 1; values outside go to the nearer end."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Panel:
    """One plot on a canvas: its lower left corner, its size in inches and its scales."""

    canvas: Canvas
    left_in: float
    bottom_in: float
    width_in: float
    height_in: float
    x: Scale
    y: Scale

    @property
    def right_in(self) -> float:
        """Its right edge."""
        return self.left_in + self.width_in

    @property
    def top_in(self) -> float:
        """Its upper edge."""
        return self.bottom_in + self.height_in

    def across(self, x: float) -> float:
        """Return the position of *x* on the canvas."""
        return self.left_in + self.width_in * self.x.share(x)

    def up(self, y: float) -> float:
        """Return the position of *y* on the canvas."""
        return self.bottom_in + self.height_in * self.y.share(y)

    def at(self, x: float, y: float) -> Place:
        """Return the position of a point on the canvas."""
        return self.across(x), self.up(y)

    def line(self, points: Iterable[Place], pen: Pen) -> None:
        """Draw a line through *points*."""
        self.canvas.line([self.at(x, y) for x, y in points], pen)

    def frame(self, *, labels: tuple[bool, bool]) -> None:
        """Draw edges and grid, and the ticks' texts: *labels* for those below and those to the left."""
        self.canvas.line(
            ((self.left_in, self.top_in), (self.left_in, self.bottom_in), (self.right_in, self.bottom_in)), _EDGE
        )
        for tick, text in zip(self.x.ticks, self.x.texts, strict=True):
            place = (self.across(tick), self.bottom_in)
            self.canvas.segment(place, (place[0], self.top_in), _GRID)
            if labels[0]:
                under = (self.text_at(tick, text), place[1] - 0.04)
                self.canvas.text(under, text, size_pt=SMALL_PT, ha="center", va="top")
        for tick, text in zip(self.y.ticks, self.y.texts, strict=True):
            place = (self.left_in, self.up(tick))
            self.canvas.segment(place, (self.right_in, place[1]), _GRID)
            if labels[1]:
                self.canvas.text((place[0] - 0.04, place[1]), text, size_pt=SMALL_PT, ha="right")

    def text_at(self, tick: float, text: str) -> float:
        """Return the centre of a tick's text that keeps it clear of the next panel's texts."""
        half = text_in(text, SMALL_PT) / 2
        return max(min(self.across(tick), self.right_in - half), self.left_in - _GAP_IN / 2 + half)

    @property
    def ticks_fit(self) -> bool:
        """Whether the texts of ticks on the x axis do not touch."""
        ticks = sorted(zip(self.x.ticks, self.x.texts, strict=True))
        ends = [(self.text_at(*tick), text_in(tick[1], SMALL_PT) / 2) for tick in ticks]
        return all(left + half + _APART_IN <= right - other for (left, half), (right, other) in pairwise(ends))


def panels(
    titles: Sequence[str],
    columns: int,
    plot_in: float,
    head_in: float,
    x: Scale | Sequence[Scale],
    y: Scale,
    names: tuple[str, str],
) -> tuple[Canvas, list[Panel]]:
    """Return a canvas with one framed panel per title and *head_in* above each; *names* are those of the axes.

    *x* is one scale for all panels, or one for each panel, which then has its own ticks.
    """
    scales = [x] * len(titles) if isinstance(x, Scale) else x
    between = 0.0 if isinstance(x, Scale) else _TICKS_IN
    rows = ceil(len(titles) / columns)
    row_in = plot_in + head_in + between
    canvas = Canvas(rows * row_in - between + _FOOT_IN)
    width = (WIDTH_IN - _LEFT_IN - _RIGHT_IN - _GAP_IN * (columns - 1)) / columns
    found = []
    for index, (title, scale) in enumerate(zip(titles, scales, strict=True)):
        row, column = divmod(index, columns)
        left, top = _LEFT_IN + column * (width + _GAP_IN), canvas.height_in - row * row_in - head_in
        panel = Panel(canvas, left, top - plot_in, width, plot_in, scale, y)
        panel.frame(labels=(between > 0 or index + columns >= len(titles), column == 0))
        canvas.text((left, top + head_in - 0.1), shorten(title, round(width * 15)), weight=600)
        found.append(panel)
    canvas.text(((_LEFT_IN + WIDTH_IN) / 2, 0.03), shorten(names[0], 90), ha="center", va="bottom")
    middle = (canvas.height_in + _FOOT_IN - head_in) / 2
    canvas.text((0.07, middle), shorten(names[1], 50), upright=True, ha="center", va="center")
    return canvas, found


def size_scale(values: Sequence[float], text: Callable[[float], str], most: int) -> Scale:
    """Return a logarithmic scale to base two for *values* (all above 0), with at most *most* ticks."""
    low, high = min(values) / 1.15, max(values) * 1.15
    ticks = tuple(binary_ticks(low, high, most))
    return Scale(low, high, ticks, tuple(map(text, ticks)))


def value_scale(values: Sequence[float], unit: str, most: int = 5) -> Scale:
    """Return the scale for *values* (all above 0): logarithmic if they span a factor of five, else from 0."""
    low, high = min(values), max(values)
    if high > 5 * low:  # a linear axis shows small differences better
        return decimal_scale(low / 1.25, high * 1.25, unit, most)
    return zero_scale(high, unit, most)


def decimal_scale(low: float, high: float, unit: str, most: int = 8) -> Scale:
    """Return a logarithmic scale with round decimal ticks."""
    ticks = tuple(decimal_ticks(low, high, most))
    return Scale(low, high, ticks, tuple(tick_text(tick, unit) for tick in ticks))


def zero_scale(high: float, unit: str, most: int = 5) -> Scale:
    """Return a linear scale from 0 to a little above *high*."""
    ticks = tuple(linear_ticks(0.0, high * 1.08, most))
    return Scale(0.0, high * 1.08, ticks, tuple(tick_text(t, unit) if t else "0" for t in ticks), logarithmic=False)


def in_figures(items: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    """Yield *items* in parts of at most *most*, as even as possible."""
    parts = ceil(len(items) / most)
    for part in range(parts):
        yield tuple(items[part * len(items) // parts : (part + 1) * len(items) // parts])
