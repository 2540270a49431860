"""Which entry describes a device that is present, and where the two disagree."""

import re
from typing import TYPE_CHECKING

from gpureport.spec.draft import draft_device
from gpureport.spec.host import host_values
from gpureport.spec.models import Device, DeviceMatch, PresentDevice
from gpureport.spec.resolve import Value, queried
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from gpureport.spec.database import Database

CPU_ENTRY = "cpu/x86_64"
_MEMORY_TOLERANCE = 0.1
_AMBIGUOUS = re.compile(r"gfx[0-9a-f]+|1002:.*", re.IGNORECASE)
"""Names and ids that several boards share: AMD's code names and PCI ids."""


def match(database: "Database", present: PresentDevice) -> DeviceMatch:
    """Find the entry of *present*: by PCI id, then by OpenCL name; the user's own entries come first.

    Without an entry a CPU takes the generic one; another device is drafted from its queries and its architecture's
    family.
    """
    for what, key in (("PCI id", pci_id(present)), ("OpenCL name", present.name)):
        fitting = database.own_first([e for e in _named(database, what, key) if _fits(database, e, present, key)])
        if len(fitting) == 1:
            return _matched(database, present, fitting[0], f"The {what} {key} is that of {fitting[0]}.")
    if present.kind == "cpu":
        how = f"{present.name} is a CPU: the entry {CPU_ENTRY}, with sizes from the operating system."
        return _of_host(database, present, CPU_ENTRY, how)
    device = draft_device(database, present)
    how = (
        f"No entry matches {present.name} (PCI id {pci_id(present) or 'unknown'}, {present.compute_units} compute "
        f"units); drafted from its queries and the architecture {device.architecture.name}."
    )
    return DeviceMatch(device=device, entry_id=None, how=how, draft=True)


def pci_id(present: PresentDevice) -> str | None:
    """Return ``vendor:device``, where an extension or the name (Intel: ``[0x1916]``) tells."""
    in_name = re.search(r"\[0x([0-9a-f]{4})\]", present.name, re.IGNORECASE)
    if present.pci_id is None and in_name and "intel" in present.vendor.lower():
        return f"8086:{in_name[1].lower()}"
    return present.pci_id.lower() if present.pci_id else None


def _named(database: "Database", what: str, key: str | None) -> list[str]:
    """Return the ids of the entries that list *key*."""
    from gpureport.spec.database import plain

    if key is None:
        return []
    if what == "PCI id":
        return [entry.id for entry in database.entries.values() if key in entry.file.pci_ids]
    name = key.split(":")[0]  # ROCm appends features: gfx90a:sramecc+:xnack-
    return [
        entry.id
        for entry in database.entries.values()
        if plain(name) in map(plain, (entry.file.name, *entry.file.opencl.names))
    ]


def _fits(database: "Database", entry_id: str, present: PresentDevice, key: str | None) -> bool:
    """Whether the number of compute units allows the entry: more never do, fewer only if the key is unique.

    A processor must have all of its cores or threads: a virtual machine that sees a part of one has another's caches
    and bandwidth, of which its own operating system knows more.
    """
    if database.entries[entry_id].file.host:
        return True
    device = database.device(entry_id)
    known = {device.compute_units, device.opencl_compute_units or device.compute_units}
    if present.compute_units in known:
        return True
    return present.kind != "cpu" and present.compute_units < min(known) and not _AMBIGUOUS.match(key or "")


def _matched(database: "Database", present: PresentDevice, entry_id: str, how: str) -> DeviceMatch:
    """Return the entry, corrected by what is there."""
    if database.entries[entry_id].file.host:
        return _of_host(database, present, entry_id, how)
    listed = database.device(entry_id)
    units, unit_notes = _present_units(listed, present)
    memory, memory_notes = _present_memory(listed, present)
    notes = unit_notes + memory_notes
    values = units | memory | (_limits(present) if present.kind == "cpu" else {})
    device = database.device(entry_id, values) if values else listed
    return DeviceMatch(device=device, entry_id=entry_id, how=how, draft=False, notes=notes)


def _present_units(listed: Device, present: PresentDevice) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Replace the compute units where fewer are present."""
    reported = listed.opencl_compute_units or listed.compute_units
    if present.compute_units >= min(reported, listed.compute_units):
        return {}, ()
    units = max(1, round(present.compute_units * listed.compute_units / reported))
    note = (
        f"The device reports {present.compute_units} compute units where {listed.name} has {reported}: a slice of "
        f"it, or units switched off. Predictions are for {units} units; cache and memory bandwidth stay as listed."
    )
    return {"compute_units": queried(units, "CL_DEVICE_MAX_COMPUTE_UNITS")}, (note,)


def _present_memory(listed: Device, present: PresentDevice) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Replace the memory size where it is off by more than a tenth, or was only assumed."""
    size = queried(float(present.global_memory_bytes), "CL_DEVICE_GLOBAL_MEM_SIZE")
    if listed.provenance["memory.size"].kind == "assumed":
        return {"memory.size": size}, ()
    if abs(present.global_memory_bytes / listed.memory.size_bytes - 1) <= _MEMORY_TOLERANCE:
        return {}, ()
    note = (
        f"The device reports {format_bytes(present.global_memory_bytes)} of memory where {listed.name} has "
        f"{format_bytes(listed.memory.size_bytes)}: a slice of it, or another model."
    )
    return {"memory.size": size}, (note,)


def _of_host(database: "Database", present: PresentDevice, entry_id: str, how: str) -> DeviceMatch:
    """Take an entry for any CPU, with the host's sizes and what OpenCL reports."""
    values = host_values(database.host, present.compute_units, present.clock_hz) | _limits(present)
    values["memory.size"] = queried(float(present.global_memory_bytes), "CL_DEVICE_GLOBAL_MEM_SIZE")
    return DeviceMatch(device=database.device(entry_id, values), entry_id=entry_id, how=how, draft=False)


def _limits(present: PresentDevice) -> dict[str, Value]:
    """Return the limits that a CPU's runtime sets, whatever the CPU."""
    return {
        "occupancy.local_memory": queried(float(present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE"),
        "max_work_group": queried(present.max_work_group, "CL_DEVICE_MAX_WORK_GROUP_SIZE"),
    }
