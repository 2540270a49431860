"""Values of a device without an entry: what its queries do not report, measured now or in a run."""

from collections.abc import Sequence
from dataclasses import replace

from gpureport.findings.whole_device import resident_groups
from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Measurer
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task
from gpureport.observe import observe
from gpureport.predict.calibration.learned import Learned, ObservedSweep, is_learned_from, learned
from gpureport.records.measurement import IDLE
from gpureport.records.report import Report
from gpureport.spec.models import Device
from gpureport.spec.resolve import Value, queried
from gpureport.units import format_value
from gpureport.workloads import all_workloads

SWEEP_S = {"cpu": 8.0, "gpu": 4.0, "accelerator": 4.0}
"""Seconds of one sweep: a minute in all on a processor, half of it on a GPU."""
_BEYOND = 2.0
"""Factor by which sweeps extend if the size of the outermost cache is assumed."""


def get_to_know(measurer: Measurer, device: Device, settings: SweepSettings, progress: Progress) -> Learned:
    """Measure the microbenchmarks on the open *device*, as drafted from its queries.

    Returns:
        Measured values, and remarks, for example on what could not be measured.
    """
    explored = _explored(device)
    shown, failed = [], {}
    for workload in filter(is_learned_from, all_workloads()):
        every = workload.sweeps(explored, settings.limits)
        sweeps = [sweep for sweep in every if sweep.axis.quantity != "work_group"]
        if not sweeps or (device.architecture.on_host and workload.family == "transfer"):
            continue
        measurer.start(Task(workload, sweeps, settings))
        for sweep, measurement in zip(sweeps, measurer.finish(progress).measurements, strict=True):
            observation = observe(measurement)
            if observation is not None and not measurement.skipped:
                shown.append(ObservedSweep(workload, sweep, observation))
            else:
                failed[workload.name] = measurement.skipped or "nothing was sampled"
    found = learned(device, shown)
    return replace(found, remarks=(*(f"{name}: {reason}" for name, reason in failed.items()), *found.remarks))


def known_from(report: Report, device: Device, shown: Sequence[ObservedSweep]) -> Learned:
    """Derive values from a *report* of the *device*, as drafted from its queries, and from its sweeps, *shown*."""
    used = [one for one in shown if is_learned_from(one.workload) and one.observation.axis.quantity != "work_group"]
    found, power = learned(device, used), dict[str, Value]()
    if report.energy and report.energy.limit_w:
        idle = report.energy.load(IDLE)
        drawn = format_value(idle.power_w, "W") if idle and idle.power_w else ""
        note = f"idle, with the device open, it draws {drawn} (measured)" if drawn else ""
        power["board_power"] = queried(report.energy.limit_w, f"{report.energy.sensor}, limit of the driver", note)
    groups = [row for row in resident_groups(report) if row.counted]
    other = [f"{row.label}: {row.counted} instead of {row.predicted}" for row in groups if row.counted != row.predicted]
    counted = f"resident work-groups as counted and by the architecture's rules differ: {'; '.join(other)}"
    same = "resident work-groups as counted agree with the architecture's rules"
    remarks = (counted if other else same,) if groups else ()
    return replace(found, values={**found.values, **power}, remarks=(*found.remarks, *remarks))


def _explored(device: Device) -> Device:
    """Return the device with a larger outermost cache if its size is assumed: sweeps depend on it."""
    if not device.caches or device.provenance[f"caches.{device.caches[-1].name}.capacity"].kind != "assumed":
        return device
    *inner, last = device.caches
    larger = last.model_copy(update={"capacity_bytes": _BEYOND * last.capacity_bytes})
    return device.model_copy(update={"caches": (*inner, larger)})
