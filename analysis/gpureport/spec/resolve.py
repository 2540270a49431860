"""From files to a device: layers of values by dotted path, the later ones winning.

The architecture's file is the first layer, the device's the second; what was queried of a device that is
present, or of the host, may lie on top. Each value keeps where it came from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpureport.errors import InputError
from gpureport.records.provenance import Provenance
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.models import (
    SPECIAL_TRANSITIONS,
    AmdOccupancy,
    Architecture,
    Cache,
    CpuOccupancy,
    Device,
    IntelOccupancy,
    Launch,
    Memory,
    NvidiaOccupancy,
    OccupancyRules,
    PooledOccupancy,
    Transition,
)


@dataclass(frozen=True)
class Value:
    """A value in SI base units, and where it came from."""

    value: Any
    provenance: Provenance


Layer = Mapping[str, Value]
"""Values by dotted path: ``caches.L2.capacity``."""

_OCCUPANCY: dict[str, type[NvidiaOccupancy | AmdOccupancy | IntelOccupancy | PooledOccupancy | CpuOccupancy]] = {
    "nvidia": NvidiaOccupancy,
    "amd": AmdOccupancy,
    "intel": IntelOccupancy,
    "pooled": PooledOccupancy,
    "cpu": CpuOccupancy,
}
_REQUIRED = (
    "compute_units",
    "clock",
    "memory.size",
    "memory.bandwidth",
    "memory.efficiency",
    "memory.latency",
    "memory.access",
    "launch.single",
    "launch.batched",
    "launch.groups_per_cycle",
)
_REQUIRED_OF_A_CACHE = (
    "capacity",
    "scope",
    "line",
    "sector",
    "latency",
    "bandwidth",
    "bandwidth_transition",
    "latency_transition",
    "persistent",
)


def layer(file: ArchitectureFile | DeviceFile) -> dict[str, Value]:
    """Return a file's values by path, each with its own source or the file's default."""
    values = {}
    for path, leaf in file.leaves().items():
        key = leaf.source or (None if leaf.kind in ("assumed", "queried") else file.source)
        source = file.sources.get(key) if key else None
        kind = leaf.kind or (source.kind if source else "assumed")
        text, on = (source.text, source.measured_on) if source else ("", None)
        values[path] = Value(leaf.value, Provenance(kind=kind, source=text, note=leaf.note, measured_on=on))
    return values


def queried(value: object, source: str, note: str = "") -> Value:
    """Make a value that was asked of the device or the host; *source* names the query."""
    return Value(value, Provenance(kind="queried", source=source, note=note))


def assumed(value: object, note: str) -> Value:
    """Make a value that nothing backs but the reason in *note*."""
    return Value(value, Provenance(kind="assumed", source="", note=note))


def levels(architecture: ArchitectureFile, device: DeviceFile) -> tuple[str, ...]:
    """Return the cache levels, nearest first: the architecture's, then those that only the device lists."""
    names = dict.fromkeys((*architecture.caches, *device.caches))
    return tuple(name for name in names if device.caches.get(name, architecture.caches.get(name)) is not None)


