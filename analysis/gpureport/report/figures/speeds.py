"""Speeds relative to the baseline: of a few machines by kind of work, and of all sweeps of one machine in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import asinh, log, log1p
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from gpureport.compare.records import Difference
from gpureport.compare.summary import MeanRatio
from gpureport.report.figures.landmarks import MACHINES
from gpureport.report.figures.theme import (
    FONT_PT,
    INK,
    MUTED,
    OBSERVED,
    WIDTH_IN,
    Margins,
    across,
    arrows,
    bars,
    dots,
    fitted,
    named,
    sheet,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LABEL_IN, _LINE_IN, _GAP_IN = 2.3, 0.11, 0.04
_TICKS = (
    (1.15, (0.9, 0.95, 1.0, 1.05, 1.1)),
    (1.6, (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6)),
    (5.0, (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)),
    (12.0, (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
    (100.0, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)),
)
"""Ticks for ratios up to a limit."""
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
_CHANGES = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 9.0)
"""Differences in speed, relative."""


@dataclass(frozen=True)
class SpeedRow:
    """One kind of work: its name, and the mean of each machine except the baseline."""

    name: str
    means: Sequence[MeanRatio | None]


def speed_figure(rows: Sequence[SpeedRow], machines: Sequence[str]) -> "Figure":
    """Draw *rows* from top to bottom; *machines* are the baseline and the others, at most as many as :data:`MACHINES`.

    Each kernel is a small dot. Each mean is a large dot, with its 95 % interval.
    """
    step = (len(machines) - 1) * _LINE_IN + _GAP_IN
    margins = Margins(left=_LABEL_IN, top=0.2, bottom=0.42)
    figure, (axis,) = sheet([(0, len(rows) * step)], margins=margins)
    axis.set_xscale("log")
    axis.set_ylim(len(rows), 0)
    axis.set_yticks([line + 0.5 for line in range(len(rows))], [fitted(row.name, _LABEL_IN - 0.1) for row in rows])
    for number, colour in enumerate(MACHINES[1 : len(machines)]):
        place = (_GAP_IN / 2 + (number + 0.5) * _LINE_IN) / step
        found = [(line + place, mean) for line, row in enumerate(rows) if (mean := row.means[number])]
        kernels = [(ratio, y) for y, mean in found for ratio in mean.kernels.values()]
        dots(axis, [x for x, _ in kernels], [y for _, y in kernels], colour, 1.8)
        axis.get_lines()[-1].set_alpha(0.45)
        known = [(y, m.ratio.ci_low, m.ratio.ci_high) for y, m in found if m.ratio.ci_low and m.ratio.ci_high]
        across(axis, [y for y, *_ in known], [low for _, low, _ in known], [high for *_, high in known], colour, 1.2)
        dots(axis, [mean.ratio.value for _, mean in found], [y for y, _ in found], colour, 4.6)
    axis.axvline(1, color=INK, linewidth=0.8, zorder=1)
    low, high = _ratio_axis(
        axis, [ratio for row in rows for mean in row.means if mean for ratio in mean.kernels.values()]
    )
    for number, colour in enumerate(MACHINES[1 : len(machines)]):
        place = (_GAP_IN / 2 + (number + 0.5) * _LINE_IN) / step
        ends = [(line + place, r.means[number]) for line, r in enumerate(rows)]
        arrows(axis, low, [y for y, m in ends if m and m.ratio.ci_low and m.ratio.ci_low < low], "<", colour)
        arrows(axis, high, [y for y, m in ends if m and m.ratio.ci_high and m.ratio.ci_high > high], ">", colour)
    axis.set_xlabel(f"speed / speed of {fitted(machines[0], 2.0)} (logarithmic; right: faster)")
    axis.grid(visible=False, axis="y")
    named(figure, [(name, colour) for name, colour in zip(machines[1:], MACHINES[1:], strict=False)], _LABEL_IN)
    return figure


def _ratio_axis(axis: "Axes", ratios: Sequence[float]) -> tuple[float, float]:
    """Write ratios as ticks of a logarithmic axis that shows all *ratios*, and 1; return its ends."""
    from matplotlib.ticker import FixedLocator, LogLocator

    low, high = min([0.95, *ratios]) / 1.05, max([1.05, *ratios]) * 1.05
    axis.set_xlim(low, high)
    ticks = next((ticks for most, ticks in _TICKS if max(high, 1 / low) <= most), None)
    axis.xaxis.set_major_locator(FixedLocator(ticks) if ticks else LogLocator(10, numticks=9))
    axis.xaxis.minorticks_off()
    axis.xaxis.set_major_formatter("{x:.3g}")
    return low, high


def spread_figure(differences: Sequence[Difference]) -> "Figure":
    """Draw one machine's speeds relative to the baseline: one dot per sweep with its 95 % interval, slowest first."""
    ordered = sorted(differences, key=lambda difference: difference.speed.value)
    halves = [log(s.ci_high / s.ci_low) / 2 for s in (d.speed for d in ordered) if s.ci_low and s.ci_high]
    usual = min(_ROOM * median(halves or [0.0]), _MOST_FOR_INTERVALS)
    reach = max(_LEAST, usual, _ROOM * max(difference.effect for difference in ordered))
    figure, (axis,) = sheet([(0, _HEIGHT_IN)], margins=Margins(left=0.55, bottom=0.22))
    for significant, colour, alpha in ((False, MUTED, 0.5), (True, OBSERVED, 1.0)):
        found = [(x, d.speed) for x, d in enumerate(ordered) if d.significant == significant]
        ends = [(x, log(s.ci_low), log(s.ci_high)) for x, s in found if s.ci_low and s.ci_high]
        x, low, high = np.array(ends).reshape(-1, 3).T
        bars(axis, x, low, high, colour, 0.5, alpha=alpha)
        arrows(axis, x[low < -reach], -reach, "v", colour)
        arrows(axis, x[high > reach], reach, "^", colour)
        dots(axis, [x for x, _ in found], [log(speed.value) for _, speed in found], colour)
    ticks = _apart(reach)
    axis.set_yscale("asinh", linear_width=_STRAIGHT)
    axis.set_ylim(-reach, reach)
    axis.set_yticks(list(map(log1p, ticks)), [f"{100 * tick:+.3g} %" if tick else "equal" for tick in ticks])
    axis.yaxis.minorticks_off()
    axis.set_xlim(-0.5, len(ordered) - 0.5)
    axis.set_xticks([])
    axis.set_xlabel(f"{len(ordered)} sweeps, slowest first", loc="right")
    axis.set_title(fitted(ordered[0].machine, WIDTH_IN - 1.2, FONT_PT))
    return figure


def _apart(reach: float) -> list[float]:
    """Return the ticks up to *reach* that are far enough apart, from 0 outwards."""

    def height_in(tick: float) -> float:
        return _HEIGHT_IN / 2 * asinh(log1p(tick) / _STRAIGHT) / asinh(reach / _STRAIGHT)

    kept = [0.0]
    for tick in sorted(_CHANGES, key=abs):
        if abs(log1p(tick)) <= reach and all(abs(height_in(tick) - height_in(other)) >= _APART_IN for other in kept):
            kept.append(tick)
    return kept
