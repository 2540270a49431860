"""The curves that chapters show: typical ones and the largest deviations."""
# ruff: noqa: D103 - the names of the tests say what they check

from dataclasses import replace

from gpureport.records.finding import Verdict
from gpureport.report.curves import CurveRecords, FindingPair, curves, most_distant
from gpureport.report.run.sweeps import deviates, kind_of, selection
from tests.make_report import make_report

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
    assert not any(deviates(curve) for curve in chosen.typical)
    assert chosen.deviating == tuple(curve for curve in _FOUND if deviates(curve))
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

    assert most_distant((missing, farther, far), key=lambda pair: pair) == (farther, "Largest deviation")
    assert most_distant((missing,), key=lambda pair: pair) == (missing, "Not as predicted")
