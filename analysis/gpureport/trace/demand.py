"""The demand of a dispatch, from its trace."""

from collections.abc import Iterator, Mapping
from math import prod

from gpureport.spec.models import Architecture, Device
from gpureport.trace.execution import NDRange
from gpureport.trace.summary import Footprint, KernelTrace, emitted_as
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import Demand, Stream

_COMBINING = 5.0
"""Exchanges by which the lanes of a wave combine what they add to one address."""


def demand_of_trace(trace: KernelTrace, shape: NDRange, device: Device) -> Demand:
    """Return the demand of one dispatch of *shape* on *device*, for which it was traced.

    Its streams and accesses have the names of the kernel's arguments.
    """
    chain = dict(trace.chain)
    missed, near = chain.pop("miss", 0.0), chain.pop("hit", 0.0)
    atomic = any(each.kind == "atomic" for each in trace.accesses)
    return Demand(
        work_items=prod(shape.global_size),
        work_group=tuple(shape.local_size),
        streams=tuple(stream for each in trace.footprints for stream in _streams(each, trace)),
        operations=_operations(trace, device),
        chain=_listed(chain, device.architecture.latency_cycles, device.architecture),
        memory_chain=missed,
        nearest_chain=near,
        local_memory_bytes=trace.local_bytes,
        accesses=trace.accesses,
        branches=trace.ways[0],
        maskable=trace.ways[1],
        uneven=trace.uneven,
        phases_aligned=not atomic and missed + near <= 1,
    )


def _operations(trace: KernelTrace, device: Device) -> dict[str, float]:
    """Return instructions by class, those of idle lanes included, and the accesses of waves."""
    lanes = {"memory": 0.0, "local": 0.0}
    counted = {name: count for name, count in trace.issued.items() if name not in lanes}
    for each in trace.accesses:
        lanes["local" if each.space == "local" else "memory"] += each.waves * trace.placement.wave
        if each.kind == "atomic" and each.same and not device.architecture.groups_as_loops:
            counted["shuffle"] = counted.get("shuffle", 0.0) + _COMBINING * each.waves * trace.placement.wave
    counted = _listed(counted, device.architecture.rates_per_cycle, device.architecture)
    accesses = {name: count for name, count in lanes.items() if count}
    # Addresses of 64 bits take two instructions, of which one is counted; without a local memory of its own, all are.
    further = sum(lanes.values()) if device.architecture.groups_as_loops else lanes["memory"]
    others = 0.0 if device.architecture.scalar_unit else sum(accesses.values()) + further
    return {**counted, **accesses, "instruction": sum(counted.values()) + others}


def _listed(counts: Mapping[str, float], listed: Mapping[str, float], architecture: Architecture) -> dict[str, float]:
    """Return *counts* by the classes that an architecture has *listed*."""
    usual, found = emitted_as(architecture, listed), dict[str, float]()
    for name, count in counts.items():
        known = listed_class(usual.get(name, name), listed)
        found[known] = found.get(known, 0.0) + count
    return found


def _streams(footprint: Footprint, trace: KernelTrace) -> Iterator[Stream]:
    """Yield a stream of touched units; those that are written completely need no other data from memory."""
    placement, unit, write = trace.placement, trace.placement.unit_bytes, footprint.write
    used, units, full, lines = footprint.extent
    own = [each for each in trace.accesses if (each.buffer, each.kind != "load") == (footprint.buffer, write)]
    requested = sum(each.distinct * each.nbytes for each in own)
    through = write and not placement.allocates
    moved = sum(each.sectors * unit if through else each.missed_sectors * placement.sector_bytes for each in own)
    full, outer = full if write else 0.0, moved / units / unit
    partly = units - full
    spread = max(unit, round(lines * placement.line_bytes / units))
    partly_used = max(1, round((used - full * unit) / max(1.0, partly)))
    for elements, record, each_used in ((full, unit, unit), (partly, spread, partly_used)):
        if elements and outer:
            yield Stream(
                buffer=footprint.buffer,
                elements=elements,
                record_bytes=record,
                used_bytes=each_used,
                write=write,
                passes=requested / used,
                outer_passes=outer,
                memory_passes=min(1.0, outer) + trace.lost * outer,
            )
