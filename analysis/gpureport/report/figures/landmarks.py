"""Cliffs and tapers of several machines, sizes across.

Of a few machines, all features of one kind share a panel with a row for each workload. Of many, each feature has a
panel with a row for each machine. Strips have all features of a machine in one row.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpureport.compare.records import Landmark
from gpureport.records.curves import Feature
from gpureport.report.figures.theme import (
    FAINT,
    INK,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    Margins,
    across,
    binary_axis,
    dots,
    fitted,
    inches,
    named,
    sheet,
    size_format,
)
from gpureport.report.grouping import grouped, in_figures
from gpureport.text import N90

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MACHINES = (INK, "#009E73", "#CC79A7", "#E69F00")
"""Colours of the baseline and of other machines, if these are few."""

_ROW_IN, _HEAD_IN, _FOOT_IN = 0.15, 0.25, 0.24
_MOST_TALL_IN = 8.6
_LEAST_SPAN = 4.0
"""Least ratio of the ends of an axis, so that it has ticks."""
_TITLES = {"cliff": "cliffs (capacity transitions), midpoint", "taper": f"tapers, {N90}"}
_STRIP_TITLES: dict[Feature, str] = {"cliff": _TITLES["cliff"], "taper": "tapers (saturation points), n90"}
_LABEL_IN, _STRIP_IN = 1.2, 0.19  # of strips


@dataclass(frozen=True)
class LandmarkRow:
    """Features on one row, each with the colours of its predicted and of its observed position."""

    label: str
    marks: tuple[tuple[Landmark, str, str], ...]


@dataclass(frozen=True)
class LandmarkPanel:
    """Features of one kind."""

    title: str
    rows: tuple[LandmarkRow, ...]

    @property
    def unit(self) -> str:
        """Unit of the sizes."""
        return self.rows[0].marks[0][0].unit


def landmark_pages(marks: Sequence[Landmark], machines: Sequence[str]) -> Iterator[tuple[LandmarkPanel, ...]]:
    """Group the features that at least two of *machines* have into panels, and panels into figures of a page."""
    known = [mark for mark in marks if mark.predicted or mark.observed]
    features = grouped(((mark.workload, mark.feature, mark.level), mark) for mark in known)
    common = [found for found in features.values() if len({mark.machine for mark in found}) > 1]
    few = len(machines) <= len(MACHINES)
    page: list[LandmarkPanel] = []
    for panel in _by_kind(common, machines) if few else _by_feature(common, machines):
        if page and _height([*page, panel], columns_of(machines)) > _MOST_TALL_IN:
            yield tuple(page)
            page = []
        page.append(panel)
    if page:
        yield tuple(page)


def columns_of(machines: Sequence[str]) -> int:
    """Return the number of panels side by side."""
    return 1 if len(machines) <= len(MACHINES) else 2


def _by_kind(features: Iterable[Sequence[Landmark]], machines: Sequence[str]) -> Iterator[LandmarkPanel]:
    colours = dict(zip(machines, MACHINES, strict=False))
    for kind, found in grouped((feature[0].feature, feature) for feature in features).items():
        rows = [
            LandmarkRow(_label(feature[0]), tuple((m, colours[m.machine], colours[m.machine]) for m in feature))
            for feature in found
        ]
        for part in in_figures(rows, int((_MOST_TALL_IN - _HEAD_IN - _FOOT_IN) / _ROW_IN)):
            yield LandmarkPanel(_TITLES[kind], part)


def _by_feature(features: Iterable[Sequence[Landmark]], machines: Sequence[str]) -> Iterator[LandmarkPanel]:
    for feature in features:
        by_machine = grouped((mark.machine, (mark, PREDICTED, OBSERVED)) for mark in feature)
        rows = tuple(LandmarkRow(name, tuple(by_machine[name])) for name in machines if name in by_machine)
        kind = "taper (n90)" if feature[0].feature == "taper" else "cliff"
        yield LandmarkPanel(f"{_label(feature[0])}, {kind}", rows)


def _label(mark: Landmark) -> str:
    return mark.workload if mark.feature == "taper" else f"{mark.workload}, {mark.level}"


def _height(panels: Sequence[LandmarkPanel], columns: int) -> float:
    return sum(gap + size for gap, size in _heights(panels, columns)) + _FOOT_IN


def _heights(panels: Sequence[LandmarkPanel], columns: int) -> list[tuple[float, float]]:
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    tallest = [max(len(panel.rows) for panel in row) * _ROW_IN for row in rows]
    return [(_HEAD_IN + (_FOOT_IN if number else 0), height) for number, height in enumerate(tallest)]


def landmark_figure(panels: Sequence[LandmarkPanel], machines: Sequence[str]) -> "Figure":
    """Draw *panels* of one page; *machines* are the names that get a colour each, if they are few."""
    columns = columns_of(machines)
    label_in = 2.3 if columns == 1 else 0.95
    top = 0.17 if columns == 1 else 0.0
    heights = _heights(panels, columns)
    margins = Margins(left=label_in, top=top, bottom=_FOOT_IN)
    figure, axes = sheet(heights, columns, count=len(panels), margins=margins, gap_in=label_in + 0.1)
    for number, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
        _shorten_axes(axis, len(panel.rows) * _ROW_IN, heights[number // columns][1])
        _draw(axis, panel, label_in)
    if columns == 1:
        named(figure, [(name, colour) for name, colour in zip(machines, MACHINES, strict=False)])
    return figure


def _shorten_axes(axis: "Axes", height_in: float, row_in: float) -> None:
    """Give the upper part of its place to an axis that is less tall than its neighbour."""
    box = axis.get_position()
    axis.set_position((box.x0, box.y1 - box.height * height_in / row_in, box.width, box.height * height_in / row_in))


def _draw(axis: "Axes", panel: LandmarkPanel, label_in: float) -> None:
    axis.set_ylim(len(panel.rows), 0)
    axis.set_title(fitted(panel.title, inches(axis)[0]), size=SMALL_PT, pad=3)
    places = [number + 0.5 for number in range(len(panel.rows))]
    axis.set_yticks(places, [fitted(row.label, label_in - 0.06) for row in panel.rows])
    spots = [
        (mark, line + _shift(number, len(row.marks)), predicted, observed)
        for line, row in zip(places, panel.rows, strict=True)
        for number, (mark, predicted, observed) in enumerate(row.marks)
    ]
    for colour, at in grouped((colour, (m.predicted, y)) for m, y, colour, _ in spots if m.predicted).items():
        x, y = np.array(at).T
        dots(axis, x, y, colour, 4.6)
        dots(axis, x, y, "#FFFFFF", 2.8)
    for colour, seen in grouped((colour, (mark, y)) for mark, y, _, colour in spots if mark.observed).items():
        ends = [(mark.ci_low, mark.ci_high, y) for mark, y in seen if mark.ci_low and mark.ci_high]
        low, high, heights = np.array(ends).reshape(-1, 3).T
        across(axis, heights, low, high, colour, 0.8)
        dots(axis, [mark.observed for mark, _ in seen if mark.observed], [y for _, y in seen], colour, 3.0)
    sizes = [v for mark, *_ in spots for v in (mark.predicted, mark.observed, mark.ci_low, mark.ci_high) if v]
    size_axis(axis, panel.unit, sizes)
    axis.grid(visible=False, axis="y")
    axis.spines["left"].set_visible(False)


def _shift(number: int, count: int) -> float:
    """Return the vertical distance of a mark from the middle of its row, which *count* marks share."""
    return 0.55 * ((number + 0.5) / count - 0.5)


def size_axis(axis: "Axes", unit: str, sizes: Sequence[float]) -> None:
    """Make x logarithmic with ticks of sizes in *unit*, a little wider than *sizes*."""
    low, high = min(sizes), max(sizes)
    wider = max(1.2, (_LEAST_SPAN * low / high) ** 0.5)
    binary_axis(axis, size_format(unit), max(2, int(inches(axis)[0] / 0.55)))
    axis.set_xlim(low / wider, high * wider)


def strip_figure(marks: Sequence[Landmark], machines: Sequence[str]) -> "Figure":
    """Draw all cliffs on the left and all tapers on the right: a row for each machine, a dot for each workload.

    *marks* may include other machines than *machines*, which only widen the scale; at least one has a size.
    """
    by_feature = grouped((mark.feature, mark) for mark in marks if mark.predicted or mark.observed)
    shown = [(title, by_feature[feature]) for feature, title in _STRIP_TITLES.items() if feature in by_feature]
    margins = Margins(left=_LABEL_IN, bottom=0.24)
    figure, axes = sheet([(0, len(machines) * _STRIP_IN)], len(shown), margins=margins, gap_in=0.25)
    for axis, (title, found) in zip(axes, shown, strict=True):
        axis.set_title(title)
        axis.set_ylim(len(machines), 0)
        axis.set_yticks([])
        sizes = [size for mark in found for size in (mark.predicted, mark.observed) if size]
        size_axis(axis, found[0].unit, sizes)
        edges = np.arange(len(machines) + 1)
        low, high = axis.get_xlim()
        across(axis, edges, np.full(len(edges), low), np.full(len(edges), high), FAINT, 0.3)
        for places, colour in zip(_places(found, machines), (PREDICTED, OBSERVED), strict=True):
            x, y = np.array(places).reshape(-1, 2).T
            dots(axis, x, y, colour, 2.2)
    middles = [number + 0.5 for number in range(len(machines))]
    axes[0].set_yticks(middles, [fitted(name, _LABEL_IN - 0.08) for name in machines])
    axes[0].grid(visible=False, axis="y")
    return figure


def _places(marks: Sequence[Landmark], machines: Sequence[str]) -> tuple[list[tuple[float, float]], ...]:
    """Return the places of predicted sizes, in the lower half of a row, and of observed ones, in the upper half.

    Heights within a half vary by workload.
    """
    rows = {name: number for number, name in enumerate(machines)}
    predicted, observed = [], []
    for number, mark in enumerate(mark for mark in marks if mark.machine in rows):
        y = rows[mark.machine] + 0.16 * (2 * (number * 0.618 % 1) - 1)
        predicted += [(mark.predicted, y + 0.74)] if mark.predicted else []
        observed += [(mark.observed, y + 0.28)] if mark.observed else []
    return predicted, observed
