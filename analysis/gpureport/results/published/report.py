"""From a published record to a report: predicted, held against what was published, and explained where they differ."""

from collections.abc import Iterable
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.explain.point_model import TimingConditions
from gpureport.explain.selection import Subject, explanations
from gpureport.findings.verdicts import find
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.records.finding import Explanation, Finding
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction
from gpureport.records.report import EntryMatch, Publication, Report, workload_info
from gpureport.results.published.record import Published, Series
from gpureport.spec.models import Device


def published_report(record: Published, device: Device) -> Report:
    """Return the report of what was published of *device*.

    It has no machine, no compiled kernels and no calibrated predictions, since nothing is known of them. Values that
    were published as single figures have no intervals.

    Args:
        record: as read.
        device: the entry that the record names.
    """
    predictions = [_prediction(device, series) for series in record.series]
    observations = [_observation(series) for series in record.series]
    found: list[Finding] = []
    reasons: list[Explanation] = []
    for series, prediction, observation in zip(record.series, predictions, observations, strict=True):
        each, why = _held(device, series, prediction, observation)
        found += each
        reasons += why
    workloads = {series.workload.name: series.workload for series in record.series}
    return Report(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        device=device,
        match=EntryMatch(entry=record.device, how="named by the published record"),
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
    return Publication(
        title=record.title,
        citation=record.citation,
        url=record.url,
        date=record.date,
        notes=record.notes,
        statements=record.statements,
        isolated=record.isolated,
        read_between=record.read_between,
        conditions={str(one.measurement.key): one.conditions for one in record.series if one.conditions},
    )


def _prediction(device: Device, series: Series) -> Prediction:
    return predict_sweep(device, series.workload, series.sweep, "specification", series.compiled)


def _observation(series: Series) -> Observation:
    """Observe a series, and take away the intervals: one published figure does not tell how far it is known."""
    observation = observe(series.measurement)
    assert observation is not None  # noqa: S101 - a record's points have one sample each
    return observation.model_copy(
        update={
            "points": tuple(p.model_copy(update={"ci_low": p.value, "ci_high": p.value}) for p in observation.points),
            "features": tuple(f.model_copy(update={"ci_low": None, "ci_high": None}) for f in observation.features),
            "warnings": (),
        }
    )


def _held(
    device: Device, series: Series, prediction: Prediction, observation: Observation
) -> tuple[Iterable[Finding], Iterable[Explanation]]:
    """Hold one series against its prediction; test hypotheses where they differ."""
    measured, observed = (series.measurement,), (observation,)
    found = find(device, (prediction,), measured, observed)
    told = {series.sweep.name: series.compiled}
    subject = Subject(series.workload, (series.sweep,), device, None, TimingConditions(), told)
    reasons = explanations(subject, found, measured, observed)
    if len(observation.points) == 1:
        reasons = tuple(map(_unsure, reasons))
    return found, reasons


def _unsure(explanation: Explanation) -> Explanation:
    """Take away what a bootstrap over a single point cannot know: that anything is sure."""
    outcome = "unexplained" if explanation.outcome == "unexplained" else "ambiguous"
    nothing = {"outcome": outcome, "better_than_base": 0.0, "better_than_next": 0.0}
    sentence = f"{explanation.sentence} A single figure cannot make that sure."
    return explanation.model_copy(update={**nothing, "sentence": sentence})
