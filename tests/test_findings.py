"""Matching and verdicts, on small curves made by hand."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.findings.verdicts import find, overlap
from gpureport.inputs import shipped_table
from gpureport.matching import match_curves, match_features
from gpureport.observe import features_of_points
from gpureport.predict import limits_of, predict
from gpureport.records.curves import CurveFeature, Level, Observation
from gpureport.records.finding import Verdict
from gpureport.records.measurement import Measurement, Verification
from gpureport.records.prediction import Prediction
from gpureport.spec.values import Provenance
from gpureport.workloads import select
from gpureport.workloads.model import Workload
from tests.builders import altered, observed_like
from tests.toy import MIB, TOY, on_cpu, toy

RATE, READ, COPY, BALLOT = select(("instructions/rate", "memory/read", "memory/copy", "bit_transpose/ballot"))


@cache
def _on_toy(workload: Workload, sweep: str = "") -> Prediction:
    """Return the prediction of the first sweep, or of the one with this name."""
    return next(p for p in predict(TOY, workload, limits_of(TOY)) if sweep in ("", p.key.sweep))


def _cliff(level: Level | str, midpoint: float) -> CurveFeature:
    return CurveFeature(feature="cliff", position="midpoint", level=level, value=midpoint, unit="B")


def _taper(n90: float) -> CurveFeature:
    return CurveFeature(feature="taper", position="n90", level="device", value=n90, unit="work-items")


def _plateau(level: Level | str, value: float) -> CurveFeature:
    return CurveFeature(feature="rate", position="plateau", level=level, value=value, unit="B/s")


def test_cliffs_are_matched_in_order_of_size() -> None:
    predicted = [_cliff("L1", 1 * MIB), _cliff("L2", 60 * MIB)]
    observed = [_cliff("level 1", 50 * MIB), _cliff("level 2", 900 * MIB)]
    matches = match_features(predicted, observed)

    pairs = {
        (str(m.predicted.level) if m.predicted else None, m.observed.value if m.observed else None) for m in matches
    }
    assert pairs == {("L1", None), ("L2", 50 * MIB), (None, 900 * MIB)}


LEVELS = [_cliff("L1", MIB), _cliff("L2", 60 * MIB), _plateau("L1", 30), _plateau("L2", 9), _plateau("DRAM", 4)]


def test_a_cliff_within_its_predicted_interval_is_matched_however_far_it_is() -> None:
    """100 MiB are predicted: beyond a factor of 4, only an interval that contains 20 MiB makes them one cliff."""
    seen, alone = (_cliff("level 1", 20 * MIB),), _cliff("L3", 100 * MIB)
    wide = altered(alone, ci_low=18 * MIB, ci_high=200 * MIB)

    assert [len(match_features((cliff,), seen)) for cliff in (wide, alone)] == [1, 2]


@pytest.mark.parametrize(
    ("predicted", "observed", "rates"),
    [
        # Without the inner cliff, the first observed plateau is still the outer cache's.
        (LEVELS, [_cliff("level 1", 50 * MIB), _plateau("level 1", 8), _plateau("level 2", 4)], {"L2": 8, "DRAM": 4}),
        # The last plateau stays beyond the last cliff, however close it is to that of a level that ended before.
        *(
            (
                LEVELS,
                [_cliff("level 1", MIB), _plateau("level 1", 40), _plateau("level 2", rate)],
                {"L1": 40, level: rate},
            )
            for rate, level in ((28, "L2"), (8, "L2"), (5, "DRAM"))
        ),
        # If all cliffs are seen, the order of the plateaus decides.
        (
            [_cliff("L2", MIB), _plateau("L2", 30), _plateau("DRAM", 4)],
            [_cliff("level 1", 50 * MIB), _plateau("level 1", 40), _plateau("level 2", 25)],
            {"DRAM": 25},
        ),
    ],
)
def test_plateaus_are_matched_by_the_cliffs_beside_them(
    predicted: list[CurveFeature], observed: list[CurveFeature], rates: dict[str, float]
) -> None:
    matches = match_features(predicted, observed)
    found = {
        str(m.predicted.level): m.observed.value
        for m in matches
        if m.predicted and m.observed and m.predicted.feature == "rate"
    }

    assert found == rates


@pytest.mark.parametrize(("value", "level"), [(33, "L1"), (8, "L2"), (5, "DRAM"), (1, "DRAM")])
def test_a_lone_plateau_goes_with_the_nearest_one(value: float, level: str) -> None:
    for order in (LEVELS, LEVELS[::-1], [*LEVELS[2:], *LEVELS[:2]]):
        matches = match_features(order, [_plateau("level 1", value)])

        assert [str(m.predicted.level) for m in matches if m.predicted and m.observed] == [level]


def test_a_cliff_that_answers_nothing_is_named_by_its_midpoint() -> None:
    ends = {"onset": 300, "midpoint": 400, "end": 600}
    cliff = [altered(_cliff("level 1", value * MIB), position=name) for name, value in ends.items()]
    for observed in (cliff, cliff[::-1]):
        matches = match_features([_cliff("L1", MIB)], observed)
        assert {str(m.observed.level) for m in matches if m.observed} == {"unexplained transition at 400 MiB"}


@given(st.lists(st.floats(1, 1e9), max_size=4), st.lists(st.floats(1, 1e9), max_size=4))
def test_no_feature_is_lost_or_used_twice(ours: list[float], theirs: list[float]) -> None:
    predicted = [_cliff(f"C{i}", value) for i, value in enumerate(sorted(ours))]
    observed = [_cliff(f"level {i}", value) for i, value in enumerate(sorted(theirs))]
    matches = match_features(predicted, observed)

    assert [m.predicted for m in matches if m.predicted] == predicted
    assert sorted(m.observed.value for m in matches if m.observed) == pytest.approx(sorted(theirs))


def test_a_taper_is_read_off_at_the_sizes_that_were_measured() -> None:
    """At every third size both sides use the same points; cliffs and plateaus stay those of all sizes."""
    prediction = _on_toy(BALLOT, "matrices")
    few = prediction.points[::3]
    everything = observed_like(prediction)
    some = altered(everything, points=everything.points[::3])
    seen = {f.position: f.value for f in features_of_points(prediction.axis, prediction.metric, few)}
    moved = False
    for match in match_curves(prediction, some):
        assert match.predicted
        dense = next(
            f for f in prediction.features if (f.position, f.level) == (match.predicted.position, match.predicted.level)
        )
        if match.predicted.feature != "taper":
            assert match.predicted == dense
            continue
        assert match.predicted.value == pytest.approx(seen[match.predicted.position])
        assert dense.ci_high
        assert match.predicted.ci_high
        assert match.predicted.ci_high / match.predicted.value == pytest.approx(dense.ci_high / dense.value)
        moved = moved or match.predicted.value != pytest.approx(dense.value, rel=1e-3)

    assert moved
    assert match_curves(prediction, everything) == match_features(prediction.features, everything.features)


def test_every_row_of_verdicts_is_used() -> None:
    assert list(shipped_table("verdicts", dict[str, object])) == list(Verdict)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, Verdict.AGREES), (0.9, Verdict.AGREES), (0.4, Verdict.OFF), (1.3, Verdict.ERROR)]
)
def test_verdicts_of_rates(factor: float, verdict: Verdict) -> None:
    """Close: agrees. Slow: off. Above the listed bandwidth: an error, never a success."""
    prediction = _on_toy(READ)
    findings = find(TOY, [prediction], [], [observed_like(prediction, factor)])
    memory = [f for f in findings if (f.feature, str(f.level)) == ("rate", "DRAM")]

    assert [f.verdict for f in memory] == [verdict]
    assert memory[0].ratio == pytest.approx(factor)


@pytest.mark.parametrize(
    ("predicted", "observed", "verdict"),
    [
        ((1.0, None, None), (1.15, 1.14, 1.16), Verdict.AGREES),
        ((1.0, None, None), (1.3, 1.2, 1.4), Verdict.OFF),
        ((1.0, None, None), (1.3, 0.9, 1.4), Verdict.WITHIN),
        ((1.0, 0.8, 1.25), (1.3, 1.2, 1.4), Verdict.WITHIN),
        ((1.0, 0.8, 1.25), (1.3, 1.26, 1.4), Verdict.OFF),
        ((1.0, 0.3, 3.0), (0.4, 0.2, 0.8), Verdict.UNDETERMINED),
        ((1.0, 0.9, 1.1), (0.4, 0.2, 0.8), Verdict.OFF),
    ],
)
def test_what_is_off_is_beyond_both_intervals(
    predicted: tuple[float, float | None, float | None],
    observed: tuple[float, float | None, float | None],
    verdict: Verdict,
) -> None:
    """A factor of 1.2 agrees in any case; intervals that overlap determine nothing beyond a factor of two."""
    ours, theirs = (altered(_cliff("L2", each[0]), ci_low=each[1], ci_high=each[2]) for each in (predicted, observed))

    assert Verdict.of(theirs.value / ours.value, meet=overlap(ours, theirs)) is verdict


@pytest.mark.parametrize(
    ("kind", "origin", "factor", "error"),
    [
        # A GPU's derived bandwidth is a limit; a CPU may be twice as fast as its type of core usually is.
        ("gpu", "derived", 2.0, True),
        ("cpu", "derived", 2.0, False),
        # A little faster than assumed is off; at ten times the speed, a compiler has removed work.
        ("gpu", "assumed", 3.0, False),
        ("gpu", "assumed", 10.0, True),
        ("cpu", "spec", 10.0, True),
    ],
)
def test_a_speed_beyond_what_is_listed_is_an_error(kind: str, origin: str, factor: float, error: bool) -> None:
    """A processor's caches may be ten times as fast as assumed: that is off."""
    known = {"memory.bandwidth": Provenance.model_validate({"kind": origin, "source": "test"})}
    device = altered(on_cpu() if kind == "cpu" else TOY, provenance=known)
    prediction = predict(device, COPY, limits_of(device))[0]
    found = find(device, [prediction], [], [observed_like(prediction, factor)])
    verdicts = {str(f.level): f.verdict for f in found if f.feature == "rate"}

    assert (verdicts.pop("DRAM") is Verdict.ERROR) is error
    assert kind == "gpu" or Verdict.ERROR not in verdicts.values()


