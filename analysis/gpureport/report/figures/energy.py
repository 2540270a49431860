"""The figure of power and core clock while kernels ran."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.records.energy import Energy
from gpureport.report.figures.style import MUTED, OBSERVED
from gpureport.report.figures.theme import Margins, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLOT_IN, _HEAD_IN, _GAP_IN = 1.1, 0.12, 0.16
_MARGINS = Margins(left=0.66, top=0.02)

Floats = NDArray[np.float64]


def power_figure(energy: Energy) -> "Figure":
    """Draw power above and core clock below, against the time since the first reading; one of them if one is known."""
    series = [(label, columns) for label, columns in _series(energy) if len(columns[0])]
    figure, axes = sheet(
        [(_HEAD_IN if row == 0 else _GAP_IN, _PLOT_IN) for row in range(len(series))], 1, margins=_MARGINS
    )
    starts = [(load.name, load.readings[0].at_s) for load in energy.loads if load.readings]
    for row, (label, (at, values)) in enumerate(series):
        axis = axes[row][0]
        axis.plot(at, values, color=OBSERVED, linewidth=0.8)
        axis.set_ylim(0, 1.25 * float(values.max()))
        axis.set_ylabel(label)
        for name, start in starts:
            axis.axvline(start, color=MUTED, linewidth=0.5, zorder=1)
            if row == 0:
                axis.annotate(
                    name,
                    (start, 1),
                    xycoords=("data", "axes fraction"),
                    xytext=(2, -2),
                    textcoords="offset points",
                    va="top",
                    fontsize=6,
                )
    axes[len(series) - 1][0].set_xlabel("time since the first reading (s)")
    return figure


def _series(energy: Energy) -> list[tuple[str, tuple[Floats, Floats]]]:
    readings = [reading for load in energy.loads for reading in load.readings]
    power = [(reading.at_s, reading.power_w) for reading in readings if reading.power_w]
    clock = [(reading.at_s, reading.clock_hz / 1e9) for reading in readings if reading.clock_hz]
    return [("power (W)", _columns(power)), ("core clock (GHz)", _columns(clock))]


def _columns(pairs: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    table = np.array(pairs, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]
