"""The roofline of one family: its variants under the device's ceilings.

Williams, Waterman & Patterson, "Roofline" (CACM 52(4), 2009): operations/s against operations/byte; what is
attainable is the lesser of the instruction ceiling and intensity x bandwidth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from gpureport.records import PredictedPoint
from gpureport.report.curves import Curve
from gpureport.report.figures.style import (
    ACCENTS,
    MARKERS,
    MUTED,
    SMALL_PT,
    decimal_ticks,
    new_figure,
    shorten,
    spread,
    tick_text,
)
from gpureport.report.figures.svg import svg
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_ROW_IN = 0.135
_LEAST_IN, _AROUND_IN = 2.7, 0.75
_DASHES = ("-", "--", ":", "-.", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 4)))
_CLASSES = ("instruction", "fp32", "int32", "int32_mul", "shuffle", "local")
"""Classes that compute; ``memory`` is in the intensity, ``barrier`` has no rate."""


@dataclass(frozen=True)
class Dot:
    """One variant at its largest size: operations per byte, and operations/s as predicted and as observed.

    Only one class of operations counts: the one that would take longest alone. A sum over classes has no ceiling.
    """

    name: str
    operations: str
    """The class that counts."""
    intensity: float
    predicted_per_s: float
    observed_per_s: float | None


def roofline_dots(curves: Sequence[Curve], device: Device) -> tuple[Dot, ...]:
    """Place each variant at the largest size that was observed, or else predicted."""
    dots: dict[str, Dot] = {}
    for curve in curves:
        prediction = curve.specification or curve.calibrated
        if prediction is None or curve.axis.quantity in ("work_group", "case") or curve.key.variant in dots:
            continue
        times = {p.point.label: p.time_s for p in curve.observation.points} if curve.observation else {}
        counted = [p for p in prediction.points if _busiest(p, device) and p.memory_bytes > 0 and p.time_s > 0]
        candidates = [p for p in counted if p.point.label in times] or counted
        if candidates:
            largest = max(candidates, key=lambda p: p.point.working_set_bytes)
            dots[curve.key.variant] = _dot(curve.key.variant, largest, times.get(largest.point.label), device)
    return tuple(dots.values())


def _busiest(point: PredictedPoint, device: Device) -> str | None:
    """Return the class of operations that would take longest alone, if the point has any operations."""
    known = [name for name in _CLASSES if name in point.ceilings_s and name in device.architecture.rates_per_cycle]
    return max(known, key=lambda name: point.ceilings_s[name], default=None) if point.operations > 0 else None


def _dot(variant: str, point: PredictedPoint, observed_s: float | None, device: Device) -> Dot:
    name = _busiest(point, device) or "instruction"
    operations = point.ceilings_s[name] * device.rate_per_s(name)
    return Dot(
        name=variant,
        operations=name,
        intensity=operations / point.memory_bytes,
        predicted_per_s=operations / point.time_s,
        observed_per_s=operations / observed_s if observed_s else None,
    )


@svg
def roofline_figure(dots: Sequence[Dot], device: Device) -> "Figure":
    """Draw *dots* (at least one) under the ceilings of memory, caches and the instructions that they count."""
    rates = {name: device.rate_per_s(name) for name in _CLASSES if name in {dot.operations for dot in dots}}
    rows = len(dots) + len(device.caches) + 2
    height = max(_LEAST_IN, rows * _ROW_IN + _AROUND_IN)
    figure = new_figure(height)
    axes = figure.subplots(gridspec_kw={"left": 0.105, "right": 0.64, "top": 1 - 0.06 / height, "bottom": 0.4 / height})
    _scale(axes, dots, device, rates)
    slopes = _draw_slopes(axes, device, max(rates.values()))
    _draw_rates(axes, rates, device.memory.bandwidth_bytes_per_s)
    axes.legend(
        handles=[*_draw_dots(axes, dots), *slopes],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        handlelength=2.4,
        labelspacing=0.4,
    )
    axes.set_xlabel("operations per byte of memory traffic")
    axes.set_ylabel("operations per second")
    return figure


def _scale(axes: "Axes", dots: Sequence[Dot], device: Device, rates: dict[str, float]) -> None:
    """Show everything from a quarter of the least intensity to right of the ridge."""
    bandwidth = device.memory.bandwidth_bytes_per_s
    values = [value for dot in dots for value in (dot.predicted_per_s, dot.observed_per_s) if value]
    peak = max([*rates.values(), *values])
    intensities = [dot.intensity for dot in dots]
    x_low, x_high = min([*intensities, peak / bandwidth]) / 4, max([*intensities, peak / bandwidth]) * 4
    y_low, y_high = min([*values, x_low * bandwidth]) / 1.5, peak * 1.6
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x_low, x_high)
    axes.set_ylim(y_low, y_high)
    for axis, unit, low, high in ((axes.xaxis, "", x_low, x_high), (axes.yaxis, "op/s", y_low, y_high)):
        ticks = decimal_ticks(low, high)
        axis.set_ticks(ticks, labels=[tick_text(tick, unit) for tick in ticks])
        axis.set_ticks([], minor=True)


def _draw_slopes(axes: "Axes", device: Device, roof: float) -> list["Line2D"]:
    memory = device.memory
    slopes = [("memory, listed", memory.bandwidth_bytes_per_s)]
    slopes += [("memory, attainable", memory.bandwidth_bytes_per_s * memory.efficiency)]
    slopes += [(cache.name, device.level_bandwidth_bytes_per_s(cache)) for cache in reversed(device.caches)]
    start, lines = axes.get_xlim()[0], []
    for (name, bandwidth), dashes in zip(slopes, cycle(_DASHES), strict=False):
        end = roof / bandwidth
        label = f"{name}: {format_bandwidth(bandwidth)}"
        lines += axes.plot(
            [start, end], [start * bandwidth, roof], color=MUTED, linewidth=0.9, linestyle=dashes, label=label
        )
    return lines


def _draw_rates(axes: "Axes", rates: dict[str, float], bandwidth: float) -> None:
    """Draw the instruction ceilings, each named above its right end."""
    right = axes.get_xlim()[1]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((right, rate))[1]) + 0.022 for rate in rates.values()]
    for (name, rate), height in zip(rates.items(), spread(heights, 0.05), strict=True):
        axes.plot([rate / bandwidth, right], [rate, rate], color=MUTED, linewidth=0.9)
        text = f"{class_text(name)}: {format_value(rate, 'op/s')}"
        style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": SMALL_PT, "color": MUTED}
        axes.text(0.995, height, text, transform=axes.transAxes, **style)


def class_text(name: str) -> str:
    """Name a class of instructions."""
    return "any instruction" if name == "instruction" else name


def _draw_dots(axes: "Axes", dots: Sequence[Dot]) -> list["Line2D"]:
    """Draw each variant: hollow as predicted, filled as observed, joined; return what the legend shows."""
    handles = []
    for index, dot in enumerate(dots):
        colour, marker = ACCENTS[index % len(ACCENTS)], MARKERS[index % len(MARKERS)]
        heights = [dot.predicted_per_s, dot.observed_per_s or dot.predicted_per_s]
        axes.plot([dot.intensity] * 2, heights, color=colour, linewidth=0.8, zorder=3)
        style: dict[str, Any] = {"marker": marker, "color": colour, "linestyle": ""}
        hollow, filled = {"mfc": "white", "markersize": 5, **style}, {"markersize": 4, **style}
        axes.plot(dot.intensity, heights[0], zorder=4, **hollow)
        if dot.observed_per_s:
            axes.plot(dot.intensity, heights[1], zorder=5, **filled)
        label = f"{shorten(dot.name, 22)} ({class_text(dot.operations)})"
        handles += axes.plot([], [], label=label, **(filled if dot.observed_per_s else hollow))
    return handles
