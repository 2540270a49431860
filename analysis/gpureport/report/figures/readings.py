"""Figures of power and core clock over time: while kernels ran, and during a run with traces of frames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.measurement import Energy
from gpureport.records.report import Report
from gpureport.report.figures.theme import MUTED, OBSERVED, Margins, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CLOCK_IN, _POWER_IN, _HEAD_IN, _GAP_IN = 1.0, 1.1, 0.12, 0.16
_MARGINS = Margins(left=0.66, top=0.02)

Reading = tuple[float, float]
"""Seconds since the run began, and the value."""


def clock_readings(report: Report) -> tuple[Reading, ...]:
    """Return the readings of the core clock in Hz, in the order of time."""
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
    figure, (axis,) = sheet([(_HEAD_IN, _CLOCK_IN)], margins=_MARGINS)
    for begin, end in spans:
        axis.axvspan(begin, end, color=MUTED, alpha=0.3, linewidth=0)
    _draw(axis, [(at, clock / 1e9) for at, clock in readings], "core clock (GHz)", 0.7, 1.1)
    axis.set_xlim(0, max(at for at, _ in readings))
    axis.set_xlabel("time since the run began (s)")
    return figure


def power_figure(energy: Energy) -> "Figure":
    """Draw power above and core clock below, against the time since the first reading; one of them if one is known."""
    readings = [reading for load in energy.loads for reading in load.readings]
    power = [(reading.at_s, reading.power_w) for reading in readings if reading.power_w]
    clock = [(reading.at_s, reading.clock_hz / 1e9) for reading in readings if reading.clock_hz]
    series = [(label, pairs) for label, pairs in (("power (W)", power), ("core clock (GHz)", clock)) if pairs]
    heights = [(_GAP_IN if row else _HEAD_IN, _POWER_IN) for row in range(len(series))]
    figure, axes = sheet(heights, margins=_MARGINS)
    starts = [(load.name, load.readings[0].at_s) for load in energy.loads if load.readings]
    for axis, (label, pairs) in zip(axes, series, strict=True):
        _draw(axis, pairs, label, 0.8, 1.25)
        for _, start in starts:
            axis.axvline(start, color=MUTED, linewidth=0.5, zorder=1)
    for name, start in starts:
        place = (start, 1), (2, -2), ("data", "axes fraction"), "offset points"
        axes[0].annotate(name, *place, va="top", fontsize=6)
    axes[-1].set_xlabel("time since the first reading (s)")
    return figure


def _draw(axis: "Axes", pairs: Sequence[Reading], label: str, width_pt: float, room: float) -> None:
    """Draw values from 0 to *room* times the greatest one."""
    at, values = np.array(pairs).T
    axis.plot(at, values, color=OBSERVED, linewidth=width_pt)
    axis.set_ylim(0, room * float(values.max()))
    axis.set_ylabel(label)
