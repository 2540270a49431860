"""The report's plain tables: occupancy, methods, environment, what was skipped, sources, compilation."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from gpureport.records import MeasuredPoint, Measurement, Occupancy
from gpureport.report.curves import Curve
from gpureport.report.document import Clock, Report
from gpureport.report.values import value_at
from gpureport.text import sentence
from gpureport.units import format_bytes, format_frequency, format_time

_UNKNOWN = "—"
_TIMES = " \N{MULTIPLICATION SIGN} "
_LOG_LINES = 12
_SHORT, _LONG, _LINE = 14, 60, 118  # characters: a short text, as long as matters, a line of a table
_BOLD = 1.2  # width of a head's characters


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; *numeric* names the columns that are set flush right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()

    @property
    def narrow(self) -> frozenset[str]:
        """Columns whose texts are all short: they are never broken over lines."""
        return frozenset(name for name, length in zip(self.columns, self._lengths, strict=True) if length <= _SHORT)

    @property
    def widths(self) -> tuple[float, ...]:
        """Width of each column in percent: narrow ones as their texts need it, the others share what is left.

        Widths known beforehand spare the layout engine most of its time.
        """
        lengths = [min(length, _LONG) for length in self._lengths]
        needs = [length + 3.0 if length <= _SHORT else 0.0 for length in lengths]
        wants = [0.0 if need else sqrt(length) for need, length in zip(needs, lengths, strict=True)]
        left = max(_LINE - sum(needs), _LINE / 2) if any(wants) else 0.0
        widths = [need or left * want / sum(wants) for need, want in zip(needs, wants, strict=True)]
        return tuple(99.9 * width / max(_LINE, sum(widths)) for width in widths)  # rounding must not exceed 100

    @property
    def _lengths(self) -> list[int]:
        """Characters of each column's longest text, and of the longest word of its head."""
        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return [
            max([*map(len, texts), *(ceil(_BOLD * len(word)) for word in name.split())])
            for name, texts in zip(self.columns, cells, strict=True)
        ]


@dataclass(frozen=True)
class CompilerOutput:
    """What the compiler said of a kernel."""

    title: str
    log: str


def occupancy_table(curves: Iterable[Curve]) -> Table:
    """List how the variant's work-group shapes fill a compute unit."""
    entries = [entry for curve in curves if curve.prediction for entry in curve.prediction.occupancy]
    columns = (
        "work-group",
        "registers",
        "local memory",
        "groups",
        "waves",
        "occupancy",
        "limited by",
        "figures",
    )
    shapes: dict[tuple[str, ...], dict[str, None]] = {}
    for entry in entries:
        shapes.setdefault(_occupancy_figures(entry), {})[_TIMES.join(map(str, entry.work_group))] = None
    rows = tuple((", ".join(names), *figures) for figures, names in shapes.items())
    return Table(columns, rows, frozenset(columns[1:6]))


def _occupancy_figures(entry: Occupancy) -> tuple[str, ...]:
    return (
        str(entry.registers_per_work_item),
        format_bytes(entry.local_memory_bytes),
        str(entry.groups_per_compute_unit),
        f"{entry.waves_per_compute_unit} of {entry.max_waves_per_compute_unit}",
        f"{entry.fraction:.0%}",
        entry.limiter,
        entry.source,
    )


def methods_table(report: Report) -> Table:
    """List how each sweep was measured."""
    columns = ("sweep", "points", "samples", "a point", "method", "dispatches a sample", "verified", "time")
    rows = tuple(_method_row(measurement) for measurement in report.measurements)
    return Table(columns, rows, frozenset({"points", "samples", "a point", "dispatches a sample", "time"}))


def _method_row(measurement: Measurement) -> tuple[str, ...]:
    timed = [point for point in measurement.points if point.samples_s]
    counts = [len(point.samples_s) for point in timed]
    check = measurement.verification
    return (
        str(measurement.key),
        str(len(timed)),
        str(sum(counts)),
        _span(counts),
        ", ".join(sorted({point.method for point in timed})) or _UNKNOWN,
        _span([point.dispatches_per_sample for point in timed]),
        _UNKNOWN if check is None else "right" if check.passed else "WRONG",
        format_time(measurement.duration_s) if measurement.duration_s else _UNKNOWN,
    )


