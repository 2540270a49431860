"""The sweeps of a workload that are not as predicted, and which hypothesis explains each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpureport.explain.point_model import PointModel, point_model
from gpureport.explain.trials import explain
from gpureport.predict.occupancy import Resources
from gpureport.records.features import MAIN_POSITIONS
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import Measurement
from gpureport.records.observation import Observation
from gpureport.spec.models import Device
from gpureport.workloads.model import Sweep, Workload


@dataclass(frozen=True)
class Informed:
    """Input of a calibrated prediction.

    Attributes:
        device: calibrated.
        compiled: registers and local memory of each point, by the name of its sweep, where known.
    """

    device: Device
    compiled: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
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
    informed: Informed | None = None
    others: Device | None = None
    resources: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


def explanations(
    subject: Subject, findings: Iterable[Finding], measured: Iterable[Measurement], observed: Iterable[Observation]
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
    sweeps = {sweep.name: sweep for sweep in subject.sweeps}
    measurements = {measurement.key: measurement for measurement in measured}
    tested = (
        _explanation(subject, sweeps[observation.key.sweep], measurements[observation.key], observation)
        for observation in observed
        if observation.key in unexpected
    )
    return tuple(explanation for explanation in tested if explanation)


def _explanation(
    subject: Subject, sweep: Sweep, measurement: Measurement, observation: Observation
) -> Explanation | None:
    specified = _points(subject, sweep, observation, Informed(subject.specified, subject.resources))
    observed_s = [point.time_s for point in observation.points]
    informed = subject.informed or (Informed(subject.others, subject.resources) if subject.others else None)
    if informed:
        calibrated = _points(subject, sweep, observation, informed)
        if subject.informed and (explanation := explain(measurement.key, "calibrated", calibrated, observed_s)):
            return explanation
        specified = [replace(point, calibrated=other) for point, other in zip(specified, calibrated, strict=True)]
    return explain(measurement.key, "specification", specified, observed_s)


def _points(subject: Subject, sweep: Sweep, observation: Observation, informed: Informed) -> list[PointModel]:
    """Return the observed points as inputs of the model."""
    labels = (subject.workload.point(parameters, sweep).label for parameters in sweep.points)
    compiled = dict(zip(labels, informed.compiled.get(sweep.name, ()), strict=False))
    return [
        point_model(informed.device, subject.workload, sweep, point.parameters, compiled.get(point.label))
        for point in (observed.point for observed in observation.points)
    ]
