"""Charts as SVG text. All texts get their room before anything is drawn; lengths are points (1/72 inch)."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain, zip_longest
from math import asinh, ceil, cos, floor, inf, isnan, log1p, log2, log10, pi, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpureport.report.figures.chart import Axis, Cells, Chart, Panel, Role, Series, known
from gpureport.report.figures.theme import (
    COLOURS,
    FONT_PT,
    INKS,
    SMALL_PT,
    WIDTH_PT,
    first_fitting,
    fitted,
    shade,
    shades,
    width_of,
)
from gpureport.report.grouping import grouped
from gpureport.text import printable
from gpureport.units import abbreviated, format_bytes, scale_of

Floats = NDArray[np.float64]
Ticks = Sequence[tuple[float, str]]

_TITLE, _UNIT, _LEGEND, _FOOT, _TICKS, _JOINED = 13.7, 10.8, 12.2, 26.0, 14.4, 4.3
_LABEL, _EDGE, _LONGEST = 11.5, 10.0, 165.0
_NAMES, _BEND = 102.0, 16.0  # right of the axes; width in which lines to names bend
_TALLEST = 112.0  # of upright names of columns
_WIDEST_CELL = 68.0
_LINE = 7.6  # between lines of text
_STEP = 3.6  # between points that stand for what is drawn
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LOGARITHMIC = ("log2", "log10", "ratio")
_LINES = ("line", "dashes")
_INK: tuple[Role, ...] = ("ink",)
_TINY = 1e-300
_SYMBOLS: Mapping[str, Sequence[tuple[float, float]]] = {
    "dots": ((0, 0), (0, 0)),
    "small dots": ((0, 0), (0, 0)),
    "strokes": ((0, -2), (0, 2)),
    "up": ((0, -2), (-2, 2), (2, 2)),
    "down": ((0, 2), (-2, -2), (2, -2)),
    "squares": ((-2, -2), (2, -2), (2, 2), (-2, 2)),
    "rings": [(2 * cos(pi * part / 6), 2 * sin(pi * part / 6)) for part in range(12)],
    "<": ((0, 0), (3, -1.5), (3, 1.5)),
    ">": ((0, 0), (-3, -1.5), (-3, 1.5)),
    "^": ((0, 0), (-1.5, 3), (1.5, 3)),
    "v": ((0, 0), (-1.5, -3), (1.5, -3)),
}
"""Corners of marks around their places."""
_STRAIGHT = 0.01
"""Logarithm of a ratio beyond which the scale ``asinh`` compresses."""
_REACHES = ((1.5, 1.2), (2.5, 1.5), (4.5, 2.0), (9.0, 3.0), (inf, 5.0))
"""The outer ticks of an axis of ratios, by its reach."""
_CHANGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 9.0)
_FEWEST_TICKS = 2
_KEY = 65.0
_BRIGHT = 0.3  # relative luminance of a colour on which text is dark


class Spot(NamedTuple):
    """A possible place of a text."""

    at: Floats
    side: int = 0
    """Whether the text ends (-1) or begins (1) beside *at*, or is centred there."""
    room: float = inf
    """Widest text."""


class Label(NamedTuple):
    """A text with its possible places, the best first."""

    text: str
    """With shorter variants after line breaks."""
    role: Role
    spots: Sequence[Spot]
    angle: float = 0.0
    """Of the text."""


class _Sheet:
    """The elements of a figure, from back to front."""

    def __init__(self, number: int) -> None:
        self.number, self.elements = number, list[str]()

    def path(self, d: str, stroke: str = "", width: float = 0.7, fill: str = "none", look: str = "") -> None:
        """Add a path, unless it is empty; *look* are further attributes."""
        line = f' stroke="{stroke}" stroke-width="{width:g}"' if stroke else ""
        if d:
            self.elements.append(f'<path d="{d}" fill="{fill}"{line}{look}/>')

    def text(
        self,
        text: str,
        x: float,
        y: float,
        anchor: str = "start",
        colour: str = INKS["ink"],
        size: float = SMALL_PT,
        look: str = "",
        turned: float = 0.0,
    ) -> None:
        """Add a text that is centred vertically at *y*, and *turned* (degrees) around its place."""
        place, shift = f'x="{x:.1f}" y="{y + 0.36 * size:.1f}"', ""
        if turned:
            place, shift = f'y="{0.36 * size:.1f}"', f' transform="translate({x:.1f} {y:.1f}) rotate({turned:.4g})"'
        anchor = "" if anchor == "start" else f' text-anchor="{anchor}"'
        size_pt = "" if size == SMALL_PT else f' font-size="{size:g}"'
        shown = escape(printable(text))
        self.elements.append(f'<text {place} fill="{colour}"{anchor}{size_pt}{look}{shift}>{shown}</text>')


def draw(chart: Chart, title: str = "", number: int = 0) -> str:
    """Return a chart as an SVG element with a *title* for screen readers; *number* is its own on the page."""
    sheet, columns = _Sheet(number), _placed(chart)
    plots = list(chain.from_iterable(columns))
    for plot in plots:
        plot.draw(sheet)
    cells = [plot.panel.cells for plot in plots if plot.panel.cells]
    x = _draw_key(sheet, cells[0]) if cells else 0.0
    each = (WIDTH_PT - x) / max(1, len(chart.legend))
    for name, role in chart.legend:
        text = fitted(f"● {name}", each - 3.6)
        sheet.text(text, x, 5, colour=INKS[role])
        x += min(width_of(text) + 10.8, each)
    height = max(plot.bottom + plot.foot for plot in plots)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH_PT:g} {height:.0f}" '
        f'width="{WIDTH_PT:g}pt" height="{height:.0f}pt" font-family="\'Inter\', \'DejaVu Sans\'" '
        f'font-size="{SMALL_PT:g}" stroke-linejoin="round">'
        f"<title>{escape(title)}</title>{''.join(sheet.elements)}</svg>"
    )


def _placed(chart: Chart) -> list[list["_Plot"]]:
    """Place the panels: columns from left to right that share the width."""
    beside: list[Sequence[Panel]] = [(), *chart.columns]
    columns = [
        [_Plot(panel, left) for panel, left in zip_longest(column, others[: len(column)])]
        for column, others in zip(chart.columns, beside, strict=False)
    ]
    lefts = [max(plot.left for plot in column) for column in columns]
    rights = [max(plot.right for plot in column) for column in columns]
    has_cells = any(plot.panel.cells for column in columns for plot in column)
    missing = max(0, chart.places - len(columns))
    weights = [max(len(plot.panel.x.rows) or 1 for plot in column) for column in columns]
    free = WIDTH_PT - sum(lefts) - sum(rights) - missing * (lefts[-1] + rights[-1])
    share = free / (sum(weights) + missing)
    share = min(share, _WIDEST_CELL) if has_cells else share
    x, top = 0.0, _LEGEND if chart.legend or has_cells else 1.4
    for column, left, right, weight in zip(columns, lefts, rights, weights, strict=True):
        x, y = x + left, top
        width = weight * share
        beyond = WIDTH_PT - x - width if column is columns[-1] and not missing else right + (0 if has_cells else 20)
        for plot in column:
            y = plot.place(x, y, width, beyond) + plot.foot
        x += width + right
    return columns


def _ends(panel: Panel, *, upright: bool) -> tuple[float, float]:
    """Return the ends of the x axis (*upright*: of lines at its places) or of the y axis."""
    axis, by_rows = panel.x if upright else panel.y, panel.y.scale == "rows"
    if axis.scale == "rows":
        return (-0.5, len(axis.rows) - 0.5) if upright else (len(axis.rows) - 0.5, -0.5)
    values = [value for each in panel.series for value in (each.x if upright else each.y)]
    if upright == by_rows:
        values += [end for each in panel.series for end in known((*each.low, *each.high))]
    values += [
        end for mark in panel.marks if mark.upright == upright and not axis.ends for end in (mark.start, mark.end)
    ]
    if axis.scale == "ratio":
        reach = max([1.3, *(1.05 * max(value, 1 / value) for value in values if value > 0)])
        reach = min(reach, axis.ends[1]) if axis.ends else reach
        return 1 / reach, reach
    if axis.ends or not values:
        return axis.ends or (0.0, 1.0)
    low, high = min(values), max(values)
    if axis.scale in _LOGARITHMIC:
        room = 1.15 if upright else 1.2
        return low / room, high * room
    if axis.scale == "zero":
        return 0.0, high * 1.12
    room = 0.05 * (high - low) or 0.5 if not upright else 0.0
    return low - room, high + (room or (0.5 if high == low else 0.0))


def _ticks(axis: Axis, ends: tuple[float, float], most: float) -> Ticks:
    """Return at most *most* round ticks between the *ends* of an axis, with their texts."""
    low, high = sorted(ends)
    most = max(3, floor(most))
    if axis.scale == "rows":
        return list(enumerate(axis.rows))
    if axis.scale == "time":
        return _dates(low, high)
    if axis.scale == "log2":
        exponents = range(ceil(log2(low)), floor(log2(high)) + 1)
        return [(2.0**each, _size(each, axis.unit)) for each in exponents[:: max(1, ceil(len(exponents) / most))]]
    if axis.scale == "ratio":
        near = next(near for reach, near in _REACHES if high < reach)
        return [(value, f"{value:.2g}") for value in (1 / near, 1.0, near)]
    if axis.scale == "asinh":
        return [(log1p(change), f"{100 * change:+.3g} %" if change else "equal") for change in _changes(high, most)]
    divisor, _ = scale_of(high, abbreviated(axis.unit))
    return [(value, f"{value / divisor:.6g}") for value in round_ticks(low, high, most, axis.scale == "log10")]


def round_ticks(low: float, high: float, most: int, logarithmic: bool) -> list[float]:
    """Return at most *most* round numbers within *low* … *high*: 1-2-5 or powers of ten if *logarithmic*."""
    if logarithmic:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
            if len(found) <= most:
                break
        if len(found) >= _FEWEST_TICKS:
            return found[:: ceil(len(found) / most)]
    least = (high - low) / (most - 1) or abs(high) or 1.0
    power = 10.0 ** floor(log10(least))
    step = next((step * power for step in (1, 2, 2.5, 5) if step * power >= least), 10 * power)
    return [number * step for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _size(exponent: int, unit: str) -> str:
    """Write a power of two: bytes as such, sizes of work-groups in full, and other counts as powers."""
    if unit in ("B", ""):
        return format_bytes(2.0**exponent) if unit else f"{2**exponent}"
    return f"2{exponent}".translate(_SUPERSCRIPTS).replace("²", "2", 1)


def _changes(reach: float, most: int) -> list[float]:
    """Return the relative changes within *reach* that are far enough apart, from 0 outwards."""
    kept, distance = [0.0], 2 * asinh(reach / _STRAIGHT) / most
    for change in (sign * each for each in _CHANGES for sign in (1, -1) if sign * each > -1):
        places = [asinh(log1p(each) / _STRAIGHT) for each in (change, *kept)]
        if abs(log1p(change)) <= reach and all(abs(places[0] - other) >= distance for other in places[1:]):
            kept.append(change)
    return sorted(kept)


def _dates(low: float, high: float) -> Ticks:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date

    locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    days = [each / 86400 for each in (low, high)]
    found = locator.tick_values(*map(num2date, days))  # type: ignore[no-untyped-call]
    texts = ConciseDateFormatter(locator, show_offset=False).format_ticks(found)  # type: ignore[no-untyped-call]
    return [(value * 86400, text) for value, text in zip(found, texts, strict=True) if days[0] <= value <= days[1]]


def _unit(axis: Axis, ends: tuple[float, float]) -> str:
    """Return the unit of an axis's ticks."""
    plain = axis.scale in ("log2", "rows", "ratio", "asinh", "time")
    return "" if plain or not axis.unit else scale_of(max(ends), abbreviated(axis.unit))[1]


