"""Where output goes: results to standard output, progress and warnings to standard error."""

import json
import os
import sys

from rich.console import Console

_UNLIMITED = 100_000


def out() -> Console:
    """Return the console of results."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console of progress and warnings."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """Return a console as wide as the terminal or ``COLUMNS``; lines in files and pipes are not broken."""
    stream = sys.stderr if stderr else sys.stdout
    limited = "COLUMNS" in os.environ or (stream.isatty())
    width = None if limited else _UNLIMITED
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def print_json(value: object) -> None:
    """Print *value* as JSON on standard output."""
    out().out(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False), highlight=False)


def print_line(line: str) -> None:
    """Print a line on standard output without line breaks, so that paths can be copied."""
    out().print(printable(line), soft_wrap=True)


def print_text(text: str, style: str | None = None) -> None:
    """Print text on standard output, wrapped between words."""
    out().print(printable(text), style=style)


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    err().print(printable(sentence))


def printable(text: str) -> str:
    """Replace control characters, which names of devices and files may contain."""
    spaced = "".join(" " if c in "\n\r\t" else c for c in text)
    return "".join(c if c.isprintable() or c == "\xa0" else "\N{REPLACEMENT CHARACTER}" for c in spaced)
