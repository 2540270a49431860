"""Tables: their type, column widths, and the tables of occupancy and of work-group searches."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod, sqrt
from statistics import mean

from gpureport.findings.advice import FamilyAdvice
from gpureport.records.prediction import Occupancy
from gpureport.report.curves import CurveRecords
from gpureport.report.grouping import grouped
from gpureport.report.text.words import any_of
from gpureport.units import UNKNOWN, format_bytes, format_percent, format_range, format_ratio, format_value
from gpureport.workloads import all_workloads

_SIZES = 6  # the most columns of an occupancy table, one for each work-group size
_SHORT, _LONG, _LINE = 14, 120, 118  # characters: a short text, the longest that counts, a line of a table
_MANY_ROWS = 4  # the fewest rows whose common values move to a line above the table
_BOLD = 1.2  # relative width of a head's characters
LONG_PART = 18
"""Most characters of a number that is kept on one line."""


@dataclass(frozen=True)
class Table:
    """Columns and rows of text; the columns *numeric* are right-aligned. Texts of *short* characters are not broken.

    *links* are the addresses that rows begin with, empty for none; without any, no row has one.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    short: int = _SHORT
    links: tuple[str, ...] = ()

    @cached_property
    def narrow(self) -> frozenset[str]:
        """Columns that are never broken over lines: those of short texts, without the longest if the line is full."""
        return frozenset(
            name for name, length in zip(self.columns, self._lengths, strict=True) if length <= self._longest_kept
        )

    @cached_property
    def widths(self) -> tuple[float, ...]:
        """Width of each column in percent: narrow ones get the width of their texts, the others share the rest.

        Known widths save most of the layout engine's time.
        """
        characters = self._characters(self._longest_kept or self.short)
        return tuple(99.9 * width / max(_LINE, sum(characters)) for width in characters)  # rounding must not exceed 100

    @cached_property
    def _longest_kept(self) -> int:
        """The longest texts, of at most *short* characters, whose columns fit in the line unbroken; 0 if none do."""
        lengths = sorted({length for length in self._lengths if length <= self.short}, reverse=True)
        return next((length for length in lengths if sum(self._characters(length)) <= 1.01 * _LINE), 0)

    def _characters(self, kept: int) -> list[float]:
        """Preferred width of each column in characters, if columns of at most *kept* characters are not broken."""
        needs = [length + 3.0 if length <= kept else 0.0 for length in self._lengths]
        # Broken columns share the rest by length; for texts longer than *short*, by the square root of the length.
        by_length = [sqrt(length * min(length, self.short)) for length in self._usual_lengths]
        weights = [0.0 if need else weight for need, weight in zip(needs, by_length, strict=True)]
        most = sum(length + 3.0 for need, length in zip(needs, self._lengths, strict=True) if not need)
        left = max(_LINE - sum(needs), min(_LINE / 4, most)) if any(weights) else 0.0
        shares = [need or left * weight / sum(weights) for need, weight in zip(needs, weights, strict=True)]
        return list(map(max, shares, self._unbroken))

    @cached_property
    def _usual_lengths(self) -> list[float]:
        """Mean length of each column's texts, between a short text and the longest that counts."""
        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return [mean([min(max(len(text), _SHORT), _LONG) for text in texts] or [_SHORT]) for texts in cells]

    @cached_property
    def _unbroken(self) -> list[float]:
        """Width in characters that each column of numbers needs: they are only broken before an interval."""
        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        parts = ([len(part) for text in texts for part in number_parts(text)] for texts in cells)
        kept = ([length + 2.0 for length in lengths if length <= LONG_PART] for lengths in parts)
        return [
            max(lengths, default=0.0) if name in self.numeric else 0.0
            for name, lengths in zip(self.columns, kept, strict=True)
        ]

    @cached_property
    def _lengths(self) -> list[int]:
        """Length of each column's longest text or longest word of its head."""
        cells = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.columns)
        return [
            max([*map(len, texts), *(ceil(_BOLD * len(word)) for word in name.split())])
            for name, texts in zip(self.columns, cells, strict=True)
        ]


