"""Tables that fit the terminal: cells are wrapped between words; if that is not enough, columns are left out."""

import re
from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from gpureport.cli.console import out, print_line, print_text, printable

if TYPE_CHECKING:
    from gpureport.report.text.tables import Table

Row = Sequence[str]
"""One cell per column; a row with one cell is the heading of the rows below."""

_GAP = 2
_GLUE, _HEADING = "\ue000", "\ue001"  # unbroken spaces, which rich does not have; the place of a heading
_KEPT = 2  # the first columns, which are never left out
_LONGEST = 200  # characters of a text that is wrapped
_UNWRAPPED = 28  # characters that a column of text keeps as long as optional columns can be left out


def print_table(
    title: str, columns: Row, rows: Iterable[Row], right: Sequence[int] = (), optional: Sequence[int] = ()
) -> None:
    """Print a table on standard output, unless it has no rows; arguments as for :func:`table_lines`."""
    rows = list(rows)
    if not rows:
        return
    print_text(title, style="bold")
    for line in table_lines(columns, rows, out().width, right, optional):
        print_line(line)
    print_line("")


def print_document_table(title: str, table: "Table", optional: Sequence[str] = (), most: int | None = None) -> None:
    """Print a table of a document, or its *most* first rows; narrow terminals leave out *optional* columns first."""
    right = [number for number, name in enumerate(table.columns) if name in table.numeric]
    first = [table.columns.index(each) for each in optional if each in table.columns]
    print_table(title, table.columns, table.rows[:most], right, first)


def table_lines(
    columns: Row, rows: Iterable[Row], width: int, right: Sequence[int] = (), optional: Sequence[int] = ()
) -> list[str]:
    """Lay out a table; columns without any text are left out. A last line names those that did not fit.

    Args:
        columns: headings.
        rows: see :data:`Row`.
        width: of the terminal, in characters.
        right: indices of right-aligned columns; these contain numbers, which are only wrapped before an interval.
        optional: indices of the columns to leave out first, in this order, before text is wrapped to less than
            28 characters; the others follow from the right.
    """
    headings = iter([printable(row[0]) for row in rows if len(row) == 1])
    named = [_glued(name, number=False) for name in columns]
    body = [[_glued(cell, number=i in right) for i, cell in enumerate(row)] for row in rows]
    shown = [i for i in range(len(columns)) if i < _KEPT or any(row[i] for row in body if len(row) > 1)]
    leaving = [i for i in dict.fromkeys((*optional, *reversed(shown[_KEPT:]))) if i in shown]
    omitted: list[int] = []
    table = [row for row in (named, *body) if len(row) > 1]

    def widths(least: int) -> list[int] | None:
        return _widths([[row[i] for row in table] for i in shown], [i in right for i in shown], width, least)

    while leaving and not widths(_UNWRAPPED if leaving[0] in optional else 1):
        omitted.append(leaving.pop(0))
        shown.remove(omitted[-1])
    lines: list[str] = []
    for line in _laid_out(named, body, shown, right, widths(1), width):
        lines += (
            _wrapped(next(headings), width)
            if line.lstrip().startswith(_HEADING)
            else [line.replace(_GLUE, " ").rstrip()]
        )
    if omitted:
        lines += wrap(f"A wider terminal also shows: {', '.join(columns[i] for i in sorted(omitted))}.", width)
    return lines


def _glued(cell: str, *, number: bool) -> str:
    """Return a cell with unbroken spaces after digits (``L2 6 MiB``); a *number* is only wrapped before an interval."""
    return re.sub(r"(?<=\S)[ \xa0](?![±(])" if number else r"(?<=\d) |\xa0", _GLUE, printable(cell))


def _widths(columns: Sequence[Row], right: Sequence[bool], width: int, least: int) -> list[int] | None:
    """Return the widths of columns, given with their heading first: those of the widest texts that fit.

    First the headings of numbers get two lines, then text is wrapped to at least *least* characters, then numbers.
    Words stay whole. ``None`` if that is not enough.
    """
    sizes = [_sizes(column) for column in columns]
    attempts = ((0, width), *((1, most) for most in range(min(width, _LONGEST), least - 1, -1)), (2, least))
    for step, most in attempts:
        found = [
            each[step] if number else min(each[0], max(most, each[2]))
            for each, number in zip(sizes, right, strict=True)
        ]
        if sum(found) + _GAP * (len(found) - 1) <= width:
            return found
    return None


def _sizes(column: Row) -> tuple[int, int, int]:
    """Return the longest line of a column, the same with its heading on two lines, and the longest word."""
    heading, *lengths = map(cell_len, column)
    words = max(_indent(cell) + max(map(cell_len, cell.split(" "))) for cell in column)
    return max(heading, *lengths), max(words, (heading + 1) // 2, *lengths), words


def _laid_out(
    columns: Row, rows: Iterable[Row], shown: Sequence[int], right: Sequence[int], widths: list[int] | None, width: int
) -> list[str]:
    """Return the lines of a table, with placeholders of headings; without *widths* words are broken."""
    table = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for i, own in zip_longest(shown, widths or ()):
        table.add_column(Text(columns[i]), justify="right" if i in right else "left", width=own, overflow="fold")
    for row in rows:
        cells = [row[i] for i in shown] if len(row) > 1 else [_HEADING]
        table.add_row(*(Padding(Text(cell.lstrip()), (0, 0, 0, _indent(cell))) for cell in cells))
    text = StringIO()  # of any encoding
    Console(width=width, file=text, force_terminal=False).print(table)
    return text.getvalue().splitlines()


def _wrapped(heading: str, width: int) -> list[str]:
    return wrap(heading, width, subsequent_indent=" " * (_indent(heading) + _GAP))


def _indent(cell: str) -> int:
    return len(cell) - len(cell.lstrip(" "))
