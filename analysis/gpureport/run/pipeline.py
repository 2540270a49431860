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
from gpureport.errors import DeviceError
from gpureport.explain.case import Circumstances
from gpureport.explain.selection import Informed, Subject, explanations
from gpureport.findings.evidence import code_evidence
from gpureport.findings.verdicts import find
from gpureport.measure import nvidia
from gpureport.measure.compiling import programs
from gpureport.measure.limits import Settings, features, sweep_budget_s
from gpureport.measure.machine import Host, host
from gpureport.measure.measurer import Measured, Measurer, Order
from gpureport.measure.rounds import Progress
from gpureport.observe import observe
from gpureport.observe.disturbance import running_clocks
from gpureport.predict import predict, predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.predict.occupancy import Resources, compiled_resources
from gpureport.records import report as document
from gpureport.records.finding import CodeEvidence, Explanation, Finding
from gpureport.records.keys import SweepKey
from gpureport.records.measurement import Conditions, Measurement
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.run.resuming import both, end_s, finished_part, later, with_ended
from gpureport.spec.models import DeviceMatch
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


def run(plan: Plan, measurer: Measurer, save: Save, progress: Progress, earlier: Report | None = None) -> Report:
    """Carry out *plan* on the open device of *measurer*.

    *save* is called with every prediction from the specification before the first dispatch, after every workload, and
    at the end. The specification predictions do not change after the first call. Should the device be lost, the run
    ends with what it has. An interrupt is passed on, after sweeps that have ended are saved. Workloads and sweeps that
    an *earlier*, interrupted run of the same plan finished are not repeated.
    """
    state = _Run(plan, measurer)
    if earlier is not None:
        state.take_over(earlier)
    state.build_ahead(state.unfinished)
    with state.stage("predict"):
        state.specify()
    state.save(save)
    try:
        state.carry_out(save, progress)
    except KeyboardInterrupt:
        save(state.interrupted())
        raise
    report = state.report("partial" if state.stopped else "complete")
    if not report.has_samples:
        report = state.report("failed")
    save(report)
    return report


@dataclass(frozen=True)
class _Ended:
    """A workload that was measured, and what that gave."""

    workload: Workload
    measured: Measured


