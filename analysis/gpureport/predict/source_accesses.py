"""What the memory accesses of each line of a kernel's source cost. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpureport.grouping import grouped
from gpureport.predict.advice import largest_point
from gpureport.predict.model import execution, point_time
from gpureport.predict.occupancy import Compiled
from gpureport.records.ceilings import Kind, kind_of
from gpureport.records.finding import SourceAccess
from gpureport.spec.models import Device, traced_lanes
from gpureport.workloads import grid
from gpureport.workloads.model import AccessDemand, Demand, Sweep, Workload


def source_accesses(
    workload: Workload,
    device: Device,
    sweeps: Sequence[Sweep],
    compiled: Mapping[str, Sequence[Compiled]] | None = None,
) -> tuple[SourceAccess, ...]:
    """Return the accesses of *workload* at its largest size, by source line, kind and array.

    Arguments are as for :func:`.advice`. The time of all traffic is divided by the sectors of each.
    """
    if not (largest := largest_point(workload, device, sweeps, compiled or {})):
        return ()
    label, _, base = largest
    runs = base.demand.dispatches
    costs = [(each, _unit_s(device, run, each) / len(runs)) for run in runs for each in run.accesses]
    ceilings, caches = point_time(*base).ceilings_s, {cache.name for cache in device.caches}
    memory_s = sum(time for name, time in ceilings.items() if kind_of(name, caches) in (Kind.CACHE, Kind.MEMORY))
    allocates = device.architecture.write_allocate
    traffic = sum(_transferred(each, allocates) for each, _ in costs) or 1.0

    def of_line(parts: Sequence[tuple[AccessDemand, float]]) -> SourceAccess:
        first, accesses = parts[0][0], [each for each, _ in parts]
        waves, sectors = (sum(getattr(each, name) for each in accesses) for name in ("waves", "sectors"))
        share = sum(_transferred(each, allocates) for each in accesses) / traffic
        return SourceAccess(
            workload=workload.name,
            point=label,
            line=first.line,
            text=workload.source_line(first.line),
            kind=first.kind,
            space=first.space,
            array=first.buffer,
            lines=sum(each.lines for each in accesses) / waves,
            cycles=sum(each.conflict_cycles for each in accesses) / waves,
            used_bytes=sum(each.distinct * each.nbytes for each in accesses) / sectors if sectors else 0.0,
            sector_bytes=grid.last_sector_bytes(device),
            traffic_share=share,
            unit_s=sum(seconds for _, seconds in parts),
            memory_s=share * memory_s,
        )

    lines = grouped(((each.line, each.kind, each.space, each.buffer), (each, s)) for each, s in costs)
    return tuple(map(of_line, lines.values()))


def _transferred(access: AccessDemand, allocates: bool) -> float:
    """Return the sectors that the first cache requests, and writes through; lines written back later do not count."""
    cached = access.kind == "load" or allocates
    return 0.0 if access.space == "local" else access.missed_sectors if cached else access.sectors


def _unit_s(device: Device, demand: Demand, access: AccessDemand) -> float:
    """Return the seconds of one access in the load/store unit, or in local memory."""
    unit = "local" if access.space == "local" else "memory"
    wave = traced_lanes(device.architecture, branches=demand.branches, barriers="barrier" in demand.operations)
    alone = replace(demand, accesses=(access,), operations={unit: access.waves * wave})
    return sum(execution(device, alone).class_times().values())
