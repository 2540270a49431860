"""Tables that fit the terminal: cells are wrapped between words; if that is not enough, columns are left out.

Rich only prints them: its own tables break numbers at no-break spaces, and words at any letter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len

from gpureport.cli.console import out, print_line, print_text, printable
from gpureport.report.grouping import grouped

Row = Sequence[str]
"""One cell per column; a row with one cell is the heading of the rows below."""

_GAP = "  "
_GLUE = "\xa0"
_KEPT = 2  # the first columns, which are never left out
_UNWRAPPED = 28  # characters that a column of text keeps as long as optional columns can be left out
_BROKEN = 6  # characters that a column keeps if words must be broken


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


def table_lines(
    columns: Row, rows: Iterable[Row], width: int, right: Sequence[int] = (), optional: Sequence[int] = ()
) -> list[str]:
    """Lay out a table; columns without any text are left out.

    If the table is too wide, workloads (``family/variant``) are grouped by family. Then columns are left out until it
    fits, and a last line names them.

    Args:
        columns: headings.
        rows: see :data:`Row`.
        width: of the terminal, in characters.
        right: indices of right-aligned columns; these contain numbers, which are only wrapped before an interval.
        optional: indices of the columns to leave out first, in this order, before text is wrapped to less than
            28 characters; the others follow from the right.
    """
    rows = [[printable(_glued(cell, number=i in right)) for i, cell in enumerate(row)] for row in rows]
    shown = [i for i in range(len(columns)) if i < _KEPT or any(row[i] for row in rows if len(row) > 1)]
    leaving = [i for i in dict.fromkeys((*optional, *reversed(shown[_KEPT:]))) if i in shown]
    omitted: list[int] = []

    def widths(keep: int) -> list[int] | None:
        return _widths(_cells([columns, *rows], shown), [i in right for i in shown], width, keep)

    if widths(1) is None and all("/" in row[0] for row in rows):
        rows = list(_by_family(rows))
    while leaving and not widths(_UNWRAPPED if leaving[0] in optional else 1):
        omitted.append(leaving.pop(0))
        shown.remove(omitted[-1])
    found = widths(1) or widths(0) or []
    lines = [*_table(_cells([columns, *rows], shown), found, [i in right for i in shown], width)]
    if omitted:
        lines += wrap(f"A wider terminal also shows: {', '.join(columns[i] for i in sorted(omitted))}.", width)
    return [line.replace(_GLUE, " ").rstrip() for line in lines]


def _glued(cell: str, *, number: bool) -> str:
    """Return a cell with no-break spaces after digits (``L2 6 MiB``); a *number* is only wrapped before an interval."""
    return re.sub(r"(?<=\S) (?![±(])" if number else r"(?<=\d) ", _GLUE, cell)


def _by_family(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield each family as a heading, and its rows with the variants only."""
    for family, members in grouped((row[0].partition("/")[0], row) for row in rows).items():
        yield (family,)
        yield from ((f"{_GAP}{row[0].partition('/')[2]}", *row[1:]) for row in members)


def _cells(rows: Iterable[Row], shown: Sequence[int]) -> list[Row]:
    """Return the *shown* columns of *rows*, and the headings."""
    return [row if len(row) == 1 else [row[i] for i in shown] for row in rows]


def _widths(rows: Sequence[Row], right: Sequence[bool], width: int, keep: int) -> list[int] | None:
    """Return the widths of the columns: headings of numbers are shrunk first, then text, then numbers.

    ``None`` if they do not fit. Columns of text *keep* at least that many characters, and whole words unless it is 0.
    """
    columns = list(zip(*(row for row in rows if len(row) > 1), strict=True))
    widths = [max(map(cell_len, cells)) for cells in columns]
    bodies = [max(map(cell_len, cells[1:]), default=0) for cells in columns]
    words = [max(_indent(cell) + max(map(cell_len, cell.split(" "))) for cell in cells) for cells in columns]
    kept = [0 if number else keep for number in right]
    least = [min(most, max(both)) for most, *both in zip(widths, words, kept, strict=True)]
    available = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > available:
        if keep:
            return None
        least = [min(each, _BROKEN) for each in least]
    while sum(widths) > available and (wide := [i for i in range(len(widths)) if widths[i] > least[i]]):
        widths[max(wide, key=lambda i: (right[i] and widths[i] > bodies[i], not right[i], widths[i]))] -= 1
    return widths


def _table(rows: Sequence[Row], widths: Sequence[int], right: Sequence[bool], width: int) -> Iterator[str]:
    yield from _folded(rows[0], widths, right)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows[1:]:
        yield from (
            wrap(row[0], width, subsequent_indent=" " * _indent(row[0]) + _GAP)
            if len(row) == 1
            else _folded(row, widths, right)
        )


def _folded(row: Row, widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    """Yield the lines of one row, with wrapped cells."""
    cells = [
        wrap(cell, width, subsequent_indent=" " * _indent(cell), break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    for parts in zip_longest(*cells, fillvalue=""):
        yield _GAP.join(map(_padded, parts, widths, right))


def _indent(cell: str) -> int:
    return len(cell) - len(cell.lstrip(" "))


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
