"""From a published record to a report: predictions, comparison, and explanations of differences."""

from datetime import UTC, datetime

from gpureport import __version__
from gpureport.explain.trials import ModelInput, explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.records.curves import Basis, Observation, Points
from gpureport.records.finding import Explanation, Finding
from gpureport.records.prediction import Prediction
from gpureport.records.report import EntryMatch, Publication, Report, workload_info
from gpureport.results.published import Published
from gpureport.results.replay import Series
from gpureport.spec.models import Device


def published_report(record: Published, device: Device) -> Report:
    """Return the report of a published record and its *device*.

    It has no machine, compiled kernels or calibrated predictions, because these are unknown. Published values have no
    intervals.
    """
    predictions, observations = list[Prediction](), list[Observation]()
    found, reasons = list[Finding](), list[Explanation]()
    for series in record.series:
        resources, observation = series.published_resources, _observation(series)
        prediction = predict_sweep(device, series.workload, series.sweep, "specification", resources)
        findings = find(device, (prediction,), (series.measurement,), (observation,))
        inputs: dict[Basis, ModelInput] = {"specification": ModelInput(device, {series.sweep.name: resources})}
        why = explanations(series.workload, (series.sweep,), inputs, findings, (observation,))
        predictions.append(prediction)
        observations.append(observation)
        found += findings
        reasons += map(_uncertain, why) if len(observation.points) == 1 else why
    workloads = {series.workload.name: series.workload for series in record.series}
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=record.fields.device, how="named by the published record"),
        machine=None,
        publication=_publication(record),
        workloads={name: workload_info(workload) for name, workload in workloads.items()},
        predictions=tuple(predictions),
        measurements=tuple(series.measurement for series in record.series),
        observations=tuple(observations),
        findings=tuple(found),
        explanations=tuple(reasons),
    )


def _publication(record: Published) -> Publication:
    conditions = {str(one.measurement.key): one.conditions for one in record.series if one.conditions}
    return Publication(**record.fields.model_dump(exclude={"device", "series"}), conditions=conditions)


def _observation(series: Series) -> Observation:
    """Observe a series, and remove the intervals: single published values have no known uncertainty."""
    observation = observe(series.measurement)
    assert observation is not None  # noqa: S101 - each point has one sample
    return observation.model_copy(
        update={
            "points": Points(p.model_copy(update={"ci_low": p.value, "ci_high": p.value}) for p in observation.points),
            "features": tuple(f.model_copy(update={"ci_low": None, "ci_high": None}) for f in observation.features),
            "warnings": (),
        }
    )


def _uncertain(explanation: Explanation) -> Explanation:
    """Remove the certainty of an explanation: a bootstrap over a single point says nothing about it."""
    outcome = "unexplained" if explanation.outcome == "unexplained" else "ambiguous"
    return explanation.model_copy(update={"outcome": outcome, "better_than_base": 0.0, "better_than_next": 0.0})
