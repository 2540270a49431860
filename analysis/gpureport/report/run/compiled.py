"""Compiled kernels: registers, memory accesses, and bytes compared with the model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from gpureport.findings.evidence import moves_as_modelled
from gpureport.grouping import grouped
from gpureport.records.finding import CodeEvidence, Verdict
from gpureport.records.measurement import Compilation
from gpureport.records.report import Report
from gpureport.report.text.tables import Table
from gpureport.report.text.words import TIMES
from gpureport.units import UNKNOWN, format_bytes, format_range

N = TypeVar("N", int, float)


def compilation_table(report: Report) -> Table:
    """List each variant's compiled kernels; builds with different options share a row, with ranges.

    Variants of a family share a row if their kernels have the same name and equal values. The evidence on a kernel is
    that of a build that differs, else of one that agrees, else of any.
    """
    worth = {None: 0, True: 1, False: 2}
    evidence = {(e.workload, e.kernel): e for e in sorted(report.evidence, key=lambda each: worth[each.agrees])}
    kernels = grouped(
        ((measurement.key.family, measurement.key.variant, entry.kernel), entry)
        for measurement in report.measurements
        for entry in measurement.compilation
    )
    alike = grouped(
        ((family, kernel, *_row(found, evidence.get((f"{family}/{variant}", kernel)))), variant)
        for (family, variant, kernel), found in kernels.items()
    )
    columns = ("variant: kernel", "code", "regs", "spilled", "local", "lanes", "loads", "stores", "loaded", "stored")
    rows = ((f"{family}/{', '.join(names)}: {kernel}", *row) for (family, kernel, *row), names in alike.items())
    return Table(columns, tuple(rows))


def _row(found: Sequence[Compilation], evidence: CodeEvidence | None) -> tuple[str, ...]:
    code = next((entry.code for entry in found if entry.code), None)
    loaded = stored = UNKNOWN
    if e := evidence:
        loaded = _moved(e.loads_bytes_compiled, e.loads_bytes_model)
        stored = _moved(e.stores_bytes_compiled, e.stores_bytes_model)
    return (
        f"{code.form}{', scalar' if code.vectorised is False else ''}" if code else UNKNOWN,
        format_range(_known(entry.registers_per_work_item for entry in found)),
        _bytes(entry.private_bytes if entry.spill_bytes is None else entry.spill_bytes for entry in found),
        _bytes(entry.local_memory_bytes for entry in found),
        format_range(_known(entry.wave_size for entry in found)),
        _accesses(code.global_loads if code else {}),
        _accesses(code.global_stores if code else {}),
        loaded,
        stored,
    )


def _known(values: Iterable[N | None]) -> list[N]:
    return [value for value in values if value is not None]


def _bytes(values: Iterable[float | None]) -> str:
    known = _known(values)
    return format_range(known, "B")


def _accesses(by_width: Mapping[int, int]) -> str:
    widths = sorted(by_width.items(), reverse=True)
    return ", ".join(f"{count}{TIMES}{width} B" for width, count in widths) or UNKNOWN


def _moved(compiled: float | None, model: float) -> str:
    """Write bytes as *compiled* / as counted by the *model*, marked if the model counts more."""
    mark = f"{Verdict.OFF.mark} " if moves_as_modelled(compiled, model) is False else ""
    return f"{mark}{_bytes([compiled])} / {format_bytes(model)}"
