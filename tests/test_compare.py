"""Comparisons of machines: speeds, efficiencies, and differences beyond run-to-run variation."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from gpureport.compare import compare as compare_runs
from gpureport.compare import contests as contests_of_best
from gpureport.compare import excerpt, regressions
from gpureport.compare.conditions import facts
from gpureport.compare.differences import Outcome, differences
from gpureport.compare.records import BEYOND, Comparison, Difference, RatioEstimate, WorkloadComparison
from gpureport.compare.runs import BEST_SIZE, Run, samples_by_sweep
from gpureport.errors import InputError
from gpureport.records.curves import Observation, ObservedPoint, SweepKey
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import Report, load_report
from gpureport.results.opening import open_report
from gpureport.spec.database import load_database
from tests.builders import altered
from tests.make_report import make_machine, make_report

REPORT = make_report()


def compare(machines: Mapping[str, Report | Sequence[Report]], baseline: str | None = None) -> Comparison:
    runs = {name: [given] if isinstance(given, Report) else given for name, given in machines.items()}
    return compare_runs({name: [excerpt(run) for run in of_machine] for name, of_machine in runs.items()}, baseline)


def contests(machines: Mapping[str, Report], baseline: str) -> tuple[WorkloadComparison, ...]:
    return contests_of_best({name: excerpt(report).best for name, report in machines.items()}, baseline)


def _with_observed(report: Report, change: Callable[[Observation, ObservedPoint], ObservedPoint]) -> Report:
    observations = (altered(o, points=tuple(change(o, p) for p in o.points)) for o in report.observations)
    return altered(report, observations=tuple(observations))


def _slower(report: Report, factor: float) -> Report:
    """The same machine with every observed time *factor* times as long."""

    def slower(observation: Observation, point: ObservedPoint) -> ObservedPoint:
        scale = 1 / factor if observation.metric.kind == "rate" else factor
        values = {name: scale * getattr(point, name) for name in ("value", "ci_low", "ci_high")}
        return altered(point, time_s=point.time_s * factor, **values)

    return _with_observed(report, slower)


def test_half_the_speed_is_half_the_ratio_and_half_the_efficiency() -> None:
    """In every workload and regime, for rates and for times; intervals contain the ratio."""
    found = contests({"fast": REPORT, "slow": _slower(REPORT, 2.0)}, "fast")

    assert found
    for contest in found:
        fast, slow = contest.standings
        assert fast.to_baseline.value == 1.0
        assert slow.to_baseline.value == pytest.approx(0.5)
        if slow.to_baseline.ci_low and slow.to_baseline.ci_high:
            assert slow.to_baseline.ci_low < 0.5 < slow.to_baseline.ci_high
        if fast.efficiency and slow.efficiency:
            assert slow.efficiency.value == pytest.approx(fast.efficiency.value / 2)


def test_the_regime_depends_on_the_predicted_level() -> None:
    levels = {
        (p.key.workload, point.point.label): str(point.level)
        for p in REPORT.predictions
        if p.kind == "specification" and p.axis.quantity == "working_set"
        for point in p.points
    }
    for contest in contests({"a": REPORT, "b": REPORT}, "a"):
        level = levels.get((contest.workload, contest.standings[0].point))
        if level is not None:
            assert (contest.regime == BEYOND) is (level == "DRAM")


def test_launches_have_no_data_and_are_compared_at_their_best_size() -> None:
    """More work-groups use no more data: neither caches nor memory serve them."""
    report = load_report(Path(__file__).parents[1] / "reports" / "pocl-xeon-2-cores")
    (launches,) = (c for c in contests({"a": report, "b": report}, "a") if c.workload == "launch/groups")
    (observed,) = (o for o in report.observations if o.key.workload == "launch/groups")

    assert launches.regime == BEST_SIZE
    assert launches.standings[0].value == max(point.value for point in observed.points)


def test_work_that_repeats_on_loaded_data_is_not_that_of_memory() -> None:
    """A transposition reads and writes 256 bytes: with data in memory, it cannot be faster than memory."""
    report = load_report(Path(__file__).parents[1] / "reports" / "nvidia-h200")
    found = [c for c in contests({"a": report, "b": report}, "a") if c.family == "bit_transpose"]
    beyond = [c.standings[0].value for c in found if c.regime == BEYOND and c.variant == "vector"]

    assert beyond
    assert 256 * max(beyond) < report.device.memory.bandwidth_bytes_per_s
    assert {c.variant for c in found if c.regime == BEST_SIZE} > {"vector"}


def test_buyers_see_the_last_cache_and_the_host_link() -> None:
    report = load_report(Path(__file__).parents[1] / "reports" / "nvidia-h200")
    figures = {figure.name: figure for figure in excerpt(report).figures}

    assert figures["last cache"].value == 60 * 2**20
    assert figures["host link"].value == pytest.approx(55.5e9, rel=0.01)  # to the device; pinned
    assert figures["host link"].basis == "measured"


def test_points_just_beyond_the_last_cache_are_not_the_best_points() -> None:
    """A part of their data may still be in the cache, whatever is predicted: an RX 7900 XT is fastest there."""
    record = Path(__file__).parents[1] / "reports" / "published" / "rx_7900_xt_particles.yaml"
    report = open_report(record, load_database())
    last = max(cache.capacity_bytes for cache in report.device.caches)
    found = [c.standings[0] for c in contests({"a": report, "b": report}, "a") if c.regime == BEYOND]

    assert found
    sizes = {p.point.label: p.point.working_set_bytes for o in report.observations for p in o.points}
    for standing in found:
        assert sizes[standing.point] >= 2 * last
        assert standing.efficiency
        assert standing.efficiency.value < 1.3


def test_rates_of_a_part_of_the_device_are_not_compared() -> None:
    """A sweep with fewer work-groups than compute units says nothing about another device."""
    name = REPORT.observations[0].key.workload

    def compared(groups: int) -> set[str]:
        def changed(observation: Observation, point: ObservedPoint) -> ObservedPoint:
            if observation.key.workload != name or observation.metric.kind != "rate":
                return point
            return altered(point, point=altered(point.point, parameters={**point.point.parameters, "groups": groups}))

        report = _with_observed(REPORT, changed)
        return {c.workload for c in contests({"a": report, "b": report}, "b")}

    assert compared(REPORT.device.compute_units) - compared(1) == {name}


def test_workloads_that_the_baseline_lacks_have_no_ratio() -> None:
    lacking = altered(REPORT, observations=REPORT.observations[:1])
    found = contests({"all": REPORT, "few": lacking, "again": REPORT}, "few")

    beyond = [c for c in found if "few" not in {s.machine for s in c.standings}]
    assert beyond
    assert all(s.to_baseline is None for c in beyond for s in c.standings)


def test_a_predicted_machine_has_neither_efficiency_nor_interval() -> None:
    predicted = altered(REPORT, observations=(), measurements=(), findings=(), machine=None)
    comparison = compare({"here": REPORT, "there": predicted})

    assert [m.kind for m in comparison.machines] == ["measured", "predicted"]
    assert any(c.what == "origin" and c.severity == "caution" for c in comparison.conditions)
    there = [s for c in comparison.contests for s in c.standings if s.machine == "there"]
    assert there
    assert all(s.efficiency is None and s.ci_low is None for s in there)
    assert {m.machine for m in comparison.landmarks} == {"here", "there"}
    assert all(m.observed is None for m in comparison.landmarks if m.machine == "there")


def test_a_value_without_noise_has_no_interval() -> None:
    """An interval of no width says nothing about noise."""
    exact = _with_observed(REPORT, lambda _, point: altered(point, ci_low=point.value, ci_high=point.value))
    standings = [s for c in contests({"here": exact, "there": exact}, "here") for s in c.standings]

    assert standings
    assert all(s.ci_low is None and s.ci_high is None for s in standings)


def test_the_ratio_to_a_prediction_has_the_uncertainty_of_both() -> None:
    """Half widths of logarithms add in quadrature; efficiency has the uncertainty of the observation alone."""
    spread = tuple(altered(p, points=tuple(altered(q, spread=1.3) for q in p.points)) for p in REPORT.predictions)
    nothing = {"observations": (), "measurements": (), "findings": (), "machine": None}
    predicted = altered(REPORT, **nothing, predictions=spread)
    for contest in contests({"here": REPORT, "there": predicted}, "here"):
        here, there = contest.standings
        assert (there.ci_low, there.ci_high) == pytest.approx((there.value / 1.3, there.value * 1.3))
        if here.ci_low and here.ci_high:
            own = np.log(here.ci_high / here.ci_low) / 2
            half = np.log(there.to_baseline.ci_high / there.to_baseline.value)
            assert half == pytest.approx(np.hypot(own, np.log(1.3)))
            if here.efficiency and here.efficiency.ci_high:
                assert np.log(here.efficiency.ci_high / here.efficiency.value) == pytest.approx(own)


def test_equal_conditions_are_not_listed_and_others_are() -> None:
    quick = altered(REPORT, settings=altered(REPORT.settings, quick=True))

    assert compare({"a": REPORT, "b": REPORT}).conditions == ()
    (effort,) = compare({"a": REPORT, "b": quick}).conditions
    assert (effort.what, effort.severity) == ("effort", "caution")
    assert effort.values == {"a": "full", "b": "quick"}
    assert [machine.cautions for machine in compare({"a": REPORT, "b": quick}).machines] == [(), ("effort",)]


def test_reports_contain_all_conditions() -> None:
    machine = altered(make_machine(), vendor_facts={"MIG": "1g.12gb", "power limit": "700 W", "ECC": "on"})
    running = Conditions(
        workload="memory/read",
        readings=(Reading(at_s=0, measuring=True, clock_hz=1e9, throttle_reasons=(), load_average=12.3),),
    )
    known = facts(altered(REPORT, machine=machine, conditions=(running,)))

    names = "origin, state, effort, MIG, version, platform, driver, clock, power limit, ECC"
    names += ", load average, system, processor"
    assert ", ".join(known) == names
    assert known["load average"] == "12"


def test_work_that_is_counted_differently_has_no_ratio() -> None:
    """The ratio would compare different units; each machine keeps its efficiency."""
    name = REPORT.observations[0].key.workload
    info = altered(REPORT.workloads[name], counting="bytes read twice")
    other = altered(REPORT, workloads={**REPORT.workloads, name: info})
    again = altered(REPORT, workloads={**other.workloads, name: altered(info, counting="x")})
    found = compare({"a": again, "b": other}).contests

    refused = [contest for contest in found if contest.refused]
    assert {contest.workload for contest in refused} == {name}
    assert refused[0].refused.startswith("a and b ")
    assert all(contest.standings[1].to_baseline is None for contest in refused)
    assert any(contest.standings[1].efficiency for contest in refused)
    assert all(contest.standings[1].to_baseline for contest in found if contest not in refused)


def test_a_comparison_can_be_limited_to_some_workloads() -> None:
    """As if no others had been run; without any in common it is refused."""
    names = [o.key.workload for o in REPORT.observations]
    chosen = excerpt(REPORT, names[:1])

    assert {contest.workload for contest in compare_runs({"a": chosen, "b": excerpt(REPORT)}).contests} == {names[0]}
    assert {landmark.key.workload for landmark in chosen.landmarks} == {names[0]}
    assert {name.rpartition("/")[0] for name in chosen.samples} == {names[0]}
    with pytest.raises(InputError, match=r"nothing to compare: no two of a, b have a workload in common"):
        compare_runs({"a": chosen, "b": excerpt(REPORT, names[-1:])})


def test_runs_of_one_machine_are_of_one_device() -> None:
    """Their conditions are merged, standings come from the first, and runs of two devices are refused."""
    quick = altered(REPORT, settings=altered(REPORT.settings, quick=True))
    comparison = compare({"a": (_slower(REPORT, 2.0), quick), "b": REPORT}, baseline="b")

    assert [machine.runs for machine in comparison.machines] == [2, 1]
    assert comparison.machines[0].facts["effort"] == "full, quick"
    assert comparison.contests == compare({"a": _slower(REPORT, 2.0), "b": REPORT}, baseline="b").contests
    other = altered(REPORT, device=altered(REPORT.device, name="Another"))
    with pytest.raises(InputError, match=r"a: its reports are of two devices, NVIDIA H200 SXM \(132 .*and Another"):
        compare({"a": (REPORT, other), "b": REPORT})


Spread = Callable[[int], float]
SWEEPS, POINTS, SAMPLES = 33, 8, 9
TEMPLATE = replace(excerpt(REPORT), samples={})


def _usual(_: int) -> float:
    return 0.01


def _h200(number: int) -> float:
    """Variation between runs as on an H200: most sweeps hardly vary, some do, and one does by 3.3 %."""
    return 0.033 if number == 0 else (0.01 if number < 8 else 0.0005)


def _equal(_: int) -> float:
    return 1.0


def _name(number: int) -> str:
    return f"memory/kernel{number}/working_set"


def _run(rng: np.random.Generator, factor: Spread = _equal, between: Spread = _usual, sweeps: int = SWEEPS) -> Run:
    """A run of *sweeps* of eight points; each sweep as a whole deviates by *between*, each sample by 1 %."""
    samples = {}
    for number in range(sweeps):
        offset = factor(number) * np.exp(rng.normal(0, between(number)))
        times_s = 1e-3 * offset * np.exp(rng.normal(0, 0.01, (POINTS, SAMPLES)))
        samples[_name(number)] = {f"{2**i} KiB": times for i, times in enumerate(times_s)}
    return replace(TEMPLATE, samples=samples)


def _runs(
    rng: np.random.Generator, runs: int, factor: Spread = _equal, between: Spread = _usual, sweeps: int = SWEEPS
) -> tuple[Run, ...]:
    return tuple(_run(rng, factor, between, sweeps) for _ in range(runs))


def _with_points(run: Run, chosen: slice, *names: str) -> Run:
    """The same run with some of the points of these sweeps, or of all, only."""
    fewer = {name: dict([*run.samples[name].items()][chosen]) for name in names or run.samples}
    return replace(run, samples={**run.samples, **fewer})


def _significant(base: Sequence[Run], machine: Sequence[Run]) -> dict[str, float]:
    tested = differences({"base": base, "machine": machine}, "base")
    return {d.sweep: d.speed.value for d in (*tested.overall, *tested.differences) if d.significant}


def test_runs_recorded_on_one_h200_do_not_differ() -> None:
    """Four quick runs: median times for a unit of work at each point. Two runs each do not differ, either.

    5 % slower runs all differ.
    """
    kept = json.loads((Path(__file__).parent / "data" / "h200_four_quick_runs.json").read_text())

    def recorded(number: int, factor: float = 1.0) -> Run:
        times = {name: factor * np.array(runs[number]) for name, runs in kept.items()}
        samples = {name: {str(i): t[i : i + 1] for i in range(len(t))} for name, t in times.items()}
        return replace(TEMPLATE, samples=samples)

    runs = [recorded(number) for number in range(4)]
    assert [_significant([one], [other]) for one, other in combinations(runs, 2)] == [{}] * 6
    assert _significant(runs[:2], runs[2:]) == {}
    for one, other in permutations(range(4), 2):
        found = _significant([runs[one]], [recorded(other, 1.05)])
        assert found["all sweeps"] == pytest.approx(1 / 1.05, rel=0.01)
        assert len(found) > SWEEPS / 2


@pytest.mark.parametrize(
    ("speed", "significant", "listed"),
    [(0.949, True, True), (0.95, True, False), (1.2, True, False), (0.5, False, False)],
)
def test_a_regression_is_significant_and_exceeds_the_limit(speed: float, significant: bool, listed: bool) -> None:
    difference = Difference(
        machine="a",
        sweep="memory/copy/size",
        points=9,
        speed=RatioEstimate(value=speed),
        p_value=0.0,
        significant=significant,
    )

    assert regressions([difference], 5) == ((difference,) if listed else ())


@pytest.mark.parametrize("runs", [1, 2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("between", [_usual, _h200])
def test_at_most_one_pair_of_equal_machines_in_twenty_differs(runs: int, between: Spread) -> None:
    """In any of 33 sweeps, over all 45 pairs of ten machines; 95 % intervals contain the truth as often."""
    rng = np.random.default_rng(2)
    wrong, contained = 0, []
    for a, b in combinations([_runs(rng, runs, between=between) for _ in range(10)], 2):
        tested = differences({"a": a, "b": b}, "a")
        found = (*tested.overall, *tested.differences)
        wrong += any(d.significant for d in found)
        contained += [(d.speed.ci_low or 0) <= 1 <= (d.speed.ci_high or 0) for d in found]

    assert wrong <= 2
    assert np.mean(contained) >= 0.94


@pytest.mark.parametrize("between", [_usual, _h200])
def test_a_device_that_is_5_percent_slower_is_detected(between: Spread) -> None:
    rng = np.random.default_rng(3)
    found = [_significant(_runs(rng, 1, between=between), _runs(rng, 1, lambda _: 1.05, between)) for _ in range(40)]

    assert sum(any(ratio < 1 for ratio in pair.values()) for pair in found) >= 38


def test_several_runs_show_what_one_run_cannot() -> None:
    """Four runs of each machine detect one sweep that is 5 % slower; single runs hardly ever do."""
    rng = np.random.default_rng(4)

    def one(number: int) -> float:
        return 1.05 if number == 20 else 1.0

    def share(runs: int) -> float:
        found = [_significant(_runs(rng, runs, between=_h200), _runs(rng, runs, one, _h200)) for _ in range(20)]
        return sum(_name(20) in pair for pair in found) / len(found)

    assert share(1) <= 0.2
    assert share(4) >= 0.95


def test_a_sweep_that_varies_more_than_others_needs_a_larger_difference() -> None:
    """7 % is significant in a sweep whose runs agree, and not in one whose runs vary by 5 %."""
    rng = np.random.default_rng(5)

    def between(number: int) -> float:
        return 0.05 if number == 0 else 0.002

    def slower(number: int) -> float:
        return 1.07 if number < 2 else 1.0

    found = [_significant(_runs(rng, 4, between=between), _runs(rng, 4, slower, between)) for _ in range(20)]
    shares = [np.mean([_name(number) in pair for pair in found]) for number in (0, 1)]
    assert shares[0] <= 0.2
    assert shares[1] >= 0.95


@pytest.mark.parametrize(("spread", "expected"), [(0.0, 0.01), (0.01, 0.011), (0.03, 0.03)])
@pytest.mark.parametrize("runs", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_the_typical_variation_between_runs_is_found(runs: int, spread: float, expected: float) -> None:
    """For one run, not for a difference of two; at least 1 %."""
    rng = np.random.default_rng(6)
    found = [
        differences({name: _runs(rng, runs, between=lambda _: spread) for name in "ab"}, "a").between_runs
        for _ in range(10)
    ]

    assert np.median(found) == pytest.approx(expected, rel=0.25)


def test_differences_below_the_minimum_effect_are_not_significant() -> None:
    rng = np.random.default_rng(7)

    def quiet(_: int) -> float:
        return 1e-5

    runs = {"a": _runs(rng, 5, between=quiet), "b": _runs(rng, 5, lambda _: 1.025, quiet)}
    assert not _significant(*runs.values())
    found = differences(runs, "a", minimum_effect=0.01).differences
    assert all(d.significant for d in found)
    comparison = compare_runs(runs, minimum_effect=0.01)
    assert comparison.minimum_effect == 0.01
    assert comparison.differences == found


def test_a_machine_that_is_slower_in_all_sweeps_makes_no_other_machine_differ() -> None:
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(40):
        runs = {"a": _runs(rng, 1), "slow": _runs(rng, 1, lambda _: 1.5), "b": _runs(rng, 1)}
        tested = differences(runs, "a")
        alarms += any(d.significant for d in (*tested.overall, *tested.differences) if d.machine == "b")
        assert all(d.significant for d in tested.differences if d.machine == "slow")
        assert [(d.machine, d.significant) for d in tested.overall] == [("slow", True), ("b", False)]

    assert alarms <= 2


def test_a_run_may_lack_a_sweep_and_points() -> None:
    rng = np.random.default_rng(9)
    full, lacking = _runs(rng, 2)
    lacking = replace(lacking, samples={name: lacking.samples[name] for name in [*lacking.samples][1:]})
    short = _with_points(lacking, slice(0, 5), _name(1))

    points = {d.sweep: d.points for d in differences({"a": (full, short), "b": _runs(rng, 2)}, "a").differences}
    assert len(points) == SWEEPS
    assert [points[_name(number)] for number in (0, 1, 2)] == [8, 5, 8]
    assert len(differences({"a": (lacking,), "b": (full,)}, "a").differences) == SWEEPS - 1


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [
        (slice(0, 5), slice(2, 8), True),
        (slice(0, 5), slice(3, 8), False),
        (slice(0, 2), slice(0, 8), True),
        (slice(0, 2), slice(1, 8), False),
        (slice(0, 1), slice(0, 8), True),
        (slice(0, 1), slice(1, 8), False),
    ],
)
def test_runs_must_share_three_points_of_a_sweep_or_all(one: slice, other: slice, compared: bool) -> None:
    """Two of five points may be the two that vary most; of a sweep of two points both are enough."""
    first, second = _runs(np.random.default_rng(10), 2)
    found = differences({"a": [_with_points(first, one)], "b": [_with_points(second, other)]}, "a").differences

    assert len(found) == (SWEEPS if compared else 0)


def test_sweeps_of_two_points_are_judged_by_the_noise_of_their_samples() -> None:
    """The scatter of two points does not show how precisely their median is known."""
    rng = np.random.default_rng(11)
    base, machine = (_with_points(_run(rng, factor), slice(0, 2)) for factor in (_equal, lambda _: 1.3))
    found = differences({"a": [base], "b": [machine]}, "a").differences

    assert all(d.significant for d in found)
    assert all(d.speed.ci_high and d.speed.ci_high < 1 for d in found)


def test_single_runs_of_few_sweeps_have_the_assumed_variation() -> None:
    """1 %, since seven sweeps are too few to estimate it; a difference of 20 % is significant in each."""
    rng = np.random.default_rng(12)
    runs = {"a": _runs(rng, 1, sweeps=7), "b": _runs(rng, 1, lambda _: 1.2, sweeps=7)}
    tested = differences(runs, "a")

    assert tested.between_runs == 0.01
    assert [d.significant for d in tested.differences] == [True] * 7


def test_samples_are_times_of_a_unit_of_work() -> None:
    """Versions repeat a kernel's work different numbers of times. Points and sweeps without samples are left out."""
    measured = REPORT.measurements[0]
    timed, skipped = measured.points[0], altered(measured.points[1], samples_s=())
    twice = altered(timed.point, work=2 * timed.point.work)
    longer = altered(timed, point=twice, samples_s=tuple(2 * s for s in timed.samples_s))
    nothing = SweepKey(family="memory", variant="copy", sweep="nothing")
    found = [
        samples_by_sweep(
            [
                altered(measured, points=(point, skipped)),
                altered(measured, key=nothing, points=(skipped,)),
            ]
        )
        for point in (timed, longer)
    ]

    for samples in found:
        (sweep,) = samples.values()
        assert list(sweep) == [timed.point.label]
        assert sweep[timed.point.label] == pytest.approx(np.array(timed.samples_s) / timed.point.work)


def test_other_devices_are_not_tested_for_differences() -> None:
    """Runs on different devices are expected to differ, also on processors of one name with more cores."""
    one = _run(np.random.default_rng(3))
    named = altered(one.machine, device="Another")
    for other in (named, altered(one.machine, compute_units=2 * one.machine.compute_units)):
        assert differences({"a": [one], "b": [replace(one, machine=other)]}, "a") == Outcome((), (), None)
