"""All cliffs and tapers of all machines in one figure: one row per machine, one dot per workload, sizes across."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, log
from statistics import median

from gpureport.compare.records import Landmark
from gpureport.report.figures.canvas import Canvas, Pen
from gpureport.report.figures.style import (
    FAINT,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TINY_PT,
    WIDTH_IN,
    binary_ticks,
    fitted,
    spread,
    tick_text,
)

_LABEL_IN, _GAP_IN, _MARGIN_IN = 1.2, 0.3, 0.15
_HEAD_IN, _FOOT_IN = 0.24, 0.22
_FEW = 8
"""Most machines for which rows are tall and show the names of caches."""
_NAME_IN = 0.25
"""Width of the name of a cache."""
_TALL_IN, _LOW_IN = 0.34, 0.155


@dataclass(frozen=True)
class _Strip:
    """One panel: its title and landmarks, and the position of sizes."""

    title: str
    marks: tuple[Landmark, ...]
    start: float
    width: float

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Least and greatest size of the axis."""
        sizes = [size for mark in self.marks for size in (mark.predicted, mark.observed) if size]
        return min(sizes) / 1.5, max(sizes) * 1.5

    def across(self, size: float) -> float:
        """Return the position of *size* in inches from the left."""
        low, high = self.ends
        return self.start + self.width * log(size / low) / log(high / low)


def strip_figure(marks: Sequence[Landmark], machines: Sequence[str]) -> str:
    """Draw cliffs on the left and tapers on the right, with machines in the order of *machines*.

    *marks* may include other machines, which only widen the scale.
    """
    tall = len(machines) <= _FEW
    row_in = _TALL_IN if tall else _LOW_IN
    canvas = Canvas(_HEAD_IN + len(machines) * row_in + _FOOT_IN)
    strips = _strips(marks)
    top = canvas.height_in - _HEAD_IN
    for number, name in enumerate(machines):
        upper = top - number * row_in
        canvas.segment((0.0, upper), (WIDTH_IN, upper), Pen(FAINT, 0.3, order=1))
        canvas.text((0.0, upper - row_in / 2), fitted(name, _LABEL_IN - 0.05), size_pt=TINY_PT)
    for strip in strips:
        _frame(canvas, strip, top, len(machines) * row_in)
        by_machine: dict[str, list[Landmark]] = {name: [] for name in machines}
        for mark in strip.marks:
            if mark.machine in by_machine:
                by_machine[mark.machine].append(mark)
        for number, own in enumerate(by_machine.values()):
            _row(canvas, strip, own, top - (number + 0.5) * row_in, row_in)
            if tall:
                _levels(canvas, strip, own, top - number * row_in - 0.05)
    return canvas.drawn()


def _strips(marks: Sequence[Landmark]) -> list[_Strip]:
    shown = [mark for mark in marks if mark.predicted or mark.observed]
    titles = {"cliff": "cliffs (capacity transitions)", "taper": "tapers: work-items for 90 % of peak"}
    found = {title: tuple(mark for mark in shown if mark.feature == kind) for kind, title in titles.items()}
    kept = {title: own for title, own in found.items() if own}
    width = (WIDTH_IN - _LABEL_IN - _MARGIN_IN - (len(kept) - 1) * _GAP_IN) / max(1, len(kept))
    starts = (_LABEL_IN + number * (width + _GAP_IN) for number in range(len(kept)))
    return [_Strip(title, own, start, width) for (title, own), start in zip(kept.items(), starts, strict=True)]


def _frame(canvas: Canvas, strip: _Strip, top: float, height: float) -> None:
    canvas.text((strip.start, top + 0.13), strip.title, size_pt=SMALL_PT, weight=600)
    for tick in binary_ticks(*strip.ends, max(2, floor(strip.width / 0.6))):
        place = strip.across(tick)
        canvas.segment((place, top - height), (place, top + 0.02), Pen(FAINT, 0.5, order=1))
        text = tick_text(tick, strip.marks[0].unit)
        canvas.text((place, top - height - 0.09), text, size_pt=TINY_PT, colour=MUTED, ha="center")


def _row(canvas: Canvas, strip: _Strip, own: Sequence[Landmark], middle: float, row_in: float) -> None:
    """Draw predicted sizes in the lower half of a row and observed ones in the upper; heights vary by workload."""
    for number, mark in enumerate(own):
        apart = 0.16 * row_in * (2 * (number * 0.618 % 1) - 1)
        for size, colour, centre in (
            (mark.predicted, PREDICTED, middle - 0.2 * row_in),
            (mark.observed, OBSERVED, middle + 0.1 * row_in),
        ):
            if size:
                place = strip.across(size), centre + apart
                canvas.segment(place, place, Pen(colour, 2.2, alpha=0.6, order=3, round=True))


def _levels(canvas: Canvas, strip: _Strip, own: Sequence[Landmark], upper: float) -> None:
    """Write the names of caches above their cliffs; parts of caches and unexplained transitions have none."""
    sizes: dict[str, list[float]] = {}
    for mark in own:
        size = mark.observed or mark.predicted
        if mark.feature == "cliff" and size and not (mark.level.near or mark.level.is_unexplained):
            sizes.setdefault(mark.level.name, []).append(size)
    places = spread([strip.across(median(found)) for found in sizes.values()], _NAME_IN)
    for level, place in zip(sizes, places, strict=True):
        canvas.text((place, upper), level, size_pt=TINY_PT, colour=MUTED, ha="center")