def _share(axis: Axis, ends: tuple[float, float], values: ArrayLike) -> Floats:
    """Return where *values* are between the *ends* of an axis, from 0 to 1."""
    found = np.append(ends, np.asarray(values, dtype=float))
    if axis.scale in _LOGARITHMIC:
        found = np.log(np.maximum(found, _TINY))
    elif axis.scale == "asinh":
        found = np.arcsinh(found / _STRAIGHT)
    share: Floats = (found[2:] - found[0]) / (found[1] - found[0])
    return share.clip(-9, 9)


class _Plot:
    """A panel: the room that it needs, and where its axes are."""

    def __init__(self, panel: Panel, beside: Panel | None) -> None:
        """Find the room; names of rows and a label that *beside*, the panel to the left, has are not repeated."""
        self.panel, self.by_rows = panel, panel.y.scale == "rows"
        self.height = 72 * panel.height_in
        self.x_ends, self.y_ends = _ends(panel, upright=True), _ends(panel, upright=False)
        shared = self.by_rows and beside is not None and beside.y.rows == panel.y.rows
        label = "" if beside and beside.y.label == panel.y.label else panel.y.label
        self.label = [fitted(line, max(self.height + 2.9, 43)) for line in label.split("\n")] if label else []
        self.y_ticks = [] if shared else _ticks(panel.y, self.y_ends, self.height / _TICKS)
        self.unit = _unit(panel.y, self.y_ends)
        names = max((width_of(text) for _, text in self.y_ticks), default=0.0)
        names = min(names + 5.8, _LONGEST) if self.by_rows else max(names, width_of(self.unit) - 1, 7.2) + 5.8
        self.left = (0.0 if shared else names) + _LABEL * len(self.label)
        ends = [width_of(text) for text, _ in panel.notes]
        if panel.names:
            ends = [min(_NAMES, max(width_of(text) for *_, text, _ in panel.names) + _BEND + 3.6)]
        self.right = max(ends, default=0.0) + _EDGE

    @property
    def foot(self) -> float:
        """The height of ticks and label of the x axis."""
        if self.panel.joined:
            return _JOINED
        if self.panel.cells and not self.panel.x.label:
            return 2.2
        return _FOOT if self.panel.x.label else _TICKS

    def place(self, x: float, y: float, width: float, beyond: float) -> float:
        """Place the axes below *y*, with free space *beyond* them to the right; return the y of their lower end."""
        self.x, self.width, self.beyond = x, width, beyond
        self.cell = width / max(1, len(self.panel.x.rows))
        names = self.panel.x.rows if self.panel.cells and not self.panel.x.label else ()
        widest = max(map(width_of, names), default=0.0)
        self.upright = widest > self.cell
        self.head = _TITLE if self.panel.titles or self.panel.notes else 0.0
        self.head += min(widest, _TALLEST) + 5.8 if self.upright else _LINE + 2.9 if widest else 0.0
        self.head = self.head or (_UNIT if self.panel.y.unit or self.panel.y.scale == "time" else 0.0)
        self.top = y + self.head
        self.bottom = self.top + self.height
        return self.bottom

    def across(self, values: ArrayLike) -> Floats:
        """Return the x of *values*."""
        return self.x + self.width * _share(self.panel.x, self.x_ends, values)

    def down(self, values: ArrayLike) -> Floats:
        """Return the y of *values*."""
        return self.bottom - self.height * _share(self.panel.y, self.y_ends, values)

    def draw(self, sheet: _Sheet) -> None:
        """Draw everything, what is behind first."""
        self.sheet, self.taken = sheet, list[Floats]()
        if self.panel.cells:
            self._draw_cells(self.panel.cells)
        self._draw_axes()
        self._draw_marks()
        for number, each in enumerate(self.panel.series):
            self._draw_series(each, 3 * number)
        for each in self.panel.series:
            self._draw_points(each)
        self._write_title()
        self._write_labels()
        self._write_names()
        edge = self.x + self.width + max((width_of(text) for text, _ in self.panel.notes), default=0.0) + 4.3
        for row, (text, role) in enumerate(self.panel.notes):
            last = row == len(self.panel.notes) - 1
            sheet.text(text, edge, self.top - 5 if last else float(self.down(row)[0]), "end", INKS[role])

    def _write_title(self) -> None:
        titles, size = self.panel.titles, FONT_PT * 1.06
        if not titles:
            return
        room = self.width + (0.0 if self.panel.notes else self.beyond)
        title = first_fitting(titles, room, size) if len(titles) > 1 else fitted(titles[0], room, size)
        left = min(0.0, self.width - width_of(title, size)) if self.panel.notes else 0.0
        y = self.top - (self.head - 8 if self.panel.cells else 5)
        self.sheet.text(title, self.x + left, y, size=FONT_PT, look=' font-weight="600"')

    def _draw_axes(self) -> None:
        """Draw grid, ticks, labels and unit."""
        panel, sheet, right = self.panel, self.sheet, self.x + self.width
        ticks = [] if panel.x.scale == "rows" else _ticks(panel.x, self.x_ends, self.width / 40)
        x, y = (self.across([at for at, _ in ticks]), self.down([at for at, _ in self.y_ticks]))
        grid = _lines(x, self.top, x, self.bottom) if not (self.by_rows and (panel.joined or panel.cells)) else ""
        grid += "" if self.by_rows else _lines(self.x, y, right, y)
        sheet.path(grid, COLOURS["faint"], 0.4)
        left = "" if self.by_rows else f"M{self.x:.1f} {self.top:.1f}L{self.x:.1f} {self.bottom:.1f}"
        lower = f"M{self.x:.1f} {self.bottom:.1f}L{right:.1f} {self.bottom:.1f}"
        sheet.path(left + ("" if panel.cells or (self.by_rows and panel.joined) else lower), COLOURS["muted"], 0.6)
        roles = panel.y.roles or _INK * len(y)
        for (_, text), at, role in zip(self.y_ticks, y.tolist(), roles, strict=False):
            sheet.text(fitted(text, _LONGEST - 4) if self.by_rows else text, self.x - 3, at, "end", INKS[role])
        if panel.x.scale == "rows":
            self._write_columns()
        elif not panel.joined:
            for (_, text), at in zip(ticks, x.tolist(), strict=True):
                sheet.text(text, at, self.bottom + 8, "middle")
        for number, line in enumerate(self.label):
            at = self.x - self.left + 4 + _LABEL * number
            sheet.text(line, at, (self.top + self.bottom) / 2, "middle", size=FONT_PT, turned=-90)
        if self.unit:
            sheet.text(self.unit, self.x - 4, self.top - 7, "end")
        if panel.x.label and not panel.joined:
            unit = _unit(panel.x, self.x_ends)
            label = fitted(f"{panel.x.label} ({unit})" if unit else panel.x.label, self.width + 20)
            sheet.text(label, self.x + self.width / 2, self.bottom + 18.5, "middle", size=FONT_PT)

    def _write_columns(self) -> None:
        """Write the names of columns: above without a label of the axis, upright if they are too wide."""
        names, axis = self.panel.x.rows, self.panel.x
        step = ceil(len(names) / 5) if axis.label else ceil(_LINE / self.cell) if self.upright else 1
        places = self.across(range(len(names))).tolist()
        roles = axis.roles or _INK * len(names)
        for name, x, role in list(zip(names, places, roles, strict=True))[::step]:
            if self.upright:
                self.sheet.text(fitted(name, _TALLEST), x, self.top - 3, "start", INKS[role], turned=-90)
            else:
                y = self.bottom + 8 if axis.label else self.top - 6
                self.sheet.text(fitted(name, step * self.cell), x, y, "middle", INKS[role])

    def _draw_marks(self) -> None:
        right = self.x + self.width
        for mark in self.panel.marks:
            ends, colour = (mark.start, mark.end), COLOURS[mark.role]
            if mark.upright:
                low, high = np.clip(self.across(ends), self.x, right).tolist()
                outline = (low, self.top, high, self.bottom)
            else:
                low, high = np.clip(self.down(ends), self.top, self.bottom).tolist()
                outline = (self.x, low, right, high)
            if mark.start == mark.end:
                dashes = ' stroke-dasharray="0.7 1.05"' if mark.dashed else ""
                self.sheet.path(_lines(*outline), colour, 0.7, look=f' stroke-opacity="0.8"{dashes}')
            else:
                self.sheet.path(_boxes(*outline), fill=colour, look=' fill-opacity="0.13"')

    def _draw_series(self, each: Series, phase: float) -> None:
        """Draw lines, bands and intervals."""
        colour = COLOURS[each.role]
        x, y = self.across(each.x), self.down(each.y)
        if each.low:
            self._draw_intervals(each, x, y, colour)
        if each.style in _LINES:
            dashes = f' stroke-dasharray="3.6 1.8" stroke-dashoffset="{phase}"' if each.style == "dashes" else ""
            self.sheet.path(_outline(x, y), colour, 0.9, look=dashes + self._clip(x, y))

    def _clip(self, x: Floats, y: Floats) -> str:
        """Return the attribute of what is drawn only within the axes, with its definition if anything is beyond."""
        right, room = self.x + self.width, 0.05
        if self.x - room <= x.min() and x.max() <= right + room and self.top <= y.min() and y.max() <= self.bottom:
            return ""
        name = f"clip{self.sheet.number}-{len(self.sheet.elements)}"
        outline = _boxes(self.x, self.top, right, self.bottom)
        self.sheet.elements.append(f'<clipPath id="{name}"><path d="{outline}"/></clipPath>')
        return f' clip-path="url(#{name})"'

    def _draw_intervals(self, each: Series, x: Floats, y: Floats, colour: str) -> None:
        """Draw a band around a line, bars along x in rows, or else bars along y."""
        low, high = (np.array(ends, dtype=float) for ends in (each.low, each.high))
        if self.by_rows:
            start, end = (np.clip(self.across(ends), self.x, self.x + self.width) for ends in (low, high))
            bars = _lines(start, y, end, y)
        else:
            start, end = (np.clip(self.down(ends), self.top, self.bottom) for ends in (low, high))
            bars = _lines(x, start, x, end)
        if each.style == "boxes":
            half = 0.42 * self.height / len(self.panel.y.rows)
            boxes = _boxes(start, y - half, end, y + half)
            self.sheet.path(boxes, "white", 1, COLOURS["faint"])
        elif each.style in _LINES and not self.by_rows:
            band = _outline(np.append(x, x[::-1]), np.append(start, end[::-1]))
            self.sheet.path(band, fill=colour, look=f' fill-opacity="0.15"{self._clip(x, start)}')
        else:
            opacity = 0.22 if each.wide else 0.5 if each.style == "small dots" else 0
            look = f' stroke-opacity="{opacity}"' if opacity else ""
            self.sheet.path(bars, colour, 5 if each.wide else 0.7, look=look)

    def _draw_points(self, each: Series) -> None:
        """Draw marks that are within the axes, and for others arrow heads at the edge of the axis of values."""
        if each.style in (*_LINES, "ranges", "boxes"):
            return
        colour, x, y = COLOURS[each.role], self.across(each.x), self.down(each.y)
        along, first, last = (x, self.x, self.x + self.width) if self.by_rows else (y, self.top, self.bottom)
        inside = (along >= first - 0.1) & (along <= last + 0.1)
        dots = {"dots": 3.2 if self.by_rows else 2.4, "small dots": 1.8}
        hollow = each.role == "predicted" or each.style in ("rings", "squares")
        look = ("none", ' stroke-linecap="round"') if each.style in dots else ("white" if hollow else colour, "")
        self.sheet.path(_symbols(each.style, x[inside], y[inside]), colour, dots.get(each.style, 0.8), *look)
        for beyond, edge, names in ((along < first - 0.1, first, "<^"), (along > last + 0.1, last, ">v")):
            place = np.full(int(beyond.sum()), edge)
            ends = (place, y[beyond]) if self.by_rows else (x[beyond], place)
            self.sheet.path(_symbols(names[not self.by_rows], *ends), fill=colour)

    def _draw_cells(self, cells: Cells) -> None:
        """Draw the cells, one path for each colour, and their texts."""
        values = np.array(cells.values, dtype=float)
        colours = [[None if isnan(v) else shade(v, cells.reach) for v in row] for row in values.tolist()]
        x, y = self.across(range(values.shape[1])), self.down(range(values.shape[0]))
        half, tall = self.cell / 2 - 0.4, self.height / len(values) / 2 - 0.4
        places = [(colour, (x[j], y[i])) for i, row in enumerate(colours) for j, colour in enumerate(row) if colour]
        for colour, members in grouped(places).items():
            across, down = np.array(members).T
            self.sheet.path(_boxes(across - half, down - tall, across + half, down + tall), fill=colour.paint)
        for i, texts in enumerate(cells.texts):
            for j, text in enumerate(texts):
                behind = colours[i][j]
                ink = INKS["muted"] if behind is None else "white" if behind.luminance < _BRIGHT else INKS["ink"]
                if shown := next((each for each in text.split("\n") if width_of(each) + 1.4 <= self.cell), ""):
                    self.sheet.text(shown, x[j], y[i], "middle", ink)

    def _labels(self) -> Iterator[Label]:
        """Yield what is written beside marks, the most important first."""
        top, low = self.top + 5, self.bottom - 5
        for mark in self.panel.marks:
            if mark.name and mark.upright:
                x = float(self.across(mark.start)[0])
                sides = (1, -1) if mark.role == "muted" and not mark.dashed else (-1, 1)
                heights = (top, top + 8, low) if mark.role == "muted" else (low, low - 8, top)
                yield Label(mark.name, mark.role, [Spot(np.array((x, y)), side) for y in heights for side in sides])
        for each in self.panel.series:
            if each.labelled and each.style in _LINES:
                yield self._line_label(each)
            elif each.labelled:
                yield from self._point_labels(each)

    def _line_label(self, line: Series) -> Label:
        """Return the name of a line, above or below it; along it if it is slanted."""
        start, end = np.column_stack([self.across(line.x), self.down(line.y)])[[0, -1]]
        direction = end - start
        length, angle = float(np.hypot(*direction)), float(np.arctan2(direction[1], direction[0]))
        if abs(angle) < 0.01:
            return Label(line.name, line.role, _around((start + end) / 2))
        along = direction / length
        normal = np.array((along[1], -along[0]))
        spots = [
            Spot(start + shift * along + away * normal, 1, length - shift)
            for away in (6.5, -6.5)
            for shift in np.arange(0.0, length, 7.2)
        ]
        return Label(line.name, line.role, spots, angle)

    def _point_labels(self, each: Series) -> Iterator[Label]:
        """Yield the texts of points: inside boxes, beside marks in rows, else above or below points."""
        spans = self._spans(each)
        for text, (left, right) in zip(each.texts, spans, strict=True):
            if each.style == "boxes":
                yield Label(text, each.role, [Spot((left + right) / 2, 0, float(right[0] - left[0]))])
            elif self.by_rows:  # where marks overlap, beside all of them
                over = [
                    (a, b) for a, b in spans if a[1] == left[1] and a[0] <= right[0] + 7.2 and left[0] <= b[0] + 7.2
                ]
                beside = (max((b for _, b in over), key=tuple), min((a for a, _ in over), key=tuple))
                yield Label(text, each.role, [Spot(right, 1), Spot(left, -1), Spot(beside[0], 1), Spot(beside[1], -1)])
            else:
                yield Label(text, each.role, _around(left))

    def _spans(self, each: Series) -> list[tuple[Floats, Floats]]:
        """Return where each mark begins and ends; in rows with its interval."""
        ends = (each.low, each.high) if self.by_rows else ((), ())
        low, high = ([x if end is None else end for x, end in zip_longest(each.x, found)] for found in ends)
        y = self.down(each.y)
        return list(zip(*(np.column_stack([self.across(found), y]) for found in (low, high)), strict=True))

    def _write_labels(self) -> None:
        """Write each label at the first place that is free of other labels and covers least of what is drawn."""
        points = [np.column_stack([self.across(s.x), self.down(s.y)]) for s in self.panel.series if not self.by_rows]
        drawn = np.concatenate(points) if points else np.empty((0, 2))
        for each in self.panel.series if self.by_rows and not self.panel.cells else ():
            if each.style != "boxes":
                self.taken += [_spots(*span) for span in self._spans(each)]
        for label in self._labels():
            for text in filter(None, label.text.split("\n")):
                if self._write_label(text, label, drawn):
                    break

    def _write_label(self, text: str, label: Label, drawn: Floats) -> bool:
        width = width_of(text)
        along = np.array((np.cos(label.angle), np.sin(label.angle)))
        half, least, found = width / 2 * along, inf, None
        for spot in label.spots:
            middle = spot.at + spot.side * (width / 2 + 3.6) * along
            if not label.angle and not self.by_rows:
                middle[0] = np.clip(middle[0], self.x + width / 2, max(0, self.width - width) + self.x + width / 2)
            if width <= spot.room and (covered := self._covered(_spots(middle - half, middle + half), drawn)) < least:
                least, found = covered, middle
        if found is None:
            return False
        x, y = found.tolist()
        if (not self.by_rows or self.panel.cells) and not label.angle:
            back = _boxes(x - width / 2, y - 4, x + width / 2, y + 4)
            self.sheet.path(back, fill="white", look=' fill-opacity="0.75"')
        self.sheet.text(text, x, y, "middle", INKS[label.role], turned=float(np.degrees(label.angle)))
        self.taken.append(_spots(found - half, found + half))
        return True

    def _covered(self, spots: Floats, drawn: Floats) -> float:
        """Return how many *drawn* points a text would cover; infinity beyond the axes or over another text."""
        room = (-7.2, -7.2) if self.by_rows else (0.0, 2.9)
        first, last = np.array((self.x, self.top)) + room, np.array((self.x + self.width, self.bottom)) - room
        apart = (2.9, 5.4) if self.by_rows else (6.8, 5.4)
        if bool((spots < first).any() or (spots > last).any()):
            return inf
        if self.taken and _near(spots, np.concatenate(self.taken), *apart).any():
            return inf
        return float(_near(spots, drawn, _STEP, _STEP).sum()) if len(drawn) else 0.0

    def _write_names(self) -> None:
        """Write names to the right of the axes in the order of their places, with lines that do not cross."""
        names, edge = self.panel.names, self.x + self.width
        if not names:
            return
        x, y = self.across([x for x, *_ in names]), self.down([y for _, y, *_ in names])
        heights = np.array(spread(y.tolist(), _LINE))
        heights += max(0.0, self.top - heights.min())
        heights -= max(0.0, heights.max() - self.bottom)
        lines = _lines(x, y, edge, y) + _lines(edge, y, edge + _BEND, heights)
        self.sheet.path(lines, "#BBBBBB", 0.4)
        for (*_, text, role), height in zip(names, heights.tolist(), strict=True):
            self.sheet.text(fitted(text, _NAMES - _BEND - 2), edge + _BEND + 1.4, height, "start", INKS[role])


