"""A heat map of ratios: rows by columns, in blocks, with a colour key."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from gpureport.report.figures.theme import INK, MUTED, OBSERVED, PREDICTED, WIDTH_IN, fitted, needed_in, panel
from gpureport.report.grouping import grouped
from gpureport.units import format_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, LogNorm
    from matplotlib.figure import Figure

MOST_ROWS = 26
"""Rows of one figure, with the headings of families: two such figures fill a page."""

_ROW_IN, _TITLE_IN, _NAMES_IN, _FOOT_IN = 0.15, 0.17, 0.17, 0.03
_LOW_ROW_IN = 0.13  # if there are more than MOST_ROWS
_NAME_IN, _DETAIL_IN = 1.5, 0.65
_LINE_IN = 0.105  # between upright names
_WIDEST_IN, _BETWEEN_IN = 0.95, 0.12
_PAD_IN = 0.02  # around the text of a cell
_KEY_IN = (1.45, 0.08)
_KEY_LEFT_IN = 0.22  # room for half of a tick's text
_LEAST_LEFT_IN = 1.72  # left of the blocks: the colour key
_ROUNDED = 0.1  # largest relative rounding error of a printed ratio
_REACHES = {1.05: 1.02, 1.25: 1.1, 1.5: 1.2, 2.0: 1.4, 4.0: 2.0, 8.0: 3.0}
"""Ratios with the darkest colour, each with the ratio of a tick of the key between it and 1."""
_SHADES = 21
_EQUAL = "#F4F4F4"
_BRIGHT = 0.3  # relative luminance of a colour on which text is dark


@dataclass(frozen=True)
class HeatBlock:
    """A group of columns, and the meaning of their ratios.

    Names of machines that are only *predicted* have the colour of predictions. Names of *cautioned* ones start with △.
    """

    title: str
    columns: tuple[str, ...]
    predicted: frozenset[str] = frozenset()
    cautioned: frozenset[str] = frozenset()
    tallest_in: float = 1.0
    """Greatest height of an upright name."""

    def label(self, column: str) -> str:
        """Return the printed name of a column."""
        return f"△ {column}" if column in self.cautioned else column

    def colour(self, column: str) -> str:
        """Return the colour of a column's name."""
        return PREDICTED if column in self.predicted else INK


