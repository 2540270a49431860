"""Levels of curves: memory levels, bottlenecks, cases, transitions that no cache causes."""

from typing import Any, Self

from pydantic import GetJsonSchemaHandler, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gpureport.records.keys import Record
from gpureport.records.quantities import CompactPositive, Name
from gpureport.units import format_bytes, parse


class Level(Record):
    """The level of a curve that a feature belongs to; in JSON only its name if all other fields have their defaults.

    It is a cache, ``DRAM``, the bottleneck of a plateau (``int32``), the whole ``device`` (tapers), a case, or a
    transition that no cache of the device's entry causes: it has the name of its cause, or none if it is unexplained.
    Observed levels have numbers (``level 1``) until they are matched with predicted ones.
    """

    name: Name = ""
    """Name of a cache, a ceiling, a case or the cause of a transition; empty for an unexplained transition."""
    near: bool = False
    """Whether it is the near partition of a cache, which has the lower latency for one compute unit."""
    transition_bytes: CompactPositive | None = None
    """Working set of a transition that no cache causes, rounded to the digits that are displayed."""
    beyond: bool = False
    """Whether it is the level beyond the unexplained transition, not the level that ends there."""

    @classmethod
    def unexplained(cls, size_bytes: float, *, beyond: bool = False, cause: str = "") -> Self:
        """Return the level before (or *beyond*) a transition that no cache causes; unexplained without a *cause*."""
        return cls(name=cause, transition_bytes=parse(format_bytes(size_bytes), "bytes"), beyond=beyond)

    @property
    def is_transition(self) -> bool:
        """Whether it ends at a transition that no cache causes."""
        return self.transition_bytes is not None and not self.beyond

    @property
    def is_unexplained(self) -> bool:
        """Whether it ends at an unexplained transition."""
        return self.is_transition and not self.name

    @property
    def whole(self) -> "Level":
        """The whole cache if this is one of its partitions, else the level itself."""
        return Level(name=self.name) if self.near else self

    def __str__(self) -> str:
        """``L2``, ``L2 near partition``, ``unexplained transition at 3 MiB``, ``idle work-items``, ``beyond 3 MiB``."""
        if self.transition_bytes is not None and not self.name:
            size = format_bytes(self.transition_bytes)
            return f"beyond {size}" if self.beyond else f"unexplained transition at {size}"
        return f"{self.name} near partition" if self.near else self.name

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Allow the name alone."""
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @model_serializer(mode="wrap")
    def _as_name(self, handler: SerializerFunctionWrapHandler) -> Any:  # noqa: ANN401 - a name, or an object
        defaults = type(self).model_fields
        fields = {name: value for name, value in handler(self).items() if value != defaults[name].default}
        return self.name if fields.keys() <= {"name"} else fields


DRAM = Level(name="DRAM")
"""Memory beyond all caches."""
DEVICE = Level(name="device")
"""The whole device, the level of tapers and peaks."""
