"""Earlier runs: interrupted ones, which are continued; kept microbenchmarks; values of a device without an entry."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from gpureport import __version__
from gpureport.data import cache_dir
from gpureport.errors import GpuReportError, InputError
from gpureport.findings.whole_device import resident_groups
from gpureport.measure.measurer import Measured
from gpureport.predict.calibration.learned import FURTHER, Learned, ObservedSweep, learned
from gpureport.records.curves import Record
from gpureport.records.measurement import IDLE, Conditions, Measurement
from gpureport.records.report import Report, RunSettings, load_report, save_report
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.values import Value, queried
from gpureport.units import format_value
from gpureport.workloads.model import Workload

_LONGEST = timedelta(days=30)
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


def changes(report: Report, present: PresentDevice, device: Device, settings: RunSettings) -> Iterator[str]:
    """Yield the differences between the interrupted run and one that would resume it."""
    if report.tool_version != __version__:
        yield f"it was made by gpureport {report.tool_version}, and this is {__version__}"
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


def kept_measurements(
    present: PresentDevice, device: Device, settings: RunSettings, workloads: Iterable[Workload]
) -> Report | None:
    """Return the kept measurements of the microbenchmarks among *workloads*, at most 30 days old.

    Database entry, driver and version are still the same.
    """
    with suppress(InputError):
        kept = load_report(_file(present, settings, _microbenchmarks(workloads)))
        recent = datetime.now(UTC) - datetime.fromisoformat(kept.created_at) <= _LONGEST
        if recent and not any(changes(kept, present, device, settings)):
            return kept
    return None


def keep_measurements(report: Report, workloads: Iterable[Workload], disturbed: Iterable[str]) -> None:
    """Keep what a complete run measured of the microbenchmarks among *workloads*, if none was *disturbed*."""
    names = _microbenchmarks(workloads)
    if report.status != "complete" or report.machine is None or report.calibrated_at or names.intersection(disturbed):
        return
    own = report.of_workloads(*names)
    measured = tuple(each.model_copy(update={"began_s": None}) for each in own.measurements)
    infos = {name: info for name, info in report.workloads.items() if name in names}
    others = {"conditions": (), "energy": None}
    kept = own.model_copy(update={"measurements": measured, "workloads": infos, **others})
    file = _file(report.machine.opencl, report.settings, names)
    with suppress(GpuReportError, OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        save_report(kept, file)


def _microbenchmarks(workloads: Iterable[Workload]) -> set[str]:
    return {each.name for each in workloads if each.microbenchmark}


def _file(present: PresentDevice, settings: RunSettings, names: Iterable[str]) -> Path:
    facts = present.model_dump_json(exclude={*VARYING}), settings.quick, settings.seed, sorted(names)
    return cache_dir() / "microbenchmarks" / f"{sha256(repr(facts).encode()).hexdigest()[:16]}.json"


def known_from(report: Report, device: Device, shown: Sequence[ObservedSweep]) -> Learned:
    """Derive values from a *report* of the *device*, as drafted from its queries, and from its sweeps, *shown*."""
    used = [one for one in shown if one.workload.calibrates or one.workload.name in FURTHER]
    found, power = learned(device, used), dict[str, Value]()
    if report.energy and report.energy.limit_w:
        idle = report.energy.load(IDLE)
        drawn = format_value(idle.power_w, "W") if idle and idle.power_w else ""
        note = f"idle, with the device open, it draws {drawn} (measured)" if drawn else ""
        power["board_power"] = queried(report.energy.limit_w, f"{report.energy.sensor}, limit of the driver", note)
    groups = [row for row in resident_groups(report) if row.counted]
    other = [f"{row.label}: {row.counted} instead of {row.predicted}" for row in groups if row.counted != row.predicted]
    counted = f"resident work-groups as counted and by the architecture's rules differ: {'; '.join(other)}"
    remarks = (counted,) if other else ()
    return replace(found, values={**found.values, **power}, remarks=(*found.remarks, *remarks))
