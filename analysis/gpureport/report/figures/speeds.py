"""Speeds of a few machines relative to the baseline: a row for each kind of work, ratios across."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpureport.compare.summary import MeanRatio
from gpureport.report.figures.landmarks import MACHINES
from gpureport.report.figures.style import INK, SMALL_PT, fitted
from gpureport.report.figures.theme import Margins, across, arrows, dots, named, sheet

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
    figure, ((axis,),) = sheet([(0, len(rows) * step)], margins=margins)
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
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    low, high = min([0.95, *ratios]) / 1.05, max([1.05, *ratios]) * 1.05
    axis.set_xlim(low, high)
    ticks = next((ticks for most, ticks in _TICKS if max(high, 1 / low) <= most), None)
    axis.xaxis.set_major_locator(FixedLocator(ticks) if ticks else LogLocator(10, numticks=9))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:.3g}"))
    axis.tick_params(axis="x", labelsize=SMALL_PT)
    return low, high
