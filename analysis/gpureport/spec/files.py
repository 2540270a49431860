"""The YAML files, one model for each kind of file; values have units and sources.

Every value is either bare or has a provenance::

    clock: 1.98 GHz
    clock: {value: 1.98 GHz, source: datasheet, note: boost}

``source`` is a key of the file's ``sources``; a bare value has the file's default ``source``.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from math import inf
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import Field, model_validator

from gpureport.docstrings import Documented
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import Record
from gpureport.spec import models
from gpureport.spec.values import (
    Bytes,
    BytesPerSecond,
    Count,
    Fractions,
    Key,
    Leaf,
    Listed,
    Names,
    OperationsPerSecond,
    Quantity,
    Source,
    Strict,
    Text,
)
from gpureport.text import sentence

R = TypeVar("R", bound=Record)
PCI_ID = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{4}$")
Schema = dict[str, Any]


def _leaf(kind: Any, declared: Listed, *, optional: bool = True, most: float = inf) -> Any:  # noqa: ANN401 - types
    """Return the type in YAML files of a value that a record has as *kind*; *most*: its bound."""
    number: Any = Annotated[int if kind is int else float, Quantity(declared.dimension, most, declared.zero)]
    written = {
        int: number,
        float: number,
        tuple[float, ...]: tuple[number, ...],
        models.Transition: Fractions,
    }
    leaf: Any = Leaf[written.get(kind, kind)]  # type: ignore[misc]
    return Annotated[leaf | None if optional else leaf, declared]


def _of_record(record: type[Record], *, layered: bool) -> dict[str, Any]:
    hints, found = get_type_hints(record), {}
    for field, (key, declared) in models.listed(record).items():
        if declared.by_name:
            continue
        info, kind = record.model_fields[field], hints[field]
        kind = get_args(kind)[0] if NoneType in get_args(kind) else kind
        share = any(getattr(limit, "le", None) == 1 for limit in info.metadata)
        optional = layered or not info.is_required()
        found[key] = _leaf(kind, declared, optional=optional, most=1.0 if share else inf)
    return found


class Declared(Strict):
    """A part of a file with values that are declared elsewhere."""

    record: ClassVar[type[Record]]
    documented_by: ClassVar[tuple[type[Record], Mapping[str, str]]]

    def __init_subclass__(
        cls,
        *,
        record: type[Record] | None = None,
        layered: bool = False,
        values: Mapping[str, Any] | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Add the fields before pydantic collects them; the class may declare some itself.

        Args:
            record: the record with the values. Fields with a default there are optional.
            layered: whether two files share the values, so that all are optional.
            values: types of the fields, if there is no record.
            options: those of pydantic.
        """
        super().__init_subclass__(**options)
        if record:
            cls.record, values = record, _of_record(record, layered=layered)
            cls.documented_by = (record, {field: key for field, (key, _) in models.listed(record).items()})
        for key, kind in (values or {}).items():
            if NoneType in get_args(get_args(kind)[0]):
                setattr(cls, key, None)
        cls.__annotations__ = {**(values or {}), **cls.__annotations__}


class Part(Declared, Generic[R]):
    """A part with the values of a record, which two files share: ``Part[Memory]``."""

    @classmethod
    @cache
    def __class_getitem__(cls, record: type[R]) -> type[Declared]:  # type: ignore[override]
        """Return the class of this part."""
        names: dict[str, Any] = {"__module__": __name__, "__doc__": record.__doc__, "__annotations__": {}}
        return type(record.__name__, (Declared,), names, record=record, layered=True)


class CacheFields(Declared, record=models.Cache, layered=True):
    """A cache level. Fields of the device's file override fields of the architecture's file."""

    short_for = "capacity"

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        """Accept ``L2: 60 MiB`` for ``L2: {capacity: 60 MiB}``, with or without a source."""
        return data if isinstance(data, Mapping) and "value" not in data else {"capacity": data}


class OccupancyFields(Declared, record=models.OccupancyRules):
    """What the compute units that share a work-group keep resident together."""


