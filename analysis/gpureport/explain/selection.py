"""The sweeps of a workload that are not as predicted, and which hypothesis explains each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpureport.explain.hypotheses import PointModel
from gpureport.explain.trials import explain
from gpureport.predict import model_inputs
from gpureport.predict.occupancy import Resources
from gpureport.records.curves import MAIN_POSITIONS, Observation
from gpureport.records.finding import Explanation, Finding
from gpureport.spec.models import Device
from gpureport.workloads.model import Sweep, Workload


@dataclass(frozen=True)
class ModelInput:
    """Input of a calibrated prediction.

    Attributes:
        device: calibrated.
        compiled: registers and local memory of each point, by the name of its sweep, where known.
    """

    device: Device
    compiled: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredWorkload:
    """A measured workload, with the inputs of its predictions.

    Attributes:
        workload: what was measured.
        sweeps: its sweeps.
        specified: the device as its entry has it.
        informed: input of the calibrated prediction, if there is one.
        others: the device calibrated by the microbenchmarks of other families, for a microbenchmark.
        resources: published registers and local memory of each point, by the name of its sweep, which the prediction
            from the specification used.
    """

    workload: Workload
    sweeps: Sequence[Sweep]
    specified: Device
    informed: ModelInput | None = None
    others: Device | None = None
    resources: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


def explanations(
    subject: MeasuredWorkload, findings: Iterable[Finding], observed: Iterable[Observation]
) -> tuple[Explanation, ...]:
    """Test all hypotheses on each sweep with a feature that differs from the prediction of its specification.

    Features count by their main positions, as in every count of a report. Hypotheses change the calibrated prediction,
    or the one from the specification if there is none or if it is close to the observation. A sweep that both are close
    to has no explanation.
    """
    unexpected = {
        finding.key
        for finding in findings
        if finding.basis == "specification" and finding.position in MAIN_POSITIONS and not finding.verdict.as_predicted
    }
    tested = (_explanation(subject, observation) for observation in observed if observation.key in unexpected)
    return tuple(explanation for explanation in tested if explanation)


def _explanation(subject: MeasuredWorkload, observation: Observation) -> Explanation | None:
    specified = _points(subject, observation, ModelInput(subject.specified, subject.resources))
    observed_s = [point.time_s for point in observation.points]
    informed = subject.informed or (ModelInput(subject.others, subject.resources) if subject.others else None)
    if informed:
        calibrated = _points(subject, observation, informed)
        if subject.informed and (explanation := explain(observation.key, "calibrated", calibrated, observed_s)):
            return explanation
        specified = [replace(point, calibrated=other) for point, other in zip(specified, calibrated, strict=True)]
    return explain(observation.key, "specification", specified, observed_s)


def _points(subject: MeasuredWorkload, observation: Observation, informed: ModelInput) -> list[PointModel]:
    sweep = next(sweep for sweep in subject.sweeps if sweep.name == observation.key.sweep)
    labels = (subject.workload.point(parameters, sweep).label for parameters in sweep.points)
    compiled = dict(zip(labels, informed.compiled.get(sweep.name, ()), strict=False))
    points = [point.point for point in observation.points]
    resources = [compiled.get(point.label) for point in points]
    return [
        PointModel(*model_inputs(informed.device, subject.workload, sweep, point.parameters, used))
        for point, used in zip(points, resources, strict=True)
    ]
