"""From files to a device: layers of values by dotted path; later layers override earlier ones.

The first layer is the architecture's file, the second the device's. Values that a device or the operating system
reports may form a third. Each value has its provenance.
"""

from typing import TypeVar

from gpureport.errors import InputError
from gpureport.records.curves import Record
from gpureport.spec.files import ArchitectureFile, DeviceFile, File, level_of, levels, missing
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
from gpureport.spec.values import Layer, Value

R = TypeVar("R", bound=Record)
_NOT_OF_THE_DEVICE = ("typical.", "flops", "core.", "streams.", "opencl.parts")
"""Beginnings of paths of values for drafts and checks, and of the cores of CPUs."""


def combined(file: DeviceFile, architecture: ArchitectureFile, overlay: Layer | None = None) -> Layer:
    """Return the values of a device: its own, those of its architecture, and an *overlay* for levels that it has."""
    values = {**architecture.values, **file.values}
    there = {level_of(path) for path in values} - file.without
    return {path: value for path, value in {**values, **(overlay or {})}.items() if level_of(path) in there}


def resolve(
    entry_id: str,
    file: DeviceFile,
    architecture: ArchitectureFile,
    overlay: Layer | None = None,
    where: str = "draft",
) -> Device:
    """Combine a device's file, its architecture's file and an *overlay* of reported values.

    An InputError, which begins with the file *where*, if a required value is missing.
    """
    values = combined(file, architecture, overlay)
    lacking = next(missing(values, DeviceFile), None)
    if lacking is not None:
        raise InputError(f"{where}: {lacking} is missing in both the device and its architecture")
    kept = {path: value for path, value in values.items() if not path.startswith(_NOT_OF_THE_DEVICE)}
    link = build(Link, kept, "link.") if "link.kind" in kept else None
    if link:
        if link.kind == "pcie" and link.generation and link.lanes:
            rate = Link.pcie(link.generation, link.lanes).bandwidth_bytes_per_s
            link = link.model_copy(update={"bandwidth_bytes_per_s": rate})
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
            core=record_of(CoreType, "core", architecture),
            streams=record_of(StreamType, "streams", architecture),
        ),
        caches=tuple(build(Cache, kept, f"caches.{name}.", name=name) for name in levels(kept, "caches")),
        tlb=tuple(build(Tlb, kept, f"tlb.{name}.", name=name) for name in levels(kept, "tlb")),
        memory=build(Memory, kept, "memory."),
        launch=build(Launch, kept, "launch."),
        link=link,
        opencl_compute_units=_opencl_units(architecture, kept),
        provenance={path: v.provenance for path, v in kept.items()},
        notes=(*file.notes, *architecture.notes),
    )


def _opencl_units(architecture: ArchitectureFile, values: Layer) -> int | None:
    if "opencl.compute_units" in values:
        return int(values["opencl.compute_units"].value)
    per_unit = architecture.units_per_opencl_unit
    return max(1, round(values["compute_units"].value / per_unit)) if per_unit != 1 else None


def build(model: type[R], values: Layer, prefix: str = "", file: File | None = None, **others: object) -> R:
    """Return a record with the values whose paths begin with *prefix*, the names and ids of a *file*, and *others*."""
    declarations = listed(model)
    copied = model.model_fields.keys() & type(file).model_fields.keys() - declarations.keys() if file else ()
    found: dict[str, object] = {field: getattr(file, field) for field in copied}
    for field, (key, declared) in declarations.items():
        path = f"{prefix}{key}"
        if declared.by_name:
            found[field] = {name: values[f"{path}.{name}"].value for name in levels(values, path)}
        elif path in values:
            found[field] = values[path].value
    return model.model_validate(found | others)


def record_of(model: type[R], part: str, architecture: ArchitectureFile) -> R | None:
    """Return a *part* of an architecture as a record; ``None`` without all of its required values."""
    needed = {key for field, (key, _) in listed(model).items() if model.model_fields[field].is_required()}
    values = architecture.values
    return build(model, values, f"{part}.") if needed <= set(levels(values, part)) else None
