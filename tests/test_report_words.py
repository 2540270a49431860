"""Records put together, summed up in words and tables."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.cli.summary import print_findings
from gpureport.records.finding import Finding, Verdict
from gpureport.records.keys import SweepKey
from gpureport.records.levels import Level
from gpureport.records.measurement import Compilation, MachineCode, MeasuredPoint, Verification
from gpureport.records.report import Report
from gpureport.report.render import render_html
from gpureport.report.run import appendix, compiled
from gpureport.report.run.blocks import as_predicted, expected_blocks
from gpureport.report.run.curves import CurveRecords, FindingPair, curves, paired, specified, verdicts
from gpureport.report.run.lists import deviations_table
from gpureport.report.run.numbers import by_kind, families, places
from gpureport.report.run.values import value_at
from gpureport.report.text import tables
from gpureport.report.text.captions import block_title, case_caption, legend, section_title, shape_caption, size_caption
from gpureport.report.text.words import (
    TIMES,
    agreeing,
    explanations,
    family_name,
    feature_text,
    fitted_text,
    judgement,
    kernel_name,
    observed_text,
    whole_sentences,
    with_names,
)
from gpureport.spec.database import load_database
from tests.make_report import EVIDENCE, make_report, many_variants


def test_every_value_of_every_entry_can_be_written() -> None:
    """Those that are tables, and those of the match, among them."""
    database = load_database()
    devices = [database.device(entry_id) for entry_id in database.entries]

    assert [(d.id, path) for d in devices for path in d.provenance if value_at(d, path) == "—"] == []
    rdna = database.device("amd/rx_7900_xt")
    assert value_at(rdna, "opencl.compute_units") == "42"
    assert value_at(rdna, "occupancy.vector_registers") == "32: 1536, 64: 768"


def test_every_sweep_becomes_one_curve(report: Report) -> None:
    """Predictions of both kinds, measurement, observation and findings meet by their key."""
    found = curves(report)

    assert len(found) == len({m.key for m in report.measurements}) == 14
    assert all(c.specification and c.calibrated and c.measurement and c.observation for c in found)
    assert [len(c.pairs) for c in found[:2]] == [7, 0]
    assert found[0].value_unit == "cells/s"


def test_a_measurement_alone_is_a_curve(report: Report) -> None:
    """A skipped sweep without any prediction is still told."""
    isolated = report.model_copy(update={"predictions": (), "observations": (), "findings": ()})

    assert len(curves(isolated)) == 14
    assert curves(isolated)[0].prediction is None
    assert curves(isolated)[0].points == ()


def test_both_bases_are_one_comparison(report: Report) -> None:
    """The verdict is that on the specification, whatever the order of the findings."""
    pairs = paired(report.findings)

    assert paired(reversed(report.findings)) == tuple(reversed(pairs))
    assert len(pairs) * 2 == len(report.findings)
    assert all(pair.main is pair.specification for pair in pairs)


def test_a_calibrated_finding_may_stand_alone(report: Report) -> None:
    """Where the specification has nothing to say, the calibrated prediction gives the verdict."""
    finding = next(f for f in report.findings if f.basis == "calibrated")

    assert paired([finding])[0].main is finding


def test_verdicts_put_the_farthest_first(report: Report) -> None:
    """One row a workload and feature; errors before what is merely off."""
    wrong = report.findings[-1].model_copy(update={"verdict": Verdict.ERROR, "basis": "specification"})
    rows = verdicts(report.model_copy(update={"findings": (*report.findings[:-1], wrong)}))

    assert len(rows) == 4 * 3
    assert rows[0].worst.main.verdict is Verdict.ERROR
    second, third = rows[1].worst, rows[2].worst
    assert second.urgency <= third.urgency
    alike = [
        pair.main.verdict
        for pair in specified(report)
        if (pair.main.key.family, pair.main.feature) == (second.main.key.family, second.main.feature)
    ]
    assert sorted(rows[1].verdicts) == sorted(alike)


def test_a_feature_counts_once(report: Report) -> None:
    """Not once for each of its positions, nor for each prediction that it is compared with."""
    counted = Counter((main.key, main.feature, main.level) for main in (pair.main for pair in specified(report)))
    positions = {pair.main.position for pair in specified(report)}

    assert counted
    assert set(counted.values()) == {1}
    assert positions == {"midpoint", "n90", "plateau"}


def test_what_agrees_is_told_apart_from_what_lies_within_an_interval() -> None:
    """``2 + 1 of 4``: the middle grade is none of the first."""
    grades = [Verdict.AGREES, Verdict.WITHIN, Verdict.AGREES, Verdict.OFF]

    assert agreeing(grades) == "2 + 1 of 4"
    assert agreeing(grades[2:]) == "1 of 2"


def test_what_was_not_observed_is_said(report: Report) -> None:
    """A finding without a ratio has a sentence in the caption."""
    update = {"observed": None, "ratio": None, "ci_low": None, "ci_high": None, "verdict": Verdict.NOT_OBSERVED}
    missing = tuple(f.model_copy(update=update) for f in report.findings)
    curve = curves(report.model_copy(update={"findings": missing}))[0]

    assert "L2 cliff, predicted at 52 MiB but not observed." in size_caption([curve])


def test_captions_say_what_to_see(report: Report) -> None:
    """The curve's features; the legend names lines only where they are drawn."""
    size, shape, *_ = curves(report)

    assert "L2 cliff with its midpoint at 49.1 MiB, 6 % below" in size_caption([size])
    assert "Solid: calibrated prediction." in legend([size], cases=False)
    assert "Solid" not in " ".join(legend([replace(size, calibrated=None)], cases=False))
    assert "Dots" not in " ".join(legend([replace(size, observation=None)], cases=False))
    assert legend([size], cases=True)[-1].startswith("Separate cases: hollow circles: predicted")
    assert legend([], cases=True) == ()
    assert size_caption([replace(size, pairs=(), observation=None)]) == "Predicted: naive."
    assert "dot: best; square: predicted best" in shape_caption([shape])
    assert section_title([size]) == "Size: updates against working set (both buffers)"
    assert block_title("Life", [size]) == "Life: updates against working set (both buffers)"


