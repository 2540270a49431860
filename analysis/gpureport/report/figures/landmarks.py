"""Cliffs and tapers of several machines by workload: one panel per feature, one row per machine, sizes across."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpureport.compare.records import Landmark
from gpureport.report.figures.canvas import Canvas, Pen, Place
from gpureport.report.figures.panels import Panel, Scale
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
from gpureport.report.grouping import grouped

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
    panels = [
        LandmarkPanel(title, tuple(found))
        for title, found in grouped((_title(mark), mark) for mark in marks).items()
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


def _title(mark: Landmark) -> str:
    cliff = str(mark.level) if mark.level.is_unexplained else f"{mark.level} cliff"
    return f"{mark.workload}, {'taper (n90)' if mark.feature == 'taper' else cliff}"


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
    present = [name for name in machines if any(mark.machine == name for mark in panel.marks)]
    sizes = [
        size for mark in panel.marks for size in (mark.predicted, mark.observed, mark.ci_low, mark.ci_high) if size
    ]
    height = len(present) * _ROW_IN
    place = (left + _LABEL_IN, top - _HEAD_IN - height, width - _LABEL_IN - _MARGIN_IN, height)
    drawn = size_panel(canvas, place, sizes, panel.marks[0].unit, 1.3)
    for number, name in enumerate(present):
        middle = drawn.top_in - (number + 0.5) * _ROW_IN
        label = fitted(name, _LABEL_IN - 0.06)
        canvas.text((drawn.left_in - 0.06, middle), label, size_pt=TINY_PT, ha="right", colour=INK)
        for mark in (mark for mark in panel.marks if mark.machine == name):
            _draw_mark(drawn, mark, middle)


def _draw_mark(panel: Panel, mark: Landmark, middle: float) -> None:
    canvas = panel.canvas
    if mark.predicted:
        place = (panel.across(mark.predicted), middle)
        canvas.segment(place, place, Pen(PREDICTED, 5.0, order=3, round=True))
        canvas.segment(place, place, Pen("#FFFFFF", 3.2, order=3.1, round=True))
    if mark.observed:
        if mark.ci_low and mark.ci_high:
            ends = (panel.across(mark.ci_low), middle), (panel.across(mark.ci_high), middle)
            canvas.segment(*ends, Pen(OBSERVED, 0.9, order=4))
        place = (panel.across(mark.observed), middle)
        canvas.segment(place, place, Pen(OBSERVED, 3.6, order=5, round=True))


def size_panel(
    canvas: Canvas, place: tuple[float, float, float, float], sizes: Sequence[float], unit: str, wider: float
) -> Panel:
    """Draw the grid and the ticks of *sizes*, and return their panel.

    *place* is its left and lower edges, width and height. The axis exceeds the sizes by the factor *wider*.
    """
    low, high = min(sizes) / wider, max(sizes) * wider
    ticks = tuple(binary_ticks(low, high, max(2, round(place[2] / 0.6))))
    texts = tuple(tick_text(tick, unit) for tick in ticks)
    panel = Panel(canvas, *place, Scale(low, high, ticks, texts), Scale(0, 1, (), (), logarithmic=False))
    for tick, text in zip(ticks, texts, strict=True):
        x = panel.across(tick)
        canvas.segment((x, panel.bottom_in), (x, panel.top_in + 0.02), Pen(FAINT, 0.5, order=1))
        canvas.text((x, panel.bottom_in - 0.08), text, size_pt=TINY_PT, colour=MUTED, ha="center")
    return panel
