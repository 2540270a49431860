"""Changes of a traced kernel whose effect on its demand is known. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from gpureport.predict.accesses import waiting_operations
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.model import AccessDemand, Demand

_VECTOR_BYTES = 16
_TOGETHER = 4
"""Iterations of a loop whose loads a programmer combines."""
_SCATTERED = constant(1.5)
"""Lines that accesses touch / fewest lines that contain as many bytes, from which on another layout is tried."""


def changes(demand: Demand, device: Device) -> Iterator[tuple[str, Demand]]:
    """Yield changes of a kernel, as instructions without a full stop, each with the demand that results."""
    yield from _layouts(demand, device)
    if device.architecture.groups_as_loops:
        return
    if any(waiting_operations(each) > 0 for each in demand.accesses):
        accesses = tuple(replace(each, repeated=each.waves, hottest=0.0) for each in demand.accesses)
        yield "spread the atomic operations over several copies of the array", replace(demand, accesses=accesses)
    if demand.memory_chain > max(_TOGETHER, demand.chain.get("barrier", 0.0)):
        fewer = replace(demand, memory_chain=demand.memory_chain / _TOGETHER)
        yield f"issue the loads of {_TOGETHER} iterations before the first result is used", fewer
    yield from _vectors(demand, device)


def _layouts(demand: Demand, device: Device) -> Iterator[tuple[str, Demand]]:
    scattered = (each for each in demand.accesses if each.lines > _SCATTERED * _units(each, device.line_bytes))
    for array, space in {each.buffer: each.space for each in scattered}.items():
        what = f"let neighbouring work-items access neighbouring elements of {array or f'{space} memory'}"
        yield what, _in_order(demand, array, device)


def _in_order(demand: Demand, array: str, device: Device) -> Demand:
    """Return the demand if neighbouring work-items accessed neighbouring elements of an *array*, without gaps."""
    streams = (replace(s, record_bytes=s.used_bytes) if s.buffer == array else s for s in demand.streams)
    accesses = (_ordered(each, device) if each.buffer == array else each for each in demand.accesses)
    return replace(demand, streams=tuple(streams), accesses=tuple(accesses))


def _ordered(access: AccessDemand, device: Device) -> AccessDemand:
    sectors = _units(access, grid.last_sector_bytes(device))
    return replace(
        access,
        lines=min(access.lines, _units(access, device.line_bytes)),
        sectors=min(access.sectors, sectors),
        conflict_cycles=min(access.conflict_cycles, _units(access, 4 * device.architecture.local_memory_banks)),
        missed_sectors=min(access.missed_sectors, sectors),
        partly_written=0.0,
    )


def _units(access: AccessDemand, nbytes: float) -> float:
    """Return the fewest units of *nbytes* that contain what each wave accesses."""
    return max(access.waves, access.distinct * access.nbytes / nbytes)


def _vectors(demand: Demand, device: Device) -> Iterator[tuple[str, Demand]]:
    """Yield the demand of work-items that process several neighbouring elements, of streams in one dimension."""
    widest = max((each.nbytes for each in demand.accesses), default=_VECTOR_BYTES)
    lanes = _VECTOR_BYTES // widest
    if lanes <= 1 or len(demand.work_group) > 1 or demand.memory_chain > 1 or not _is_plain(demand, device):
        return
    shared = ("memory", "instruction")
    wide = replace(
        demand,
        work_items=max(1, demand.work_items // lanes),
        operations={name: n / lanes if name in shared else n for name, n in demand.operations.items()},
        streams=tuple(
            replace(
                s, elements=s.elements / lanes, record_bytes=s.record_bytes * lanes, used_bytes=s.used_bytes * lanes
            )
            for s in demand.streams
        ),
        accesses=tuple(
            replace(a, nbytes=a.nbytes * lanes, waves=a.waves / lanes, distinct=a.distinct / lanes)
            for a in demand.accesses
        ),
    )
    yield f"let each work-item load and store vectors of {lanes} elements", wide


def _is_plain(demand: Demand, device: Device) -> bool:
    """Return whether all accesses are to neighbouring elements of arrays, each of which is accessed once."""
    waits = demand.local_memory_bytes or demand.chain.get("barrier")
    once = all(stream.passes == 1 and stream.used_bytes == stream.record_bytes for stream in demand.streams)
    neighbours = (
        each.space == "global" and each.kind != "atomic" and each.lines < _SCATTERED * _units(each, device.line_bytes)
        for each in demand.accesses
    )
    return once and not waits and all(neighbours)
