"""Tables: their type, and those that several documents have."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod
from typing import Self

from gpureport.findings.advice import Search, Shape
from gpureport.records.finding import Verdict
from gpureport.records.prediction import Occupancy
from gpureport.report.text.words import shape_name
from gpureport.units import UNKNOWN, format_percent, format_ratio
from gpureport.workloads import all_workloads

_SIGNS = "±" + "".join(verdict.mark for verdict in Verdict)
_BEFORE_UNIT = re.compile(
    rf"(?<=\d) (?=(?:%|[kMGT]|(?:[KMGT]i)?B|[kMG]?Hz|[nµm]?s|W|cases|[\w-]{{1,20}}/s)(?![\w/]))|(?<=[{_SIGNS}]) (?=\d)"
)
_NUMBER = re.compile(r"[^\w.]*\d")
_SHAPE = re.compile(r"\d (?:x|\N{MULTIPLICATION SIGN})[ \xa0]\d|…|[A-Za-z] to |^\d{4}-| cases$")
"""Of shapes, ranges between two units, dates and counted cases, which are no numbers."""
_BRACKETS = re.compile(r"\([^()<>]{1,16}\)")
_BREAK = re.compile(r" |(?<=/)(?!s\b)")
_LETTERS, _PADDING = 130, 1.7  # of a printed line, and of each column
_LEAST_SHADE = 1.05  # the least ratio with the darkest shade


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; *links* are the addresses that rows begin with, empty for rows without one."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()
    shades: tuple[tuple[float, ...], ...] = ()
    """Of each cell, if any is shaded: from -1 (orange) to 1 (blue)."""

    @classmethod
    def of_ratios(
        cls, heads: Sequence[str], columns: Iterable[str], rows: Iterable[tuple[Sequence[str], Mapping[str, float]]]
    ) -> Self:
        """Return a table of ratios, shaded: blue above 1, orange below; the farthest twentieth has the darkest shade.

        Args:
            heads: the columns before those of the ratios.
            columns: those of the ratios; a column without any is left out.
            rows: the texts below *heads*, and the ratios by column.
        """
        found = list(rows)
        names = [name for name in columns if any(name in ratios for _, ratios in found)]
        logs = sorted(abs(log(ratio)) for _, ratios in found for ratio in ratios.values())
        darkest = max(log(_LEAST_SHADE), logs[int(0.95 * (len(logs) - 1))] if logs else 0.0)
        shades = tuple(
            (*(0.0 for _ in heads), *(max(-1.0, min(1.0, log(ratios.get(name, 1.0)) / darkest)) for name in names))
            for _, ratios in found
        )
        texts = tuple((*before, *(format_ratio(ratios.get(name)) for name in names)) for before, ratios in found)
        return cls((*heads, *names), texts, shades=shades)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, str]], links: Iterable[str] = ()) -> Self:
        """Return the table of *rows*, which are texts by column, the same columns in each."""
        found = list(rows)
        return cls(tuple(found[0]) if found else (), tuple(tuple(row.values()) for row in found), tuple(links))

    def __bool__(self) -> bool:
        return bool(self.rows)

    @cached_property
    def numeric(self) -> frozenset[str]:
        """Columns after the first of which most texts are numbers, which are right-aligned."""
        cells = zip(self.columns[1:], list(zip(*self.rows, strict=True))[1:], strict=False)
        known = ((name, [text for text in texts if text not in ("", UNKNOWN)]) for name, texts in cells)
        return frozenset(name for name, texts in known if 2 * sum(map(_is_number, texts)) > len(texts))

    def fits(self, *, whole: bool) -> bool:
        """Return whether the words of each column fit a printed line; if *whole*, with unbroken intervals."""
        widest = 0.0
        for name, *cells in zip(self.columns, *self.rows, strict=True):
            kept = whole and name in self.numeric
            words = [word for text in map(unbroken, cells) for word in ([text] if kept else _BREAK.split(text))]
            widest += _PADDING + max(len(word) + word.count("W") for word in [*_BREAK.split(name), *words])
        return widest <= _LETTERS


def _is_number(text: str) -> bool:
    return bool(_NUMBER.match(text)) and not _SHAPE.search(text)


def unbroken(text: str) -> str:
    """Return *text* with no-break spaces between values and their units, and within short brackets."""
    return _BRACKETS.sub(lambda found: found[0].replace(" ", "\xa0"), _BEFORE_UNIT.sub("\xa0", text))


def occupancy_text(entry: Occupancy) -> str:
    """Write the occupancy, with its limit unless that is the number of waves: ``31 % regs``."""
    return f"{format_percent(entry.fraction)} {entry.limiter.short}".rstrip()


def workload_table(names: Iterable[str]) -> Table:
    """List the titles of workloads, for documents that contain only identifiers."""
    titles = {workload.name: workload.title for workload in all_workloads()}
    return Table.of({"workload": titles[name], "identifier": name} for name in dict.fromkeys(names) if name in titles)


def shares_table(found: Iterable[Search]) -> Table:
    """List the rate of each shape relative to the best one of every search."""
    losses: dict[str, dict[Shape, float]] = {}
    for of in found:
        key = of[0].key
        name = key.variant if key.sweep_name == "work group" else f"{key.variant}, {key.sweep_name}"
        losses[name] = {each.sides: each.loss for each in of}
    shapes = sorted({shape for of in losses.values() for shape in of}, key=lambda shape: (prod(shape), shape))
    rows = (
        ((shape_name(shape),), {name: 1 - of[shape] for name, of in losses.items() if shape in of}) for shape in shapes
    )
    return Table.of_ratios(("shape",), losses, rows)
