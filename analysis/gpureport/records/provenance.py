"""Sources of values."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpureport.records.keys import Record


def _listed(value: object) -> object:
    """Accept a single entry, and ``null`` for none, as earlier files have them."""
    return (value,) if isinstance(value, str) else () if value is None else value


Entries = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""Database entries of devices."""


class Provenance(Record):
    """Where a value comes from."""

    kind: Literal["spec", "queried", "measured", "derived", "assumed"]
    """``spec``: data sheet or database. ``queried``: reported by a driver. ``measured``: published measurement or
    microbenchmark. ``derived``: computed from other values. ``assumed``: no source."""
    source: str
    """The citation, the query, or the formula."""
    note: str = Field(default="", description="A caveat, e.g. that sources disagree.")
    here: bool = False
    """Whether the run itself measured the value, on this device."""
    measured_on: Entries = ()
    """Database entries of the devices on which the value was measured; none for values that were not measured."""
