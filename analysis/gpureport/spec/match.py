"""Find the entry of a device that is present."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpureport.spec import reported
from gpureport.spec.corrections import MEMORY_TOLERANCE, corrected, cpu_values, limits
from gpureport.spec.draft import draft_device
from gpureport.spec.host_core import HostCore, vector_values
from gpureport.spec.models import Device, DeviceMatch, PresentDevice
from gpureport.spec.names import agreement, keys, pci_id, product, same, target, vendor
from gpureport.text import legible
from gpureport.units import format_bytes

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry


def match(database: "Database", present: PresentDevice) -> DeviceMatch:
    """Find the entry of *present* by PCI id, AMD's board name or OpenCL name; the user's own entries come first.

    An entry with the same number of compute units comes before one with more. A CPU without an entry uses the generic
    one. Any other device is drafted from its queries and the typical values of its architecture.
    """
    for entry, how in _found(database, present):
        return _matched(database, present, entry, how)
    if present.is_cpu:
        entry_id = f"cpu/{database.host.family}"
        how = (
            f"{legible(present.name) or 'This device'} is a CPU: predictions use the entry {entry_id} with sizes from "
            "the operating system."
        )
        return _any_cpu(database, present, entry_id, how)
    device = draft_device(database, present)
    name, own = legible(present.name) or "this device", legible(pci_id(present) or "unknown", 20)
    how = (
        f"No entry matches {name} (PCI id {own}, {present.compute_units} compute units). Drafted from its queries "
        f"and the architecture {device.architecture.name}."
    )
    return DeviceMatch(device=device, entry_id=None, how=how, draft=True)


def _found(database: "Database", present: PresentDevice) -> Iterable[tuple["Entry", str]]:
    """Yield uniquely fitting entries, the most certain first, each with a sentence on how it was found."""
    entries = database.entries.values()
    for pool in ([e for e in entries if e.own], [e for e in entries if not e.own]):
        for exact in (True, False):
            for what, key in keys(present):
                fitting = [e for e in pool if _named(e, what, key) and _fits(database, e, present, what, exact=exact)]
                if len(best := _nearest(database, fitting, present)) == 1:
                    other = _unlisted_id(best[0], present)
                    doubt = f" That entry does not list the PCI id {legible(other, 20)}." if other else ""
                    yield best[0], f"The {what} {legible(key)} matches {best[0].id}.{doubt}"


def _named(entry: "Entry", what: str, key: str) -> bool:
    """Whether the entry lists *key*; of a board name (``MI250X/MI250``), one alternative suffices."""
    if what == "PCI id":
        return key in entry.file.pci_ids
    names = (entry.file.name, *entry.file.opencl.names)
    alternatives = key.split("/") if what == "board name" else [key]
    return any(same(alternative, name) for alternative in alternatives for name in names)


def _fits(database: "Database", entry: "Entry", present: PresentDevice, what: str, *, exact: bool) -> bool:
    """Whether kind, vendor, PCI id and the number of compute units allow the entry; *what* identified it.

    With *exact*, the numbers of units must be equal. Without it, the entry has more, or the device reports none. Then
    it does not fit if several boards share the identifier. Nor does a CPU: a virtual machine's operating system knows
    its caches better.
    """
    if entry.file.host:
        return exact
    device = database.device(entry.id)
    same_kind = device.is_cpu == present.is_cpu and _same_vendor(device, present)
    if not same_kind or _belongs_to_another(database, entry, present, what):
        return False
    units, whole = reported.compute_units(present), reported.whole_units(device, present)
    if exact:
        return units in whole
    return (units is None or units < min(whole)) and not device.is_cpu and not _is_shared(device, present, what)


def _same_vendor(device: Device, present: PresentDevice) -> bool:
    """Whether the vendors agree or are unknown; the vendor of a CPU's runtime may differ from the CPU's."""
    return present.is_cpu or len({vendor(device.vendor), vendor(present.vendor)} - {None}) < 2


def _belongs_to_another(database: "Database", entry: "Entry", present: PresentDevice, what: str) -> bool:
    """Whether the device's PCI id excludes the entry, which lists others.

    It does if another entry has it, or if only an AMD target matches: several boards share targets.
    """
    own = _unlisted_id(entry, present)
    if own is None:
        return False
    others = (e.file.pci_ids for e in database.entries.values() if e is not entry)
    return any(own in ids for ids in others) or (what == "OpenCL name" and target(present.name) is not None)


def _is_shared(device: Device, present: PresentDevice, what: str) -> bool:
    """Whether several boards share the identifier: AMD's targets, code names and the PCI ids of Radeon cards."""
    if vendor(device.vendor) != "amd" or what == "board name":
        return False
    return "instinct" not in device.name.lower() if what == "PCI id" else " " not in product(present.name)


