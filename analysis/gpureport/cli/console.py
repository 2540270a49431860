"""Where output goes: results to standard output, progress and warnings to standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def out() -> "Console":
    """Return the console of results: plain text of full width where standard output is no terminal."""
    return _console(stderr=False)


def err() -> "Console":
    """Return the console of progress and warnings."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 160
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_json(value: object) -> None:
    """Print *value* as JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[int] = (),
    keep: Sequence[int] = (),
) -> None:
    """Print a table on standard output.

    Args:
        title: above it.
        columns: their headings.
        rows: their cells; markup in them is not interpreted.
        right: columns aligned to the right.
        keep: columns never folded, however narrow the terminal is.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in right else "left", no_wrap=index in keep, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out().print(table)


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    err().print(sentence, soft_wrap=True)
