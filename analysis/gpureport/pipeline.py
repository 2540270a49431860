"""One run, from the device that is present to a report: predict, measure, observe, find; saved after every workload.

Nothing here prints. What the caller shows of the run's progress, it shows through a :class:`Progress`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from statistics import median
from typing import Literal

from gpureport import __version__
from gpureport.disturbance import running_clocks
from gpureport.evidence import code_evidence
from gpureport.findings import explained, find
from gpureport.measure import nvidia
from gpureport.measure.backend import Backend
from gpureport.measure.compiling import compile_sweep, programs
from gpureport.measure.conditions import Watch
from gpureport.measure.limits import Settings, features, sweep_budget_s
from gpureport.measure.machine import Host, host
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Guide, measure_workload
from gpureport.observe import observe
from gpureport.predict import predict, predict_sweep
from gpureport.predict.calibrate import calibrated
from gpureport.predict.case import Circumstances
from gpureport.predict.occupancy import Resources, compiled_resources
from gpureport.records import (
    CodeEvidence,
    Conditions,
    Explanation,
    Finding,
    Measurement,
    Observation,
    Prediction,
    SweepKey,
)
from gpureport.report import document
from gpureport.report.document import Report
from gpureport.spec.models import DeviceMatch
from gpureport.surprises import Informed, Subject, explanations
from gpureport.workloads.model import Sweep, Workload

Save = Callable[[Report], None]

_WEIGHT = 3.0
"""Shares of time for a primitive that calibrates."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        match: the device as the database knows it.
        workloads: in the order in which they run.
        settings: how far sweeps may go.
        asked: what was asked for, as the report keeps it.
    """

    match: DeviceMatch
    workloads: tuple[Workload, ...]
    settings: Settings
    asked: document.Settings


def run(plan: Plan, backend: Backend, save: Save, progress: Progress) -> Report:
    """Carry out *plan* on the open device of *backend*.

    *save* is called with every prediction from the specification before the first dispatch, after every workload, and
    at the end. The specification predictions do not change after the first call.
    """
    with Watch(backend) as watch:
        return _carry_out(_Run(plan, watch.counted(backend), watch), save, progress)


def _carry_out(state: "_Run", save: Save, progress: Progress) -> Report:
    plan = state.plan
    state.build_ahead()
    with state.stage("predict"):
        for workload in plan.workloads:
            state.predictions += predict(plan.match.device, workload, plan.settings.limits)
    specified = tuple(state.predictions)
    state.save(save)
    for workload in plan.workloads:
        if not workload.primitive:
            with state.stage("calibrate", workload):
                state.calibrate(workload, specified)
        state.measure(workload, progress)
        state.save(save)
    report = state.report("complete")
    if not report.has_samples:
        report = state.report("failed")
    save(report)
    return report


@dataclass
class _Run:
    """What a run has so far."""

    plan: Plan
    backend: Backend
    watch: Watch
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    predictions: list[Prediction] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)
    informed: dict[str, Informed] = field(default_factory=dict)
    """What calibrated predictions knew, by workload."""
    evidence: list[CodeEvidence] = field(default_factory=list)
    clocks: list[document.Clock] = field(default_factory=list)
    conditions: list[Conditions] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    timings: dict[tuple[str, str], float] = field(default_factory=dict)
    """Seconds by stage and workload."""

    def __post_init__(self) -> None:
        """Start the clock, and count what is to be measured."""
        self._begun_s = self.backend.now()
        self._sweeps_left = sum(len(self._sweeps(workload)) for workload in self.plan.workloads)

    @contextmanager
    def stage(self, name: str, workload: Workload | None = None) -> Iterator[None]:
        """Count the time of what is done inside."""
        began = self.backend.now()
        try:
            yield
        finally:
            self._spend(name, workload, self.backend.now() - began)

    def _spend(self, stage: str, workload: Workload | None, seconds: float) -> None:
        key = stage, workload.name if workload else ""
        self.timings[key] = self.timings.get(key, 0.0) + seconds

    def build_ahead(self) -> None:
        """Begin to build the kernels of all workloads while they are predicted."""
        present = features(self.backend.device)
        workloads = self.plan.workloads
        self.backend.build_ahead(key for each in workloads for key in programs(each, self._sweeps(each), present))

    def save(self, save: Save) -> None:
        """Save what there is."""
        with self.stage("save"):
            save(self.report("partial"))

    def _sweeps(self, workload: Workload) -> tuple[Sweep, ...]:
        return workload.sweeps(self.plan.match.device, self.plan.settings.limits)

    def _settings(self, workload: Workload) -> Settings:
        """Return the settings of a workload's sweeps, with their share of the time that is left.

        Primitives that every run measures get more of it: all that is calibrated rests on them.
        """
        settings = self.plan.settings
        weight = _WEIGHT if workload.primitive and workload.essential else 1.0
        share_s = sweep_budget_s(
            self.backend.device.kind,
            quick=settings.limits.quick,
            spent_s=self.backend.now() - self._begun_s - sum(m.gap_s for m in self.measurements),
            sweeps_left=self._sweeps_left,
        )
        return replace(settings, budget_s=min(settings.budget_s, weight * share_s))

    def _expected(self, workload: Workload) -> dict[tuple[str, str], float]:
        """Return the predicted times of a workload's points: calibrated ones, which come last, where there are any."""
        return {
            (prediction.key.sweep, point.point.label): point.time_s
            for prediction in self.predictions
            if _name(prediction.key) == workload.name
            for point in prediction.points
        }

    def calibrate(self, workload: Workload, specified: Sequence[Prediction]) -> None:
        """Predict the sweeps of a workload once more, from what primitives measured and from compiled kernels."""
        present = features(self.backend.device)
        primitives = [o for o in self.observations if _is_primitive(o.key, self.plan.workloads)]
        if not primitives or workload.missing(present):
            return
        device = calibrated(self.plan.match.device, specified, primitives)
        told: dict[str, list[Resources | None]] = {}
        for sweep in self._sweeps(workload):
            compiled = [compiled_resources(facts) for facts in compile_sweep(self.backend, workload, sweep, present)]
            self.predictions.append(predict_sweep(device, workload, sweep, "calibrated", compiled))
            told[sweep.name] = compiled
        self.informed[workload.name] = Informed(device, told)

    def measure(self, workload: Workload, progress: Progress) -> None:
        """Verify and time a workload; observe each of its sweeps."""
        sweeps, present, began = self._sweeps(workload), features(self.backend.device), self.backend.now()
        settings, guide = self._settings(workload), Guide(self._expected(workload), self.watch.spans)
        with self.watch.measuring():
            measured = tuple(
                self._dated(measurement)
                for measurement in measure_workload(self.backend, workload, sweeps, present, settings, progress, guide)
            )
        read = Conditions(workload=workload.name, readings=self.watch.taken())
        self.conditions.append(read)
        running_s = sum(measurement.duration_s for measurement in measured)
        self._spend("measure", workload, running_s)
        self._spend("verify", workload, self.backend.now() - began - running_s)
        self._sweeps_left -= len(sweeps)
        self.measurements += measured
        with self.stage("evidence", workload):
            self.evidence += code_evidence(workload, self.plan.match.device, measured)
        with self.stage("observe", workload):
            self.observations += [observation for each in measured if (observation := observe(each))]
        reasons = {m.skipped for m in self.measurements if _name(m.key) == workload.name}
        if None not in reasons:
            self.skipped[workload.name] = next((reason for reason in reasons if reason), "it has no sweeps here")
        clocks = nvidia.state(self.backend.device).clocks_hz
        self.clocks += [
            document.Clock(label=f"{name} after {workload.name}", clock_hz=clock) for name, clock in clocks.items()
        ]
        with self.stage("explain", workload):
            running_hz = running_clocks(read.readings)
            clock_hz = median(running_hz) if running_hz else clocks.get(nvidia.CLOCK)
            known = Circumstances(clock_hz, self.backend.device.timer_resolution_s)
            self._find(Subject(workload, sweeps, self.plan.match.device, self.informed.get(workload.name), known))

    def _dated(self, measurement: Measurement) -> Measurement:
        """Note when a measurement that has just ended began."""
        began_s = self.watch.since_began(self.backend.now() - measurement.duration_s)
        return measurement.model_copy(update={"began_s": round(began_s, 6)})

    def _find(self, subject: Subject) -> None:
        """Compare what was observed of a workload with its predictions; explain what is not as predicted.

        Of sweeps that are incomplete nothing is said: what they lack may be their best point.
        """
        name = subject.workload.name
        measured = [m for m in self.measurements if _name(m.key) == name]
        incomplete = {m.key for m in measured if m.missing_share}
        observed = [o for o in self.observations if _name(o.key) == name and o.key not in incomplete]
        found = find(subject.specified, [p for p in self.predictions if _name(p.key) == name], measured, observed)
        reasons = explanations(subject, found, measured, observed)
        self.explanations += reasons
        self.findings += explained(found, reasons)

    def report(self, status: Literal["complete", "partial", "failed"]) -> Report:
        """Return the report of what there is."""
        match = self.plan.match
        return Report(
            tool_version=__version__,
            created_at=self.created_at,
            status=status,
            device=match.device,
            match=document.Match(entry=match.entry_id, how=match.how, draft=match.draft, notes=match.notes),
            machine=document.Machine(
                **asdict(self._host),
                opencl=self.backend.device,
                clocks=tuple(self.clocks),
                vendor_facts=nvidia.state(self.backend.device).facts,
            ),
            settings=self.plan.asked,
            workloads={w.name: document.workload_info(w, self.skipped.get(w.name)) for w in self.plan.workloads},
            predictions=tuple(self.predictions),
            measurements=tuple(self.measurements),
            observations=tuple(self.observations),
            findings=tuple(self.findings),
            explanations=tuple(self.explanations),
            evidence=tuple(self.evidence),
            conditions=tuple(self.conditions),
            timings=tuple(
                document.Timing(stage=stage, workload=workload, seconds=round(seconds, 3))
                for (stage, workload), seconds in self.timings.items()
            ),
        )

    @cached_property
    def _host(self) -> Host:
        return host()


def _name(key: SweepKey) -> str:
    return f"{key.workload}/{key.variant}"


def _is_primitive(key: SweepKey, workloads: Sequence[Workload]) -> bool:
    return any(workload.primitive for workload in workloads if workload.name == _name(key))


def wrong_results(report: Report) -> tuple[str, ...]:
    """Return the names of the variants whose results were wrong."""
    wrong = {_name(m.key): None for m in report.measurements if m.verification and not m.verification.passed}
    return tuple(wrong)
