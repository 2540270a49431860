"""The documents of comparisons: of two machines to forty, with names that nobody would give one."""

from functools import cache
from math import log
from typing import Any

import pytest

from gpureport.compare.records import (
    BEYOND,
    WITHIN,
    Comparison,
    Condition,
    Difference,
    Landmark,
    Machine,
    MachineResult,
    RatioEstimate,
    WorkloadComparison,
)
from gpureport.compare.summary import families, mean_speed, means, overall, ranked, works
from gpureport.records.curves import Level, Metric, SweepKey
from gpureport.report.comparison.figures import speed_chart, speed_pictures
from gpureport.report.comparison.sentences import sentences, verdict_of
from gpureport.report.comparison.tables import (
    kernels_table,
    landmarks_table,
    machine_table,
    short_names,
    standings_tables,
    works_table,
)
from gpureport.report.pdf import layout
from gpureport.units import UNKNOWN
from tests.builders import altered
from tests.drawn_texts import faults
from tests.kept import filled
from tests.page_boxes import strays

RATE = Metric(kind="rate", unit="cells", label="rate")
WORKLOADS = (
    *(f"game_of_life/interleaved_steps{number}" for number in range(1, 6)),
    "particles/structs16",
    "memory/read",
    "memory/copy",
)


def _name(number: int) -> str:
    return (f"machine {number}", f"{number} {'WWWW' * 20}", f"<b>{number}</b> \u202e\x1b[31m &amp; 名前")[number % 3]


@cache
def made(machines: int) -> Comparison:
    """Compare so many machines: each a tenth slower than the one before; the second has the baseline's device."""
    names = [_name(number) for number in range(machines)]
    entrants = tuple(
        Machine(
            name=name,
            source="somewhere",
            device=f"Device {'of a very long name ' * number}",
            entry=None,
            kind=("measured", "published", "predicted")[number % 3],
            compute_units=132,
            clock_hz=1.98e9,
            created_at="2026-11-21T09:30:00+00:00" if number % 3 != 1 else "",
            cautions=("effort",) if number == 1 else (),
        )
        for number, name in enumerate(names)
    )
    values = {name: ("full", "quick")[number % 2] for number, name in enumerate(names)}
    condition = Condition(what="effort", values=values, effect="quick runs measure less.", severity="caution")
    return Comparison(
        tool_version="0",
        created_at="2026-11-21T10:00:00+00:00",
        baseline=names[0],
        machines=entrants,
        conditions=(condition,),
        contests=tuple(_contest(workload, regime, names) for workload in WORKLOADS for regime in (WITHIN, BEYOND)),
        landmarks=tuple(_landmark(workload, name, i) for workload in WORKLOADS for i, name in enumerate(names)),
        differences=tuple(_difference(names[1], number) for number in range(50)),
        between_runs=0.01,
    )


def _contest(workload: str, regime: str, names: list[str]) -> WorkloadComparison:
    standings = []
    for number, name in enumerate(names):
        value = 0.9**number
        ratio = RatioEstimate(value=value, ci_low=value / 1.01, ci_high=value * 1.01)
        share = RatioEstimate(value=0.93) if number % 3 != 2 else None
        standings.append(
            MachineResult(
                machine=name,
                point="here",
                value=1e12 * value,
                ci_low=1e12 * value / 1.004,
                ci_high=1e12 * value * 1.004,
                predicted_peak=1e12 * value / 0.93,
                efficiency=share,
                to_baseline=ratio,
            )
        )
    family, variant = workload.split("/")
    return WorkloadComparison(family=family, variant=variant, regime=regime, metric=RATE, standings=tuple(standings))


def _landmark(workload: str, name: str, number: int) -> Landmark:
    size, (family, variant) = 2.0 ** (18 + number % 9), workload.split("/")
    feature: dict[str, Any] = {"feature": "cliff", "level": "L2", "unit": "B"}
    if workload.endswith("2"):
        feature = {"feature": "taper", "level": "device", "unit": "work-items"}
    return Landmark(
        machine=name,
        key=SweepKey(family=family, variant=variant, sweep="size"),
        predicted=size,
        observed=None if number % 3 == 2 else 1.1 * size,
        ci_low=size,
        ci_high=1.3 * size,
        **feature,
    )


