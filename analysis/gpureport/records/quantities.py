"""Types of the values in records and entries: numbers, names, times, and lists without repetitions.

Numbers are finite, bounded and have a valid sign; names have a maximum length. The bounds are far beyond any real
device or run, and within them no computation overflows.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from enum import StrEnum
from math import log
from re import match
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, FailFast, Field, TypeAdapter
from pydantic.fields import FieldInfo

from gpureport.text import printable, quoted
from gpureport.units import DIMENSIONS, Dimension

_LEAST, _MOST = 1e-60, 1e60
"""Minimum and maximum of computed quantities."""
_MOST_WHOLE = 2**64


class Labelled(StrEnum):
    """A table of identifiers: the value of a row, then its other columns, in the order and of the types annotated."""

    def __new__(cls, label: str, *columns: object) -> Self:
        """Make a row."""
        row = str.__new__(cls, label)
        row._value_ = label
        for (name, kind), column in zip(cls.__annotations__.items(), columns, strict=True):
            setattr(row, name, TypeAdapter(kind).validate_python(column))
        return row


K = TypeVar("K")
T = TypeVar("T")
_MOST_ENTRIES = 1000


def _few(value: object) -> object:
    if isinstance(value, dict) and len(value) > _MOST_ENTRIES:
        raise ValueError(f"must have at most {_MOST_ENTRIES} entries")
    return value


class _AtFirst(FailFast):
    __hash__ = object.__hash__  # parts of a union must have one


Many = Annotated[tuple[T, ...], _AtFirst()]
"""A list that may be long; validation stops at its first error."""

Table = Annotated[dict[K, T], BeforeValidator(_few)]
"""A mapping with few entries."""

MOST_NAME = 1000
Name = Annotated[str, Field(max_length=MOST_NAME), AfterValidator(printable)]
"""Name of a device, a driver, a sweep, a unit, …, with blanks for unprintable characters."""
Id = Annotated[str, Field(max_length=4096)]
"""Id of a database entry: the path of its file, up to the maximum length of a path."""


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
        right = match(r"\d{4}-\d\d-\d\dT\d\d:\d\d", text)
    except ValueError:
        right = None
    if not right:
        raise ValueError("must be a date and time in ISO 8601, like 2026-11-22T14:04:11+00:00")
    return text


Moment = Annotated[Name, AfterValidator(_moment)]
"""An ISO 8601 time."""
MomentIfKnown = Annotated[Name, AfterValidator(lambda text: text and _moment(text))]
"""An ISO 8601 time, or empty."""


def once(what: str, key: Callable[[Any], Hashable], name: Callable[[Any], object]) -> AfterValidator:
    """Refuse a list with two items of the same *key*; the message has their *name*, and *what* they are."""

    def check(items: tuple[T, ...]) -> tuple[T, ...]:
        refuse_repeated(what, [key(item) for item in items], lambda place: name(items[place]))
        return items

    return AfterValidator(check)


def refuse_repeated(what: str, keys: Sequence[Hashable], name: Callable[[int], object]) -> None:
    """Raise ValueError if two *keys* are equal; the message has the *name* at the place of the first such key."""
    if len(set(keys)) < len(keys):
        counts = Counter(keys)
        twice = next(place for place, key in enumerate(keys) if counts[key] > 1)
        raise ValueError(f"must have each {what} once; {quoted(str(name(twice)))} is there twice")


def _within(dimension: Dimension) -> FieldInfo:
    return Field(ge=DIMENSIONS[dimension].least, le=DIMENSIONS[dimension].most)  # type: ignore[no-any-return]


def _digits(count: int) -> AfterValidator:
    """Round to *count* significant digits, so that a stored report has the same numbers as the one in memory."""
    spec = f".{count}g"
    return AfterValidator(lambda value: float(format(value, spec)))


def _line(value: int) -> int:
    if not 4 <= value <= 4096 or value.bit_count() != 1:
        raise ValueError("must be a power of two from 4 B to 4 KiB")
    return value


Positive = Annotated[float, Field(ge=_LEAST, le=_MOST)]
Amount = Annotated[float, Field(ge=0, le=_MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=0, le=_MOST_WHOLE)]
Count = Annotated[int, Field(ge=1, le=int(DIMENSIONS["count"].most))]
Items = Annotated[int, Field(ge=1, le=_MOST_WHOLE)]
"""A count of work-items."""

Bytes = Annotated[float, _within("bytes")]
WholeBytes = Annotated[int, _within("bytes")]
LineBytes = Annotated[int, AfterValidator(_line)]
"""Length of a line, sector or access: whole words, and a whole number of them in a page."""
BytesPerSecond = Annotated[float, _within("bytes/s")]
BytesPerCycle = Annotated[float, _within("bytes/cycle")]
Hertz = Annotated[float, _within("hertz")]
Seconds = Annotated[float, _within("seconds")]
Cycles = Annotated[float, _within("cycles")]
Watts = Annotated[float, _within("watts")]
Number = Annotated[float, _within("count")]

Compact = Annotated[Amount, _digits(9)]
"""A float with nine significant digits, more than any timer has."""
CompactPositive = Annotated[Positive, _digits(9)]
CompactSeconds = Annotated[Seconds, _digits(9)]
CompactShare = Annotated[Share, _digits(9)]
CompactSigned = Annotated[float, Field(ge=-_MOST, le=_MOST), _digits(9)]
CompactLogarithm = Annotated[float, Field(ge=0, le=log(_MOST / _LEAST)), _digits(9)]
"""Absolute natural logarithm of a ratio of such numbers."""
Elapsed = Annotated[Amount, AfterValidator(lambda value: round(value, 5))]
"""Seconds since a start, in steps of 10 µs."""
Ceiling = Annotated[Amount, _digits(7)]
"""A time that explains another, with seven significant digits."""
Rough = Annotated[Amount, _digits(4)]
"""A float with four significant digits, for uncertainties."""
RoughShare = Annotated[Share, _digits(4)]
