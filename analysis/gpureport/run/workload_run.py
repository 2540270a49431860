"""One workload of a run: its sweeps and all records of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpureport.explain.trials import explanations
from gpureport.findings.verdicts import find
from gpureport.measure.measurer import Measured
from gpureport.observe import observe
from gpureport.predict import ModelInput, predict_sweep, predict_sweeps
from gpureport.predict.advice import advice, source_accesses
from gpureport.predict.occupancy import compiled_resources
from gpureport.records.curves import Basis, Observation
from gpureport.records.finding import Advice, Explanation, Finding, SourceAccess
from gpureport.records.measurement import Compilation, Measurement
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.model import Sweep, Workload

DERIVED = ("observations", "findings", "explanations", "advice", "accesses")
"""Records of a finished workload, as fields of a workload's run and of the report."""


@dataclass
class WorkloadRun:
    """One workload of a run."""

    workload: Workload
    device: Device
    """As specified."""
    sweeps: tuple[Sweep, ...]
    specified: tuple[Prediction, ...] = ()
    calibrated: tuple[Prediction, ...] = ()
    model_input: ModelInput | None = None
    """The input of the calibrated predictions."""
    ended: tuple[Measurement, ...] = ()
    """Sweeps that an earlier run measured before it was interrupted; until the others are measured, too."""
    measurements: tuple[Measurement, ...] = ()
    """Of all sweeps, in their order."""
    observations: tuple[Observation, ...] = ()
    findings: tuple[Finding, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    advice: tuple[Advice, ...] = ()
    accesses: tuple[SourceAccess, ...] = ()
    skipped: str | None = None
    """Why none of its sweeps was measured."""

    @property
    def name(self) -> str:
        """``family/variant``."""
        return self.workload.name

    @property
    def sweeps_left(self) -> list[Sweep]:
        """The sweeps that are still to be measured."""
        measured = {each.key.sweep for each in (*self.ended, *self.measurements)}
        return [sweep for sweep in self.sweeps if sweep.name not in measured]

    @property
    def expected_s(self) -> dict[tuple[str, str], float]:
        """Predicted times by sweep and label of the point: calibrated ones where there are any."""
        return {
            (prediction.key.sweep, point.point.label): point.time_s
            for prediction in (*self.specified, *self.calibrated)
            for point in prediction.points
        }

    def take_over(self, earlier: Report) -> None:
        """Take the records of an interrupted run: of a finished workload all, else those of its finished sweeps.

        Failed workloads are measured again, and so are sweeps whose points changed: they depend on the free memory.
        """
        own = earlier.of_workloads(self.name)
        if self.name in own.unfinished:
            points = {sweep.name: list(sweep.points) for sweep in self.sweeps}
            specified = ((p, [each.point.parameters for each in p.points]) for p in own.specified)
            same = {p.key: p for p, parameters in specified if parameters == points.get(p.key.sweep)}
            self.ended = tuple(each for each in own.measurements if each.key in same and not each.failed)
            self.specified = tuple(same[each.key] for each in self.ended)
        elif own.measurements and not own.failed_variants:
            self.specified, self.calibrated = own.specified, tuple(p for p in own.predictions if not p.specified)
            vars(self).update((name, getattr(own, name)) for name in ("measurements", *DERIVED))
        if (self.ended or self.measurements) and (info := earlier.workloads.get(self.name)):
            self.skipped = info.skipped

    def specify(self) -> None:
        """Predict from the specification; predictions of an earlier run stay."""
        known = {prediction.key: prediction for prediction in self.specified}
        predicted = (each.prediction for each in predict_sweeps(self.device, self.workload, self.sweeps))
        self.specified = tuple(known.get(prediction.key, prediction) for prediction in predicted)

    def calibrate(self, device: Device, compilations: Mapping[str, Sequence[Compilation | None]]) -> None:
        """Predict with a calibrated *device* and with what the compiler reported of each sweep's points."""
        compiled = {name: [compiled_resources(each) for each in found] for name, found in compilations.items()}
        self.model_input = ModelInput(device, compiled)
        self.calibrated = tuple(
            predict_sweep(device, self.workload, sweep, "calibrated", compiled[sweep.name]) for sweep in self.sweeps
        )

    def add(self, measured: Measured, present: PresentDevice) -> None:
        """Add the measurements of the sweeps that were left; the *present* device explains skipped ones."""
        order = [sweep.name for sweep in self.sweeps]
        measurements = (*self.ended, *measured.measurements)
        self.measurements = tuple(sorted(measurements, key=lambda each: order.index(each.key.sweep)))
        self.ended = ()
        reasons = [each.skipped for each in self.measurements]
        if None not in reasons:
            missing = self.workload.missing(present)
            self.skipped = missing or next(filter(None, reasons), "none of its sweeps applies to this device")

    def evaluate(self, *, compare: bool = True) -> None:
        """Derive what samples show; with *compare*, compare it with predictions, and test hypotheses.

        Incomplete sweeps are not compared: their best point may be among those that were not measured.
        """
        self.observations = tuple(found for each in self.measurements if (found := observe(each)))
        if not compare:
            return
        incomplete = {each.key for each in self.measurements if each.missing_share}
        observed = [each for each in self.observations if each.key not in incomplete]
        predictions = (*self.specified, *self.calibrated)
        self.findings = find(self.device, predictions, self.measurements, observed)
        specified = ModelInput(self.device)
        used = self.model_input or specified
        inputs: dict[Basis, ModelInput] = {"specification": specified}
        inputs |= {"calibrated": used} if self.model_input else {}
        self.explanations = explanations(self.workload, self.sweeps, inputs, self.findings, observed)
        self.advice = advice(self.workload, used, self.sweeps)
        self.accesses = source_accesses(self.workload, used, self.sweeps)
