"""Find the entry of a device that is present, and correct the values in which the device differs from it."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gpureport.spec import drivers, reported
from gpureport.spec.compilers import compiler_value, emitted_values
from gpureport.spec.cores import cpu_values
from gpureport.spec.drafts import draft_device, named
from gpureport.spec.models import Device, DeviceMatch, Link, PresentDevice
from gpureport.spec.reported import LAST_CACHE, keys, name_of, pci_id, same, same_kind
from gpureport.spec.values import Provenance, Value, queried
from gpureport.text import shorten
from gpureport.units import format_bytes, format_frequency, format_percent

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry


_SAME_MEMORY = (1 - reported.MEMORY_TOLERANCE, 1 + reported.MEMORY_TOLERANCE)
_SAME_CLOCK, _SIMILAR_CLOCK = (0.9, 1.1), (0.7, 1.3)
_SIMILAR_CACHE = (1 / 1.6, 1.6)
"""Drivers count parts of a cache differently: 512 or 768 KiB for the same Gen9 L3."""
_WHOLE_L3 = 0.8
"""Usable part of the L3 from which on it is not worth mentioning."""
_SOFTWARE = (
    "This is no hardware: a program on the processor runs the kernels. It is measured, and nothing is predicted."
)
_EMULATED = (
    "A program executes the instructions of this processor, so that measurements are of the emulation. "
    "Nothing is predicted."
)
_Found = tuple[dict[str, Value], str]
"""Values that replace the entry's, and a note; both may be empty."""
_NOTHING: _Found = ({}, "")


def match(database: "Database", present: PresentDevice) -> DeviceMatch:
    """Find the entry of *present* by PCI id, AMD's board name or OpenCL name; the user's own entries come first.

    An entry with the same number of compute units comes before one with more. A CPU without an entry uses the generic
    one. Any other device is drafted from its queries and the typical values of its architecture. So is a program that
    takes the place of a device: no entry describes it.
    """
    if present.is_software:
        return _software(database, present)
    for entry, how in _found(database, present):
        return _matched(database, present, entry, how)
    if present.on_host:
        facts = database.host.facts
        entry_id = f"cpu/{facts.generic}"
        sizes = "with sizes from the operating system."
        if not (facts.l1 or facts.l2 or facts.l3):
            sizes = "with assumed sizes of caches, because the operating system lists none."
        how = f"{shorten(present.name) or 'This device'} is a CPU: predictions use the entry {entry_id} {sizes}"
        return _any_cpu(database, present, entry_id, how)
    device = draft_device(database, present)
    name, own = shorten(present.name) or "this device", shorten(pci_id(present) or "unknown", 20)
    how = (
        f"No entry matches {name} (PCI id {own}, {present.compute_units} compute units). Drafted from its queries "
        f"and the architecture {device.architecture.name}."
    )
    return DeviceMatch(device=device, entry=None, how=how, draft=True)


def _software(database: "Database", present: PresentDevice) -> DeviceMatch:
    values = cpu_values(database.host, None, present)
    device = database.device(f"cpu/{database.host.facts.generic}", values)
    names = {"id": "draft", "name": named(present.name), "vendor": named(present.vendor)}
    architecture = device.architecture.model_copy(update={"name": "software"})
    device = device.model_copy(update={**names, "architecture": architecture})
    what, note = ("emulated", _EMULATED) if present.emulated else ("a program", _SOFTWARE)
    how = f"{device.name} is {what}. Drafted from its queries and typical values of a processor."
    return DeviceMatch(device=device, entry=None, how=how, draft=True, notes=(note,))


def _found(database: "Database", present: PresentDevice) -> Iterable[tuple["Entry", str]]:
    """Yield uniquely fitting entries, the most certain first, each with a sentence on how it was found."""
    entries = database.entries.values()
    for pool in ([e for e in entries if e.own], [e for e in entries if not e.own]):
        for exact in (True, False):
            for what, key in keys(present):
                fitting = [e for e in pool if _named(e, what, key) and _fits(database, e, present, what, exact=exact)]
                if len(best := _nearest(database, fitting, present)) == 1:
                    other = _unlisted_id(best[0], present)
                    doubt = f" That entry does not list the PCI id {shorten(other, 20)}." if other else ""
                    if what == "OpenCL name" and name_of(present.name).target and pci_id(present) is None:
                        doubt = " Other cards may have this name, too."
                    yield best[0], f"The {what} {shorten(key)} matches {best[0].id}.{doubt}"


