"""Published records: the fields of the YAML file, and the classes that the program uses."""

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
class PublishedSeries:
    """One published curve.

    Attributes:
        workload: the equivalent of the published kernel.
        sweep: the published points.
        compiled: registers and local memory of each point, if published.
        measurement: the medians, as one sample per point.
        conditions: of the measurement, as text.
    """

    workload: Workload
    sweep: Sweep
    compiled: tuple[Resources | None, ...]
    measurement: Measurement
    conditions: str


@dataclass(frozen=True)
class Published:
    """Published results of one device.

    Attributes:
        id: name of the file, without suffix.
        title: of this record.
        citation: author and publication.
        url: of the publication.
        date: of publication, as far as known: ``2020``, ``2020-09`` or ``2020-09-26``; may be empty.
        device: entry of the database, e.g. ``nvidia/a40``.
        notes: omissions and assumptions, in sentences.
        statements: of the publication.
        isolated: whether each dispatch was timed by itself.
        read_between: whether something else read the next dispatch's input between two dispatches.
        series: the curves; sweep keys are unique.
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
    series: tuple[PublishedSeries, ...]


class SeriesFields(Strict):
    """One series in the file."""

    workload: str
    sweep: Name
    axis: Quantity
    label: Name = ""
    conditions: str = ""
    fixed: dict[str, Parameter] = Field(default_factory=dict)
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...] = Field(min_length=1, max_length=1000)


class StatementFields(Strict):
    """One published statement in the file."""

    says: str = Field(min_length=1)
    where: str = Field(min_length=1)
    about: tuple[str, ...] = ()
    compare: Literal["times", "spread", "cliff", "taper", "rate"] = "times"
    at: dict[str, Parameter] = Field(default_factory=dict)
    remark: str = ""


class RecordFields(Strict):
    """The fields of a file."""

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
