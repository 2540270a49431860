"""Where a device that is present disagrees with its entry: what to predict for instead, and what to say. Pure."""

from fractions import Fraction

from gpureport.records import Provenance
from gpureport.spec import reported
from gpureport.spec.host import Host, host_values
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import Slice, mig_slice
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


def corrected(listed: Device, present: PresentDevice, parts: int = 1, *, own: bool = False) -> tuple[Values, Notes]:
    """Return the values to predict with instead of the entry's, and a note on each disagreement.

    Args:
        listed: the entry.
        present: the device, of which no answer is believed that :mod:`gpureport.spec.reported` does not.
        parts: equal parts of the listed device that may show as devices.
        own: whether the entry is the user's, whose clock may have been set on purpose.
    """
    share, whose, values, notes = _share(listed, present, parts)
    found = [(values, notes), _memory(listed, present, sliced=share < 1)]
    if not own:
        found.append(_clock(listed, present))
    if share == 1:
        found.insert(0, _units(listed, present))
        found.append(_cache(listed, present))
    else:
        found.append((_shares(listed, share, whose), ()))
    return (
        {path: value for part, _ in found for path, value in part.items()},
        tuple(note for _, said in found for note in said),
    )


def limits(present: PresentDevice) -> Values:
    """Return the limits that a runtime sets, whatever the device."""
    values = {"occupancy.local_memory": queried(max(0.0, present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")}
    if present.max_work_group > 0:
        values["max_work_group"] = queried(present.max_work_group, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
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
    units = reported.compute_units(present)
    whole = listed.opencl_compute_units or listed.compute_units
    if units is None:
        note = (
            f"The driver does not tell the number of compute units ({present.compute_units} reported); predictions "
            f"are for the {listed.compute_units} that {listed.name} has."
        )
        return {}, (note,)
    if units >= min(whole, listed.compute_units):
        return _NOTHING
    there = max(1, round(units * listed.compute_units / whole))
    note = (
        f"The device reports {units} compute units where {listed.name} has {whole}: a slice of it, a smaller model, or "
        f"units switched off. Predictions are for {there} units; cache and memory bandwidth stay as listed."
    )
    return {"compute_units": queried(there, "CL_DEVICE_MAX_COMPUTE_UNITS")}, (note,)


def _share(listed: Device, present: PresentDevice, parts: int) -> tuple[float, str, Values, Notes]:
    """Return how much of the listed device there is, who says so, the units of that, and a note; all of it: 1."""
    units = reported.compute_units(present)
    mig = mig_slice(present.name)
    if units is None or units >= listed.compute_units:
        return 1, "", {}, ()
    queried_units = {"compute_units": queried(units, "CL_DEVICE_MAX_COMPUTE_UNITS")}
    if mig is not None:
        share = mig.share(listed.memory.size_bytes)
        return (
            share,
            "NVIDIA, MIG User Guide, supported profiles",
            queried_units,
            (_mig_note(listed, units, mig, share),),
        )
    part = round(units * parts / listed.compute_units)
    if 0 < part < parts and part * listed.compute_units == units * parts:
        note = (
            f"The device reports {units} of the {listed.compute_units} compute units of {listed.name}: {part} of its "
            f"{parts} parts. Predictions give it {Fraction(part, parts)} of the device's caches and bandwidth."
        )
        return part / parts, f"{part} of {parts} parts", queried_units, (note,)
    return 1, "", {}, ()


def _mig_note(listed: Device, units: int, mig: Slice, share: float) -> str:
    return (
        f"This is the MIG slice {mig.profile} of {listed.name}: {units} of its {listed.compute_units} compute units. "
        f"Predictions give it {Fraction(share)} of the L2 and of the memory bandwidth, as NVIDIA's MIG guide lists."
    )


def _shares(listed: Device, share: float, whose: str) -> Values:
    """Scale what the whole device shares: memory bandwidth and the caches that are not a compute unit's own."""
    note = f"{Fraction(share)} of the whole device's"
    values: Values = {"memory.bandwidth": _derived(listed.memory.bandwidth_bytes_per_s * share, whose, note)}
    for cache in listed.caches:
        if cache.scope == "device":
            values[f"caches.{cache.name}.capacity"] = _derived(cache.capacity_bytes * share, whose, note)
            parts = max(1, round(cache.partitions * share))
            values[f"caches.{cache.name}.partitions"] = _derived(parts, whose, note)
    return values


def _derived(value: object, source: str, note: str) -> Value:
    return Value(value, Provenance(kind="derived", source=source, note=note))


def _memory(listed: Device, present: PresentDevice, *, sliced: bool) -> tuple[Values, Notes]:
    """Replace the memory size where it is off by more than the tolerance, or was only assumed."""
    there = reported.memory_bytes(present)
    if there is None:
        return {}, (f"The driver does not tell the size of the memory; predictions are for that of {listed.name}.",)
    size = {"memory.size": queried(float(there), "CL_DEVICE_GLOBAL_MEM_SIZE")}
    if sliced or listed.provenance["memory.size"].kind == "assumed":
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
        f"{format_bytes(last.capacity_bytes)}: another model. Predictions are for what is reported."
    )
    return value, (note,)
