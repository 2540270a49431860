"""From files to a device: layers of values by dotted path; later layers override earlier ones.

The first layer is the architecture's file, the second the device's. Values that a device or the operating system
reports may form a third. Each value has its provenance.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gpureport.errors import InputError
from gpureport.records.curves import Record
from gpureport.spec.files import ArchitectureFile, DeviceFile, File
from gpureport.spec.models import (
    Architecture,
    Cache,
    CoreType,
    Device,
    Launch,
    Link,
    Memory,
    OccupancyRules,
    StreamType,
    Tlb,
    listed,
)
from gpureport.spec.values import Provenance, Strict


@dataclass(frozen=True)
class Value:
    """A value in SI base units, and its provenance."""

    value: Any
    provenance: Provenance


R = TypeVar("R", bound=Record)
Layer = Mapping[str, Value]
"""Values by dotted path: ``caches.L2.capacity``."""
_NOT_OF_THE_DEVICE = ("typical.", "flops", "core.", "streams.", "opencl.parts")
"""Beginnings of paths of values for drafts and checks, and of the cores of CPUs."""


def required(record: type[Record]) -> tuple[str, ...]:
    """Return the keys of the values that every *record* has."""
    return tuple(key for field, (key, _) in listed(record).items() if record.model_fields[field].is_required())


def layer(file: ArchitectureFile | DeviceFile) -> dict[str, Value]:
    """Return a file's values by path, each with its own source or the file's default."""
    values = {}
    for path, leaf in file.leaves().items():
        key = leaf.source or (None if leaf.kind in ("assumed", "queried") else file.source)
        source = file.sources.get(key) if key else None
        kind = leaf.kind or (source.kind if source else "assumed")
        text, on = (source.text, source.measured_on) if source else ("", ())
        values[path] = Value(leaf.value, Provenance(kind=kind, source=text, note=leaf.note, measured_on=on))
    return values


def queried(value: object, source: str, note: str = "") -> Value:
    """Make a value that the device or the operating system reports; *source* names the query."""
    return Value(value, Provenance(kind="queried", source=source, note=note))


def assumed(value: object, note: str) -> Value:
    """Make a value without a source; *note* gives the reason for it."""
    return Value(value, Provenance(kind="assumed", source="", note=note))


def levels(architecture: Mapping[str, object], device: Mapping[str, object]) -> tuple[str, ...]:
    """Return the levels of caches or of the TLB, nearest first: the architecture's, then those only of the device."""
    both = {**architecture, **device}
    return tuple(name for name, fields in both.items() if fields is not None)


def missing(values: Layer, architecture: ArchitectureFile, file: DeviceFile) -> Iterator[str]:
    """Yield the required paths that have no value."""
    parts: dict[str, type[Record]] = {"": Device, "memory.": Memory, "launch.": Launch}
    parts |= {f"caches.{name}.": Cache for name in levels(architecture.caches, file.caches)}
    parts |= {f"tlb.{name}.": Tlb for name in levels(architecture.tlb, file.tlb)}
    for path, record in parts.items():
        yield from (f"{path}{key}" for key in required(record) if f"{path}{key}" not in values)


def resolve(
    entry_id: str,
    file: DeviceFile,
    architecture: ArchitectureFile,
    overlay: Layer | None = None,
    where: str = "draft",
) -> Device:
    """Combine a device's file, its architecture's file and an *overlay* of reported values.

    *where* is the file for errors.

    Raises:
        InputError: a required value is missing.
    """
    values = {**layer(architecture), **layer(file), **(overlay or {})}
    lacking = next(missing(values, architecture, file), None)
    if lacking is not None:
        raise InputError(f"{where}: {lacking} is missing in both the device and its architecture")
    caches = levels(architecture.caches, file.caches)
    removed = {**architecture.caches, **file.caches}.keys() - set(caches)
    others = (*_NOT_OF_THE_DEVICE, *(f"caches.{name}." for name in removed))
    kept = {path: value for path, value in values.items() if not path.startswith(others)}
    if link := _link(kept):
        kept.setdefault("link.bandwidth", Value(link.bandwidth_bytes_per_s, kept["link.kind"].provenance))
    return build(
        Device,
        kept,
        file=file,
        id=entry_id,
        kind=architecture.kind,
        architecture=build(
            Architecture,
            kept,
            file=architecture,
            id=file.architecture,
            occupancy=build(OccupancyRules, kept, "occupancy."),
            core=record_of(CoreType, architecture.core),
            streams=record_of(StreamType, architecture.streams),
        ),
        caches=tuple(build(Cache, kept, f"caches.{name}.", name=name) for name in caches),
        tlb=tuple(build(Tlb, kept, f"tlb.{name}.", name=name) for name in levels(architecture.tlb, file.tlb)),
        memory=build(Memory, kept, "memory."),
        launch=build(Launch, kept, "launch."),
        link=link,
        opencl_names=file.opencl.names,
        opencl_compute_units=_opencl_units(architecture, kept),
        provenance={path: v.provenance for path, v in kept.items()},
        notes=(*file.notes, *architecture.notes),
    )


def _opencl_units(architecture: ArchitectureFile, values: Layer) -> int | None:
    if "opencl.compute_units" in values:
        return int(values["opencl.compute_units"].value)
    per_unit = architecture.units_per_opencl_unit
    return max(1, round(values["compute_units"].value / per_unit)) if per_unit != 1 else None


def _link(values: Layer) -> Link | None:
    if "link.kind" not in values:
        return None
    link = build(Link, values, "link.")
    if link.kind != "pcie" or link.generation is None or link.lanes is None:
        return link
    of_lanes = Link.pcie(link.generation, link.lanes)
    return link.model_copy(update={"bandwidth_bytes_per_s": of_lanes.bandwidth_bytes_per_s})


def build(model: type[R], values: Layer, prefix: str = "", file: File | None = None, **others: object) -> R:
    """Return a record with the values whose paths begin with *prefix*, the names and ids of a *file*, and *others*."""
    declarations = listed(model)
    copied = model.model_fields.keys() & type(file).model_fields.keys() - declarations.keys() if file else ()
    found: dict[str, object] = {field: getattr(file, field) for field in copied}
    for field, (key, declared) in declarations.items():
        path = f"{prefix}{key}"
        if declared.by_name:
            found[field] = {p[len(path) + 1 :]: v.value for p, v in values.items() if p.startswith(f"{path}.")}
        elif path in values:
            found[field] = values[path].value
    return model.model_validate(found | others)


def record_of(model: type[R], part: Strict) -> R | None:
    """Return a *part* of a file as a record; ``None`` without all of its required values."""
    leaves = part.leaves()
    fields = {field: leaves[key].value for field, (key, _) in listed(model).items() if key in leaves}
    return model.model_validate(fields) if leaves.keys() >= set(required(model)) else None
