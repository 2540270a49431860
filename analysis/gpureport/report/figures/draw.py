"""Charts drawn with seaborn, on axes of matplotlib."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from math import ceil, floor, inf, log2, log10
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.grouping import grouped
from gpureport.report.figures.chart import Axis, Chart, Label, Panel, Role, Series, known, variants
from gpureport.report.figures.theme import COLOURS, FONT_PT, SMALL_PT, TITLE_PT, WIDTH_IN, fitted, needed_in, readable
from gpureport.units import abbreviated, format_bytes, format_number, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ticks = Sequence[tuple[float, str]]

_TITLE_IN, _UNIT_IN, _LEGEND_IN, _FOOT_IN, _TICKS_IN, _JOINED_IN = 0.19, 0.15, 0.17, 0.36, 0.2, 0.06
_LABEL_IN, _EDGE_IN, _LONGEST_IN = 0.16, 0.14, 2.3
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LOGARITHMIC = ("log2", "log10", "ratio")
_MARKERS = {"rings": "o", "strokes": "|", "up": "^", "down": "v"}
_BAND_REACH = 3.0  # of bands of lines beyond the values of the line, which axes include
_REACHES = ((1.45, 1.2), (1.7, 1.3), (2.2, 1.5), (4.0, 2.0), (9.0, 3.0), (inf, 5.0))
"""The outer ticks of an axis of ratios, by its reach."""
_NEAR_IN = 0.09  # from a mark to the middle of a text above or below it
_HEIGHTS_IN = (_NEAR_IN, 0.2, 0.31, 0.42, 0.53)
_FAR_IN = (0.64, 0.75, 0.86)  # of texts with leaders, if there is no place nearer
Spots = Sequence[tuple[float, float, int]]
"""Possible places of a text: x and y in inches from the lower left corner of the axes, where it begins (1), ends (-1),
or is centred (0)."""


def draw(chart: Chart) -> "Figure":
    """Draw a chart within :func:`gpureport.report.figures.theme.theme`."""
    from matplotlib.figure import Figure

    placed = list(_placed(chart))
    height = max(each.top_in + each.height_in + _foot_in(each.panel) for each in placed)
    figure = Figure(figsize=(WIDTH_IN, height))
    for each in placed:
        bottom = height - each.top_in - each.height_in
        sides = (each.x_in / WIDTH_IN, bottom / height, each.width_in / WIDTH_IN, each.height_in / height)
        each.draw(figure.add_axes(sides))
    x, most = 0.0, WIDTH_IN / max(1, len(chart.legend))
    for name, role in chart.legend:
        text = fitted(f"● {variants(name)[0]}", most - 0.05)
        figure.text(x / WIDTH_IN, 1 - 0.02 / height, text, color=readable(COLOURS[role]), va="top")
        x += min(needed_in(text) + 0.15, most)
    return figure


def _placed(chart: Chart) -> "Iterator[_Drawing]":
    columns = chart.columns
    beside = [(), *columns][: len(columns)]
    pairs = [list(zip_longest(column, left[: len(column)])) for column, left in zip(columns, beside, strict=True)]
    lefts = [max(_left_in(panel, left) for panel, left in column) for column in pairs]
    notes = [[needed_in(text) for panel in column for text, _ in panel.notes] for column in columns]
    rights = [_EDGE_IN + max(widths, default=0.0) for widths in notes]
    share = (WIDTH_IN - sum(lefts) - sum(rights)) / len(columns)
    x, top = 0.0, _LEGEND_IN if chart.legend else 0.02
    for column, left_in, right_in in zip(pairs, lefts, rights, strict=True):
        y, x = top, x + left_in
        for panel, left in column:
            y += _head_in(panel)
            beyond = WIDTH_IN - x - share if column is pairs[-1] else right_in + 0.3
            yield _Drawing(panel, left, x, y, share, left_in, beyond)
            y += panel.height_in + _foot_in(panel)
        x += share + right_in


def _left_in(panel: Panel, beside: Panel | None) -> float:
    label = _LABEL_IN if _y_label(panel, beside) else 0.0
    if panel.y.scale == "rows":
        repeated = beside is not None and beside.y.rows == panel.y.rows
        return 0.0 if repeated else min(max(map(needed_in, panel.y.rows), default=0.0) + 0.08, _LONGEST_IN) + label
    ends = _ends(panel, upright=False)
    ticks, unit = _ticks(panel.y, ends, panel.height_in / 0.2, max(ends)), _unit(panel.y, max(ends))
    return max(*(needed_in(text) for _, text in ticks), needed_in(unit) + 0.02, 0.1) + 0.08 + label


def _y_label(panel: Panel, beside: Panel | None) -> str:
    """Return the label of the y axis, unless the panel to the left has the same one."""
    return "" if beside and beside.y.label == panel.y.label else panel.y.label


def _head_in(panel: Panel) -> float:
    if panel.title or panel.notes:
        return _TITLE_IN
    return _UNIT_IN if panel.y.unit or panel.y.scale == "time" else 0.0


def _foot_in(panel: Panel) -> float:
    if panel.joined:
        return _JOINED_IN
    return _FOOT_IN if panel.x.label else _TICKS_IN


def _ends(panel: Panel, *, upright: bool) -> tuple[float, float]:
    axis, by_rows = panel.x if upright else panel.y, panel.y.scale == "rows"
    if axis.scale == "rows":
        return len(axis.rows) - 0.5, -0.5
    values = [value for each in panel.series for value in _along(each, axis, upright, intervals=upright == by_rows)]
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


def _along(series: Series, axis: Axis, upright: bool, *, intervals: bool) -> list[float]:
    values = series.x if upright else series.y
    ends = known((*series.low, *series.high)) if intervals else []
    if series.style in ("line", "dashes") and axis.scale in ("log10", "zero"):
        ends = [min(max(end, min(values) / _BAND_REACH), max(values) * _BAND_REACH) for end in ends]
    return [*values, *ends]


def _ticks(axis: Axis, ends: tuple[float, float], most: float, largest: float) -> Ticks:
    """Return at most about *most* places of an axis and their texts, in the unit of the value *largest*."""
    low, high = sorted(ends)
    most = max(2 if axis.scale == "log2" else 3, floor(most))
    if axis.scale == "time":
        return _dates(low, high)
    if axis.scale == "log2":
        exponents = range(ceil(log2(low)), floor(log2(high)) + 1)
        powers = (2.0**exponent for exponent in exponents[:: max(1, ceil(len(exponents) / most))])
        return [(value, _size(value, axis.unit)) for value in powers]
    if axis.scale == "ratio":
        near = next(near for reach, near in _REACHES if high < reach)
        return [(value, format_number(value, ".2g")) for value in (1 / near, 1.0, near)]
    divisor, _ = scale_of(largest, abbreviated(axis.unit))
    ticks = round_ticks(low, high, most, axis.scale == "log10")
    return [(value, format_number(value / divisor, ".6g")) for value in ticks]


def round_ticks(low: float, high: float, most: int, logarithmic: bool) -> list[float]:
    """Return at most *most* round numbers within *low* … *high*: 1-2-5 or powers of ten if *logarithmic*."""
    if logarithmic:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
            if len(found) <= most:
                break
        if len(found) >= 2:
            return found[:: ceil(len(found) / most)]
    from matplotlib.ticker import MaxNLocator

    every = np.asarray(MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)).tolist()
    return [value for value in every if low <= value <= high]


def _size(value: float, unit: str) -> str:
    if unit in ("B", ""):
        return format_bytes(value) if unit else format_number(value, ".0f")
    return "2" + str(round(log2(value))).translate(_SUPERSCRIPTS)


def _dates(low: float, high: float) -> Ticks:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date

    locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    days = [each / 86400 for each in (low, high)]
    found = locator.tick_values(*map(num2date, days))  # type: ignore[no-untyped-call]
    texts = ConciseDateFormatter(locator, show_offset=False).format_ticks(found)  # type: ignore[no-untyped-call]
    return [(value * 86400, text) for value, text in zip(found, texts, strict=True) if days[0] <= value <= days[1]]


def _unit(axis: Axis, largest: float) -> str:
    plain = axis.scale in ("log2", "ratio", "time")
    return "" if plain or not axis.unit else scale_of(largest, abbreviated(axis.unit))[1]


@dataclass
class _Drawing:
    """A panel, the one to its left, whose names it does not repeat, and its place from the upper left of the figure."""

    panel: Panel
    beside: Panel | None
    x_in: float
    top_in: float
    width_in: float
    left_in: float
    """Width of ticks and label to the left."""
    right_in: float
    """Width of the free space to the right."""

    def __post_init__(self) -> None:
        self.height_in, self.by_rows = self.panel.height_in, self.panel.y.scale == "rows"
        self.ends = {name: _ends(self.panel, upright=name == "x") for name in ("x", "y")}
        self.taken: list[Sequence[float]] = []
        self.drawn: Floats = np.empty((0, 2))
        """Places of points and lines, in inches, which texts avoid if there is room."""

    def draw(self, axis: "Axes") -> None:
        """Draw everything on its axes, what is behind first."""
        self.axis, panel, beside = axis, self.panel, self.beside
        self._scale("x", self.width_in / 0.55)
        self._scale("y", self.height_in / 0.2)
        axis.set_ylabel(fitted(_y_label(panel, beside), self.height_in + 0.2), labelpad=2)
        if beside and self.by_rows and beside.y.rows == panel.y.rows:
            axis.tick_params(labelleft=False)
        self._draw_marks()
        for number, each in enumerate(panel.series):
            self._draw_series(each, 3 * number)
        if panel.title:
            room = self.width_in + self.left_in
            titles = variants(panel.title)
            fitting = [each for each in titles if needed_in(each, TITLE_PT) <= room]
            title = fitted([*fitting, titles[-1]][0], room, TITLE_PT)
            left = min(0.0, self.width_in - needed_in(title, TITLE_PT))
            self._write(title, left, self.height_in + 0.07, size=FONT_PT, weight=600)
        self._write_labels()
        for row, (text, role) in enumerate(panel.notes):
            last = row == len(panel.notes) - 1
            y = self.height_in + 0.07 if last else self._inches([0.0], [row])[0][1]
            self._write(text, self.width_in + max(needed_in(t) for t, _ in panel.notes) + 0.06, y, role, ha="right")

    def _scale(self, name: Literal["x", "y"], most: float) -> None:
        axis, spec, ends = self.axis, getattr(self.panel, name), self.ends[name]
        if spec.scale in _LOGARITHMIC:
            axis.set(**{f"{name}scale": "log"})
        axis.set(**{f"{name}lim": ends})
        if spec.scale == "rows":
            self._name_rows()
            return
        shown = (x for each in self.panel.series for x in each.x) if self.by_rows else ends
        largest = max(shown, default=max(ends))  # beside rows, ends of intervals do not decide the unit of their notes
        ticks, unit = _ticks(spec, ends, most, largest), _unit(spec, largest)
        hidden = name == "x" and self.panel.joined
        texts = ["" if hidden else text for _, text in ticks]
        getattr(axis, f"set_{name}ticks")([value for value, _ in ticks], texts)
        if name == "x" and texts and needed_in(texts[-1]) / 2 > self.right_in + self._beyond_in(ticks[-1][0]):
            axis.get_xticklabels()[-1].set_horizontalalignment("right")  # the picture ends there
        getattr(axis, f"{name}axis").minorticks_off()
        if name == "y" and unit:
            self._write(unit, -0.03, self.height_in + 0.1, ha="right")
        if name == "x" and spec.label and not hidden:
            label = f"{spec.label} ({unit})" if unit else spec.label
            axis.set_xlabel(
                fitted(label, self.width_in + (2 * min(self.left_in, self.right_in) if self.by_rows else 0.2)),
                labelpad=1,
            )

    def _beyond_in(self, x: float) -> float:
        """Return the width of the axes to the right of a value."""
        within = (self.axis.transScale + self.axis.transLimits).transform((x, self.axis.get_ylim()[0]))[0]
        return float(1 - within) * self.width_in

    def _name_rows(self) -> None:
        self.axis.grid(visible=False, axis="y")
        self.axis.spines["left"].set_visible(False)
        if self.panel.joined:
            self.axis.spines["bottom"].set_visible(False)
            self.axis.grid(visible=False)
        rows = self.panel.y.rows
        self.axis.set_yticks(range(len(rows)), [fitted(text, _LONGEST_IN - 0.06) for text in rows])

    def _draw_marks(self) -> None:
        for mark in self.panel.marks:
            colour = COLOURS[mark.role]
            if mark.start == mark.end:
                along = self.axis.axvline if mark.upright else self.axis.axhline
                style: Any = (0, (1, 1.5)) if mark.dashed else "-"
                along(mark.start, color=colour, linewidth=0.7, linestyle=style, zorder=1, alpha=0.8)
            else:
                over = self.axis.axvspan if mark.upright else self.axis.axhspan
                over(mark.start, mark.end, color=colour, alpha=0.13, linewidth=0, zorder=0.5)

    def _draw_series(self, each: Series, phase: float) -> None:
        from seaborn import lineplot, scatterplot

        colour, x, y = COLOURS[each.role], np.array(each.x), np.array(each.y)
        if each.low:
            self._draw_intervals(each, colour)
        if each.style in ("line", "dashes"):
            style: Any = "-" if each.style == "line" else (phase, (4, 2))
            look: Any = {"color": colour, "linewidth": 0.9, "linestyle": style}
            lineplot(x=x, y=y, ax=self.axis, estimator=None, sort=False, legend=False, **look)
        elif each.style in ("dots", "small dots"):
            size = 1.8 if each.style == "small dots" else 3.2 if self.by_rows else 2.4
            look = {"linewidth": size, "solid_capstyle": "round", "zorder": 3}
            self.axis.plot(_gapped(x, x), _gapped(y, y), color=colour, **look)
        elif each.style in _MARKERS:
            hollow = each.role == "predicted" or each.style == "rings"
            face = "white" if hollow and each.style != "strokes" else colour
            look = {"marker": _MARKERS[each.style], "s": 16, "facecolor": face, "linewidth": 0.8}
            if each.style != "strokes":  # they have no face
                look["edgecolor"] = colour
            low, high = sorted(self.ends["x" if self.by_rows else "y"])
            inside = [low <= value <= high for value in (x if self.by_rows else y)]  # arrows show the others
            scatterplot(x=x[inside], y=y[inside], ax=self.axis, clip_on=False, zorder=3, legend=False, **look)
        self._draw_arrows(each, colour)

    def _draw_intervals(self, each: Series, colour: str) -> None:
        low, high = (np.array(ends, dtype=float) for ends in (each.low, each.high))
        if each.style == "boxes":
            ends, rows = np.column_stack([low, high - low]), grouped(zip(each.y, range(len(low)), strict=True))
            for row, members in rows.items():
                spans = ends[members].tolist()
                self.axis.broken_barh(spans, (row - 0.42, 0.84), facecolor=COLOURS["faint"], edgecolor="white")
        elif each.style in ("line", "dashes") and not self.by_rows:
            self.axis.fill_between(each.x, low, high, color=colour, alpha=0.15, linewidth=0)
        else:
            at = np.array(each.y if self.by_rows else each.x, dtype=float)
            ends, across = _gapped(low, high), _gapped(at, at)
            pair = (ends, across) if self.by_rows else (across, ends)
            width, alpha = (5.0, 0.22) if each.wide else (0.7, 1.0 if each.style != "small dots" else 0.5)
            self.axis.plot(*pair, color=colour, linewidth=width, alpha=alpha, solid_capstyle="butt", zorder=2)

    def _draw_arrows(self, each: Series, colour: str) -> None:
        low, high = sorted(self.ends["x" if self.by_rows else "y"])
        values = each.x if self.by_rows else each.y
        for edge, ends, marker in ((low, each.low, "<v"), (high, each.high, ">^")):
            reached = [value if end is None else end for value, end in zip_longest(values, ends)]
            at = [
                (edge, y) if self.by_rows else (x, edge)
                for x, y, value in zip(each.x, each.y, reached, strict=True)
                if (value < low if edge == low else value > high) and each.style not in ("line", "dashes", "boxes")
            ]
            look: Any = {"color": colour, "markersize": 3, "markeredgewidth": 0, "clip_on": False}
            if at:
                self.axis.plot(*zip(*at, strict=True), marker[not self.by_rows], **look)

    def _inches(self, x: Sequence[float], y: Sequence[float]) -> Floats:
        to_axes = self.axis.transData + self.axis.transAxes.inverted()
        found: Floats = to_axes.transform(np.column_stack([x, y])) * (self.width_in, self.height_in)
        return found

    def _write(self, text: str, x: float, y: float, role: Role = "ink", *, size: float = SMALL_PT, **look: Any) -> None:  # noqa: ANN401
        place = x / self.width_in, y / self.height_in
        look = {"va": "center", "color": readable(COLOURS[role]), **look}
        self.axis.text(*place, text, transform=self.axis.transAxes, size=size, **look)

    def _write_labels(self) -> None:
        """Write the names of marks, and the texts of labelled series."""
        self.drawn = np.vstack([self.drawn, *self._paths()])
        for each in self.panel.series:
            if each.style not in ("boxes", "line", "dashes") and (each.labelled or self.by_rows):
                self.taken += [
                    (left - 0.04, y - 0.04, right + 0.04, y + 0.04) for (left, y), (right, _) in self._spans(each)
                ]
        for mark in self.panel.marks:
            if mark.name and mark.upright:
                x, top = self._inches([mark.start], [self.ends["y"][0]])[0][0], self.height_in - 0.07
                sides = (1, -1) if mark.role == "muted" and not mark.dashed else (-1, 1)
                heights = (top, top - 0.11, 0.07) if mark.role == "muted" else (0.07, 0.18, top)
                self._write_first(mark.name, mark.role, [(x, y, side) for side in sides for y in heights])
        for each in self.panel.series:
            if each.labelled and each.style in ("line", "dashes"):
                self._write_line(each)
            elif each.labelled:
                self._write_points(each)

    def _paths(self) -> Iterator[Floats]:
        """Yield places on upright marks and, every 0.04 inches, on points and lines, unless they are in rows."""
        for each in self.panel.series if not self.by_rows else ():
            places = self._inches(each.x, each.y) if each.x else self.drawn
            yield places
            for start, end in pairwise(places) if each.style in ("line", "dashes") else ():
                yield np.linspace(start, end, 1 + ceil(float(np.abs(end - start).max()) / 0.04))
        heights = np.arange(0.0, self.height_in, 0.04)
        for mark in self.panel.marks if not self.by_rows else ():
            if mark.upright and mark.start == mark.end:
                x = self._inches([mark.start], [self.ends["y"][1]])[0][0]
                yield np.column_stack([np.full(len(heights), x), heights])

    def _write_line(self, line: Series) -> None:
        """Write the name beside a sloping line, and the name or value above or below a level one."""
        start, end = self._inches(line.x, line.y)[[0, -1]]
        if abs(end[1] - start[1]) < 0.01:
            value = line.y[0] / scale_of(max(self.ends["y"]), abbreviated(self.panel.y.unit))[0]
            text = line.name or format_number(value, ".4g" if value < 1e4 else ".0f")
            self._write_first(text, line.role, _around(*(start + end) / 2))
        else:
            at = (end + share * (start - end) for share in np.arange(0.05, 1.0, 0.05))
            self._write_first(line.name, line.role, [(x, y, side) for x, y in at for side in (-1, 1)])

    def _write_points(self, each: Series) -> None:
        """Write the texts of points: inside boxes, or beside marks (or those they touch), else above or below."""
        spans = list(self._spans(each))
        for text, ((left, y), (right, _)) in zip(each.texts, spans, strict=True):
            if each.style == "boxes":
                self._write_first(text, each.role, [((left + right) / 2, y, 0)], right - left)
            elif self.by_rows:
                row = [(a[0], b[0]) for a, b in spans if a[1] == y and a[0] - 0.1 < right and b[0] + 0.1 > left]
                ends = max(b for _, b in row), min(a for a, _ in row)
                self._write_first(text, each.role, [(right, y, 1), (left, y, -1), (ends[0], y, 1), (ends[1], y, -1)])
            else:
                spots = (right, y, 1), (left, y, -1), *_around(left, y, _HEIGHTS_IN + _FAR_IN)
                place = self._write_first(text, each.role, spots)
                away = np.abs(np.subtract(place, (left, y))) if place else (0.0, 0.0)  # rounded
                if away[1] > 1.5 * _NEAR_IN or (away[1] > 0.01 and away[0] > needed_in(variants(text)[-1]) / 2):
                    x, up = np.array([(left, y), place]).T / [[self.width_in], [self.height_in]]
                    self.axis.plot(x, up, transform=self.axis.transAxes, color="#BBBBBB", linewidth=0.4, zorder=1)

    def _spans(self, each: Series) -> Iterator[tuple[Floats, Floats]]:
        ends = (each.low, each.high) if self.by_rows else ((), ())
        low, high = ([x if end is None else end for x, end in zip_longest(each.x, known)] for known in ends)
        yield from zip(self._inches(low, each.y), self._inches(high, each.y), strict=True)

    def _write_first(self, label: Label, role: Role, spots: Spots, room: float = inf) -> tuple[float, float] | None:
        """Write a text, or a shorter variant, where it covers no other; return its middle."""
        bottom, top, start = (-inf, inf, -0.1) if self.by_rows else (0.04, self.height_in - 0.04, 0.0)
        every = [(text, *spot) for text in filter(None, variants(label)) for spot in spots]
        for drawn in (self.drawn, None):
            for text, at, y, side in every:
                width = needed_in(text)
                x = at + side * (width / 2 + 0.05) if side else min(max(at, width / 2), self.width_in - width / 2)
                box = (x - width / 2, y - 0.05, x + width / 2, y + 0.05)
                inside = box[0] >= start and box[2] <= self.width_in + 0.1 and bottom <= y <= top and width <= room
                covers = drawn is not None and bool(np.all((drawn > box[:2]) & (drawn < box[2:]), axis=1).any())
                if inside and not covers and not any(_overlap(box, other) for other in self.taken):
                    self.taken.append(box)
                    look: Any = {"bbox": {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0}}
                    self._write(text, x, y, role, ha="center", **({} if self.by_rows else look))
                    return x, y
        return None


def _around(x: float, y: float, away_in: Sequence[float] = _HEIGHTS_IN) -> Spots:
    heights = [side * away for away in away_in for side in (1, -1)]
    return [(x + across, y + height, 0) for height in heights for across in (0.0, 0.2, -0.2, 0.4, -0.4)]


def _overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _gapped(starts: Floats, ends: Floats) -> Floats:
    """Return lines (n,) as one path (3 n,): layout is faster. A line without length that has round ends is a dot."""
    return np.column_stack([starts, ends, np.full(len(starts), np.nan)]).ravel()
