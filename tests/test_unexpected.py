"""Sweeps that are not as predicted are tested against hypotheses, and the outcome is shown."""

from collections.abc import Sequence
from functools import partial

import pytest

from gpureport.explain.trials import explanations
from gpureport.findings.verdicts import find
from gpureport.predict import ModelInput, limits_of, predict_sweep
from gpureport.records.curves import MAIN_POSITIONS, Basis, CurveFeature, Level, Observation, ObservedPoint
from gpureport.records.finding import Explanation
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.report.curves import curves
from gpureport.report.run.trust import fitting, remaining_error
from gpureport.report.text.words import feature_name
from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from tests.make_report import make_report
from tests.toy import TOY

COPY = next(w for w in all_workloads() if w.name == "memory/copy")
SWEEP = COPY.sweeps(TOY, limits_of(TOY, quick=True))[0]
SLOW = TOY.model_copy(update={"memory": TOY.memory.model_copy(update={"bandwidth_bytes_per_s": 4e11})})
OTHER = Level.unexplained(37 * 2**20)
IDLE = Level.unexplained(37 * 2**20, cause="idle work-items")


def _run(times_s: Sequence[float]) -> tuple[Measurement, Observation]:
    points = [COPY.point(parameters, SWEEP) for parameters in SWEEP.points]
    key = predict_sweep(TOY, COPY, SWEEP, "specification").key
    measured = tuple(
        MeasuredPoint(point=point, samples_s=(time_s,) * 7) for point, time_s in zip(points, times_s, strict=True)
    )
    observed = tuple(
        ObservedPoint(point=p, time_s=t, value=p.work / t, ci_low=p.work / t, ci_high=p.work / t, samples=7)
        for p, t in zip(points, times_s, strict=True)
    )
    shared = {"key": key, "metric": COPY.metric, "axis": SWEEP.axis}
    features = (
        CurveFeature(
            feature="rate", position="plateau", level="level 1", value=max(p.value for p in observed), unit="B/s"
        ),
    )
    return Measurement(**shared, points=measured), Observation(**shared, points=observed, features=features)


def _times(device: Device) -> list[float]:
    return [point.time_s for point in predict_sweep(device, COPY, SWEEP, "specification").points]


def _tested(calibrated: Device | None, times_s: Sequence[float]) -> tuple[Explanation, ...]:
    measurement, observation = _run(times_s)
    prediction = predict_sweep(TOY, COPY, SWEEP, "specification")
    findings = find(TOY, [prediction], [measurement], [observation])
    inputs: dict[Basis, ModelInput] = {"specification": ModelInput(TOY)}
    inputs |= {"calibrated": ModelInput(calibrated)} if calibrated else {}
    return explanations(COPY, (SWEEP,), inputs, findings, [observation])


def test_hypotheses_change_the_calibrated_prediction_where_it_is_off() -> None:
    (calibrated,) = _tested(SLOW, [5 * time for time in _times(TOY)])
    (specified,) = _tested(SLOW, _times(SLOW))

    assert (calibrated.basis, specified.basis) == ("calibrated", "specification")


def test_a_sweep_near_its_prediction_is_not_tested() -> None:
    assert _tested(None, _times(TOY)) == ()


def _explanation(sweep: str, outcome: str, error: float) -> Explanation:
    (key,) = {curve.key for curve in curves(make_report(families=1))[:1]}
    return Explanation(
        key=key.model_copy(update={"sweep": sweep}) if sweep else key,
        basis="calibrated",
        base_error=error,
        hypothesis="cold caches",
        error=error / 4,
        next_best="no overlap",
        next_error=error / 3,
        better_than_base=1,
        better_than_next=0.8,
        outcome=outcome,
    )


def test_lesser_positions_and_calibrated_values_make_no_curve_differ() -> None:
    measurement, observation = _run([5 * time for time in _times(TOY)])
    findings = find(TOY, [predict_sweep(TOY, COPY, SWEEP, "specification")], [measurement], [observation])
    lesser = [
        f.model_copy(update={"position": "knee" if f.position in MAIN_POSITIONS else f.position}) for f in findings
    ]
    calibrated = [f.model_copy(update={"basis": "calibrated"}) for f in findings]

    tested = partial(explanations, COPY, (SWEEP,), {"specification": ModelInput(TOY)})
    assert tested(findings, [observation])
    assert tested(lesser, [observation]) == tested(calibrated, [observation]) == ()


def test_a_hypothesis_that_removes_less_than_a_quarter_of_the_error_is_not_named() -> None:
    unexplained = _explanation("c", "unexplained", 0.3)
    worse = unexplained.model_copy(update={"error": 0.76 * unexplained.base_error})
    assert (fitting(worse), remaining_error(worse)) == ("none", "")
    nearer = unexplained.model_copy(update={"error": 0.74 * unexplained.base_error})
    assert remaining_error(nearer)
    assert fitting(nearer).startswith("none (closest")


@pytest.mark.parametrize(
    ("position", "level", "text"),
    [
        ("midpoint", OTHER, "unexplained transition at 37 MiB"),
        ("plateau", OTHER, "plateau before the unexplained transition at 37 MiB"),
        ("plateau", Level.unexplained(37 * 2**20, beyond=True), "plateau beyond 37 MiB"),
        ("plateau", IDLE, "plateau before the transition predicted at 37 MiB (idle work-items)"),
        ("midpoint", Level(name="L2"), "L2 cliff"),
    ],
)
def test_a_transition_without_a_known_cause_is_named_by_its_size(position: str, level: Level, text: str) -> None:
    kind = "rate" if position == "plateau" else "cliff"
    feature = CurveFeature(feature=kind, position=position, level=level, value=1.0, unit="B")

    assert feature_name(feature) == text
