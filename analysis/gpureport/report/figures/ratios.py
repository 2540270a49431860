"""The panel below a curve: its values as ratios to a base, on a logarithmic axis that is symmetrical around 1."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.report.figures.theme import inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRIP_IN, BETWEEN_IN = 0.4, 0.06
"""Height of the panel, and of the gap above it."""
_LEAST_REACH = 1.3  # of the axis, above and below 1
_TICKS = ((1.5, 1.2), (2.5, 1.5), (9.0, 2.0), (math.inf, 5.0))  # the outer ticks, by the reach of the axis
_LEAST_ROOM = 1.35  # from 1 to the edge of the axis / from 1 to its outer ticks

Pairs = Sequence[tuple[float, float]]
"""Pairs of x and y, all above 0."""


def interpolated(points: Pairs) -> Callable[[float], float]:
    """Return y as a function of x, interpolated on logarithmic axes; *points* (at least one) are ascending in x."""
    x, y = np.log(np.array(points)).T
    return lambda at: float(np.exp(np.interp(np.log(at), x, y)))


def ratio_axis(axis: "Axes", ratios: Mapping[str, Pairs], most_reach: float = 4.0) -> None:
    """Scale the y axis to *ratios* by colour, which have their x; arrows show those beyond a factor of *most_reach*."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    reach = max([_LEAST_REACH, *(1.05 * max(y, 1 / y) for pairs in ratios.values() for _, y in pairs)])
    reach = min(reach, most_reach)
    near = next(near for most, near in _TICKS if reach < most)
    reach = max(reach, near**_LEAST_ROOM)
    axis.set_yscale("log")
    axis.set_ylim(1 / reach, reach)
    axis.yaxis.set_major_locator(FixedLocator([1 / near, 1, near]))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    for colour, pairs in ratios.items():
        above, below = [x for x, y in pairs if y > reach], [x for x, y in pairs if y < 1 / reach]
        _arrows(axis, above, reach, reach**0.8, colour)
        _arrows(axis, below, 1 / reach, reach**-0.8, colour)


def _arrows(axis: "Axes", at: Sequence[float], tip: float, end: float, colour: str) -> None:
    """Draw arrow heads at each x, as one path; *tip* and *end* are the heights of their tips and of their ends."""
    if at:
        wide = (axis.get_xlim()[1] / axis.get_xlim()[0]) ** (0.03 / inches(axis)[0])
        x = [each for middle in at for each in (middle / wide, middle, middle * wide, np.nan)]
        axis.plot(x, [end, tip, end, np.nan] * len(at), color=colour, linewidth=0.8, zorder=4, clip_on=False)
