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

_HEIGHT_IN = 2.7
_DASHES = ("-", "--", ":", "-.", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 4)))
_CLASSES = ("instruction", "fp32", "int32", "int32_mul", "shuffle", "local")


@dataclass(frozen=True)
class Dot:
    """One variant at one size: operations per byte, and operations/s as predicted and as observed."""

    name: str
    size: str
    intensity: float
    predicted_per_s: float
    observed_per_s: float | None
    classes: frozenset[str]
    """Instruction classes that the model counted."""


def roofline_dots(curves: Sequence[Curve]) -> tuple[Dot, ...]:
    """Place each variant at the largest size that was observed, or else predicted."""
    dots: dict[str, Dot] = {}
    for curve in curves:
        if curve.prediction is None or curve.is_work_group or curve.key.variant in dots:
            continue
        times = {p.point.label: p.time_s for p in curve.observation.points} if curve.observation else {}
        counted = [p for p in curve.prediction.points if p.operations > 0 and p.memory_bytes > 0 and p.time_s > 0]
        candidates = [p for p in counted if p.point.label in times] or counted
        if candidates:
            largest = max(candidates, key=lambda p: p.point.working_set_bytes)
            dots[curve.key.variant] = _dot(curve.key.variant, largest, times.get(largest.point.label))
    return tuple(dots.values())


def _dot(variant: str, point: PredictedPoint, observed_s: float | None) -> Dot:
    return Dot(
        name=variant,
        size=point.point.label,
        intensity=point.operations / point.memory_bytes,
        predicted_per_s=point.operations / point.time_s,
        observed_per_s=point.operations / observed_s if observed_s else None,
        classes=frozenset(point.ceilings_s),
    )


@svg
def roofline_figure(dots: Sequence[Dot], device: Device) -> "Figure":
    """Draw *dots* (at least one) under the ceilings of memory, caches and the instructions they use."""
    figure = new_figure(_HEIGHT_IN)
    axes = figure.subplots(gridspec_kw={"left": 0.125, "right": 0.68, "top": 0.97, "bottom": 0.15})
    used = frozenset[str]().union(*(dot.classes for dot in dots)) | {"instruction"}
    rates = {name: device.rate_per_s(name) for name in _CLASSES if name in used & _known(device)}
    _scale(axes, dots, device, rates)
    slopes = _draw_slopes(axes, device, max(rates.values(), default=axes.get_ylim()[1]))
    _draw_rates(axes, rates, device.memory.bandwidth_bytes_per_s)
    axes.legend(
        handles=[*_draw_dots(axes, dots), *slopes],
        loc="lower left",
        bbox_to_anchor=(1.0, -0.04),
        handlelength=2.2,
        labelspacing=0.45,
    )
    axes.set_xlabel("operations per byte of memory traffic")
    axes.set_ylabel("operations per second")
    return figure


def _known(device: Device) -> frozenset[str]:
    return frozenset(device.architecture.rates_per_cycle)


def _scale(axes: "Axes", dots: Sequence[Dot], device: Device, rates: dict[str, float]) -> None:
    """Show everything from a quarter of the least intensity to right of the ridge."""
    bandwidth = device.memory.bandwidth_bytes_per_s
    values = [value for dot in dots for value in (dot.predicted_per_s, dot.observed_per_s) if value]
    peak = max([*rates.values(), *values])
    intensities = [dot.intensity for dot in dots]
    x_low, x_high = min(intensities) / 4, max([*intensities, peak / bandwidth]) * 4
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
    """Draw the instruction ceilings, each named at the right edge."""
    right = axes.get_xlim()[1]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((right, rate))[1]) for rate in rates.values()]
    for (name, rate), height in zip(rates.items(), spread(heights, 0.055), strict=True):
        axes.plot([rate / bandwidth, right], [rate, rate], color=MUTED, linewidth=0.9)
        text = f"{'any instruction' if name == 'instruction' else name}: {format_value(rate, 'op/s')}"
        axes.text(1.02, height, text, transform=axes.transAxes, fontsize=SMALL_PT, color=MUTED, va="center")


def _draw_dots(axes: "Axes", dots: Sequence[Dot]) -> list["Line2D"]:
    """Draw each variant: hollow as predicted, filled as observed, joined; return what the legend shows."""
    handles = []
    for dot, colour, marker in zip(dots, cycle(ACCENTS), cycle(MARKERS), strict=False):
        heights = [dot.predicted_per_s, dot.observed_per_s or dot.predicted_per_s]
        axes.plot([dot.intensity] * 2, heights, color=colour, linewidth=0.8, zorder=3)
        axes.plot(dot.intensity, heights[0], marker=marker, mfc="white", mec=colour, markersize=6, zorder=4)
        filled: dict[str, Any] = {"marker": marker, "color": colour, "markersize": 4.5, "linestyle": ""}
        handles += axes.plot([], [], label=f"{shorten(dot.name)} ({shorten(dot.size, 16)})", **filled)
        if dot.observed_per_s:
            axes.plot(dot.intensity, heights[1], zorder=5, **filled)
    return handles
