"""An entry for a device that has none: what it says of itself, the rest from its architecture's family."""

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.resolve import Value, assumed, queried, resolve

if TYPE_CHECKING:
    from gpureport.spec.database import Database

GENERIC = "generic_gpu"
_MOST_CHARACTERS = 200
_LEAST_CLOCK_HZ, _ASSUMED_CLOCK_HZ = 50e6, 1e9


def family(database: "Database", present: PresentDevice) -> str:
    """Return the architecture whose patterns fit the device best: exactly, else NVIDIA's next older, else generic."""
    if present.kind == "cpu":
        return "x86_64"
    capability = "sm_" + present.compute_capability.replace(".", "") if present.compute_capability else ""
    names = [name for name in (capability, present.name) if name]
    for key in sorted(database.architecture_paths):
        patterns = database.architecture(key).matches
        if any(fnmatchcase(name.lower(), pattern.lower()) for name in names for pattern in patterns):
            return key
    return _next_older(database, capability) or GENERIC


def _next_older(database: "Database", capability: str) -> str | None:
    """Return the newest NVIDIA architecture that is older than an unknown compute capability."""
    if not capability:
        return None
    known = [
        (int(number[1]), key)
        for key in database.architecture_paths
        for pattern in database.architecture(key).matches
        if (number := re.fullmatch(r"sm_(\d+)", pattern)) and int(number[1]) <= int(capability[3:])
    ]
    return max(known)[1] if known else None


def draft_values(present: PresentDevice, architecture: ArchitectureFile) -> dict[str, Value]:
    """Return what the device says of itself, and assumptions in proportion to its compute units for the rest."""
    units = present.compute_units * architecture.units_per_opencl_unit
    doubled = f"{present.compute_units} work-group processors" if units != present.compute_units else ""
    values = {
        "compute_units": queried(units, "CL_DEVICE_MAX_COMPUTE_UNITS", doubled),
        "clock": _clock(present),
        "memory.size": queried(float(present.global_memory_bytes), "CL_DEVICE_GLOBAL_MEM_SIZE"),
    }
    typical = architecture.typical
    if typical.bandwidth is not None:
        note = f"{typical.bandwidth.value / 1e9:g} GB/s for each of {units} compute units"
        values["memory.bandwidth"] = assumed(typical.bandwidth.value * units, note)
    for level, leaf in typical.capacities.items():
        values[f"caches.{level}.capacity"] = _capacity(present, architecture, level, leaf.value, units)
    if present.wave_width:
        values["wave_width"] = queried(present.wave_width, "sub-group, warp or wavefront width")
    return values


def _clock(present: PresentDevice) -> Value:
    if present.clock_hz and present.clock_hz >= _LEAST_CLOCK_HZ:
        return queried(present.clock_hz, "CL_DEVICE_MAX_CLOCK_FREQUENCY")
    return assumed(_ASSUMED_CLOCK_HZ, "the device does not tell a plausible clock")


def _capacity(present: PresentDevice, architecture: ArchitectureFile, level: str, per_unit: float, units: int) -> Value:
    """Take a device-wide capacity from the query where the vendor reports that level, else from the family."""
    # NVIDIA and AMD report the sum or the size of their first level instead (AdaptiveCpp/AdaptiveCpp#929).
    if architecture.vendor == "Intel" and present.global_cache_bytes > 0:
        return queried(float(present.global_cache_bytes), "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE")
    note = f"{per_unit / 1024:g} KiB for each of {units} compute units; {level} is not reported by OpenCL"
    return assumed(per_unit * units, note)


def draft_device(database: "Database", present: PresentDevice) -> Device:
    """Make a device for which the database has no entry; its id is ``draft``."""
    key = family(database, present)
    architecture = database.architecture(key)
    values = draft_values(present, architecture)
    if key == GENERIC:
        values["occupancy.local_memory"] = queried(float(present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")
        values["max_work_group"] = queried(present.max_work_group, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
    file = DeviceFile(name=named(present.name), vendor=named(present.vendor), architecture=key)
    return resolve("draft", file, architecture, values)


def named(text: str) -> str:
    """Return what a driver calls something as a file may hold it: not empty, not too long."""
    return text.strip()[:_MOST_CHARACTERS] or "unnamed"
