"""The device as a whole: its link, resident work-groups, usable part of a cache."""

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt
from statistics import median
from typing import NamedTuple

from gpureport.observe.statistics import Estimate
from gpureport.predict.occupancy import builds_of, compiled_resources, occupancy
from gpureport.predict.transfers import link_bytes_per_s
from gpureport.records.curves import Observation
from gpureport.records.measurement import Measurement
from gpureport.records.report import Report
from gpureport.spec.models import Device, Link
from gpureport.workloads.residency import Residency

WORKLOAD, LATENCY = "residency/work_groups", "memory/latency"
"""The workloads that count resident work-groups, and that show the usable part of a CPU's last cache."""
TRANSFERS = {"transfer/pinned": "pinned", "transfer/pageable": "ordinary memory"}
"""The workloads that use the link, with the memory of the host."""
_BEYOND = 2.0
"""Working sets up to this multiple of the private caches say nothing about the last one."""


def link_under_load(report: Report) -> Link | None:
    """Return the best link that was read while data were transferred: idle devices may lower its generation."""
    readings = [
        reading
        for conditions in report.conditions
        if conditions.workload in TRANSFERS
        for reading in conditions.readings
        if reading.measuring
    ]
    generation = max((each.link_generation or 0 for each in readings), default=0)
    lanes = max((each.link_lanes or 0 for each in readings), default=0)
    return Link.pcie(generation, lanes) if generation and lanes else None


def slow_link(report: Report) -> tuple[tuple[Link, float], tuple[Link, float]] | None:
    """Return the link that was read and the one that the device supports, with their rates, if the former is slower."""
    listed, there = report.device.link, link_under_load(report)
    if listed is None or listed.kind != "pcie" or there is None:
        return None
    if (there.generation or 0) >= (listed.generation or 0) and (there.lanes or 0) >= (listed.lanes or 0):
        return None
    return (there, link_bytes_per_s(there, "to_host")), (listed, link_bytes_per_s(listed, "to_host"))


class ResidentGroups(NamedTuple):
    """One kind of work-group."""

    label: str
    local: int
    """Work-items of a work-group."""
    predicted: int
    """Work-groups that are resident on the whole device by the rules of the architecture."""
    counted: int | None
    """Work-groups that the kernel counted; ``None``: it did not run."""


def resident_groups(report: Report) -> tuple[ResidentGroups, ...]:
    """Return the cases of the workload that counts work-groups; none if it was not measured."""
    found = (each for each in report.measurements if each.key.workload == WORKLOAD)
    return tuple(row for measurement in found for row in _rows(report, measurement))


def most_counted(report: Report) -> int | None:
    """Return the largest number of work-items that were counted as resident at once."""
    return max((row.counted * row.local for row in resident_groups(report) if row.counted), default=None)


def _rows(report: Report, measurement: Measurement) -> Iterator[ResidentGroups]:
    device = report.device
    places = device.compute_units // device.architecture.occupancy.units
    for point in measurement.points:
        given = point.point.parameters
        compiled = compiled_resources(next(iter(builds_of(Residency(), given, measurement.compilation)), None))
        registers = compiled.get("registers", given["kept"] + 12)
        local_bytes = max(given["used"], compiled.get("local_memory_bytes", 0))
        rules = occupancy(device.architecture, (given["local"],), registers, local_bytes)
        predicted = min(rules.groups_per_compute_unit * places, given["groups"])
        yield ResidentGroups(point.point.label, given["local"], predicted, point.counted)


def usable_part(device: Device, observations: Iterable[Observation]) -> Estimate | None:
    """Return the bytes of a CPU's last cache that dependent loads find; ``None`` if their latency does not show it.

    At the value, the latency has risen by half of the way from that of the cache to that of memory, at the ends by a
    quarter and three quarters (log scales). It rises gradually where other programs use a part of the cache.
    """
    last = device.caches[-1] if device.caches else None
    loads = next((each for each in observations if each.key.workload == LATENCY), None)
    if not device.architecture.has_neighbours or last is None or last.scope != "device" or loads is None:
        return None
    points = sorted((p.point.working_set_bytes, p.value) for p in loads.points)
    least = _least_bytes(device)
    beyond = [value for size, value in points if size > last.capacity_bytes]
    inside = [value for size, value in points if least <= size <= last.capacity_bytes]
    if not beyond or not inside or inside[0] >= (memory := median(beyond)):
        return None
    fastest = min(inside[0], device.cycles(last.latency_cycles))
    low, middle, high = (_crossing(points, fastest * (memory / fastest) ** share) for share in (0.25, 0.5, 0.75))
    return Estimate(middle, low, high) if middle >= least else None


def usable_latency(device: Device, observations: Iterable[Observation], latency_s: float) -> Estimate | None:
    """Return the latency of a CPU's last cache in its usable part, if a plateau of *latency_s* lies beyond that part.

    Most loads of such a plateau are from memory. The value is the median over sizes, its interval their range.
    """
    seen = tuple(observations)
    usable = usable_part(device, seen)
    points = sorted((p.point.working_set_bytes, p.value) for o in seen if o.key.workload == LATENCY for p in o.points)
    if usable is None or _crossing(points, latency_s) <= usable.value:
        return None
    least = _least_bytes(device)
    inside = [value for size, value in points if least <= size <= usable.value]
    return Estimate(median(inside), min(inside), max(inside)) if inside else None


def _least_bytes(device: Device) -> float:
    """Return the size from which on working sets say something about the last cache."""
    return _BEYOND * max((c.capacity_bytes for c in device.caches if c.scope == "compute_unit"), default=0.0)


def _crossing(points: Sequence[tuple[float, float]], value: float) -> float:
    """Return the size up to which most values are below *value*: as many above before it as below after it."""
    sizes = [size for size, _ in points]
    below = sum(seen < value for _, seen in points)
    return sqrt(sizes[max(0, below - 1)] * sizes[min(below, len(sizes) - 1)])
