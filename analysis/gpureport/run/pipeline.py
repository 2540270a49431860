"""One run, from the present device to a report: predict, measure, observe, compare; saved after every workload.

Nothing here prints. Callers show the progress of the run through a :data:`Progress`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Literal

from gpureport import __version__
from gpureport.errors import DeviceError, GpuReportError
from gpureport.measure import Progress
from gpureport.measure.backends import sensors
from gpureport.measure.backends.machine import machine_facts
from gpureport.measure.energy import power_loads
from gpureport.measure.kernels import programs
from gpureport.measure.limits import SweepSettings, sweep_budget_s
from gpureport.measure.measurer import Compilations, Measured, Measurer
from gpureport.measure.sweep import Task
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records import report as document
from gpureport.records.measurement import Conditions, Energy, Measurement
from gpureport.records.report import Report
from gpureport.run.earlier import end_s, with_ended
from gpureport.run.workload_run import DERIVED, WorkloadRun
from gpureport.spec.models import DeviceMatch, EntryMatch
from gpureport.workloads.model import Workload

Save = Callable[[Report], None]

_WEIGHT = 3.0
"""Shares of time for an essential microbenchmark."""


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes:
        match: the device in the database.
        workloads: in the order of the report.
        settings: limits of sweeps.
        requested: the user's settings, as the report stores them.
        with_power: whether to read power while kernels run, at the end.
        kept: a report whose microbenchmarks are not measured again.
    """

    match: DeviceMatch
    workloads: tuple[Workload, ...]
    settings: SweepSettings
    requested: document.RunSettings
    with_power: bool = False
    kept: Report | None = None


def run(plan: Plan, measurer: Measurer, save: Save, progress: Progress, earlier: Report | None = None) -> Report:
    """Carry out *plan* on the open device of *measurer*.

    *save* is called before the first dispatch, after every workload, and at the end. The predictions from the
    specification are saved before the first dispatch, and never change. If the device is lost, the run ends with what
    it has. Other errors and interrupts are passed on after the finished sweeps are saved. Workloads and sweeps that an
    *earlier*, interrupted run of the same plan finished are not repeated.
    """
    state = _Run(plan, measurer)
    if earlier is not None:
        state.take_over(earlier)
    parts = state.begin(save)
    try:
        state.carry_out(parts, save, progress)
    except (KeyboardInterrupt, GpuReportError):
        save(state.interrupted())
        raise
    report = state.report("partial" if state.stopped else "complete")
    if not report.has_samples and not (report.energy and report.energy.loads):
        report = state.report("failed")
    save(report)
    return report


