"""Published records: the fields of the YAML file, and the classes that the program uses."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, FiniteFloat

from gpureport.records.quantities import Name
from gpureport.results.series import Series
from gpureport.spec.values import Strict

Quantity = Literal["working_set", "work_items", "work_group", "case"]
_MOST = 1 << 40
Parameter = Annotated[int, Field(ge=1, le=_MOST)]
Value = Annotated[FiniteFloat, Field(le=_MOST)]


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


@dataclass(frozen=True)
class Published:
    """Published results of one device.

    Attributes:
        id: name of the file, without suffix.
        fields: of the file.
        series: the curves; sweep keys are unique.
    """

    id: str
    fields: RecordFields
    series: tuple[Series, ...]
