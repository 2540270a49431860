"""The tables of the appendix: methods, environment, what was skipped, sources, timings."""

import re
from collections.abc import Iterable, Iterator, Sequence
from string import ascii_uppercase

from gpureport.findings.advice import shape_of
from gpureport.predict.occupancy import compiled_resources, too_many_registers
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.report import Clock, Report
from gpureport.report.run.trust import examples
from gpureport.report.run.values import value_at
from gpureport.report.text.tables import UNKNOWN, Table, span
from gpureport.spec.models import Device
from gpureport.text import sentence
from gpureport.units import format_bytes, format_frequency, format_time

_LONGEST = 10  # rows of the table of the longest steps
_SIZES = (("width", "height"), *((name,) for name in ("count", "bytes", "vectors", "tiles", "addresses", "groups")))
"""The parameters that say how large a case is: the first that it has."""


def titles(report: Report) -> dict[str, str]:
    """Return the appendices that there are, lettered, by their anchors."""
    ran = report.machine is not None
    planned = (
        ("arithmetic", "The arithmetic of predictions, by example", bool(examples(report))),
        ("numbers", "All numbers", True),
        ("hypotheses", "The hypotheses that were tested", bool(report.explanations)),
        ("methods", "How it was measured", ran),
        ("uncertainties", "How well figures are known", True),
        ("environment", "Environment", ran),
        ("skipped", "What was skipped", ran),
        ("sources", "Sources of the device\N{RIGHT SINGLE QUOTATION MARK}s values", True),
        ("compilation", "Compiled kernels", ran),
        ("timings", "Where the time went", bool(report.timings)),
    )
    there = [(anchor, title) for anchor, title, wanted in planned if wanted]
    return {anchor: f"{letter}. {title}" for letter, (anchor, title) in zip(ascii_uppercase, there, strict=False)}


def methods_table(report: Report) -> Table:
    """List how each family was measured, all its sweeps together."""
    counted = ("variants", "sweeps", "points", "samples", "a point")
    columns = ("family", *counted, "method", "dispatches a sample", "verified", "time")
    families: dict[str, list[Measurement]] = {}
    for measurement in report.measurements:
        families.setdefault(measurement.key.family, []).append(measurement)
    rows = tuple(_method_row(name, found) for name, found in families.items())
    return Table(columns, rows, frozenset({*counted, "dispatches a sample", "time"}))


def _method_row(name: str, found: Sequence[Measurement]) -> tuple[str, ...]:
    timed = [point for measurement in found for point in measurement.points if point.samples_s]
    counts = [len(point.samples_s) for point in timed]
    checks = [measurement.verification.passed for measurement in found if measurement.verification]
    duration_s = sum(measurement.duration_s for measurement in found)
    return (
        name,
        str(len({measurement.key.variant for measurement in found})),
        str(len(found)),
        str(len(timed)),
        str(sum(counts)),
        span(counts),
        ", ".join(sorted({point.method for point in timed})) or UNKNOWN,
        span([point.dispatches_per_sample for point in timed]),
        UNKNOWN if not checks else "right" if all(checks) else "WRONG",
        format_time(duration_s) if duration_s else UNKNOWN,
    )


def _variant(measurement: Measurement) -> str:
    return measurement.key.workload


def verification_table(report: Report) -> Table:
    """List on how many cases, of which sizes, results were compared; variants of one family that share them once."""
    rows: dict[tuple[str, ...], dict[str, None]] = {}
    for measurement in report.measurements:
        check = measurement.verification
        if check is not None:
            outcome = "equal" if check.passed else f"WRONG: {check.message}"
            kind = (measurement.key.family, str(len(check.cases)), _sizes(check.cases), outcome)
            rows.setdefault(kind, {})[measurement.key.variant] = None
    columns = ("family", "variants", "cases", "sizes", "against NumPy")
    return Table(
        columns, tuple((kind[0], ", ".join(names), *kind[1:]) for kind, names in rows.items()), frozenset({"cases"})
    )


def _sizes(cases: Sequence[str]) -> str:
    """Write the range of what says how large *cases* are; of cases that are no lists of parameters, the ends."""
    values: dict[str, list[int]] = {}
    for name, value in re.findall(r"(\w+) = (\d+)", " ".join(cases)):
        values.setdefault(name, []).append(int(value))
    names = next((names for names in _SIZES if values.keys() >= set(names)), ())
    if names:
        return ", ".join(f"{name} {span(values[name])}" for name in names)
    return " … ".join(dict.fromkeys((*cases[:1], *cases[-1:])))


def timings_table(report: Report) -> Table:
    """List the run's seconds by stage, and after that its longest steps."""
    stages: dict[str, float] = {}
    for timing in report.timings:
        stages[timing.stage] = stages.get(timing.stage, 0.0) + timing.seconds
    longest = sorted((t for t in report.timings if t.workload), key=lambda timing: -timing.seconds)[:_LONGEST]
    rows = [(stage, "all", format_time(s)) for stage, s in sorted(stages.items(), key=lambda item: -item[1])]
    rows += [(timing.stage, timing.workload, format_time(timing.seconds)) for timing in longest]
    return Table(("stage", "workload", "time"), tuple(rows), frozenset({"time"}))


