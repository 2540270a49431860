"""The tables of the appendix: methods, environment, what was skipped, sources."""

from collections.abc import Sequence

from gpureport.grouping import grouped
from gpureport.records.measurement import Measurement
from gpureport.records.report import Report
from gpureport.report.text.tables import Table
from gpureport.text import sentence
from gpureport.units import UNKNOWN, format_bytes, format_frequency, format_range, format_time


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
    """List machine, device, driver, clocks and versions; empty without a run. The report has the limits of OpenCL."""
    machine, settings = report.machine, report.settings
    if machine is None:
        return Table(("property", "value"), ())
    present = machine.opencl
    clocks = grouped((f"{clock.name} clock", clock.clock_hz) for clock in machine.clocks)
    pairs = [
        ("OpenCL device", present.name),
        ("platform", f"{present.platform}, {present.platform_version}"),
        ("driver", present.driver),
        ("device version", present.version),
        *((name, format_range(read, format_frequency)) for name, read in clocks.items()),
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
    """List all variants, sweeps and points that were not measured, by reason.

    Points of a sweep that lack samples for lack of time are one, with the first reason.
    """
    found = [(name, "all", info.skipped) for name, info in report.workloads.items() if info.skipped]
    listed = {(name, why) for name, _, why in found}
    for measurement in report.measurements:
        if measurement.skipped and (measurement.key.workload, measurement.skipped) not in listed:
            found.append((str(measurement.key), "all", measurement.skipped))
        skipped = (point for point in measurement.points if point.skipped)
        reasons = grouped((point.late or point.skipped, point) for point in skipped)
        for first, *others in reasons.values():
            last = f" … {others[-1].point.label} ({len(others) + 1})" if others else ""
            found.append((str(measurement.key), f"{first.point.label}{last}", first.skipped or ""))
    rows = grouped(((points, sentence(why)), what) for what, points, why in found)
    return Table.of(
        {"sweep or variant": ", ".join(names), "points": points, "reason": why} for (points, why), names in rows.items()
    )