def _nearest(database: "Database", fitting: Sequence["Entry"], present: PresentDevice) -> Sequence["Entry"]:
    """Of several entries, keep those with the most common target features, then those with the same memory size."""
    if len(fitting) < 2:
        return fitting
    counts = [max(agreement(present.name, name) for name in entry.file.opencl.names or ("",)) for entry in fitting]
    fitting = [entry for entry, count in zip(fitting, counts, strict=True) if count == max(counts)]
    if len(fitting) < 2:
        return fitting
    sizes = [database.device(entry.id).memory.size_bytes for entry in fitting]
    near = [abs(present.global_memory_bytes / size - 1) <= MEMORY_TOLERANCE for size in sizes]
    return [entry for entry, is_near in zip(fitting, near, strict=True) if is_near]


def _unlisted_id(entry: "Entry", present: PresentDevice) -> str | None:
    """Return the device's PCI id if the entry lists only others."""
    own = pci_id(present)
    return own if entry.file.pci_ids and own not in entry.file.pci_ids else None


def _matched(database: "Database", present: PresentDevice, entry: "Entry", how: str) -> DeviceMatch:
    if entry.file.host:
        return _any_cpu(database, present, entry.id, how)
    listed = database.device(entry.id)
    parts = entry.file.opencl.parts
    correction = corrected(listed, present, parts.value if parts else 1, own=entry.own)
    values = correction.values | (limits(present) if present.is_cpu else {})
    device = database.device(entry.id, values) if values else listed
    if correction.name:
        device = device.model_copy(update={"name": correction.name})
    return DeviceMatch(device=device, entry_id=entry.id, how=how, draft=False, notes=correction.notes)


def _any_cpu(database: "Database", present: PresentDevice, entry_id: str, how: str) -> DeviceMatch:
    """Use an entry for any CPU, with sizes from the operating system and values reported by OpenCL."""
    core = database.host_core
    values = cpu_values(database.host, present, core)
    if core:
        file = database.architecture(core.architecture)
        narrow = database.architecture("zen3" if file.vendor == "AMD" else "x86_64")
        values |= vector_values(present, file, narrow)
        how = f"{how} Its type of core is that of {file.name}."
    device = database.device(entry_id, values)
    return DeviceMatch(device=device, entry_id=entry_id, how=how, draft=False, notes=_hidden_l3(core))


_WHOLE_L3 = 0.8
"""Usable part of the L3 from which on it is not worth mentioning."""


def _hidden_l3(core: HostCore | None) -> tuple[str, ...]:
    """Return a sentence on the L3 that a virtual machine cannot use, if that is much."""
    if core is None or not core.hypervisor or core.usable_l3 >= _WHOLE_L3:
        return ()
    listed = format_bytes(float(core.topology.l3_bytes))
    sentence = f"Other virtual machines on the same processor use a part of the listed {listed} of L3. Predictions have"
    return (f"{sentence} wide intervals there; memory/latency measures the part that one thread finds.",)
