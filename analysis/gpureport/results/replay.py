"""What was measured once, by us or by others, ready to be predicted and observed again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpureport.predict import limits_of, model_inputs
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Resources, compiled_resources
from gpureport.records.measurement import Compilation, Measurement
from gpureport.records.report import Publication, Report
from gpureport.results import published
from gpureport.spec.database import Database
from gpureport.spec.host import HostCache, HostProcessor
from gpureport.spec.models import Device
from gpureport.workloads.model import Parameters, Sweep, Workload


@dataclass(frozen=True)
class Series:
    """One measured sweep, and how to predict it.

    Attributes:
        workload: what was measured.
        sweep: all points to predict; those that were measured are among them.
        measurement: the raw samples.
        told: registers and local memory of each point that the specification prediction may use: published ones.
        compiled: those that the calibrated prediction may use: the compiler's.
        conditions: under which it was measured, in words.
    """

    workload: Workload
    sweep: Sweep
    measurement: Measurement
    told: tuple[Resources | None, ...] = ()
    compiled: tuple[Resources | None, ...] = ()
    conditions: str = ""


@dataclass(frozen=True)
class Result:
    """What was measured on one device.

    Attributes:
        name: of the folder or file that it came from.
        device: as the database has it now.
        series: what was measured.
        unknown: sweeps that the workloads of today do not know.
        published: by others; there are no primitives of the same run then, and nothing is calibrated.
    """

    name: str
    device: Device
    series: tuple[Series, ...]
    unknown: tuple[str, ...] = ()
    published: bool = False


def identity(parameters: Parameters) -> tuple[tuple[str, int], ...]:
    """Return what tells points of one sweep apart."""
    return tuple(sorted(parameters.items()))


def published_result(record: published.Published, database: Database) -> Result:
    """Return what others measured on a device of the database."""
    series = tuple(
        Series(s.workload, s.sweep, s.measurement, told=s.compiled, conditions=s.conditions) for s in record.series
    )
    return Result(record.id, database.device(record.device), series, published=True)


def report_result(report: Report, name: str, database: Database, workloads: Iterable[Workload]) -> Result:
    """Return what *report* measured.

    Args:
        report: as stored.
        name: of the result.
        database: of today; see :func:`device_of`.
        workloads: of today; what they do not know goes to ``Result.unknown``.
    """
    known = {workload.name: workload for workload in workloads}
    predicted = {str(p.key): [point.point.parameters for point in p.points] for p in report.predictions}
    device = device_of(report, database)
    series: list[Series] = []
    unknown: list[str] = []
    for measurement in report.measurements:
        if not any(point.samples_s for point in measurement.points):
            continue
        key = measurement.key
        try:
            workload = known[key.workload]
            points = predicted.get(str(key), [])
            series.append(_series(device, workload, measurement, points, report.publication))
        except (KeyError, ValueError, ArithmeticError):  # the workload, a parameter, or a value that it cannot have
            unknown.append(str(key))
    return Result(name, device, tuple(series), tuple(unknown), published=report.publication is not None)


def device_of(report: Report, database: Database) -> Device:
    """Return the device as the database knows it today, corrected by what was present when the report was made.

    A device without an entry stays as stored. A processor's sizes are those of the machine that was measured, not of
    this one.
    """
    entry = report.match.entry
    if entry is None or entry not in database.entries:
        return report.device
    if report.machine is None:
        return database.device(entry)
    present = report.machine.opencl
    there = Database(database.entries, database.architecture_paths)
    there.host = _host(report.device)
    match = there.match(present)
    return match.device if match.entry_id == entry else there.device(entry)


def _host(device: Device) -> HostProcessor:
    """Return the host whose sizes are those of the stored device."""
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
    machine = device.architecture.id
    return HostProcessor(device.name, cores, round(device.memory.size_bytes), device.clock_hz, tuple(caches), machine)


def _series(
    device: Device,
    workload: Workload,
    measurement: Measurement,
    predicted: Sequence[Parameters],
    publication: Publication | None,
) -> Series:
    """Return a sweep over all points that were predicted then, of which some were measured.

    Raises:
        KeyError: the workload asks for a parameter that its points had not then.
        ValueError: a parameter has a value that the workload's points cannot have.
        ArithmeticError: the same.
    """
    points = predicted or [point.point.parameters for point in measurement.points]
    name = measurement.key.sweep
    today = next((each for each in workload.sweeps(device, limits_of(device)) if each.name == name), None)
    sweep = Sweep(
        name,
        measurement.axis,
        tuple(points),
        "",
        frames=today.frames if today else 0,
        isolated=bool((today and today.isolated) or (publication and publication.isolated)),
        read_between=bool(publication and publication.read_between),
    )
    for parameters in points:
        point_time(*model_inputs(device, workload, sweep, parameters, None))
    compiled = tuple(_resources(workload.build_options(parameters), measurement.compilation) for parameters in points)
    return Series(workload, sweep, _renewed(measurement, workload, sweep), compiled=compiled)


def _renewed(measurement: Measurement, workload: Workload, sweep: Sweep) -> Measurement:
    """Return the samples under today's names and counts of their points."""
    points = (p.model_copy(update={"point": workload.point(p.point.parameters, sweep)}) for p in measurement.points)
    return measurement.model_copy(update={"points": tuple(points), "metric": workload.metric})


def _resources(options: str, compilations: Sequence[Compilation]) -> Resources | None:
    """Return what the compiler said of the first kernel that was built with (at least) *options*, if it told."""
    wanted = set(options.split())
    return compiled_resources(next((c for c in compilations if wanted <= set(c.options.split())), None))