@pytest.mark.parametrize(
    ("rates", "factor", "verdict"),
    [
        ({}, 1.8, Verdict.ERROR),
        ({"add": 128.0}, 1.8, Verdict.WITHIN),  # a compiler may have used two pipes
        ({"add": 16.0}, 1.0, Verdict.AGREES),  # slower additions do not raise the ceiling
    ],
)
def test_integers_that_may_be_additions_may_run_on_two_pipes(
    rates: dict[str, float], factor: float, verdict: Verdict
) -> None:
    device = toy(rates_per_cycle={**TOY.architecture.rates_per_cycle, **rates})
    (prediction,) = predict(device, RATE, limits_of(device))
    found = find(device, [prediction], [], [observed_like(prediction, factor)])

    assert next(f.verdict for f in found if str(f.level) == "ternary") == verdict


def test_missing_sides_are_named() -> None:
    prediction = _on_toy(READ)
    observation = observed_like(prediction)
    strange = altered(observation, features=(_cliff("level 1", 400 * MIB),))
    verdicts = {(f.feature, str(f.level)): f.verdict for f in find(TOY, [prediction], [], [strange])}

    assert verdicts["cliff", "L2"] == Verdict.NOT_OBSERVED
    assert verdicts["cliff", "unexplained transition at 400 MiB"] == Verdict.NOT_PREDICTED


