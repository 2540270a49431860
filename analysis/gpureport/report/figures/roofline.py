"""The roofline of one family: its variants under the device's ceilings, one panel for each class of operations.

Williams, Waterman & Patterson, "Roofline" (CACM 52(4), 2009): operations/s against operations/byte. The limit is the
lower of the instruction ceiling and arithmetic intensity x bandwidth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2, degrees
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import ObservedPoint, Points
from gpureport.records.prediction import PredictedPoint
from gpureport.report.curves import CurveRecords, reading_units
from gpureport.report.figures.theme import (
    DASHED,
    MUTED,
    OBSERVED,
    PREDICTED,
    Margins,
    bars,
    fitted,
    inches,
    sheet,
    spread,
    text_in,
    value_ticks,
    write_above,
    write_title,
)
from gpureport.report.grouping import grouped
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_value, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 2
"""Panels side by side."""
Ends = tuple[float, float]
Floats = NDArray[np.float64]

_PLOT_IN, _HEAD_IN, _FOOT_IN = 1.55, 0.2, 0.36
_NAMES_IN = 1.42  # width of the variants' names to the right of each panel
_MARGINS = Margins(left=0.55, right=_NAMES_IN, top=0.03)
_GAP_IN = _NAMES_IN + 0.4
_LINE_IN = 0.105
_BEND_IN = 0.22  # width in which lines from marks bend to the names
_AWAY_IN, _MARK_IN = 0.08, 0.05  # of the names of slopes: from their lines, and from marks
_POINTS = 200  # of a line that names must not cover
_AROUND = 3.0  # from the least and the greatest intensity to the ends of the axis, as a factor


@dataclass(frozen=True)
class Dot:
    """One variant at its largest size: operations per byte, and operations/s as predicted and as observed.

    Only one class of operations counts: the one that would take longest by itself. A sum over classes has no ceiling.
    """

    name: str
    operations: str
    """The class that counts."""
    intensity: float
    predicted_per_s: float
    observed_per_s: float | None


def roofline_dots(curves: Sequence[CurveRecords], device: Device, names: Mapping[str, str] = {}) -> tuple[Dot, ...]:
    """Return the dot of each workload, at its largest observed size, or else at its largest predicted one.

    Sweeps that only some compute units run have none: the ceilings are those of the whole device. *names* are those of
    workloads (``family/variant``) that are not called like their variant.
    """
    placed: dict[str, tuple[float, Dot]] = {}
    for curve in curves:
        prediction = curve.specification or curve.calibrated
        if prediction is None or curve.axis.quantity in ("work_group", "case"):
            continue
        if reading_units(curve, device.compute_units) < device.compute_units:
            continue
        seen = curve.observation.points if curve.observation else Points()
        counted = [p for p in prediction.points if _busiest(p, device) and p.memory_bytes > 0 and p.time_s > 0]
        candidates = [p for p in counted if seen.at(p.point)] or counted
        if candidates:
            largest = max(candidates, key=lambda p: p.point.working_set_bytes)
            size, workload = largest.point.working_set_bytes, curve.key.workload
            if workload not in placed or size > placed[workload][0]:
                name = names.get(workload, curve.key.variant)
                placed[workload] = size, _dot(name, largest, seen.at(largest.point), device)
    return tuple(dot for _, dot in placed.values())


def _busiest(point: PredictedPoint, device: Device) -> str | None:
    """Return the class of operations that would take longest by itself, if the point has any operations."""
    counted = (name for name, row in INSTRUCTION_CLASSES.items() if row.roofline and name in point.ceilings_s)
    known = [name for name in counted if name in device.architecture.rates_per_cycle]
    if not known or not point.operations > 0:
        return None
    return max(known, key=lambda name: (point.ceilings_s[name], name == "instruction"))  # any instruction, of equals


def _dot(name: str, point: PredictedPoint, observed: ObservedPoint | None, device: Device) -> Dot:
    busiest = _busiest(point, device) or "instruction"
    operations = point.ceilings_s[busiest] * device.rate_per_s(busiest)
    return Dot(
        name=name,
        operations=busiest,
        intensity=operations / point.memory_bytes,
        predicted_per_s=operations / point.time_s,
        observed_per_s=operations / observed.time_s if observed else None,
    )


def roofline_figure(dots: Sequence[Dot], device: Device) -> "Figure":
    """Draw *dots* (at least one) under the ceilings of memory, caches and their classes of operations."""
    classes = grouped((dot.operations, dot) for dot in dots)
    columns = min(COLUMNS, len(classes))
    rows = -(-len(classes) // columns)
    tallest = max(_PLOT_IN, _LINE_IN * (max(map(len, classes.values())) + 2))
    heights = [(_HEAD_IN + (_FOOT_IN if row else 0), tallest) for row in range(rows)]
    figure, axes = sheet(heights, columns, count=len(classes), margins=_MARGINS, gap_in=_GAP_IN)
    for index, (axis, (name, found)) in enumerate(zip(axes, classes.items(), strict=True)):
        _draw(axis, found, device, name)
        axis.set_xlabel("operations per byte of memory traffic", labelpad=1)
        axis.set_ylabel("operations per second" if index % columns == 0 else "", labelpad=1)
    return figure


def _draw(axis: "Axes", dots: Sequence[Dot], device: Device, name: str) -> None:
    """Draw one class of operations: ceilings with their names, and variants with theirs to the right."""
    roof, bandwidth = device.rate_per_s(name), device.memory.bandwidth_bytes_per_s
    values = [value for dot in dots for value in (dot.predicted_per_s, dot.observed_per_s) if value]
    intensities = [*(dot.intensity for dot in dots), roof / bandwidth]
    x = min(intensities) / _AROUND, max(intensities) * _AROUND
    y = min([*values, roof / 4]) / 1.6, max([*values, roof]) * 1.7
    axis.set(xscale="log", yscale="log", xlim=x, ylim=y)
    value_ticks(axis.xaxis, x, (1.0, ""), logarithmic=True, most=6)
    scale = scale_of(max(values), "op/s")
    unit = value_ticks(axis.yaxis, y, scale, logarithmic=True, most=6)
    write_above(axis, unit, 0.07, x=-0.03, ha="right")
    write_title(axis, f"{operations_of(name)}, peak {format_value(roof, 'op/s')}", 0.07)
    slopes = _draw_slopes(axis, device, roof)
    axis.plot((roof / bandwidth, x[1]), (roof, roof), color=MUTED, linewidth=0.9)
    both = [dot for dot in dots if dot.observed_per_s]
    ends = ([dot.predicted_per_s for dot in both], [dot.observed_per_s or 0.0 for dot in both])
    bars(axis, [dot.intensity for dot in both], *ends, OBSERVED)
    predicted = [dot.predicted_per_s for dot in dots]
    x_both = [dot.intensity for dot in both]
    axis.plot([d.intensity for d in dots], predicted, "o", color=PREDICTED, markerfacecolor="white", markersize=3.6)
    axis.plot(x_both, ends[1], "o", color=OBSERVED, markersize=3.6)
    _write_names(axis, dots)
    _label_slopes(axis, slopes, [(dot.intensity, value) for dot in dots for value in _values(dot)])


def _values(dot: Dot) -> list[float]:
    return [dot.predicted_per_s, *([dot.observed_per_s] if dot.observed_per_s else [])]


def _draw_slopes(axis: "Axes", device: Device, roof: float) -> list[tuple[str, float, Ends]]:
    """Draw the bandwidth of each level up to the roof; return name, bandwidth and intensities of each drawn line.

    The bandwidth of memory that kernels are expected to reach is predicted: dashed, with an empty name.
    """
    memory = device.memory
    levels = [("DRAM", memory.bandwidth_bytes_per_s)]
    levels += [(cache.name, device.level_bandwidth_bytes_per_s(cache)) for cache in device.caches]
    levels += [("", memory.bandwidth_bytes_per_s * memory.efficiency)]
    (left, right), (low, _) = axis.get_xlim(), axis.get_ylim()
    drawn = []
    for name, bandwidth in levels:
        start, end = max(left, low / bandwidth), min(right, roof / bandwidth)
        if start < end:
            style = "-" if name else DASHED
            y = (start * bandwidth, end * bandwidth)
            axis.plot((start, end), y, color=MUTED, linewidth=0.9, linestyle=style)
            drawn.append((name, bandwidth, (start, end)))
    return drawn


def _label_slopes(
    axis: "Axes", slopes: Sequence[tuple[str, float, Ends]], marks: Sequence[tuple[float, float]]
) -> None:
    """Write the names of *slopes* along them where they cover no slope, none of *marks* (x, y) and no other name.

    The places nearest to the upper end come first, then names without the bandwidth. Where there is no place, no name.
    """
    size = np.array(inches(axis))
    to_axes = axis.transData + axis.transAxes.inverted()
    lines = [to_axes.transform([(x, x * slope) for x in ends]) * size for _, slope, ends in slopes]
    along = [point for start, end in lines for point in np.linspace(start, end, _POINTS)]
    taken = np.array([(*point, 0.0) for point in along] + [(*at, _MARK_IN) for at in to_axes.transform(marks) * size])
    for (name, bandwidth, _), (start, end) in zip(slopes, lines, strict=True):
        length = float(np.hypot(*(end - start)))
        direction = (end - start) / length
        for text in (f"{name} {format_bandwidth(bandwidth)}", name) if name else ():
            width = text_in(text)
            places = (
                end - direction * (away + width / 2) + side * np.array((-direction[1], direction[0]))
                for away in np.arange(0.08, length - width, 0.05)
                for side in (_AWAY_IN, -_AWAY_IN)
            )
            middle = next((place for place in places if _is_free(place, direction, width, taken, size)), None)
            if middle is not None:
                own = (middle + direction * shift for shift in np.linspace(-width / 2, width / 2, 9))
                taken = np.concatenate([taken, [(*point, _MARK_IN) for point in own]])
                across, up = middle / size
                axis.text(
                    across,
                    up,
                    text,
                    transform=axis.transAxes,
                    color=MUTED,
                    ha="center",
                    va="center",
                    rotation=degrees(atan2(direction[1], direction[0])),
                    rotation_mode="anchor",
                )
                break


def _is_free(middle: Floats, direction: Floats, width: float, taken: Floats, size: Floats) -> bool:
    """Whether a text of this *width* is inside the axes and covers none of *taken*: x, y and room; all in inches."""
    ends = middle + np.outer((-width / 2, width / 2), direction)
    if (ends < _LINE_IN / 2).any() or (ends > size - _LINE_IN / 2).any():
        return False
    offsets, room = taken[:, :2] - middle, taken[:, 2]
    along, across = offsets @ direction, offsets @ np.array((-direction[1], direction[0]))
    return not ((np.abs(along) < width / 2 + room) & (np.abs(across) < _LINE_IN / 2 + room)).any()


def _write_names(axis: "Axes", dots: Sequence[Dot]) -> None:
    """Write the names to the right of the axes in the order of their marks, each with a line to its mark.

    Lines are level within the axes, so that they do not cross.
    """
    width, height = inches(axis)
    to_axes = axis.transData + axis.transAxes.inverted()
    places = to_axes.transform([(dot.intensity, dot.observed_per_s or dot.predicted_per_s) for dot in dots])
    heights = spread([float(up) * height for _, up in places], _LINE_IN)
    shift = min(0.0, height - max(heights))
    shift += max(0.0, -(min(heights) + shift))
    lines_x, lines_y = [], []
    for dot, (across, up), at in zip(dots, places, heights, strict=True):
        end = (at + shift) / height
        lines_x += [across, 1.0, 1 + _BEND_IN / width, np.nan]
        lines_y += [up, up, end, np.nan]
        name = fitted(dot.name, _NAMES_IN - _BEND_IN - 0.03)
        axis.text(1 + (_BEND_IN + 0.02) / width, end, name, transform=axis.transAxes, va="center")
    axis.plot(lines_x, lines_y, transform=axis.transAxes, color="#BBBBBB", linewidth=0.4, clip_on=False, zorder=1)


def operations_of(name: str) -> str:
    """Return the name of a class of operations."""
    return "any instruction" if name == "instruction" else name
