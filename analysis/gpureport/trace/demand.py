"""The demand of a dispatch, from its trace."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from math import prod
from typing import Literal

from gpureport.spec.models import Device
from gpureport.trace.accesses import Counts
from gpureport.trace.execution import NDRange
from gpureport.trace.summary import AccessTrace, Footprint, KernelTrace
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import AccessDemand, Demand, Stream

_COUNTS = (*(each.name for each in fields(Counts)), "hottest")
_FREE = frozenset({"other", "predicate"})
"""Classes of instructions of the intermediate language that a device does not execute."""
_ADDRESS = "int32"
"""Class of instructions that compute addresses."""


def demand_of_trace(trace: KernelTrace, shape: NDRange, device: Device) -> Demand:
    """Return the demand of one dispatch of *shape* on *device*, for which it was traced.

    Its streams and accesses have the names of the kernel's arguments.
    """
    chain = dict(trace.chain)
    missed, near = chain.pop("miss", 0.0), chain.pop("hit", 0.0)
    atomic = any(each.access.atomic for each in trace.accesses)
    return Demand(
        work_items=prod(shape.global_size),
        work_group=tuple(shape.local_size),
        streams=tuple(stream for each in trace.footprints for stream in _streams(each, trace)),
        operations=_operations(trace, device),
        chain=_listed(chain, device.architecture.latency_cycles),
        memory_chain=missed,
        nearest_chain=near,
        local_memory_bytes=trace.local_bytes,
        accesses=tuple(map(_access, trace.accesses)),
        phases_aligned=not atomic and missed + near <= 1,
    )


def _access(each: AccessTrace) -> AccessDemand:
    kind: Literal["load", "store", "atomic"]
    kind = "atomic" if each.access.atomic else "store" if each.access.write else "load"
    counts = {name: getattr(each, name) for name in _COUNTS}
    instruction = each.access
    return AccessDemand(
        buffer=each.name, space=each.space, kind=kind, line=instruction.line, nbytes=instruction.nbytes, **counts
    )


def _operations(trace: KernelTrace, device: Device) -> dict[str, float]:
    """Return instructions by class, those of idle lanes included, and the accesses of waves."""
    counted = {name: count for name, count in trace.issued.items() if name not in _FREE}
    lanes = {"memory": 0.0, "local": 0.0}
    for each in trace.accesses:
        lanes["local" if each.space == "local" else "memory"] += each.waves * trace.placement.wave
    counted = _listed(counted, device.architecture.rates_per_cycle)
    accesses = {name: count for name, count in lanes.items() if count}
    return {**counted, **accesses, "instruction": sum(counted.values()) + sum(accesses.values())}


def _listed(counts: Mapping[str, float], listed: Mapping[str, float]) -> dict[str, float]:
    """Return *counts* by the classes that an architecture has *listed*."""
    found: dict[str, float] = {}
    for name, count in counts.items():
        known = listed_class(_ADDRESS if name == "address" else name, listed)
        found[known] = found.get(known, 0.0) + count
    return found


def _streams(footprint: Footprint, trace: KernelTrace) -> Iterator[Stream]:
    """Yield a stream of touched units; those that are written completely need no other data from memory."""
    placement, used, unit = trace.placement, footprint.used_bytes, trace.placement.unit_bytes
    own = [each for each in trace.accesses if (each.buffer, each.access.write) == (footprint.buffer, footprint.write)]
    requested = sum(each.distinct * each.access.nbytes for each in own)
    loaded = sum(each.missed_sectors for each in own) * placement.sector_bytes
    moved = sum(each.sectors for each in own) * unit if footprint.write else loaded
    full = footprint.full_units if footprint.write else 0.0
    partly = footprint.units - full
    spread = max(unit, round(footprint.lines * placement.line_bytes / footprint.units))
    outer = moved / footprint.units / unit
    for elements, record, each_used in (
        (full, unit, unit),
        (partly, spread, max(1, round((used - full * unit) / max(1.0, partly)))),
    ):
        if elements and outer:
            yield Stream(
                buffer=footprint.name,
                elements=elements,
                record_bytes=record,
                used_bytes=each_used,
                write=footprint.write,
                passes=requested / used,
                outer_passes=outer,
                memory_passes=min(1.0, outer) + trace.lost * outer,
            )
