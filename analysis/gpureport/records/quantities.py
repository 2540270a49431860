"""Values as records and entries have them: numbers, names, times, and lists without repetitions.

Numbers are finite, with the sign that they can have, within bounds; names have a greatest length. The bounds lie far
beyond what any device or run has. Within them, nothing that is computed overflows.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from datetime import datetime
from math import log
from re import match
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, FailFast, Field
from pydantic.fields import FieldInfo

from gpureport.text import quoted
from gpureport.units import Dimension

BOUNDS: dict[Dimension, tuple[float, float]] = {
    "bytes": (1.0, 2.0**60),
    "bytes/s": (1.0, 1e18),
    "hertz": (1.0, 1e15),
    "seconds": (1e-15, 1e6),
    "cycles": (1e-6, 1e9),
    "bytes/cycle": (1e-6, 1e9),
    "flop/s": (1.0, 1e24),
    "count": (1e-6, 1e9),
}
"""Least and most of a quantity that somebody wrote or measured, in SI base units."""
_LEAST, _MOST = 1e-60, 1e60
"""Of what was computed from such quantities."""
_MOST_WHOLE = 2**64


K = TypeVar("K")
T = TypeVar("T")
_MOST_ENTRIES = 1000


def _few(value: object) -> object:
    if isinstance(value, dict) and len(value) > _MOST_ENTRIES:
        raise ValueError(f"must have at most {_MOST_ENTRIES} entries")
    return value


Many = Annotated[tuple[T, ...], FailFast()]
"""A list that may be long: the first mistake in it is the only one that is looked for."""

Table = Annotated[dict[K, T], BeforeValidator(_few)]
"""A mapping of few entries."""

MOST_NAME = 1000
Name = Annotated[str, Field(max_length=MOST_NAME)]
"""What something is called: a device, a driver, a sweep, a unit."""
Id = Annotated[str, Field(max_length=4096)]
"""Of a database entry: the path of its file, as long as a path may be."""


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
"""The same, or empty."""


def once(what: str, key: Callable[[Any], Hashable], name: Callable[[Any], object]) -> AfterValidator:
    """Refuse a list that has something twice.

    Args:
        what: each item is.
        key: what tells items apart.
        name: what an item is called in the message.
    """

    def check(items: tuple[T, ...]) -> tuple[T, ...]:
        counts = Counter(map(key, items))
        twice = next((item for item in items if counts[key(item)] > 1), None) if len(counts) < len(items) else None
        if twice is not None:
            raise ValueError(f"must have each {what} once; {quoted(str(name(twice)))} is there twice")
        return items

    return AfterValidator(check)


def _within(dimension: Dimension) -> FieldInfo:
    least, most = BOUNDS[dimension]
    return Field(ge=least, le=most)  # type: ignore[no-any-return]


def _digits(count: int) -> AfterValidator:
    """Keep so many significant digits: what a report stores is then what was computed with."""
    spec = f".{count}g"
    return AfterValidator(lambda value: float(format(value, spec)))


Positive = Annotated[float, Field(ge=_LEAST, le=_MOST)]
Amount = Annotated[float, Field(ge=0, le=_MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=0, le=_MOST_WHOLE)]
Count = Annotated[int, Field(ge=1, le=int(BOUNDS["count"][1]))]
Items = Annotated[int, Field(ge=1, le=_MOST_WHOLE)]
"""A count of work-items."""

Bytes = Annotated[float, _within("bytes")]
WholeBytes = Annotated[int, _within("bytes")]
BytesPerSecond = Annotated[float, _within("bytes/s")]
BytesPerCycle = Annotated[float, _within("bytes/cycle")]
Hertz = Annotated[float, _within("hertz")]
Seconds = Annotated[float, _within("seconds")]
Cycles = Annotated[float, _within("cycles")]
Number = Annotated[float, _within("count")]

Compact = Annotated[Amount, _digits(9)]
"""A float of nine significant digits: more than any timer has."""
CompactPositive = Annotated[Positive, _digits(9)]
CompactSeconds = Annotated[Seconds, _digits(9)]
CompactShare = Annotated[Share, _digits(9)]
CompactSigned = Annotated[float, Field(ge=-_MOST, le=_MOST), _digits(9)]
CompactLogarithm = Annotated[float, Field(ge=0, le=log(_MOST / _LEAST)), _digits(9)]
"""The natural logarithm of a ratio of such numbers, whatever its sign."""
Rough = Annotated[Amount, _digits(4)]
"""A float of four significant digits: what is known of an uncertainty."""
RoughShare = Annotated[Share, _digits(4)]