def test_the_caption_of_cases_tells_how_far_they_lie_from_their_predictions() -> None:
    """The least and the greatest ratio, and how many agree; without observations, what is drawn."""
    (cases,) = [c for c in curves(many_variants(1, 1)) if c.axis.quantity == "case"]
    finding = next(pair.main for pair in curves(make_report())[0].pairs)
    pairs = [
        FindingPair(
            finding.model_copy(update={"position": "case", "ratio": ratio, "level": Level(name=f"case {ratio:g}")}),
            None,
        )
        for ratio in (1.5, 0.4, 1.0)
    ]

    assert case_caption([replace(cases, pairs=tuple(pairs))]) == (
        "Observed / predicted: 0.400 (case 0.4) to 1.50 (case 1.5). 3 of 3 cases agree with the prediction."
    )
    assert case_caption([replace(cases, pairs=tuple(pairs[:1]))]) == (
        "Observed / predicted: 1.50 (case 1.5). 1 of 1 cases agree with the prediction."
    )
    assert case_caption([replace(cases, pairs=(), observation=None)]) == "Predicted: variant_0."


def test_only_what_is_off_is_explained_and_once(report: Report) -> None:
    """A sentence that several variants and values share stands once, after their names."""
    packed = curves(report)[2]

    assert explanations(curves(report)[0].groups) == ()
    found = explanations(packed.groups)
    assert found[0] == "packed64, L2 cliff; packed64, plateau in L2: " + packed.pairs[0].main.explanation
    assert len(found) == 3


def test_of_many_names_only_the_first_are_listed() -> None:
    """The others are counted; there are at least three."""
    assert with_names(("abcdefg"[i], "same") for i in range(7)) == ("a; b; c; d; 3 more: same",)
    assert with_names(("abcdef"[i], "same") for i in range(6)) == ("a; b; c; d; e; f: same",)


