"""A map of ratios: rows by columns, in blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from gpureport.report.figures.canvas import Canvas, Ink, Place
from gpureport.report.figures.style import (
    INK,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TINY_PT,
    WIDTH_IN,
    shorten,
    text_in,
)
from gpureport.report.figures.svg import svg
from gpureport.units import format_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 26
"""Rows of one figure: two of them fit on a page, and leave little of it empty."""

_ROW_IN, _TITLE_IN = 0.142, 0.17
_NAME_IN, _DETAIL_IN = 1.7, 0.85
_WIDEST_IN, _BETWEEN_IN = 0.9, 0.12
_REACH = 3.0
"""Doublings from 1 at which a colour is darkest."""
_LEAST, _EQUAL = 0.0025, "#F4F4F4"
"""Share of that reach below which two are equal, and how that looks."""
_LONGEST = 20
"""Characters of a name that is written upwards."""


@dataclass(frozen=True)
class HeatBlock:
    """Columns that belong together, and what their ratios are."""

    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class HeatRow:
    """One row: its name, what tells it from others of that name, and by block the ratio of each column that has one.

    What is in *texts* is written in place of the ratio, and not coloured.
    """

    name: str
    detail: str
    cells: tuple[Mapping[str, float], ...]
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Grid:
    """Where the columns stand: the left edge of each, by block, and their width."""

    blocks: tuple[HeatBlock, ...]
    width: float

    def left(self, block: int, column: int) -> float:
        before = sum(len(each.columns) for each in self.blocks[:block])
        return _NAME_IN + _DETAIL_IN + block * _BETWEEN_IN + (before + column) * self.width


@svg
def heat_figure(rows: Sequence[HeatRow], blocks: Sequence[HeatBlock]) -> "Figure":
    """Draw *rows* by the columns of *blocks*; ratios are written in where there is room."""
    room = WIDTH_IN - _NAME_IN - _DETAIL_IN - (len(blocks) - 1) * _BETWEEN_IN
    grid = _Grid(tuple(blocks), min(_WIDEST_IN, room / sum(len(block.columns) for block in blocks)))
    names = [shorten(name, _LONGEST) for block in blocks for name in block.columns]
    longest = max(map(text_in, names))
    level = longest <= grid.width
    head = _TITLE_IN + (0.16 if level else longest + 0.06)
    canvas = Canvas(len(rows) * _ROW_IN + head)
    top = canvas.height_in - head
    for number, block in enumerate(blocks):
        _headings(canvas, block, [grid.left(number, column) for column in range(len(block.columns))], grid, top, level)
    before = ""
    for number, row in enumerate(rows):
        upper = top - number * _ROW_IN
        _label(canvas, row, upper - _ROW_IN / 2, repeated=row.name == before)
        before = row.name
        _cells(canvas, row, grid, upper)
    return canvas.drawn()


def _headings(canvas: Canvas, block: HeatBlock, lefts: Sequence[float], grid: _Grid, top: float, level: bool) -> None:
    canvas.text((lefts[0], canvas.height_in - 0.07), shorten(block.title, 44), size_pt=TINY_PT, colour=MUTED)
    for left, name in zip(lefts, block.columns, strict=True):
        place, text = (left + grid.width / 2, top + (0.07 if level else 0.03)), shorten(name, _LONGEST)
        if level:
            canvas.text(place, text, size_pt=TINY_PT, ha="center", weight=600)
        else:
            canvas.text(place, text, size_pt=TINY_PT, ha="center", va="bottom", rotation=90)


def _label(canvas: Canvas, row: HeatRow, middle: float, *, repeated: bool) -> None:
    if not repeated:
        canvas.text((0.0, middle), shorten(row.name, 30), size_pt=SMALL_PT)
    canvas.text(
        (_NAME_IN + _DETAIL_IN - 0.05, middle), shorten(row.detail, 19), size_pt=TINY_PT, colour=MUTED, ha="right"
    )


def _cells(canvas: Canvas, row: HeatRow, grid: _Grid, upper: float) -> None:
    for number, (block, ratios) in enumerate(zip(grid.blocks, row.cells, strict=True)):
        for column, name in enumerate(block.columns):
            corner = grid.left(number, column), upper
            if number == 0 and name in row.texts:
                _write(canvas, row.texts[name], corner, grid.width, MUTED)
            elif name in ratios:
                _cell(canvas, ratios[name], corner, grid.width)


def _cell(canvas: Canvas, ratio: float, corner: Place, width: float) -> None:
    left, upper = corner
    strength = min(1.0, abs(log2(ratio)) / _REACH)
    colour = _EQUAL if strength < _LEAST else _thinned(PREDICTED if ratio >= 1 else OBSERVED, strength)
    gap = min(0.01, width / 10)
    canvas.rectangle((left, upper - _ROW_IN + 0.008), (left + width - gap, upper - 0.004), Ink(colour, order=2))
    _write(canvas, format_ratio(ratio), corner, width, "#FFFFFF" if strength > 0.7 else INK)


def _write(canvas: Canvas, text: str, corner: Place, width: float, ink: str) -> None:
    if text_in(text) < width:
        place = corner[0] + width / 2, corner[1] - _ROW_IN / 2
        canvas.text(place, text, size_pt=TINY_PT, colour=ink, ha="center")


def _thinned(colour: str, strength: float) -> str:
    """Mix *colour* with white: none of it at strength 0 but a trace, all at 1."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    share = 0.06 + 0.94 * round(strength * 16) / 16
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in parts)
