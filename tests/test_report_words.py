"""Records put together, summed up in words and tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records import Finding, MeasuredPoint, Verdict
from gpureport.report import tables
from gpureport.report.chapters import family_title
from gpureport.report.curves import Comparison, comparisons, curves, verdicts
from gpureport.report.document import Report
from gpureport.report.values import value_at
from gpureport.report.words import (
    curve_caption,
    difference,
    explanations,
    feature_text,
    sentences,
    work_group_caption,
)
from tests.make_report import make_report


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the full synthetic report."""
    return make_report()


def test_every_sweep_becomes_one_curve(report: Report) -> None:
    """Predictions of both kinds, measurement, observation and findings meet by their key."""
    found = curves(report)

    assert len(found) == len({m.key for m in report.measurements}) == 14
    assert all(c.specification and c.calibrated and c.measurement and c.observation for c in found)
    assert [len(c.comparisons) for c in found[:2]] == [7, 0]
    assert found[0].value_unit == "cells/s"


def test_a_measurement_alone_is_a_curve(report: Report) -> None:
    """A skipped sweep without any prediction is still told."""
    alone = report.model_copy(update={"predictions": (), "observations": (), "findings": ()})

    assert len(curves(alone)) == 14
    assert curves(alone)[0].prediction is None
    assert curves(alone)[0].points == ()


def test_both_bases_are_one_comparison(report: Report) -> None:
    """The verdict is that on the specification, whatever the order of the findings."""
    pairs = comparisons(report.findings)

    assert comparisons(reversed(report.findings)) == tuple(reversed(pairs))
    assert len(pairs) * 2 == len(report.findings)
    assert all(pair.main is pair.specification for pair in pairs)


def test_a_calibrated_finding_may_stand_alone(report: Report) -> None:
    """Where the specification has nothing to say, the calibrated prediction gives the verdict."""
    finding = next(f for f in report.findings if f.basis == "calibrated")

    assert comparisons([finding])[0].main is finding


def test_verdicts_put_the_farthest_first(report: Report) -> None:
    """One row a workload and feature; errors before what is merely off."""
    wrong = report.findings[-1].model_copy(update={"verdict": Verdict.ERROR, "basis": "specification"})
    rows = verdicts(report.model_copy(update={"findings": (*report.findings[:-1], wrong)}))

    assert len(rows) == 4 * 3
    assert rows[0].farthest.main.verdict is Verdict.ERROR
    second, third = rows[1].farthest, rows[2].farthest
    assert second.urgency <= third.urgency
    alike = [
        pair.main
        for pair in comparisons(report.findings)
        if (pair.main.workload, pair.main.feature) == (second.main.workload, second.main.feature)
    ]
    assert rows[1].total == len(alike)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "as predicted"),
        (0.996, "as predicted"),
        (1.05, "5 % above the prediction"),
        (0.74, "26 % below the prediction"),
        (2.3, "2.30 times the prediction"),
        (0.25, "0.250 times the prediction"),
    ],
)
def test_ratios_in_words(ratio: float, text: str) -> None:
    """Small differences in percent, large ones as factors."""
    assert difference(ratio) == text


def test_three_sentences_sum_the_report_up(report: Report) -> None:
    """How many agree, where the cache gives out, and what is farthest off."""
    agreement, cliff, surprise = sentences(report)

    assert agreement == (
        "Of 49 values, 35 agree with their prediction (14 off); the median of observed / predicted is 0.962."
    )
    assert cliff.startswith("L2 gives out at ")
    assert surprise.startswith("Farthest from its prediction: Game of Life, 64 cells a word, ")
    assert "26 % below the prediction. " in surprise


def test_sentences_without_any_measurement(report: Report) -> None:
    """They say so, and what the specification promises."""
    skipped = report.model_copy(update={"observations": (), "findings": ()})

    assert sentences(skipped) == [
        "Nothing was measured: every workload was skipped.",
        "The specification lets L2 give out at 52 MiB.",
    ]
    assert sentences(skipped.model_copy(update={"predictions": ()})) == [
        "Nothing was measured: every workload was skipped."
    ]


def test_sentences_without_findings_or_cliffs(report: Report) -> None:
    """No prediction, no cliff, nothing off: each is said in words of its own."""
    assert "no prediction to compare" in sentences(report.model_copy(update={"findings": ()}))[0]
    calm = [f for f in report.findings if f.verdict is Verdict.AGREES and f.feature == "rate"]
    _, cliff, surprise = sentences(report.model_copy(update={"findings": tuple(calm)}))
    assert cliff == "No cache was seen to give out."
    assert surprise == "No value is farther from its prediction than the tolerance of its verdict."


def test_what_was_not_observed_is_said(report: Report) -> None:
    """A finding without a ratio has a sentence in the caption and in the summary."""
    update = {"observed": None, "ratio": None, "ci_low": None, "ci_high": None, "verdict": Verdict.NOT_OBSERVED}
    missing = tuple(f.model_copy(update=update) for f in report.findings)
    curve = curves(report.model_copy(update={"findings": missing}))[0]

    assert "Predicted but not observed: L2 gives out at 52 MiB." in curve_caption(curve)
    assert "not observed" in sentences(report.model_copy(update={"findings": missing}))[0]