def test_every_position_has_words(report: Report) -> None:
    """No feature of a report lacks a name."""
    assert {feature_text(f) for f in report.findings} >= {"L2 cliff", "taper, knee", "plateau in DRAM"}


def test_a_family_is_named_by_what_its_variants_share(report: Report) -> None:
    """The words before the comma, or else the family's own name."""
    assert family_name(report, "game_of_life") == "Game of Life"
    assert family_name(report, "bit_transpose") == "Bit transpose"


def test_kernels_have_a_title_and_an_identifier(report: Report) -> None:
    """The title without the axis of the sweep, or else the name of the family."""
    info = next(iter(report.workloads.values()))
    key = SweepKey(family=info.family, variant=info.variant, sweep="size")
    assert kernel_name(report, info) == kernel_name(report, key) == f"{info.title} ({info.variant})"
    swept = info.model_copy(update={"title": f"{info.title} against time"})
    other = report.model_copy(update={"workloads": {f"{info.family}/{info.variant}": swept}})
    assert kernel_name(other, info) == kernel_name(report, info)
    unknown = key.model_copy(update={"family": "new_family"})
    assert kernel_name(report, unknown) == f"New family ({info.variant})"


def test_pocl_is_called_by_its_name(report: Report) -> None:
    """Its platform has a name that few know."""
    present = report.machine.opencl
    pocl = present.model_copy(update={"platform": "Portable Computing Language", "driver": "7.1"})

    assert pocl.runtime == "PoCL 7.1"
    assert present.runtime == "NVIDIA CUDA, driver 580.159.04"


def test_values_are_found_by_the_paths_of_the_provenance(report: Report) -> None:
    """Paths leave units out and name caches; a path that leads nowhere is a dash."""
    device = report.device

    assert value_at(device, "caches.L2.capacity") == "60 MiB"
    assert value_at(device, "memory.bandwidth") == "4800 GB/s"
    assert value_at(device, "clock") == "1.98 GHz"
    assert value_at(device, "launch.batched") == "2.20 µs"
    assert value_at(device, "architecture.rates_per_cycle.int32") == "64.0"
    assert value_at(device, "rates.int32") == "64.0"
    assert value_at(device, "loaded_latency_factor") == "2.00"
    assert value_at(device, "compute_units") == "132"
    assert value_at(device, "architecture.write_allocate") == "no"
    assert value_at(device, "architecture.name") == "Hopper"
    assert value_at(device, "caches.L2.latency_transition") == "0.700, 0.880, 1.25"
    assert value_at(device, "caches.L9.capacity") == value_at(device, "what.ever") == "—"