class File(Strict):
    """Fields of both kinds of file."""

    name: Text
    vendor: Text
    sources: dict[str, Source] = Field(default_factory=dict, max_length=200)
    """Citations by key."""
    source: str | None = None
    """The key used for values without their own source."""
    memory: Part[models.Memory] = Part[models.Memory]()
    caches: Annotated[dict[Key, CacheFields | None], Field(max_length=16)] = Field(default_factory=dict)
    """By level, nearest first; ``null`` removes a level of the architecture."""
    tlb: Annotated[dict[Key, Part[models.Tlb] | None], Field(max_length=8)] = Field(default_factory=dict)
    """Translation lookaside buffers by level, nearest first; ``null`` removes a level of the architecture."""
    launch: Part[models.Launch] = Part[models.Launch]()
    notes: tuple[str, ...] = ()


def _by_class(of: Literal["listed", "latency"], field: str, *, only: str = "") -> dict[str, Any]:
    """Return the types of rates or latencies by instruction class, optional if not all architectures list them."""
    _, declared = models.listed(models.Architecture)[field]
    return {
        name: Annotated[
            _leaf(float, declared, optional=which != "all"),
            Field(description=sentence(each.definition[:1].upper() + each.definition[1:])),
        ]
        for name, each in INSTRUCTION_CLASSES.items()
        if (which := getattr(each, of)) != "none" and only in ("", which)
    }


class PrecisionRates(Declared, values=_by_class("listed", "rates_per_cycle", only="special")):
    """Lane operations per cycle of one compute unit for number formats and units that not all devices have.

    A class that is not listed is neither predicted nor measured.
    """


class Rates(Declared, values=_by_class("listed", "rates_per_cycle")):
    """Lane operations per cycle of one compute unit."""


class Latencies(Declared, values=_by_class("latency", "latency_cycles")):
    """Cycles from the issue of an instruction to the issue of a dependent one."""


class TypicalFields(Strict):
    """Values per compute unit, assumed for devices without a file that do not report them."""

    bandwidth: Annotated[Leaf[BytesPerSecond] | None, Listed(0.1, 1000, "GB/s")] = None
    capacities: dict[str, Annotated[Leaf[Bytes], Listed(1, 1 << 17, "KiB")]] = Field(
        default_factory=dict, max_length=16
    )
    """Capacities of device-wide caches, by level."""


class ProcessorId(Strict):
    """Processors with this type of core, as the CPU identifies itself (CPUID; Arm: part name)."""

    vendor: Text
    """``GenuineIntel``, ``AuthenticAMD``, ``ARM``, … Without family and name: processors of this vendor with an unknown
    type of core."""
    family: Annotated[int, Field(ge=0, le=1 << 12)] | None = None
    models: tuple[Annotated[str, Field(pattern=r"^\d{1,4}(-\d{1,4})?$")], ...] = Field(default=(), max_length=50)
    """Numbers and ranges, such as ``16-31``."""
    name: Text | None = None
    """Model name, such as ``Neoverse-N1``, where the numbers do not distinguish cores (Arm)."""
    part: Annotated[str, Field(pattern=r"^0x[0-9a-f]{3}$")] | None = None
    """Arm part number, such as ``0xd0c``, where the operating system lists no name."""


class ArchitectureFile(File, Declared, record=models.Architecture):
    """``devices/architectures/*.yaml``: values that all devices of one (micro)architecture share."""

    kind: models.Kind
    extends: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,100}$")] | None = None
    """An architecture, by the name of its file without ``.yaml``. This file then lists only what differs."""
    identified_by: tuple[ProcessorId, ...] = Field(default=(), max_length=50)
    """CPUs with this architecture."""
    narrower: str | None = None
    """The architecture with vectors of half the width (a file in ``architectures/``, without ``.yaml``), whose rates
    apply where a compiler prefers these. Omitted: compilers use the full width."""
    double_pumped: bool = False
    """Whether pipes of half the width execute the instructions of the full width in two cycles each."""
    core: Part[models.CoreType] = Part[models.CoreType]()
    streams: Part[models.StreamType] = Part[models.StreamType]()
    matches: tuple[str, ...] = ()
    """Patterns (``*``, ``?``) of device names or compute capabilities: ``sm_90``, ``gfx110?``. They select the
    architecture of devices without their own file."""
    units_per_opencl_unit: Annotated[float, Field(gt=0)] = 1
    """Compute units that OpenCL counts as one (AMD work-group processors: 2; Intel's vector engines, of which a core
    has 16: 0.0625)."""
    typical: TypicalFields = TypicalFields()
    occupancy: OccupancyFields
    rates: Rates
    latencies: Latencies
    pipes: dict[Key, Leaf[Names]] = Field(default_factory=dict, max_length=50)
    """Instruction classes that share one pipe, by the pipe's name."""


