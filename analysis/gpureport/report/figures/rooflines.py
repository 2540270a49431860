"""The roofline of one family: its variants under the device's ceilings, one panel for each class of operations.

Williams, Waterman & Patterson, "Roofline" (CACM 52(4), 2009): operations/s against operations/byte. The limit is the
lower of the instruction ceiling and arithmetic intensity x bandwidth.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpureport.grouping import grouped
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import ObservedPoint
from gpureport.records.prediction import PredictedPoint
from gpureport.report.figures.chart import Axis, Chart, Panel, Series, stretch
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_value, scale_of

COLUMNS = 2
"""Panels side by side."""
_ROOFS = ("fp32", "fp64")
"""Classes of operations whose rate is drawn in each panel."""
_AROUND = 3.0  # from the least and the greatest intensity to the ends of the axis, as a factor
_LINE_IN = 0.12


class Dot(NamedTuple):
    """One variant at its largest size: operations per byte, and operations/s as predicted and as observed.

    Only one class of operations counts: the one that would take longest by itself. A sum over classes has no ceiling.
    """

    name: str
    operations: str
    """The class that counts."""
    intensity: float
    predicted_per_s: float
    observed_per_s: float | None


def roofline_dot(name: str, point: PredictedPoint, seen: ObservedPoint | None, device: Device) -> Dot | None:
    """Return the dot of a kernel at one point; ``None`` if it has no counted operations or moves no data."""
    counted = (name for name, row in INSTRUCTION_CLASSES.items() if row.roofline and name in point.ceilings_s)
    known = [name for name in counted if name in device.architecture.rates_per_cycle]
    if not known or not point.operations > 0 or not point.memory_bytes > 0:
        return None
    busiest = max(known, key=lambda name: (point.ceilings_s[name], name == "instruction"))  # any instruction, of equals
    operations = point.ceilings_s[busiest] * device.rate_per_s(busiest)
    return Dot(
        name=name,
        operations=busiest,
        intensity=operations / point.memory_bytes,
        predicted_per_s=operations / point.time_s,
        observed_per_s=operations / seen.time_s if seen else None,
    )


def roofline_chart(dots: Sequence[Dot], device: Device, seen: str = "observed") -> Chart:
    """Return *dots* (at least one) under the ceilings of memory, caches and their classes of operations."""
    classes = grouped((dot.operations, dot) for dot in dots)
    tallest = max(1.45, _LINE_IN * (max(map(len, classes.values())) + 2))
    panels = [_panel(name, found, device, seen, tallest) for name, found in classes.items()]
    return Chart(tuple(tuple(panels[column::COLUMNS]) for column in range(min(COLUMNS, len(panels)))))


def _panel(operations: str, dots: Sequence[Dot], device: Device, seen: str, height_in: float) -> Panel:
    name = "any instruction" if operations == "instruction" else operations
    rates = {name: device.rate_per_s(operations)}
    known = device.architecture.rates_per_cycle
    rates |= {roof: device.rate_per_s(roof) for roof in _ROOFS if roof in known and roof != operations}
    memory = device.memory.bandwidth_bytes_per_s
    values = [value for dot in dots for value in (dot.predicted_per_s, dot.observed_per_s) if value]
    x = stretch([*(dot.intensity for dot in dots), rates[name] / memory], _AROUND)
    y = min([*values, rates[name] / 4]) / 1.6, max([*values, *rates.values()]) * 1.7
    return Panel(
        Axis("arithmetic intensity (op/B)", "", "log10", x),
        Axis("operations per second", "op/s", "log10", y),
        (*_ceilings(rates, device, x, y), *_marks(dots, seen)),
        f"{name}, peak {format_value(rates[name], 'op/s')}",
        height_in,
    )


def _ceilings(
    rates: Mapping[str, float], device: Device, x: tuple[float, float], y: tuple[float, float]
) -> Iterator[Series]:
    """Yield bandwidths up to the first of *rates*, memory's expected one dashed, and *rates* from its ridge point."""
    memory, (rate, *_) = device.memory, rates.values()
    levels = [("DRAM", memory.bandwidth_bytes_per_s)]
    levels += [(cache.name, device.level_bandwidth_bytes_per_s(cache)) for cache in device.caches]
    for name, slope in (*levels, ("", memory.reached_bytes_per_s)):
        low, high = max(x[0], y[0] / slope), min(x[1], rate / slope)
        if low < high:
            text = (f"{name} {format_bandwidth(slope)}", name) if name else ""
            ends = (low, high), (low * slope, high * slope)
            yield Series(text, "muted", "line" if name else "dashes", *ends, labelled=bool(name))
    for number, (name, top) in enumerate(rates.items()):
        low = top / memory.bandwidth_bytes_per_s
        if low < x[1] and top < y[1]:
            divisor, unit = scale_of(y[1], "op/s")  # as the axis
            label = (f"{name} {top / divisor:.3g} {unit}", name) if number else ""
            yield Series(label, "muted", "dashes" if number else "line", (low, x[1]), (top, top), labelled=bool(number))


def _marks(dots: Sequence[Dot], seen: str) -> Iterator[Series]:
    both = [(dot.intensity, dot.observed_per_s, dot.predicted_per_s, dot.name) for dot in dots if dot.observed_per_s]
    x, predicted = tuple(dot.intensity for dot in dots), tuple(dot.predicted_per_s for dot in dots)
    unseen = tuple("" if dot.observed_per_s else dot.name for dot in dots)
    yield Series("predicted", "predicted", "rings", x, predicted, texts=unseen, labelled=any(unseen))
    if both:
        at, values, expected, names = zip(*both, strict=True)
        yield Series("", "observed", "ranges", at, values, expected, values)
        yield Series(seen, "observed", "dots", at, values, texts=names, labelled=True)
