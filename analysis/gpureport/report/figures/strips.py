"""All cliffs and tapers of all machines in one figure: one row per machine, one dot per workload, sizes across."""

from collections.abc import Sequence
from statistics import median

from gpureport.compare.records import Landmark
from gpureport.records.features import Feature
from gpureport.report.figures.canvas import Canvas, Pen
from gpureport.report.figures.landmarks import size_panel
from gpureport.report.figures.panels import Panel
from gpureport.report.figures.style import (
    FAINT,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    TINY_PT,
    WIDTH_IN,
    fitted,
    spread,
)
from gpureport.report.grouping import grouped

_LABEL_IN, _GAP_IN, _MARGIN_IN = 1.2, 0.3, 0.15
_HEAD_IN, _FOOT_IN = 0.24, 0.22
_FEW = 8
"""Most machines for which rows are tall and show the names of caches."""
_NAME_IN = 0.25
"""Width of the name of a cache."""
_TALL_IN, _LOW_IN = 0.34, 0.155
_TITLES: dict[Feature, str] = {
    "cliff": "cliffs (capacity transitions)",
    "taper": "tapers: work-items for 90 % of peak",
}


def strip_figure(marks: Sequence[Landmark], machines: Sequence[str]) -> str:
    """Draw cliffs on the left and tapers on the right, with machines in the order of *machines*.

    *marks* may include other machines, which only widen the scale.
    """
    tall = len(machines) <= _FEW
    row_in = _TALL_IN if tall else _LOW_IN
    height = len(machines) * row_in
    canvas = Canvas(_HEAD_IN + height + _FOOT_IN)
    top = canvas.height_in - _HEAD_IN
    for number, name in enumerate(machines):
        upper = top - number * row_in
        canvas.segment((0.0, upper), (WIDTH_IN, upper), Pen(FAINT, 0.3, order=1))
        canvas.text((0.0, upper - row_in / 2), fitted(name, _LABEL_IN - 0.05), size_pt=TINY_PT)
    by_feature = grouped((mark.feature, mark) for mark in marks if mark.predicted or mark.observed)
    shown = [(title, by_feature[feature]) for feature, title in _TITLES.items() if feature in by_feature]
    width = (WIDTH_IN - _LABEL_IN - _MARGIN_IN - (len(shown) - 1) * _GAP_IN) / max(1, len(shown))
    for index, (title, found) in enumerate(shown):
        left = _LABEL_IN + index * (width + _GAP_IN)
        sizes = [size for mark in found for size in (mark.predicted, mark.observed) if size]
        panel = size_panel(canvas, (left, top - height, width, height), sizes, found[0].unit, 1.5)
        canvas.text((left, top + 0.13), title, size_pt=SMALL_PT, weight=600)
        for number, name in enumerate(machines):
            own = [mark for mark in found if mark.machine == name]
            _row(panel, own, top - (number + 0.5) * row_in, row_in)
            if tall:
                _levels(panel, own, top - number * row_in - 0.05)
    return canvas.drawn()


def _row(panel: Panel, own: Sequence[Landmark], middle: float, row_in: float) -> None:
    """Draw predicted sizes in the lower half of a row and observed ones in the upper; heights vary by workload."""
    for number, mark in enumerate(own):
        apart = 0.16 * row_in * (2 * (number * 0.618 % 1) - 1)
        for size, colour, centre in (
            (mark.predicted, PREDICTED, middle - 0.2 * row_in),
            (mark.observed, OBSERVED, middle + 0.1 * row_in),
        ):
            if size:
                place = panel.across(size), centre + apart
                panel.canvas.segment(place, place, Pen(colour, 2.2, alpha=0.6, order=3, round=True))


def _levels(panel: Panel, own: Sequence[Landmark], upper: float) -> None:
    """Write the names of caches above their cliffs; parts of caches and unexplained transitions have none."""
    sizes = grouped(
        (mark.level.name, size)
        for mark in own
        if mark.feature == "cliff" and not (mark.level.near or mark.level.is_unexplained)
        if (size := mark.observed or mark.predicted)
    )
    places = spread([panel.across(median(found)) for found in sizes.values()], _NAME_IN)
    for level, place in zip(sizes, places, strict=True):
        panel.canvas.text((place, upper), level, size_pt=TINY_PT, colour=MUTED, ha="center")