def _clock_rows(clocks: Iterable[Clock]) -> Iterator[tuple[str, str]]:
    """Yield one row a clock, whatever the number of workloads after which it was asked."""
    asked: dict[str, list[float]] = {}
    for clock in clocks:
        asked.setdefault(clock.label.partition(" after ")[0], []).append(clock.clock_hz)
    for name, values in asked.items():
        low, high = format_frequency(min(values)), format_frequency(max(values))
        yield name, low if low == high else f"{low} to {high}"


def environment_table(report: Report) -> Table:
    """List machine, device, driver, clocks and versions; nothing where nothing ran."""
    machine, settings = report.machine, report.settings
    if machine is None:
        return Table(("what", "value"), ())
    present = machine.opencl
    pairs = [
        ("OpenCL device", present.name),
        ("platform", f"{present.platform}, {present.platform_version}"),
        ("driver", present.driver),
        ("device version", present.version),
        ("compute units reported", str(present.compute_units)),
        ("clock reported", format_frequency(present.clock_hz)),
        *_clock_rows(machine.clocks),
        *machine.vendor_facts.items(),
        ("global memory", format_bytes(present.global_memory_bytes)),
        ("largest allocation", format_bytes(present.max_allocation_bytes)),
        ("cache reported", format_bytes(present.global_cache_bytes)),
        ("local memory", format_bytes(present.local_memory_bytes)),
        ("largest work-group", str(present.max_work_group)),
        ("timer resolution", format_time(present.timer_resolution_s)),
        ("PCI id", present.pci_id or UNKNOWN),
        ("system", machine.system),
        ("CPU", f"{machine.cpu}, {machine.cores} cores"),
        ("memory", format_bytes(machine.memory_bytes)),
        ("Python", machine.python),
        ("packages", ", ".join(f"{name} {version}" for name, version in sorted(machine.packages.items()))),
        ("gpureport", report.tool_version),
        ("run", f"{report.created_at}, {'quick' if settings.quick else 'full'}, seed {settings.seed}"),
        ("workloads asked for", ", ".join(settings.workloads) or "all"),
        ("command", settings.command or UNKNOWN),
    ]
    return Table(("what", "value"), tuple(pairs))


def skipped_table(report: Report) -> Table:
    """List every variant, sweep and point that was not measured, with the reason; what shares one once."""
    found = [(name, "all", info.skipped) for name, info in report.workloads.items() if info.skipped]
    told = {(name, why) for name, _, why in found}
    for measurement in report.measurements:
        if measurement.skipped and (_variant(measurement), measurement.skipped) not in told:
            found.append((str(measurement.key), "all", measurement.skipped))
        found += _skipped_points(measurement, report.device)
    rows: dict[tuple[str, str], list[str]] = {}
    for what, points, why in found:
        rows.setdefault((points, sentence(why)), []).append(what)
    columns = ("what", "points", "why")
    return Table(columns, tuple((", ".join(names), points, why) for (points, why), names in rows.items()))


def _skipped_points(measurement: Measurement, device: Device) -> list[tuple[str, str, str]]:
    """Group the points whose reasons differ in figures only; the first one's reason is given."""
    reasons: dict[str, list[MeasuredPoint]] = {}
    for point in measurement.points:
        if point.skipped:
            reasons.setdefault(re.sub(r"[\d.]+( .?s\b)?", "#", point.skipped), []).append(point)
    return [
        (str(measurement.key), _labels(points), _why(measurement, points[0], device)) for points in reasons.values()
    ]


def _why(measurement: Measurement, point: MeasuredPoint, device: Device) -> str:
    """Return why a point was skipped; of a launch that lacked resources also what it needed, where that is known.

    A kernel may have been built several times with different options: then all builds must need too much.
    """
    why, shape = point.skipped or "", shape_of(point.point)
    if "OUT_OF_RESOURCES" not in why or shape is None:
        return why
    builds = [compiled_resources(c) for c in measurement.compilation if why.startswith(f"{c.kernel} ")]
    reasons = [built and too_many_registers(device.architecture, shape, built) for built in builds]
    return f"{sentence(why)} {reasons[0]}" if reasons and all(reasons) else why


def _labels(points: Sequence[MeasuredPoint]) -> str:
    first, last = points[0].point.label, points[-1].point.label
    return first if len(points) == 1 else f"{first} … {last} ({len(points)})"


def sources_table(report: Report) -> Table:
    """List the entry's values with where they came from; sources by their number in :func:`citations`."""
    numbers = {source: str(number) for number, source in enumerate(citations(report), start=1)}
    rows = tuple(
        (path, value_at(report.device, path), origin.kind, numbers.get(origin.source, ""), origin.note)
        for path, origin in sorted(report.device.provenance.items())
    )
    return Table(("value", "is", "kind", "source", "note"), rows, frozenset({"is", "source"}))


def citations(report: Report) -> list[str]:
    """Return the distinct sources of the entry's values, in the order in which the table names them."""
    provenance = report.device.provenance
    return [source for source in dict.fromkeys(provenance[path].source for path in sorted(provenance)) if source]