def _difference(machine: str, number: int) -> Difference:
    speed = (0.5, 0.9)[number % 2] if number < 2 else 1 + 0.001 * (number % 7 - 3)
    ratio = RatioEstimate(value=speed, ci_low=0.97 * speed, ci_high=1.03 * speed)
    return Difference(
        machine=machine,
        sweep=f"memory/read/{number}",
        points=9,
        speed=ratio,
        p_value=1e-9 if number < 2 else 0.5,
        significant=number < 2,
    )


@pytest.mark.usefixtures("pango")
@pytest.mark.parametrize("machines", [3, 40])
def test_nothing_leaves_its_page(machines: int) -> None:
    html = filled("comparison.html.j2", {"comparison": made(machines), "printed": True, "file_name": "comparison"})

    assert "<b>" not in html
    assert list(strays(layout(html))) == []


def test_tables_of_many_machines_are_shaded_by_their_ratios() -> None:
    first, *others, last = machine_table(made(40)).rows
    assert (first[0], len(others)) == ("machine 0 (baseline): Device", 38)
    assert first[2:] == ("1.00",) * 4
    assert last[2:] == ("0.0164",) * 4
    overall = f"machine 0 is the fastest (1.00), {made(40).names[39]} the slowest (0.0164)."
    assert f"Overall, relative to machine 0: {overall}" in sentences(made(40))
    assert len(kernels_table(made(40), "speed").rows) == len(WORKLOADS) * 2
    page = filled("comparison.html.j2", {"comparison": made(40)})
    assert page.count('style="background: rgba(213, 94, 0, 0.60)"') > 10


def _fleet(machines: int, slow: int) -> Comparison:
    """So many machines with the baseline's device, some of which are slower in two sweeps of three."""
    comparison = made(machines + 1)
    names = [machine.name for machine in comparison.machines][1:]
    found = [
        _difference(name, sweep).model_copy(update={"significant": number < slow and sweep < 2})
        for number, name in enumerate(names)
        for sweep in range(3)
    ]
    return comparison.model_copy(update={"differences": tuple(found)})


@pytest.mark.parametrize(("machines", "slow"), [(5, 0), (20, 1), (20, 8)])
def test_of_many_machines_only_those_that_differ_are_shown(machines: int, slow: int) -> None:
    comparison = _fleet(machines, slow)
    same = [sentence for sentence in sentences(comparison) if sentence.startswith("On the same device")]

    assert len(same) == (1 + min(slow, 3) if machines > 5 else machines)
    if machines > 5:
        assert same[0] == sentences(comparison)[0]
        assert f"{slow} of {machines} machines differ" in same[0]


def test_the_baseline_is_the_outlier_if_most_differ() -> None:
    assert ["is the outlier" in sentences(_fleet(20, slow))[0] for slow in (8, 10, 11)] == [False, False, True]


def test_a_machine_that_differs_only_as_a_whole_has_one_sentence() -> None:
    whole = _difference(_name(1), 0)
    swept = tuple(_difference(_name(1), number) for number in range(2, 9))
    comparison = made(2).model_copy(update={"overall": (whole,), "differences": swept})

    (same,) = (sentence for sentence in sentences(comparison) if "on the same device" in sentence.lower())
    assert same.endswith("(median of its sweeps), though no single sweep differs significantly.")


def test_sweeps_of_a_workload_have_rows_of_their_own() -> None:
    first, second = (_landmark("memory/read", name, 1) for name in made(2).names)
    items = {"key": first.key.model_copy(update={"sweep": "items"}), "observed": None}
    marks = (first, second, *(mark.model_copy(update=items) for mark in (first, second)))
    rows = landmarks_table(made(2).model_copy(update={"landmarks": marks})).rows

    assert [row[0] for row in rows] == ["memory/read/size", "memory/read/items"]
    assert ["not observed" in cell for row in rows for cell in row[2:]] == [False, False, True, True]


