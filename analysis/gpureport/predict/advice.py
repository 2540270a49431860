"""What a described kernel costs by source line, and changes of it with the gains that the model predicts. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpureport.grouping import grouped
from gpureport.predict import ModelInput, model_inputs
from gpureport.predict.accesses import transferred
from gpureport.predict.memory import traffic_time, usable_capacities
from gpureport.predict.model import PointModel, execution
from gpureport.predict.traffic import footprint_bytes
from gpureport.records.curves import PointKey
from gpureport.records.finding import Advice, SourceAccess
from gpureport.spec.models import Device, traced_lanes
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.model import AccessDemand, Demand, Stream, Sweep, Workload

_LEAST_GAIN = constant(1.05)
"""Smaller gains are not reported."""
_VECTOR_BYTES = 16
_TOGETHER = 4
"""Iterations of a loop whose loads a programmer combines."""
_SCATTERED = constant(1.5)
"""Lines that accesses touch / fewest lines that contain as many bytes, from which on another layout is tried."""


def advice(workload: Workload, known: ModelInput, sweeps: Sequence[Sweep]) -> tuple[Advice, ...]:
    """Return the changes of a described *workload* that make it faster at its largest size, the largest gain first.

    Its :meth:`~.Workload.changes`, work-group shapes and occupancy are predicted. The first of its *sweeps* contains
    the largest size.
    """
    if not (largest := largest_point(workload, known, sweeps)):
        return ()
    key, base = largest
    device = base.device
    kept = {name: getattr(base.demand, name) for name in ("isolated", "registers", "local_memory_bytes", "compiled")}
    changed = (
        (what, base._replace(demand=replace(demand, **kept)))
        for what, demand in (*workload.changes(key.parameters, device), *changes(base.demand, device))
    )
    gains = [(what, base.time_s / other.time_s) for what, other in changed]
    if not device.architecture.groups_as_loops:
        # Compilers for CPUs turn a work-group into loops, whose predicted differences are too uncertain for advice.
        gains += _shapes(workload, device, sweeps[1:], base.demand.work_group)
    return tuple(
        Advice(workload=workload.name, point=key.label, change=what, gain=gain)
        for what, gain in sorted(gains, key=lambda each: -each[1])
        if gain >= _LEAST_GAIN
    )


def largest_point(workload: Workload, known: ModelInput, sweeps: Sequence[Sweep]) -> tuple[PointKey, PointModel] | None:
    """Return a described workload's point with most work, and the model's input for it."""
    if not workload.described or not sweeps or not sweeps[0].points:
        return None
    keys = [workload.point(each, sweeps[0]) for each in sweeps[0].points]
    last = max(range(len(keys)), key=lambda i: keys[i].work)
    return keys[last], known.points(workload, sweeps[0])[last]


def _shapes(
    workload: Workload, device: Device, sweeps: Sequence[Sweep], usual: tuple[int, ...]
) -> Iterator[tuple[str, float]]:
    for sweep in sweeps:
        if sweep.axis.quantity != "work_group":
            continue
        times: dict[tuple[int, ...], float] = {}
        for each in sweep.points:
            point = model_inputs(device, workload, sweep, each)
            times[point.demand.work_group] = point.time_s
        best = min(times, key=times.__getitem__, default=usual)
        if usual in times:
            one, other = (" x ".join(map(str, shape)) for shape in (best, usual))
            yield f"use work-groups of {one} instead of {other} work-items", times[usual] / times[best]


def changes(demand: Demand, device: Device) -> Iterator[tuple[str, Demand]]:
    """Yield changes of a kernel, as instructions without a full stop, each with the demand that results."""
    arrays = [each for each in demand.accesses if each.space != "private"]  # of others, compilers determine the places
    scattered = (each for each in arrays if each.lines > _SCATTERED * _units(each, device.line_bytes))
    for array, space in {each.buffer: each.space for each in scattered}.items():
        what = f"let neighbouring work-items access neighbouring elements of {array or f'{space} memory'}"
        yield what, _in_order(demand, array, device)
    if device.architecture.groups_as_loops:
        return
    if any(each.turns > (each.conflict_cycles if each.space == "local" else each.sectors) for each in arrays):
        accesses = tuple(replace(each, turns=0.0, hottest=0.0) for each in demand.accesses)
        yield "spread the atomic operations over several copies of the array", replace(demand, accesses=accesses)
    if demand.memory_chain > max(_TOGETHER, demand.chain.get("barrier", 0.0)):
        fewer = replace(demand, memory_chain=demand.memory_chain / _TOGETHER)
        yield f"issue the loads of {_TOGETHER} iterations before the first result is used", fewer
    yield from _vectors(demand, device)


def _in_order(demand: Demand, array: str, device: Device) -> Demand:
    """Return the demand if neighbouring work-items accessed neighbouring elements of an *array*, without gaps."""
    streams = (
        replace(s, record_bytes=s.used_bytes, accesses=None, rows=None) if s.buffer == array else s
        for s in demand.streams
    )
    accesses = (_ordered(each, device) if each.buffer == array else each for each in demand.accesses)
    return replace(demand, streams=tuple(streams), accesses=tuple(accesses))


def _ordered(access: AccessDemand, device: Device) -> AccessDemand:
    sectors = _units(access, grid.last_sector_bytes(device))
    cycles = _units(access, 4 * device.architecture.local_memory_banks)
    return replace(
        access,
        lines=min(access.lines, _units(access, device.line_bytes)),
        sectors=min(access.sectors, sectors),
        conflict_cycles=min(access.conflict_cycles, cycles),
        turns=min(access.turns, cycles if access.space == "local" else sectors),
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


def source_accesses(workload: Workload, known: ModelInput, sweeps: Sequence[Sweep]) -> tuple[SourceAccess, ...]:
    """Return the accesses of *workload* at its largest size, by source line, kind and array.

    Arguments are as for :func:`advice`.
    """
    if not (largest := largest_point(workload, known, sweeps)):
        return ()
    key, base = largest
    device = base.device
    runs = base.demand.dispatches
    costs = [(each, _unit_s(device, run, each), _memory_s(device, run, each)) for run in runs for each in run.accesses]
    allocates = device.architecture.write_allocate
    traffic = sum(transferred(each, allocates=allocates) for each, *_ in costs) or 1.0

    def of_line(parts: Sequence[tuple[AccessDemand, float, float]]) -> SourceAccess:
        first, accesses = parts[0][0], [each for each, *_ in parts]
        waves, sectors = (sum(getattr(each, name) for each in accesses) for name in ("waves", "sectors"))
        used, sector = sum(each.distinct * each.nbytes for each in accesses), grid.last_sector_bytes(device)
        return SourceAccess(
            workload=workload.name,
            point=key.label,
            line=first.line,
            text=workload.source_line(first.line),
            kind=first.kind,
            space=first.space,
            array=first.buffer,
            lines=sum(each.lines for each in accesses) / waves,
            cycles=sum(each.conflict_cycles for each in accesses) / waves,
            used_bytes=min(sector, used / max(1.0, sectors)),  # stores may be part of others
            sector_bytes=sector,
            traffic_share=sum(transferred(each, allocates=allocates) for each in accesses) / traffic,
            unit_s=sum(seconds for _, seconds, _ in parts) / len(runs),
            memory_s=sum(seconds for *_, seconds in parts) / len(runs),
        )

    lines = grouped(((cost[0].line, cost[0].kind, cost[0].space, cost[0].buffer), cost) for cost in costs)
    return tuple(map(of_line, lines.values()))


def _unit_s(device: Device, demand: Demand, access: AccessDemand) -> float:
    """Return the seconds of one access in the load/store unit, or in local memory."""
    unit = "local" if access.space == "local" else "memory"
    wave = traced_lanes(device.architecture, branches=demand.branches, barriers="barrier" in demand.operations)
    alone = replace(demand, accesses=(access,), operations={unit: access.waves * wave})
    return sum(execution(device, alone).class_times().values())


def _memory_s(device: Device, demand: Demand, access: AccessDemand) -> float:
    """Return the seconds of the traffic of one access without the others; the same levels serve it as among them."""

    def sectors(some: Iterable[AccessDemand]) -> float:
        return sum(transferred(each, allocates=device.architecture.write_allocate) for each in some)

    def is_same(stream: Stream, each: AccessDemand) -> bool:
        return (each.buffer, each.kind != "load") == (stream.buffer, stream.write)

    moved, streams = sectors([access]), [each for each in demand.streams if is_same(each, access)]
    if not (moved and streams):
        return 0.0
    share = moved / sectors(each for each in demand.accesses if is_same(streams[0], each))
    names = ("elements", "accesses", "rows")
    part = tuple(replace(s, **{n: share * v for n in names if (v := getattr(s, n)) is not None}) for s in streams)
    alone = execution(device, replace(demand, accesses=(access,), streams=part))
    footprint = footprint_bytes(demand.streams, device, one_buffer=demand.one_buffer)
    return traffic_time(alone, footprint, usable_capacities(alone))[0]
