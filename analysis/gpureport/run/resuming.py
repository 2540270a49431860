"""An interrupted run that is continued: what of it is kept, and whether it may be. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpureport.measure.measurer import Measured
from gpureport.records.keys import Record, SweepKey
from gpureport.records.measurement import Conditions
from gpureport.records.report import Report, RunSettings
from gpureport.spec.models import Device, PresentDevice
from gpureport.text import shortened
from gpureport.workloads.model import Sweep


def finished_part(report: Report, sweeps: Mapping[str, Sequence[Sweep]]) -> Report:
    """Return a report with the finished workloads, and the sweeps that had ended of one that was interrupted.

    Workloads that failed are measured again, and so are sweeps of an interrupted one that are not as they were: points
    depend on the memory that is free.

    Args:
        report: of the interrupted run.
        sweeps: of the run that continues it, by workload.
    """
    measured = {measurement.key.workload for measurement in report.measurements}
    names = measured - set(report.failed_variants) - set(report.unfinished)
    ended = _unchanged(report, sweeps) & {each.key for each in report.measurements if not each.failed}
    keys = {key for key in ended if key.workload in report.unfinished}
    unfinished = tuple(name for name in report.unfinished if any(key.workload == name for key in keys))
    read = names.union(unfinished)
    return report.model_copy(
        update={
            "predictions": tuple(
                each
                for each in report.predictions
                if each.key.workload in names or (each.key in keys and each.kind == "specification")
            ),
            "measurements": tuple(
                each for each in report.measurements if each.key.workload in names or each.key in keys
            ),
            "unfinished": unfinished,
            "observations": tuple(each for each in report.observations if each.key.workload in names),
            "findings": tuple(each for each in report.findings if each.key.workload in names),
            "explanations": tuple(each for each in report.explanations if each.key.workload in names),
            "evidence": tuple(each for each in report.evidence if each.workload in names),
            "conditions": tuple(each for each in report.conditions if each.workload in read),
            "timings": tuple(each for each in report.timings if each.workload in names),
            "workloads": {name: info for name, info in report.workloads.items() if name in read},
        }
    )


def _unchanged(report: Report, sweeps: Mapping[str, Sequence[Sweep]]) -> set[SweepKey]:
    """Return the sweeps of a report with the same points as those of *sweeps*."""
    points = {(name, sweep.name): list(sweep.points) for name, each in sweeps.items() for sweep in each}
    return {
        prediction.key
        for prediction in report.predictions
        if prediction.kind == "specification"
        and points.get((prediction.key.workload, prediction.key.sweep))
        == [each.point.parameters for each in prediction.points]
    }


def with_ended(report: Report, name: str, measured: Measured) -> Report:
    """Return a report with the sweeps that have ended of an interrupted workload, of which nothing is derived."""
    known = {each.key for each in report.measurements}
    ended = tuple(each for each in measured.measurements if each.key not in known and not each.failed)
    if not ended:
        return report
    read = Conditions(workload=name, readings=measured.aftermath.readings)
    info = report.workloads[name]
    restarted = both(info.restarted, measured.restarted)
    return report.model_copy(
        update={
            "measurements": (*report.measurements, *ended),
            "unfinished": tuple(dict.fromkeys((*report.unfinished, name))),
            "conditions": (*report.conditions, read),
            "workloads": {**report.workloads, name: info.model_copy(update={"restarted": restarted})},
        }
    )


def both(first: str, second: str) -> str:
    """Join two remarks, either of which may be empty."""
    return "; ".join(filter(None, (first, second)))


def end_s(report: Report) -> float:
    """Return when the last reading was taken or the last sweep ended, in seconds since the run began."""
    readings = (each.at_s for read in report.conditions for each in read.readings)
    sweeps = (each.began_s + each.duration_s for each in report.measurements if each.began_s is not None)
    return max((*readings, *sweeps), default=0.0)


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


def changes(report: Report, version: str, present: PresentDevice, device: Device, settings: RunSettings) -> str:
    """Say what differs between the interrupted run and one that would continue it; nothing if nothing does."""
    return "; ".join(_changes(report, version, present, device, settings))


def _changes(
    report: Report, version: str, present: PresentDevice, device: Device, settings: RunSettings
) -> Iterator[str]:
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
