"""An interrupted run that is continued: what of it is kept, and whether it may be. Pure."""

from collections.abc import Iterator

from gpureport.measure.measurer import Measured
from gpureport.records import Record
from gpureport.report.document import Report, Settings
from gpureport.spec.models import Device, PresentDevice
from gpureport.text import shortened


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
    return Measured(tuple(measurements), type(after)(readings, after.state, after.took_s))


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
        told = _differences(before, present, "index")
        yield f"it was measured on another {present.name}, or on one that was set up differently ({told})"
    if report.device != device:
        yield f"the database entry of {report.device.name} has changed since"
    if told := _differences(report.settings, settings, "command"):
        yield f"its settings were others ({told})"


def _differences(before: Record, now: Record, ignored: str) -> str:
    """Name the fields in which two records of one kind differ, all but one, each with both values."""
    fields = [name for name in type(now).model_fields if name != ignored]
    pairs = {name: (getattr(before, name), getattr(now, name)) for name in fields}
    told = ((name.replace("_", " "), *_apart(was, value)) for name, (was, value) in pairs.items() if was != value)
    return ", ".join(f"{name}: {was} then, {value} now" for name, was, value in told)


def _apart(was: object, now: object) -> tuple[str, str]:
    """Write two values that differ; of lists of names those that only one has, if any."""
    if isinstance(was, tuple) and isinstance(now, tuple) and {type(each) for each in (*was, *now)} == {str}:
        only = (tuple(name for name in was if name not in now), tuple(name for name in now if name not in was))
        was, now = only if any(only) else (was, now)
    return _shown(was), _shown(now)


def _shown(value: object) -> str:
    """Write a value; one that is missing, true, false or empty as a word."""
    if value is None or isinstance(value, bool):
        return {None: "unknown", True: "yes", False: "no"}[value]
    return shortened(", ".join(map(str, value)) if isinstance(value, tuple) else str(value)) or "none"
