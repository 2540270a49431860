"""One run, from the device that is present to a report: predict, measure, observe, find; saved after every workload.

Nothing here prints. What the caller shows of the run's progress, it shows through :class:`Watcher`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from gpureport import __version__
from gpureport.findings import find
from gpureport.measure.backend import Backend
from gpureport.measure.machine import describe_machine
from gpureport.measure.sweep import SweepSettings, compile_sweep, measure_sweep
from gpureport.measure.verify import verify
from gpureport.observe import observe
from gpureport.predict import predict, predict_sweep
from gpureport.predict.calibrate import calibrated
from gpureport.records import Measurement, Observation, Prediction, SweepKey, Verification
from gpureport.report.document import Match, Report, Settings, WorkloadInfo
from gpureport.spec.database import DeviceMatch
from gpureport.spec.models import Device
from gpureport.workloads.model import Features, Limits, Sweep, Workload


class Watcher(Protocol):
    """Who is told how far the run is."""

    def begin(self, workloads: Sequence[Workload]) -> None:
        """The run starts."""
        ...

    def workload(self, workload: Workload, sweep: Sweep) -> None:
        """A sweep starts."""
        ...

    def advance(self, label: str) -> None:
        """A sample was taken."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        match: the device as the database knows it.
        workloads: in the order in which they run.
        limits: how far sweeps may go.
        features: what the live device offers.
        settings: as they go into the report.
        sweep_seconds: time budget of one sweep.
        point_seconds: longest dispatch that a point may need.
    """

    match: DeviceMatch
    workloads: tuple[Workload, ...]
    limits: Limits
    features: Features
    settings: Settings
    sweep_seconds: float
    point_seconds: float


@dataclass
class _Run:
    """What a run has so far."""

    plan: Plan
    backend: Backend
    created_at: str
    predictions: list[Prediction] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def report(self, *, complete: bool) -> Report:
        """Return the report of what there is."""
        match = self.plan.match
        return Report(
            tool_version=__version__,
            created_at=self.created_at,
            status="complete" if complete else "partial",
            device=match.device,
            match=Match(entry=match.entry_id, how=match.how, draft=match.draft, notes=match.notes),
            machine=describe_machine(self.backend.device),
            settings=self.plan.settings,
            workloads={w.name: _info(w, self.skipped.get(w.name)) for w in self.plan.workloads},
            predictions=tuple(self.predictions),
            measurements=tuple(self.measurements),
            observations=tuple(self.observations),
            findings=find(match.device, self.predictions, self.measurements, self.observations),
        )


def _info(workload: Workload, skipped: str | None) -> WorkloadInfo:
    what, _, counting = workload.description.rpartition("ounted: ")
    return WorkloadInfo(
        family=workload.family,
        variant=workload.variant,
        title=workload.title,
        description=workload.description,
        counting=counting if what else "",
        skipped=skipped,
    )


def run(plan: Plan, backend: Backend, save: Callable[[Report], None], watcher: Watcher) -> Report:
    """Carry out *plan* on the open device of *backend*.

    *save* is called with every prediction from the specification before the first dispatch, after every workload, and
    at the end. The specification predictions do not change after the first call.
    """
    state = _Run(plan, backend, datetime.now(UTC).isoformat(timespec="seconds"))
    for workload in plan.workloads:
        state.predictions += predict(plan.match.device, workload, plan.limits)
    specified = tuple(state.predictions)
    save(state.report(complete=False))
    watcher.begin(plan.workloads)
    for workload in plan.workloads:
        device = plan.match.device
        if not workload.primitive:
            primitives = [o for o in state.observations if _is_primitive(o.key, plan.workloads)]
            device = calibrated(device, specified, primitives)
        _measure_workload(state, workload, device, watcher)
        save(state.report(complete=False))
    report = state.report(complete=True)
    save(report)
    return report


def _is_primitive(key: SweepKey, workloads: Sequence[Workload]) -> bool:
    return any(w.primitive for w in workloads if (w.family, w.variant) == (key.workload, key.variant))


def _measure_workload(state: _Run, workload: Workload, device: Device, watcher: Watcher) -> None:
    """Verify, predict once more if primitives have calibrated *device*, then time every sweep of one workload."""
    plan = state.plan
    sweeps = workload.sweeps(plan.match.device, plan.limits)
    reason = workload.missing(plan.features)
    if reason:
        state.skipped[workload.name] = reason
        state.measurements += [_skipped(workload, sweep, reason) for sweep in sweeps]
        return
    rng = np.random.default_rng(plan.settings.seed)
    verification = verify(state.backend, workload, plan.features, rng)
    settings = SweepSettings(
        seconds=plan.sweep_seconds,
        point_seconds=plan.point_seconds,
        limits=plan.limits,
        quick=plan.limits.quick,
    )
    for sweep in sweeps:
        if device is not plan.match.device:
            compiled = compile_sweep(state.backend, workload, sweep, plan.features)
            state.predictions.append(predict_sweep(device, workload, sweep, "calibrated", compiled))
        watcher.workload(workload, sweep)
        measurement = measure_sweep(
            state.backend, workload, sweep, plan.features, settings, verification, rng, watcher.advance
        )
        state.measurements.append(measurement)
        observation = observe(measurement)
        if observation:
            state.observations.append(observation)


def _skipped(workload: Workload, sweep: Sweep, reason: str) -> Measurement:
    key = SweepKey(workload=workload.family, variant=workload.variant, sweep=sweep.name)
    return Measurement(key=key, metric=workload.metric, axis=sweep.axis, skipped=reason)


def wrong_results(report: Report) -> tuple[str, ...]:
    """Return the names of the variants whose results were wrong."""
    wrong: dict[str, Verification] = {
        f"{m.key.workload}/{m.key.variant}": m.verification
        for m in report.measurements
        if m.verification and not m.verification.passed
    }
    return tuple(wrong)