@dataclass
class _Run:
    """What a run has so far."""

    plan: Plan
    measurer: Measurer
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
    restarted: dict[str, str] = field(default_factory=dict)
    timings: dict[tuple[str, str], float] = field(default_factory=dict)
    """Seconds by stage and workload."""
    stopped: str = ""
    """Why the run ended before its last workload."""
    resumed_at: tuple[str, ...] = ()
    """When it was continued."""
    ended: list[Measurement] = field(default_factory=list)
    """Sweeps that an earlier run measured of workloads that it did not finish."""
    last: _Ended | None = None
    """What was measured and not yet looked into."""
    begun: Workload | None = None
    """What was begun to be measured last."""

    def __post_init__(self) -> None:
        """Start the clock, and size the sweeps."""
        self._begun_s = self.measurer.now()
        self._state = nvidia.state(self.measurer.device)
        self._sweeps = {
            workload.name: workload.sweeps(self.plan.match.device, self.plan.settings.limits)
            for workload in self.plan.workloads
        }
        self._sweeps_left = sum(map(len, self._sweeps.values()))
        self._earlier_s = 0.0

    @property
    def unfinished(self) -> tuple[Workload, ...]:
        """The workloads that are still to be measured."""
        measured = {measurement.key.workload for measurement in self.measurements}
        return tuple(workload for workload in self.plan.workloads if workload.name not in measured)

    def take_over(self, earlier: Report) -> None:
        """Continue an interrupted run."""
        earlier = finished_part(earlier, self._sweeps)
        self.created_at, self.resumed_at = earlier.created_at, (*earlier.resumed_at, self.created_at)
        self.predictions += earlier.predictions
        for each in earlier.measurements:
            (self.ended if each.key.workload in earlier.unfinished else self.measurements).append(each)
        self.observations += earlier.observations
        self.findings += earlier.findings
        self.explanations += earlier.explanations
        self.evidence += earlier.evidence
        self.conditions += earlier.conditions
        self.clocks += earlier.machine.clocks if earlier.machine else ()
        self.skipped |= {name: info.skipped for name, info in earlier.workloads.items() if info.skipped}
        self.restarted |= {name: info.restarted for name, info in earlier.workloads.items()}
        self.timings |= {(each.stage, each.workload): each.seconds for each in earlier.timings}
        self._sweeps_left = sum(len(self._missing(workload)) for workload in self.unfinished)
        self._earlier_s = end_s(earlier)

    def _missing(self, workload: Workload) -> list[Sweep]:
        """Return the sweeps of a workload that are still to be measured."""
        ended = {each.key.sweep for each in self.ended if each.key.workload == workload.name}
        return [sweep for sweep in self._sweeps[workload.name] if sweep.name not in ended]

    def may_overlap(self, last: Workload, following: Workload) -> bool:
        """Say whether one workload may be measured while what the one before it gave is looked into.

        Not on processors, whose cores that takes, and not where predictions wait for the last primitive.
        """
        return self.measurer.device.kind != "cpu" and last.microbenchmark == following.microbenchmark

    @contextmanager
    def stage(self, name: str, workload: Workload | None = None) -> Iterator[None]:
        """Count the time of what is done inside."""
        began = self.measurer.now()
        try:
            yield
        finally:
            self._spend(name, workload, self.measurer.now() - began)

    def _spend(self, stage: str, workload: Workload | None, seconds: float) -> None:
        key = stage, workload.name if workload else ""
        self.timings[key] = self.timings.get(key, 0.0) + seconds

    def build_ahead(self, workloads: Sequence[Workload]) -> None:
        """Begin to build the kernels of workloads while they are predicted."""
        present = features(self.measurer.device)
        self.measurer.build_ahead(key for each in workloads for key in programs(each, self._sweeps[each.name], present))

    def specify(self) -> None:
        """Predict what is to be measured from the specification."""
        known = {prediction.key for prediction in self.predictions}
        for workload in self.unfinished:
            predictions = predict(self.plan.match.device, workload, self.plan.settings.limits)
            self.predictions += [each for each in predictions if each.key not in known]

    def carry_out(self, save: Save, progress: Progress) -> None:
        """Measure each workload, and look into what that gave: of GPUs, while the next is measured."""
        specified = tuple(each for each in self.predictions if each.kind == "specification")
        try:
            for workload in self.unfinished:
                if self.last and not self.may_overlap(self.last.workload, workload):
                    self.conclude(save)
                if not workload.microbenchmark:
                    with self.stage("calibrate", workload):
                        self.calibrate(workload, specified)
                self.start(workload)
                self.conclude(save)
                self.last = _Ended(workload, self.measurer.finish(progress))
        except DeviceError as error:
            self.stopped = str(error)
        self.conclude(save)

    def save(self, save: Save) -> None:
        """Save what there is."""
        with self.stage("save"):
            self._saved = self.report("partial")
            save(self._saved)

    def interrupted(self) -> Report:
        """Return what was saved last, with the sweeps that have ended since; nothing is derived from them."""
        report = self._saved
        begun = [_Ended(self.begun, self.measurer.so_far())] if self.begun else []
        for each in ([self.last] if self.last else []) + begun:
            report = with_ended(report, each.workload.name, later(each.measured, self._earlier_s))
        return report

    def _settings(self, workload: Workload) -> Settings:
        """Return the settings of a workload's sweeps, with their share of the time that is left.

        Primitives that every run measures get more of it: all that is calibrated rests on them.
        """
        settings = self.plan.settings
        weight = _WEIGHT if workload.microbenchmark and workload.essential else 1.0
        share_s = sweep_budget_s(
            self.measurer.device.kind,
            quick=settings.limits.quick,
            spent_s=self._earlier_s + self.measurer.now() - self._begun_s - sum(m.gap_s for m in self.measurements),
            sweeps_left=self._sweeps_left,
        )
        return replace(settings, budget_s=min(settings.budget_s, weight * share_s))

    def _expected(self, workload: Workload) -> dict[tuple[str, str], float]:
        """Return the predicted times of a workload's points: calibrated ones, which come last, where there are any."""
        return {
            (prediction.key.sweep, point.point.label): point.time_s
            for prediction in self.predictions
            if prediction.key.workload == workload.name
            for point in prediction.points
        }

    def calibrate(self, workload: Workload, specified: Sequence[Prediction]) -> None:
        """Predict the sweeps of a workload once more, from what primitives measured and from compiled kernels."""
        microbenchmarks = [o for o in self.observations if _is_microbenchmark(o.key, self.plan.workloads)]
        if not microbenchmarks or workload.missing(features(self.measurer.device)):
            return
        device = calibrated(self.plan.match.device, specified, microbenchmarks)
        told: dict[str, list[Resources | None]] = {}
        sweeps = self._sweeps[workload.name]
        compilations = self.measurer.compiled(workload, sweeps)
        for sweep in sweeps:
            compiled = [compiled_resources(facts) for facts in compilations[sweep.name]]
            self.predictions.append(predict_sweep(device, workload, sweep, "calibrated", compiled))
            told[sweep.name] = compiled
        self.informed[workload.name] = Informed(device, told)

    def start(self, workload: Workload) -> None:
        """Begin to verify and time a workload.

        Raises:
            DeviceError: the device was lost.
        """
        self.begun, sweeps = workload, self._missing(workload)
        self.measurer.start(Order(workload, sweeps, self._settings(workload), self._expected(workload)))
        self._sweeps_left -= len(sweeps)

    def conclude(self, save: Save) -> None:
        """Look into what measuring the last workload gave: observe each of its sweeps, compare, explain; save."""
        if self.last is None:
            return
        workload, dated = self.last.workload, later(self.last.measured, self._earlier_s)
        after = dated.aftermath
        sweeps = self._sweeps[workload.name]
        read = Conditions(workload=workload.name, readings=after.readings)
        self.conditions.append(read)
        running_s = sum(measurement.duration_s for measurement in dated.measurements)
        self._spend("verify", workload, max(0.0, after.took_s - running_s))
        measured = self._with_ended(workload, dated.measurements)
        self._spend("measure", workload, sum(measurement.duration_s for measurement in measured))
        self.measurements += measured
        self.restarted[workload.name] = both(self.restarted.get(workload.name, ""), dated.restarted)
        with self.stage("evidence", workload):
            self.evidence += code_evidence(workload, self.plan.match.device, measured)
        with self.stage("observe", workload):
            self.observations += [observation for each in measured if (observation := observe(each))]
        reasons = {m.skipped for m in self.measurements if m.key.workload == workload.name}
        if None not in reasons:
            missing = workload.missing(features(self.measurer.device))
            self.skipped[workload.name] = missing or next(filter(None, reasons), "it has no sweeps here")
        self._state, clocks = after.state, after.state.clocks_hz
        self.clocks += [
            document.Clock(label=f"{name} after {workload.name}", clock_hz=clock) for name, clock in clocks.items()
        ]
        with self.stage("explain", workload):
            running_hz = running_clocks(read.readings)
            clock_hz = median(running_hz) if running_hz else clocks.get(nvidia.CLOCK)
            known = Circumstances(clock_hz, self.measurer.device.timer_resolution_s)
            self._find(Subject(workload, sweeps, self.plan.match.device, self.informed.get(workload.name), known))
        self.save(save)
        self.last = None

    def _with_ended(self, workload: Workload, measured: Sequence[Measurement]) -> list[Measurement]:
        """Return the measurements of all sweeps of a workload, with those that an earlier run took out of ``ended``."""
        before = [each for each in self.ended if each.key.workload == workload.name]
        self.ended = [each for each in self.ended if each not in before]
        names = [sweep.name for sweep in self._sweeps[workload.name]]
        return sorted((*before, *measured), key=lambda each: names.index(each.key.sweep))

    def _find(self, subject: Subject) -> None:
        """Compare what was observed of a workload with its predictions; explain what is not as predicted.

        Of sweeps that are incomplete nothing is said: what they lack may be their best point.
        """
        name = subject.workload.name
        measured = [m for m in self.measurements if m.key.workload == name]
        incomplete = {m.key for m in measured if m.missing_share}
        observed = [o for o in self.observations if o.key.workload == name and o.key not in incomplete]
        found = find(subject.specified, [p for p in self.predictions if p.key.workload == name], measured, observed)
        reasons = explanations(subject, found, measured, observed)
        self.explanations += reasons
        self.findings += found

    def report(self, status: Literal["complete", "partial", "failed"]) -> Report:
        """Return the report of what there is."""
        match = self.plan.match
        return Report(
            tool_version=__version__,
            created_at=self.created_at,
            status=status,
            stopped=self.stopped,
            resumed_at=self.resumed_at,
            unfinished=tuple(dict.fromkeys(each.key.workload for each in self.ended)),
            device=match.device,
            match=document.Match(entry=match.entry_id, how=match.how, draft=match.draft, notes=match.notes),
            machine=document.Machine(
                **asdict(self._host),
                opencl=self.measurer.device,
                clocks=tuple(self.clocks),
                vendor_facts=self._state.facts,
            ),
            settings=self.plan.asked,
            workloads={
                w.name: document.workload_info(w, self.skipped.get(w.name), self.restarted.get(w.name, ""))
                for w in self.plan.workloads
            },
            predictions=tuple(self.predictions),
            measurements=(*self.measurements, *self.ended),
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


def _is_microbenchmark(key: SweepKey, workloads: Sequence[Workload]) -> bool:
    return any(workload.microbenchmark for workload in workloads if workload.name == key.workload)


def wrong_results(report: Report) -> tuple[str, ...]:
    """Return the names of the variants whose results were wrong."""
    wrong = {m.key.workload: None for m in report.measurements if m.verification and not m.verification.passed}
    return tuple(wrong)
