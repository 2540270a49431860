"""Where a device that is present disagrees with its entry: what to predict for instead, and what to say. Pure."""

from dataclasses import dataclass
from fractions import Fraction

from gpureport.records.provenance import Provenance
from gpureport.spec import reported
from gpureport.spec.host import Host, host_values
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import mig_slice
from gpureport.spec.resolve import Value, queried
from gpureport.units import format_bytes, format_frequency

MEMORY_TOLERANCE = 0.12
"""Error correction takes up to 1/16 of the memory of a card and the driver some of the rest: a T4 reports 14.6 GiB."""
_CLOCK_TOLERANCE = 0.1
_CLOCK_DOUBT = 0.3
_CACHE_FACTOR = 1.6
"""Drivers count parts of a cache differently: 512 and 768 KiB of the same Gen9 L3."""

Values = dict[str, Value]
Notes = tuple[str, ...]
_NOTHING: tuple[Values, Notes] = ({}, ())


@dataclass(frozen=True)
class Correction:
    """What to predict with instead of the entry's values, and why."""

    values: Values
    notes: Notes = ()
    name: str | None = None
    """What to call the device, where it is a part of the one listed."""


def corrected(listed: Device, present: PresentDevice, parts: int = 1, *, own: bool = False) -> Correction:
    """Compare a device with its entry.

    Args:
        listed: the entry.
        present: the device, of which no answer is believed that :mod:`gpureport.spec.reported` does not.
        parts: equal parts of the listed device that may show as devices.
        own: whether the entry is the user's, whose clock may have been set on purpose.
    """
    part = _part(listed, present, parts)
    found = [_part_units(listed, present, part), _shares(listed, part)] if part else [_units(listed, present)]
    found.append(_memory(listed, present, whole=part is None))
    if not own:
        found.append(_clock(listed, present))
    if part is None:
        found.append(_cache(listed, present))
    return Correction(
        values={path: value for values, _ in found for path, value in values.items()},
        notes=tuple(note for _, notes in found for note in notes),
        name=f"{listed.name}, {part.name}" if part else None,
    )


