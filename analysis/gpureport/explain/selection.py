"""The sweeps of a workload that are not as predicted, and which hypothesis explains each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpureport.explain.point_model import PointModel, TimingConditions, point_model
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
        conditions: clock and timer of the device while measuring.
        resources: published registers and local memory of each point, by the name of its sweep, which the prediction
            from the specification used.
    """

    workload: Workload
    sweeps: Sequence[Sweep]
    specified: Device
    informed: Informed | None
    conditions: TimingConditions
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
    specified = _points(subject, sweep, measurement, observation, Informed(subject.specified, subject.resources))
    observed_s = [point.time_s for point in observation.points]
    if subject.informed:
        calibrated = _points(subject, sweep, measurement, observation, subject.informed)
        explanation = explain(measurement.key, "calibrated", calibrated, observed_s)
        if explanation:
            return explanation
        specified = [replace(point, calibrated=other) for point, other in zip(specified, calibrated, strict=True)]
    return explain(measurement.key, "specification", specified, observed_s)


def _points(
    subject: Subject, sweep: Sweep, measurement: Measurement, observation: Observation, informed: Informed
) -> list[PointModel]:
    """Return the observed points as inputs of the model."""
    labels = (subject.workload.point(parameters, sweep).label for parameters in sweep.points)
    compiled = dict(zip(labels, informed.compiled.get(sweep.name, ()), strict=False))
    dispatches = {point.point.label: point.dispatches_per_sample for point in measurement.points}
    tick_s = subject.conditions.tick_s if _in_ticks(measurement, subject.conditions.tick_s) else 0.0
    points = []
    for point in (observed.point for observed in observation.points):
        conditions = replace(subject.conditions, tick_s=tick_s / dispatches.get(point.label, 1))
        resources = compiled.get(point.label)
        points.append(point_model(informed.device, subject.workload, sweep, point.parameters, resources, conditions))
    return points


_IN_TICKS = 0.02


def _in_ticks(measurement: Measurement, tick_s: float) -> bool:
    """Return whether all samples are whole ticks; a driver may report a coarser resolution than its timer has."""
    if not tick_s:
        return False
    ticks = [s * point.dispatches_per_sample / tick_s for point in measurement.points for s in point.samples_s]
    return all(abs(count - round(count)) <= _IN_TICKS for count in ticks)