def missing(values: Layer, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths without which there is no device."""
    yield from (path for path in _REQUIRED if path not in values)
    for name in names:
        yield from (p for key in _REQUIRED_OF_A_CACHE if (p := f"caches.{name}.{key}") not in values)


def resolve(entry_id: str, file: DeviceFile, architecture: ArchitectureFile, overlay: Layer | None = None) -> Device:
    """Put a device together from its file, its architecture's file and an *overlay* of queried values.

    Raises:
        InputError: a value is in none of them.
    """
    names = levels(architecture, file)
    values = {**layer(architecture), **layer(file), **(overlay or {})}
    lacking = next(missing(values, names), None)
    if lacking is not None:
        raise InputError(f"{entry_id}: {lacking} is missing: neither the device nor its architecture has it")
    kept = {path: v for path, v in values.items() if _belongs(path, names)}
    return Device(
        id=entry_id,
        name=file.name,
        vendor=file.vendor,
        kind=architecture.kind,
        architecture=_architecture(file.architecture, architecture, kept),
        compute_units=kept["compute_units"].value,
        clock_hz=kept["clock"].value,
        caches=tuple(_cache(name, kept) for name in names),
        memory=_memory(kept),
        launch=_launch(kept),
        opencl_names=file.opencl.names,
        opencl_compute_units=_opencl_units(architecture, kept),
        pci_ids=file.pci_ids,
        provenance={path: v.provenance for path, v in kept.items()},
        notes=(*file.notes, *architecture.notes),
    )


def _belongs(path: str, names: tuple[str, ...]) -> bool:
    """Whether a value is part of the device: not of a dropped level, nor for drafts, checks or the match only."""
    first, _, rest = path.partition(".")
    return (
        first not in ("typical", "flops")
        and path != "opencl.parts"
        and (first != "caches" or rest.split(".")[0] in names)
    )


def _opencl_units(architecture: ArchitectureFile, values: Layer) -> int | None:
    """Return what OpenCL reports as compute units, where it differs from what the device has."""
    if "opencl.compute_units" in values:
        return int(values["opencl.compute_units"].value)
    per_unit = architecture.units_per_opencl_unit
    return max(1, round(values["compute_units"].value / per_unit)) if per_unit != 1 else None


def _part(values: Layer, prefix: str) -> dict[str, Any]:
    """Return the values under *prefix* by the rest of their path."""
    return {p[len(prefix) :]: v.value for p, v in values.items() if p.startswith(prefix)}


def _cache(name: str, values: Layer) -> Cache:
    part = _part(values, f"caches.{name}.")
    return Cache(
        name=name,
        capacity_bytes=part["capacity"],
        scope=part["scope"],
        line_bytes=part["line"],
        sector_bytes=part["sector"],
        latency_cycles=part["latency"],
        bandwidth_bytes_per_cycle=part["bandwidth"],
        bandwidth_transition=_transition(part["bandwidth_transition"]),
        latency_transition=_transition(part["latency_transition"]),
        persistent=part["persistent"],
        unified_with_local_memory=part.get("unified_with_local_memory", False),
        **{name: _transition(part[name]) for name in SPECIAL_TRANSITIONS if name in part},
        partitions=part.get("partitions", 1),
        far_latency_cycles=part.get("far_latency"),
    )


def _transition(shares: tuple[float, float, float]) -> Transition:
    onset, midpoint, end = shares
    return Transition(onset=onset, midpoint=midpoint, end=end)


def _memory(values: Layer) -> Memory:
    part = _part(values, "memory.")
    return Memory(
        size_bytes=part["size"],
        bandwidth_bytes_per_s=part["bandwidth"],
        efficiency=part["efficiency"],
        latency_cycles=part["latency"],
        access_bytes=part["access"],
    )


def _launch(values: Layer) -> Launch:
    part = _part(values, "launch.")
    return Launch(single_s=part["single"], batched_s=part["batched"], groups_per_cycle=part["groups_per_cycle"])


_OPTIONAL = (
    "lines_per_access",
    "sector_writes_per_cycle",
    "line_writes_per_cycle",
    "barrier_cycles",
    "turnover_cycles",
)


def _architecture(name: str, file: ArchitectureFile, values: Layer) -> Architecture:
    return Architecture(
        id=name,
        name=file.name,
        vendor=file.vendor,
        kind=file.kind,
        wave_size=values["wave_size"].value,
        max_work_group=values["max_work_group"].value,
        occupancy=_occupancy(file, values),
        schedulers=values["schedulers"].value,
        rates_per_cycle=_part(values, "rates."),
        latency_cycles=_part(values, "latencies."),
        pipes=_part(values, "pipes."),
        local_memory_banks=values["local_memory_banks"].value,
        write_allocate=values["write_allocate"].value,
        loaded_latency_factor=values["loaded_latency_factor"].value,
        **{name: values[name].value for name in _OPTIONAL if name in values},
    )


def _occupancy(file: ArchitectureFile, values: Layer) -> OccupancyRules:
    """Make the occupancy rules; sizes gain the unit that the record's field names carry."""
    part = _part(values, "occupancy.")
    sizes = ("local_memory", "carveouts")
    named = {f"{key}_bytes" if key.startswith(sizes) else key: value for key, value in part.items()}
    if file.occupancy.rule == "nvidia":
        named.setdefault("local_memory_reserved_bytes", 0)
    return _OCCUPANCY[file.occupancy.rule].model_validate(named)
