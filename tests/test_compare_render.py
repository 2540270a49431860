"""The documents of comparisons: of two machines to forty, with names that nobody would give one."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import log
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from gpureport.compare.records import (
    Comparison,
    Condition,
    Contest,
    Difference,
    Entrant,
    Landmark,
    RatioEstimate,
    Standing,
)
from gpureport.compare.standings import BEYOND, WITHIN
from gpureport.compare.summary import best_of, families, mean_speed, means, overall, ranked, works
from gpureport.records.keys import Metric
from gpureport.report.comparison.document import content, maps
from gpureport.report.comparison.tables import (
    condition_table,
    deviating_sweeps_table,
    differences_left,
    differences_table,
    leaders_tables,
    machine_table,
    outliers_table,
    ratio_text,
    standings_tables,
    works_table,
)
from gpureport.report.comparison.words import sentences, title
from gpureport.report.figures.heat import HeatBlock, HeatRow, heat_figure, named_columns, reach_of
from gpureport.report.figures.landmarks import landmark_figure, landmark_pages
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.speeds import SpeedRow, speed_figure
from gpureport.report.figures.spreads import spread_figure
from gpureport.report.figures.strips import strip_figure
from gpureport.report.figures.style import PREDICTED
from gpureport.report.pdf import layout
from gpureport.report.render import filled
from gpureport.report.text.words import listed
from tests.drawn_texts import faults
from tests.page_boxes import strays

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE = Metric(kind="rate", unit="cells", label="rate")
WORKLOADS = (
    *(f"game_of_life/interleaved_steps{number}" for number in range(1, 6)),
    "particles/structs32_straight",
    "memory/read",
    "memory/copy",
)


def _name(number: int) -> str:
    """Plain, long, and hostile names in turn."""
    return (f"machine {number}", f"{number} {'WWWW' * 20}", f"<b>{number}</b> \u202e\x1b[31m &amp; 名前")[number % 3]


@cache
def made(machines: int) -> Comparison:
    """Compare so many machines: each a tenth slower than the one before; the second has the baseline's device."""
    names = [_name(number) for number in range(machines)]
    entrants = tuple(
        Entrant(
            name=name,
            source="somewhere",
            device=f"Device {'of a very long name ' * number}",
            entry=None,
            kind=("measured", "published", "predicted")[number % 3],
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


def _contest(workload: str, regime: str, names: list[str]) -> Contest:
    standings = []
    for number, name in enumerate(names):
        value = 0.9**number
        ratio = RatioEstimate(value=value, ci_low=value / 1.01, ci_high=value * 1.01)
        share = RatioEstimate(value=0.93) if number % 3 != 2 else None
        standings.append(
            Standing(
                machine=name,
                point="here",
                value=1e12 * value,
                ci_low=1e12 * value / 1.004,
                ci_high=1e12 * value * 1.004,
                predicted_peak=1e12 * value / 0.93,
                efficiency=share,
                to_baseline=ratio,
                normalised=RatioEstimate(value=1.0) if share else None,
            )
        )
    return Contest(workload=workload, regime=regime, metric=RATE, standings=tuple(standings))


def _landmark(workload: str, name: str, number: int) -> Landmark:
    size = 2.0 ** (18 + number % 9)
    feature: dict[str, Any] = {"feature": "cliff", "level": "L2", "unit": "B"}
    if workload.endswith("2"):
        feature = {"feature": "taper", "level": "device", "unit": "work-items"}
    return Landmark(
        machine=name,
        workload=workload,
        sweep="size",
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


@pytest.mark.parametrize("machines", [3, 40])
def test_nothing_leaves_its_page(machines: int) -> None:
    """Texts, tables and pictures lie between the margins, and texts within their cells; markup stays text."""
    (html,) = filled("comparison.html.j2", content(made(machines)))

    assert "<b>" not in html
    assert list(strays(layout(html))) == []


def test_figures_of_hundreds_of_machines_fit_on_pages() -> None:
    """Fifty rows at most; names of columns do not overlap; features workload by workload are in the JSON alone."""
    few, some, many = content(made(12)), content(made(40)), content(made(120))

    assert [len(some[name]) for name in ("overview", "strips")] == [1, 1]  # type: ignore[arg-type]
    assert [len(many[name]) for name in ("overview", "strips")] == [3, 3]  # type: ignore[arg-type]
    assert few["panels"]
    assert not few["panels_left"]
    assert not many["panels"]
    assert many["panels_left"] == len(WORKLOADS)
    captions = [figure.caption for _, figures in maps(made(120)) for figure in figures]
    assert captions
    assert all("is labelled, in the order of the table." in caption for caption in captions)
    assert " One machine in 3 is labelled" in captions[0]
    block = HeatBlock("speed", tuple(machine.name for machine in made(120).machines))
    assert named_columns([block]) == 3
    assert named_columns([replace(block, columns=block.columns[:40])]) == 1


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


@pytest.mark.parametrize(("machines", "slow", "drawn"), [(5, 0, 5), (20, 1, 1), (20, 8, 6)])
def test_of_many_machines_only_those_that_differ_are_shown(machines: int, slow: int, drawn: int) -> None:
    """All in one sentence; of few, each has its own."""
    comparison = _fleet(machines, slow)
    same = [sentence for sentence in sentences(comparison) if sentence.startswith("On the same device")]

    assert len(same) == (1 if machines > 5 else machines)
    if machines > 5:
        assert same[0] == next(sentences(comparison))
        assert f"{slow} machines differ significantly" in same[0].replace("one machine differs", "1 machines differ")
        assert same[0].endswith(f"all sweeps of {machines - slow} machines are within run-to-run variation.")
        assert [row[2] for row in outliers_table(comparison).rows] == ["2 of 3"] * slow
        assert [row[1] for row in deviating_sweeps_table(comparison).rows] == [str(slow)] * 2
    filled = content(comparison)
    assert len(filled["spreads"]) == drawn  # type: ignore[arg-type]
    assert filled["spreads_left"] == machines - drawn


def test_a_baseline_that_most_machines_differ_from_is_the_outlier() -> None:
    """Its sweeps count against it, not against the others; three machines at least decide. Speeds: 0.5 and 0.9."""
    found, pair = _fleet(20, 12), _fleet(2, 2)

    texts = list(sentences(found))
    assert any("machine 0 itself is the outlier in 2 sweeps" in text and " 33 % " in text for text in texts)
    assert not any("itself is the outlier" in text for text in sentences(pair))
    assert any(text.endswith("all other sweeps of 20 machines are within run-to-run variation.") for text in texts)


def test_few_of_many_differences_have_a_row() -> None:
    """The largest significant ones; the document counts the others."""
    comparison = _fleet(39, 39)
    rows = differences_table(comparison).rows
    significant, others = differences_left(comparison)

    assert len(rows) == 20
    assert {row[5] for row in rows} == {"significant"}
    assert {row[3][:5] for row in rows} == {"0.500"}
    assert (significant, others) == (2 * 39 - 20, 39)
    assert all(len(table(comparison).rows) <= 20 for table in (outliers_table, deviating_sweeps_table))


def test_page_one_of_many_machines_has_a_short_conclusion_a_map_and_a_ranking() -> None:
    """In this order; the map has all machines and all kinds of work, the fastest machine first."""
    comparison = made(40)
    (html,) = filled("comparison.html.j2", content(comparison))
    page = html[html.index("</h1>") :]

    assert len(tuple(sentences(comparison))) <= 5
    assert page.count('class="conclusion"') == 1
    assert page.index('class="conclusion"') < page.index("<figure") < page.index("<table")
    (picture,) = content(comparison)["overview"]  # type: ignore[misc]
    texts = _texts(picture)
    assert {"Particles, memory", "Memory rate, caches", "all"} <= set(texts)
    assert machine_table(comparison).rows[0][:2] == ("machine 0", "1.00")
    speeds = [float(row[1]) for row in machine_table(comparison).rows]
    assert speeds == sorted(speeds, reverse=True)


def test_cases_have_values() -> None:
    """Of a workload with many cases, the best value, and the mean of the ratios."""
    (first, *_) = made(2).contests
    cases = tuple(
        first.model_copy(
            update={
                "workload": "memory/strided",
                "regime": f"stride {number}",
                "standings": tuple(
                    s.model_copy(update={"value": s.value / (1 + number), "ci_low": None, "ci_high": None})
                    for s in first.standings
                ),
            }
        )
        for number in range(130)
    )
    comparison = made(2).model_copy(update={"contests": cases})
    many = made(8).model_copy(update={"contests": cases})
    ((row,),) = [table.rows for table in standings_tables(comparison)]
    ((leader,),) = [table.rows for table in leaders_tables(many)]

    assert row[:4] == ("strided", "130 cases", "1.00 Tcell/s", "900 Gcell/s")
    assert row[4].startswith("0.900")
    assert leader[:5] == ("strided", "130 cases", "machine 0", "1.00 Tcell/s", "1.00")
    ((_, (picture, *_)), *_) = maps(comparison)
    assert "1.00 Tcell/s" in _texts(picture)


def test_intervals_that_leave_a_figure_end_in_arrows() -> None:
    """One for each end that is cut off."""
    (difference,) = made(2).differences[:1]
    wide = difference.model_copy(update={"speed": RatioEstimate(value=0.9, ci_low=0.01, ci_high=30.0)})
    narrow = difference.model_copy(update={"speed": RatioEstimate(value=0.9, ci_low=0.89, ci_high=0.91)})
    markers = [
        sorted(
            str(line.get_marker()) for line in spread_figure([each]).axes[0].get_lines() if line.get_marker() in "^v"
        )
        for each in (wide, narrow)
    ]

    assert markers == [["^", "v"], []]


def test_intervals_are_visible_where_no_machine_differs() -> None:
    """They are wider than all differences."""
    speeds = [RatioEstimate(value=value, ci_low=value / 1.04, ci_high=1.04 * value) for value in (0.999, 1.0, 1.002)]
    (difference,) = made(2).differences[:1]
    axis = spread_figure([difference.model_copy(update={"speed": speed}) for speed in speeds]).axes[0]

    assert axis.get_ylim()[1] > log(1.042)


def _figures() -> dict[str, Callable[[], "Figure"]]:
    names = [machine.name for machine in made(40).machines]
    cells = dict.fromkeys(names, 0.012345)
    row = HeatRow("w" * 60, "a very long case indeed", (cells, cells), {names[0]: "W" * 20}, "A family " * 20)
    blocks = [HeatBlock("speed / that of " + "W" * 99, tuple(names)), HeatBlock("efficiency", tuple(names[:3]))]
    few = [HeatBlock("speed", tuple(names[:2]), cautioned=frozenset(names)), HeatBlock("efficiency", tuple(names[:2]))]
    pages = [list(landmark_pages(made(number).landmarks, names[:number])) for number in (3, 12)]
    rows = [SpeedRow("work " * 20, [mean_speed(made(4).contests, name) for name in names[1:4]])] * 18
    return {
        "many columns": lambda: heat_figure([row] * 3, blocks, 8.0),
        "few columns": lambda: heat_figure([row] * 3, few, 1.25),
        "features by workload": lambda: landmark_figure(pages[0][0], names[:3]),
        "features by machine": lambda: landmark_figure(pages[1][0], names[:12]),
        "strips": lambda: strip_figure(made(40).landmarks, names),
        "spread": lambda: spread_figure(made(2).differences),
        "speeds": lambda: speed_figure(rows, names[:4]),
    }


@pytest.mark.parametrize("kind", _figures())
def test_texts_of_figures_neither_overlap_nor_leave_them(kind: str) -> None:
    """However long names are, and however many."""
    assert faults(_figures()[kind]) == []


def test_figures_have_few_elements() -> None:
    """Marks of one colour are one path, however many they are."""
    names = [machine.name for machine in made(40).machines]
    cells = {name: 0.9**number for number, name in enumerate(names)}
    rows = [HeatRow(str(number), "", (cells,)) for number in range(20)]

    assert _paths(lambda: strip_figure(made(40).landmarks, names)) < 30
    assert _paths(lambda: heat_figure(rows, [HeatBlock("speed", tuple(names))], reach_of(rows))) < 60


def _paths(draw: Callable[[], "Figure"]) -> int:
    return Picture(draw, "").svg().count("<path")


def test_colours_of_a_map_have_a_key() -> None:
    """It ends at a ratio that few cells exceed, and says that the darkest colours include those."""
    rows = [HeatRow("a", "", ({"x": ratio},)) for ratio in (*[0.7] * 40, 30.0)]
    drawn = _texts(Picture(partial(heat_figure, rows, [HeatBlock("speed", ("x",))], reach_of(rows)), ""))

    assert reach_of(rows) == 1.5
    assert reach_of(rows[-1:]) == 8
    assert reach_of([]) == 1.05
    assert {"≤ 0.667", "1", "≥ 1.5"} <= set(drawn)
    assert {"0.700", "30.0"} <= set(drawn)


def test_narrow_columns_have_ratios_without_their_zero() -> None:
    """Rounded by at most a tenth; smaller ratios have a colour only."""
    names = [f"machine {number}" for number in range(22)]
    ratios = (0.25, 0.03, 0.004, 1.26, 12.4)
    rows = [HeatRow(str(ratio), "", (dict.fromkeys(names, ratio),)) for ratio in ratios]
    drawn = _texts(Picture(partial(heat_figure, rows, [HeatBlock("speed", tuple(names))], 8.0), ""))

    assert [drawn.count(text) for text in (".25", ".03", ".00", "1.3")] == [22, 22, 0, 22]


def test_few_machines_have_every_value_and_many_have_leaders() -> None:
    """A row a machine, or a row a workload."""
    few, many = made(2), made(40)

    assert sum(len(table.rows) for table in standings_tables(few)) == 2 * len(WORKLOADS)
    first, second = standings_tables(few)[0].columns[2:4]
    assert (first, second) == ("machine 0", _name(1)[:13] + "…")
    row = standings_tables(few)[0].rows[0]
    assert row[:2] == ("interleaved_steps1", "caches")
    assert row[2:] == ("1.00 Tcell/s ± 0.4 %", "900 Gcell/s ± 0.4 %", "0.900 ± 1 %", "0.930", "0.930")
    leaders = leaders_tables(many)
    assert sum(len(table.rows) for table in leaders) == 2 * len(WORKLOADS)
    assert leaders[0].rows[0][:2] == ("interleaved_steps1", "caches")
    assert leaders[0].rows[0][2:5] == ("machine 0", "1.00 Tcell/s", "1.00")
    assert leaders[0].rows[0][6:] == ("16.4 Gcell/s", "0.0164")


def test_machines_that_share_a_condition_stand_together() -> None:
    """Names of few, a number of many."""
    assert condition_table(made(2)).rows == (
        ("△ effort", f"full: machine 0; quick: 1 {'W' * 25}…", "quick runs measure less."),
    )
    assert condition_table(made(40)).rows[0][1] == "full: 20 machines; quick: 20 machines"


def test_means_are_geometric_and_each_family_counts_once() -> None:
    """What somebody wants to run decides, however many microbenchmarks there are."""
    comparison = made(3)
    second = _name(1)

    assert list(families(comparison)) == ["game_of_life", "particles", "memory"]
    assert means(comparison.contests, "speed")[second] == pytest.approx(0.9)
    assert overall(comparison, "speed") == pytest.approx({_name(0): 1.0, second: 0.9, _name(2): 0.81})
    assert set(overall(comparison, "efficiency")) == {_name(0), second}
    microbenchmarks = comparison.model_copy(update={"contests": comparison.contests[-2:]})
    assert overall(microbenchmarks, "speed")[second] == pytest.approx(0.9)


def test_a_mean_over_kernels_has_the_interval_of_their_scatter() -> None:
    """Each kernel counts once, however many cases it has. Of few kernels, the interval is that of their ratios."""
    second = _name(1)

    def contest(kernel: str, ratio: float) -> Contest:
        base, other = made(2).contests[0].standings
        estimate = RatioEstimate(value=ratio, ci_low=ratio / 1.01, ci_high=ratio * 1.01)
        standings = (base, other.model_copy(update={"to_baseline": estimate}))
        return made(2).contests[0].model_copy(update={"workload": f"memory/{kernel}", "standings": standings})

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


def test_kinds_of_work_have_values_and_ratios() -> None:
    """Also memory. Machines without a common kernel have their own best values; many have the fastest and slowest."""
    few, many = works_table(made(2)), works_table(made(40))

    assert [row[:2] for row in few.rows] == [
        (name, place) for name in ("Game of Life", "Particles", "Memory rate") for place in ("memory", "caches")
    ]
    assert few.rows[0][2:] == ("5", "1.00 Tcell/s", "900 Gcell/s", "0.900 ± 0.4 %", "0.900")
    assert many.rows[0][2:5] == ("machine 0", "1.00 Tcell/s", "1.00")
    assert many.rows[0][6:] == ("16.4 Gcell/s", "0.0164")
    lone = made(2).contests[0]
    apart = [lone.model_copy(update={"workload": f"memory/{s.machine}", "standings": (s,)}) for s in lone.standings]
    (work,) = works(made(2).model_copy(update={"contests": tuple(apart)}))
    assert best_of(work.contests, _name(1), work.machines) is None
    best = best_of(work.contests, _name(1))
    assert best
    assert best.machine == _name(1)


def test_one_kernel_ranks_no_machines() -> None:
    """Two of its points are no more than one kernel; the sentences say so."""
    comparison = made(8)
    one = comparison.model_copy(update={"contests": comparison.contests[:2]})
    pair = one.model_copy(update={"machines": one.machines[:2]})

    assert not ranked(one)
    assert "Not ranked: 8 machines, with fewer than 3 kernels or half of the families in common" in next(sentences(one))
    assert "only game_of_life/interleaved_steps1 in common" in next(sentences(pair))
    assert list(ranked(comparison)) == [machine.name for machine in comparison.machines][::-1]


def test_machines_with_one_family_of_several_are_not_ranked() -> None:
    """Their mean over one family is not comparable with others; with the baseline alone, all are ranked."""
    comparison = made(8)
    last = comparison.machines[-1].name
    contests = tuple(
        contest
        if contest.workload.startswith("game_of_life")
        else contest.model_copy(update={"standings": tuple(s for s in contest.standings if s.machine != last)})
        for contest in comparison.contests
    )
    only = tuple(contest for contest in contests if contest.workload.startswith("game_of_life"))
    mixed = comparison.model_copy(update={"contests": contests})

    assert set(ranked(comparison)) - set(ranked(mixed)) == {last}
    assert machine_table(mixed).rows[-1][:2] == (last, "—")
    assert any(text.startswith(f"Not ranked: {last}, ") for text in sentences(mixed))
    assert len(ranked(comparison.model_copy(update={"contests": only}))) == 8


def test_the_conclusion_says_which_values_are_predicted() -> None:
    """A prediction may be the fastest or the slowest."""
    comparison = made(9)
    (first, *_) = sentences(comparison)

    assert comparison.machines[8].kind == "predicted"
    assert f"{comparison.machines[8].name} is slowest (predicted; " in first


def test_few_machines_are_described_in_the_head() -> None:
    """Name, device, origin and date."""
    (html,) = filled("comparison.html.j2", content(made(3)))
    head = html[html.index("<header") : html.index("</header>")]

    assert head.count("<strong>") == 3
    assert ", measured 2026-11-21." in head
    assert "△ 1 W" in head


def test_sentences_say_what_matters() -> None:
    """Each of few machines, the extremes of many; and what differs significantly on the same device."""
    few, many = tuple(sentences(made(2))), tuple(sentences(made(40)))
    second = _name(1)

    assert len(few) == 5
    assert few[0] == f"{second} relative to machine 0: slower in all 6 kinds of work."
    assert few[1].startswith(f"Game of Life with data in memory: {second} reaches 0.900 of the speed of machine 0 (5 ")
    assert few[1].endswith("; at best 900 Gcell/s instead of 1.00 Tcell/s.")
    assert f": machine 0 reaches 93 % and {second} reaches 93 % (" in few[3]
    assert few[4] == (
        f"On the same device, 2 of 50 sweeps of {second} differ significantly, most clearly memory/read/0 (50 % "
        "slower); the others are within run-to-run variation."
    )
    assert many[0].startswith("Overall, machine 0 is fastest (game_of_life/interleaved_steps1 with data in ")
    assert many[0].endswith(
        ": 1.00 Tcell/s) and machine 39 is slowest (0.0164 times as fast as machine 0; 16.4 Gcell/s)."
    )
    assert many[2].startswith("The machines differ most in ")
    assert ", by a factor of 60.9 " in many[2]
    assert "the other 25 " in many[3]
    assert "40 machines" in title(made(40))
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_significant_differences_come_first_and_a_few_others_after_them() -> None:
    """The others are in the JSON."""
    rows = differences_table(made(2)).rows

    assert len(rows) == 10
    assert [row[5] for row in rows[:3]] == ["significant", "significant", "within variation"]
    assert rows[0][4] == "< 1e-06"


def test_marks_stand_where_ratios_mean_less() -> None:
    """Before the names of machines in tables and figures; names of predictions have another colour."""
    comparison = made(3)
    first, second, third = (machine.name for machine in comparison.machines)
    block = HeatBlock("", (first, third), frozenset({third}), frozenset({first}))
    drawn = Picture(partial(heat_figure, [], [block], 2.0), "")

    assert [row[0] for row in machine_table(comparison).rows] == [first, f"△ {second}", third]
    assert _texts(drawn)[0] == f"△ {first}"
    assert PREDICTED.lower() in drawn.svg()


def test_a_map_has_no_empty_columns() -> None:
    """Machines that lack a family are left out of its map, those with the baseline's own speed kept."""
    comparison = made(3)
    third = comparison.machines[2].name
    particles = [c for c in comparison.contests if c.workload.startswith("particles")]
    lacking = [c.model_copy(update={"standings": c.standings[:2]}) for c in particles]
    others = [c for c in comparison.contests if c not in particles]
    (what, figures), *more = maps(comparison.model_copy(update={"contests": (*others, *lacking)}))
    isolated = maps(comparison.model_copy(update={"contests": tuple(lacking)}))

    assert (what, more) == (None, [])
    names = [_texts(figure) for figure in figures]
    assert sum(third[:5] in text for text in names[0]) == 1
    assert "1.00 Tcell/s" in names[0]
    assert not any(third[:5] in text for _, found in isolated for figure in found for text in _texts(figure))


def _texts(picture: Picture) -> list[str]:
    root = ET.fromstring(picture.svg())  # noqa: S314 - our own
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1.0001, "2.00 ± 0.1 %"),
        (1.004, "2.00 ± 0.4 %"),
        (1.096, "2.00 ± 10 %"),
        (1.23, "2.00 (factor 1.23)"),
        (3, "2.00 (factor 3)"),
    ],
)
def test_an_interval_is_written_with_the_digits_that_it_has(factor: float, text: str) -> None:
    """None finer than a tenth of a percent."""
    assert ratio_text(RatioEstimate(value=2.0, ci_low=2 / factor, ci_high=2 * factor)) == text
