"""Which examples of predictions a document shows, and how values are written with their intervals."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest

from gpureport.predict import limits_of, predict
from gpureport.records.curves import Points
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.report import WorkloadInfo
from gpureport.report.run.trust import examples
from gpureport.units import format_interval
from gpureport.workloads import select
from tests.make_report import make_report
from tests.toy import TOY


def test_examples_are_of_what_the_device_can_run() -> None:
    (workload,) = select(("memory/copy",))
    predictions = predict(TOY, workload, limits_of(TOY, quick=True))
    report = make_report().model_copy(update={"device": TOY, "predictions": predictions, "findings": ()})
    copy = next(p for p in predictions if p.arithmetic)
    assert copy.arithmetic
    point = next(p.point for p in copy.points if p.point.label == copy.arithmetic.point)
    info = WorkloadInfo(family="memory", variant="copy", title="Copy", description="", skipped="no memory")
    measurement = Measurement(key=copy.key, metric=copy.metric, axis=copy.axis)

    def shown(**update: object) -> int:
        found = examples(report.model_copy(update={"measurements": (), **update}))
        return len([title for title, _ in found if "opy" in title])

    assert shown() == 1
    assert shown(workloads={"memory/copy": info}) == 0
    assert shown(measurements=(measurement.model_copy(update={"skipped": "no sub-groups"}),)) == 0
    for refused, count in (
        (MeasuredPoint(point=point, skipped="CL_OUT_OF_RESOURCES"), 0),
        (MeasuredPoint(point=point, skipped="it would take too long", late=True), 1),
        (MeasuredPoint(point=point, samples_s=(1.0,)), 1),
    ):
        assert shown(measurements=(measurement.model_copy(update={"points": Points((refused,))}),)) == count


@pytest.mark.parametrize(
    ("value", "factor", "text"),
    [
        (2e9, 1.19, "2.00 GB/s ± 19 %"),
        (2e9, 1.7, "2.0 GB/s (factor 1.7)"),
        (2e9, 1, "2.00 GB/s"),
        (43.21e9, 1.12, "43.2 GB/s ± 12 %"),
        (43.21e9, 1.15, "43 GB/s ± 15 %"),
        (43.21e9, 1.0001, "43.2 GB/s ± 0 %"),
    ],
)
def test_predicted_values_have_their_interval(value: float, factor: float, text: str) -> None:
    assert format_interval(value, value / factor, value * factor, "B/s", "predicted").replace("\xa0", " ") == text
    assert format_interval(2e9, None, None, "B/s", "predicted") == "2.00 GB/s"
    assert format_interval(None, None, None, "B/s", "predicted") == "—"
