"""The YAML files: where values are, all other fields, their JSON Schemas, and the devices that they describe.

Every value is either bare or has a provenance::

    clock: 1.98 GHz
    clock: {value: 1.98 GHz, source: datasheet, note: boost}

``source`` is a key of the file's ``sources``; a bare value has the file's default ``source``.

A device has layers of values by dotted path; later layers override earlier ones. The first layer is the architecture's
file, the second the device's. Values that a device or the operating system reports may form a third.
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args, get_origin

from pydantic import ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema, models_json_schema

from gpureport.docstrings import Documented, field_docs
from gpureport.errors import InputError
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import Record
from gpureport.records.quantities import Amount, Bytes, BytesPerSecond, Count, Name, Number, Positive, Table
from gpureport.spec import models
from gpureport.spec.values import Fractions, Layer, Leaf, Listed, Quantity, Source, Strict, Text, Value, steps_of
from gpureport.text import sentence

PCI_ID = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{4}$")
Schema = dict[str, Any]
R = TypeVar("R", bound=Record)
_NOT_OF_THE_DEVICE = ("typical.", "flops", "core.", "streams.", "opencl.parts")
"""Beginnings of paths of values for drafts and checks, and of the cores of CPUs."""


class _OfDrafts(Record):
    """Values per compute unit, assumed for devices without a file that do not report them."""

    bandwidth_bytes_per_s: Annotated[BytesPerSecond | None, Listed(0.1, 1000, "GB/s")] = None
    capacities_bytes: Annotated[Table[Name, Bytes], Listed(1, 1 << 17, "KiB", by_name=True)] = Field(
        default_factory=dict
    )
    """Capacities of device-wide caches, by level."""


class _OfOpencl(Record):
    """The device as OpenCL reports it."""

    compute_units: Annotated[Count | None, Listed()] = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS``, if it differs from ``compute_units``."""
    parts: Annotated[Count | None, Listed()] = None
    """Equal parts (tiles, dies) that may appear as separate devices, each with its part of caches and bandwidth."""


class _OfChecks(Record):
    """Values that no prediction uses."""

    flop_per_s: Annotated[Positive | None, Listed(unit="TFLOP/s", key="flops")] = None
    """Listed single-precision peak. No prediction uses it; ``devices check`` compares it with lanes, compute units and
    clock."""


_SHARED: tuple[tuple[str, type[Record]], ...] = (
    ("memory", models.Memory),
    ("caches.*", models.Cache),
    ("tlb.*", models.Tlb),
    ("launch", models.Launch),
)
"""Parts of both kinds of file, with the records of their values; ``*`` is any level."""
LEVELLED = ("caches", "tlb")
MOST_NAMES = 50
"""Maximum number of cache levels, pipes, …."""
ARCHITECTURE = r"^[a-z0-9_]{1,100}$"
"""Pattern of the names of architectures that can be extended."""
_NEVER_REQUIRED = ("link", "opencl", "typical", "core", "streams")
"""Parts that a file may leave out, also where their records require values."""


class File(Strict):
    """Fields of both kinds of file, and their values."""

    model_config = ConfigDict(populate_by_name=True)
    parts: ClassVar[tuple[tuple[str, type[Record]], ...]]

    name: Text
    vendor: Text
    sources: dict[str, Source] = Field(default_factory=dict, max_length=200)
    """Citations by key."""
    source: str | None = None
    """The key used for values without their own source."""
    notes: tuple[str, ...] = ()
    values: SkipJsonSchema[dict[str, Value]] = Field(default_factory=dict)
    """By dotted path, such as ``caches.L2.capacity``; in an architecture, also those of the one that it extends."""
    without: SkipJsonSchema[frozenset[str]] = frozenset()
    """Levels of the architecture that are removed by ``null``: ``caches.L3``."""


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


