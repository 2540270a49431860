"""The tables of the appendix: methods, environment, what was skipped, compiled kernels, sources of values."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

from gpureport.grouping import grouped
from gpureport.records.measurement import Compilation, Measurement
from gpureport.records.report import Report
from gpureport.report.figures.chart import known
from gpureport.report.text.tables import Table
from gpureport.report.text.words import TIMES
from gpureport.spec.models import Device, Transition, visited
from gpureport.spec.values import Listed
from gpureport.text import sentence
from gpureport.units import DIMENSIONS, UNKNOWN, format_bytes, format_range, format_ratio, format_time, format_value


def methods_table(report: Report) -> Table:
    """List the measurement method and counts of each family."""
    families = grouped((measurement.key.family, measurement) for measurement in report.measurements)
    return Table.of(_method_row(name, found) for name, found in families.items())


def _method_row(name: str, found: Sequence[Measurement]) -> dict[str, str]:
    timed = [point for measurement in found for point in measurement.points if point.samples_s]
    counts = [len(point.samples_s) for point in timed]
    checks = [(m.key.variant, m.verification) for m in found if m.verification]
    correct = all(check.passed for _, check in checks)
    cases = sum(len(check.cases) for check in dict(checks).values())  # a variant is verified once for all its sweeps
    duration_s = sum(measurement.duration_s for measurement in found)
    return {
        "family": name,
        "variants": str(len({measurement.key.variant for measurement in found})),
        "sweeps": str(len(found)),
        "points": str(len(timed)),
        "samples": str(sum(counts)),
        "samples per point": format_range(counts),
        "method": ", ".join(sorted({point.method for point in timed})) or UNKNOWN,
        "dispatches per sample": format_range([point.dispatches_per_sample for point in timed]),
        "verified": UNKNOWN if not checks else f"correct in {cases} cases" if correct else "WRONG",
        "time": format_time(duration_s) if duration_s else UNKNOWN,
    }


def environment_table(report: Report) -> Table:
    """List machine, device, driver and versions; empty without a run. The report has the limits of OpenCL."""
    machine, settings = report.machine, report.settings
    if machine is None:
        return Table(("property", "value"), ())
    present = machine.opencl
    pairs = [
        ("OpenCL device", present.name),
        ("platform", f"{present.platform}, {present.platform_version}"),
        ("driver", present.driver),
        ("device version", present.version),
        *machine.vendor_facts.items(),
        ("PCI id", present.pci_id or UNKNOWN),
        ("system", machine.system),
        ("CPU", f"{machine.cpu}, {machine.cores} cores"),
        ("memory", format_bytes(machine.memory_bytes)),
        ("Python", machine.python),
        ("packages", ", ".join(f"{name} {version}" for name, version in sorted(machine.packages.items()))),
        ("gpureport", report.tool_version),
        ("run", f"{report.created_at}, {'quick' if settings.quick else 'full'}, seed {settings.seed}"),
        ("requested workloads", ", ".join(settings.workloads) or "all"),
        ("command", settings.command or UNKNOWN),
    ]
    return Table(("property", "value"), tuple(pairs))


def skipped_table(report: Report) -> Table:
    """List what was not measured, by reason; the points that a sweep had no time for have the reason of the first."""
    found = [(name, "all", info.skipped) for name, info in report.workloads.items() if info.skipped]
    listed = {(name, why) for name, _, why in found}
    for measurement in report.measurements:
        if measurement.skipped and (measurement.key.workload, measurement.skipped) not in listed:
            found.append((str(measurement.key), "all", measurement.skipped))
        skipped = (point for point in measurement.points if point.skipped)
        for first, *others in grouped((point.late or point.skipped, point) for point in skipped).values():
            last = f" … {others[-1].point.label} ({len(others) + 1})" if others else ""
            found.append((str(measurement.key), f"{first.point.label}{last}", first.skipped or ""))
    rows = grouped(((points, sentence(why)), what) for what, points, why in found)
    return Table.of(
        {"sweep or variant": ", ".join(names), "points": points, "reason": why} for (points, why), names in rows.items()
    )


def compilation_table(report: Report) -> Table:
    """List each variant's compiled kernels; builds with different options share a row, with ranges.

    Variants of a family share a row if their kernels have the same name and equal values.
    """
    kernels = grouped(
        ((measurement.key.family, measurement.key.variant, entry.kernel), entry)
        for measurement in report.measurements
        for entry in measurement.compilation
    )
    alike = grouped(((family, kernel, *_row(found)), variant) for (family, variant, kernel), found in kernels.items())
    columns = ("variant: kernel", "code", "regs", "spilled", "local", "lanes", "loads", "stores")
    rows = ((f"{family}/{', '.join(names)}: {kernel}", *row) for (family, kernel, *row), names in alike.items())
    return Table(columns, tuple(rows))


def _row(found: Sequence[Compilation]) -> tuple[str, ...]:
    code = next((entry.code for entry in found if entry.code), None)
    return (
        f"{code.form}{', scalar' if code.vectorised is False else ''}" if code else UNKNOWN,
        format_range(known(entry.registers_per_work_item for entry in found)),
        _bytes(entry.private_bytes if entry.spill_bytes is None else entry.spill_bytes for entry in found),
        _bytes(entry.local_memory_bytes for entry in found),
        format_range(known(entry.wave_size for entry in found)),
        _accesses(code.global_loads if code else {}),
        _accesses(code.global_stores if code else {}),
    )


def _bytes(values: Iterable[float | None]) -> str:
    return format_range(known(values), "B")


def _accesses(by_width: Mapping[int, int]) -> str:
    widths = sorted(by_width.items(), reverse=True)
    return ", ".join(f"{count}{TIMES}{width} B" for width, count in widths) or UNKNOWN


def written_values(device: Device) -> Mapping[str, str]:
    """Write values of *device* by path, such as ``caches.L2.latency_transition.midpoint``; a dash for unknown ones."""
    found = {"opencl.compute_units": _written(device.opencl_compute_units, "")}

    def write(path: str, declared: Listed, value: object) -> object:
        found[path] = _written(value, DIMENSIONS[declared.dimension].unit)
        if isinstance(value, Transition):
            found[f"{path}.midpoint"] = format_ratio(value.midpoint)
        return value

    visited(device, write)
    return found


def _written(node: object, unit: str) -> str:
    if isinstance(node, bool):
        return "yes" if node else "no"
    if isinstance(node, int) and not unit:
        return str(node)
    if isinstance(node, Real):
        return format_value(float(node), unit) if unit else format_ratio(float(node))
    if isinstance(node, Transition):
        return ", ".join(format_ratio(value) for value in (node.onset, node.midpoint, node.end))
    if isinstance(node, tuple) and node:
        return ", ".join(_written(value, unit) for value in node)
    return node if isinstance(node, str) else UNKNOWN


def sources_table(report: Report) -> Table:
    """List the entry's values with their sources, as numbers of :func:`citations`."""
    numbers = {source: str(number) for number, source in enumerate(citations(report), start=1)}
    values = written_values(report.device)
    rows = (
        (path, values[path], origin.kind, numbers.get(origin.source, ""), origin.note)
        for path, origin in sorted(report.device.provenance.items())
        if path in values
    )
    return Table(("parameter", "value", "kind", "source", "note"), tuple(rows))


def citations(report: Report) -> list[str]:
    """Return the distinct sources of the entry's values, in the order of the table."""
    provenance = report.device.provenance
    return [source for source in dict.fromkeys(provenance[path].source for path in sorted(provenance)) if source]
