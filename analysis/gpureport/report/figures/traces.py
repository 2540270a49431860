"""The figure of frame traces: the times of successive dispatches, one panel per point."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.records.measurement import MeasuredPoint
from gpureport.report.curves import CurveRecords
from gpureport.report.figures.theme import MUTED, OBSERVED, Margins, arrows, bars, sheet, value_ticks
from gpureport.text import shorten
from gpureport.units import format_time, scale_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6

_COLUMNS, _NAME = 2, 30  # characters of a title before the median
_BINS = 160
_LEAST_REACH = 0.02  # of the y axis on both sides of the median
_MOST_ABOVE = 3.0  # maxima / medians, as distances from 1, beyond which arrows show maxima
_PLOT_IN, _HEAD_IN, _FOOT_IN = 0.95, 0.22, 0.32
_MARGINS = Margins(left=0.66, top=0.02)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Start and duration of one point's dispatches in order, shape (n,), n > 0, in s."""

    title: str
    at_s: Floats
    times_s: Floats

    @property
    def median_s(self) -> float:
        """Median duration."""
        return float(np.median(self.times_s))

    @property
    def first(self) -> float:
        """Duration of the first dispatch / median."""
        return float(self.times_s[0]) / self.median_s

    @property
    def drift(self) -> float:
        """Relative change of the median from the first third to the last."""
        third = -(-len(self.times_s) // 3)
        return float(np.median(self.times_s[-third:]) / np.median(self.times_s[:third])) - 1


def traces(curve: CurveRecords, title: str) -> list[Trace]:
    """Return the traces of a sweep's points."""
    points = curve.measurement.points if curve.measurement else ()
    return [
        Trace(
            title=f"{title}: {point.point.label}",
            at_s=_at(point),
            times_s=np.asarray(point.samples_s, dtype=float),
        )
        for point in points
        if point.samples_s
    ]


def _at(point: MeasuredPoint) -> Floats:
    """Return the start of each dispatch, or, if unknown, the total duration of those before it."""
    if len(point.taken_at_s) == len(point.samples_s):
        return np.asarray(point.taken_at_s, dtype=float) - point.taken_at_s[0]
    return np.cumsum((0.0, *point.samples_s[:-1]), dtype=float)


def trace_figure(found: Sequence[Trace]) -> "Figure":
    """Draw the median, minimum and maximum of each time bin, relative to the median of the trace."""
    columns = min(len(found), _COLUMNS)
    rows = -(-len(found) // columns)
    heights = [(_HEAD_IN + (_FOOT_IN if row else 0), _PLOT_IN) for row in range(rows)]
    figure, axes = sheet(heights, columns, count=len(found), margins=_MARGINS, gap_in=0.4)
    drawn = [binned(trace.at_s, trace.times_s / trace.median_s) for trace in found]
    limits = ratio_limits(*(np.concatenate([columns[number] for columns in drawn]) for number in (1, 3)))
    for index, (axis, trace, (at, middle, least, most)) in enumerate(zip(axes, found, drawn, strict=True)):
        bars(axis, at, least, most, OBSERVED, 0.9, alpha=0.3)
        axis.plot(at, middle, color=OBSERVED, linewidth=0.7)
        axis.axhline(1, color=MUTED, linewidth=0.5, zorder=1)
        axis.set_ylim(*limits)
        arrows(axis, at[most > limits[1]], limits[1], "^", OBSERVED)
        axis.locator_params(axis="y", nbins=4)
        last = float(trace.at_s.max()) or 1.0
        axis.set_xlim(0, last)
        unit = value_ticks(axis.xaxis, (0, last), scale_of(last, "s"), logarithmic=False)
        axis.set_title(f"{shorten(trace.title, _NAME)}, median {format_time(trace.median_s)}", pad=3)
        below = index + columns >= len(found)
        axis.set_xlabel(f"time since the first dispatch ({unit})" if below else f"({unit})", labelpad=1)
        axis.set_ylabel("time / median" if index % columns == 0 else "")
    return figure


def ratio_limits(medians: Floats, maxima: Floats) -> tuple[float, float]:
    """Return limits that include *medians*, both sides of 1, and *maxima* that are not far above; shape (n,) each."""
    below, above = (max(_LEAST_REACH, float(reach)) for reach in (1 - medians.min(), medians.max() - 1))
    highest = min(float(maxima.max()) - 1, _MOST_ABOVE * above)
    return max(0.0, 1 - 1.5 * below), 1 + max(1.5 * above, 1.1 * highest)


def binned(at_s: Floats, times_s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the centre, median, minimum and maximum of up to 160 time bins, shape (bins,) each."""
    parts = min(_BINS, len(times_s))
    places, values = np.array_split(at_s, parts), np.array_split(times_s, parts)
    columns = [[np.median(part) for part in places], [np.median(part) for part in values]]
    columns += [[part.min() for part in values], [part.max() for part in values]]
    at, middle, least, most = (np.array(column, dtype=float) for column in columns)
    return at, middle, least, most