def _around(middle: Floats) -> list[Spot]:
    """Return places above and below a point, the nearest first."""
    down = [side * away for away in (6.5, 14.4, 22.3, 30.2) for side in (-1, 1)]
    return [Spot(middle + np.array((across, height))) for height in down for across in (0.0, 14.4, -14.4)]


def _spots(start: Floats, end: Floats) -> Floats:
    """Return points along a line, shape (n, 2)."""
    return np.linspace(start, end, ceil(float(np.hypot(*(end - start))) / _STEP) + 1)


def _near(spots: Floats, others: Floats, across: float, up: float) -> NDArray[np.bool_]:
    """Return for each of *others* whether it is near one of *spots*, shape (n,)."""
    distance = np.abs(others[:, None] - spots[None])
    found: NDArray[np.bool_] = np.asarray(((distance[..., 0] < across) & (distance[..., 1] < up)).any(axis=1))
    return found


def _outline(x: Floats, y: Floats) -> str:
    """Return the path of a line through points."""
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _shapes(*corners: tuple[Floats | float, Floats | float]) -> str:
    """Return one path of shapes, closed from three *corners* on: page layout takes time for every element.

    What is not completely known (NaN) is left out. A line without length that has round ends is a dot.
    """
    rows = np.column_stack(np.broadcast_arrays(*map(np.atleast_1d, chain.from_iterable(corners))))
    one = f"M{'L'.join(['{:.1f} {:.1f}'] * len(corners))}{'Z' if len(corners) > 2 else ''}"
    return "".join(one.format(*row) for row in rows[~np.isnan(rows).any(axis=1)].tolist())


