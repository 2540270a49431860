"""Interrupted runs: the records of finished sweeps, and whether a run can be resumed. Pure."""

from collections.abc import Iterable, Iterator

from gpureport.measure.measurer import Measured
from gpureport.records.curves import Record
from gpureport.records.measurement import Conditions, Measurement
from gpureport.records.report import Report, RunSettings
from gpureport.spec.models import Device, PresentDevice

VARYING = ("index", "global_memory_bytes", "max_allocation_bytes", "clock_hz", "timer_resolution_s")
"""What systems report differently at each start: they reserve memory, number devices, and change clocks."""


def with_ended(report: Report, name: str, measured: Measured) -> Report:
    """Return a report with the finished sweeps of an interrupted workload; nothing is derived from them."""
    known = {each.key for each in report.measurements}
    ended = tuple(each for each in measured.measurements if each.key not in known and not each.failed)
    if not ended:
        return report
    read = Conditions(workload=name, readings=measured.readings)
    return report.model_copy(
        update={
            "measurements": (*report.measurements, *ended),
            "unfinished": tuple(dict.fromkeys((*report.unfinished, name))),
            "conditions": (*report.conditions, read),
        }
    )


def end_s(conditions: Iterable[Conditions], measurements: Iterable[Measurement]) -> float:
    """Return the time of the last reading or the end of the last sweep, in seconds since the run began."""
    readings = (each.at_s for read in conditions for each in read.readings)
    sweeps = (each.began_s + each.duration_s for each in measurements if each.began_s is not None)
    return max((*readings, *sweeps), default=0.0)


def as_before(present: PresentDevice, before: PresentDevice | None) -> PresentDevice:
    """Return a device with the figures of an earlier run that may differ between runs on the same device."""
    return present.model_copy(update={name: getattr(before, name) for name in VARYING}) if before else present


def changes(
    report: Report, version: str, present: PresentDevice, device: Device, settings: RunSettings
) -> Iterator[str]:
    """Yield the differences between the interrupted run and one that would resume it."""
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
    elif differences := _differences(before, present, *VARYING):
        yield f"it was measured on another {present.name}, or on one with another setup ({differences})"
    if report.device != device:
        yield f"the database entry of {report.device.name} has changed since"
    if differences := _differences(report.settings, settings, "command"):
        yield f"its settings were different ({differences})"


def _differences(before: Record, now: Record, *ignored: str) -> str:
    """Return the names of the fields in which two records of one kind differ, except *ignored* ones."""
    names = (name for name in type(now).model_fields if name not in ignored)
    return ", ".join(name.replace("_", " ") for name in names if getattr(before, name) != getattr(now, name))
