"""Tables that fit: folded between words where they must be, one block a row where even that is too wide."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len

from gpureport.cli.console import out, print_line, print_text, printable

Row = Sequence[str]
"""One cell a column; a row of one cell is a heading of the rows that follow it."""

_GAP = "  "
_GLUE = "\xa0"


def glued(text: str) -> str:
    """Return *text* so that no table folds it."""
    return text.replace(" ", _GLUE)


def print_table(title: str, columns: Row, rows: Iterable[Row], right: Sequence[int] = ()) -> None:
    """Print a table on standard output; nothing if it has no rows.

    Args:
        title: above it.
        columns: their headings.
        rows: see :data:`Row`.
        right: columns aligned to the right; figures, which are never folded.
    """
    rows = list(rows)
    if not rows:
        return
    print_text(title, style="bold")
    for line in table_lines(columns, rows, out().width, right):
        print_line(line)
    print_line("")


def table_lines(columns: Row, rows: Sequence[Row], width: int, right: Sequence[int] = ()) -> list[str]:
    """Lay a table out in *width* columns of the terminal.

    Args:
        columns: their headings.
        rows: see :data:`Row`.
        width: of the terminal.
        right: columns aligned to the right; figures, which are never folded.
    """
    rows = [[printable(glued(cell) if i in right else cell) for i, cell in enumerate(row)] for row in rows]
    widths = _widths([columns, *(row for row in rows if len(row) > 1)], width)
    lines = _blocks(columns, rows, width) if widths is None else _table(columns, rows, widths, width, right)
    return [line.replace(_GLUE, " ").rstrip() for line in lines]


def _widths(rows: Sequence[Row], width: int) -> list[int] | None:
    """Return the columns' widths: each as wide as its cells, the widest shrunk until all fit; ``None``: none do."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, cells)) for cells in columns]
    least = [max(_indent(cell) + max(map(cell_len, cell.split(" "))) for cell in cells) for cells in columns]
    room = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _table(columns: Row, rows: Sequence[Row], widths: Sequence[int], width: int, right: Sequence[int]) -> Iterator[str]:
    yield from _folded(columns, widths, right)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows:
        yield from wrap(row[0], width, subsequent_indent=_GAP) if len(row) == 1 else _folded(row, widths, right)


def _folded(row: Row, widths: Sequence[int], right: Sequence[int]) -> Iterator[str]:
    """Yield the lines of one row."""
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
    """Yield each row as a heading and a line for every other cell that is not empty."""
    for first, *rest in rows:
        yield from wrap(first, width, subsequent_indent=_GAP)
        for name, cell in zip(columns[1:], rest, strict=False):
            if not cell:
                continue
            yield from wrap(f"{name}: {cell}", width, initial_indent=2 * _GAP, subsequent_indent=3 * _GAP)
