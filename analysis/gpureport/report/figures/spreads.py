"""Differences of all sweeps of two runs in order, with significant ones in colour."""

from collections.abc import Sequence
from math import asinh, log, log1p
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from gpureport.compare.records import Difference
from gpureport.report.figures.style import FONT_PT, MUTED, OBSERVED, WIDTH_IN, fitted
from gpureport.report.figures.theme import Margins, arrows, bars, dots, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT_IN = 1.75
_LEAST = 0.02
"""Least range of the scale, as the logarithm of a ratio."""
_ROOM = 1.5
"""Range of the scale / the largest difference, or half of the median interval, in logarithms; arrows show where an
interval leaves it."""
_MOST_FOR_INTERVALS = 0.4
"""Greatest range of the scale, as the logarithm of a ratio, that intervals alone require."""
_STRAIGHT = 0.01
"""Logarithm of a ratio beyond which the scale compresses (inverse hyperbolic sine)."""
_APART_IN = 0.11  # between ticks
_TICKS = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 9.0)
"""Differences in speed, relative."""


def spread_figure(differences: Sequence[Difference]) -> "Figure":
    """Draw one machine's speeds relative to the baseline: one dot per sweep with its 95 % interval, slowest first."""
    ordered = sorted(differences, key=lambda difference: difference.speed.value)
    halves = [log(s.ci_high / s.ci_low) / 2 for s in (d.speed for d in ordered) if s.ci_low and s.ci_high]
    usual = min(_ROOM * median(halves or [0.0]), _MOST_FOR_INTERVALS)
    reach = max(_LEAST, usual, _ROOM * max(difference.effect for difference in ordered))
    figure, ((axis,),) = sheet([(0, _HEIGHT_IN)], margins=Margins(left=0.55, bottom=0.22))
    for significant, colour, alpha in ((False, MUTED, 0.5), (True, OBSERVED, 1.0)):
        found = [(x, d.speed) for x, d in enumerate(ordered) if d.significant == significant]
        ends = [(x, log(s.ci_low), log(s.ci_high)) for x, s in found if s.ci_low and s.ci_high]
        x, low, high = np.array(ends).reshape(-1, 3).T
        bars(axis, x, low, high, colour, 0.5, alpha=alpha)
        arrows(axis, x[low < -reach], -reach, "v", colour)
        arrows(axis, x[high > reach], reach, "^", colour)
        dots(axis, [x for x, _ in found], [log(speed.value) for _, speed in found], colour)
    ticks = _ticks(reach)
    axis.set_yscale("asinh", linear_width=_STRAIGHT)
    axis.set_ylim(-reach, reach)
    axis.set_yticks(list(map(log1p, ticks)), [f"{100 * tick:+.3g} %" if tick else "equal" for tick in ticks])
    axis.set_yticks([], minor=True)
    axis.set_xlim(-0.5, len(ordered) - 0.5)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(ordered)} sweeps, slowest first", loc="right")
    axis.set_title(fitted(ordered[0].machine, WIDTH_IN - 1.2, FONT_PT))
    return figure


def _ticks(reach: float) -> list[float]:
    """Return the ticks up to *reach* that are far enough apart, from 0 outwards."""

    def height_in(tick: float) -> float:
        return _HEIGHT_IN / 2 * asinh(log1p(tick) / _STRAIGHT) / asinh(reach / _STRAIGHT)

    kept = [0.0]
    for tick in sorted(_TICKS, key=abs):
        if abs(log1p(tick)) <= reach and all(abs(height_in(tick) - height_in(other)) >= _APART_IN for other in kept):
            kept.append(tick)
    return kept
