"""``gpureport compare``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.cli.console import note, print_line
from gpureport.cli.database import open_database
from gpureport.cli.opening import open_all
from gpureport.cli.options import selected, writing
from gpureport.cli.progress import ProgressBar
from gpureport.cli.rendering import print_written, write_comparison_files
from gpureport.cli.tables import Row, print_table
from gpureport.errors import InputError
from gpureport.inputs import is_there
from gpureport.report import Paper
from gpureport.results.opening import (
    meant,
    open_machine,
    refuse_repeated,
    runs_of,
    short_name,
    sources_of,
    unique_names,
)
from gpureport.text import sentence

if TYPE_CHECKING:
    from gpureport.compare import Comparison, Run

REGRESSION = 3
"""Exit code of a regression."""


@dataclass(frozen=True)
class Asked:
    """What is to be compared, as typed.

    Attributes:
        machines: reports (files or folders; several runs of one machine are separated by commas, or in one folder),
            published records or folders of them, or devices of the database; ``NAME=`` before one gives it a name.
        output: folder for JSON, HTML and PDF; ``None``: print only.
        baseline: name of the machine that ratios refer to; the first if not given.
        fail_on_regression: percent by which a machine with the baseline's device may be slower.
        minimum_effect: percent below which no difference is called significant.
        workloads: names, each of which may hold several, separated by commas; none: all that two machines have.
        no_pdf: write no PDF.
        paper: of the PDF.
        force: overwrite.
        entries: folders of device entries besides the shipped ones.
    """

    machines: tuple[str, ...]
    output: Path | None = None
    baseline: str | None = None
    fail_on_regression: float | None = None
    minimum_effect: float = 3.0
    workloads: tuple[str, ...] = ()
    no_pdf: bool = False
    paper: Paper = "a4"
    force: bool = False
    entries: tuple[Path, ...] = ()


def compare_machines(asked: Asked) -> int:
    """Compare, print and write; 3 if a machine is slower than asked for."""
    with writing(_files(asked), force=asked.force):
        comparison = _compared(asked)
        _print(comparison)
        if asked.output:
            print_written(write_comparison_files(comparison, asked.output, no_pdf=asked.no_pdf, paper=asked.paper))
    return 0 if asked.fail_on_regression is None else _judged(comparison, asked.fail_on_regression)


def _compared(asked: Asked) -> "Comparison":
    from gpureport.compare import compare

    database = open_database(asked.entries)
    workloads = selected(asked.workloads, quick=False)
    named = [[_named(source) for source in sources_of(text)] for text in asked.machines]
    refuse_repeated((run for each in named for _, source in each for run in runs_of(source)), database)
    names = {workload.name for workload in workloads} if asked.workloads else ()
    found: list[tuple[tuple[str, str], tuple[Run, ...]]] = []
    with ProgressBar("reading") as bar:
        for number, folder in enumerate(named):
            bar.advance(asked.machines[number], number / len(named))
            found += open_all(folder, lambda each: open_machine(each[1], database, workloads, names))
    unique = unique_names(name for (name, _), _ in found)
    opened = dict(zip(unique, (runs for _, runs in found), strict=True))
    sources = {name: _without_folders(source) for name, ((_, source), _) in zip(unique, found, strict=True)}
    return compare(opened, meant(asked.baseline, opened), sources, asked.minimum_effect / 100)


def _judged(comparison: "Comparison", percent: float) -> int:
    """Print the regressions of more than *percent*, and return the exit code."""
    from gpureport.compare import regressions

    if not comparison.differences:
        raise InputError("--fail-on-regression: no other report is of the baseline's device, so nothing can be tested")
    slower = regressions((*comparison.overall, *comparison.differences), percent)
    for difference in slower:
        loss = 100 * (1 - difference.speed.value)
        note(f"Slower: {difference.machine}, {difference.sweep}: by {loss:.3g} % (p-value {difference.p_value:.1g})")
    return REGRESSION if slower else 0


def _files(asked: Asked) -> tuple[Path, ...]:
    """Return the files to be written."""
    from gpureport.report.comparison.document import FILE_NAME, NAME
    from gpureport.report.render import documents

    return (asked.output / FILE_NAME, *documents(asked.output, NAME)) if asked.output else ()


def _named(text: str) -> tuple[str, str]:
    """Return the name of a machine and what it is opened from: ``NAME=SOURCE``, or what the source itself is called."""
    given, equals, rest = text.partition("=")
    name, source = (given, rest) if equals and not is_there(Path(text)) else ("", text)
    return name or _short(source), source


def _short(source: str) -> str:
    first = source if is_there(Path(source)) else runs_of(source)[0]
    return short_name(Path(first)) if Path(first).exists() else source


def _without_folders(text: str) -> str:
    """Return what was typed without folders that say something of this machine only."""
    parts = (Path(part) for part in text.split(","))
    return ",".join("/".join(part.parts[-2:]) if part.is_absolute() else str(part) for part in parts)


def _print(comparison: "Comparison") -> None:
    from gpureport.report.comparison.tables import machine_table, sharing
    from gpureport.report.comparison.words import sentences

    for condition in comparison.conditions:
        if condition.severity == "caution":
            note(f"Caution: other {condition.what}: {sharing(condition)}. {sentence(condition.effect)}")
    for text in sentences(comparison):
        print_line(text)
    print_line("")
    names = [machine.name for machine in comparison.machines]
    if len(names) <= _MOST_COLUMNS:
        rows = list(_rows(comparison, names))
        title = f"Speed / that of {comparison.baseline}, by workload (geometric mean over regimes and cases)"
        print_table(title, ("workload", *names), rows, right=tuple(range(1, len(names) + 1)))
    else:
        table = machine_table(comparison)
        print_table("Geometric means over families", table.columns, table.rows, right=(4, 5))


_MOST_COLUMNS = 8
"""Machines that a table of workloads has columns for; of more the documents have a map."""


def _rows(comparison: "Comparison", names: Sequence[str]) -> Iterator[Row]:
    from gpureport.compare.summary import means
    from gpureport.units import format_ratio

    for workload in dict.fromkeys(contest.workload for contest in comparison.contests):
        found = means((contest for contest in comparison.contests if contest.workload == workload), "speed")
        yield workload, *(format_ratio(found[name]) if name in found else "" for name in names)
