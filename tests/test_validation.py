"""Errors, their statistics, and accuracy targets."""

from math import exp, inf, isnan, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records.curves import Basis
from gpureport.spec.database import load_database
from gpureport.validate.residuals import WHATS, Residual, What, frame
from gpureport.validate.targets import TARGETS, Target, judge, summarise

POSITIVE = st.floats(1e-9, 1e9)


def residual(
    predicted: float | None, observed: float | None, what: What = "times", kind: Basis = "specification"
) -> Residual:
    sweep = {"device": "nvidia/h200_sxm", "workload": "memory/read", "sweep": "working_set", "kind": kind}
    return {**sweep, "what": what, "predicted": predicted, "observed": observed}


@given(POSITIVE, POSITIVE, st.sampled_from(WHATS))
def test_the_error_is_the_same_factor_either_way(one: float, other: float, what: What) -> None:
    error, inverse = frame([residual(one, other, what), residual(other, one, what)])["error"]

    assert error == pytest.approx(log(max(one, other) / min(one, other)), rel=1e-9, abs=1e-9)
    assert error == pytest.approx(inverse, rel=1e-9, abs=1e-9)


def test_features_without_a_counterpart_are_counted_and_have_no_error() -> None:
    cliffs: list[Residual] = [
        residual(2.0, 1.0, "latency cliffs"),
        residual(None, 1.0, "latency cliffs"),
        residual(1.0, None, "latency cliffs"),
        residual(3.0, None, "latency cliffs"),
    ]

    (summary,) = summarise(frame(cliffs), "what").itertuples()

    assert (summary.n, summary.not_observed, summary.not_predicted) == (1, 2, 1)
    assert (summary.median, summary.p90, summary.ratio) == (*[pytest.approx(log(2))] * 2, 2.0)


def test_quantiles_are_of_errors_and_the_ratio_keeps_its_sign() -> None:
    (summary,) = summarise(frame(residual(exp(-share / 100), 1.0) for share in range(11)), "what").itertuples()

    mape = sum(1 - exp(-share / 100) for share in range(11)) / 11
    assert (summary.median, summary.p90, summary.mape) == pytest.approx((0.05, 0.09, mape))
    assert summary.ratio == pytest.approx(exp(-0.05))


TARGET = Target("all", "times", "median", 1.1, 1.05)


@pytest.mark.parametrize(("predicted", "passed"), [(1.09, True), (1.11, False)])
def test_a_target_is_passed_or_missed(predicted: float, passed: bool) -> None:
    (result,) = judge(frame([residual(predicted, 1.0)]), [TARGET._replace(calibrated=None)]).itertuples()

    assert result.result == ("pass" if passed else "MISS")
    assert result.reached == pytest.approx(log(predicted))


def test_each_kind_of_prediction_has_its_own_limit() -> None:
    found = [residual(1.07, 1.0), residual(1.07, 1.0, kind="calibrated")]

    assert judge(frame(found), [TARGET])[["kind", "result"]].to_numpy().tolist() == [
        ["specification", "pass"],
        ["calibrated", "MISS"],
    ]


def test_without_data_there_is_no_result() -> None:
    (result,) = judge(frame([residual(1.0, 1.0, "n90")]), [TARGET._replace(calibrated=None)]).itertuples()

    assert isnan(result.reached)
    assert result.result == ""


@pytest.mark.parametrize(("statistic", "reached"), [("median", 0.0), ("worst", inf)])
def test_an_unmatched_feature_counts_as_an_infinite_error(statistic: str, reached: float) -> None:
    target = TARGET._replace(what="n90", statistic=statistic, calibrated=None)
    found = [residual(1.0, 1.0, "n90"), residual(1.0, 1.0, "n90"), residual(1.0, None, "n90")]

    (result,) = judge(frame(found), [target]).itertuples()

    assert (result.reached, result.of_matched) == (reached, 0.0)
    assert result.result == ("MISS" if reached else "pass")


@pytest.mark.parametrize(
    "narrower",
    [
        {"devices": ("amd/*",)},
        {"workloads": ("memory/copy/*",)},
        {"published": True},
        {"what": "n90"},
        {"rows": "ecc"},
    ],
)
def test_a_target_applies_to_its_patterns(narrower: dict[str, object]) -> None:
    found = frame([residual(1.0, 1.0)])
    wide = TARGET._replace(devices=("amd/*", "nvidia/*"), workloads=("memory/read/*",))

    assert len(wide.concerned(found)) == 1
    assert wide._replace(**narrower).concerned(found).empty


def test_targets_of_the_scoreboard_concern_a_part_of_its_rows() -> None:
    seen = {**residual(1.0, 1.0), "data_set": "theirs", "independence": "seen"}
    unseen = {**seen, "independence": "unseen device"}
    found = frame([{**seen, "ecc": True}, unseen, unseen, {**seen, "observed": None}, residual(1.0, 1.0)])

    assert [len(TARGET._replace(rows=rows).concerned(found)) for rows in ("results", "ecc", "unseen")] == [1, 1, 2]


def test_targets_name_devices_of_the_database() -> None:
    known = set(load_database().entries)

    named = {device for target in TARGETS for device in target.devices if "*" not in device}
    assert named
    assert named <= known
