"""Stored measurements and published records, converted for new predictions and observations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpureport.predict import limits_of, model_inputs
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import Compiled, builds_of, compiled_resources
from gpureport.records.curves import Basis, Points, SweepKey
from gpureport.records.measurement import Measurement
from gpureport.records.report import Machine, Publication, Report
from gpureport.spec.cores import listed_clock_hz
from gpureport.spec.database import Database
from gpureport.spec.host import HostProcessor, ProcessorFacts
from gpureport.spec.models import Device
from gpureport.workloads.model import Parameters, Sweep, Workload

LACKING = "this version has no such workload"
"""Why sweeps of workloads of other versions cannot be predicted."""


class Series(NamedTuple):
    """One measured sweep, and how to predict it."""

    workload: Workload
    """The workload that was measured, or the equivalent of the published kernel."""
    sweep: Sweep
    """All points to predict, among them the measured ones."""
    measurement: Measurement
    """The raw samples; of published points the medians, as one sample each."""
    resources: Mapping[Basis, tuple[Compiled, ...]]
    """Registers and local memory of each point: published ones, for the specification prediction, or as reported by the
    compiler, for the calibrated prediction."""
    conditions: str = ""
    """Conditions of the measurement, as text."""


class Result(NamedTuple):
    """The measurements of one device."""

    name: str
    """Name of the source folder or file."""
    device: Device
    """Its current database entry."""
    series: tuple[Series, ...]
    """The measured sweeps."""
    skipped: Mapping[SweepKey, str] = {}
    """Sweeps that cannot be predicted, with the reason."""
    publication: Publication | None = None
    """Source of published results; then no microbenchmarks of the same run calibrate them."""


def report_result(report: Report, name: str, database: Database, workloads: Iterable[Workload]) -> Result:
    """Return the result of a stored report for the current *database* and *workloads*; see :func:`device_of`."""
    known = {workload.name: workload for workload in workloads}
    predicted = {str(p.key): [point.point.parameters for point in p.points] for p in report.predictions}
    device = device_of(report, database)
    series: list[Series] = []
    skipped: dict[SweepKey, str] = {}
    for measurement in report.measurements:
        if not any(point.samples_s for point in measurement.points):
            continue
        key, workload = measurement.key, known.get(measurement.key.workload)
        if workload is None:
            info = report.workloads.get(key.workload)
            described = "it is a kernel of the user; add --kernel with its source or description"
            skipped[key] = described if info and info.described else LACKING
            continue
        try:
            series.append(_series(device, workload, measurement, predicted.get(str(key), []), report.publication))
        except KeyError as error:
            skipped[key] = f"its points lack the parameter {error}, which this version requires"
        except (ValueError, ArithmeticError) as error:
            skipped[key] = f"a parameter of its points is invalid in this version ({error})"
    return Result(name, device, tuple(series), skipped, publication=report.publication)


def device_of(report: Report, database: Database) -> Device:
    """Return the current database entry of the measured device, corrected by what its driver reported.

    A device without an entry stays as stored. So does a processor whose own sizes are not known: it does not have those
    of this machine.
    """
    entry, machine = report.match.entry, report.machine
    if entry is None or entry not in database.entries:
        return report.device
    if machine is None:
        return database.device(entry)
    if machine.processor is None and database.entries[entry].file.host:
        return report.device
    original = Database(database.entries, database.architecture_paths)
    original.host = host_of(report.device, machine)
    match = original.match(machine.opencl)
    return match.device if match.entry == entry else original.device(entry)


def host_of(device: Device, machine: Machine) -> HostProcessor:
    """Return the processor of the machine with a measured *device*; former reports have no clock among its facts."""
    facts = machine.processor or ProcessorFacts(name=device.name, processors=device.compute_units)
    clock_hz = facts.clock_hz or machine.opencl.clock_hz or listed_clock_hz(device)
    return HostProcessor(facts.model_copy(update={"clock_hz": clock_hz}), round(device.memory.size_bytes))


def _series(
    device: Device,
    workload: Workload,
    measurement: Measurement,
    predicted: Sequence[Parameters],
    publication: Publication | None,
) -> Series:
    """Return a sweep over all points that the report predicted, of which some were measured.

    The current workload may raise KeyError, ValueError or ArithmeticError for parameters of earlier versions.
    """
    points = predicted or [point.point.parameters for point in measurement.points]
    name = measurement.key.sweep
    current = next((each for each in workload.sweeps(device, limits_of(device)) if each.name == name), None)
    sweep = Sweep(
        name,
        measurement.axis,
        tuple(points),
        "",
        isolated=bool((current and current.isolated) or (publication and publication.isolated)),
        read_between=bool(publication and publication.read_between),
    )
    for parameters in points:
        point_time(*model_inputs(device, workload, sweep, parameters))
    builds = (builds_of(workload, parameters, measurement.compilation) for parameters in points)
    resources = tuple(compiled_resources(next(iter(each), None)) for each in builds)
    used: dict[Basis, tuple[Compiled, ...]] = {"specification": (), "calibrated": resources}
    new = (p.model_copy(update={"point": workload.point(p.point.parameters, sweep)}) for p in measurement.points)
    renewed = measurement.model_copy(update={"points": Points(new), "metric": workload.metric})
    return Series(workload, sweep, renewed, used)
