"""The sweeps of a workload that are not as predicted, and which hypothesis explains each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpureport.explain.case import Case, Circumstances, case_of
from gpureport.explain.trials import explain
from gpureport.predict.occupancy import Resources
from gpureport.records.features import MAIN_POSITIONS
from gpureport.records.finding import Explanation, Finding
from gpureport.records.measurement import Measurement
from gpureport.records.observation import Observation
from gpureport.spec.models import Device
from gpureport.workloads.model import Parameters, Sweep, Workload


@dataclass(frozen=True)
class Informed:
    """What a calibrated prediction knows.

    Attributes:
        device: calibrated.
        compiled: registers and local memory of each point of a sweep, by its name, where known.
    """

    device: Device
    compiled: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A workload that was measured, and what is known of the device.

    Attributes:
        workload: what was measured.
        sweeps: its sweeps.
        specified: the device as its entry has it.
        informed: what its calibrated prediction knew, if there is one.
        known: of the device while measuring.
        told: registers and local memory of each point of a sweep, by its name, that the prediction from the
            specification knew: published ones.
    """

    workload: Workload
    sweeps: Sequence[Sweep]
    specified: Device
    informed: Informed | None
    known: Circumstances
    told: Mapping[str, Sequence[Resources | None]] = field(default_factory=dict)


def explanations(
    subject: Subject, findings: Iterable[Finding], measured: Iterable[Measurement], observed: Iterable[Observation]
) -> tuple[Explanation, ...]:
    """Test all hypotheses on each sweep with a feature that is not as its specification predicts.

    Features count by their main positions, as in every tally of a report.

    They change the calibrated prediction, or, where that is near the observation or there is none, the one from the
    specification. A sweep that both come near has no explanation.
    """
    astray = {
        finding.key.sweep
        for finding in findings
        if finding.basis == "specification" and finding.position in MAIN_POSITIONS and not finding.verdict.as_predicted
    }
    sweeps = {sweep.name: sweep for sweep in subject.sweeps}
    measurements = {measurement.key: measurement for measurement in measured}
    tested = (
        _explanation(subject, sweeps[observation.key.sweep], measurements[observation.key], observation)
        for observation in observed
        if observation.key.sweep in astray
    )
    return tuple(explanation for explanation in tested if explanation)


def _explanation(
    subject: Subject, sweep: Sweep, measurement: Measurement, observation: Observation
) -> Explanation | None:
    specified = _cases(subject, sweep, measurement, observation, None)
    observed_s = [point.time_s for point in observation.points]
    if subject.informed:
        calibrated = _cases(subject, sweep, measurement, observation, subject.informed)
        explanation = explain(measurement.key, "calibrated", calibrated, observed_s)
        if explanation:
            return explanation
        specified = [replace(case, informed=better) for case, better in zip(specified, calibrated, strict=True)]
    return explain(measurement.key, "specification", specified, observed_s)


def _cases(
    subject: Subject, sweep: Sweep, measurement: Measurement, observation: Observation, informed: Informed | None
) -> list[Case]:
    """Return the observed points as the model is asked about them."""
    told = (informed.compiled if informed else subject.told).get(sweep.name, ())
    compiled = dict(zip(map(_fixed, sweep.points), told, strict=False))
    dispatches = {point.point.label: point.dispatches_per_sample for point in measurement.points}
    device = informed.device if informed else subject.specified
    tick_s = subject.known.tick_s if _in_ticks(measurement, subject.known.tick_s) else 0.0
    cases = []
    for point in (seen.point for seen in observation.points):
        known = replace(subject.known, tick_s=tick_s / dispatches.get(point.label, 1))
        resources = compiled.get(_fixed(point.parameters))
        cases.append(case_of(device, subject.workload, sweep, point.parameters, resources, known))
    return cases


def _fixed(parameters: Parameters) -> frozenset[tuple[str, int]]:
    return frozenset(parameters.items())


_IN_TICKS = 0.02


def _in_ticks(measurement: Measurement, tick_s: float) -> bool:
    """Return whether all samples are whole ticks, as those of a timer that has no finer ones are."""
    if not tick_s:
        return False
    ticks = [s * point.dispatches_per_sample / tick_s for point in measurement.points for s in point.samples_s]
    return all(abs(count - round(count)) <= _IN_TICKS for count in ticks)
