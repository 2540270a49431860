"""Microbenchmarks on a device without an entry: they measure what its queries do not report."""

from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Measurer
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task
from gpureport.observe import observe
from gpureport.predict.calibration.learned import LEARNED, Learned, ObservedSweep, learned
from gpureport.spec.models import Device
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
    for workload in (w for w in all_workloads() if not LEARNED.isdisjoint(w.calibrates)):
        every = workload.sweeps(explored, settings.limits)
        sweeps = [sweep for sweep in every if sweep.axis.quantity != "work_group"]
        measurer.start(Task(workload, sweeps, settings))
        for sweep, measurement in zip(sweeps, measurer.finish(progress).measurements, strict=True):
            observation = observe(measurement)
            if observation is not None and not measurement.skipped:
                shown.append(ObservedSweep(workload, sweep, observation))
            else:
                failed[workload.name] = measurement.skipped or "nothing was sampled"
    found = learned(device, shown)
    return Learned(found.values, (*(f"{name}: {reason}" for name, reason in failed.items()), *found.remarks))


def _explored(device: Device) -> Device:
    """Return the device with a larger outermost cache if its size is assumed: sweeps depend on it."""
    if not device.caches or device.provenance[f"caches.{device.caches[-1].name}.capacity"].kind != "assumed":
        return device
    *inner, last = device.caches
    larger = last.model_copy(update={"capacity_bytes": _BEYOND * last.capacity_bytes})
    return device.model_copy(update={"caches": (*inner, larger)})