def test_sources_are_cited_by_number(report: Report) -> None:
    """A citation that many values share is written once."""
    rows = {row[0]: row for row in appendix.sources_table(report).rows}
    numbered = dict(enumerate(appendix.citations(report), start=1))

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
    table = appendix.skipped_table(
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

    assert appendix.verification_table(broken).rows[0][-1] == "WRONG: 3 cells differ."
    assert appendix.methods_table(broken).rows[0][1:9] == ("1", "1", "0", "0", "—", "—", "—", "WRONG")


def test_verification_gives_the_number_of_cases_and_their_sizes(report: Report) -> None:
    """In one line, whatever else the cases are made of; cases in words by their ends."""
    first = report.measurements[0]

    def row(*cases: str) -> tuple[str, ...]:
        check = Verification(passed=True, cases=cases)
        found = (first.model_copy(update={"verification": check}),)
        return appendix.verification_table(report.model_copy(update={"measurements": found})).rows[0][2:]

    assert row(
        "width = 97, height = 61, local_x = 16; 3 dispatches", "width = 2, height = 3, local_x = 4; 3 dispatches"
    ) == (
        "2",
        "width 2 to 97, height 3 to 61",
        "equal",
    )
    assert row("width = 16, bytes = 8400, local = 96; 1 dispatch") == ("1", "bytes 8400", "equal")
    assert row("97 x 61", "9 x 3", "2 x 3") == ("3", "97 x 61 … 2 x 3", "equal")


def test_what_every_build_says_is_no_warning(report: Report) -> None:
    """NVIDIA's statistics and its word on kernels are left out; what else a build says stays."""
    first = report.measurements[0]
    usual = (
        "(): Warning: Function step is a kernel, so overriding noinline attribute. The function may be inlined.\n\n"
        "ptxas info    : 0 bytes gmem, 16 bytes cmem[4]\n"
        "ptxas info    : Compiling entry function 'step' for 'sm_90a'\n"
        "ptxas info    : Function properties for step\n"
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 0 barriers\n"
        "ptxas info    : Compile time = 7.2 ms\n"
    )

    def outputs(log: str) -> list[str]:
        noisy = first.model_copy(update={"compilation": (first.compilation[0].model_copy(update={"log": log}),)})
        return [out.log for out in compiled.compiler_outputs(report.model_copy(update={"measurements": (noisy,)}))]

    assert outputs(usual) == []
    assert outputs(f"{usual}ptxas warning : too many registers") == ["ptxas warning : too many registers"]


def test_what_is_too_long_ends_with_a_sentence() -> None:
    """Points within numbers end none; one sentence that is too long is cut."""
    text = "It takes 4.81 µs. Then it waits for the one before."

    assert whole_sentences(text, 80) == text
    assert whole_sentences(text, 30) == "It takes 4.81 µs."
    assert whole_sentences(text, 10) == "It takes …"


def test_long_logs_are_cut(report: Report) -> None:
    """The first lines of what differs in more than figures are shown, and how many more there are."""
    first = report.measurements[0]
    noisy = first.compilation[0].model_copy(update={"log": "\n".join(f"warning {i}" for i in range(30))})
    outputs = compiled.compiler_outputs(
        report.model_copy(update={"measurements": (first.model_copy(update={"compilation": (noisy, noisy)}),)})
    )

    assert len(outputs) == 1
    assert outputs[0].log.splitlines()[-1] == "… 22 more lines in report.json"


def test_a_log_without_warnings_is_left_out(report: Report) -> None:
    """What every build says needs no page."""
    first = report.measurements[0]
    calm = first.compilation[0].model_copy(update={"log": "ptxas info: used 32 registers"})
    quiet = first.model_copy(update={"compilation": (calm,)})

    assert compiled.compiler_outputs(report.model_copy(update={"measurements": (quiet,)})) == []


def test_builds_of_one_kernel_are_one_row(report: Report) -> None:
    """Registers as a range, loads and stores by width, bytes as compiled against the model's."""
    first = report.measurements[0]
    code = MachineCode(
        form="PTX", counts={"int": 9}, global_loads={4: 1, 16: 4}, global_stores={8: 1}, loops=False, calls=()
    )
    builds = tuple(
        first.compilation[0].model_copy(update={"options": f"-DN={n}", "registers_per_work_item": n, "code": code})
        for n in (20, 40)
    )
    evidence = EVIDENCE.model_copy(
        update={
            "kernel": builds[0].kernel,
            "options": "-DN=20",
            "loads_bytes_least": 66,
            "loads_bytes_compiled": 68,
            "loads_bytes_model": 64,
            "stores_bytes_compiled": None,
            "stores_bytes_model": 8,
            "agrees": False,
            "remark": "It loads more.",
        }
    )
    update = {"measurements": (first.model_copy(update={"compilation": builds}),), "evidence": (evidence,)}
    changed = report.model_copy(update=update)
    (row,) = compiled.compilation_table(changed).rows

    assert row[1:6] == ("PTX", "20 to 40", "0 B", "4 KiB", "32")
    assert row[6:] == (f"4{TIMES}16 B, 1{TIMES}4 B", f"1{TIMES}8 B", "66 to 68 B / 64 B", "— / 8 B")
    assert compiled.mismatches(changed) == compiled.remarks(changed)
    assert compiled.mismatches(report) == ()
    assert compiled.remarks(changed) == (f"game_of_life/naive ({builds[0].kernel}): It loads more.",)


def test_of_several_builds_the_row_tells_of_one_that_was_compared(report: Report) -> None:
    """Of one that differs, if there is any: the order of builds does not matter."""
    first = report.measurements[0]
    update = {"workload": first.key.workload, "kernel": first.compilation[0].kernel}
    shown = EVIDENCE.model_copy(update={**update, "agrees": None, "loads_bytes_compiled": None})
    right = shown.model_copy(update={"agrees": True, "loads_bytes_compiled": 2})
    wrong = shown.model_copy(update={"agrees": False, "loads_bytes_compiled": 3})

    for builds, loaded in (
        ((shown, right, shown), "2 B / 4 B"),
        ((shown, wrong, right), "3 B / 4 B"),
        ((shown,), "— / 4 B"),
    ):
        table = compiled.compilation_table(report.model_copy(update={"evidence": builds}))
        assert table.rows[0][-2] == loaded


def test_kernels_that_spill_are_remarked_on(report: Report) -> None:
    """Whether or not they move the bytes that the model counts."""
    calm = EVIDENCE.model_copy(update={"remark": "It is calm."})
    spilling = calm.model_copy(update={"spill_bytes": 24, "remark": "It spills."})
    remarks = compiled.remarks(report.model_copy(update={"evidence": (calm, spilling)}))

    assert remarks == ("game_of_life/naive (step): It spills.",)


def test_occupancy_has_a_row_for_variants_of_which_the_same_is_said(report: Report) -> None:
    """A column a size of the work-group; what limits is named only where it is not the number of waves."""
    found = curves(report)
    table = tables.occupancy_table(found)

    assert table.columns[3:] == ("32 items", "64 items", "256 items", "1024 items")
    together = "naive, packed64, aos, soa, local, shuffle, read"
    assert table.rows == ((together, "32", "4 KiB", "50 % groups", "100 %", "100 %", "100 %"),)

    least = {"fraction": 0.125, "limiter": "registers", "registers_per_work_item": 255}
    rows = tables.occupancy_table([_with_occupancy(c, least) if c.key.variant == "naive" else c for c in found]).rows
    assert [row[0] for row in rows] == ["naive", together.removeprefix("naive, ")]
    assert rows[0][1:5] == ("255", "4 KiB", "12 % regs", "12 % regs")


def _with_occupancy(curve: CurveRecords, update: dict[str, object]) -> CurveRecords:
    """Return *curve* with other occupancies in all its predictions."""
    changed = {
        kind: record.model_copy(update={"occupancy": tuple(o.model_copy(update=update) for o in record.occupancy)})
        for kind in ("specification", "calibrated")
        if (record := getattr(curve, kind))
    }
    return replace(curve, **changed)


def test_what_all_rows_say_is_said_once() -> None:
    """Beyond a few rows, and never the first column, which names them."""
    rows = tuple((name, "PTX", str(number)) for number, name in enumerate("abcd"))
    table, alike = tables.without_constant_columns(
        tables.Table(("kernel", "code", "regs"), rows, frozenset({"code", "regs"}))
    )

    assert alike == "In every row: code: PTX."
    assert (table.columns, table.rows[0], table.numeric) == (("kernel", "regs"), ("a", "0"), {"regs"})
    few = tables.Table(("kernel", "code"), (("a", "PTX"), ("b", "PTX")))
    assert tables.without_constant_columns(few) == (few, "")


def test_columns_break_where_there_is_no_room() -> None:
    """A table of many short columns breaks their texts instead of printing them over each other."""
    few, many = (tables.Table(tuple("abcdefghijkl"[:n]), (("twelve chars",) * n,)) for n in (4, 12))

    assert few.narrow == set("abcd")
    assert not many.narrow


def test_the_longest_columns_break_first() -> None:
    """A full line breaks names of kernels and bottlenecks, not short texts behind them; names get more room."""
    row = ("k" * 33, "1.65 Gmatrix/s", "1.64 Gmatrix/s", "the rate of starts of groups", "100 %", "100 %, assumed")
    columns = ("kernel", "observed", "predicted", "bottleneck", "efficiency", "occupancy")
    full = tables.Table(columns, (row, row), frozenset({"observed", "predicted", "efficiency"}), short=36)

    assert full.narrow == {"observed", "predicted", "efficiency", "occupancy"}
    widths = dict(zip(columns, full.widths, strict=True))
    assert widths["occupancy"] * 118 > 100 * len("100 %, assumed")
    assert widths["kernel"] / widths["bottleneck"] == pytest.approx(33 / 28)
    assert sum(full.widths) < 100


def test_the_time_is_summed_up_by_stage() -> None:
    """Totals first, then the longest steps."""
    rows = appendix.timings_table(many_variants(1, 2)).rows

    assert rows[0] == ("predict", "all", "1.50 s")
    assert ("measure", "all", "1.00 s") in rows
    assert ("verify", "family_00/variant_0", "500 ms") in rows


def test_lists_of_sizes_are_written_out(report: Report) -> None:
    """Each member with its unit."""
    rules = report.device.architecture.occupancy.model_copy(update={"carveouts_bytes": (0.0, 8192.0)})
    architecture = report.device.architecture.model_copy(update={"occupancy": rules})
    device = report.device.model_copy(update={"architecture": architecture})

    assert value_at(device, "occupancy.carveouts") == "0 B, 8 KiB"


@given(st.lists(st.sampled_from([0.5, 0.9, 1.0, 1.3]), min_size=1, max_size=6))
def test_urgency_orders_by_distance(ratios: list[float]) -> None:
    """Among findings of one verdict, the farthest from 1 comes first, on either side."""
    base = next(f for f in make_base())
    pairs = [FindingPair(base.model_copy(update={"ratio": ratio}), None) for ratio in ratios]

    first = min(pairs, key=lambda pair: pair.urgency)

    assert first.distance == max(pair.distance for pair in pairs)


def make_base() -> tuple[Finding, ...]:
    """Return one plain finding."""
    return (
        Finding(
            key=SweepKey(family="w", variant="v", sweep="s"),
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


def test_flat_curves_are_those_that_say_nothing(report: Report) -> None:
    """All values within 15 %, predicted and observed: no steps between, no few sizes, nothing that was not measured."""
    curve = curves(report)[0]
    flat = _with_values(curve, 100.0)

    assert flat.is_flat
    assert not curve.is_flat
    assert not replace(flat, observation=_with_values(curve, 120.0).observation).is_flat
    assert not replace(flat, observation=None).is_flat
    assert flat.specification
    few = flat.specification.model_copy(update={"points": flat.specification.points[:1]})
    assert not replace(flat, specification=few, calibrated=None, measurement=None, observation=None).is_flat


def _with_values(curve: CurveRecords, value: float) -> CurveRecords:
    """Return *curve* with points that are all alike."""
    changed = {
        kind: record.model_copy(
            update={"points": tuple(point.model_copy(update={"value": value}) for point in record.points)}
        )
        for kind in ("specification", "calibrated", "observation")
        if (record := getattr(curve, kind))
    }
    return replace(curve, **changed)


def test_the_verdict_s_sign_stands_before_what_it_is_about(report: Report) -> None:
    """The ratio, or else the verdict in words."""
    group = curves(report)[0].groups[0]
    lost = group.main.main.model_copy(update={"ratio": None, "verdict": Verdict.NOT_OBSERVED})

    assert judgement(group) == "✓ 0.943"
    assert judgement(replace(group, main=FindingPair(lost, None))) == "○ not observed"


@pytest.mark.parametrize(
    ("registers", "explained"),
    [((170,), True), ((170, 255), True), ((64,), False), ((170, 64), False), ((None,), False)],
)
def test_a_launch_that_lacked_resources_names_its_registers(
    report: Report, registers: tuple[int | None, ...], explained: bool
) -> None:
    """Where the compiler told them, and where they are too many in every build of the kernel."""
    first = report.measurements[0]
    key = first.points[0].point.model_copy(update={"label": "128 x 4", "parameters": {"local_x": 128, "local_y": 4}})
    refused = MeasuredPoint(point=key, skipped="step failed: clEnqueueNDRangeKernel failed: OUT_OF_RESOURCES")
    builds = tuple(
        Compilation(kernel="step", options=f"-D{number}", registers_per_work_item=count)
        for number, count in enumerate(registers)
    )
    lacking = first.model_copy(update={"points": (refused,), "compilation": builds})
    rows = appendix.skipped_table(report.model_copy(update={"measurements": (lacking,)})).rows
    (why,) = (why for _, points, why in rows if points == "128 x 4")

    assert why.startswith("Step failed: clEnqueueNDRangeKernel failed: OUT_OF_RESOURCES.")
    told = (
        "The compiled kernel uses 170 registers per work-item, 87040 for a work-group of 512; "
        "a compute unit has 65536, allocated to whole waves."
    )
    assert (told in why) is explained
    assert ("registers" in why) is explained


def test_a_fitted_plateau_is_labelled_and_has_the_best_sample_beside_it(report: Report) -> None:
    """In the appendix, in tables, and in the terminal."""
    plain = next(f for f in report.findings if f.position == "plateau" and f.basis == "specification")
    fitted = plain.model_copy(update={"observed": 9e12, "best_point": 4.5e12, "verdict": Verdict.OFF, "ratio": 2.0})
    text = "fitted, without launch cost; best sample 4.50 Tcell/s"
    told = report.model_copy(update={"findings": (fitted,)})

    assert fitted_text(plain) == ""
    assert text in observed_text(fitted)
    assert text in render_html(told)
    assert text in deviations_table(told).rows[0][3]


def test_the_terminal_has_the_best_sample_below_a_fitted_plateau(
    report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a row of its own."""
    plain = next(f for f in report.findings if f.position == "plateau")
    print_findings([plain.model_copy(update={"observed": 9e12, "best_point": 4.5e12, "unit": "B/s"})])

    (line,) = (line for line in capsys.readouterr().out.splitlines() if "best sample" in line)
    assert line.split() == ["fitted,", "without", "launch", "cost;", "best", "sample:", "4500", "GB/s"]


def test_families_of_the_appendix_are_numbered(report: Report) -> None:
    """Sections are found in their family's part, cliffs by kernel and searches in those after all of them."""
    found = curves(report)
    told = families(report, found, by_kind(found))
    where = places({"arithmetic": "A. Sums", "numbers": "B. All numbers"}, told)

    assert [where[family.anchor] for family in told] == [f"B.{number}" for number in range(1, len(told) + 1)]
    assert where[told[1].sections[0].anchor] == "B.2"
    last = [where["cliffs-by-kernel"], where["searches"]]
    assert (where["numbers"], last) == ("B", [f"B.{len(told) + 1}", f"B.{len(told) + 2}"])


def test_cases_are_drawn_if_any_is_a_surprise(report: Report) -> None:
    """Those that all agree share a note; a curve over sizes is none of them."""
    found = curves(report)
    cases = _with_cases(found[0])
    off = cases.pairs[0].main.model_copy(update={"verdict": Verdict.OFF})

    agreeing = _all_agree(cases)
    assert as_predicted([agreeing])
    assert not as_predicted([replace(agreeing, pairs=(*agreeing.pairs, FindingPair(off, None)))])
    assert not as_predicted([_all_agree(found[0])])
    (block,) = expected_blocks(report, [[agreeing]])
    assert block.notes[0].endswith(f"({len(cases.pairs)}).")
    assert expected_blocks(report, []) == []


def _with_cases(curve: CurveRecords) -> CurveRecords:
    """Return *curve* with its first value as two separate cases."""
    main = curve.pairs[0].main.model_copy(
        update={"feature": "rate", "position": "case", "level": Level(name="stride 2")}
    )
    return replace(curve, pairs=(FindingPair(main, None), FindingPair(main, None)))


def _all_agree(curve: CurveRecords) -> CurveRecords:
    """Return *curve* with pairs that agree."""
    mains = (pair.main.model_copy(update={"verdict": Verdict.AGREES, "ratio": 1.0}) for pair in curve.pairs)
    return replace(curve, pairs=tuple(FindingPair(main, None) for main in mains))
