"""What a published record holds: as it is written (YAML), and as the rest of the program sees it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from gpureport.predict.occupancy import Resources
from gpureport.records.measurement import Measurement
from gpureport.records.quantities import Name
from gpureport.records.report import PublishedStatement
from gpureport.spec.values import Strict
from gpureport.workloads.model import Sweep, Workload

Quantity = Literal["working_set", "work_items", "work_group", "case"]
_MOST = 1 << 40
Parameter = Annotated[int, Field(ge=1, le=_MOST)]
Value = Annotated[FiniteFloat, Field(le=_MOST)]


@dataclass(frozen=True)
class Series:
    """One published curve.

    Attributes:
        workload: the one that does what the published kernel did.
        sweep: its points as published.
        compiled: registers and local memory of each point, where they were published.
        measurement: the medians, one sample a point.
        conditions: what a reader should know of this series.
    """

    workload: Workload
    sweep: Sweep
    compiled: tuple[Resources | None, ...]
    measurement: Measurement
    conditions: str


@dataclass(frozen=True)
class Published:
    """What someone published of one device.

    Attributes:
        id: name of the file, without suffix.
        title: of this record.
        citation: who published it, and where.
        url: the same for browsers.
        date: of publication, as far as known: ``2020``, ``2020-09`` or ``2020-09-26``; may be empty.
        device: entry of the database, e.g. ``nvidia/a40``.
        notes: what was left out, and what is assumed, in sentences.
        claims: what the publication says.
        alone: whether each dispatch was timed by itself.
        read_between: whether something else read, between two dispatches, what the next one reads.
        series: the curves; no two are the same sweep of one workload.
    """

    id: str
    title: str
    citation: str
    url: str
    date: str
    device: str
    notes: tuple[str, ...]
    statements: tuple[PublishedStatement, ...]
    isolated: bool
    read_between: bool
    series: tuple[Series, ...]


class SeriesFields(Strict):
    """One series as it is written."""

    workload: str
    sweep: Name
    axis: Quantity
    label: Name = ""
    conditions: str = ""
    fixed: dict[str, Parameter] = Field(default_factory=dict)
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...] = Field(min_length=1, max_length=1000)


class StatementFields(Strict):
    """One claim as it is written."""

    says: str = Field(min_length=1)
    where: str = Field(min_length=1)
    about: tuple[str, ...] = ()
    compare: Literal["times", "spread", "cliff", "taper", "rate"] = "times"
    at: dict[str, Parameter] = Field(default_factory=dict)
    remark: str = ""


class RecordFields(Strict):
    """A file as it is written."""

    title: Name
    citation: str
    url: str = Field(pattern="^https://")
    device: str = Field(pattern="^[a-z]+/[a-z0-9_]+$")
    date: Annotated[str, BeforeValidator(str)] = Field(default="", pattern=r"^\d{4}(-\d{2}){0,2}$")
    notes: tuple[str, ...] = ()
    statements: tuple[StatementFields, ...] = Field(default=(), max_length=100)
    isolated: bool = False
    read_between: bool = False
    series: tuple[SeriesFields, ...] = Field(min_length=1, max_length=100)
