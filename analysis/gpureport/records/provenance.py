"""Where a value came from."""

from typing import Literal

from pydantic import Field

from gpureport.records.keys import Record


class Provenance(Record):
    """Where a value came from."""

    kind: Literal["spec", "queried", "measured", "derived", "assumed"]
    source: str
    """The citation, the query, or the formula."""
    note: str = Field(default="", description="A caveat, e.g. that sources disagree.")
    here: bool = False
    """Whether the run itself measured it, on the very device; else it is published."""
    measured_on: str | None = None
    """The entry of the device on which this project measured it, if it did."""