def side_by_side(
    heads: Sequence[str],
    names: Sequence[str],
    rows: Iterable[tuple[str, ...]],
    *,
    what: str = "",
    baseline: str = "",
    after: Sequence[str] = (),
    numeric: Iterable[str] = (),
) -> Table:
    """Return a table with the values of *names*, then the ratios of the others to the *baseline* (the first of them).

    *heads* are the columns before, *after* those after them; *numeric* are those of both that have numbers. Heads of
    values begin with *what*.
    """
    baseline = baseline or names[0]
    numbers = (*(f"{what}{name}" for name in names), *(f"{name} / {baseline}" for name in names if name != baseline))
    return Table((*heads, *numbers, *after), tuple(rows), frozenset((*numbers, *numeric)))


def number_parts(text: str) -> list[str]:
    """Split a number where a line may break: before its interval, and within a range of sizes."""
    return re.split(r" (?=[(±/])|(?<=B) (?=to )", text)


def without_constant_columns(table: Table) -> tuple[Table, str]:
    """Remove the columns with the same text in every row; return the rest and a line with the removed texts."""
    if len(table.rows) < _MANY_ROWS:
        return table, ""
    texts = [set(cells) for cells in zip(*table.rows, strict=True)]
    same = {name: min(found) for name, found in list(zip(table.columns, texts, strict=True))[1:] if len(found) == 1}
    kept = [index for index, name in enumerate(table.columns) if name not in same]
    rows = tuple(tuple(row[index] for index in kept) for row in table.rows)
    columns = tuple(table.columns[index] for index in kept)
    texts_line = "; ".join(f"{name}: {text}" for name, text in same.items() if text != UNKNOWN)
    return Table(columns, rows, table.numeric - same.keys()), f"In every row: {texts_line}." if texts_line else ""


def occupancy_table(curves: Iterable[CurveRecords]) -> Table:
    """List the occupancy of a compute unit and its limit, one column for each work-group size.

    Variants with equal occupancies and equal local memory share a row, with the range of their registers.
    """
    entries = [(c.key.variant, entry) for c in curves if c.prediction for entry in c.prediction.occupancy]
    sizes = sorted({prod(entry.work_group) for _, entry in entries})
    if len(sizes) > _SIZES:
        sizes = sorted(sorted(sizes, key=lambda size: -sum(prod(e.work_group) == size for _, e in entries))[:_SIZES])
    variants = grouped(entries)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, found in variants.items():
        by_size = {prod(entry.work_group): occupancy_text(entry) for entry in found}
        local = [entry.local_memory_bytes for entry in found]
        memory = f"{'up to ' if min(local) < max(local) else ''}{format_bytes(max(local))}"
        alike.setdefault((memory, *(by_size.get(size, "") for size in sizes)), []).append(name)
    rows = tuple(
        (", ".join(names), _registers([entry for name in names for entry in variants[name]]), *texts)
        for texts, names in alike.items()
        if any(texts[1:])
    )
    columns = ("variant", "registers", "local memory", *(f"{size} items" for size in sizes))
    return Table(columns, rows, frozenset(columns[1:3]))


def _registers(found: Sequence[Occupancy]) -> str:
    assumed = " (assumed)" if any(entry.source == "assumed" for entry in found) else ""
    return format_range([entry.registers_per_work_item for entry in found]) + assumed


def occupancy_text(entry: Occupancy) -> str:
    """Write the occupancy, with its limit unless that is the number of waves: ``31 % regs``."""
    return f"{format_percent(entry.fraction)} {entry.limiter.short}".rstrip()


def workload_table(names: Iterable[str]) -> Table:
    """List the titles of workloads, for documents that contain only identifiers."""
    titles = {workload.name: workload.title for workload in all_workloads()}
    rows = tuple((titles[name], name) for name in dict.fromkeys(names) if name in titles)
    return Table(("workload", "identifier"), rows)


def advice_table(families: Iterable[FamilyAdvice]) -> Table:
    """List the best, the worst and the recommended shape of every search."""
    columns = ("family", "variant", "best shapes", "rate", "worst shape", "best / worst", "use", "share")
    rows = tuple(
        (
            family.family,
            found.name,
            any_of(found.ties),
            format_value(found.best.value, found.unit),
            found.worst.shape,
            format_ratio(found.gain),
            found.use,
            format_percent(found.shares[found.use], ".1f"),
        )
        for family in families
        for found in family.variants
    )
    return Table(columns, rows, frozenset({"rate", "best / worst", "share"}))