@dataclass(frozen=True)
class HeatRow:
    """One row: its name, a detail that distinguishes rows of that name, and the ratios by block and column.

    Rows with the same *heading* stand below it. An entry of *texts* replaces the ratio in the first block, without
    colour, if it fits.
    """

    name: str
    detail: str
    cells: tuple[Mapping[str, float], ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""


@dataclass(frozen=True)
class _Grid:
    """Width of columns, and the height of their names if these are upright."""

    width: float
    upright_in: float

    @property
    def head_in(self) -> float:
        """Height of the headings."""
        return max(_TITLE_IN + (self.upright_in or _NAMES_IN), 0.3)


def reach_of(rows: Iterable[HeatRow]) -> float:
    """Return the ratio that gets the darkest colour, for all figures of *rows*: few ratios lie beyond it."""
    ratios = sorted(max(r, 1 / r) for row in rows for cells in row.cells for r in cells.values())
    usual = ratios[int(0.95 * (len(ratios) - 1))] if ratios else 1.0
    return next((reach for reach in _REACHES if reach >= usual), max(_REACHES))


def heat_figure(rows: Sequence[HeatRow], blocks: Sequence[HeatBlock], reach: float) -> "Figure":
    """Draw *rows* by the columns of *blocks*; ratios are printed where they fit.

    Args:
        rows: from top to bottom.
        blocks: from left to right.
        reach: ratio that gets the darkest colour, one of those of :func:`reach_of`.
    """
    from matplotlib.figure import Figure

    label_in = _NAME_IN + _DETAIL_IN if any(row.detail for row in rows) else _LEAST_LEFT_IN
    grid = _grid(blocks, label_in)
    places = _places(rows)
    lines = max(places, default=-1) + 1
    rows_in = lines * (_ROW_IN if lines <= MOST_ROWS else _LOW_ROW_IN)
    height = rows_in + grid.head_in + _FOOT_IN
    figure = Figure(figsize=(WIDTH_IN, height))
    left = label_in
    for number, block in enumerate(blocks):
        width = len(block.columns) * grid.width
        axis = panel(figure, left, _FOOT_IN, width, rows_in or 0.01)
        axis.set(xlim=(0, len(block.columns)), ylim=(lines or 1, 0))
        axis.axis("off")
        if not number:
            _labels(axis, rows, places, label_in)
        last = number + 1 == len(blocks)
        _headings(axis, block, grid, named_columns(blocks), (WIDTH_IN - left) if last else width)
        _cells(axis, list(zip(places, rows, strict=True)), block, number, grid, reach)
        left += width + _BETWEEN_IN
    _key(figure, height, reach)
    return figure


def named_columns(blocks: Sequence[HeatBlock]) -> int:
    """Return n if every n-th column has its name printed, because all names would overlap."""
    grid = _grid(blocks, _NAME_IN + _DETAIL_IN)
    return ceil(_LINE_IN / grid.width) if grid.upright_in else 1


def printed_rows(rows: Iterable[HeatRow]) -> int:
    """Return the number of rows, including headings."""
    return max(_places(list(rows)), default=-1) + 1


def _grid(blocks: Sequence[HeatBlock], label_in: float) -> _Grid:
    """Divide the width between the columns; wider names are upright."""
    names = [block.label(name) for block in blocks for name in block.columns]
    available = WIDTH_IN - label_in - (len(blocks) - 1) * _BETWEEN_IN
    width, longest = min(_WIDEST_IN, available / len(names)), max(map(needed_in, names))
    tallest = max(block.tallest_in for block in blocks)
    return _Grid(width, 0.0 if longest <= width else min(longest, tallest) + 0.06)


def _places(rows: Sequence[HeatRow]) -> list[int]:
    """Return the line of each row; headings take one each."""
    places: list[int] = []
    line = 0
    for heading, group in groupby(rows, key=lambda row: row.heading):
        line += bool(heading)
        for _ in group:
            places.append(line)
            line += 1
    return places


def _labels(axis: "Axes", rows: Sequence[HeatRow], places: Sequence[int], left_in: float) -> None:
    """Write headings, names and details *left_in* left of the first block; a name that repeats is written once."""
    heading = name = ""
    for line, row in zip(places, rows, strict=True):
        if row.heading != heading:
            heading, name = row.heading, ""
            _beside(axis, line - 0.45, left_in, fitted(heading, left_in), weight=600)
        if row.name != name:
            name = row.name
            _beside(axis, line + 0.5, left_in, fitted(name, _NAME_IN))
        if row.detail:
            _beside(axis, line + 0.5, _DETAIL_IN, fitted(row.detail, _DETAIL_IN))


def _beside(axis: "Axes", line: float, left_in: float, text: str, weight: int = 400) -> None:
    """Write a text that starts *left_in* to the left of the axes."""
    place, offset = (0, line), (-72 * left_in, 0)
    left = axis.get_yaxis_transform()
    axis.annotate(text, place, offset, left, "offset points", va="center", weight=weight)


def _headings(axis: "Axes", block: HeatBlock, grid: _Grid, every: int, width: float) -> None:
    upright = bool(grid.upright_in)
    for column, name in list(enumerate(block.columns))[::every]:
        axis.annotate(
            fitted(block.label(name), block.tallest_in if upright else grid.width),
            (column + 0.5, 1),
            (0, 2.2 if upright else 3.6),
            axis.get_xaxis_transform(),
            "offset points",
            rotation=90 if upright else 0,
            va="bottom" if upright else "baseline",
            ha="center",
            color=block.colour(name),
        )
    above = (0, 72 * (grid.head_in - _TITLE_IN + 0.05))
    title = fitted(block.title, width)
    axis.annotate(title, (0, 1), above, "axes fraction", "offset points", color=MUTED, va="baseline")


def _cells(
    axis: "Axes", rows: Sequence[tuple[int, HeatRow]], block: HeatBlock, number: int, grid: _Grid, reach: float
) -> None:
    """Colour the cells of a block and write their ratios; cells of one colour are one path."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from seaborn.utils import relative_luminance

    norm, colours = _scale(reach)
    right = 1 - min(0.1, 0.01 / grid.width)
    cells: list[tuple[str, Path]] = []
    for line, row in rows:
        for column, name in enumerate(block.columns):
            text, ink = row.texts.get(name, "") if number == 0 else "", MUTED
            if not (text and _fits(text, grid.width)) and name in row.cells[number]:
                ratio = row.cells[number][name]
                colour = to_hex(colours(norm(ratio)))
                corners = np.array([(0, 0.04), (right, 0.04), (right, 0.96), (0, 0.96), (0, 0.04)])
                cells.append((colour, Path(corners + np.array((column, line)), closed=True)))
                text = _fitting_ratio(ratio, grid.width)
                ink = INK if relative_luminance(colour) > _BRIGHT else "#FFFFFF"
            if text:
                axis.text(column + 0.5, line + 0.5, text, color=ink, ha="center", va="center_baseline")
    for colour, found in grouped(cells).items():
        axis.add_patch(PathPatch(Path.make_compound_path(*found), facecolor=colour, linewidth=0))


def _fitting_ratio(ratio: float, width: float) -> str:
    """Write a ratio with the digits that fit; empty if it would be rounded too far."""
    texts = (format_ratio(ratio), f"{ratio:.2f}", f"{ratio:.2f}".removeprefix("0") if ratio < 1 else f"{ratio:.1f}")
    near = (text for text in texts if abs(float(text) / ratio - 1) < _ROUNDED)
    return next((text for text in near if _fits(text, width)), "")


def _fits(text: str, width: float) -> bool:
    return needed_in(text) + _PAD_IN <= width


def _scale(reach: float) -> "tuple[LogNorm, Colormap]":
    """Return the norm and the colours of ratios: orange below 1, blue above."""
    from matplotlib.colors import LogNorm
    from seaborn import blend_palette

    colours: Colormap = blend_palette([OBSERVED, _EQUAL, PREDICTED], as_cmap=True)
    return LogNorm(1 / reach, reach, clip=True), colours.resampled(_SHADES)


def _key(figure: "Figure", height: float, reach: float) -> None:
    """Draw the colour key in the upper left corner."""
    from matplotlib.cm import ScalarMappable

    width, thick = _KEY_IN
    near = _REACHES[reach]
    ticks = {1 / reach: "≤ ", 1 / near: "", 1: "", near: "", reach: "≥ "}
    texts = [f"{sign}{ratio:.3g}" for ratio, sign in ticks.items()]
    bar = figure.colorbar(
        ScalarMappable(*_scale(reach)),
        cax=panel(figure, _KEY_LEFT_IN, height - thick - 0.02, width, thick),
        orientation="horizontal",
    )
    bar.outline.set_visible(False)
    bar.ax.set_xticks(list(ticks), texts)
    bar.ax.minorticks_off()
    bar.ax.tick_params(length=0, pad=1.5)
    bar.ax.grid(visible=False)
