"""Compiled kernels: registers, memory accesses, bytes compared with the model, compiler warnings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation
from gpureport.records.report import Report
from gpureport.report.text.tables import Table
from gpureport.report.text.words import TIMES, with_names
from gpureport.units import UNKNOWN, format_bytes, format_pair, format_range

_WARNING = re.compile(r"\b(warning|error|remark)\b", re.IGNORECASE)
_ROUTINE = re.compile(
    r"^\s*$|overriding noinline attribute|^ptxas\b.*"
    r"(bytes (gmem|stack frame)|Compiling entry function|Function properties|Used \d+ registers|Compile time)"
)
"""Lines of every NVIDIA build log; the table contains their numbers."""
_LOG_LINES, _LOGS = 8, 10


@dataclass(frozen=True)
class CompilerOutput:
    """The compiler's messages on a kernel."""

    title: str
    log: str


def compilation_table(report: Report) -> Table:
    """List each variant's compiled kernels; builds with different options share a row, with ranges.

    Variants of a family share a row if their kernels have the same name and equal values.
    """
    kernels: dict[tuple[str, str], list[Compilation]] = {}
    for measurement in report.measurements:
        for entry in measurement.compilation:
            variant = measurement.key.workload
            kernels.setdefault((variant, entry.kernel), []).append(entry)
    evidence = _by_kernel(report.evidence)
    alike: dict[tuple[str, ...], list[str]] = {}
    for (name, kernel), found in kernels.items():
        family, variant = name.split("/", 1)
        alike.setdefault((family, kernel, *_row(found, evidence.get((name, kernel)))), []).append(variant)
    columns = ("variant: kernel", "code", "regs", "spilled", "local", "lanes", "loads", "stores", "loaded", "stored")
    rows = ((f"{family}/{', '.join(names)}: {kernel}", *row) for (family, kernel, *row), names in alike.items())
    return Table(columns, tuple(rows), frozenset(columns[2:]) - {"loads", "stores"})


def _by_kernel(evidence: Iterable[CodeEvidence]) -> dict[tuple[str, str], CodeEvidence]:
    """Return the evidence on each kernel: of a build that differs, else of one that agrees, else of any."""
    worth = {None: 0, True: 1, False: 2}
    return {(found.workload, found.kernel): found for found in sorted(evidence, key=lambda found: worth[found.agrees])}


def _row(found: Sequence[Compilation], evidence: CodeEvidence | None) -> tuple[str, ...]:
    code = next((entry.code for entry in found if entry.code), None)
    spilled = [entry.private_bytes if entry.spill_bytes is None else entry.spill_bytes for entry in found]
    return (
        code.form if code else UNKNOWN,
        format_range(_known(entry.registers_per_work_item for entry in found)),
        _bytes(_known(spilled)),
        _bytes(_known(entry.local_memory_bytes for entry in found)),
        format_range(_known(entry.wave_size for entry in found)),
        _accesses(code.global_loads if code else {}),
        _accesses(code.global_stores if code else {}),
        *(_both(*part) for part in _parts(evidence)),
    )


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def _bytes(values: Sequence[float]) -> str:
    return format_pair(min(values), max(values), "B") if values else UNKNOWN


def _accesses(by_width: Mapping[int, int]) -> str:
    """Write the accesses by width, the widest first."""
    widths = sorted(by_width.items(), reverse=True)
    return ", ".join(f"{count}{TIMES}{width} B" for width, count in widths) or UNKNOWN


def _parts(evidence: CodeEvidence | None) -> tuple[tuple[float | None, float | None, float | None], ...]:
    """Return loaded and stored bytes: the minimum and maximum as compiled, and the model's count."""
    if evidence is None:
        return ((None, None, None),) * 2
    return (
        (evidence.loads_bytes_least, evidence.loads_bytes_compiled, evidence.loads_bytes_model),
        (evidence.stores_bytes_least, evidence.stores_bytes_compiled, evidence.stores_bytes_model),
    )


def _both(least: float | None, most: float | None, model: float | None) -> str:
    """Write bytes as compiled / as counted by the model."""
    if model is None:
        return UNKNOWN
    return f"{_bytes([each for each in (least, most) if each is not None])} / {format_bytes(model)}"


def mismatches(report: Report) -> tuple[str, ...]:
    """Return remarks on kernels whose compiled code moves a different number of bytes than the model assumes."""
    wrong = (found for found in report.evidence if found.agrees is False)
    return with_names((f"{found.workload} ({found.kernel})", found.remark) for found in wrong)


def remarks(report: Report) -> tuple[str, ...]:
    """Return remarks on kernels whose code disagrees with the model, is not vectorised, or spills registers."""
    remarkable = (found for found in report.evidence if _is_remarkable(found))
    return with_names((f"{found.workload} ({found.kernel})", found.remark) for found in remarkable if found.remark)


def _is_remarkable(found: CodeEvidence) -> bool:
    return False in (found.agrees, found.instructions_agree, found.vectorised) or bool(found.spill_bytes)


def compiler_outputs(report: Report) -> list[CompilerOutput]:
    """Return compiler warnings, cut to their first lines; logs that differ only in numbers appear once."""
    outputs: dict[str, CompilerOutput] = {}
    for measurement in report.measurements:
        for entry in measurement.compilation:
            log = "\n".join(line for line in entry.log.strip().splitlines() if not _ROUTINE.search(line))
            if _WARNING.search(log):
                title = f"{measurement.key.family}/{measurement.key.variant}: {entry.kernel} {entry.options}".strip()
                outputs.setdefault(re.sub(r"\d+", "#", log), CompilerOutput(title, _first_lines(log)))
    return list(outputs.values())[:_LOGS]


def _first_lines(log: str) -> str:
    lines = log.splitlines()
    more = len(lines) - _LOG_LINES
    return "\n".join(lines[:_LOG_LINES] + ([f"… {more} more lines in report.json"] if more > 0 else []))