def test_tapers_of_different_levels_are_not_compared() -> None:
    """A curve that peaks in a cache has another first plateau than one that rises towards memory."""
    predicted = [_taper(800e3), _plateau("DRAM", 9e12)]
    peaked = [_cliff("level 1", 50 * MIB), _taper(100e3), _plateau("level 1", 6e12), _plateau("level 2", 5e12)]
    alike = [_taper(700e3), _plateau("level 1", 8e12)]

    as_fast = [*peaked[:2], _plateau("level 1", 8e12), _plateau("level 2", 5e12)]

    apart, together, of_one_rate = (
        next(m for m in match_features(predicted, found) if m.predicted and m.predicted.position == "n90")
        for found in (peaked, alike, as_fast)
    )
    assert [m.observed and m.observed.value for m in (apart, together, of_one_rate)] == [100e3, 700e3, 100e3]
    assert [m.comparable for m in (apart, together, of_one_rate)] == [False, True, True]


def test_sizes_beyond_a_plateau_have_no_taper_of_it() -> None:
    """Samples beyond the L2 only do not show the L2's saturation point; its prediction is unchanged."""
    prediction = _on_toy(COPY)
    everything = observed_like(prediction)
    beyond = tuple(p for p in everything.points if p.point.working_set_bytes > 4 * TOY.caches[-1].capacity_bytes)
    outer = tuple(f for f in everything.features if f.feature != "cliff" and str(f.level) in ("device", "level 2"))
    some = altered(everything, points=beyond, features=outer)
    whole, part = (
        {m.predicted.position: m for m in match_curves(prediction, seen) if m.predicted} for seen in (everything, some)
    )

    assert len(beyond) > 4
    assert whole["n90"].observed
    assert whole["n90"].comparable
    assert not part["n90"].comparable
    assert part["n90"].predicted == whole["n90"].predicted
    assert part["plateau"].observed


