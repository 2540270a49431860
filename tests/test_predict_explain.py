"""Tests of hypotheses on points of known times, which made-up hypotheses multiply."""

from collections.abc import Sequence
from functools import partial
from math import exp, log

import pytest

from gpureport.explain.hypotheses import Hypothesis
from gpureport.explain.trials import explain
from gpureport.predict.model import PointModel
from gpureport.records.curves import SweepKey
from gpureport.records.finding import Explanation
from gpureport.workloads.model import Demand
from tests.toy import TOY

KEY = SweepKey(family="family", variant="variant", sweep="sweep")
POINTS = [PointModel(TOY, Demand(256 * 2**i, (256,), (), {"int32": 1e6 * 2**i})) for i in range(20)]


def _times(factors: Sequence[int], point: PointModel) -> list[PointModel]:
    """Return a point several times: the factor depends on its index."""
    return [point] * factors[POINTS.index(point)]


def _slower(*factors: int, name: str = "") -> Hypothesis:
    """Return a hypothesis that multiplies the points' times by *factors*, which repeat."""
    every = (factors * len(POINTS))[: len(POINTS)]
    name = name or f"{'/'.join(map(str, factors))} times"
    return Hypothesis(name, f"the time is {name}", partial(_times, every))


def _explained(factors: Sequence[float], *hypotheses: Hypothesis, points: int = len(POINTS)) -> Explanation:
    """Explain points whose times are the predicted ones multiplied by *factors*, which repeat."""
    points = POINTS[:points]
    observed = [point.time_s * factors[i % len(factors)] for i, point in enumerate(points)]
    found = explain(KEY, "calibrated", points, observed, hypotheses)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("factors", "points", "throughout"),
    [
        ((3.0,), 20, 3.0),
        ((0.5,), 20, 0.5),
        ((3.0,), 4, 3.0),
        ((3.0,), 3, None),  # three points are no curve
        ((exp(1.2), exp(0.8)), 20, exp(1)),  # a deviation of 0.20 of the error
        ((exp(1.3), exp(0.7)), 20, None),  # of 0.29
        ((3.0, 1 / 3), 20, None),
        ((3.0, 1 / 3), 3, None),
    ],
)
def test_a_curve_is_off_throughout_if_all_points_are_by_about_one_factor(
    factors: tuple[float, ...], points: int, throughout: float | None
) -> None:
    found = _explained(factors, points=points)

    assert found.outcome == "unexplained"
    assert found.factor == (throughout and pytest.approx(throughout))


def test_the_error_of_a_curve_is_the_root_mean_square_of_the_logarithms() -> None:
    found = _explained((exp(0.3), exp(-0.4)))

    assert found.base_error == pytest.approx((0.5 * (0.09 + 0.16)) ** 0.5)
    assert (found.hypothesis, found.error, found.next_best, found.next_error) == (None, None, None, None)
    assert (found.better_than_base, found.better_than_next) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("factor", "outcome"), [(10, "explained"), (4, "explained"), (3, "unexplained"), (2, "unexplained")]
)
def test_a_hypothesis_explains_if_it_leaves_half_of_the_error(factor: int, outcome: str) -> None:
    """Of ten times as slow 4 times leave 2.5 times (0.40 of the error), 3 times 3.3 times (0.52)."""
    found = _explained((10.0,), _slower(factor))

    assert found.outcome == outcome
    assert found.hypothesis == f"{factor} times"
    assert found.error == pytest.approx(log(10 / factor), abs=1e-6)
    assert found.better_than_base == 1.0
    assert found.next_best is None


def test_the_next_best_has_its_error() -> None:
    found = _explained((9.0,), _slower(5), _slower(2), _slower(8))

    assert (found.hypothesis, found.next_best) == ("8 times", "5 times")
    assert (found.error, found.next_error) == pytest.approx((log(9 / 8), log(9 / 5)))
    assert (found.better_than_base, found.better_than_next) == (1.0, 1.0)
    assert found.mentions(found.next_error)


def test_two_hypotheses_together_explain_a_curve_that_none_explains_alone() -> None:
    """Each is right about one half of the points, and only a little."""
    left, right = _slower(*[4] * 10, *[1] * 10, name="left"), _slower(*[1] * 10, *[4] * 10, name="right")
    found = _explained([4.0] * 20, left, right)

    assert (found.hypothesis, found.outcome) == ("left + right", "explained")
    assert found.error == pytest.approx(0.0, abs=1e-6)


def test_two_hypotheses_that_are_right_at_every_other_point_are_ambiguous() -> None:
    """Each leaves half of the squared error: neither is closer in most draws."""
    found = _explained((8.0, 8.0), _slower(8, 6), _slower(6, 8))

    assert found.outcome == "ambiguous"
    assert 0.05 < found.better_than_next < 0.95
    assert {found.hypothesis, found.next_best} == {"8/6 times", "6/8 times"}


def test_few_points_that_are_much_closer_are_not_significant() -> None:
    """One point has most of the error; at eight others the model is closer. Three draws of ten lack the one."""
    factors = [1.0] * 19 + [64.0]
    found = _explained(factors, _slower(*[1] * 11, *[2] * 8, 60))

    assert found.error < 0.5 * found.base_error
    assert found.better_than_base == pytest.approx(1 - (2 / 3) ** 3, abs=0.08)
    assert found.outcome == "unexplained"
