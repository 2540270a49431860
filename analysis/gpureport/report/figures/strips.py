"""All cliffs and tapers of all machines in one figure: one row per machine, one dot per workload, sizes across."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.compare.records import Landmark
from gpureport.records.features import Feature
from gpureport.report.figures.landmarks import size_axis
from gpureport.report.figures.style import FAINT, OBSERVED, PREDICTED, fitted
from gpureport.report.figures.theme import Margins, across, dots, sheet
from gpureport.report.grouping import grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABEL_IN, _ROW_IN = 1.2, 0.19
_TITLES: dict[Feature, str] = {
    "cliff": "cliffs (capacity transitions), midpoint",
    "taper": "tapers (saturation points), n90",
}


def strip_figure(marks: Sequence[Landmark], machines: Sequence[str]) -> "Figure":
    """Draw cliffs on the left and tapers on the right, with machines in the order of *machines*.

    *marks* may include other machines, which only widen the scale; at least one has a size.
    """
    by_feature = grouped((mark.feature, mark) for mark in marks if mark.predicted or mark.observed)
    shown = [(title, by_feature[feature]) for feature, title in _TITLES.items() if feature in by_feature]
    margins = Margins(left=_LABEL_IN, bottom=0.24)
    figure, ((*axes,),) = sheet([(0, len(machines) * _ROW_IN)], len(shown), margins=margins, gap_in=0.25)
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
