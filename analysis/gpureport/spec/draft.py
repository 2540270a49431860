"""An entry for a device that has none: what it says of itself, the rest from its architecture's family."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from gpureport.spec import reported
from gpureport.spec.corrections import limits, of_host
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.resolve import Value, assumed, queried, resolve
from gpureport.text import legible

if TYPE_CHECKING:
    from gpureport.spec.database import Database

Measured = Mapping[str, tuple[float, str, str]]
"""Measured values by path: value in SI base units, unit as in ``records`` (``B``, ``B/s``, ``cycles``), how."""

GENERIC = "generic_gpu"
_MOST_CHARACTERS = 200
_ASSUMED_CLOCK_HZ = 1e9
_ASSUMED_MEMORY_BYTES = 2.0**30
_SCALES = {
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB")),
    "B/s": ((1e9, "GB/s"),),
    "Hz": ((1e9, "GHz"),),
    "s": ((1e-6, "us"),),
}
_WRITTEN = ("compute_units", "clock", "memory", "caches", "launch")
_PAIRS, _PARTS = "work-group processors", "vector engines"
"""What OpenCL counts instead of compute units: two of them (AMD), or a part of one (Intel)."""
_UNITS = {"clock": "Hz", "memory.size": "B", "memory.bandwidth": "B/s"}


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
    counted = _units(present, architecture)
    units = counted.value
    values = {"compute_units": counted, "clock": _clock(present), "memory.size": _memory(present)}
    typical = architecture.typical
    if typical.bandwidth is not None:
        note = f"{typical.bandwidth.value / 1e9:g} GB/s for each of {units} compute units"
        values["memory.bandwidth"] = assumed(typical.bandwidth.value * units, note)
    for level, leaf in typical.capacities.items():
        values[f"caches.{level}.capacity"] = _capacity(present, architecture, level, leaf.value, units)
    if present.wave_width:
        values["wave_width"] = queried(present.wave_width, "sub-group, warp or wavefront width")
    return values


def _units(present: PresentDevice, architecture: ArchitectureFile) -> Value:
    reported_units = reported.compute_units(present)
    if reported_units is None:
        return assumed(max(1, round(architecture.units_per_opencl_unit)), "the device does not tell a plausible number")
    per_unit = 1 if reported.counts_whole_units(present) else architecture.units_per_opencl_unit
    counted = f"{reported_units} {_PARTS if per_unit < 1 else _PAIRS}" if per_unit != 1 else ""
    return queried(max(1, round(reported_units * per_unit)), "CL_DEVICE_MAX_COMPUTE_UNITS", counted)


def _clock(present: PresentDevice) -> Value:
    clock = reported.clock_hz(present)
    if clock is None:
        return assumed(_ASSUMED_CLOCK_HZ, "the device does not tell a plausible clock")
    return queried(clock, "CL_DEVICE_MAX_CLOCK_FREQUENCY")


def _memory(present: PresentDevice) -> Value:
    size = reported.memory_bytes(present)
    if size is None:
        return assumed(_ASSUMED_MEMORY_BYTES, "the device does not tell")
    return queried(float(size), "CL_DEVICE_GLOBAL_MEM_SIZE")


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
        values |= limits(present)
    file = DeviceFile(name=_named(present.name), vendor=_named(present.vendor), architecture=key)
    return resolve("draft", file, architecture, values)


def _named(text: str) -> str:
    """Return what a driver calls something as a file may hold it: not empty, not too long, legible."""
    return legible(text.strip()[:_MOST_CHARACTERS]) or "unnamed"


def draft_yaml(present: PresentDevice, database: "Database", measured: Measured | None = None) -> str:
    """Write a commented device file for *present* that validates, saying of each value where it came from.

    Args:
        present: the device.
        database: where its architecture is looked up.
        measured: values by path that replace queried and assumed ones.
    """
    key = family(database, present)
    if present.kind == "cpu":
        values = of_host(database.host, present)
    else:
        values = draft_values(present, database.architecture(key))
    leaves = {p: _leaf(p, v) for p, v in values.items() if p.split(".")[0] in _WRITTEN}
    leaves |= {path: _measured_leaf(*value) for path, value in (measured or {}).items()}
    return "\n".join(_document(present, key, leaves)) + "\n"


def _document(present: PresentDevice, architecture: str, leaves: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the file."""
    yield "# yaml-language-server: $schema=../device.schema.json"
    yield "# A draft: 'queried' was asked of the device, 'measured' was measured on it, 'assumed' is a guess."
    yield "# Replace assumed values by documented ones, and give their source."
    yield f"name: {json.dumps(_named(present.name))}"
    yield f"vendor: {json.dumps(_named(present.vendor))}"
    yield f"architecture: {architecture}"
    yield "sources:"
    yield f"  device: {{text: {json.dumps(f'{present.platform}, driver {present.driver}')}, kind: queried}}"
    for path in ("compute_units", "clock"):
        yield f"{path}: {leaves[path]}"
    for group in ("memory", "caches", "launch"):
        yield from _group(group, {p: leaf for p, leaf in leaves.items() if p.startswith(f"{group}.")})
    yield "opencl:"
    yield f"  names: [{json.dumps(_named(present.name))}]"
    if present.compute_units != 0 and any(counted in leaves["compute_units"] for counted in (_PAIRS, _PARTS)):
        yield f"  compute_units: {{value: {present.compute_units}, source: device}}"
    if present.pci_id and re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", present.pci_id.lower()):
        yield f"pci_ids: [{json.dumps(present.pci_id.lower())}]"


def _group(group: str, leaves: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of one group, its levels nested."""
    if leaves:
        yield f"{group}:"
    level = ""
    for path in sorted(leaves):
        *between, name = path.split(".")[1:]
        if between and between[0] != level:
            level = between[0]
            yield f"  {level}:"
        yield f"{'    ' if between else '  '}{name}: {leaves[path]}"


def _leaf(path: str, value: Value) -> str:
    """Write one value as ``{value: …, kind: …, note: …}``."""
    unit = _UNITS.get(path, "B" if path.endswith("capacity") else "")
    provenance = value.provenance
    origin = "source: device, " if provenance.kind == "queried" else ""
    note = "; ".join(part for part in (provenance.source, provenance.note) if part)
    return f"{{value: {_text(value.value, unit)}, {origin}kind: {provenance.kind}, note: {json.dumps(note)}}}"


def _measured_leaf(value: float, unit: str, how: str) -> str:
    return f"{{value: {_text(value, unit)}, source: device, kind: measured, note: {json.dumps(how)}}}"


def _text(value: float, unit: str) -> str:
    """Write a quantity in the largest unit that shows it exactly, or to six digits."""
    for scale, name in _SCALES.get(unit, ()):
        if unit != "B":
            return f"{value / scale:.6g} {name}"
        if (value / scale).is_integer():
            return f"{value / scale:.0f} {name}"
    return f"{value:.0f} B" if unit == "B" else f"{value:.6g} {unit}".strip()