@pytest.mark.parametrize(("kind", "best"), [("time", ("a", "3.00", "1.00")), ("rate", ("b", "2.00", "4.00"))])
def test_values_of_a_microbenchmark_are_of_one_case(kind: str, best: tuple[str, ...]) -> None:
    """Each machine is best in another case; the row names the one that is best for both together."""
    contest = made(2).contests[0]

    def case(name: str, *values: float) -> WorkloadComparison:
        own = tuple(altered(each, value=value) for each, value in zip(contest.standings, values, strict=True))
        metric = altered(contest.metric, kind=kind)
        return altered(contest, family="launch", regime=name, metric=metric, standings=own)

    cases = (case("a", 3.0, 1.0), case("b", 2.0, 4.0))
    (row,) = works_table(altered(made(2), contests=cases)).rows
    assert (row[1], *(text.split()[0] for text in row[3:5])) == best


def test_transitions_that_no_cache_causes_share_rows() -> None:
    """Whether one is unexplained or has a predicted cause, and at different sizes."""
    first, second = (_landmark("memory/read", name, 1) for name in made(2).names)
    levels = (Level.unexplained(55.9e6), Level.unexplained(17.3e6, cause="idle work-items"), Level.unexplained(99e6))
    found = zip((first, second, second), levels, strict=True)
    marks = tuple(mark.model_copy(update={"feature": "cliff", "level": level}) for mark, level in found)
    rows = landmarks_table(made(2).model_copy(update={"landmarks": marks})).rows

    assert [row[1] for row in rows] == ["other transition"] * 2
    assert [[cell == UNKNOWN for cell in row[2:]] for row in rows] == [[False, False], [True, False]]
    turned = (marks[0], marks[2].model_copy(update={"observed": marks[1].observed * 2}), marks[1])
    assert landmarks_table(made(2).model_copy(update={"landmarks": turned})).rows[0] == rows[0]


def test_numbers_of_kernels_are_those_of_the_ratios() -> None:
    comparison = made(3)
    work = works(comparison)[0]
    left = work.contests[0]
    fewer = left.model_copy(update={"standings": left.standings[:2]})
    contests = tuple(fewer if c is left else c for c in comparison.contests)
    kernels = works_table(comparison.model_copy(update={"contests": contests})).rows[0][2]
    count = len({contest.workload for contest in work.contests})
    assert kernels == f"{count} / {count - 1}"


def test_texts_of_figures_neither_overlap_nor_leave_them() -> None:
    names = [machine.name for machine in made(40).machines]
    rows = [("work " * 20, [mean_speed(made(4).contests, name) for name in names[1:4]])] * 18
    assert faults(speed_chart(rows, names[:4], (0.1, 10.0))) == []


