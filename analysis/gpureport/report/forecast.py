"""Tables of predictions from a database entry: ceilings, features, the best of each workload; and their accuracy."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import starmap

from gpureport.grouping import grouped
from gpureport.inputs import shipped_table
from gpureport.predict.ceilings import Ceiling, ceilings
from gpureport.records.ceilings import ceiling_label
from gpureport.records.curves import MAIN_POSITIONS, CurveFeature
from gpureport.records.prediction import Prediction
from gpureport.report.text.tables import Table, occupancy_text
from gpureport.report.text.words import feature_name
from gpureport.spec.models import Device
from gpureport.units import UNKNOWN, format_bandwidth, format_bytes, format_frequency, format_interval, format_value


@cache
def accuracies() -> dict[str, dict[str, float | list[str]]]:
    """Return the errors of times by class of device: of devices that the model had not seen, which count equally."""
    return shipped_table("accuracy", dict[str, dict[str, float | list[str]]], "templates")


def facts_of(device: Device) -> str:
    """List compute units, clock, caches and memory of a device."""
    each = {"compute_unit": " per compute unit"}
    caches = ", ".join(
        f"{cache.name} {format_bytes(cache.capacity_bytes)}{each.get(cache.scope, '')}" for cache in device.caches
    )
    return (
        f"{device.compute_units} compute units at {format_frequency(device.clock_hz)}, "
        f"{caches or 'no known caches'}, {format_bytes(device.memory.size_bytes)} at "
        f"{format_bandwidth(device.memory.bandwidth_bytes_per_s)}"
    )


def ceilings_table(device: Device) -> Table:
    """List the ceilings of the device with intervals; instruction classes with equal rates share a row."""
    found = ceilings(device)
    latencies = {each.name: value_of(each) for each in found if each.kind == "latency"}
    rows = (
        (ceiling_name(each.kind, each.name), _capacity(each), value_of(each), latencies.get(each.name, ""))
        for each in found
        if each.kind != "latency"
    )
    return Table(("ceiling", "capacity", "maximum", "latency"), joined(rows))


def joined(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Join rows that differ only in their first cells."""
    names = grouped((row[1:], row[0]) for row in rows)
    return tuple((", ".join(found), *cells) for cells, found in names.items())


def ceiling_name(kind: str, name: str) -> str:
    """Return the name of a ceiling in tables."""
    return f"latency of {name}" if kind == "latency" else ceiling_label(name) if kind == "rate" else name


def value_of(predicted: Ceiling | CurveFeature | None) -> str:
    """Write a predicted value with its interval."""
    if predicted is None:
        return UNKNOWN
    return format_interval(predicted.value, predicted.ci_low, predicted.ci_high, predicted.unit)


def _capacity(ceiling: Ceiling) -> str:
    each = " per unit" if ceiling.each else ""
    return f"{format_bytes(ceiling.capacity_bytes)}{each}" if ceiling.capacity_bytes else ""


def outlook_table(predictions: Iterable[Prediction]) -> Table:
    """List the best, bottleneck, cliffs, taper and lowest occupancy of each workload.

    Work-group searches are left out. Cliffs and n90 are of the first sweep that shows them.
    """
    found = grouped((p.key.workload, p) for p in predictions if p.points and p.axis.quantity != "work_group")
    return Table.of(starmap(_outlook, found.items()))


def _outlook(workload: str, sweeps: Sequence[Prediction]) -> dict[str, str]:
    metric = sweeps[0].metric
    comparable = [sweep for sweep in sweeps if sweep.metric.value_unit == metric.value_unit]
    pick = max if metric.kind == "rate" else min
    best, point = pick(((sweep, p) for sweep in comparable for p in sweep.points), key=lambda each: each[1].value)
    features = [feature for sweep in sweeps for feature in sweep.features]
    cliffs = {f.level: f for f in reversed(features) if f.position == "midpoint"}
    n90 = next((f for f in features if f.position == "n90"), None)
    occupancy = min(best.occupancy, key=lambda entry: entry.fraction, default=None)
    return {
        "workload": workload,
        "best": format_interval(point.value, *point.interval, best.metric.value_unit),
        "bottleneck": ceiling_label(point.limit),
        "cliffs": ", ".join(
            f"{f.level}{'' if f.level.is_transition else f' {format_bytes(f.value)}'}"
            for f in sorted(cliffs.values(), key=lambda f: f.value)
        ),
        "n90": format_value(n90.value, "B" if n90.unit == "B" else "") if n90 else "",
        "occupancy": occupancy_text(occupancy) if occupancy else "",
    }


def feature_table(predictions: Iterable[Prediction]) -> Table:
    """List the predicted features of sweeps: cliffs with onset and end, tapers with knee, rates."""
    return Table.of(
        {"variant": p.key.variant, "feature": feature_name(f) + _ends(f, p.features), "predicted (95 %)": value_of(f)}
        for p in predictions
        for f in p.features
        if f.position in MAIN_POSITIONS
    )


def _ends(feature: CurveFeature, features: Sequence[CurveFeature]) -> str:
    same = {f.position: f for f in features if (f.feature, f.level) == (feature.feature, feature.level)}
    if feature.position == "midpoint" and {"onset", "end"} <= same.keys():
        return f" (onset {format_bytes(same['onset'].value)}, end {format_bytes(same['end'].value)})"
    if feature.position == "n90" and "knee" in same:
        return f" (knee: {format_value(same['knee'].value, same['knee'].unit)})"
    return ""
