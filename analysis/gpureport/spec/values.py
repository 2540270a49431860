"""One value of a YAML file: a quantity with a unit; sources of values, and of constants of the code."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from gpureport.errors import InputError
from gpureport.records.curves import Record
from gpureport.records.quantities import Name, once
from gpureport.text import printable
from gpureport.units import DIMENSIONS, Dimension, format_bytes, parse

SourceKind = Literal["spec", "queried", "measured", "derived", "assumed"]
TO_CHECK = "check it"
"""End of the notes of draft values that the author must still check."""
T = TypeVar("T")


class Provenance(Record):
    """Where a value comes from."""

    kind: SourceKind
    """``spec``: data sheet or database. ``queried``: reported by a driver. ``measured``: published measurement or
    microbenchmark. ``derived``: computed from other values. ``assumed``: no source."""
    source: str
    """The citation, the query, or the formula."""
    note: str = Field(default="", description="A caveat, e.g. that sources disagree.")
    here: bool = False
    """Whether the run itself measured the value, on this device."""
    measured_on: tuple[str, ...] = ()
    """Database entries of the devices on which the value was measured; none for values that were not measured."""


class Value(NamedTuple):
    """A value in SI base units, and its provenance."""

    value: Any
    provenance: Provenance


Layer = Mapping[str, Value]
"""Values by dotted path: ``caches.L2.capacity``."""


def queried(value: object, source: str, note: str = "") -> Value:
    """Make a value that the device or the operating system reports; *source* names the query."""
    return Value(value, Provenance(kind="queried", source=source, note=note))


def assumed(value: object, note: str) -> Value:
    """Make a value without a source; *note* gives the reason for it."""
    return Value(value, Provenance(kind="assumed", source="", note=note))


def steps_of(path: str) -> tuple[str, ...]:
    """Return the steps of a dotted path: ``("caches", "L2", "line")``."""
    return tuple(path.split("."))


@dataclass(frozen=True)
class Listed:
    """Declares that YAML files contain a value, as metadata of its field in a record.

    From it follow the value in files, its unit, the warning about unlikely values, drafts, JSON Schemas, and its part
    in the uncertainty of predictions. A field with a default is optional in architectures.
    """

    least: float = 0.0
    """Smallest usual value, in *unit*."""
    most: float = math.inf
    """Largest usual value."""
    unit: str = ""
    """Unit of a quantity; empty: a number without a unit, or no number."""
    uncertain: str = ""
    """How uncertain the value is: a row of ``tables/uncertainties.yaml``, or ``by source``: it depends on the kind of
    its source only. Empty: the uncertainty of predictions does not include it."""
    relative_to: tuple[str, float] | None = None
    """Value that a run's own measurements of this one are relative to, and the exponent with which they vary with it;
    it is a value of the same part, or the device's clock."""
    of_card: bool = False
    """Whether it differs between cards, even if two entries list the same number."""
    key: str = ""
    """Key in YAML files; default: the name of the field without its unit."""
    by_name: bool = False
    """Whether the field is a table of such values, each with its own place in files: ``rates.fp32``."""

    @property
    def dimension(self) -> Dimension:
        """Dimension of the quantity."""
        return next((name for name, kind in DIMENSIONS.items() if self.unit in kind.units), "count")

    @property
    def scale(self) -> float:
        """The unit in SI base units."""
        return parse(f"1 {self.unit}", self.dimension)

    def is_usual(self, value: float) -> bool:
        """Whether *value*, in SI base units, is within the usual range."""
        return self.least <= value / self.scale <= self.most


@dataclass(frozen=True)
class Quantity:
    """Marks a number that is written with a unit (or, for ``count``, without); *least*: of sizes, in bytes.

    Zero is left to the bounds of the number.
    """

    dimension: Dimension
    least: float = 0.0

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        if self.dimension != "count":
            return {"type": "string", "examples": [DIMENSIONS[self.dimension].example]}
        return {"exclusiveMinimum": 0, **handler(schema)}

    def _read(self, value: object) -> float:
        try:
            number = parse(value, self.dimension)
        except InputError as error:
            raise ValueError(str(error)) from None
        if number == 0:
            return number
        if number < self.least:
            raise ValueError(f"{value} is too small; write {format_bytes(self.least)} or more")
        _, example, _, least, most, *_ = DIMENSIONS[self.dimension]
        if not least <= number <= most:
            limit = f"at most {most:,.0f}" if number > most else f"at least {least:f}"
            right = f"a number of {limit}" if self.dimension == "count" else f"a value like {example}"
            raise ValueError(f"{value} is out of range; write {right}")
        return number


Number = Annotated[float, Quantity("count")]
LinkKind = Literal["pcie", "nvlink_c2c", "shared"]
Scope = Literal["compute_unit", "device"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(printable)]
Names = Annotated[tuple[Name, ...], once("name", str, str)]
"""Instruction classes without repetitions."""
_TRANSITION = "onset, midpoint and end as fractions of the capacity, like [0.9, 1.05, 1.3]"


def _transition(value: object, read: ValidatorFunctionWrapHandler) -> tuple[float, float, float]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ValueError(f"takes three numbers: {_TRANSITION}")
    onset, midpoint, end = read(value)
    if not 0.05 <= onset < midpoint < end <= 20:
        raise ValueError(f"must ascend, from 0.05 to 20: {_TRANSITION}")
    return onset, midpoint, end


Fractions = Annotated[tuple[Number, Number, Number], WrapValidator(_transition)]


class Strict(BaseModel):
    """A part of a file; unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    short_for: ClassVar[str | None] = None
    """The field that a bare value sets, if a bare value is allowed."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        """Accept a bare value; a mapping from numbers to values is bare as well."""
        is_part = isinstance(data, Mapping) and any(isinstance(key, str) for key in data)
        return data if is_part or cls.short_for is None else {cls.short_for: data}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        """Describe both forms: the bare value and the mapping."""
        mapping = handler(schema)
        if cls.short_for is None:
            return mapping
        mapping = handler.resolve_ref_schema(mapping)
        return {"anyOf": [mapping["properties"][cls.short_for], mapping]}


class Leaf(Strict, Generic[T]):
    """One value and its source."""

    short_for = "value"

    value: T
    source: str | None = None
    """A key of the file's ``sources``."""
    kind: SourceKind | None = None
    """``spec`` (documented, the default), ``queried``, ``measured``, ``derived`` or ``assumed``."""
    note: str = ""
    """How the value was derived, or which sources disagree."""


class Source(Strict):
    """A citation, and the kind of its values."""

    short_for = "text"

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    kind: SourceKind = "spec"
    measured_on: tuple[str, ...] = ()
    """The entries of the devices on which the values were measured. Predictions for these devices are then not
    independent."""