def test_wrong_results_are_an_error() -> None:
    prediction = _on_toy(READ)
    wrong = Measurement(
        key=prediction.key,
        metric=prediction.metric,
        axis=prediction.axis,
        verification=Verification(passed=False, cases=("7 x 5",), message="7 x 5: 3 of 35 elements differ"),
        skipped="wrong results",
    )
    (finding,) = find(TOY, [prediction], [wrong], [])

    assert (finding.verdict, finding.predicted, finding.observed) == (Verdict.ERROR, None, None)


def test_the_best_of_a_search_is_that_of_the_shapes_that_ran() -> None:
    prediction = _on_toy(COPY, "work_group")
    best = max(prediction.points, key=lambda point: point.value)
    others = tuple(p for p in prediction.points if p.point.label != best.point.label)
    raised = [altered(p, value=2 * p.value) if p is best else p for p in prediction.points]
    (peak,) = prediction.features
    high = altered(prediction, points=tuple(raised), features=(altered(peak, value=2 * best.value),))
    seen = observed_like(prediction)
    some = altered(seen, points=tuple(p for p in seen.points if p.point.label != best.point.label))
    (whole,), (part,) = match_curves(high, seen), match_curves(high, some)

    assert whole.predicted
    assert whole.predicted.value == 2 * best.value
    assert part.predicted
    assert part.predicted.value == pytest.approx(max(p.value for p in others))


def test_unexplained_transitions_that_the_measured_sizes_do_not_show_are_not_compared() -> None:
    """Cliffs of caches are: a sweep that ends before one reports that."""
    prediction = _on_toy(COPY)
    unexplained = Level.unexplained(1024 * MIB)
    step = [_cliff(unexplained, 1024 * MIB), _plateau(unexplained, 1e12)]
    stepped = altered(prediction, features=(*prediction.features, *step))
    seen = observed_like(prediction)
    few = altered(seen, points=seen.points[1:])

    def levels(observation: Observation) -> set[str]:
        return {str(match.predicted.level) for match in match_curves(stepped, observation) if match.predicted}

    assert str(unexplained) in levels(seen)
    assert levels(few) == {str(f.level) for f in prediction.features}


def test_a_taper_is_wholly_that_of_the_measured_points() -> None:
    """A knee that only all predicted points show is not compared; one that the measured points show is."""
    prediction = _on_toy(BALLOT, "matrices")
    seen = observed_like(prediction)
    late = tuple(p for p in seen.points if p.point.work_items >= 4 * seen.points[0].point.work_items)
    points = prediction.points[-len(late) :]
    shown = {f.position for f in features_of_points(prediction.axis, prediction.metric, points)}
    compared, whole = (
        {m.predicted.position for m in match_curves(prediction, found) if m.predicted}
        for found in (altered(seen, points=late), seen)
    )

    assert [p.point for p in points] == [p.point for p in late]
    assert {"knee", "n90"} <= whole
    assert compared & {"knee", "n90"} == shown & {"knee", "n90"}
