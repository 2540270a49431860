"""A heat map of ratios: rows by columns, in blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2

from gpureport.report.figures.canvas import Canvas, Ink, Place
from gpureport.report.figures.style import (
    INK,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TINY_PT,
    WIDTH_IN,
    fitted,
    mixed,
    needed_in,
)
from gpureport.units import format_ratio

MOST_ROWS = 26
"""Rows of one figure: two such figures fill a page."""

_ROW_IN, _TITLE_IN = 0.142, 0.17
_NAME_IN, _DETAIL_IN = 1.7, 0.85
_LINE_IN = 0.085  # between upright names
_ROUNDED = 0.1  # largest relative rounding error of a printed ratio
_WIDEST_IN, _BETWEEN_IN = 0.9, 0.12
_REACH = 3.0
"""Doublings from 1 at which the colour is darkest."""
_LEAST, _EQUAL = 0.0025, "#F4F4F4"
"""Share of that reach below which two are drawn as equal, and the colour of equality."""
_TALLEST_IN = 1.0
"""Height of an upright name."""


@dataclass(frozen=True)
class HeatBlock:
    """A group of columns, and the meaning of their ratios.

    Names of machines that are only *predicted* have the colour of predictions. Names of *cautioned* ones start with △.
    """

    title: str
    columns: tuple[str, ...]
    predicted: frozenset[str] = frozenset()
    cautioned: frozenset[str] = frozenset()

    def label(self, column: str) -> str:
        """Return the printed name of a column."""
        return f"△ {column}" if column in self.cautioned else column

    def colour(self, column: str) -> str:
        """Return the colour of a column's name."""
        return PREDICTED if column in self.predicted else INK


@dataclass(frozen=True)
class HeatRow:
    """One row: its name, a detail that distinguishes rows of that name, and the ratios by block and column.

    An entry of *texts* replaces the ratio in the first block, without colour, if it fits.
    """

    name: str
    detail: str
    cells: tuple[Mapping[str, float], ...]
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Grid:
    """Positions of columns: their blocks, their width, and the height of their names if these are upright."""

    blocks: tuple[HeatBlock, ...]
    width: float
    upright_in: float

    @property
    def head(self) -> float:
        """Height of the headings."""
        return _TITLE_IN + (self.upright_in or 0.16)

    def left(self, block: int, column: int) -> float:
        """Return the left edge of a column."""
        before = sum(len(each.columns) for each in self.blocks[:block])
        return _NAME_IN + _DETAIL_IN + block * _BETWEEN_IN + (before + column) * self.width


def heat_figure(rows: Sequence[HeatRow], blocks: Sequence[HeatBlock]) -> str:
    """Draw *rows* by the columns of *blocks*; ratios are printed where they fit."""
    grid = _grid(tuple(blocks))
    canvas = Canvas(len(rows) * _ROW_IN + grid.head)
    top = canvas.height_in - grid.head
    for number in range(len(blocks)):
        _headings(canvas, grid, number, top)
    before = ""
    for number, row in enumerate(rows):
        upper = top - number * _ROW_IN
        _label(canvas, row, upper - _ROW_IN / 2, repeated=row.name == before)
        before = row.name
        _cells(canvas, row, grid, upper)
    return canvas.drawn()


def named_columns(blocks: Sequence[HeatBlock]) -> int:
    """Return n if every n-th column has its name printed, because all names would overlap."""
    grid = _grid(tuple(blocks))
    return ceil(_LINE_IN / grid.width) if grid.upright_in else 1


def _grid(blocks: tuple[HeatBlock, ...]) -> _Grid:
    """Divide the width between the columns; wider names are upright."""
    names = [block.label(name) for block in blocks for name in block.columns]
    available = WIDTH_IN - _NAME_IN - _DETAIL_IN - (len(blocks) - 1) * _BETWEEN_IN
    width, longest = min(_WIDEST_IN, available / len(names)), max(map(needed_in, names))
    return _Grid(blocks, width, 0.0 if longest <= width else min(longest, _TALLEST_IN) + 0.06)


def _headings(canvas: Canvas, grid: _Grid, number: int, top: float) -> None:
    block, every = grid.blocks[number], named_columns(grid.blocks)
    for column, name in list(enumerate(block.columns))[::every]:
        middle, text, colour = grid.left(number, column) + grid.width / 2, block.label(name), block.colour(name)
        if grid.upright_in:
            text = fitted(text, _TALLEST_IN)
            canvas.text((middle, top + 0.03), text, size_pt=TINY_PT, colour=colour, va="center", upright=True)
        else:
            canvas.text((middle, top + 0.07), text, size_pt=TINY_PT, colour=colour, ha="center", weight=600)
    left, right = grid.left(number, 0), grid.left(number, len(block.columns))
    width = right - left if number + 1 < len(grid.blocks) else WIDTH_IN - left
    canvas.text((left, canvas.height_in - 0.07), fitted(block.title, width), size_pt=TINY_PT, colour=MUTED)


def _label(canvas: Canvas, row: HeatRow, middle: float, *, repeated: bool) -> None:
    if not repeated:
        canvas.text((0.0, middle), fitted(row.name, _NAME_IN, SMALL_PT), size_pt=SMALL_PT)
    canvas.text(
        (_NAME_IN + _DETAIL_IN - 0.05, middle),
        fitted(row.detail, _DETAIL_IN),
        size_pt=TINY_PT,
        colour=MUTED,
        ha="right",
    )


def _cells(canvas: Canvas, row: HeatRow, grid: _Grid, upper: float) -> None:
    for number, (block, ratios) in enumerate(zip(grid.blocks, row.cells, strict=True)):
        for column, name in enumerate(block.columns):
            corner = grid.left(number, column), upper
            text = row.texts.get(name, "") if number == 0 else ""
            if text and fitted(text, grid.width) == text:
                _write(canvas, text, corner, grid.width, MUTED)
            elif name in ratios:
                _cell(canvas, ratios[name], corner, grid.width)


def _cell(canvas: Canvas, ratio: float, corner: Place, width: float) -> None:
    left, upper = corner
    strength = min(1.0, abs(log2(ratio)) / _REACH)
    colour = _EQUAL if strength < _LEAST else _shade(PREDICTED if ratio >= 1 else OBSERVED, strength)
    gap = min(0.01, width / 10)
    canvas.rectangle((left, upper - _ROW_IN + 0.008), (left + width - gap, upper - 0.004), Ink(colour, order=2))
    texts = (format_ratio(ratio), f"{ratio:.2g}", f"{ratio:.1g}")
    near = (text for text in texts if abs(float(text) / ratio - 1) < _ROUNDED)
    text = next((text for text in near if fitted(text, width) == text), "")
    _write(canvas, text, corner, width, "#FFFFFF" if strength > 0.7 else INK)


def _write(canvas: Canvas, text: str, corner: Place, width: float, ink: str) -> None:
    place = corner[0] + width / 2, corner[1] - _ROW_IN / 2
    canvas.text(place, text, size_pt=TINY_PT, colour=ink, ha="center")


def _shade(colour: str, strength: float) -> str:
    """Return *colour* mixed with white in 16 steps: nearly white at strength 0, unmixed at 1."""
    return mixed(colour, 0.06 + 0.94 * round(strength * 16) / 16)