class OpenclFields(Strict):
    """The device as OpenCL reports it."""

    names: tuple[Text, ...] = Field(default=(), min_length=1, max_length=200)
    """``CL_DEVICE_NAME``."""
    compute_units: Leaf[Count] | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS``, if it differs from ``compute_units``."""
    parts: Leaf[Count] | None = None
    """Equal parts (tiles, dies) that may appear as separate devices, each with its part of caches and bandwidth."""


class LinkFields(Declared, record=models.Link):
    """The link between device and host."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        given = self.leaves()
        kind = given["kind"].value
        if kind == "pcie" and not given.keys() >= {"generation", "lanes"}:
            raise ValueError("needs generation and lanes for kind pcie")
        if kind == "nvlink_c2c" and "bandwidth" not in given:
            raise ValueError("needs bandwidth for kind nvlink_c2c")
        return self


class DeviceFile(File, Declared, record=models.Device, layered=True):
    """``devices/<vendor>/<device>.yaml``: one device."""

    architecture: str
    """Name of a file in ``architectures/``, without ``.yaml``."""
    flops: Annotated[Leaf[OperationsPerSecond] | None, Listed(unit="TFLOP/s")] = None
    """Listed single-precision peak. No prediction uses it; ``devices check`` compares it with lanes, compute units and
    clock."""
    link: LinkFields | None = None
    """The link to the host, with the generation and lanes of the device's data sheet."""
    rates: PrecisionRates = PrecisionRates()
    """Rates that differ from those of the architecture, such as those of limited product lines."""
    opencl: OpenclFields = OpenclFields()
    pci_ids: tuple[Annotated[str, Field(pattern=PCI_ID.pattern)], ...] = ()
    """``vendor:device`` in lower-case hexadecimal."""
    host: bool = False
    """Whether the entry describes any CPU of its kind: sizes, clock and compute units are those of this machine."""


class Place(NamedTuple):
    """Where files contain a value: the steps of its path, such as caches, ``*`` (any level), line; its part's model."""

    steps: tuple[str, ...]
    part: type[Strict]
    declared: Listed

    def path(self, level: str = "*") -> str:
        """Return the dotted path in a level."""
        return ".".join(level if step == "*" else step for step in self.steps)


@cache
def places(part: type[Strict], above: tuple[str, ...] = ()) -> tuple[Place, ...]:
    """Return the places of all declared values in a file or a part of it, in the order of its fields."""
    found: list[Place] = []
    for key, field in part.model_fields.items():
        steps = (*above, key, "*") if get_origin(field.annotation) is dict else (*above, key)
        inner = [*field.metadata, *types_in(field.annotation)]
        if declared := next((each for each in inner if isinstance(each, Listed)), None):
            found.append(Place(steps, part, declared))
        else:
            parts = (each for each in inner if isinstance(each, type) and issubclass(each, Strict))
            found += (place for each in parts for place in places(each, steps))
    return tuple(found)


def types_in(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - types
    """Yield a type and all parts of a union, a mapping or an annotation."""
    yield kind
    for each in get_args(kind):
        yield from types_in(each)


@cache
def declaration(path: str) -> Listed:
    """Return the declaration of the value at *path*, such as ``caches.L2.line``; that of a number if there is none."""
    every = (*places(ArchitectureFile), *places(DeviceFile))
    return next((place.declared for place in every if fnmatchcase(path, place.path())), Listed())


def device_schema() -> Schema:
    """Return the JSON Schema of a device file."""
    return DeviceFile.model_json_schema(schema_generator=Documented) | {"title": "gpureport device"}


def architecture_schema() -> Schema:
    """Return the schema of an architecture file; one that extends another need not have all of its fields."""
    schema = ArchitectureFile.model_json_schema(schema_generator=Documented) | {"title": "gpureport architecture"}
    definitions = {f"#/$defs/{name}": definition for name, definition in schema["$defs"].items()}
    parts = {
        name: definitions.get(part.get("$ref"), {}).pop("required", []) for name, part in schema["properties"].items()
    }
    whole = {
        "required": schema.pop("required"),
        "properties": {name: {"required": of} for name, of in parts.items() if of},
    }
    return schema | {"if": {"required": ["extends"]}, "then": {"required": ["name", "vendor", "kind"]}, "else": whole}
