"""An interrupted run that is continued: what of it is kept, and whether it may be. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from gpureport.measure.measurer import Measured
from gpureport.report.document import Report, Settings
from gpureport.spec.models import Device, PresentDevice


def finished_part(report: Report) -> Report:
    """Return a report with the finished workloads only: those that failed are measured again, as are all after them."""
    measured = {measurement.key.workload_name for measurement in report.measurements}
    names = measured - set(report.failed_variants)
    return report.model_copy(
        update={
            "predictions": tuple(each for each in report.predictions if each.key.workload_name in names),
            "measurements": tuple(each for each in report.measurements if each.key.workload_name in names),
            "observations": tuple(each for each in report.observations if each.key.workload_name in names),
            "findings": tuple(each for each in report.findings if f"{each.workload}/{each.variant}" in names),
            "explanations": tuple(each for each in report.explanations if each.key.workload_name in names),
            "evidence": tuple(each for each in report.evidence if each.workload in names),
            "conditions": tuple(each for each in report.conditions if each.workload in names),
            "timings": tuple(each for each in report.timings if each.workload in names),
            "workloads": {name: info for name, info in report.workloads.items() if name in names},
        }
    )


def end_s(report: Report) -> float:
    """Return when the last reading was taken, in seconds since the run began."""
    return max((each.at_s for read in report.conditions for each in read.readings), default=0.0)


def later(measured: Measured, by_s: float) -> Measured:
    """Return what was measured as if the run had begun *by_s* seconds earlier."""

    def shifted(at_s: float | None) -> float | None:
        return None if at_s is None else at_s + by_s

    after = measured.aftermath
    readings = tuple(
        each.model_copy(update={"at_s": each.at_s + by_s, "occupied_total_s": shifted(each.occupied_total_s)})
        for each in after.readings
    )
    measurements = (each.model_copy(update={"began_s": shifted(each.began_s)}) for each in measured.measurements)
    return replace(measured, measurements=tuple(measurements), aftermath=replace(after, readings=readings))


def changes(report: Report, version: str, present: PresentDevice, device: Device, settings: Settings) -> str:
    """Say what differs between the interrupted run and one that would continue it; nothing if nothing does."""
    return "; ".join(_changes(report, version, present, device, settings))


def _changes(report: Report, version: str, present: PresentDevice, device: Device, settings: Settings) -> Iterator[str]:
    if report.tool_version != version:
        yield f"it was made by gpureport {report.tool_version}, and this is {version}"
    before = report.machine.opencl if report.machine else None
    if before is None:
        yield "nothing in it was measured"
    elif before.name != present.name or before.platform != present.platform:
        yield f"it was measured on {before.name} ({before.runtime}), and this is {present.name} ({present.runtime})"
    elif before.driver != present.driver or before.platform_version != present.platform_version:
        was, now = (f"{each.driver} ({each.platform_version})" for each in (before, present))
        yield f"its driver was {was}, and now it is {now}"
    elif before.model_copy(update={"index": present.index}) != present:
        yield f"it was measured on another {present.name}, or on one that was set up differently"
    if report.device != device:
        yield f"the database entry of {report.device.name} has changed since"
    if report.settings.model_copy(update={"command": ""}) != settings.model_copy(update={"command": ""}):
        yield "it was asked for something else"
