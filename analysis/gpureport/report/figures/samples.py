"""The figure of samples: all measured times of the points farthest from their prediction, in the order of time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.records.measurement import MeasuredPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.theme import (
    DASHED,
    FONT_PT,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    Margins,
    dots,
    first_fitting,
    fitted,
    inches,
    needed_in,
    sheet,
    value_ticks,
    write_above,
    write_title,
)
from gpureport.units import format_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
"""One row: small figures leave no large gaps at the ends of pages."""

_MOST_POINTS = 8
_FEWEST = 3  # samples of a drawn point
_PLOT_IN, _HEAD_IN, _GAP_IN = 0.75, 0.33, 0.4
_MARGINS = Margins(left=0.55, right=0.2, top=0.02)
_AROUND = 1.15  # from the least and the greatest value to the ends of the y axis, as a factor


@dataclass(frozen=True)
class SampledPoint:
    """The samples of one point, relative to its predicted time."""

    workload: str
    point: str
    """Label of the point, after the sweep if the workload has several."""
    at: NDArray[np.float64]
    """Seconds since the sweep began, or the number of each sample if unknown; shape (n,), n > 0."""
    timed: bool
    """Whether *at* are seconds."""
    ratios: NDArray[np.float64]
    """Time / predicted time, shape (n,)."""
    spread: float
    """Half-width of the prediction's 95 % interval, as a factor."""
    specified: bool
    """Whether it is the prediction from the specification; else the calibrated one."""

    @property
    def median(self) -> float:
        """Median of the ratios."""
        return float(np.median(self.ratios))

    @property
    def distance(self) -> float:
        """Deviation of the median from the prediction, as a factor."""
        return max(self.median, 1 / self.median)


def deviating_points(found: Iterable[CurveRecords]) -> tuple[SampledPoint, ...]:
    """Return for each curve with a value that is off its point farthest from the prediction; the farthest first."""
    worst = []
    found = tuple(found)
    sweeps = Counter(curve.key.workload for curve in found if curve.measurement)
    for curve in found:
        prediction, measured = curve.specification or curve.calibrated, curve.measurement
        if prediction and measured and any(pair.main.verdict.outcome == "off" for pair in curve.pairs):
            sweep = f"{curve.key.sweep.replace('_', ' ')}, " if sweeps[curve.key.workload] > 1 else ""
            pairs = ((p, q) for p, q in measured.points.pairs(prediction.points) if len(p.samples_s) >= _FEWEST)
            points = [_sampled(curve, sweep, *pair) for pair in pairs]
            worst += [max(points, key=lambda point: point.distance)] if points else []
    return tuple(sorted(worst, key=lambda point: -point.distance)[:_MOST_POINTS])


def _sampled(curve: CurveRecords, sweep: str, point: MeasuredPoint, predicted: PredictedPoint) -> SampledPoint:
    times = np.asarray(point.samples_s, dtype=float)
    timed = len(point.taken_at_s) == len(times)
    at = np.asarray(point.taken_at_s, dtype=float) if timed else np.arange(1.0, len(times) + 1)
    return SampledPoint(
        workload=curve.key.workload,
        point=f"{sweep}{point.point.label.partition(' (')[0]}",
        at=at,
        timed=timed,
        ratios=times / predicted.time_s,
        spread=predicted.spread,
        specified=curve.specification is not None,
    )


def sample_figure(points: Sequence[SampledPoint]) -> "Figure":
    """Draw the samples of each of *points* (at least one, at most :data:`MOST_PANELS`) in a panel."""
    figure, axes = sheet([(_HEAD_IN, _PLOT_IN)], MOST_PANELS, count=len(points), margins=_MARGINS, gap_in=_GAP_IN)
    for axis, sampled in zip(axes, points, strict=True):
        _draw(axis, sampled)
        axis.set_xlabel("s since the sweep began" if sampled.timed else "sample", size=SMALL_PT, labelpad=1)
    axes[0].set_ylabel("time / predicted", size=SMALL_PT, labelpad=1)
    return figure


def _draw(axis: "Axes", sampled: SampledPoint) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = 1 / sampled.spread, sampled.spread
    axis.axhspan(low, high, color=PREDICTED, alpha=0.15, linewidth=0)
    axis.axhline(1, color=PREDICTED, linewidth=0.9, linestyle=DASHED if sampled.specified else "-")
    dots(axis, sampled.at, sampled.ratios, OBSERVED, 2.2)
    ends = min(low, *sampled.ratios) / _AROUND, max(high, *sampled.ratios) * _AROUND
    axis.set(yscale="log", ylim=ends)
    value_ticks(axis.yaxis, ends, (1.0, ""), logarithmic=True, most=4)
    axis.xaxis.set_major_locator(MaxNLocator(3))
    width, _ = inches(axis)
    names = (sampled.workload, sampled.workload.partition("/")[2])
    write_title(axis, first_fitting(names, width + 0.3, FONT_PT), 0.2)
    median = f": {format_ratio(sampled.median)}"
    point = fitted(sampled.point, width + 0.3 - needed_in(median))
    write_above(axis, f"{point}{median}", 0.08)
