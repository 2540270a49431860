"""A map of ratios: a row a workload, a column a machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from gpureport.report.figures.canvas import Canvas, Ink
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
from gpureport.units import format_ratio

MOST_ROWS = 60

_ROW_IN, _LABEL_IN = 0.142, 2.55
_WIDEST_IN = 0.9
_REACH = 3.0
"""Doublings from 1 at which a colour is darkest."""
_UPRIGHT = 6
"""Most machines whose names are written level."""


@dataclass(frozen=True)
class HeatRow:
    """One row: its name, what tells it from others of that name, and the ratio of each machine that has one."""

    name: str
    detail: str
    cells: Mapping[str, float]


def heat_figure(rows: Sequence[HeatRow], machines: Sequence[str]) -> str:
    """Draw *rows* by *machines*; ratios are written in where there is room."""
    width = min(_WIDEST_IN, (WIDTH_IN - _LABEL_IN) / len(machines))
    level = len(machines) <= _UPRIGHT
    names = [shorten(name, int(width / text_in("x")) if level else 18) for name in machines]
    head = 0.2 if level else max(text_in(name) for name in names) + 0.1
    canvas = Canvas(len(rows) * _ROW_IN + head)
    top = canvas.height_in - head
    for column, name in enumerate(names):
        middle = _LABEL_IN + (column + 0.5) * width
        if level:
            canvas.text((middle, top + 0.09), name, size_pt=TINY_PT, ha="center", weight=600)
        else:
            canvas.text((middle, top + 0.04), name, size_pt=TINY_PT, va="center", upright=True)
    before = ""
    for number, row in enumerate(rows):
        upper = top - number * _ROW_IN
        _label(canvas, row, upper - _ROW_IN / 2, repeated=row.name == before)
        before = row.name
        for column, machine in enumerate(machines):
            if machine in row.cells:
                _cell(canvas, row.cells[machine], _LABEL_IN + column * width, upper, width)
    return canvas.drawn()


def _label(canvas: Canvas, row: HeatRow, middle: float, *, repeated: bool) -> None:
    if not repeated:
        canvas.text((0.0, middle), shorten(row.name, 30), size_pt=SMALL_PT)
    canvas.text((_LABEL_IN - 0.05, middle), shorten(row.detail, 22), size_pt=TINY_PT, colour=MUTED, ha="right")


def _cell(canvas: Canvas, ratio: float, left: float, upper: float, width: float) -> None:
    strength = min(1.0, abs(log2(ratio)) / _REACH)
    colour = _thinned(PREDICTED if ratio >= 1 else OBSERVED, strength)
    gap = min(0.01, width / 10)
    canvas.rectangle((left, upper - _ROW_IN + 0.008), (left + width - gap, upper - 0.004), Ink(colour, order=2))
    text = format_ratio(ratio)
    if text_in(text) < width:
        ink = "#FFFFFF" if strength > 0.7 else INK
        canvas.text((left + width / 2, upper - _ROW_IN / 2), text, size_pt=TINY_PT, colour=ink, ha="center")


def _thinned(colour: str, strength: float) -> str:
    """Mix *colour* with white: none of it at strength 0 but a trace, all at 1."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    share = 0.06 + 0.94 * round(strength * 16) / 16
    return "#" + "".join(f"{round(255 - (255 - part) * share):02x}" for part in parts)
