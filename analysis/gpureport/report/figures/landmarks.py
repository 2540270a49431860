"""Cliffs and tapers of several machines by workload: one panel per feature, one row per machine, sizes across."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log

from gpureport.compare.records import Landmark
from gpureport.report.figures.canvas import Canvas, Pen, Place
from gpureport.report.figures.style import (
    FAINT,
    INK,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TINY_PT,
    WIDTH_IN,
    binary_ticks,
    fitted,
    tick_text,
)

_COLUMNS = 2
_LABEL_IN, _GAP_IN, _MARGIN_IN = 0.95, 0.1, 0.25
_ROW_IN, _HEAD_IN, _FOOT_IN = 0.13, 0.24, 0.24
_MOST_TALL_IN = 8.6


@dataclass(frozen=True)
class LandmarkPanel:
    """One feature of one workload on the machines that have it."""

    title: str
    marks: tuple[Landmark, ...]


def landmark_panels(marks: Sequence[Landmark]) -> Iterator[tuple[LandmarkPanel, ...]]:
    """Group *marks* into panels of features that at least two machines have, and panels into figures of a page."""
    by_feature: dict[tuple[str, str], list[Landmark]] = {}
    for mark in marks:
        cliff = str(mark.level) if mark.level.is_unexplained else f"{mark.level} cliff"
        name = "taper (n90)" if mark.feature == "taper" else cliff
        by_feature.setdefault((mark.workload, name), []).append(mark)
    panels = [
        LandmarkPanel(f"{workload}, {name}", tuple(found))
        for (workload, name), found in by_feature.items()
        if len({mark.machine for mark in found}) > 1 and any(mark.predicted or mark.observed for mark in found)
    ]
    page: list[LandmarkPanel] = []
    for panel in panels:
        if page and _height([*page, panel]) > _MOST_TALL_IN:
            yield tuple(page)
            page = []
        page.append(panel)
    if page:
        yield tuple(page)


def _height(panels: Sequence[LandmarkPanel]) -> float:
    return sum(_row_height(row) for row in _rows(panels))


def _rows(panels: Sequence[LandmarkPanel]) -> list[Sequence[LandmarkPanel]]:
    return [panels[start : start + _COLUMNS] for start in range(0, len(panels), _COLUMNS)]


def _row_height(row: Sequence[LandmarkPanel]) -> float:
    return max(len({mark.machine for mark in panel.marks}) for panel in row) * _ROW_IN + _HEAD_IN + _FOOT_IN


def landmark_figure(panels: Sequence[LandmarkPanel], machines: Sequence[str]) -> str:
    """Draw *panels* with machines in the order of *machines*."""
    canvas = Canvas(_height(panels))
    top = canvas.height_in
    width = (WIDTH_IN - (_COLUMNS - 1) * _GAP_IN) / _COLUMNS
    for row in _rows(panels):
        for column, panel in enumerate(row):
            _draw(canvas, panel, machines, (column * (width + _GAP_IN), top), width)
        top -= _row_height(row)
    return canvas.drawn()


def _draw(canvas: Canvas, panel: LandmarkPanel, machines: Sequence[str], corner: Place, width: float) -> None:
    left, top = corner
    canvas.text((left, top - 0.1), fitted(panel.title, width, SMALL_PT), size_pt=SMALL_PT, weight=600)
    sizes = [
        size
        for mark in panel.marks
        for size in (mark.predicted, mark.observed, mark.ci_low, mark.ci_high)
        if size is not None and size > 0
    ]
    low, high = min(sizes) / 1.3, max(sizes) * 1.3
    start, span = left + _LABEL_IN, width - _LABEL_IN - _MARGIN_IN

    def across(size: float) -> float:
        return start + span * log(size / low) / log(high / low)

    present = [name for name in machines if any(mark.machine == name for mark in panel.marks)]
    bottom = top - _HEAD_IN - len(present) * _ROW_IN
    for tick in binary_ticks(low, high, max(2, ceil(span / 0.6))):
        canvas.segment((across(tick), bottom), (across(tick), top - _HEAD_IN + 0.03), Pen(FAINT, 0.5, order=1))
        unit = panel.marks[0].unit
        canvas.text((across(tick), bottom - 0.08), tick_text(tick, unit), size_pt=TINY_PT, colour=MUTED, ha="center")
    for number, name in enumerate(present):
        middle = top - _HEAD_IN - (number + 0.5) * _ROW_IN
        canvas.text((start - 0.06, middle), fitted(name, _LABEL_IN - 0.06), size_pt=TINY_PT, ha="right", colour=INK)
        for mark in (mark for mark in panel.marks if mark.machine == name):
            if mark.predicted:
                place = (across(mark.predicted), middle)
                canvas.segment(place, place, Pen(PREDICTED, 5.0, order=3, round=True))
                canvas.segment(place, place, Pen("#FFFFFF", 3.2, order=3.1, round=True))
            if mark.observed:
                if mark.ci_low and mark.ci_high:
                    ends = (across(mark.ci_low), middle), (across(mark.ci_high), middle)
                    canvas.segment(*ends, Pen(OBSERVED, 0.9, order=4))
                place = (across(mark.observed), middle)
                canvas.segment(place, place, Pen(OBSERVED, 3.6, order=5, round=True))