def _named(entry: "Entry", what: str, key: str) -> bool:
    """Whether the entry lists *key*; of a board name (``MI250X/MI250``), one alternative suffices."""
    if what == "PCI id":
        return key in entry.file.pci_ids
    names = (entry.file.name, *entry.file.opencl_names)
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
    if not same_kind(device.kind, present.kind) or _belongs_to_another(database, entry, present, what):
        return False
    # Of a CPU, the vendor of the runtime may differ.
    vendors = {drivers.maker(device.vendor), drivers.maker(present.vendor)} - {drivers.Maker()}
    if not device.architecture.on_host and len(vendors) > 1:
        return False
    units, whole = reported.compute_units(present), reported.whole_units(device, present)
    if exact:
        return units in whole
    if device.architecture.on_host or (units is not None and units >= min(whole)):
        return False
    maker = drivers.maker(device.vendor)
    own = {"PCI id": (maker.own_ids, device.name), "OpenCL name": (maker.own_names, name_of(present.name).product)}
    return what not in own or own[what][0].search(own[what][1]) is not None


def _belongs_to_another(database: "Database", entry: "Entry", present: PresentDevice, what: str) -> bool:
    """Whether the device's PCI id excludes the entry, which lists others.

    It does if another entry has it, or if only an AMD target matches: several boards share targets.
    """
    if (own := _unlisted_id(entry, present)) is None:
        return False
    others = (e.file.pci_ids for e in database.entries.values() if e is not entry)
    return any(own in ids for ids in others) or (what == "OpenCL name" and name_of(present.name).target is not None)


def _nearest(database: "Database", fitting: Sequence["Entry"], present: PresentDevice) -> Sequence["Entry"]:
    """Of several entries, keep those with the most common target features, of these those with the same memory size."""
    if len(fitting) < 2:
        return fitting
    own = name_of(present.name).features.items()

    def rank(entry: "Entry") -> tuple[int, bool]:
        common = (len(own & name_of(name).features.items()) for name in entry.file.opencl_names)
        size = present.global_memory_bytes / database.device(entry.id).memory.size_bytes
        return max(common, default=0), abs(size - 1) <= reported.MEMORY_TOLERANCE

    ranks = [rank(entry) for entry in fitting]
    return [entry for entry, its in zip(fitting, ranks, strict=True) if its == max(ranks)]


def _unlisted_id(entry: "Entry", present: PresentDevice) -> str | None:
    own = pci_id(present)
    return own if entry.file.pci_ids and own not in entry.file.pci_ids else None


def _matched(database: "Database", present: PresentDevice, entry: "Entry", how: str) -> DeviceMatch:
    """Compare a device with its entry. The user may have changed the clock of an own entry on purpose, so it stays.

    Error correction is off if the device reports more memory than it leaves.
    """
    if entry.file.host:
        return _any_cpu(database, present, entry.id, how)
    listed = database.device(entry.id)
    parts = entry.file.values.get("opencl.parts")
    part = _part(listed, present, parts.value if parts else 1)
    found = [_units(listed, present, part), _link(listed, present)]
    corrections = _corrections(listed, present, clock=not (entry.own or present.on_host))
    found += [each for path, each in corrections if part is None or path == "clock"]
    found += [(_shares(listed, part) | reported.answers(present, "memory.size"), "")] if part else []
    values = {path: value for each, _ in found for path, value in each.items()}
    if listed.architecture.on_host:
        values |= reported.answers(present, *reported.LIMITS) | compiler_value(present)
    device = database.device(entry.id, values) if values else listed
    if part:
        device = device.model_copy(update={"name": f"{listed.name}, {part.name}"})
    notes = tuple(note for _, note in found if note)
    if present.global_memory_bytes > reported.WITH_ECC * listed.memory.size_bytes:
        device = device.without_ecc
    return DeviceMatch(device=device, entry=entry.id, how=how, draft=False, notes=notes)


def _any_cpu(database: "Database", present: PresentDevice, entry_id: str, how: str) -> DeviceMatch:
    """Use an entry for any CPU, with sizes from the operating system and values reported by OpenCL."""
    core, notes = database.host_core, tuple[str, ...]()
    values = cpu_values(database.host, core, present)
    if core:
        file = database.architecture(core.architecture)
        values |= emitted_values(present, file, database.architecture(file.narrower or core.architecture))
        how = f"{how} Its type of core is that of {file.name}."
        if core.hypervisor and core.usable_l3 < _WHOLE_L3:
            listed = format_bytes(float(core.topology.l3_bytes))
            others = f"Other virtual machines on the same processor use a part of the listed {listed} of L3."
            wide = "Predictions have wide intervals there; memory/latency measures the part that one thread finds."
            notes = (f"{others} {wide}",)
    device = database.device(entry_id, values)
    return DeviceMatch(device=device, entry=entry_id, how=how, draft=False, notes=notes)


class _Part(NamedTuple):
    """A part of the listed device that appears as a separate device: its name, its fraction of shared resources."""

    name: str
    share: Fraction
    source: str


