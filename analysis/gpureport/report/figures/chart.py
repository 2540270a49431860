"""The specification of a figure: panels with axes, series and marks. One module draws it, one script shows it.

Functions of this package build charts from records. :mod:`gpureport.report.figures.draw` draws any chart with
matplotlib, ``templates/charts.js`` shows it on a screen.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Self

from gpureport.text import listed, printable

Role = Literal["predicted", "observed", "ink", "muted", "faint", "green", "pink", "amber"]
"""What something stands for, or which of several equal ones it is; it decides the colour."""
Scale = Literal["linear", "zero", "log2", "log10", "ratio", "rows", "time"]
"""``zero``: linear from 0. ``ratio``: logarithmic, with 1 in the middle. ``rows``: names at 0, 1, … from top to bottom.
``time``: seconds since 1970."""
Style = Literal["line", "dashes", "dots", "small dots", "rings", "strokes", "up", "down", "ranges", "boxes"]
"""``ranges``: only the intervals. ``boxes``: intervals as grey boxes with texts."""
Numbers = tuple[float | None, ...]
Label = str | tuple[str, ...]
"""A text, or variants of it, the longest first."""

MACHINES: tuple[Role, ...] = ("ink", "green", "pink", "amber")
"""Roles of the baseline and of other machines, if these are few."""
_LARGEST_WHOLE = 1e15


@dataclass(frozen=True)
class Axis:
    """One axis of a panel."""

    label: str = ""
    unit: str = ""
    """An SI base unit, or what is counted; empty for plain numbers."""
    scale: Scale = "linear"
    ends: tuple[float, float] | None = None
    """Default: all values, with some room. Of ratios, only the upper one counts."""
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Values of one kind. Intervals are those of y, in panels with rows those of x."""

    name: Label
    role: Role
    style: Style
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: Numbers = ()
    """Lower ends of 95 % intervals; empty: without intervals."""
    high: Numbers = ()
    wide: bool = False
    """Whether intervals are shaded bands; else thin lines."""
    texts: tuple[Label, ...] = ()
    """Of each point, shown with its value on a screen."""
    labelled: bool = False
    """Whether texts, or the name or value of a line of two points, are also written beside the marks, if they fit."""

    @classmethod
    def of(
        cls,
        name: Label,
        role: Role,
        style: Style,
        points: Iterable[tuple[float, ...]],
        *,
        wide: bool = False,
        texts: tuple[Label, ...] = (),
        labelled: bool = False,
    ) -> Self:
        """Return the series of *points* (at least one): x, y, and both ends of the interval, if there is one."""
        x, y, *ends = zip(*points, strict=True)
        low, high = ends or ((), ())
        return cls(name, role, style, x, y, low, high, wide, texts, labelled)


@dataclass(frozen=True)
class Mark:
    """A line across the panel, or a shaded range, with a name."""

    start: float
    end: float
    name: Label = ""
    role: Role = "muted"
    upright: bool = True
    """Whether *start* and *end* are on the x axis."""
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    title: Label = ""
    height_in: float = 1.06
    marks: tuple[Mark, ...] = ()
    notes: tuple[tuple[str, Role], ...] = ()
    """Texts to the right of rows; the last one is their heading."""
    joined: bool = False
    """Whether the panel below has the same x axis."""


@dataclass(frozen=True)
class Chart:
    """A figure as wide as a page: columns of panels from top to bottom."""

    columns: tuple[tuple[Panel, ...], ...]
    legend: tuple[tuple[Label, Role], ...] = field(default=())


def variants(label: Label) -> tuple[str, ...]:
    """Return the variants of a text, the longest first."""
    return (label,) if isinstance(label, str) else label


def known(values: Iterable[float | None]) -> list[float]:
    """Return the values that are not ``None``."""
    return [value for value in values if value is not None]


def stacks(chart: Chart) -> Iterator[list[Panel]]:
    """Yield the panels that have one x axis in common."""
    for column in chart.columns:
        stack: list[Panel] = []
        for panel in column:
            stack.append(panel)
            if not panel.joined:
                yield stack
                stack = []


def described(stack: Sequence[Panel]) -> str:
    """Return what panels with one x axis show, for those who cannot see it: titles, axes, rows and series."""
    parts = [variants(panel.title)[0] for panel in stack if panel.title]
    for panel in stack:
        if panel.y.scale != "ratio" and not (panel.y.rows and panel.joined):
            across = " against ".join(filter(None, (panel.y.label, panel.x.label)))
            names = (variants(each.name)[0] for each in panel.series if each.name and not each.labelled)
            parts.append(": ".join(filter(None, (across, listed([*panel.y.rows, *dict.fromkeys(names)])))))
    return printable("; ".join(parts))


def chart_json(chart: Chart) -> str:
    """Return panels as JSON that can be the content of an element ``script``."""
    from jinja2.utils import htmlsafe_json_dumps

    found = [{"alt": described(stack), "panels": [asdict(panel) for panel in stack]} for stack in stacks(chart)]
    return htmlsafe_json_dumps(_compact(found), json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _compact(data: object) -> object:
    """Return *data* with six significant digits, printable texts, and without what is empty."""
    if isinstance(data, dict):
        return {
            name: _compact(value)
            for name, value in data.items()
            if value not in ("", ()) and value is not None and value is not False
        }
    if isinstance(data, list | tuple):
        return list(map(_compact, data))
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, bool) or not isinstance(data, int | float):
        return data
    rounded = float(f"{data:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < _LARGEST_WHOLE else rounded


def stretch(values: Sequence[float], factor: float) -> tuple[float, float]:
    """Return the ends of a logarithmic axis: *values*, and *factor* beyond them."""
    return min(values) / factor, max(values) * factor