@pytest.mark.parametrize(("machines", "kinds"), [(2, 26), (2, 27), (3, 25), (4, 25)])
def test_a_figure_of_speeds_leaves_room_on_its_page(machines: int, kinds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has at most 4 of the 10 inches of a page; the axes of all parts are alike."""
    comparison = made(machines)
    (work,) = works(comparison)[:1]
    monkeypatch.setattr("gpureport.report.comparison.figures.works", lambda _: (work,) * kinds)
    panels = [picture.chart.columns[0][0] for picture in speed_pictures(comparison)]
    assert sum(len(panel.y.rows) for panel in panels) == kinds
    assert max(panel.height_in for panel in panels) < 4
    captions = [picture.caption for picture in speed_pictures(comparison)]
    assert ("each kind" in captions[0]) is (len(captions) == 1)
    assert len({panel.x.ends for panel in panels}) == 1


@pytest.mark.parametrize(
    ("high", "style", "cell"),
    [
        (1.2, "rings", "undecided (0.50 to 1.2)"),
        (1.01, "rings", "undecided (0.50 to 1.01)"),
        (12.3, "rings", "undecided (0.50 to 12)"),
        (0.9, "dots", "0.67"),
    ],
)
def test_a_ratio_is_undecided_in_tables_and_figures_if_its_interval_includes_one(
    high: float, style: str, cell: str
) -> None:
    comparison = made(2)
    ratio = RatioEstimate(value=(0.5 * high) ** 0.5, ci_low=0.5, ci_high=high)

    def of(contest: WorkloadComparison) -> WorkloadComparison:
        own = contest.standings[1].model_copy(update={"to_baseline": ratio})
        return contest.model_copy(update={"standings": (contest.standings[0], own)})

    contests = tuple(map(of, comparison.contests))
    changed = comparison.model_copy(update={"contests": contests})
    tables = (works_table(changed), *standings_tables(changed))
    assert all(any(text.startswith((cell, f"mean {cell}")) for text in row) for table in tables for row in table.rows)
    means = any("mean " in text for table in tables for row in table.rows for text in row)
    assert means == (style == "rings")  # where the values of a row are those of one case
    (picture,) = speed_pictures(changed)
    assert {each.style for each in picture.chart.columns[0][0].series} == {"small dots", style}


def test_names_that_are_cut_stay_distinct() -> None:
    alike = [f"a very long name {number}" for number in range(2)]
    cut = short_names([*alike, "another long name", "short"], 14)
    assert [*cut.values()] == [*alike, "another long …", "short"]


def test_means_are_geometric_and_each_family_counts_once() -> None:
    comparison = made(3)
    second = _name(1)

    assert list(families(comparison)) == ["game_of_life", "particles", "memory"]
    assert means(comparison.contests, "speed")[second] == pytest.approx(0.9)
    assert overall(comparison, "speed") == pytest.approx({_name(0): 1.0, second: 0.9, _name(2): 0.81})
    assert set(overall(comparison, "efficiency")) == {_name(0), second}
    microbenchmarks = comparison.model_copy(update={"contests": comparison.contests[-2:]})
    assert overall(microbenchmarks, "speed")[second] == pytest.approx(0.9)


def test_a_mean_over_kernels_has_the_interval_of_their_scatter() -> None:
    second = _name(1)

    def contest(kernel: str, ratio: float) -> WorkloadComparison:
        base, other = made(2).contests[0].standings
        estimate = RatioEstimate(value=ratio, ci_low=ratio / 1.01, ci_high=ratio * 1.01)
        standings = (base, other.model_copy(update={"to_baseline": estimate}))
        return made(2).contests[0].model_copy(update={"family": "memory", "variant": kernel, "standings": standings})

    several = mean_speed([contest("a", 0.5), contest("b", 1.0), contest("c", 2.0), contest("c", 2.0)], second)
    one = mean_speed([contest("a", 0.5)], second)
    assert several
    assert one
    assert several.kernels == pytest.approx({"memory/a": 0.5, "memory/b": 1.0, "memory/c": 2.0})
    assert several.ends == pytest.approx((0.5, 2.0))
    assert several.ratio.value == pytest.approx(1)
    assert several.ratio.ci_high == pytest.approx(
        2 ** (4.303 / 3**0.5), rel=1e-3
    )  # Student's t, two degrees of freedom
    assert (one.ratio.ci_low, one.ratio.ci_high) == pytest.approx((0.5 / 1.01, 0.5 * 1.01))
    assert mean_speed([contest("a", 0.5)], "nobody") is None

    cases = mean_speed([contest("a", ratio) for ratio in (0.5, 1.0, 2.0)], second)  # of one kernel: as kernels
    assert cases
    assert (cases.ratio, cases.ends) == (several.ratio, several.ends)


@pytest.mark.parametrize(
    ("value", "half", "expected"),
    [(0.978, 0.009, "equal"), (0.978, 0.07, "undecided"), (1.04, None, "equal"), (0.8, 0.07, "slower")],
)
def test_speeds_are_equal_only_if_their_interval_is_as_narrow(value: float, half: float | None, expected: str) -> None:
    assert verdict_of(RatioEstimate.of_log(log(value), half)) == expected


def test_machines_with_one_family_of_several_are_not_ranked() -> None:
    comparison = made(8)
    last = comparison.machines[-1].name
    contests = tuple(
        contest
        if contest.family == "game_of_life"
        else contest.model_copy(update={"standings": tuple(s for s in contest.standings if s.machine != last)})
        for contest in comparison.contests
    )
    only = tuple(contest for contest in contests if contest.family == "game_of_life")
    mixed = comparison.model_copy(update={"contests": contests})

    assert set(ranked(comparison)) - set(ranked(mixed)) == {last}
    *_, (name, _, speed, *_) = machine_table(mixed).rows
    assert (name.startswith(last), speed) == (True, "—")
    assert len(ranked(comparison.model_copy(update={"contests": only}))) == 8
