"""A stored report as a result that the current model and detector are held against."""

from collections.abc import Iterable, Sequence

from gpureport.predict import limits_of
from gpureport.predict.occupancy import Resources
from gpureport.records import Compilation, Measurement
from gpureport.report.document import Report
from gpureport.spec.database import Database
from gpureport.spec.host import Host, HostCache
from gpureport.spec.models import Device
from gpureport.validation import Result, Series
from gpureport.workloads.model import Parameters, Sweep, Workload


def result_of(report: Report, name: str, database: Database, workloads: Iterable[Workload]) -> Result:
    """Return what *report* measured, ready to be predicted again.

    Args:
        report: as stored.
        name: of the result.
        database: of today; see :func:`device_of`.
        workloads: of today; measurements of others are named in ``Result.unknown``.
    """
    known = {workload.name: workload for workload in workloads}
    points = {str(p.key): [each.point.parameters for each in p.points] for p in report.predictions}
    device = device_of(report, database)
    series: list[Series] = []
    unknown: list[str] = []
    for measurement in report.measurements:
        if not any(point.samples_s for point in measurement.points):
            continue
        title = f"{measurement.key.workload}/{measurement.key.variant}"
        try:
            series.append(_series(device, known[title], measurement, points.get(str(measurement.key), [])))
        except KeyError:
            unknown.append(str(measurement.key))
    return Result(name, device, tuple(series), tuple(unknown))


def device_of(report: Report, database: Database) -> Device:
    """Return the device as the database knows it today, corrected by what was present when the report was made.

    A device without an entry stays as stored. A processor's sizes are those of the machine that was measured, not of
    this one.
    """
    entry, present = report.match.entry, report.machine.opencl
    if entry is None or entry not in database.entries:
        return report.device
    there = Database(database.entries, database.architecture_paths)
    there.host = _host(report.device)
    match = there.match(present)
    return match.device if match.entry_id == entry else there.device(entry)


def _host(device: Device) -> Host:
    """Return the host that would resolve to the stored device's sizes."""
    cores = device.compute_units
    caches = (
        HostCache(
            level=int(cache.name.removeprefix("L")),
            size_bytes=round(cache.capacity_bytes / cache.partitions),
            shared_by=1 if cache.scope == "compute_unit" else max(1, cores // cache.partitions),
            line_bytes=cache.line_bytes,
        )
        for cache in device.caches
        if cache.name in ("L1", "L2", "L3")
    )
    return Host(device.name, cores, round(device.memory.size_bytes), device.clock_hz, tuple(caches))


def _series(device: Device, workload: Workload, measurement: Measurement, predicted: Sequence[Parameters]) -> Series:
    """Return a sweep over all points that were predicted then, of which some were measured."""
    points = predicted or [point.point.parameters for point in measurement.points]
    name = measurement.key.sweep
    today = (sweep.frames for sweep in workload.sweeps(device, limits_of(device)) if sweep.name == name)
    sweep = Sweep(name, measurement.axis, tuple(points), "", frames=next(today, 0))
    compiled = tuple(_resources(workload.build_options(parameters), measurement.compilation) for parameters in points)
    return Series(workload, sweep, _renewed(measurement, workload, sweep), compiled=compiled)


def _renewed(measurement: Measurement, workload: Workload, sweep: Sweep) -> Measurement:
    """Return the samples under today's names and counts of their points."""
    points = (p.model_copy(update={"point": workload.point(p.point.parameters, sweep)}) for p in measurement.points)
    return measurement.model_copy(update={"points": tuple(points), "metric": workload.metric})


def _resources(options: str, compilations: Sequence[Compilation]) -> Resources | None:
    """Return what the compiler said of the first kernel that was built with (at least) *options*, if it told."""
    wanted = set(options.split())
    built = next((c for c in compilations if wanted <= set(c.options.split())), None)
    if built is None or built.registers_per_work_item is None:
        return None
    return Resources(built.registers_per_work_item, built.local_memory_bytes or 0, compiled=True)
