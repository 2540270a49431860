"""Which entry describes a device that is present."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpureport.spec import reported
from gpureport.spec.corrections import MEMORY_TOLERANCE, corrected, limits, of_host
from gpureport.spec.draft import draft_device
from gpureport.spec.models import Device, DeviceMatch, PresentDevice
from gpureport.spec.names import agreement, keys, pci_id, product, same, target, vendor
from gpureport.text import legible

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry


def match(database: "Database", present: PresentDevice) -> DeviceMatch:
    """Find the entry of *present*: by PCI id, by AMD's board name, by OpenCL name; the user's own entries come first.

    An entry with just as many compute units comes before one with more. Without an entry a CPU takes the generic one;
    another device is drafted from its queries and its architecture's family.
    """
    for entry, how in _found(database, present):
        return _matched(database, present, entry, how)
    if present.kind == "cpu":
        entry_id = f"cpu/{database.host.family}"
        how = f"{legible(present.name) or 'This'} is a CPU: the entry {entry_id}, with sizes from the operating system."
        return _of_host(database, present, entry_id, how)
    device = draft_device(database, present)
    called, listed = legible(present.name) or "this device", legible(pci_id(present) or "unknown", 20)
    how = (
        f"No entry matches {called} (PCI id {listed}, {present.compute_units} compute units); drafted from its queries "
        f"and the architecture {device.architecture.name}."
    )
    return DeviceMatch(device=device, entry_id=None, how=how, draft=True)


def _found(database: "Database", present: PresentDevice) -> Iterable[tuple["Entry", str]]:
    """Yield the entries that alone fit, the surest first, each with how it was found."""
    entries = database.entries.values()
    for pool in ([e for e in entries if e.own], [e for e in entries if not e.own]):
        for exact in (True, False):
            for what, key in keys(present):
                fitting = [e for e in pool if _named(e, what, key) and _fits(database, e, present, what, exact=exact)]
                if len(best := _nearest(database, fitting, present)) == 1:
                    yield best[0], f"The {what} {legible(key)} is that of {best[0].id}.{_doubt(best[0], present)}"


def _named(entry: "Entry", what: str, key: str) -> bool:
    """Whether the entry lists *key*; of a board's name (``MI250X/MI250``) one of its alternatives."""
    if what == "PCI id":
        return key in entry.file.pci_ids
    names = (entry.file.name, *entry.file.opencl.names)
    alternatives = key.split("/") if what == "board name" else [key]
    return any(same(ours, name) for ours in alternatives for name in names)


def _fits(database: "Database", entry: "Entry", present: PresentDevice, what: str, *, exact: bool) -> bool:
    """Whether kind, vendor, PCI id and the number of compute units allow the entry.

    Args:
        database: all entries.
        entry: the one in question.
        present: the device.
        what: what of the device the entry lists.
        exact: whether it must have as many units as the device; else it has more, or the device does not tell. More
            than the entry's never fit; fewer (or none told) not where several boards share a name or id, nor of a CPU,
            since a virtual machine's operating system knows more of its caches.
    """
    if entry.file.host:
        return exact
    device = database.device(entry.id)
    if (device.kind == "cpu") != (present.kind == "cpu") or not _same_vendor(device, present):
        return False
    if _is_another_s(database, entry, present, what):
        return False
    units, whole = reported.compute_units(present), reported.whole_units(device, present)
    if exact:
        return units in whole
    return (units is None or units < min(whole)) and device.kind != "cpu" and not _is_shared(device, present, what)


def _same_vendor(device: Device, present: PresentDevice) -> bool:
    """Whether the vendors are one, as far as they are told; of a CPU the runtime's may be another than its maker."""
    if present.kind == "cpu":
        return True
    ours, theirs = vendor(device.vendor), vendor(present.vendor)
    return ours is None or theirs is None or ours == theirs


def _is_another_s(database: "Database", entry: "Entry", present: PresentDevice, what: str) -> bool:
    """Whether the device's PCI id speaks against the entry, which lists others.

    It does where another entry has it, and where an AMD target is all else that is known: boards share them.
    """
    own = pci_id(present)
    if own is None or not entry.file.pci_ids or own in entry.file.pci_ids:
        return False
    others = (e.file.pci_ids for e in database.entries.values() if e is not entry)
    return any(own in ids for ids in others) or (what == "OpenCL name" and target(present.name) is not None)


def _is_shared(device: Device, present: PresentDevice, what: str) -> bool:
    """Whether several boards share what the device was found by: AMD's targets, code names and Radeon's PCI ids."""
    if vendor(device.vendor) != "amd" or what == "board name":
        return False
    if what == "PCI id":
        return "instinct" not in device.name.lower()
    return " " not in product(present.name)


def _nearest(database: "Database", fitting: Sequence["Entry"], present: PresentDevice) -> Sequence["Entry"]:
    """Of several, leave those whose target's features are the device's, and of these those with as much memory."""
    if len(fitting) < 2:
        return fitting
    told = [max(agreement(present.name, name) for name in entry.file.opencl.names or ("",)) for entry in fitting]
    fitting = [entry for entry, count in zip(fitting, told, strict=True) if count == max(told)]
    if len(fitting) < 2:
        return fitting
    sizes = [database.device(entry.id).memory.size_bytes for entry in fitting]
    near = [abs(present.global_memory_bytes / size - 1) <= MEMORY_TOLERANCE for size in sizes]
    return [entry for entry, is_near in zip(fitting, near, strict=True) if is_near]


def _doubt(entry: "Entry", present: PresentDevice) -> str:
    """Return a sentence where the PCI id, which was not what it was found by, is none of the entry's."""
    own = pci_id(present)
    if own is None or not entry.file.pci_ids or own in entry.file.pci_ids:
        return ""
    return f" The PCI id {legible(own, 20)} is not among those listed there."


def _matched(database: "Database", present: PresentDevice, entry: "Entry", how: str) -> DeviceMatch:
    """Return the entry, corrected by what is there."""
    if entry.file.host:
        return _of_host(database, present, entry.id, how)
    listed = database.device(entry.id)
    parts = entry.file.opencl.parts
    correction = corrected(listed, present, parts.value if parts else 1, own=entry.own)
    values = correction.values | (limits(present) if present.kind == "cpu" else {})
    device = database.device(entry.id, values) if values else listed
    if correction.name:
        device = device.model_copy(update={"name": correction.name})
    return DeviceMatch(device=device, entry_id=entry.id, how=how, draft=False, notes=correction.notes)


def _of_host(database: "Database", present: PresentDevice, entry_id: str, how: str) -> DeviceMatch:
    """Take an entry for any CPU, with the host's sizes and what OpenCL reports."""
    device = database.device(entry_id, of_host(database.host, present))
    return DeviceMatch(device=device, entry_id=entry_id, how=how, draft=False)
