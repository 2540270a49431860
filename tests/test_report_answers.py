"""The answers of chapters, on findings of known intervals."""

from dataclasses import replace

import pytest

from gpureport.records.curves import Feature, Level, Observation, ObservedPoint, Points, Position, SweepKey
from gpureport.records.finding import Advice, Finding, Verdict
from gpureport.records.report import Report
from gpureport.report.curves import curves
from gpureport.report.run import efficiency
from gpureport.report.run.efficiency import limits, limits_table, most_frequent
from gpureport.report.run.sweeps import curve_caption
from gpureport.report.text.words import compared
from tests.builders import altered
from tests.make_report import make_report

MIB = 1024.0**2
Range = tuple[float, float, float]

AS_PREDICTED = "as predicted"
BASE = make_report(only=("game_of_life", "memory"))


def finding(
    position: Position,
    observed: Range | None,
    predicted: Range | None,
    verdict: Verdict = Verdict.AGREES,
    *,
    level: str | Level = "L2",
    variant: str = "memory/read",
) -> Finding:
    """Return a finding from value, low and high of the observed and of the predicted value."""
    feature: Feature = "taper" if position == "n90" else "cliff"
    unit = "B" if feature == "cliff" else "work-items"
    seen, expected = observed or (None, None, None), predicted or (None, None, None)
    return Finding(
        key=SweepKey(family=variant.partition("/")[0], variant=variant.partition("/")[2], sweep="size"),
        feature=feature,
        position=position,
        level=level if feature == "cliff" else "device",
        basis="specification",
        predicted=expected[0],
        observed=seen[0],
        ci_low=seen[1],
        ci_high=seen[2],
        unit=unit,
        ratio=seen[0] / expected[0] if seen[0] and expected[0] else None,
        predicted_low=expected[1],
        predicted_high=expected[2],
        verdict=verdict,
    )


def mib(value: float, low: float, high: float) -> Range:
    return value * MIB, low * MIB, high * MIB


def report_of(*found: Finding) -> Report:
    return altered(BASE, findings=found)


@pytest.mark.parametrize(
    ("observed", "predicted", "parts"),
    [
        (mib(57, 56.8, 57.2), mib(60, 58, 62), ("5 % below",)),
        (mib(57, 56.8, 57.2), mib(52, 50, 54), ("10 % above",)),
        (mib(57, 55, 59), mib(60, 58, 62), (AS_PREDICTED,)),
        (mib(57, 56, 58), mib(19, 18, 20), ("3.00 times",)),
        (mib(40, 39, 49), mib(52, 48, 56), ("23 % below", "the intervals overlap")),
        (mib(57, 20, 60), mib(19, 18, 30), ("3.00 times",)),
        (mib(57, 56, 58), None, ("not predicted",)),
    ],
)
def test_a_difference_needs_intervals_that_do_not_overlap(
    observed: Range, predicted: Range, parts: tuple[str, ...]
) -> None:
    text = compared(finding("midpoint", observed, predicted))

    assert all(part in text for part in parts)
    assert (text == AS_PREDICTED) is (parts == (AS_PREDICTED,))


def test_published_values_have_no_intervals() -> None:
    single = finding("midpoint", mib(57, 57, 57), mib(60, 60, 60))
    bare = altered(single, ci_low=None, ci_high=None, predicted_low=None, predicted_high=None)

    assert "5 % below" in compared(bare)
    assert compared(altered(bare, predicted=57 * MIB, ratio=1.0)) == AS_PREDICTED


def test_a_caption_names_calibrated_predictions_where_a_curve_has_one() -> None:
    curve = curves(BASE)[0]
    bare = replace(curve, calibrated=None)
    assert ["calibrated" in curve_caption([each], cases=False) for each in (curve, bare)] == [True, False]
    assert curve_caption([replace(bare, specification=None)], cases=False) == "Dots: observed."


