"""Charts of a fleet: strips of devices by layer with labelled outliers, and trends over time."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from gpureport.observe.statistics import Floats
from gpureport.report.figures.chart import Axis, Chart, Mark, Panel, Role, Series

MOST_LINES = 4
"""Devices that are drawn one by one in a trend."""
_ROLES: tuple[Role, ...] = ("observed", "green", "pink", "amber")
_LEAST_PERCENT, _ROOM = 3.0, 1.15


def percents(logs: Floats) -> Floats:
    """Return effects on ln(speed) as percent."""
    return 100 * np.expm1(logs)


def strip_chart(layers: Mapping[str, Floats], outliers: Mapping[int, str]) -> Chart:
    """Return a row for each layer, with a dot for each device; outliers are orange, with their names.

    Args:
        layers: difference of each device from the median device, in percent, shape (devices,); NaN: unknown.
        outliers: names, by the index of the device.
    """
    usual, odd = [], []
    for row, values in enumerate(layers.values()):
        for number in np.flatnonzero(~np.isnan(values)).tolist():
            if number in outliers:
                odd.append((float(values[number]), row - 0.1, outliers[number]))
            else:
                usual.append((float(values[number]), row + 0.2 * (2 * (number * 0.618 % 1) - 1)))
    series = [Series.of("devices", "muted", "small dots", usual)] if usual else []
    if odd:
        x, y, names = zip(*sorted(odd, key=lambda each: -abs(each[0])), strict=True)
        series.append(Series("outliers", "observed", "dots", x, y, texts=names, labelled=True))
    x_axis = Axis("speed relative to the median device", "%", ends=_ends(list(layers.values())))
    rows = Axis(scale="rows", rows=tuple(layers))
    return Chart(((Panel(x_axis, rows, tuple(series), height_in=0.3 * len(layers), marks=(Mark(0, 0),)),),))


def _ends(values: Sequence[Floats]) -> tuple[float, float]:
    reach = max(_LEAST_PERCENT, *(_ROOM * float(np.nanmax(np.abs(each), initial=0.0)) for each in values))
    return -reach, reach


def trend_chart(
    layers: Mapping[str, Floats], times: Sequence[datetime], lines: Sequence[tuple[str, Sequence[int]]]
) -> Chart:
    """Return a panel for each layer: the range of nine in ten runs and their median by day; some devices as lines.

    Args:
        layers: difference of each run from the median run, in percent, shape (runs,).
        times: of the runs.
        lines: devices that are drawn by themselves, at most :data:`MOST_LINES`: name and indices of their runs.
    """
    seconds = np.array([time.replace(tzinfo=UTC).timestamp() for time in times])  # a store has times in UTC
    single = any(len(runs) == len(times) for _, runs in lines)  # which needs no median
    ends = (float(seconds.min()), float(seconds.max()))
    panels = []
    for number, (title, values) in enumerate(layers.items()):
        last = number + 1 == len(layers)
        series = [*(() if single else _daily(seconds, values)), *_lines(seconds, values, lines)]
        y = Axis(unit="%", ends=_ends([values]))
        panels.append(Panel(Axis(scale="time", ends=ends), y, tuple(series), title, 1.05, joined=not last))
    legend = {each.name: each.role for panel in panels for each in panel.series}
    return Chart((tuple(panels),), legend=tuple(legend.items()))


def _daily(seconds: Floats, values: Floats) -> Iterator[Series]:
    noon = (seconds // 86400 + 0.5) * 86400
    daily = pd.Series(values).groupby(noon).quantile(np.array([0.05, 0.5, 0.95])).unstack().dropna()
    if len(daily):
        x, y, low, high = (tuple(each) for each in (daily.index, daily[0.5], daily[0.05], daily[0.95]))
        yield Series("median", "ink", "line", x, y, low, high)


def _lines(seconds: Floats, values: Floats, lines: Sequence[tuple[str, Sequence[int]]]) -> Iterator[Series]:
    for (name, runs), role in zip(lines, _ROLES, strict=False):
        found = [run for run in runs if not np.isnan(values[run])]
        if found:
            yield Series(name, role, "line", tuple(seconds[found]), tuple(values[found]))
