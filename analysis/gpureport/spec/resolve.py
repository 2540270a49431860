"""From files to a device: layers of values by dotted path; later layers override earlier ones.

The first layer is the architecture's file, the second the device's. Values that a device or the operating system
reports may form a third. Each value has its provenance.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from gpureport.errors import InputError
from gpureport.records.keys import Record
from gpureport.records.provenance import Provenance
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.models import (
    SCALARS,
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
    Transition,
    yaml_values,
)
from gpureport.spec.values import Strict


@dataclass(frozen=True)
class Value:
    """A value in SI base units, and its provenance."""

    value: Any
    provenance: Provenance


R = TypeVar("R", bound=Record)
Layer = Mapping[str, Value]
"""Values by dotted path: ``caches.L2.capacity``."""

_OCCUPANCY: dict[str, type[OccupancyRules]] = {
    rules.model_fields["rule"].default: rules for rules in get_args(OccupancyRules)
}


_NOT_OF_THE_DEVICE = ("typical", "flops", "core", "streams")
"""Parts of a file for drafts and checks, and of the cores of CPUs."""
_REQUIRED = (
    *("compute_units", "clock"),
    *(f"memory.{key}" for name, (key, _) in yaml_values(Memory).items() if Memory.model_fields[name].is_required()),
    *(f"launch.{key}" for key, _ in yaml_values(Launch).values()),
)
_REQUIRED_OF_A_TLB = tuple(key for name, (key, _) in yaml_values(Tlb).items() if Tlb.model_fields[name].is_required())
REQUIRED_OF_A_CACHE = tuple(
    key for name, (key, _) in yaml_values(Cache).items() if Cache.model_fields[name].is_required()
)
"""Keys of the values that every cache level has."""


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


def missing(values: Layer, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the required paths that have no value."""
    yield from (path for path in _REQUIRED if path not in values)
    for name in names:
        yield from (p for key in REQUIRED_OF_A_CACHE if (p := f"caches.{name}.{key}") not in values)
    for name in [
        path.split(".")[1] for path in values if path.startswith("tlb.") and path.endswith((".entries", ".reach"))
    ]:
        yield from (p for key in _REQUIRED_OF_A_TLB if (p := f"tlb.{name}.{key}") not in values)


def resolve(
    entry_id: str,
    file: DeviceFile,
    architecture: ArchitectureFile,
    overlay: Layer | None = None,
    shared: Layer | None = None,
) -> Device:
    """Combine a device's file, its architecture's file and an *overlay* of reported values.

    *shared* replaces the values of the architecture's file.

    Raises:
        InputError: a required value is missing.
    """
    names = levels(architecture.caches, file.caches)
    values = {**(shared or layer(architecture)), **layer(file), **(overlay or {})}
    lacking = next(missing(values, names), None)
    if lacking is not None:
        raise InputError(f"{entry_id}: {lacking} is missing in both the device and its architecture")
    kept = {path: v for path, v in values.items() if _belongs(path, names)}
    if link := _link(_part(kept, "link.")):
        kept.setdefault("link.bandwidth", Value(link.bandwidth_bytes_per_s, kept["link.kind"].provenance))
    return Device(
        id=entry_id,
        name=file.name,
        vendor=file.vendor,
        kind=architecture.kind,
        architecture=_architecture(file.architecture, architecture, kept),
        compute_units=kept["compute_units"].value,
        clock_hz=kept["clock"].value,
        caches=tuple(_level(Cache, name, _part(kept, f"caches.{name}.")) for name in names),
        tlb=tuple(
            _level(Tlb, name, part)
            for name in levels(architecture.tlb, file.tlb)
            if _is_known(part := _part(kept, f"tlb.{name}."))
        ),
        memory=Memory(**_fields(Memory, _part(kept, "memory."))),
        launch=Launch(**_fields(Launch, _part(kept, "launch."))),
        link=link,
        board_power_w=kept["board_power"].value if "board_power" in kept else None,
        opencl_names=file.opencl.names,
        opencl_compute_units=_opencl_units(architecture, kept),
        pci_ids=file.pci_ids,
        provenance={path: v.provenance for path, v in kept.items()},
        notes=(*file.notes, *architecture.notes),
    )


def _belongs(path: str, names: tuple[str, ...]) -> bool:
    """Whether a value is part of the device: not of a removed level, and not only of its file."""
    first, *rest = path.split(".")
    return first not in _NOT_OF_THE_DEVICE and path != "opencl.parts" and (first != "caches" or rest[0] in names)


def _opencl_units(architecture: ArchitectureFile, values: Layer) -> int | None:
    if "opencl.compute_units" in values:
        return int(values["opencl.compute_units"].value)
    per_unit = architecture.units_per_opencl_unit
    return max(1, round(values["compute_units"].value / per_unit)) if per_unit != 1 else None


def _part(values: Layer, prefix: str) -> dict[str, Any]:
    return {p[len(prefix) :]: v.value for p, v in values.items() if p.startswith(prefix)}


def _fields(model: type[Record], part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of *part* by field of *model*."""
    return {name: part[key] for name, (key, _) in yaml_values(model).items() if key in part}


def _level(model: type[R], name: str, part: Mapping[str, Any]) -> R:
    """Return a level of caches or of the TLB with the values in *part*."""
    ranges = {key: dict(zip(Transition.model_fields, part[key], strict=True)) for key in part if "transition" in key}
    return model(name=name, **_fields(model, {**part, **ranges}))


def _link(part: Mapping[str, Any]) -> Link | None:
    if not part:
        return None
    others = {f"{key}_s": part[key] for key in ("latency", "call") if key in part}
    others["peer_bandwidth_bytes_per_s"] = part.get("peer_bandwidth")
    if part["kind"] == "pcie":
        return Link.pcie(part["generation"], part["lanes"]).model_copy(update=others)
    return Link(kind=part["kind"], bandwidth_bytes_per_s=part.get("bandwidth", 0.0), **others)


def _is_known(part: Mapping[str, Any]) -> bool:
    """Whether a level of the translation lookaside buffers has all values; not on a device's first day."""
    return part.keys() >= set(_REQUIRED_OF_A_TLB) and not part.keys().isdisjoint(("entries", "reach"))


def _architecture(name: str, file: ArchitectureFile, values: Layer) -> Architecture:
    rules = _OCCUPANCY[file.occupancy.rule]
    return Architecture(
        id=name,
        name=file.name,
        vendor=file.vendor,
        kind=file.kind,
        occupancy=rules(**_fields(rules, {"local_memory_reserved": 0} | _part(values, "occupancy."))),
        rates_per_cycle=_part(values, "rates."),
        latency_cycles=_part(values, "latencies."),
        pipes=_part(values, "pipes."),
        write_allocate=values["write_allocate"].value,
        core=record_of(CoreType, file.core),
        streams=record_of(StreamType, file.streams),
        **{name: values[name].value for name in SCALARS if name in values},
    )


def record_of(model: type[R], part: Strict) -> R | None:
    """Return a *part* of a file as a record; ``None`` without all of its values."""
    fields = _fields(model, {key: leaf.value for key, leaf in part.leaves().items()})
    return model(**fields) if fields.keys() == model.model_fields.keys() else None
