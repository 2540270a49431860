"""From a published record to a report: predictions, comparison, and explanations of differences."""

from collections.abc import Iterable
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.explain.trials import ModelInput, explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.records.curves import Observation, Points
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
    predictions = [
        predict_sweep(device, series.workload, series.sweep, "specification", series.published_resources)
        for series in record.series
    ]
    observations = [_observation(series) for series in record.series]
    found: list[Finding] = []
    reasons: list[Explanation] = []
    for series, prediction, observation in zip(record.series, predictions, observations, strict=True):
        each, why = _compared(device, series, prediction, observation)
        found += each
        reasons += why
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


def _compared(
    device: Device, series: Series, prediction: Prediction, observation: Observation
) -> tuple[Iterable[Finding], Iterable[Explanation]]:
    """Compare one series with its prediction; test hypotheses about differences."""
    measured, observed = (series.measurement,), (observation,)
    found = find(device, (prediction,), measured, observed)
    resources = {series.sweep.name: series.published_resources}
    reasons = explanations(
        series.workload, (series.sweep,), {"specification": ModelInput(device, resources)}, found, observed
    )
    if len(observation.points) == 1:
        reasons = tuple(map(_uncertain, reasons))
    return found, reasons


def _uncertain(explanation: Explanation) -> Explanation:
    """Remove the certainty of an explanation: a bootstrap over a single point says nothing about it."""
    outcome = "unexplained" if explanation.outcome == "unexplained" else "ambiguous"
    return explanation.model_copy(update={"outcome": outcome, "better_than_base": 0.0, "better_than_next": 0.0})
