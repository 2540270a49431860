"""Charts of a whole run: the working sets of page one, all ratios, clocks and power."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpureport.grouping import grouped
from gpureport.records.curves import Feature
from gpureport.records.finding import AGREEMENT, Finding
from gpureport.records.measurement import Energy
from gpureport.report.curves import CurveRecords, FindingPair, is_certain, reading_units
from gpureport.report.figures.chart import Axis, Chart, Mark, Panel, Role, Series, Style, stretch
from gpureport.report.figures.sweeps import drawable, observed, plateaus, predictions
from gpureport.spec.models import Device
from gpureport.units import format_bytes, format_value

_MICROBENCHMARKS = (("read_private", "read"), ("latency",))
"""Variants of ``memory`` that show the caches: by read bandwidth, and by latency."""
_MOST_RATIOS = 12  # rows of ratios; if there are more, those farthest from 1 are drawn
_WIDEST, _LEAST = 12.0, 1.6
_FEATURES: dict[Feature, tuple[str, Role, Style, float]] = {
    "rate": ("rates", "predicted", "dots", 0.24),
    "taper": ("tapers (saturation points)", "green", "up", 0.0),
    "cliff": ("cliffs (capacity transitions)", "observed", "down", -0.24),
}
"""Name, role, style, and distance below the middle of the row in rows."""


def working_sets(found: Iterable[CurveRecords]) -> list[list[CurveRecords]]:
    """Return the sweeps of read bandwidth, and those of latency, over working sets: observed ones, if there are any."""
    curves = [c for c in found if c.key.family == "memory" and c.axis.quantity == "working_set" and drawable(c.points)]
    curves = [curve for curve in curves if curve.observation] or curves
    stacks = ([curve for curve in curves if curve.key.variant in variants] for variants in _MICROBENCHMARKS)
    return list(filter(None, stacks))


def working_set_chart(stacks: Sequence[Sequence[CurveRecords]], device: Device, taller: float = 1.0) -> Chart:
    """Return read bandwidth and latency against the working set, with the levels of the device.

    Of levels of each compute unit, the working set is that of one unit. Panels are *taller* times as high as usual.
    """
    every = [point.point.x for curves in stacks for curve in curves for point in drawable(curve.points)]
    x = Axis("working set (of one compute unit for its caches)", "B", "log2", stretch(every, 1.15))
    panels = [_working_set_panel(curves, x, device, named=not number) for number, curves in enumerate(stacks)]
    return Chart((tuple(replace(each, height_in=taller * each.height_in) for each in _joined(panels)),))


def _joined(panels: Sequence[Panel]) -> Iterator[Panel]:
    for panel in panels:
        yield replace(panel, joined=panel is not panels[-1])


def _working_set_panel(curves: Sequence[CurveRecords], x: Axis, device: Device, *, named: bool) -> Panel:
    """Return one quantity: capacities dotted, predictions behind observations, plateaus and onsets of cliffs.

    No onset beyond a capacity is marked: overlapping passes over more data keep their bandwidth for a while.
    """
    capacities = {cache.name: cache.capacity_bytes for cache in device.caches}
    units, first = device.compute_units, curves[0]
    lines = [
        replace(line, name=f"{curve.key.variant}, {line.name}" if len(curves) > 1 else line.name)
        for curve in curves
        for line in (*predictions(curve), *observed(curve))
    ]
    marks = []
    for cache in device.caches:
        if x.ends and x.ends[0] < cache.capacity_bytes < x.ends[1]:
            of = f" of each of {units} units" if cache.scope == "compute_unit" and units > 1 else ""
            name = f"{cache.name} {format_bytes(cache.capacity_bytes)}" if named else ""
            marks.append(
                Mark(cache.capacity_bytes, cache.capacity_bytes, (f"{name}{of}", name) if named else "", dashed=True)
            )
    for curve in curves:
        record = curve.observation or curve.specification or curve.calibrated
        role: Role = "observed" if curve.observation else "predicted"
        readers, points = reading_units(curve, units), drawable(record.points if record else ())
        if readers == units:
            lines += plateaus(record, role)
        elif points:
            text = f"{readers} of {units} units read"
            middle = points[len(points) // 3]
            lines.append(Series("", role, "ranges", (middle.point.x,), (middle.value,), texts=(text,), labelled=True))
        onsets = [
            f
            for f in (record.features if record else ())
            if f.position == "onset" and f.value <= capacities.get(f.level.name, 0.0) and is_certain(f)
        ]
        marks += [Mark(f.value, f.value, format_value(f.value, f.unit), role) for f in onsets]
    y = Axis(first.metric.label, first.metric.value_unit, "log10")
    return Panel(x, y, tuple(lines), "", 1.4 if named else 1.1, tuple(marks))


def ratio_rows(pairs: Sequence[FindingPair]) -> dict[str, list[Finding]]:
    """Group the findings that have a ratio: by variant, or by family if there are too many variants."""
    findings = [c.main for c in pairs if c.main.ratio and c.main.predicted]
    by_variant = grouped((f"{finding.key.family} / {finding.key.variant}", finding) for finding in findings)
    by_family = grouped((finding.key.family, finding) for finding in findings)
    rows = by_variant if len(by_variant) <= _MOST_RATIOS else by_family
    farthest = sorted(rows, key=lambda name: max(_distance(finding) for finding in rows[name]), reverse=True)
    return {name: row for name, row in rows.items() if name in farthest[:_MOST_RATIOS]}


def _distance(finding: Finding) -> float:
    ratio = finding.ratio or 1.0
    return max(ratio, 1 / ratio)


def ratio_chart(rows: dict[str, list[Finding]], seen: str = "observed") -> Chart:
    """Return *seen* / predicted of *rows* (at least one) with 95 % intervals; arrows show what lies beyond the axis."""
    reach = min(_WIDEST, max(_LEAST, 1.15 * max(_distance(finding) for row in rows.values() for finding in row)))
    label = f"{seen} / predicted from the specification (shaded: agreement within a factor of {AGREEMENT:g})"
    series = tuple(_ratio_series(rows))
    panel = Panel(
        Axis(label, scale="log10", ends=(1 / reach, reach)),
        Axis(scale="rows", rows=tuple(rows)),
        series,
        height_in=0.17 * len(rows),
        marks=(Mark(1 / AGREEMENT, AGREEMENT), Mark(1, 1)),
    )
    return Chart(((panel,),), legend=tuple((each.name, each.role) for each in series))


def _ratio_series(rows: dict[str, list[Finding]]) -> Iterator[Series]:
    for feature, (name, role, style, below) in _FEATURES.items():
        found = [(row + below, each) for row, of in enumerate(rows.values()) for each in of if each.feature == feature]
        points = [
            (
                ratio,
                y,
                *((end / each.predicted if end and each.predicted else ratio) for end in (each.ci_low, each.ci_high)),
            )
            for y, each in found
            for ratio in [each.ratio or 1.0]
        ]
        texts = tuple(f"{each.key.workload}, {each.level}" for _, each in found)
        if found:
            yield Series.of(name, role, style, points, texts=texts)


def power_chart(energy: Energy) -> Chart:
    """Return power above and core clock below, against the time since the first reading; one of them if one is known.

    The power of each load is the mean of the energy counter, as in the table, where there is a counter; the readings
    of sensors are averages that lag behind.
    """
    readings = [reading for load in energy.loads for reading in load.readings]
    power = [(reading.at_s, reading.power_w) for reading in readings if reading.power_w]
    clock = [(reading.at_s, reading.clock_hz) for reading in readings if reading.clock_hz]
    starts = [(load.name, load.readings[0].at_s) for load in energy.loads if load.readings]
    counted = [load for load in energy.loads if load.by_counter and load.power_w and load.readings]
    sensor: Role = "muted" if counted else "observed"
    series = [Series.of("power sensor", sensor, "line", power)] if power else []
    for load in counted:
        ends, value = (load.readings[0].at_s, load.readings[-1].at_s), load.power_w or 0.0
        series.append(Series(format_value(value, "W"), "observed", "line", ends, (value, value), labelled=True))
    x, panels = Axis("time since the first reading (s)"), []
    names = tuple(Mark(start, start, name) for name, start in starts)
    if power:
        panels.append(Panel(x, Axis("power", "W", "zero"), tuple(series), height_in=1.1, marks=names))
    if clock:
        line = Series.of("core clock", "observed", "line", clock)
        bare = names if not power else tuple(Mark(start, start) for _, start in starts)
        panels.append(Panel(x, Axis("core clock", "Hz", "zero"), (line,), height_in=1.1, marks=bare))
    legend: tuple[tuple[str, Role], ...] = (("mean by the energy counter", "observed"), ("sensor", "muted"))
    return Chart((tuple(_joined(panels)),), legend=legend if counted and power else ())