class ArchitectureFile(File):
    """``devices/architectures/*.yaml``: values that all devices of one (micro)architecture share."""

    parts = (
        *_SHARED,
        ("core", models.CoreType),
        ("streams", models.StreamType),
        ("typical", _OfDrafts),
        ("occupancy", models.OccupancyRules),
        ("", models.Architecture),
    )

    kind: models.Kind
    extends: Annotated[str, Field(pattern=ARCHITECTURE)] | None = None
    """An architecture, by the name of its file without ``.yaml``. This file then lists only what differs."""
    identified_by: tuple[ProcessorId, ...] = Field(default=(), max_length=50)
    """CPUs with this architecture."""
    narrower: str | None = None
    """The architecture with vectors of half the width (a file in ``architectures/``, without ``.yaml``), whose rates
    apply where a compiler prefers these. Omitted: compilers use the full width."""
    double_pumped: bool = False
    """Whether pipes of half the width execute the instructions of the full width in two cycles each."""
    matches: tuple[str, ...] = ()
    """Patterns (``*``, ``?``) of device names or compute capabilities: ``sm_90``, ``gfx110?``. They select the
    architecture of devices without their own file."""
    units_per_opencl_unit: Number = 1.0
    """Compute units that OpenCL counts as one (AMD work-group processors: 2; Intel's vector engines, of which a core
    has 16: 0.0625)."""


class DeviceFile(File):
    """``devices/<vendor>/<device>.yaml``: one device."""

    parts = (*_SHARED, ("", models.Device), ("", _OfChecks), ("link", models.Link), ("opencl", _OfOpencl))

    architecture: str
    """Name of a file in ``architectures/``, without ``.yaml``."""
    opencl_names: tuple[Text, ...] = Field(default=(), alias="opencl.names", min_length=1, max_length=200)
    """``CL_DEVICE_NAME``."""
    pci_ids: tuple[Annotated[str, Field(pattern=PCI_ID.pattern)], ...] = ()
    """``vendor:device`` in lower-case hexadecimal."""
    host: bool = False
    """Whether the entry describes any CPU of its kind: sizes, clock and compute units are those of this machine."""


class Place(NamedTuple):
    """Where files contain a value."""

    steps: tuple[str, ...]
    """Steps of its path, such as caches, ``*`` (any level), line."""
    declared: Listed
    """Its declaration."""
    leaf: type[Leaf[Any]]
    """Its type in files."""
    required: bool
    """Whether this kind of file or, for devices, the architecture must have it."""
    means: tuple[type[Record], str] | str
    """The record and the field with its description, or the description."""

    def path(self, level: str = "*") -> str:
        """Return the dotted path in a level."""
        return ".".join(level if step == "*" else step for step in self.steps)

    @property
    def description(self) -> str:
        """What the value means."""
        return self.means if isinstance(self.means, str) else field_docs(self.means[0]).get(self.means[1], "")


Tree = Mapping[str, Any]
"""Fields of a part of a file by key, ``*`` for any: a :class:`Place`, the field of a file, or a part."""


@cache
def places(model: type[File]) -> tuple[Place, ...]:
    """Return the places of all declared values in a kind of file."""
    found = [place for part in model.parts for place in _of_record(*part)]
    if model is ArchitectureFile:
        shared = tuple(path for path, _ in _SHARED)
        return tuple(place._replace(required=False) if place.path().startswith(shared) else place for place in found)
    rates = (place for place in places(ArchitectureFile) if place.steps[0] == "rates")
    special = (each for each in rates if INSTRUCTION_CLASSES[each.steps[1]].listed == "special")
    return (*found, *special)


def _of_record(path: str, record: type[Record]) -> Iterator[Place]:
    above = steps_of(path) if path else ()
    for field, (key, declared) in models.listed(record).items():
        info, steps = record.model_fields[field], (*above, key)
        required = info.is_required() and path not in _NEVER_REQUIRED
        limits = [limit for limit in info.metadata if limit is not declared]
        kinds = get_args(info.annotation)
        if not declared.by_name:
            kind = kinds[0] if NoneType in kinds else info.annotation
            yield Place(steps, declared, _leaf(kind, declared, *limits), required, (record, field))
        elif of := {"rates": "listed", "latencies": "latency"}.get(key):
            for name, each in INSTRUCTION_CLASSES.items():
                if (which := getattr(each, of)) != "none":
                    text = sentence(each.definition[:1].upper() + each.definition[1:])
                    yield Place((*steps, name), declared, _leaf(kinds[1], declared), which == "all", text)
        else:
            yield Place((*steps, "*"), declared, _leaf(kinds[1], declared), False, (record, field))


