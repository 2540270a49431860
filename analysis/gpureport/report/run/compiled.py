"""Compiled kernels: registers, memory accesses, bytes compared with the model, compiler warnings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from gpureport.findings.evidence import ARITHMETIC, differing, incomparable, moves_as_modelled
from gpureport.grouping import grouped
from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation, MachineCode
from gpureport.records.report import Report
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import TIMES, with_names
from gpureport.units import UNKNOWN, format_bytes, format_range

_WARNING = re.compile(r"\b(warning|error|remark)\b", re.IGNORECASE)
_ROUTINE = re.compile(
    r"^\s*$|overriding noinline attribute|^ptxas\b.*"
    r"(bytes (gmem|stack frame)|Compiling entry function|Function properties|Used \d+ registers|Compile time)"
)
"""Lines of every NVIDIA build log; the table contains their numbers."""
_LOG_LINES, _LOGS = 8, 10
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
        loaded = _moved(e.loads_bytes_least, e.loads_bytes_compiled, e.loads_bytes_model)
        stored = _moved(e.stores_bytes_least, e.stores_bytes_compiled, e.stores_bytes_model)
    return (
        code.form if code else UNKNOWN,
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


def _moved(least: float | None, most: float | None, model: float | None) -> str:
    """Write bytes as compiled, between *least* and *most*, / as counted by the *model*."""
    return UNKNOWN if model is None else f"{_bytes((least, most))} / {format_bytes(model)}"


def mismatches(report: Report) -> tuple[str, ...]:
    """Return remarks on kernels whose compiled code moves a different number of bytes than the model assumes."""
    return _remarks(report, [found for found in report.evidence if found.agrees is False])


def remarks(report: Report) -> tuple[str, ...]:
    """Return remarks on kernels whose code disagrees with the model, is not vectorised, or spills registers."""
    return _remarks(
        report,
        [
            found
            for found in report.evidence
            if found.spill_bytes or False in (found.agrees, found.instructions_agree, found.vectorised)
        ],
    )


def _remarks(report: Report, found: Sequence[CodeEvidence]) -> tuple[str, ...]:
    compiled = ((m.key.workload, build) for m in report.measurements for build in m.compilation)
    codes = {(workload, build.kernel, build.options): build.code for workload, build in compiled}
    texts = ((each, code_remark(each, codes.get((each.workload, each.kernel, each.options)))) for each in found)
    return with_names((f"{each.workload} ({each.kernel})", words) for each, words in texts if words)


def code_remark(e: CodeEvidence, code: MachineCode | None) -> str:
    """Write what readers should know about compiled *code* compared with the model."""
    sides = (
        ("loads", e.loads_bytes_least, e.loads_bytes_compiled, e.loads_bytes_model),
        ("stores", e.stores_bytes_least, e.stores_bytes_compiled, e.stores_bytes_model),
    )
    counts = {name: (e.instructions_compiled[name], model) for name, model in e.instructions_model.items()}
    return text(
        "evidence",
        e=e,
        code=code,
        why=code and incomparable(code, accesses=bool(e.loads_bytes_model or e.stores_bytes_model)),
        moved=[(*side, same) for side in sides if side[2] is not None and not (same := moves_as_modelled(*side[1:]))],
        different={name: counts[name] for name in differing(counts, e.unclassified) or ()},
        others={ARITHMETIC: e.unclassified},
    )


def compiler_outputs(report: Report) -> list[tuple[str, str]]:
    """Return kernels and their compiler warnings, cut to the first lines; equal logs appear once."""
    outputs: dict[str, tuple[str, str]] = {}
    for measurement in report.measurements:
        for entry in measurement.compilation:
            lines = [line for line in entry.log.strip().splitlines() if not _ROUTINE.search(line)]
            log, more = "\n".join(lines), len(lines) - _LOG_LINES
            if _WARNING.search(log):
                shown = lines[:_LOG_LINES] + ([f"… {more} more lines in report.json"] if more > 0 else [])
                title = f"{measurement.key.workload}: {entry.kernel} {entry.options}".strip()
                outputs.setdefault(log, (title, "\n".join(shown)))
    return list(outputs.values())[:_LOGS]
