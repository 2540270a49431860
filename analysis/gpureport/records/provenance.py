"""Sources of values."""

from typing import Literal

from pydantic import Field

from gpureport.records.keys import Record


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
    measured_on: str | None = None
    """Database entry of the device on which this project measured the value; ``None`` for other sources."""
