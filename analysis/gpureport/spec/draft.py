"""What is known of a device without an entry, and of an architecture on its first day."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gpureport.errors import InputError
from gpureport.spec import reported
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.models import Cache, Device, PresentDevice, without_registers
from gpureport.spec.resolve import Value, assumed, layer, queried, required, resolve
from gpureport.text import legible

if TYPE_CHECKING:
    from gpureport.spec.database import Database

GENERIC = "generic_gpu"
_MOST_CHARACTERS = 200
_FIXED = ("occupancy.", "pipes.", "typical.")
"""Parts of an architecture that only its own file describes."""


def family(database: "Database", present: PresentDevice) -> str:
    """Return the architecture whose patterns match the device, else NVIDIA's next older one, else the generic one."""
    if present.is_cpu:
        return database.host.family
    capability = "sm_" + present.compute_capability.replace(".", "") if present.compute_capability else ""
    names = [name.lower() for name in (capability, present.name) if name]
    older = [(0, GENERIC)]
    for key in sorted(database.architecture_paths):
        for pattern in database.architecture(key).matches:
            if any(fnmatchcase(name, pattern.lower()) for name in names):
                return key
            number = re.fullmatch(r"sm_(\d+)", pattern)
            if number and capability and int(number[1]) <= int(capability.removeprefix("sm_")):
                older.append((int(number[1]), key))
    return max(older)[1]


def draft_values(present: PresentDevice, architecture: ArchitectureFile) -> dict[str, Value]:
    """Return reported values, and typical values in proportion to the compute units for the rest."""
    counted = _units(present, architecture)
    units = counted.value
    values = {
        "compute_units": counted,
        "clock": _reported(reported.clock_hz(present), "CL_DEVICE_MAX_CLOCK_FREQUENCY", 1e9),
        "memory.size": _reported(reported.memory_bytes(present), "CL_DEVICE_GLOBAL_MEM_SIZE", 2.0**30),
    }
    typical = architecture.typical
    if typical.bandwidth is not None:
        note = f"{typical.bandwidth.value / 1e9:g} GB/s per compute unit for {units} compute units"
        values["memory.bandwidth"] = assumed(typical.bandwidth.value * units, note)
    # Intel reports this level; NVIDIA and AMD the sum or the size of their first one (AdaptiveCpp/AdaptiveCpp#929).
    size = reported.cache_bytes(present) if architecture.vendor == "Intel" else None
    for level, leaf in typical.capacities.items():
        note = f"{leaf.value / 1024:g} KiB per compute unit for {units} compute units; OpenCL does not report {level}"
        guess = assumed(leaf.value * units, note)
        query = "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE"
        values[f"caches.{level}.capacity"] = guess if size is None else queried(float(size), query)
    wave_size = reported.wave_size(present)
    if wave_size is not None and not without_registers(wave_size, architecture.occupancy):
        values["wave_size"] = queried(wave_size, "sub-group, warp or wavefront size")
    return values | reported.link_values(present.link_generation, present.link_lanes)


def _units(present: PresentDevice, architecture: ArchitectureFile) -> Value:
    units = reported.compute_units(present)
    if units is None:
        least = max(1, round(architecture.units_per_opencl_unit))
        return assumed(least, "the device does not report a plausible number")
    per_unit = 1 if reported.is_mesa(present) else architecture.units_per_opencl_unit
    kind = "vector engines" if per_unit < 1 else "work-group processors"  # a part of a unit (Intel), or two (AMD)
    counted = f"{units} {kind}" if per_unit != 1 else ""
    return queried(max(1, round(units * per_unit)), "CL_DEVICE_MAX_COMPUTE_UNITS", counted)


def _reported(value: float | None, query: str, default: float) -> Value:
    return assumed(default, "the device reports no plausible value") if value is None else queried(float(value), query)


def draft_device(database: "Database", present: PresentDevice) -> Device:
    """Make a device without an entry; its id is ``draft``."""
    key = family(database, present)
    architecture = database.architecture(key)
    values = draft_values(present, architecture) | (reported.limits(present) if key == GENERIC else {})
    file = DeviceFile(name=named(present.name), vendor=named(present.vendor), architecture=key)
    return resolve("draft", file, architecture, values)


def named(text: str) -> str:
    """Return a driver's name for something as text for a file: not empty, not too long, legible."""
    return legible(text.strip()[:_MOST_CHARACTERS]) or "unnamed"


def first_day(database: "Database", architecture: str) -> "Database":
    """Return *database* with the values that devices of a GPU *architecture* get before anything is measured on them.

    Documented values stay. All others come from the predecessor, unless they were measured on a device of
    *architecture*: then from the predecessor's predecessor, and so on. A value that none of them has is omitted if it
    is optional, else it stays.

    Raises:
        InputError: an architecture's file is missing or has errors.
    """
    file = database.architecture(architecture)
    devices = {entry.id for entry in database.entries.values() if entry.file.architecture == architecture}
    own, values = layer(file), dict[str, Value]()
    levels = tuple(f"caches.{name}." for name in file.caches)
    values |= {path: own[path] for path in own if path.startswith(levels) and path.endswith(required(Cache))}
    for name in reversed(list(predecessors(database, architecture))):
        values |= {
            path: value
            for path, value in layer(database.architecture(name)).items()
            if devices.isdisjoint(value.provenance.measured_on)
            and not path.startswith(_FIXED)
            and (path.startswith(levels) or not path.startswith("caches."))
        }
    values |= {path: value for path, value in own.items() if documented(value) or path.startswith(_FIXED)}
    return replace(database, shared={**database.shared, architecture: values})


def predecessors(database: "Database", architecture: str) -> Iterator[str]:
    """Yield the architectures before this one, the latest first.

    Raises:
        InputError: one of them does not exist, or follows itself.
    """
    seen = [architecture]
    while seen[-1] != GENERIC:
        seen.append(database.architecture(seen[-1]).predecessor or GENERIC)
        if seen[-1] in seen[:-1]:
            chain = ", ".join(seen)
            raise InputError(f"architecture {seen[-1]}: predecessor: it follows itself; correct one of {chain}")
        yield seen[-1]


def documented(value: Value) -> bool:
    """Return whether a value comes from documents or from a driver, also if it is uncertain."""
    origin = value.provenance
    return not origin.measured_on and (bool(origin.source) or origin.kind == "queried")
