"""Which curves and examples of predictions a document shows."""

from dataclasses import replace

from gpureport.predict import limits_of, predict
from gpureport.records.curves import Points
from gpureport.records.finding import Verdict
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.report import WorkloadInfo
from gpureport.report.curves import CurveRecords, FindingPair, curves, most_distant
from gpureport.report.run.sweeps import kind_of, selection
from gpureport.report.run.trust import examples
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


_FOUND = [curve for curve in curves(make_report()) if kind_of(curve) == "sizes" and curve.pairs]


def _off(curve: CurveRecords, number: int) -> CurveRecords:
    """Return the curve as another sweep, with every value off by a factor that grows with *number*."""
    pairs = (
        each.main.model_copy(update={"verdict": Verdict.OFF, "ratio": 2.0 + number})
        for each in curve.pairs
        if each.main.observed
    )
    key = curve.key.model_copy(update={"sweep": f"sweep {number}"})
    return replace(curve, key=key, findings=tuple(pairs))


def test_each_family_has_a_typical_curve_and_all_deviations_are_shown() -> None:
    chosen = selection(_FOUND)

    assert {curve.key.family for curve in chosen.typical} <= {curve.key.family for curve in _FOUND}
    assert len({curve.key.family for curve in chosen.typical}) == len(chosen.typical)
    assert not any(curve.astray for curve in chosen.typical)
    assert chosen.deviating == tuple(curve for curve in _FOUND if curve.astray)
    assert chosen.left_out == 0


def test_of_many_deviations_the_largest_are_shown() -> None:
    curve = next(curve for curve in _FOUND if any(pair.main.observed for pair in curve.pairs))
    many = [_off(curve, number) for number in range(40)]
    chosen = selection(many)

    assert chosen.left_out == 40 - len(chosen.deviating) > 0
    assert chosen.deviating == tuple(many[chosen.left_out :])
    assert chosen.shown == chosen.deviating


def test_the_largest_deviation_has_a_ratio() -> None:
    (curve, *_) = (curve for curve in _FOUND if any(pair.main.observed for pair in curve.pairs))
    far, farther = (_off(curve, number).pairs[0] for number in (1, 2))
    missing = FindingPair(far.main.model_copy(update={"verdict": Verdict.NOT_OBSERVED, "ratio": None}), None)

    assert most_distant((missing, farther, far)) == (farther, "Largest deviation")
    assert most_distant((missing,)) == (missing, "Not as predicted")