class _Run:
    def __init__(self, plan: Plan, measurer: Measurer) -> None:
        device, limits = plan.match.device, plan.settings.limits
        self.plan, self.measurer = plan, measurer
        self.parts = tuple(WorkloadRun(each, device, each.sweeps(device, limits)) for each in plan.workloads)
        self.calibrated_at = plan.kept.created_at if plan.kept else ""
        if plan.kept:
            for part in self._microbenchmarks:
                part.take_over(plan.kept)
        self.created_at = datetime.now(UTC).isoformat(timespec="seconds")
        self.resumed_at: tuple[str, ...] = ()
        self.conditions: list[Conditions] = []
        self.stopped = ""  # why the run ended before its last workload
        self.started: WorkloadRun | None = None  # whose measuring began last
        self.measured: tuple[WorkloadRun, Measured] | None = None  # last, until its measurements are evaluated
        self.energy: Energy | None = None
        self._began_s = measurer.now()
        self._facts: Mapping[str, str] = sensors.facts(measurer.device)
        self._host = machine_facts()

    def _in_order(self) -> list[WorkloadRun]:
        """Return the unfinished workloads in the order in which they are measured, and start builds in this order.

        Microbenchmarks come first. Isolated dispatches end both groups: their times depend on the host, which builds.
        On a GPU, both begin with workloads of few programs, while other processes build the others.
        """
        unfinished, present = [part for part in self.parts if not part.measurements], self.measurer.device
        keys = {part.name: dict.fromkeys(programs(part.workload, part.sweeps, present)) for part in unfinished}

        def place(part: WorkloadRun) -> tuple[bool, bool, int, bool]:
            isolated, workload = any(sweep.isolated for sweep in part.sweeps), part.workload
            builds = 0 if present.on_host else len(keys[part.name])
            return not workload.microbenchmark, isolated, builds, not workload.essential

        parts = sorted(unfinished, key=place)
        self.measurer.build_ahead(key for part in parts for key in keys[part.name])
        return parts

    @property
    def _microbenchmarks(self) -> list[WorkloadRun]:
        return [part for part in self.parts if part.workload.microbenchmark]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All measurements so far, also of sweeps of unfinished workloads."""
        return tuple(each for part in self.parts for each in (*part.measurements, *part.ended))

    def take_over(self, earlier: Report) -> None:
        self.created_at, self.resumed_at = earlier.created_at, (*earlier.resumed_at, self.created_at)
        self.calibrated_at = earlier.calibrated_at
        for part in self.parts:
            part.take_over(earlier)
        begun = {part.name for part in self.parts if part.measurements or part.ended}
        self.conditions += (each for each in earlier.conditions if each.workload in begun)
        self._began_s -= end_s(self.conditions, self.measurements)
        self.measurer.reopen(self._began_s)

    def begin(self, save: Save) -> list[WorkloadRun]:
        """Start builds, predict and save; return the unfinished workloads in their order."""
        parts = self._in_order()
        for part in parts:
            part.specify()
        self.save(save)
        return parts

    def carry_out(self, parts: Sequence[WorkloadRun], save: Save, progress: Progress) -> None:
        """Measure each workload; on a GPU, evaluate and calibrate others while it is measured."""
        try:
            for number, part in enumerate(parts):
                if self.measured and not self._may_overlap(self.measured[0].workload, part.workload):
                    self._evaluate(save)
                if not part.calibrated:
                    self._calibrate(part, self._compiled(part))
                following = next(iter(parts[number + 1 :]), None)
                if following and not self._may_overlap(part.workload, following.workload):
                    following = None
                compiled = self._compiled(following) if following else None
                settings = self._settings(part.workload, sum(len(each.sweeps_left) for each in parts[number:]))
                self.started = part
                self.measurer.start(Task(part.workload, part.sweeps_left, settings, part.expected_s))
                self._evaluate(save)
                if following:
                    self._calibrate(following, compiled)
                self.measured = part, self.measurer.finish(progress)
            if self.plan.with_power:
                self._evaluate(save)
                loads = tuple(power_loads(self.plan.match.device, self.plan.settings.limits))
                self.energy = self.measurer.energy(loads, self.plan.settings, progress)
        except DeviceError as error:
            self.stopped = str(error)
        self._evaluate(save)

    def _may_overlap(self, last: Workload, following: Workload) -> bool:
        """Return whether one workload may be measured while the measurements of the one before are evaluated.

        Not on processors, which need their cores for both, and not before the last microbenchmark is evaluated.
        """
        return not self.plan.match.device.architecture.on_host and last.microbenchmark == following.microbenchmark

    def save(self, save: Save) -> None:
        self._saved = self.report("partial")
        save(self._saved)

    def interrupted(self) -> Report:
        """Return the last saved report with the sweeps that have ended since; nothing is derived from them."""
        report = self._saved
        started = [(self.started, self.measurer.so_far())] if self.started else []
        for part, measured in ([self.measured] if self.measured else []) + started:
            report = with_ended(report, part.name, measured)
        return report

    def _compiled(self, part: WorkloadRun) -> Compilations | None:
        """Return the compiler's facts for calibrated predictions, if there will be any."""
        observed = any(each.observations for each in self._microbenchmarks)
        present = self.measurer.device
        if part.workload.microbenchmark or not observed or present.is_software or part.workload.missing(present):
            return None
        return self.measurer.compiled(part.workload, part.sweeps)

    def _calibrate(self, part: WorkloadRun, compiled: Compilations | None) -> None:
        if compiled is not None:
            specified = [prediction for each in self._microbenchmarks for prediction in each.specified]
            observations = [observation for each in self._microbenchmarks for observation in each.observations]
            part.calibrate(calibrated(self.plan.match.device, specified, observations), compiled)

    def _settings(self, workload: Workload, sweeps_left: int) -> SweepSettings:
        """Return the settings of a workload's sweeps, with their share of the remaining time.

        Essential microbenchmarks get more of it: calibrated predictions depend on them.
        """
        settings = self.plan.settings
        weight = _WEIGHT if workload.calibrates and workload.essential else 1.0
        share_s = sweep_budget_s(
            self.measurer.device.kind,
            quick=settings.limits.quick,
            spent_s=self.measurer.now() - self._began_s,
            sweeps_left=sweeps_left,
        )
        return settings._replace(budget_s=min(settings.budget_s, weight * share_s))

    def _evaluate(self, save: Save) -> None:
        if self.measured is None:
            return
        part, measured = self.measured
        self.conditions.append(Conditions(workload=part.name, readings=measured.readings))
        part.add(measured, self.measurer.device)
        self._facts = measured.facts
        part.evaluate(compare=not self.measurer.device.is_software)
        self.save(save)
        self.measured = None

    def report(self, status: Literal["complete", "partial", "failed"]) -> Report:
        match, parts = self.plan.match, self.parts
        # No entry describes a program in the place of a device: its predictions only show which points take too long.
        predicting = () if self.measurer.device.is_software else parts
        return Report(
            tool_version=__version__,
            created_at=self.created_at,
            status=status,
            stopped=self.stopped,
            resumed_at=self.resumed_at,
            calibrated_at=self.calibrated_at,
            unfinished=tuple(part.name for part in parts if part.ended),
            device=match.device,
            match=EntryMatch(entry=match.entry, how=match.how, draft=match.draft, notes=match.notes),
            machine=document.Machine(**self._host, opencl=self.measurer.device, vendor_facts=self._facts),
            settings=self.plan.requested,
            workloads={part.name: document.workload_info(part.workload, part.skipped) for part in parts},
            predictions=(
                *chain.from_iterable(part.specified for part in predicting),
                *chain.from_iterable(part.calibrated for part in predicting),
            ),
            measurements=self.measurements,
            **{name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in DERIVED},
            conditions=tuple(self.conditions),
            energy=self.energy,
        )


def wrong_results(report: Report) -> tuple[str, ...]:
    """Return the names of the variants whose results were wrong."""
    return tuple(dict.fromkeys(m.key.workload for m in report.measurements if m.is_wrong))
