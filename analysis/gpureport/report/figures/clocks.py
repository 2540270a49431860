"""The figure of the core clock during a run, with the times of frame traces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.report import Report
from gpureport.report.figures.style import MUTED, OBSERVED
from gpureport.report.figures.theme import Margins, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLOT_IN, _HEAD_IN = 1.0, 0.12
_MARGINS = Margins(left=0.66, top=0.02)

Reading = tuple[float, float]
"""Seconds since the run began, and the clock in Hz."""


def clock_readings(report: Report) -> tuple[Reading, ...]:
    """Return the readings of the core clock, in the order of time."""
    readings = (reading for conditions in report.conditions for reading in conditions.readings)
    return tuple(sorted((reading.at_s, reading.clock_hz) for reading in readings if reading.clock_hz))


def trace_spans(report: Report) -> tuple[tuple[float, float], ...]:
    """Return begin and end of the sweeps that recorded traces of frames, in seconds since the run began."""
    return tuple(
        (measurement.began_s, measurement.began_s + measurement.duration_s)
        for measurement in report.measurements
        if measurement.key.sweep == "frames" and measurement.began_s is not None
    )


def clock_figure(readings: Sequence[Reading], spans: Sequence[tuple[float, float]]) -> "Figure":
    """Draw the clock against time, and mark *spans*."""
    at, clock = np.array(readings, dtype=float).T
    figure, axes = sheet([(_HEAD_IN, _PLOT_IN)], 1, margins=_MARGINS)
    axis = axes[0][0]
    for begin, end in spans:
        axis.axvspan(begin, end, color=MUTED, alpha=0.3, linewidth=0)
    axis.plot(at, clock / 1e9, color=OBSERVED, linewidth=0.7)
    axis.set_ylim(0, 1.1 * float(clock.max()) / 1e9)
    axis.set_xlim(0, float(at.max()))
    axis.set_ylabel("core clock (GHz)")
    axis.set_xlabel("time since the run began (s)")
    return figure
