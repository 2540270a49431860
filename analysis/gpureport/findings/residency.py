"""Resident work-groups: counted by a kernel, and by the rules of occupancy. Pure functions."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpureport.predict.occupancy import Resources, compiled_resources, occupancy, units_per_group
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.prediction import Occupancy
from gpureport.records.report import Report

WORKLOAD = "residency/work_groups"


@dataclass(frozen=True)
class ResidentGroups:
    """One kind of work-group.

    Attributes:
        label: of the case.
        local: work-items of a work-group.
        rules: occupancy by the rules of the architecture.
        predicted: work-groups that are resident on the whole device by these rules.
        counted: work-groups that the kernel counted; ``None``: it did not run.
    """

    label: str
    local: int
    rules: Occupancy
    predicted: int
    counted: int | None


def resident_groups(report: Report) -> tuple[ResidentGroups, ...]:
    """Return the cases of the workload that counts work-groups; none if it was not measured."""
    found = (each for each in report.measurements if each.key.workload == WORKLOAD)
    return tuple(row for measurement in found for row in _rows(report, measurement))


def most_counted(report: Report) -> int | None:
    """Return the largest number of work-items that were counted as resident at once."""
    return max((row.counted * row.local for row in resident_groups(report) if row.counted), default=None)


def _rows(report: Report, measurement: Measurement) -> Iterator[ResidentGroups]:
    device = report.device
    places = device.compute_units // units_per_group(device.architecture.occupancy)
    for point in measurement.points:
        rules = occupancy(device.architecture, (point.point.parameters["local"],), _resources(measurement, point))
        predicted = min(rules.groups_per_compute_unit * places, point.point.parameters["groups"])
        yield ResidentGroups(point.point.label, point.point.parameters["local"], rules, predicted, point.counted)


def _resources(measurement: Measurement, point: MeasuredPoint) -> Resources:
    """Return registers as compiled, else as estimated, and the local memory that the case uses."""
    kept, used = point.point.parameters["kept"], point.point.parameters["used"]
    builds = (c for c in measurement.compilation if f"-DKEPT={kept}" in c.options.split())
    compiled = compiled_resources(next(builds, None))
    if compiled is None:
        return Resources(kept + 12, used)
    return Resources(compiled.registers, max(used, compiled.local_memory_bytes), compiled=True)