def limits(present: PresentDevice) -> Values:
    """Return the limits that a runtime sets, whatever the device."""
    values = {"occupancy.local_memory": queried(max(0.0, present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")}
    if (most := reported.max_work_group(present)) is not None:
        values["max_work_group"] = queried(most, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
    return values


def of_host(host: Host, present: PresentDevice) -> Values:
    """Return a CPU's values: the host's sizes and what OpenCL reports."""
    clock = reported.clock_hz(present)
    values = host_values(host, reported.compute_units(present), clock) | limits(present)
    memory = reported.memory_bytes(present)
    if memory:
        values["memory.size"] = queried(float(memory), "CL_DEVICE_GLOBAL_MEM_SIZE")
    return values


def _units(listed: Device, present: PresentDevice) -> tuple[Values, Notes]:
    """Replace the compute units where fewer are present."""
    units, whole = reported.compute_units(present), reported.whole_units(listed, present)
    if units is None:
        note = (
            f"The driver does not tell the number of compute units ({present.compute_units} reported); predictions "
            f"are for the {listed.compute_units} that {listed.name} has."
        )
        return {}, (note,)
    if units >= min(whole):
        return _NOTHING
    there = max(1, round(units * listed.compute_units / whole[0]))
    note = (
        f"The device reports {units} compute units where {listed.name} has {whole[0]}: a slice of it, a smaller model, "
        f"or units switched off. Predictions are for {there} units; memory bandwidth stays as listed."
    )
    return {"compute_units": queried(there, "CL_DEVICE_MAX_COMPUTE_UNITS")}, (note,)


@dataclass(frozen=True)
class _Part:
    """A part of the listed device that shows as a device of its own."""

    name: str
    share: Fraction
    """Of what the whole device shares."""
    source: str
    """Who says so."""


def _part(listed: Device, present: PresentDevice, parts: int) -> _Part | None:
    """Return the part that is there, if its name or its number of units says that it is one."""
    units, mig = reported.compute_units(present), mig_slice(present.name)
    whole = reported.whole_units(listed, present)
    if units is None or units >= min(whole):
        return None
    if mig is not None:
        share = mig.share(listed.memory.size_bytes)
        return _Part(f"MIG {mig.profile}", share, "NVIDIA, MIG User Guide, supported profiles")
    share = Fraction(units, whole[0])
    if parts % share.denominator:
        return None
    name = f"{share * parts} of {parts} parts"
    return _Part(name, share, "the entry's number of equal parts")


def _part_units(listed: Device, present: PresentDevice, part: _Part) -> tuple[Values, Notes]:
    """Take the units that are there, and say what they are a part of."""
    whole = reported.whole_units(listed, present)[0]
    units = max(1, round(present.compute_units * listed.compute_units / whole))
    note = (
        f"This is a part of {listed.name} ({part.name}) with {units} of its {listed.compute_units} compute units. "
        f"Predictions give it {part.share} of shared caches and of memory bandwidth ({part.source})."
    )
    return {"compute_units": queried(units, "CL_DEVICE_MAX_COMPUTE_UNITS")}, (note,)


def _shares(listed: Device, part: _Part) -> tuple[Values, Notes]:
    """Scale what the whole device shares: memory bandwidth and the caches that are not a compute unit's own."""
    note = f"{part.share} of the whole device's"
    bandwidth = listed.memory.bandwidth_bytes_per_s * float(part.share)
    values: Values = {"memory.bandwidth": _derived(bandwidth, part.source, note)}
    for cache in listed.caches:
        if cache.scope == "device":
            path, partitions = f"caches.{cache.name}", max(1, round(cache.partitions * part.share))
            values[f"{path}.capacity"] = _derived(cache.capacity_bytes * float(part.share), part.source, note)
            values[f"{path}.partitions"] = _derived(partitions, part.source, note)
    return values, ()


def _derived(value: object, source: str, note: str) -> Value:
    return Value(value, Provenance(kind="derived", source=source, note=note))


def _memory(listed: Device, present: PresentDevice, *, whole: bool) -> tuple[Values, Notes]:
    """Replace the memory size where it is off by more than the tolerance, or was only assumed."""
    there = reported.memory_bytes(present)
    if there is None:
        return {}, (f"The driver does not tell the size of the memory; predictions are for that of {listed.name}.",)
    size = {"memory.size": queried(float(there), "CL_DEVICE_GLOBAL_MEM_SIZE")}
    if not whole or listed.provenance["memory.size"].kind == "assumed":
        return size, ()
    if abs(there / listed.memory.size_bytes - 1) <= MEMORY_TOLERANCE:
        return _NOTHING
    other = "a slice of it, another model, or memory that the driver cannot reach"
    note = (
        f"The device reports {format_bytes(there)} of memory where {listed.name} has "
        f"{format_bytes(listed.memory.size_bytes)}: {other if there < listed.memory.size_bytes else 'another model'}. "
        "Memory bandwidth stays as listed."
    )
    return size, (note,)


def _clock(listed: Device, present: PresentDevice) -> tuple[Values, Notes]:
    """Replace the clock where the driver tells this board's and it is another; doubt it where the driver may err."""
    there = reported.clock_hz(present)
    if there is None or present.kind == "cpu":
        return _NOTHING
    value = {"clock": queried(there, "CL_DEVICE_MAX_CLOCK_FREQUENCY")}
    off = there / listed.clock_hz - 1
    told = f"The device reports a clock of {format_frequency(there)} where {listed.name} has "
    told += format_frequency(listed.clock_hz)
    if reported.tells_highest_clock(present):
        if listed.provenance["clock"].kind == "assumed":
            return value, ()
        which = "a laptop's, a limited or another board" if off < 0 else "an overclocked or another board"
        note = f"{told}: {which}. Predictions are for the clock reported."
        return (value, (note,)) if abs(off) > _CLOCK_TOLERANCE else _NOTHING
    if abs(off) <= _CLOCK_DOUBT:
        return _NOTHING
    return {}, (f"{told}; this driver does not always tell the highest clock, and predictions are for the listed one.",)


def _cache(listed: Device, present: PresentDevice) -> tuple[Values, Notes]:
    """Replace the capacity of the last cache where the driver tells it and it is quite another."""
    there = reported.device_cache_bytes(present)
    last = listed.caches[-1] if listed.caches else None
    if there is None or last is None or last.scope != "device":
        return _NOTHING
    path = f"caches.{last.name}.capacity"
    value = {path: queried(float(there), "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE")}
    if listed.provenance[path].kind == "assumed":
        return value, ()
    if 1 / _CACHE_FACTOR <= there / last.capacity_bytes <= _CACHE_FACTOR:
        return _NOTHING
    note = (
        f"The device reports {format_bytes(there)} of {last.name} where {listed.name} has "
        f"{format_bytes(last.capacity_bytes)}: another model, or counted in another way. Predictions are for what is "
        "reported."
    )
    return value, (note,)
