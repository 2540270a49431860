"""Where output goes: results to standard output, progress and warnings to standard error."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from gpureport.cli import LONGEST
from gpureport.text import printable, shorten

TEMPLATE = "terminal_sentences.j2"
_UNLIMITED = 100_000


def out(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal or ``COLUMNS``; lines in files and pipes are not broken."""
    limited = "COLUMNS" in os.environ or (sys.stderr if stderr else sys.stdout).isatty()
    width = None if limited else _UNLIMITED
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def print_json(value: object) -> None:
    """Print *value* as JSON on standard output."""
    out().out(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False), highlight=False)


def print_lines(*lines: str) -> None:
    """Print lines on standard output without line breaks, so that paths can be copied; with ordinary blanks only."""
    out().out("\n".join(map(printable, lines)).replace("\xa0", " "), highlight=False)


def print_text(text: str, style: str | None = None) -> None:
    """Print text on standard output, wrapped between words."""
    out().print(printable(text), style=style)


def print_sentences(block: str, **facts: object) -> None:
    """Print the paragraphs that a macro of ``templates/terminal_sentences.j2`` writes about *facts*."""
    from gpureport.report.text.sentences import paragraphs

    for paragraph in paragraphs(block, TEMPLATE, **facts):
        print_text(paragraph)


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    out(stderr=True).print(printable(sentence))


def note_left_out(problems: Iterable[object]) -> None:
    """Print why files or kernels are left out on standard error."""
    for problem in problems:
        note(f"Left out: {shorten(str(problem), LONGEST)}")


def print_written(files: Sequence[Path]) -> None:
    """Print the paths of written files."""
    if files:
        print_lines("Written: " + ", ".join(map(str, files)))


class ProgressBar(Progress):
    """A context manager that shows the current task and its progress on standard error."""

    def __init__(self, label: str, *, lines: bool = False) -> None:
        """Start with a *label*; without a terminal print nothing, or with *lines* a line per workload."""
        shown = sys.stderr.isatty()
        super().__init__(
            SpinnerColumn(),
            BarColumn(bar_width=16),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            console=out(stderr=True),
            expand=True,
            disable=not shown,
            transient=True,
        )
        self._one_line_each, self._workload = lines and not shown, ""
        self._current = self.add_task(label, total=None)

    def advance(self, what: str, step: str, done: float) -> None:  # type: ignore[override]
        """Show the workload, its current step, and the completed share (0 to 1)."""
        self.update(self._current, description=printable(f"{what}: {step}"), total=100, completed=round(100 * done))
        if self._one_line_each and what != self._workload:
            self._workload = what
            note(f"{what} …")