def _lines(x: Floats | float, y: Floats | float, to_x: Floats | float, to_y: Floats | float) -> str:
    return _shapes((x, y), (to_x, to_y))


def _boxes(x: Floats | float, y: Floats | float, to_x: Floats | float, to_y: Floats | float) -> str:
    return _shapes((x, y), (to_x, y), (to_x, to_y), (x, to_y))


def _symbols(style: str, x: Floats, y: Floats) -> str:
    return _shapes(*((x + across, y + down) for across, down in _SYMBOLS[style]))


def _draw_key(sheet: _Sheet, cells: Cells) -> float:
    """Draw the key of the colours at the upper edge, and return its width."""
    low, high = (f"≤ {1 / cells.reach:.3g}", f"≥ {cells.reach:.3g}") if cells.reach else ("0", "100 % of the best")
    colours, left = shades(cells.reach), width_of(low) + 3.6
    for number, colour in enumerate(colours):
        start, end = (left + _KEY * at / len(colours) for at in (number, number + 1))
        sheet.path(_boxes(start, 2, end, 8), fill=colour.paint)
    sheet.text(low, 0, 5)
    sheet.text(high, left + _KEY + 3.6, 5)
    return left + _KEY + width_of(high) + 18


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Move *positions* at least *gap* apart, with the same order and mean."""
    order, steps = np.argsort(positions, kind="stable"), gap * np.arange(len(positions))
    placed = np.maximum.accumulate(np.array(positions)[order] - steps) + steps
    result = np.empty(len(positions))
    result[order] = placed - (np.mean(placed) - np.mean(positions) if len(placed) else 0.0)
    return [float(position) for position in result]