def _span(values: Sequence[int]) -> str:
    if not values:
        return _UNKNOWN
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def verification_table(report: Report) -> Table:
    """List the cases on which each variant's results were compared with the reference."""
    rows: dict[tuple[str, ...], None] = {}
    for measurement in report.measurements:
        check = measurement.verification
        if check is not None:
            name = f"{measurement.key.workload}/{measurement.key.variant}"
            outcome = "equal" if check.passed else f"WRONG: {check.message}"
            rows[name, "; ".join(check.cases), outcome] = None
    return Table(("variant", "cases", "against NumPy"), tuple(rows))


def _clock_rows(clocks: Iterable[Clock]) -> Iterator[tuple[str, str]]:
    """Yield one row a clock, whatever the number of workloads after which it was asked."""
    asked: dict[str, list[float]] = {}
    for clock in clocks:
        asked.setdefault(clock.label.partition(" after ")[0], []).append(clock.clock_hz)
    for name, values in asked.items():
        low, high = format_frequency(min(values)), format_frequency(max(values))
        yield name, low if low == high else f"{low} to {high}"


def environment_table(report: Report) -> Table:
    """List machine, device, driver, clocks and versions."""
    machine, present, settings = report.machine, report.machine.opencl, report.settings
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
        ("PCI id", present.pci_id or _UNKNOWN),
        ("system", machine.system),
        ("CPU", f"{machine.cpu}, {machine.cores} cores"),
        ("memory", format_bytes(machine.memory_bytes)),
        ("Python", machine.python),
        ("packages", ", ".join(f"{name} {version}" for name, version in sorted(machine.packages.items()))),
        ("gpureport", report.tool_version),
        ("run", f"{report.created_at}, {'quick' if settings.quick else 'full'}, seed {settings.seed}"),
        ("workloads asked for", ", ".join(settings.workloads) or "all"),
        ("command", settings.command or _UNKNOWN),
    ]
    return Table(("what", "value"), tuple(pairs))


def skipped_table(report: Report) -> Table:
    """List every variant, sweep and point that was not measured, with the reason."""
    rows = [(name, "all", info.skipped) for name, info in report.workloads.items() if info.skipped]
    for measurement in report.measurements:
        if measurement.skipped:
            rows.append((str(measurement.key), "all", measurement.skipped))
        rows += _skipped_points(measurement)
    return Table(("what", "points", "why"), tuple((what, points, sentence(why)) for what, points, why in rows))


def _skipped_points(measurement: Measurement) -> list[tuple[str, str, str]]:
    """Group the points whose reasons differ in figures only; the first one's reason is given."""
    reasons: dict[str, list[MeasuredPoint]] = {}
    for point in measurement.points:
        if point.skipped:
            reasons.setdefault(re.sub(r"[\d.]+( .?s\b)?", "#", point.skipped), []).append(point)
    return [(str(measurement.key), _labels(points), points[0].skipped or "") for points in reasons.values()]


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


def compilation_table(report: Report) -> Table:
    """List what the compiler made of each kernel."""
    columns = ("kernel", "options", "registers", "local", "private", "wave", "largest group")
    rows = dict.fromkeys(
        (
            entry.kernel,
            entry.options or _UNKNOWN,
            _count(entry.registers_per_work_item),
            _UNKNOWN if entry.local_memory_bytes is None else format_bytes(entry.local_memory_bytes),
            _UNKNOWN if entry.private_bytes is None else format_bytes(entry.private_bytes),
            _count(entry.wave_width),
            _count(entry.max_work_group),
        )
        for measurement in report.measurements
        for entry in measurement.compilation
    )
    return Table(columns, tuple(rows), frozenset(columns[2:]))


def _count(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def compiler_outputs(report: Report) -> list[CompilerOutput]:
    """Return the distinct compiler logs that say something, each cut to its first lines."""
    outputs = {
        entry.log.strip(): f"{entry.kernel} {entry.options}".strip()
        for measurement in report.measurements
        for entry in measurement.compilation
        if entry.log.strip()
    }
    return [CompilerOutput(title, _first_lines(log)) for log, title in outputs.items()]


def _first_lines(log: str) -> str:
    lines = log.splitlines()
    more = len(lines) - _LOG_LINES
    return "\n".join(lines[:_LOG_LINES] + ([f"… {more} more lines in report.json"] if more > 0 else []))
