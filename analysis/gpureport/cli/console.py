"""Where output goes: results and tables to standard output, progress and warnings to standard error."""

import json
import os
import re
import sys
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.table import Table as Grid

from gpureport.cli import LONGEST
from gpureport.text import printable, shorten

if TYPE_CHECKING:
    from gpureport.report.text.tables import Table

TEMPLATE = "terminal_sentences.j2"
_UNLIMITED = 100_000
Row = Sequence[str]
"""One cell per column."""
_GAP = 2
_JOINT = "\ue000"
"""A blank at which cells are not wrapped: before units, and within numbers except before an interval or ``/``."""


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


def print_table(
    title: str, columns: Row, rows: Iterable[Row], right: Container[int] = (), *, whole: bool = False
) -> None:
    """Print a table on standard output, unless it has no rows.

    Columns after the first without any text are left out, except of a *whole* table.
    Cells are wrapped to the width of the terminal. Those of *right*, the indices of right-aligned columns, contain
    numbers: they are only wrapped if there is no room otherwise.
    """
    rows = list(rows)
    if not rows:
        return
    print_text(title, style="bold")
    console, shown = out(), [i for i in range(len(columns)) if whole or i == 0 or any(row[i] for row in rows)]
    found = [[printable(columns[i]), *(_joined(row[i], number=i in right) for row in rows)] for i in shown]
    if _total(_words(found)) > console.width:
        found = [[cell.replace(_JOINT, " ") for cell in cells] for cells in found]
    widths = _widths(found, [i in right for i in shown], console.width)
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="")
    for i, (name, *_), width in zip(shown, found, widths, strict=True):
        grid.add_column(name, justify="right" if i in right else "left", overflow="fold", width=width)
    for row in list(zip(*found, strict=True))[1:]:
        grid.add_row(*row)
    with console.capture() as captured:
        console.print(grid, crop=False)
    print_lines(*(line.rstrip() for line in captured.get().replace(_JOINT, " ").splitlines()), "")


def _joined(cell: str, *, number: bool) -> str:
    return re.sub(r"\xa0|(?<=\S) (?![±(/])" if number else r"\xa0|(?<=\d) ", _JOINT, printable(cell))


def _words(columns: Sequence[Row]) -> list[int]:
    """Return the length of the longest word of each column."""
    return [max(cell_len(word) for cell in column for word in cell.split(" ")) for column in columns]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _widths(columns: Sequence[Row], right: Sequence[bool], room: int) -> list[int]:
    """Return the widths of columns, given with their headings: the widest are reduced to fit the *room*.

    Headings of numbers and text are wrapped between words; then numbers are; then words are broken.
    """
    widths = [max(map(cell_len, column)) for column in columns]
    words = _words(columns)
    numbers = [max(word, *map(cell_len, cells)) for word, (_, *cells) in zip(words, columns, strict=True)]
    whole = [number if last else word for number, word, last in zip(numbers, words, right, strict=True)]
    for least in (whole, words, [1] * len(columns)):
        while _total(widths) > room:
            able = [i for i, width in enumerate(widths) if width > least[i]]
            if not able:
                break
            widths[max(able, key=lambda i: widths[i])] -= 1
    return widths


def print_document_table(title: str, table: "Table", without: Container[str] = (), most: int | None = None) -> None:
    """Print a table of a document, or its *most* first rows, without some of its columns."""
    kept = [i for i, name in enumerate(table.columns) if name not in without]
    names = [table.columns[i] for i in kept]
    right = [number for number, name in enumerate(names) if name in table.numeric]
    print_table(title, names, [[row[i] for i in kept] for row in table.rows[:most]], right)
