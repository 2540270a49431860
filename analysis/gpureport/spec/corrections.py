"""Differences between a present device and its entry: the corrected values, and a note on each. Pure."""

from dataclasses import dataclass
from fractions import Fraction

from gpureport.records.provenance import Provenance
from gpureport.spec import reported
from gpureport.spec.host import HostProcessor, host_values
from gpureport.spec.host_core import HostCore, with_core
from gpureport.spec.models import Device, Link, PresentDevice
from gpureport.spec.names import mig_slice
from gpureport.spec.resolve import Value, queried
from gpureport.units import format_bytes, format_frequency

MEMORY_TOLERANCE = 0.12
"""ECC reserves up to 1/16 of a card's memory and the driver some of the rest: a T4 reports 14.6 GiB."""
_CLOCK_TOLERANCE = 0.1
_CLOCK_DOUBT = 0.3
_CACHE_FACTOR = 1.6
"""Drivers count parts of a cache differently: 512 or 768 KiB for the same Gen9 L3."""

Values = dict[str, Value]
_Found = tuple[Values, str]
"""Values to replace, and a note; both may be empty."""
_NOTHING: _Found = ({}, "")


@dataclass(frozen=True)
class Correction:
    """Values that replace the entry's, and the reasons."""

    values: Values
    notes: tuple[str, ...] = ()
    name: str | None = None
    """Name of the device, if it is a part of the listed one."""


def corrected(listed: Device, present: PresentDevice, parts: int = 1, *, own: bool = False) -> Correction:
    """Compare a device with its entry, of which equal *parts* may appear as devices.

    The user may have changed the clock of an *own* entry on purpose, so it stays.
    """
    part = _part(listed, present, parts)
    found = [_units(listed, present, part), _memory(listed, present, whole=part is None), _link(listed, present)]
    if part:
        found.append((_shares(listed, part), ""))
    if not own:
        found.append(_clock(listed, present))
    if part is None:
        found.append(_cache(listed, present))
    return Correction(
        values={path: value for values, _ in found for path, value in values.items()},
        notes=tuple(note for _, note in found if note),
        name=f"{listed.name}, {part.name}" if part else None,
    )


