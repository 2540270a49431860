"""How far to trust a prediction: tables and sentences made from a report."""
# ruff: noqa: D103

import pytest

from gpureport.predict import limits_of, predict
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report, WorkloadInfo
from gpureport.report.run.trust import coverage, examples
from gpureport.units import format_predicted
from gpureport.workloads import select
from tests.make_report import make_report
from tests.toy import TOY


@pytest.fixture(scope="module")
def predictions() -> tuple[Prediction, ...]:
    """Return predictions of the toy, of both kinds."""
    (copy,), (particles,) = select(("memory/copy",)), select(("particles/structs16",))
    limits = limits_of(TOY, quick=True)
    calibrated = [p.model_copy(update={"kind": "calibrated"}) for p in predict(TOY, particles, limits)]
    return (*predict(TOY, copy, limits), *predict(TOY, particles, limits), *calibrated)


@pytest.fixture(scope="module")
def report(predictions: tuple[Prediction, ...]) -> Report:
    """Return a report of them, and of observations half of which are far off."""
    observations = [
        Observation(
            key=p.key,
            metric=p.metric,
            axis=p.axis,
            points=tuple(
                ObservedPoint(
                    point=point.point,
                    time_s=point.time_s * (1.001 if index % 2 else point.spread * 1.01),
                    value=point.value,
                    ci_low=point.value,
                    ci_high=point.value,
                    samples=5,
                )
                for index, point in enumerate(p.points[: len(p.points) // 2 * 2])
            ),
            features=(),
        )
        for p in predictions[:1]
    ]
    return make_report().model_copy(
        update={"device": TOY, "predictions": predictions, "observations": tuple(observations), "findings": ()}
    )


def test_coverage_counts_points_within_their_intervals(report: Report) -> None:
    (sentence,) = coverage(report)
    points = len(report.observations[0].points)
    assert (
        sentence
        == f"50 % of {points} measured points are within the 95 % interval of the prediction from the specification"
    )


def test_examples_are_of_what_the_device_can_run(report: Report) -> None:
    """Not of a variant or a sweep that was skipped, nor of a point that the device refuses."""
    copy = next(p for p in report.predictions if p.key.family == "memory" and p.arithmetic)
    assert copy.arithmetic
    point = next(p.point for p in copy.points if p.point.label == copy.arithmetic.point)
    info = WorkloadInfo(family="memory", variant="copy", title="Copy", description="", skipped="no memory")
    measurement = Measurement(key=copy.key, metric=copy.metric, axis=copy.axis)

    def families(**update: object) -> list[str]:
        shown = examples(report.model_copy(update={"measurements": (), **update}))
        return [title for title, _ in shown if "opy" in title]

    assert len(families()) == 1
    assert families(workloads={"memory/copy": info}) == []
    assert families(measurements=(measurement.model_copy(update={"skipped": "no sub-groups"}),)) == []
    for refused, shown in (
        (MeasuredPoint(point=point, skipped="CL_OUT_OF_RESOURCES"), 0),
        (MeasuredPoint(point=point, skipped="it would take too long", late=True), 1),
        (MeasuredPoint(point=point, samples_s=(1.0,)), 1),
    ):
        assert len(families(measurements=(measurement.model_copy(update={"points": (refused,)}),))) == shown


@pytest.mark.parametrize(
    ("value", "factor", "text"),
    [
        (2e9, 1.19, "2.00 GB/s ± 19 %"),
        (2e9, 1.7, "2.0 GB/s (factor 1.7)"),
        (2e9, 1, "2.00 GB/s"),
        (43.21e9, 1.12, "43.2 GB/s ± 12 %"),
        (43.21e9, 1.15, "43 GB/s ± 15 %"),
        (43.21e9, 1.01, "43.2 GB/s ± 1 %"),
        (43.21e9, 1.0001, "43.2 GB/s ± 0 %"),
        (4344e9, 1.26, "4344 GB/s ± 26 %"),
    ],
)
def test_predicted_values_have_their_interval(value: float, factor: float, text: str) -> None:
    assert format_predicted(value, value / factor, value * factor, "B/s").replace("\xa0", " ") == text


def test_predictions_without_interval_are_plain() -> None:
    assert format_predicted(2e9, None, None, "B/s") == "2.00 GB/s"
    assert format_predicted(None, None, None, "B/s") == "—"