def test_captions_say_what_to_see(report: Report) -> None:
    """The curve's features; the best and the worst work-group."""
    size, shape, *_ = curves(report)

    assert "L2 gives out at 49.1 MiB, 6 % below the prediction." in curve_caption(size)
    assert work_group_caption(shape).startswith("Observed best: 256 x 4 (")


def test_explanations_are_not_repeated(report: Report) -> None:
    """One sentence for the three positions of a cliff."""
    pairs = curves(report)[0].comparisons

    assert explanations(pairs)[0].startswith("L2 begins to give out, L2 gives out, L2 has given out, plateau in L2: ")
    assert len(explanations(pairs)) == 3


def test_every_position_has_words(report: Report) -> None:
    """No feature of a report lacks a name."""
    assert {feature_text(f) for f in report.findings} >= {"L2 gives out", "work-items at the knee", "plateau in DRAM"}


def test_a_family_is_named_by_what_its_variants_share() -> None:
    """The words before the comma, or else the family's own name."""
    assert family_title("game_of_life", ["Game of Life, naive", "Game of Life, packed"]) == "Game of Life"
    assert family_title("bit_transpose", ["Local memory", "Shuffle"]) == "Bit transpose"


def test_values_are_found_by_the_paths_of_the_provenance(report: Report) -> None:
    """Paths leave units out and name caches; a path that leads nowhere is a dash."""
    device = report.device

    assert value_at(device, "caches.L2.capacity") == "60 MiB"
    assert value_at(device, "memory.bandwidth") == "4800 GB/s"
    assert value_at(device, "clock") == "1.98 GHz"
    assert value_at(device, "launch.batched") == "2.20 µs"
    assert value_at(device, "architecture.rates_per_cycle.int32") == "64.0"
    assert value_at(device, "rates.int32") == "64.0"
    assert value_at(device, "loaded_latency") == "1.90"
    assert value_at(device, "compute_units") == "132"
    assert value_at(device, "architecture.write_allocate") == "no"
    assert value_at(device, "architecture.name") == "Hopper"
    assert value_at(device, "caches.L2.latency_extent") == "departure 0.700, midpoint 0.880, arrival 1.25"
    assert value_at(device, "caches.L9.capacity") == value_at(device, "what.ever") == "—"


def test_sources_are_cited_by_number(report: Report) -> None:
    """A citation that many values share is written once."""
    rows = {row[0]: row for row in tables.sources_table(report).rows}
    numbered = dict(enumerate(tables.citations(report), start=1))

    assert rows["clock"][3] == rows["memory.bandwidth"][3]
    assert numbered[int(rows["clock"][3])] == "NVIDIA H200 data sheet, 2024-11"
    assert len(numbered) == len(set(numbered.values())) == 5


def test_skipped_points_are_grouped_by_reason(report: Report) -> None:
    """A row a reason, with the first and the last point that it struck."""
    first = report.measurements[0]
    points = tuple(
        MeasuredPoint(point=p.point, skipped=f"It would take {index}.5 ms.") if index > 25 else p
        for index, p in enumerate(first.points)
    )
    table = tables.skipped_table(
        report.model_copy(update={"measurements": (first.model_copy(update={"points": points}),)})
    )

    assert table.rows == (
        ("transpose/subgroup", "all", "The device offers no cl_khr_subgroup_shuffle."),
        ("game_of_life/naive/size", "33554432 … 67108864 (3)", "It would take 26.5 ms."),
    )


def test_wrong_results_stand_in_the_tables(report: Report) -> None:
    """The verification table says what differs."""
    first = report.measurements[0]
    check = first.verification
    assert check is not None
    wrong = first.model_copy(
        update={"verification": check.model_copy(update={"passed": False, "message": "3 cells differ."}), "points": ()}
    )
    broken = report.model_copy(update={"measurements": (wrong,)})

    assert tables.verification_table(broken).rows[0][2] == "WRONG: 3 cells differ."
    assert tables.methods_table(broken).rows[0][1:7] == ("0", "0", "—", "—", "—", "WRONG")


def test_long_logs_are_cut(report: Report) -> None:
    """The first lines are shown, and how many more there are."""
    first = report.measurements[0]
    noisy = first.compilation[0].model_copy(update={"log": "\n".join(f"line {i}" for i in range(30))})
    outputs = tables.compiler_outputs(
        report.model_copy(update={"measurements": (first.model_copy(update={"compilation": (noisy, noisy)}),)})
    )

    assert len(outputs) == 1
    assert outputs[0].log.splitlines()[-1] == "… 18 more lines in report.json"


@given(st.lists(st.sampled_from([0.5, 0.9, 1.0, 1.3]), min_size=1, max_size=6))
def test_urgency_orders_by_distance(ratios: list[float]) -> None:
    """Among findings of one verdict, the farthest from 1 comes first, on either side."""
    base = next(f for f in make_base())
    pairs = [Comparison(base.model_copy(update={"ratio": ratio}), None) for ratio in ratios]

    first = min(pairs, key=lambda pair: pair.urgency)

    assert first.distance == max(pair.distance for pair in pairs)


def make_base() -> tuple[Finding, ...]:
    """Return one plain finding."""
    return (
        Finding(
            workload="w",
            variant="v",
            sweep="s",
            feature="rate",
            position="peak",
            level="device",
            basis="specification",
            predicted=1.0,
            observed=1.0,
            ci_low=None,
            ci_high=None,
            unit="B/s",
            ratio=1.0,
            verdict=Verdict.OFF,
            explanation="",
        ),
    )
