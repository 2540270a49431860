"""Tables that fit the terminal: cells are wrapped; if that is not enough, each row becomes a block."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len

from gpureport.cli.console import out, print_line, print_text, printable

Row = Sequence[str]
"""One cell per column; a row with one cell is the heading of the rows below."""

_GAP = "  "
_GLUE = "\xa0"


def glued(text: str) -> str:
    """Return *text* with blanks at which no table wraps it."""
    return text.replace(" ", _GLUE)


def print_table(title: str, columns: Row, rows: Iterable[Row], right: Sequence[int] = ()) -> None:
    """Print a table on standard output, unless it has no rows; arguments as for :func:`table_lines`."""
    rows = list(rows)
    if not rows:
        return
    print_text(title, style="bold")
    for line in table_lines(columns, rows, out().width, right):
        print_line(line)
    print_line("")


def table_lines(columns: Row, rows: Sequence[Row], width: int, right: Sequence[int] = ()) -> list[str]:
    """Lay out a table.

    Args:
        columns: headings.
        rows: see :data:`Row`.
        width: of the terminal, in characters.
        right: indices of right-aligned columns; these contain numbers and are never wrapped.
    """
    rows = [[printable(glued(cell) if i in right else cell) for i, cell in enumerate(row)] for row in rows]
    widths = _widths([columns, *(row for row in rows if len(row) > 1)], width)
    lines = _blocks(columns, rows, width) if widths is None else _table(columns, rows, widths, width, right)
    return [line.replace(_GLUE, " ").rstrip() for line in lines]


def _widths(rows: Sequence[Row], width: int) -> list[int] | None:
    """Return the widths of the columns; the widest are shrunk until all fit; ``None`` if they cannot."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, cells)) for cells in columns]
    least = [max(_indent(cell) + max(map(cell_len, cell.split(" "))) for cell in cells) for cells in columns]
    available = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > available:
        return None
    while sum(widths) > available:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _table(columns: Row, rows: Sequence[Row], widths: Sequence[int], width: int, right: Sequence[int]) -> Iterator[str]:
    yield from _folded(columns, widths, right)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows:
        yield from wrap(row[0], width, subsequent_indent=_GAP) if len(row) == 1 else _folded(row, widths, right)


def _folded(row: Row, widths: Sequence[int], right: Sequence[int]) -> Iterator[str]:
    """Yield the lines of one row, with wrapped cells."""
    cells = [
        wrap(cell, width, subsequent_indent=" " * _indent(cell), break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    for parts in zip_longest(*cells, fillvalue=""):
        yield _GAP.join(_padded(part, widths[i], i in right) for i, part in enumerate(parts))


def _indent(cell: str) -> int:
    return len(cell) - len(cell.lstrip(" "))


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def _blocks(columns: Row, rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield each row as a heading and one line for each further cell that is not empty."""
    for first, *rest in rows:
        yield from wrap(first, width, subsequent_indent=_GAP)
        for name, cell in zip(columns[1:], rest, strict=False):
            if not cell:
                continue
            yield from wrap(f"{name}: {cell}", width, initial_indent=2 * _GAP, subsequent_indent=3 * _GAP)