def _part(listed: Device, present: PresentDevice, parts: int) -> _Part | None:
    """Return the part that is present, if its name or its number of units identifies one."""
    units, whole = reported.compute_units(present), reported.whole_units(listed, present)
    if units is None or units >= min(whole):
        return None
    if mig := name_of(present.name).mig:
        # Whole eighths of the memory, bandwidth and L2 of a card, also where only quarters are supported.
        eighths = min(8, max(1, round(8 * mig[1] * 2**30 / listed.memory.size_bytes)))
        return _Part(f"MIG {mig[0]}", Fraction(eighths, 8), "MIG User Guide of NVIDIA, supported profiles")
    share = Fraction(units, whole[0])
    if parts % share.denominator:
        return None
    return _Part(f"{share * parts} of {parts} parts", share, "the entry's number of equal parts")


def _units(listed: Device, present: PresentDevice, part: _Part | None) -> _Found:
    units, whole = reported.compute_units(present), reported.whole_units(listed, present)
    if units is None:
        return {}, (
            f"The driver does not report a plausible number of compute units ({present.compute_units}). Predictions "
            f"are for the {listed.compute_units} of {listed.name}."
        )
    if units >= min(whole):
        return _NOTHING
    there = max(1, round(units * listed.compute_units / whole[0]))
    note = (
        f"The device reports {units} compute units; {listed.name} has {whole[0]}. It is a part of that device, a "
        f"smaller model, or has disabled units. Predictions are for {there} units and the listed memory bandwidth."
    )
    if part:
        note = (
            f"This is a part of {listed.name} ({part.name}) with {there} of its {listed.compute_units} compute units. "
            f"Predictions assume {part.share} of shared caches and memory bandwidth ({part.source})."
        )
    return {"compute_units": queried(there, "CL_DEVICE_MAX_COMPUTE_UNITS")}, note


def _shares(listed: Device, part: _Part) -> dict[str, Value]:
    share = float(part.share)
    scaled: dict[str, float] = {"memory.bandwidth": listed.memory.bandwidth_bytes_per_s * share}
    scaled |= {"dies": max(1, round(listed.dies * part.share))} if listed.dies > 1 else {}
    for cache in (cache for cache in listed.caches if cache.scope == "device"):
        scaled[f"caches.{cache.name}.capacity"] = cache.capacity_bytes * share
        scaled[f"caches.{cache.name}.partitions"] = max(1, round(cache.partitions * part.share))
    provenance = Provenance(kind="derived", source=part.source, note=f"{part.share} of the whole device")
    return {path: Value(value, provenance) for path, value in scaled.items()}


def _link(listed: Device, present: PresentDevice) -> _Found:
    link = listed.link
    if link is None or link.kind != "pcie" or link.generation is None or link.lanes is None:
        return _NOTHING
    generation = min(link.generation, present.link_generation or link.generation)
    lanes = min(link.lanes, present.link_lanes or link.lanes)
    if (generation, lanes) == (link.generation, link.lanes):
        return _NOTHING
    there = Link.pcie(generation, lanes)
    share = there.bandwidth_bytes_per_s / link.bandwidth_bytes_per_s
    note = (
        f"The link to the host is {there}; {listed.name} supports {link}. Transfers can reach "
        f"{format_percent(share)} of the listed bandwidth. Another slot, a cable, or the settings of the machine "
        "limit it."
    )
    return reported.link_values(generation, lanes), note


def _corrections(listed: Device, present: PresentDevice, *, clock: bool) -> Iterator[tuple[str, _Found]]:
    """Yield path and correction of memory size, *clock*, and the last cache if all units share it.

    A value that the entry only assumes is replaced, others if the ratio is unusual. The clock stays if the driver does
    not always report the highest one.
    """
    found, certain = reported.answers(present, *reported.SIZES, LAST_CACHE), present.implementation.highest_clock
    rows = [("memory.size", "{} of memory", listed.memory.size_bytes, _SAME_MEMORY, format_bytes)]
    if clock:
        near = _SAME_CLOCK if certain else _SIMILAR_CLOCK
        rows.append(("clock", "a clock of {}", listed.clock_hz, near, format_frequency))
    last, cache = listed.caches[-1] if listed.caches else None, found.get(LAST_CACHE)
    if cache and last and last.scope == "device":
        found[path := f"caches.{last.name}.capacity"] = cache
        rows.append((path, f"{{}} of {last.name}", last.capacity_bytes, _SIMILAR_CACHE, format_bytes))
    for path, what, entry, (low, high), text in (row for row in rows if row[0] in found):
        there, used = found[path].value, certain or path != "clock"
        note = (
            f"The device reports {what.format(text(there))}; {listed.name} has {text(entry)}. Predictions use the "
            f"{'reported' if used else 'listed'} value."
        )
        if used and listed.provenance[path].kind == "assumed":
            yield path, ({path: found[path]}, "")
        elif not low <= there / entry <= high:
            yield path, ({path: found[path]} if used else {}, note)