_FAR_BELOW = 4
"""Sizes in bytes that are smaller than the smallest usual one by more than this factor are refused: memory of less than
64 MiB, caches of less than 262 B."""


def _leaf(kind: Any, declared: Listed, *limits: object) -> Any:  # noqa: ANN401 - types
    """Return the type in YAML files of a value that a record has as *kind*, with the *limits* of its field."""
    least = declared.least * declared.scale / _FAR_BELOW if declared.dimension == "bytes" else 0.0
    read = Quantity(declared.dimension, least)
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if bare in (int, float):
        kind = Annotated[kind, *limits, read]
    elif bare == tuple[Amount, ...]:
        kind = tuple[Annotated[Amount, read], ...]
    elif bare is models.Transition:
        kind = Fractions
    return Leaf[kind]


@cache
def tree(model: type[File]) -> Tree:
    """Return all fields of a kind of file."""
    found: dict[str, Any] = {}
    others = {field.alias or name: field for name, field in model.model_fields.items()}
    del others["values"], others["without"]
    for steps, field in (
        *((steps_of(name), field) for name, field in others.items()),
        *((place.steps, place) for place in places(model)),
    ):
        part = found
        for step in steps[:-1]:
            part = part.setdefault(step, {})
        part[steps[-1]] = field
    return found


def levels(values: Layer, part: str) -> tuple[str, ...]:
    """Return the names in a part. Levels are nearest first: an architecture's, then those that only the device has."""
    return tuple(dict.fromkeys(steps[1] for path in values if (steps := steps_of(path))[0] == part))


def level_of(path: str) -> str:
    """Return the path of the level of a value; empty if it belongs to none."""
    part, *below = steps_of(path)
    return f"{part}.{below[0]}" if part in LEVELLED else ""


def missing(values: Layer, model: type[File]) -> Iterator[str]:
    """Yield the required paths of a kind of file that have no value."""
    names = {part: levels(values, part) for part in LEVELLED}
    for place in places(model):
        paths = map(place.path, names.get(place.steps[0], ("",)))
        yield from (path for path in paths if place.required and path not in values)


@cache
def declaration(path: str) -> Listed:
    """Return the declaration of the value at *path*, such as ``caches.L2.line``; that of a number if there is none."""
    every = (*places(ArchitectureFile), *places(DeviceFile))
    return next((place.declared for place in every if fnmatchcase(path, place.path())), Listed())


def file_schema(model: type[File]) -> Schema:
    """Return the JSON Schema of a kind of file."""
    classes = [(each, "validation") for each in dict.fromkeys((model, *(place.leaf for place in places(model))))]
    references, shared = models_json_schema(classes, schema_generator=Documented)  # type: ignore[arg-type]
    definitions: Schema = shared["$defs"]
    own, empty = definitions.pop(model.__name__), {"type": "null"}

    def described(known: Tree, path: str = "") -> Schema:
        properties = {key: of_field(each, f"{path}{key}") for key, each in known.items() if key != "*"}
        found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if each := known.get("*"):
            level = of_field(each, f"{path}*")
            bare = level.get("properties", {}).get("capacity", empty)
            found |= {"additionalProperties": {"anyOf": [level, bare, empty]}, "maxProperties": MOST_NAMES}
        return found

    def of_field(field: Any, path: str) -> Schema:  # noqa: ANN401
        if isinstance(field, Place):
            written = references[field.leaf, "validation"]
            return {"anyOf": [written] if field.required else [written, empty], "description": field.description}
        return own["properties"][path] if isinstance(field, FieldInfo) else described(field, f"{path}.")

    start = {"$schema": Documented.schema_dialect, "title": f"gpureport {model.__name__.removesuffix('File').lower()}"}
    found = {**start, **described(tree(model)), "required": own["required"], "$defs": definitions}
    if model is ArchitectureFile:  # one that extends another need not have all values
        needed: dict[str, list[str]] = {}
        for part, *below in (place.steps for place in places(model) if place.required):
            needed.setdefault(part, []).extend(below)
        parts = {part: {"required": below} for part, below in needed.items()}
        found |= {"if": {"required": ["extends"]}, "else": {"required": list(needed), "properties": parts}}
    return found


