"""Recorded conditions of a device's runs that differ from those of other runs. Pure functions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

_LOWER_CLOCK, _WARMER_C = 0.01, 15.0
LOAD = 0.1
"""Share of a device that other processes use, from which on it matters."""
_STEAL = 0.05
FACTS = ("cores", "power_limit", "ecc", "remapped_rows", "mig", "driver", "tool_version")
"""Columns of ``runs`` whose values are texts or counts, most direct first."""


class Reason(NamedTuple):
    """A condition that differs: its column of ``runs``, its value, and that of the other runs, if it is compared."""

    column: str
    value: str | float
    usual: str | float | None = None


def reasons(
    effect: float, own: pd.DataFrame, others: pd.DataFrame, earlier_uuids: Sequence[str | None] | pd.Series = ()
) -> Iterator[Reason]:
    """Yield the conditions in which *own* runs (usually) differ from most *others*, most direct first.

    *effect* is on ln(speed): load, low clocks and heat are no reasons to be faster. The first reason is that the device
    is another one than in all earlier runs, if all know their identifier.
    """
    uuid, earlier = own["uuid"].iloc[-1], set(earlier_uuids)
    if uuid and earlier and all(isinstance(each, str) for each in earlier) and uuid not in earlier:
        yield Reason("uuid", uuid)
    if effect < 0:
        yield from _burdens(own, others)
    for column in FACTS:
        value, usual = _most_common(own[column]), _most_common(others[column])
        if value and usual and value != usual and 2 * (others[column] == usual).sum() > len(others):
            yield Reason(column, value, usual)


def _burdens(own: pd.DataFrame, others: pd.DataFrame) -> Iterator[Reason]:
    clock, usual = own["clock_hz"].median(), others["clock_hz"].median()
    if clock < (1 - _LOWER_CLOCK) * usual:
        yield Reason("clock_hz", clock, usual)
    counts = Counter(reason for text in others["throttle_reasons"] for reason in _parts(text))
    limits = _parts(_most_common(own["throttle_reasons"])) - {name for name in counts if 2 * counts[name] > len(others)}
    if limits:
        yield Reason("throttle_reasons", ", ".join(sorted(limits)))
    for column, least in (("others_utilisation", LOAD), ("cpu_steal", _STEAL)):
        if (share := own[column].median()) >= least:
            yield Reason(column, share)
    warm, usual = own["temperature_c"].median(), others["temperature_c"].median()
    if warm > usual + _WARMER_C:
        yield Reason("temperature_c", warm, usual)


def _most_common(column: pd.Series) -> str | float | None:
    return next((value for value, _ in Counter(column.dropna()).most_common(1)), None)


def _parts(reasons: str | float | None) -> set[str]:
    return set(reasons.split(", ")) - {""} if isinstance(reasons, str) else set()