def limits(present: PresentDevice) -> Values:
    """Return the limits that a runtime sets."""
    values = {"occupancy.local_memory": queried(max(0.0, present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")}
    if (most := reported.max_work_group(present)) is not None:
        values["max_work_group"] = queried(most, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
    return values


def link_values(generation: int | None, lanes: int | None) -> Values:
    """Return the values of the link that the system reports; none if it does not."""
    if not (generation and lanes):
        return {}
    known = {"kind": "pcie", "generation": generation, "lanes": lanes}
    source = "NVML or sysfs, highest link of device and machine"
    return {f"link.{key}": queried(value, source) for key, value in known.items()}


def cpu_values(host: HostProcessor, present: PresentDevice, core: HostCore | None = None) -> Values:
    """Return a CPU's values: sizes from the operating system, values that OpenCL reports, those of its type of core."""
    clock = reported.clock_hz(present)
    values = with_core(host_values(host, reported.compute_units(present), clock) | limits(present), core)
    if memory := reported.memory_bytes(present):
        values["memory.size"] = queried(float(memory), "CL_DEVICE_GLOBAL_MEM_SIZE")
    return values


@dataclass(frozen=True)
class _Subdevice:
    """A part of the listed device that appears as a separate device."""

    name: str
    share: Fraction
    """Fraction of the whole device's shared caches and memory bandwidth."""
    source: str
    """Source of the fraction."""


def _part(listed: Device, present: PresentDevice, parts: int) -> _Subdevice | None:
    """Return the part that is present, if its name or its number of units identifies one."""
    units, mig = reported.compute_units(present), mig_slice(present.name)
    whole = reported.whole_units(listed, present)
    if units is None or units >= min(whole):
        return None
    if mig is not None:
        share = mig.share(listed.memory.size_bytes)
        return _Subdevice(f"MIG {mig.profile}", share, "NVIDIA, MIG User Guide, supported profiles")
    share = Fraction(units, whole[0])
    if parts % share.denominator:
        return None
    name = f"{share * parts} of {parts} parts"
    return _Subdevice(name, share, "the entry's number of equal parts")


def _units(listed: Device, present: PresentDevice, part: _Subdevice | None) -> _Found:
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


def _shares(listed: Device, part: _Subdevice) -> Values:
    """Scale the shared resources: memory bandwidth and device-wide caches."""
    share = float(part.share)
    scaled: dict[str, float] = {"memory.bandwidth": listed.memory.bandwidth_bytes_per_s * share}
    for cache in (cache for cache in listed.caches if cache.scope == "device"):
        scaled[f"caches.{cache.name}.capacity"] = cache.capacity_bytes * share
        scaled[f"caches.{cache.name}.partitions"] = max(1, round(cache.partitions * part.share))
    provenance = Provenance(kind="derived", source=part.source, note=f"{part.share} of the whole device")
    return {path: Value(value, provenance) for path, value in scaled.items()}


def _memory(listed: Device, present: PresentDevice, *, whole: bool) -> _Found:
    """Replace the memory size if it differs by more than the tolerance, or is only assumed in the entry."""
    there = reported.memory_bytes(present)
    if there is None:
        return {}, f"The driver does not report the memory size; predictions use that of {listed.name}."
    size = {"memory.size": queried(float(there), "CL_DEVICE_GLOBAL_MEM_SIZE")}
    if not whole or listed.provenance["memory.size"].kind == "assumed":
        return size, ""
    if abs(there / listed.memory.size_bytes - 1) <= MEMORY_TOLERANCE:
        return _NOTHING
    which = "another model"
    if there < listed.memory.size_bytes:
        which = "a part of that device, another model, or has memory that the driver cannot use"
    return size, (
        f"The device reports {format_bytes(there)} of memory; {listed.name} has "
        f"{format_bytes(listed.memory.size_bytes)}. It is {which}. Predictions use the listed memory bandwidth."
    )


def _link(listed: Device, present: PresentDevice) -> _Found:
    """Replace the generation and the lanes of the link if the machine supports less than the device."""
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
        f"The link to the host is {there}; {listed.name} supports {link}. Transfers can reach {share:.0%} of the "
        "listed bandwidth. Another slot, a cable, or the settings of the machine limit it."
    )
    return link_values(generation, lanes), note


def _clock(listed: Device, present: PresentDevice) -> _Found:
    """Replace the clock if the driver reports another one reliably; otherwise only note a large difference."""
    there = reported.clock_hz(present)
    if there is None or present.is_cpu:
        return _NOTHING
    value = {"clock": queried(there, "CL_DEVICE_MAX_CLOCK_FREQUENCY")}
    off = there / listed.clock_hz - 1
    listed_clock = format_frequency(listed.clock_hz)
    clocks = f"The device reports a clock of {format_frequency(there)}; {listed.name} has {listed_clock}"
    if reported.reports_highest_clock(present):
        if listed.provenance["clock"].kind == "assumed":
            return value, ""
        which = "a laptop, limited or different board" if off < 0 else "an overclocked or different board"
        note = f"{clocks}. It is {which}. Predictions use the reported clock."
        return (value, note) if abs(off) > _CLOCK_TOLERANCE else _NOTHING
    if abs(off) <= _CLOCK_DOUBT:
        return _NOTHING
    return {}, f"{clocks}. This driver does not always report the highest clock; predictions use the listed one."


def _cache(listed: Device, present: PresentDevice) -> _Found:
    """Replace the capacity of the last cache if the driver reports a very different one."""
    there = reported.device_cache_bytes(present)
    last = listed.caches[-1] if listed.caches else None
    if there is None or last is None or last.scope != "device":
        return _NOTHING
    path = f"caches.{last.name}.capacity"
    value = {path: queried(float(there), "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE")}
    if listed.provenance[path].kind == "assumed":
        return value, ""
    if 1 / _CACHE_FACTOR <= there / last.capacity_bytes <= _CACHE_FACTOR:
        return _NOTHING
    return value, (
        f"The device reports {format_bytes(there)} of {last.name}; {listed.name} has "
        f"{format_bytes(last.capacity_bytes)}. It is another model, or the driver counts differently. Predictions use "
        "the reported capacity."
    )
