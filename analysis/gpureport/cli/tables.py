"""Tables that fit the terminal: cells are wrapped between words; if that is not enough, columns are left out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from gpureport.cli.console import out, print_lines, print_text, printable

if TYPE_CHECKING:
    from gpureport.report.text.tables import Table

Row = Sequence[str]
"""One cell per column; a row with one cell is the heading of the rows below."""

_GAP = 2
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
    print_lines((*table_lines(columns, rows, out().width, right, optional), ""))


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
        right: indices of right-aligned columns; these contain numbers, only wrapped before an interval or ``/``.
        optional: indices of the columns to leave out first, in this order, before text is wrapped to less than
            28 characters; the others follow from the right.
    """
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
    found = widths(1) or [max(1, width // len(shown) - _GAP + 1)] * len(shown)  # words are broken
    rights = [i in right for i in shown]
    head, *others = (
        _row_lines([row[i] for i in shown], found, rights, is_head=row is named)
        if len(row) > 1
        else _folded(row[0], width, hang=_GAP)
        for row in (named, *body)
    )
    rule = "─" * (sum(found) + _GAP * (len(found) - 1))
    lines = [line.replace("\xa0", " ").rstrip() for line in (*head, rule, *chain.from_iterable(others))]
    if omitted:
        lines += wrap(f"A wider terminal also shows: {', '.join(columns[i] for i in sorted(omitted))}.", width)
    return lines


def _glued(cell: str, *, number: bool) -> str:
    """Return a cell with unbroken spaces after digits (``L2 6 MiB``); a *number* only before an interval or ``/``."""
    return re.sub(r"(?<=\S) (?![±(/])" if number else r"(?<=\d) ", "\xa0", printable(cell))


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


def _row_lines(cells: Row, widths: Sequence[int], right: Sequence[bool], *, is_head: bool) -> Iterator[str]:
    """Yield the lines of a row; cells of the head end on the same line, others begin on the same."""
    folded = list(map(_folded, cells, widths))
    most = max(map(len, folded))
    blank = [[""] * (most - len(texts)) for texts in folded]
    filled = [pad + texts if is_head else texts + pad for texts, pad in zip(folded, blank, strict=True)]
    for line in zip(*filled, strict=True):
        pads = (" " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True))
        padded = (pad + text if last else text + pad for text, pad, last in zip(line, pads, right, strict=True))
        yield (" " * _GAP).join(padded)


def _folded(cell: str, width: int, hang: int = 0) -> list[str]:
    """Wrap a cell at its blanks; its lines keep its indent, and further ones *hang*. Wide characters count twice."""
    indent = " " * _indent(cell)
    lines = [indent]
    room = max(2, width - len(indent) - hang)
    for part in (part for word in cell.split(" ") for part in chop_cells(word, room)):
        blank = " " if lines[-1].strip() else ""
        if blank and cell_len(lines[-1] + blank + part) > width:
            lines.append(indent + " " * hang)
            blank = ""
        lines[-1] += blank + part
    return lines


def _indent(cell: str) -> int:
    return len(cell) - len(cell.lstrip(" "))