def combined(file: DeviceFile, architecture: ArchitectureFile, overlay: Layer | None = None) -> dict[str, Value]:
    """Return the values of a device: its own, those of its architecture, and an *overlay* for levels that it has."""
    values = {**architecture.values, **file.values}
    there = {level_of(path) for path in values} - file.without
    return {path: value for path, value in {**values, **(overlay or {})}.items() if level_of(path) in there}


def resolve(
    entry_id: str, file: DeviceFile, architecture: ArchitectureFile, overlay: Layer | None = None, where: str = "draft"
) -> models.Device:
    """Combine a device's file, its architecture's file and an *overlay* of reported values.

    An InputError, which begins with the file *where*, if a required value is missing.
    """
    values = combined(file, architecture, overlay)
    if (lacking := next(missing(values, DeviceFile), None)) is not None:
        raise InputError(f"{where}: {lacking} is missing in both the device and its architecture")
    if "link.kind" in values:
        link = build(models.Link, values, "link.")
        rate = link.bandwidth_bytes_per_s
        if link.kind == "pcie" and link.generation and link.lanes:
            rate = models.Link.pcie(link.generation, link.lanes).bandwidth_bytes_per_s
        values["link.bandwidth"] = Value(rate, values.get("link.bandwidth", values["link.kind"]).provenance)
    shared = build(models.Architecture, values, file=architecture, id=file.architecture)
    per_unit, listed = architecture.units_per_opencl_unit, values.get("opencl.compute_units")
    usual = max(1, round(values["compute_units"].value / per_unit)) if per_unit != 1 else None
    return build(
        models.Device,
        values,
        file=file,
        id=entry_id,
        kind=architecture.kind,
        architecture=shared,
        opencl_compute_units=listed.value if listed else usual,
        provenance={path: v.provenance for path, v in values.items() if not path.startswith(_NOT_OF_THE_DEVICE)},
        notes=(*file.notes, *architecture.notes),
    )


def build(model: type[R], values: Layer, prefix: str = "", file: File | None = None, **others: object) -> R:
    """Return a record with the values whose paths begin with *prefix*, the names and ids of a *file*, and *others*."""
    declarations = models.listed(model)
    copied = model.model_fields.keys() & type(file).model_fields.keys() - declarations.keys() if file else ()
    found: dict[str, object] = {field: getattr(file, field) for field in copied}
    for field, (key, declared) in declarations.items():
        path = f"{prefix}{key}"
        if declared.by_name:
            found[field] = {name: values[f"{path}.{name}"].value for name in levels(values, path)}
        elif path in values:
            found[field] = values[path].value
    for field, (record, several) in _parts_of(model).items():
        path = f"{prefix}{field}"
        if several:
            found[field] = [build(record, values, f"{path}.{name}.", name=name) for name in levels(values, path)]
        elif field not in others:
            found[field] = part_of(record, path, values)
    return model.model_validate(found | others)


@cache
def _parts_of(model: type[Record]) -> Mapping[str, tuple[type[Record], bool]]:
    """Return the records that a record contains, by field, and whether there may be several."""
    found = dict[str, tuple[type[Record], bool]]()
    for name in model.model_fields.keys() - models.listed(model).keys():
        whole = model.model_fields[name].annotation
        kind = next(iter(get_args(whole)), whole)
        if isinstance(kind, type) and issubclass(kind, Record):
            found[name] = kind, get_origin(whole) is tuple
    return found


def part_of(model: type[R], part: str, values: Layer) -> R | None:
    """Return a *part* of a file as a record; ``None`` without all of its required values."""
    needed = {key for field, (key, _) in models.listed(model).items() if model.model_fields[field].is_required()}
    return build(model, values, f"{part}.") if needed <= set(levels(values, part)) else None
