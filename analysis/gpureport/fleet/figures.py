"""Figures of a fleet: strips of devices by layer with labelled outliers, and trends over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.report.figures.theme import (
    ACCENTS,
    INK,
    MUTED,
    OBSERVED,
    Margins,
    dots,
    fitted,
    inches,
    needed_in,
    readable,
    sheet,
    spread,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 4
"""Devices that are drawn one by one in a trend."""

_STRIP_IN, _TREND_IN = 0.42, 1.05
_LEAST_PERCENT = 3.0
_ROOM = 1.15
_LABEL_IN = 1.3
_APART_PT = 8.5


@dataclass(frozen=True)
class Strip:
    """Speeds of all devices on one layer.

    Attributes:
        title: the layer.
        values: difference from the median device, in percent (devices,).
        names: of outliers, by the index of the device.
    """

    title: str
    values: Floats
    names: Mapping[int, str]


@dataclass(frozen=True)
class Trend:
    """Speeds on one layer over time.

    Attributes:
        title: the layer.
        times: of runs (runs,).
        values: difference from the median run, in percent (runs,).
        lines: devices that are drawn by themselves: name and indices of their runs.
    """

    title: str
    times: tuple[datetime, ...]
    values: Floats
    lines: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def single(self) -> bool:
        """Whether all runs are those of one device, which needs no median."""
        return any(len(runs) == len(self.times) for _, runs in self.lines)


def percents(logs: Floats) -> Floats:
    """Return effects on ln(speed) as percent."""
    return 100 * np.expm1(logs)


def strip_figure(strips: Sequence[Strip]) -> "Figure":
    """Draw a row of dots for each strip, one dot for each device; outliers are orange, with their names."""
    reach = max(_LEAST_PERCENT, *(_ROOM * float(np.nanmax(np.abs(strip.values), initial=0.0)) for strip in strips))
    margins = Margins(left=0.75, top=0.1, bottom=0.42, right=0.2)
    figure, axes = sheet([(0.06, _STRIP_IN)] * len(strips), margins=margins)
    for axis, strip in zip(axes, strips, strict=True):
        axis.set_xlim(-reach, reach)
        axis.set_ylim(0, 1)
        axis.set_yticks([0.3], [fitted(strip.title, 0.68)])
        axis.grid(visible=False, axis="y")
        axis.spines["left"].set_visible(False)
        axis.tick_params(labelbottom=False)
        known = ~np.isnan(strip.values)
        usual = known & ~np.isin(np.arange(len(strip.values)), list(strip.names))
        heights = 0.3 + 0.2 * ((np.arange(len(strip.values)) * 0.618) % 1 - 0.5) * 2
        dots(axis, strip.values[usual], heights[usual], MUTED, 2.2)
        odd = [number for number in strip.names if known[number]]
        dots(axis, strip.values[odd], np.full(len(odd), 0.3), OBSERVED, 3.6)
        _names(axis, strip, odd, reach)
    axes[-1].tick_params(labelbottom=True)
    axes[-1].set_xlabel("speed relative to the median device (%)", loc="right")
    return figure


def _names(axis: "Axes", strip: Strip, odd: Sequence[int], reach: float) -> None:
    """Write the names of outliers above their dots, as many as fit side by side."""
    width = inches(axis)[0]
    ordered = sorted(odd, key=lambda number: -abs(strip.values[number]))
    right_ends: list[tuple[float, float]] = []
    for number in ordered:
        text = fitted(strip.names[number], _LABEL_IN)
        half = needed_in(text) / 2
        x = (strip.values[number] / reach + 1) / 2 * width
        x = min(max(x, half), width - half)
        if all(x + half < low or x - half > high for low, high in right_ends):
            right_ends.append((x - half, x + half))
            place = (x / width, 0.82)
            axis.text(
                *place,
                text,
                transform=axis.transAxes,
                ha="center",
                va="center",
                color=readable(OBSERVED),
            )


def trend_figure(trends: Sequence[Trend]) -> "Figure":
    """Draw a panel for each layer: the range of nine in ten runs and their median by day; some devices as lines."""
    import pandas as pd
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    margins = Margins(left=0.75, top=0.24, bottom=0.24, right=_LABEL_IN + 0.1)
    figure, axes = sheet([(0.3 if number else 0.0, _TREND_IN) for number in range(len(trends))], margins=margins)
    for axis, trend in zip(axes, trends, strict=True):
        times = np.array(trend.times, "datetime64[s]")
        by_day = pd.Series(trend.values).groupby(times.astype("datetime64[D]").astype("datetime64[s]"))
        daily = by_day.quantile(np.array([0.05, 0.5, 0.95])).unstack().dropna()
        median = float(daily[0.5].iloc[-1]) if len(daily) and not trend.single else None
        if median is not None:
            centres = daily.index.to_numpy() + np.timedelta64(12, "h")
            axis.fill_between(centres, daily[0.05], daily[0.95], color=MUTED, alpha=0.18, linewidth=0)
            axis.plot(centres, daily[0.5], color=INK)
        write_title(axis, trend.title, 0.12)
        reach = max(_LEAST_PERCENT, _ROOM * float(np.nanmax(np.abs(trend.values), initial=0.0)))
        axis.set_ylim(-reach, reach)
        axis.annotate("%", (0, 1), (-2, 7), xycoords="axes fraction", textcoords="offset points", ha="right")
        locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]
        axis.tick_params(labelbottom=axis is axes[-1])
        _lines(axis, trend, times, median)
    return figure


def _lines(
    axis: "Axes", trend: Trend, times: "np.ndarray[tuple[int], np.dtype[np.datetime64]]", median: float | None
) -> None:
    """Draw the devices by themselves, with their names at the right, and name the *median* if it is drawn."""
    named = [] if median is None else [("median", INK, median)]
    for (name, runs), colour in zip(trend.lines[:MOST_LINES], ACCENTS[1:], strict=False):
        found = [run for run in runs if not np.isnan(trend.values[run])]
        if found:
            axis.plot(times[found], trend.values[found], ".-", color=colour, markersize=3)
            named.append((name, colour, float(trend.values[found[-1]])))
    low, high = axis.get_ylim()
    height = 72 * inches(axis)[1]
    places = spread([(value - low) / (high - low) * height for _, _, value in named], _APART_PT)
    for (name, colour, _), place in zip(named, places, strict=True):
        text = fitted(name, _LABEL_IN)
        axis.annotate(
            text,
            (1, 0),
            (4, place),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=readable(colour),
        )