def one_kernel(share: float, width: float) -> Report:
    """Return a report of a kernel that takes 1 / *share* of its limit's time, with an interval of *width*."""
    prediction = next(p for p in BASE.predictions if p.key.variant == "read")
    key = prediction.points[-1].point
    point = altered(prediction.points[-1], ceilings_s={"DRAM": 1.0, "L2": 0.5}, time_s=1.25, bottleneck="DRAM")
    seen = ObservedPoint(
        point=key, time_s=1 / share, value=share, ci_low=share * (1 - width), ci_high=share * (1 + width), samples=9
    )
    sweep = {"key": prediction.key, "metric": prediction.metric, "axis": prediction.axis}
    observation = Observation(**sweep, points=(seen,), features=())
    isolated = altered(prediction, points=Points((point,)), features=())
    return altered(BASE, predictions=(isolated,), observations=(observation,), measurements=(), findings=())


@pytest.mark.parametrize(
    ("share", "width", "passed"),
    [(0.93, 0.01, False), (1.04, 0.001, False), (1.2, 0.2, False), (1.2, 0.05, True)],
)
def test_a_limit_is_passed_only_if_the_whole_interval_says_so(share: float, width: float, passed: bool) -> None:
    report = one_kernel(share, width)
    (limit,) = limits(curves(report), report.device.compute_units)

    assert limit.efficiency == pytest.approx(share)
    assert limit.passed is passed
    first, *others = efficiency.answers(report, curves(report))
    assert first == f"Efficiency: Read bandwidth (read), {100 * share:.0f} % of the limit set by memory bandwidth."
    assert len(others) == passed
    assert all(text.startswith("More than 5 % faster than the limit: Read bandwidth (read).") for text in others)


def own_kernel(share: float) -> Report:
    """Return a report of a kernel of the user that reaches a *share* of its limit, with advice."""
    report = one_kernel(share, 0.01)
    info = altered(report.workloads["memory/read"], described=True)
    change = Advice(workload="memory/read", point="all", change="use vectors", gain=2.9)
    return altered(report, workloads={**report.workloads, "memory/read": info}, advice=(change,))


@pytest.mark.parametrize(("share", "explained"), [(0.16, False), (0.49, False), (0.5, True), (1.04, True)])
def test_a_limit_explains_a_rate_only_if_most_of_the_time_is_spent_there(share: float, explained: bool) -> None:
    own, none = own_kernel(share), f"{'' if explained else 'none; nearest: '}memory bandwidth"
    found = curves(own)
    (sentence,), (first, *_) = efficiency.own_answers(own, found), efficiency.answers(own, found)

    assert f"memory bandwidth ({100 * share:.0f} % of this limit)" in sentence
    assert all((text in sentence) is explained for text in ("limited by", "use vectors: predicted 2.9"))
    unexplained = ("No single limit of the model explains this rate", "gains of changes are therefore uncertain")
    assert all((text in sentence) is not explained for text in unexplained)
    assert f"{100 * share:.0f} % of the {'' if explained else 'nearest '}limit" in first
    assert ("no single limit of the model explains this speed" in first) is not explained
    assert most_frequent(limits(found, own.device.compute_units) * 2) == (["DRAM" if explained else ""], 2, 2)
    assert limits_table(own, found).rows[0][3] == none


def test_a_kernel_is_judged_at_the_largest_size_of_all_its_sweeps() -> None:
    report = one_kernel(0.9, 0.01)
    (prediction,), (observation,) = report.predictions, report.observations
    key = altered(prediction.key, sweep="once")
    point = prediction.points[0].point
    larger = altered(point, working_set_bytes=2 * point.working_set_bytes, label="larger")
    predicted = altered(prediction.points[0], point=larger)
    further = altered(prediction, key=key, points=Points((predicted,)))
    seen = altered(observation.points[0], point=larger, time_s=2.0, value=0.5)
    observed = altered(observation, key=key, points=Points((seen,)))
    both = altered(report, predictions=(prediction, further))
    (limit,) = limits(curves(both), both.device.compute_units)
    assert limit.key.sweep == prediction.key.sweep
    (limit,) = limits(curves(altered(both, observations=(observation, observed))), 1)
    assert (limit.key.sweep, limit.efficiency) == ("once", pytest.approx(0.5))
