"""Machines beside each other: who is faster, by how much of what was promised, and what is noise."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpureport.compare import compare, only, regressions
from gpureport.compare.differences import differences
from gpureport.compare.records import Contest, Ratio, Standing
from gpureport.compare.standings import BEYOND, contests
from gpureport.errors import InputError
from gpureport.records import Axis, MeasuredPoint, Measurement, Metric, PointKey, SweepKey
from gpureport.report.comparing_words import sentences
from gpureport.report.document import Publication, Report
from gpureport.results import open_report
from gpureport.spec.database import load_database
from tests.make_report import make_report

REPORT = make_report()
AXIS = Axis(quantity="working_set", label="working set")
RATE = Metric(kind="rate", unit="B", label="bandwidth")


def _slower(report: Report, factor: float) -> Report:
    """The same machine with every observed time *factor* times as long."""
    observations = tuple(
        o.model_copy(
            update={
                "points": tuple(
                    p.model_copy(
                        update={
                            "time_s": p.time_s * factor,
                            **{
                                name: getattr(p, name) * (1 / factor if o.metric.kind == "rate" else factor)
                                for name in ("value", "ci_low", "ci_high")
                            },
                        }
                    )
                    for p in o.points
                )
            }
        )
        for o in report.observations
    )
    return report.model_copy(update={"observations": observations})


def test_half_as_fast_is_half_of_the_baseline_and_half_of_its_promise() -> None:
    """In every workload and regime, for rates and for times alike; intervals hold the ratio."""
    found = contests({"fast": REPORT, "slow": _slower(REPORT, 2.0)}, "fast")

    assert found
    for contest in found:
        fast, slow = contest.standings
        assert fast.to_baseline is not None
        assert fast.to_baseline.value == 1.0
        assert slow.to_baseline is not None
        assert slow.to_baseline.value == pytest.approx(0.5)
        if slow.to_baseline.ci_low and slow.to_baseline.ci_high:
            assert slow.to_baseline.ci_low < 0.5 < slow.to_baseline.ci_high
        if fast.attained and slow.attained:
            assert slow.attained.value == pytest.approx(fast.attained.value / 2)
            assert slow.normalised is not None
            assert slow.normalised.value == pytest.approx(0.5)


def test_what_memory_serves_is_set_beside_what_memory_serves() -> None:
    """A regime is where the prediction says that memory is what serves the point."""
    levels = {
        (f"{p.key.workload}/{p.key.variant}", point.point.label): point.level
        for p in REPORT.predictions
        if p.kind == "specification" and p.axis.quantity in ("working_set", "work_items")
        for point in p.points
    }
    for contest in contests({"a": REPORT, "b": REPORT}, "a"):
        level = levels.get((contest.workload, contest.standings[0].point))
        if level is not None:
            assert (contest.regime == BEYOND) is (level == "DRAM")


def test_just_beyond_the_last_cache_speed_does_not_count() -> None:
    """There a part of the data may still be in it, whatever the prediction says: an RX 7900 XT is fastest so."""
    record = Path(__file__).parents[1] / "reports" / "published" / "rx_7900_xt_particles.yaml"
    report = open_report(record, load_database)
    last = max(cache.capacity_bytes for cache in report.device.caches)
    found = [c.standings[0] for c in contests({"a": report, "b": report}, "a") if c.regime == BEYOND]

    assert found
    sizes = {p.point.label: p.point.working_set_bytes for o in report.observations for p in o.points}
    for standing in found:
        assert sizes[standing.point] >= 2 * last
        assert standing.attained
        assert standing.attained.value < 1.3
    (far,) = (c for c in contests({"a": report, "b": report}, "a") if c.regime == BEYOND)
    (near,) = (c for c in contests({"a": report, "b": report}, "a") if c.regime != BEYOND)
    halved = [c.model_copy(update={"standings": _times_as_fast(c, f)}) for c, f in ((far, 0.5), (near, 2.0))]
    comparison = compare({"a": report, "b": report}).model_copy(update={"contests": tuple(halved)})
    assert next(sentences(comparison)).startswith(
        "b, beside a: particles 0.500 times as fast beyond the caches and 2.00 times as fast within the caches ("
    )


def _times_as_fast(contest: Contest, factor: float) -> tuple[Standing, ...]:
    return tuple(s.model_copy(update={"to_baseline": Ratio(value=factor)}) for s in contest.standings)


def test_a_machine_without_the_baseline_has_no_ratio() -> None:
    """What the baseline lacks is shown and compared with nothing."""
    lacking = REPORT.model_copy(update={"observations": REPORT.observations[:1]})
    found = contests({"all": REPORT, "few": lacking, "again": REPORT}, "few")

    beyond = [c for c in found if "few" not in {s.machine for s in c.standings}]
    assert beyond
    assert all(s.to_baseline is None and s.normalised is None for c in beyond for s in c.standings)


def test_a_prediction_takes_part_with_what_it_promises() -> None:
    """It attains nothing, and has no interval."""
    predicted = REPORT.model_copy(update={"observations": (), "measurements": (), "findings": (), "machine": None})
    comparison = compare({"here": REPORT, "there": predicted})

    assert [m.kind for m in comparison.machines] == ["measured", "predicted"]
    assert any(c.what == "origin" and c.severity == "caution" for c in comparison.conditions)
    there = [s for c in comparison.contests for s in c.standings if s.machine == "there"]
    assert there
    assert all(s.attained is None and s.normalised is None and s.ci_low is None for s in there)
    assert {m.machine for m in comparison.landmarks} == {"here", "there"}
    assert all(m.observed is None for m in comparison.landmarks if m.machine == "there")


def test_the_ratio_to_a_prediction_is_as_uncertain_as_both() -> None:
    """Logarithms of half widths add up as squares; what is attained is as uncertain as what was observed."""
    spread = tuple(
        p.model_copy(update={"points": tuple(q.model_copy(update={"spread": 1.3}) for q in p.points)})
        for p in REPORT.predictions
    )
    nothing = {"observations": (), "measurements": (), "findings": (), "machine": None}
    predicted = REPORT.model_copy(update={**nothing, "predictions": spread})
    for contest in contests({"here": REPORT, "there": predicted}, "here"):
        here, there = contest.standings
        assert (there.ci_low, there.ci_high) == pytest.approx((there.value / 1.3, there.value * 1.3))
        if here.ci_low and here.ci_high:
            assert there.to_baseline is not None
            assert there.to_baseline.ci_high is not None
            own = np.log(here.ci_high / here.ci_low) / 2
            half = np.log(there.to_baseline.ci_high / there.to_baseline.value)
            assert half == pytest.approx(np.hypot(own, np.log(1.3)))
            if here.attained and here.attained.ci_high:
                assert np.log(here.attained.ci_high / here.attained.value) == pytest.approx(own)


def test_equal_conditions_are_not_listed_and_others_are() -> None:
    """A quick run beside a full one is a caution."""
    quick = REPORT.model_copy(update={"settings": REPORT.settings.model_copy(update={"quick": True})})

    assert compare({"a": REPORT, "b": REPORT}).conditions == ()
    (effort,) = compare({"a": REPORT, "b": quick}).conditions
    assert (effort.what, effort.severity) == ("effort", "caution")
    assert effort.values == {"a": "full", "b": "quick"}
    assert [machine.cautions for machine in compare({"a": REPORT, "b": quick}).machines] == [(), ("effort",)]


def test_work_that_is_counted_otherwise_has_no_ratio() -> None:
    """The ratio would be one of words; what each keeps of its own promise remains."""
    name = f"{REPORT.observations[0].key.workload}/{REPORT.observations[0].key.variant}"
    info = REPORT.workloads[name].model_copy(update={"counting": "bytes read twice"})
    other = REPORT.model_copy(update={"workloads": {**REPORT.workloads, name: info}})
    again = REPORT.model_copy(
        update={"workloads": {**other.workloads, name: info.model_copy(update={"counting": "x"})}}
    )
    found = compare({"a": again, "b": other}).contests

    refused = [contest for contest in found if contest.refused]
    assert {contest.workload for contest in refused} == {name}
    assert refused[0].refused == "work is counted otherwise on a than on b"
    assert all(contest.standings[1].to_baseline is None for contest in refused)
    assert any(contest.standings[1].normalised for contest in refused)
    assert all(contest.standings[1].to_baseline for contest in found if contest not in refused)


def test_some_workloads_may_be_compared_alone() -> None:
    """As if no others had been run; without any in common there is nothing to compare."""
    names = [f"{o.key.workload}/{o.key.variant}" for o in REPORT.observations]
    chosen = only(REPORT, names[:1])

    assert {contest.workload for contest in compare({"a": chosen, "b": REPORT}).contests} == {names[0]}
    assert {f"{finding.workload}/{finding.variant}" for finding in chosen.findings} == {names[0]}
    with pytest.raises(InputError, match=r"nothing to compare: no two of a, b have a workload in common"):
        compare({"a": chosen, "b": only(REPORT, names[-1:])})


def test_what_is_published_has_the_date_of_its_publication() -> None:
    """Not that of today, on which it was read."""
    publication = Publication(title="t", citation="c", url="https://example.org", date="2020-09")
    published = REPORT.model_copy(update={"publication": publication})

    assert [m.created_at for m in compare({"a": published, "b": REPORT}).machines] == ["2020-09", REPORT.created_at]


def test_one_machine_is_no_comparison_and_the_baseline_must_be_there() -> None:
    """Each in a sentence."""
    with pytest.raises(InputError, match=r"needs two machines"):
        compare({"a": REPORT})
    with pytest.raises(InputError, match=r"there is no 'c' here; it is one of a, b"):
        compare({"a": REPORT, "b": REPORT}, baseline="c")


def _run(rng: np.random.Generator, factor: Callable[[int], float], sweeps: int = 25, between: float = 0.01) -> Report:
    """A run of so many sweeps of eight points; each sweep as a whole is off by *between*, each sample by 1 %."""
    measurements = []
    for number in range(sweeps):
        offset = factor(number) * np.exp(rng.normal(0, between))
        points = tuple(
            MeasuredPoint.model_construct(
                point=PointKey.model_construct(
                    label=f"{2**i} KiB",
                    parameters={"n": i},
                    work=2.0**i,
                    work_items=1,
                    working_set_bytes=2.0**i,
                    x=2.0**i,
                ),
                samples_s=tuple(1e-3 * 2**i * offset * np.exp(rng.normal(0, 0.01, 9))),
            )
            for i in range(8)
        )
        key = SweepKey(workload="memory", variant=f"kernel{number}", sweep="working_set")
        measurements.append(Measurement(key=key, metric=RATE, axis=AXIS, points=points))
    return REPORT.model_copy(update={"measurements": tuple(measurements)})


def test_what_differs_for_real_is_told_from_what_runs_differ_by() -> None:
    """Two of 25 sweeps lose a tenth."""
    rng = np.random.default_rng(1)
    reports = {"before": _run(rng, lambda _: 1.0), "after": _run(rng, lambda n: 1 / 0.9 if n in (7, 21) else 1.0)}
    found, between = differences(reports, "before")

    assert between == pytest.approx(0.014, rel=0.5)
    real = {d.sweep: d for d in found if d.real}
    assert set(real) == {"memory/kernel7/working_set", "memory/kernel21/working_set"}
    assert [d.speed.value for d in real.values()] == pytest.approx([0.9, 0.9], rel=0.05)
    assert {d.sweep for d in regressions(found, 5)} == set(real)
    assert regressions(found, 20) == ()


def test_equal_runs_rarely_differ_for_real() -> None:
    """False discoveries, and intervals that hold the truth, over sixty pairs of runs of 25 equal sweeps each."""
    rng = np.random.default_rng(2)
    wrong, held = 0, []
    for _ in range(60):
        found, _between = differences({"a": _run(rng, lambda _: 1.0), "b": _run(rng, lambda _: 1.0)}, "a")
        wrong += any(d.real for d in found)
        held += [(d.speed.ci_low or 0) <= 1 <= (d.speed.ci_high or 0) for d in found]

    assert wrong <= 6
    assert 0.91 <= np.mean(held) <= 0.98


def test_dispatches_that_do_more_work_are_not_slower_for_that() -> None:
    """Versions differ in how often a kernel repeats its work; what counts is time for work."""
    rng = np.random.default_rng(6)
    base = _run(rng, lambda _: 1.0)
    twice = tuple(
        m.model_copy(
            update={
                "points": tuple(
                    p.model_copy(
                        update={
                            "point": p.point.model_copy(update={"work": 2 * p.point.work}),
                            "samples_s": tuple(2 * s for s in p.samples_s),
                        }
                    )
                    for p in m.points
                )
            }
        )
        for m in base.measurements
    )
    found, _ = differences({"a": base, "b": base.model_copy(update={"measurements": twice})}, "a")

    assert [d.speed.value for d in found] == pytest.approx([1.0] * len(found))


def test_other_devices_are_not_tested_for_differences() -> None:
    """A run on another device differs anyway."""
    rng = np.random.default_rng(3)
    one = _run(rng, lambda _: 1.0)
    other = one.model_copy(update={"device": one.device.model_copy(update={"name": "Another"})})

    assert differences({"a": one, "b": other}, "a") == ((), None)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 5.0))
def test_a_whole_run_that_is_slower_shows_in_all_its_sweeps(factor: float) -> None:
    """The median of all sweeps says by how much, whatever else the test makes of it."""
    rng = np.random.default_rng(4)
    found, _ = differences({"a": _run(rng, lambda _: 1.0, 10), "b": _run(rng, lambda _: factor, 10)}, "a")

    assert np.median([d.speed.value for d in found]) == pytest.approx(1 / factor, rel=0.02)
