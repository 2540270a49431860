"""The roofline of one family: its variants under the device's ceilings.

Williams, Waterman & Patterson, "Roofline" (CACM 52(4), 2009): operations/s against operations/byte. The limit is the
lower of the instruction ceiling and arithmetic intensity x bandwidth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, cycle

from gpureport.records.prediction import PredictedPoint
from gpureport.report.figures.canvas import Canvas, Ink, Pen, Place, Shape
from gpureport.report.figures.panels import Panel, Scale, decimal_scale
from gpureport.report.figures.style import ACCENTS, MUTED, SMALL_PT, shorten, spread
from gpureport.report.run.curves import CurveRecords
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_value

_ROW_IN = 0.135
_LEAST_IN, _AROUND_IN = 2.7, 0.75
_LEFT_IN, _LEGEND_IN, _FOOT_IN, _TOP_IN = 0.72, 4.5, 0.4, 0.06
_NAMES = ("arithmetic intensity (operations per byte of memory traffic)", "operations per second")
_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (3.7, 1.6),
    (1, 1.65),
    (6.4, 1.6, 1, 1.6),
    (6, 2, 1, 2, 1, 2),
    (1, 4),
)
_SHAPES: tuple[Shape, ...] = ("circle", "square", "up", "diamond", "down", "left", "right")
_HOLLOW_IN, _FILLED_IN = 0.038, 0.03
_CLASSES = ("instruction", "fp32", "int32", "int32_mul", "shuffle", "local")
"""Classes of computing operations; ``memory`` is in the intensity, ``barrier`` has no rate."""


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


def roofline_dots(curves: Sequence[CurveRecords], device: Device) -> tuple[Dot, ...]:
    """Return the dot of each variant, at its largest observed size, or else at its largest predicted one."""
    placed: dict[str, tuple[float, Dot]] = {}
    for curve in curves:
        prediction = curve.specification or curve.calibrated
        if prediction is None or curve.axis.quantity in ("work_group", "case"):
            continue
        times = {p.point.label: p.time_s for p in curve.observation.points} if curve.observation else {}
        counted = [p for p in prediction.points if _busiest(p, device) and p.memory_bytes > 0 and p.time_s > 0]
        candidates = [p for p in counted if p.point.label in times] or counted
        if candidates:
            largest = max(candidates, key=lambda p: p.point.working_set_bytes)
            size, variant = largest.point.working_set_bytes, curve.key.variant
            if variant not in placed or size > placed[variant][0]:
                placed[variant] = size, _dot(variant, largest, times.get(largest.point.label), device)
    return tuple(dot for _, dot in placed.values())


def _busiest(point: PredictedPoint, device: Device) -> str | None:
    """Return the class of operations that would take longest by itself, if the point has any operations."""
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


@dataclass(frozen=True)
class _Slope:
    """The bandwidth ceiling of one level of the memory hierarchy, and the style of its line."""

    text: str
    bandwidth: float
    pen: Pen


def roofline_figure(dots: Sequence[Dot], device: Device) -> str:
    """Draw *dots* (at least one) under the ceilings of memory, caches and their classes of operations."""
    rates = {name: device.rate_per_s(name) for name in _CLASSES if name in {dot.operations for dot in dots}}
    slopes = _slopes(device)
    canvas = Canvas(max(_LEAST_IN, (len(dots) + len(slopes)) * _ROW_IN + _AROUND_IN))
    x, y = _scales(dots, device, rates)
    panel = Panel(canvas, _LEFT_IN, _FOOT_IN, _LEGEND_IN - 0.12 - _LEFT_IN, canvas.height_in - _FOOT_IN - _TOP_IN, x, y)
    panel.frame(labels=(True, True))
    canvas.text(((panel.left_in + panel.right_in) / 2, 0.03), _NAMES[0], ha="center", va="bottom")
    canvas.text((0.07, (panel.bottom_in + panel.top_in) / 2), _NAMES[1], upright=True, ha="center", va="center")
    _draw_slopes(panel, slopes, max(rates.values()))
    _draw_rates(panel, rates, device.memory.bandwidth_bytes_per_s)
    _draw_dots(panel, dots)
    _draw_legend(canvas, dots, slopes)
    return canvas.drawn()


def _scales(dots: Sequence[Dot], device: Device, rates: dict[str, float]) -> tuple[Scale, Scale]:
    """Return scales from a quarter of the least intensity to four times the ridge point or greatest intensity."""
    bandwidth = device.memory.bandwidth_bytes_per_s
    values = [value for dot in dots for value in (dot.predicted_per_s, dot.observed_per_s) if value]
    peak = max([*rates.values(), *values])
    intensities = [dot.intensity for dot in dots]
    x_low, x_high = min([*intensities, peak / bandwidth]) / 4, max([*intensities, peak / bandwidth]) * 4
    return decimal_scale(x_low, x_high, ""), decimal_scale(min([*values, x_low * bandwidth]) / 1.5, peak * 1.6, "op/s")


def _slopes(device: Device) -> list[_Slope]:
    memory = device.memory
    levels = [("DRAM, specified", memory.bandwidth_bytes_per_s)]
    levels += [("DRAM, achievable", memory.bandwidth_bytes_per_s * memory.efficiency)]
    levels += [(cache.name, device.level_bandwidth_bytes_per_s(cache)) for cache in reversed(device.caches)]
    return [
        _Slope(f"{name}: {format_bandwidth(bandwidth)}", bandwidth, Pen(MUTED, 0.9, dashes))
        for (name, bandwidth), dashes in zip(levels, cycle(_DASHES), strict=False)
    ]


def _draw_slopes(panel: Panel, slopes: Sequence[_Slope], roof: float) -> None:
    """Draw each slope up to the roof, within the panel."""
    for slope in slopes:
        start, end = max(panel.x.low, panel.y.low / slope.bandwidth), min(panel.x.high, roof / slope.bandwidth)
        if start < end:
            panel.line(((start, start * slope.bandwidth), (end, end * slope.bandwidth)), slope.pen)


def _draw_rates(panel: Panel, rates: dict[str, float], bandwidth: float) -> None:
    """Draw the instruction ceilings with their names above the right ends."""
    heights = spread([panel.up(rate) + 0.06 for rate in rates.values()], 0.11)
    for (name, rate), height in zip(rates.items(), heights, strict=True):
        panel.line(((rate / bandwidth, rate), (panel.x.high, rate)), Pen(MUTED, 0.9))
        text = f"{class_text(name)}: {format_value(rate, 'op/s')}"
        panel.canvas.text((panel.right_in - 0.02, height), text, size_pt=SMALL_PT, colour=MUTED, ha="right", clear=True)


def class_text(name: str) -> str:
    """Return the name of a class of operations."""
    return "any instruction" if name == "instruction" else name


def _draw_dots(panel: Panel, dots: Sequence[Dot]) -> None:
    """Draw each variant: a hollow mark for the prediction and a filled one for the observation, joined by a line."""
    for number, dot in enumerate(dots):
        colour, shape = look(number)
        place = panel.at(dot.intensity, dot.predicted_per_s)
        _hollow(panel.canvas, place, shape, colour)
        if dot.observed_per_s:
            seen = panel.at(dot.intensity, dot.observed_per_s)
            panel.canvas.segment(place, seen, Pen(colour, 0.8, order=3))
            panel.canvas.mark(seen, shape, _FILLED_IN, Ink(colour, order=5))


def look(number: int) -> tuple[str, Shape]:
    """Return a colour and a shape; pairs repeat only after all combinations."""
    round_number = number // len(ACCENTS)
    return ACCENTS[number % len(ACCENTS)], _SHAPES[(number + round_number) % len(_SHAPES)]


def _hollow(canvas: Canvas, place: Place, shape: Shape, colour: str) -> None:
    canvas.mark(place, shape, _HOLLOW_IN, Ink(colour, order=4))
    canvas.mark(place, shape, 0.62 * _HOLLOW_IN, Ink("#FFFFFF", order=4.1))


def _draw_legend(canvas: Canvas, dots: Sequence[Dot], slopes: Sequence[_Slope]) -> None:
    """Draw the names of variants and slopes to the right of the plot."""
    heights = (canvas.height_in - _TOP_IN - 0.05 - row * _ROW_IN for row in count())
    left, middle, text = _LEGEND_IN, _LEGEND_IN + 0.14, _LEGEND_IN + 0.34
    for (number, dot), height in zip(enumerate(dots), heights, strict=False):
        colour, shape = look(number)
        if dot.observed_per_s:
            canvas.mark((middle, height), shape, _FILLED_IN, Ink(colour, order=5))
        else:
            _hollow(canvas, (middle, height), shape, colour)
        canvas.text((text, height), legend_text(dot), size_pt=SMALL_PT)
    for slope, height in zip(slopes, heights, strict=False):
        canvas.segment((left, height), (left + 0.28, height), slope.pen)
        canvas.text((text, height), slope.text, size_pt=SMALL_PT)


def legend_text(dot: Dot) -> str:
    """Return the name of a variant and its class of operations, cut to the width right of the plot."""
    return f"{shorten(dot.name, 22)} ({class_text(dot.operations)})"
