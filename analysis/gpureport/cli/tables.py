"""Tables in the terminal."""

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table as Grid

from gpureport.cli.console import out, print_lines, print_text
from gpureport.text import printable

if TYPE_CHECKING:
    from gpureport.report.text.tables import Table

Row = Sequence[str]
"""One cell per column."""
_GAP = 2
_JOINT = "\ue000"
"""A blank at which cells are not wrapped: before units, and within numbers except before an interval or ``/``."""


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
