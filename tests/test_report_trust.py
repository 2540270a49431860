"""Which curves and examples of predictions a document shows."""

from dataclasses import replace

from gpureport.predict import limits_of, predict
from gpureport.records.finding import Verdict
from gpureport.report.curves import CurveRecords, FindingPair, curves, most_distant
from gpureport.report.run.sweeps import kind_of, selection
from gpureport.report.run.trust import examples
from gpureport.report.text.words import largest_deviation
from gpureport.workloads import select
from tests.builders import altered, observed_like
from tests.make_report import make_report
from tests.toy import TOY


def test_examples_are_of_what_was_observed() -> None:
    (workload,) = select(("memory/copy",))
    predictions = predict(TOY, workload, limits_of(TOY, quick=True))
    report = altered(make_report(), device=TOY, predictions=predictions, findings=(), measurements=(), observations=())
    example = next(p for p in predictions if p.arithmetic)
    seen = observed_like(example)
    others = tuple(p for p in seen.points if example.arithmetic and p.point.label != example.arithmetic.point)

    assert [len(examples(altered(report, observations=(o,)))) for o in (seen, altered(seen, points=others))] == [1, 0]
    assert [len(examples(altered(report, machine=machine))) for machine in (report.machine, None)] == [0, 1]


_FOUND = [curve for curve in curves(make_report()) if kind_of(curve) == "sizes" and curve.pairs]


def _off(curve: CurveRecords, number: int) -> CurveRecords:
    """Return the curve as another sweep, with every value off by a factor that grows with *number*."""
    pairs = (altered(each.main, verdict=Verdict.OFF, ratio=2.0 + number) for each in curve.pairs if each.main.observed)
    key = altered(curve.key, sweep=f"sweep {number}")
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
    missing = FindingPair(altered(far.main, verdict=Verdict.NOT_OBSERVED, ratio=None), None)

    assert most_distant((missing, farther, far)) == (farther, "Largest deviation")
    assert most_distant((missing,)) == (missing, "Not as predicted")
    assert largest_deviation([missing.main, missing.main]) == f"2 {Verdict.NOT_OBSERVED}"
    assert "times the prediction" in largest_deviation([missing.main, far.main])
    wide = altered(farther.main, verdict=Verdict.UNDETERMINED)
    assert largest_deviation([wide]) == f"1 {Verdict.UNDETERMINED}"
    assert largest_deviation([wide, far.main]) == largest_deviation([far.main])
