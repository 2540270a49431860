"""Page one: whether the device is normal, the decisions, and how far to trust the predictions."""
# ruff: noqa: D103 - the names of the tests say what they check

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpureport.findings.key_figures import Estimate, KeyFigure, key_figures
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding, Verdict
from gpureport.records.keys import SweepKey
from gpureport.records.levels import Level
from gpureport.records.measurement import Conditions, Reading, Verification
from gpureport.records.provenance import Provenance
from gpureport.records.report import EntryMatch, Report, load_report
from gpureport.report.figures.essentials import essentials
from gpureport.report.pdf import layout
from gpureport.report.render import render_html
from gpureport.report.run.curves import FindingPair, curves, specified_values
from gpureport.report.run.decisions import (
    amount_of_work,
    another_device,
    bottleneck,
    decisions,
    work_group_size,
    working_set,
)
from gpureport.report.run.page_one import headline, page_one, trust_sentences
from gpureport.results.opening import open_report, predicted_report
from gpureport.spec.database import load_database
from gpureport.spec.models import CpuOccupancy, Device, Memory
from gpureport.workloads import select
from tests.make_report import make_report
from tests.page_boxes import boxes
from tests.toy import TOY

BASE = make_report(only=("game_of_life", "memory", "transpose"))
MEMORY = make_report(only=("memory",))
UNMEASURED = BASE.model_copy(update={"observations": (), "findings": (), "measurements": ()})
PREDICTED = predicted_report(MEMORY.device, select(("memory", "particles/arrays")), quick=True)
KIB, MIB = 1024.0, 1024.0**2


def figure(
    name: str, value: float, predicted: float = 100.0, others: tuple[float, ...] = (), unit: str = "B/s"
) -> KeyFigure:
    """Return a figure within 1 % of its value, predicted within 10 %."""
    return KeyFigure(
        name,
        unit,
        predicted,
        limit=unit != "s",
        predicted=Estimate(predicted, 0.9 * predicted, 1.1 * predicted),
        measured=Estimate(value, 0.99 * value, 1.01 * value),
        others=others,
    )


NORMAL = (figure("Memory read", 95.0), figure("Latency of L1", 1e-8, 1e-8, unit="s"))


def test_a_device_is_normal_if_no_figure_is_outside() -> None:
    text = headline(BASE, NORMAL, 0)

    assert "(2 compared)" in text
    assert text.endswith("behaves like a normal NVIDIA H200 SXM.")


@pytest.mark.parametrize(
    "changes",
    [
        {"match": BASE.match.model_copy(update={"draft": True})},
        {"status": "partial"},
        {"findings": (BASE.findings[0].model_copy(update={"verdict": Verdict.ERROR}),)},
    ],
    ids=["draft", "partial", "error"],
)
def test_nothing_is_called_normal_that_may_not_be(changes: dict[str, object]) -> None:
    text = headline(BASE.model_copy(update=changes), NORMAL, 0)

    assert "(2 compared)" in text
    assert "normal" not in text
    assert ("in error because they are faster" in text) is ("findings" in changes)


def test_figures_outside_their_intervals_are_named_with_their_side() -> None:
    text = headline(BASE, (*NORMAL, figure("Memory write", 50.0), figure("L2 read", 180.0)), 0)

    assert text.startswith("2 of 4 key figures are consistent")
    assert "Slower than predicted: Memory write (5.00e-08 GB/s, not 1.00e-07 GB/s)." in text
    assert "Faster than predicted: L2 read" in text
    assert "normal" not in text


def test_figures_are_compared_with_kept_reports() -> None:
    alike = headline(BASE, (figure("Memory read", 95.0, others=(94.0, 96.0)), NORMAL[1]), 2)
    slower = headline(BASE, (figure("Memory read", 95.0, others=(120.0, 130.0)), NORMAL[1]), 2)

    assert "No key figure is more than 5 % outside the range of 2 kept reports of this model (1 compared)." in alike
    assert "Outside the range of 2 kept reports" in slower
    assert "Memory read" in slower
    assert "kept" not in headline(BASE, NORMAL, 0)


@pytest.mark.parametrize(("share", "said"), [(0.96, False), (0.8, True)])
def test_a_low_clock_is_abnormal(share: float, said: bool) -> None:
    clock = BASE.device.clock_hz * share
    readings = tuple(Reading(at_s=i, measuring=True, clock_hz=clock, throttle_reasons=()) for i in range(3))
    report = BASE.model_copy(update={"conditions": (Conditions(workload="a/b", readings=readings),)})

    assert ("20 % below" in headline(report, NORMAL, 0)) is said


def test_the_headline_says_what_was_not_measured() -> None:
    skipped = BASE.model_copy(update={"observations": (), "findings": ()})
    empty = skipped.model_copy(update={"workloads": {}, "measurements": (), "predictions": ()})

    assert headline(skipped, (), 0) == "Nothing was measured: every workload was skipped."
    assert headline(empty, (), 0) == "Nothing was measured: no workload was run."
    assert headline(PREDICTED, key_figures(PREDICTED), 0) == "Predicted from the database entry; nothing was measured."


def cliff(
    position: str, observed: float | None, level: str | Level = "L2", unit: str = "B", width: float = 0.02
) -> Finding:
    """Return a finding on read bandwidth."""
    low, high = (observed * (1 - width), observed * (1 + width)) if observed else (None, None)
    return Finding.model_validate(
        {
            "key": SweepKey(family="memory", variant="read", sweep="size"),
            "feature": "rate" if position == "plateau" else "cliff",
            "position": position,
            "level": level,
            "basis": "specification",
            "predicted": 60 * MIB if unit == "B" else 1e12,
            "observed": observed,
            "ci_low": low,
            "ci_high": high,
            "unit": unit,
            "ratio": None,
            "verdict": Verdict.AGREES,
            "explanation": "",
        }
    )


def working_set_of(*findings: Finding) -> str:
    report = MEMORY.model_copy(update={"findings": findings})
    return working_set(report, curves(report))


def test_the_working_set_is_that_of_the_onset() -> None:
    text = working_set_of(
        cliff("onset", 40 * MIB),
        cliff("midpoint", 50 * MIB),
        cliff("plateau", 8e12, unit="B/s"),
        cliff("plateau", 2e12, "DRAM", unit="B/s"),
    )

    beyond = "beyond, read bandwidth falls to 25 %; half-way at 50 MiB"
    assert text == f"Keep the working set below 40 MiB in total to stay in L2 ({beyond})."


def test_a_wide_interval_of_an_onset_is_written() -> None:
    assert "(95 % interval: 20 MiB to 60 MiB)" in working_set_of(cliff("onset", 40 * MIB, width=0.5))


def test_missing_and_unexplained_transitions_are_reported() -> None:
    text = working_set_of(cliff("onset", None), cliff("onset", 30 * MIB, Level.unexplained(32 * MIB)))

    assert "Keep" not in text
    assert "Read bandwidth shows no transition of the L2 (predicted from 60 MiB in total)." in text
    assert "also falls from 30 MiB in total, which matches no cache" in text


def test_predictions_are_labelled() -> None:
    found = curves(PREDICTED)
    texts = {each.about: each.text for each in decisions(PREDICTED, found, key_figures(PREDICTED))}

    assert list(texts) == ["Working set", "Work-group size", "Amount of work", "Bottleneck", "Another device"]
    assert texts["Working set"].startswith("Predicted: keep the working set below ")
    assert "per compute unit to stay in L1" in texts["Working set"]
    assert texts["Work-group size"].startswith("Predicted: ")
    assert "are predicted to reach 90 %" in texts["Amount of work"]
    assert "gpureport compare" not in texts["Another device"]


def test_one_size_is_given_with_its_largest_losses() -> None:
    text = work_group_size(BASE)

    assert " work-items, in the best shape of each kernel, are within 3 % of the best size in " in text
    assert work_group_size(UNMEASURED).startswith("Predicted: ")
    assert work_group_size(BASE.model_copy(update={"observations": (), "predictions": ()})) == ""


def work(report: Report, *values: float) -> str:
    """Return the sentence on a report of which the sweeps have tapers at *values*."""
    tapers = [f for f in report.findings if f.position == "n90" and f.basis == "specification"]
    findings = tuple(f.model_copy(update={"observed": value}) for f, value in zip(tapers, values, strict=False))
    changed = report.model_copy(update={"findings": findings})
    return amount_of_work(changed, curves(changed))


def test_full_occupancy_is_not_the_amortised_launch_cost() -> None:
    text = work(BASE, 1e5, 2e6, 4e6)

    assert text.startswith("270 k work-items fill all compute units (full occupancy).")
    assert "at 100 k (game_of_life/naive) to 4 M work-items" in text
    assert "median 2 M." in text
    assert "In 2 of 3 sweeps, n90 exceeds the resident capacity." in text
    assert "exceeds" not in work(BASE, 1e5, 2e5)
    assert work(BASE) == "270 k work-items fill all compute units (full occupancy)."


def test_a_cpu_has_no_resident_capacity() -> None:
    rules = CpuOccupancy(local_memory_bytes=65536)
    cpu = BASE.device.architecture.model_copy(update={"occupancy": rules})
    report = BASE.model_copy(update={"device": BASE.device.model_copy(update={"architecture": cpu})})

    assert work(report, 1e5, 2e6).startswith("Kernels reach 90 %")
    assert work(report) == ""


def test_kernels_that_memory_limits_are_compared_with_the_copy() -> None:
    report = make_report(only=("particles",))
    copy = replace(figure("Memory copy", 90.0), specification=100.0)
    text = bottleneck(report, curves(report), (copy,), device_bandwidth=4.8e12)

    assert "memory bandwidth (2 of 2)." in text
    assert "of copy bandwidth" in text
    assert "of copy bandwidth" not in bottleneck(report, curves(report), (), device_bandwidth=4.8e12)
    assert bottleneck(BASE, (), (), device_bandwidth=1.0) == ""


def test_trust_counts_each_feature_once() -> None:
    first, features, *own = trust_sentences(BASE)
    pairs = {(f.key, f.feature, f.level) for f in BASE.findings if f.basis == "specification"}

    points = sum(len(o.points) for o in BASE.observations)
    assert first.count(f"({points} points)") == 2
    assert (
        f" of {len(pairs)} compared features are within a factor of 1.2 of the prediction, 0 more only within"
        in features
    )
    assert own == []


def test_wrong_results_and_hostile_names_are_escaped_and_complete() -> None:
    check = Verification(passed=False, cases=("1 x 1",), message="differs")
    first = BASE.measurements[0].model_copy(update={"points": (), "verification": check})
    caches = tuple(c.model_copy(update={"name": "<b>L2"}) if c.name == "L2" else c for c in BASE.device.caches)
    hostile = BASE.device.model_copy(update={"name": "<i>x", "caches": caches})
    report = BASE.model_copy(update={"measurements": (first, *BASE.measurements[1:]), "device": hostile})
    html = render_html(report)
    page = html[: html.index('class="contents"')]

    assert "Wrong results</strong>" in page
    assert "<b>L2" not in page
    assert "<i>x" not in page


def test_the_table_has_a_column_of_other_devices_only_with_kept_reports() -> None:
    found = curves(MEMORY)
    alone, two = page_one(MEMORY, found, ()), page_one(MEMORY, found, (MEMORY.findings, MEMORY.findings))
    html = render_html(MEMORY, (MEMORY.findings, MEMORY.findings))

    assert {row.others for row in alone.figures} == {"—"}
    assert two.others == 2
    assert "GB/s" in two.figures[0].others
    assert "others (2)</th>" in html
    assert "others (" not in render_html(MEMORY)
    assert (alone.figures[-1].predicted, alone.figures[-1].measured) == ("exact", "—")


def test_one_statement_gives_the_usable_part_of_a_hidden_cache() -> None:
    """What the machine found and what was predicted; the assumption of the entry and the cliff are not repeated."""
    report = kept("pocl-xeon-16-cores")
    found = curves(report)
    page, text = page_one(report, found, ()), working_set(report, found)

    assert page.remarks == ()
    assert text.count("L3") == 1
    assert "Usable L3: one thread can use about 4.4 MiB of 300 MiB. There, the latency" in text
    unmeasured = page_one(report.model_copy(update={"observations": ()}), found, ())
    assert unmeasured.remarks == report.match.notes != ()


def test_the_name_of_a_runtime_is_told_from_the_type_of_core() -> None:
    """Only where they differ; only PoCL's names contain an instruction set."""
    report = kept("pocl-xeon-16-cores-quick")
    text = page_one(report, curves(report), ()).names
    core = report.device.architecture.model_copy(update={"name": "Intel Skylake-AVX512"})
    same = report.model_copy(update={"device": report.device.model_copy(update={"architecture": core})})

    assert "skylake-avx512 is the instruction set" in text
    assert "(Intel Emerald Rapids)" in text
    assert page_one(same, curves(same), ()).names == page_one(BASE, curves(BASE), ()).names == ""


def test_empty_kernels_have_no_line_in_the_figure() -> None:
    """Their n90 is no part of the range of page one either."""
    report = kept("pocl-xeon-16-cores-quick")
    drawn = essentials(curves(report), str, report.device)

    assert drawn
    assert {line.name for line in drawn.work} == {"memory", "bit_transpose", "game_of_life", "particles"}


def test_only_observed_kernels_and_certain_values_are_drawn() -> None:
    """Kernels that the device lacks were only predicted; page one counts the n90 that it leaves out."""
    report = kept("pocl-epyc-2-cores")
    found = curves(report)
    drawn = essentials(found, str, report.device)

    assert drawn
    assert all(line.observed and line.certain for line in drawn.work)
    assert re.search(r"; \d+ uncertain n90 are left out\.", amount_of_work(report, found))


@pytest.mark.parametrize(("factor", "certain"), [(1.2, False), (1.3, True)])
def test_an_n90_near_the_start_of_a_sweep_is_uncertain_in_text_and_figure(factor: float, certain: bool) -> None:
    """Fewer work-items may reach as much: it is neither marked nor part of the range."""
    (curve, *_) = (c for c in curves(BASE) if c.key.family == "game_of_life" and specified_values([c], "n90"))
    assert curve.observation
    begin = min(point.point.work_items for point in curve.points)
    narrow = {"ci_low": 0.99 * factor * begin, "ci_high": 1.01 * factor * begin}
    (finding,) = (f.model_copy(update={"observed": factor * begin, **narrow}) for f in specified_values([curve], "n90"))
    (feature,) = (f for f in curve.observation.features if f.position == "n90")
    feature = feature.model_copy(update={"value": factor * begin, **narrow})
    seen = curve.observation.model_copy(update={"features": (feature,)})
    found = [replace(curve, observation=seen, pairs=(FindingPair(finding, None),))]
    drawn = essentials(found, str, BASE.device)

    assert drawn
    assert [line.certain for line in drawn.work] == [certain]
    assert ("reach 90 %" in amount_of_work(BASE, found)) is certain
    forecast = BASE.model_copy(update={"observations": ()})
    assert curve.specification
    early = curve.specification.model_copy(update={"features": (feature,)})
    only = [replace(curve, specification=early, calibrated=None, observation=None, measurement=None, pairs=())]
    drawn = essentials(only, str, BASE.device)
    assert drawn
    assert [line.certain for line in drawn.work] == [certain]
    assert ("predicted to reach 90 %" in amount_of_work(forecast, only)) is certain


def test_an_onset_beyond_the_capacity_is_no_advice() -> None:
    """The capacity is, because the onset is interpolated between two sizes."""
    report = kept("pocl-epyc-2-cores")
    text = working_set(report, curves(report))

    assert "below 32 KiB (the capacity) per compute unit to stay in L1 (" in text
    assert re.search(r"the first slows down at [\d.]+ MiB \(\S+\), the last at ", text)


def test_page_one_gives_the_rise_of_latency_and_the_ridge_point() -> None:
    """Latency rises before read bandwidth falls where the L2 has partitions."""
    report = kept("nvidia-h200")
    found = curves(report)
    text = bottleneck(report, found, key_figures(report), device_bandwidth=report.device.memory.bandwidth_bytes_per_s)

    assert re.search(r"the latency of dependent loads rises from 2\d(\.\d)? MiB", working_set(report, found))
    assert re.search(r" Below 1\d(\.\d)? fp32 operations \(multiply-adds\) per byte read from memory, ", text)


def test_a_cpu_is_not_predicted_on_another_machine() -> None:
    """Its entry stands for the machine on which the prediction runs."""
    assert another_device(kept("pocl-epyc-2-cores")) == "Compare with “gpureport compare REPORT OTHER”."


def test_a_published_feature_without_a_unit_of_bytes_has_no_working_set() -> None:
    feature = CurveFeature(feature="taper", position="n90", level="device", value=1e5, unit="work-items")
    only = tuple(p.model_copy(update={"features": (feature,)}) for p in PREDICTED.predictions)
    report = PREDICTED.model_copy(update={"predictions": only})

    assert working_set(report, curves(report)) == ""


def kept(name: str) -> Report:
    """Return a kept report without what page one does not show."""
    report = load_report(Path(__file__).parents[1] / "reports" / name)
    return report.model_copy(update={"evidence": (), "explanations": ()})


def unknown_gpu() -> Report:
    """Return the report of a GPU that the database lacks."""
    match = EntryMatch(entry=None, how="No entry matches the device (PCI id 10de:2330).", draft=True, notes=())
    return kept("nvidia-h100").model_copy(update={"match": match, "measurements": (), "conditions": ()})


@pytest.mark.parametrize(
    "report",
    [lambda: kept("nvidia-h200"), lambda: kept("pocl-xeon-2-cores"), unknown_gpu],
    ids=["GPU", "CPU", "unknown"],
)
def test_page_one_is_one_page_with_its_figure(report: Callable[[], Report]) -> None:
    html = render_html(report())
    first = html[: html.index('class="contents"')] + "></nav></body></html>"
    (page,) = layout(first).pages

    lines = [box.text for box in boxes(page._page_box) if type(box).__name__ == "TextBox"]
    text = " ".join(lines)
    assert "Trust." in lines
    assert "within the 95" in text
    assert "hollow: predicted" in text


def test_a_prediction_has_answers_and_no_measurements() -> None:
    html = render_html(PREDICTED)
    titles = dict(re.findall(r'<h2 id="([a-z]+)">([^<]*)</h2>', html))

    assert not any("measurement" in title for title in titles.values())
    for anchor in ("caches", "groups", "limits", "trust"):
        assert f'<h2 id="{anchor}">{titles[anchor]}</h2>\n<p class="answer">' in html


def test_a_published_record_begins_with_its_statements() -> None:
    report = open_report(
        Path(__file__).parents[1] / "reports" / "published" / "rtx_2060_bit_transpose.yaml", load_database
    )
    assert report.publication is not None

    text = headline(report, key_figures(report), 0, curves(report))
    compared = sum(bool(statement.about) for statement in report.publication.statements)
    assert re.match(rf"The predictions match the published values of \d of {compared} ", text)
    assert "wrong results" not in text


def test_devices_with_higher_specifications_are_counted() -> None:
    """The highest of each kind is named; devices of another kind, and the device itself, do not count."""
    device = MEMORY.device
    faster = device.model_copy(update={"id": "x/1", "name": "Faster", "memory": times(device, 1.5)})
    fastest = device.model_copy(update={"id": "x/2", "name": "Fastest", "memory": times(device, 3.0)})
    slower = device.model_copy(update={"id": "x/3", "clock_hz": device.clock_hz / 2, "memory": times(device, 0.5)})
    processor = device.model_copy(update={"id": "x/4", "kind": "cpu", "memory": times(device, 9.0)})

    text = another_device(MEMORY, (device, faster, fastest, slower, processor))

    assert "Of 3 other GPUs" in text
    assert "2 have a higher memory bandwidth (at most 3.00 times: Fastest)" in text
    assert "none has a higher fp32 rate" in text
    assert another_device(MEMORY) in text


def times(device: Device, factor: float) -> Memory:
    """Return the memory of *device* with another bandwidth."""
    memory = device.memory
    return memory.model_copy(update={"bandwidth_bytes_per_s": memory.bandwidth_bytes_per_s * factor})


def test_values_of_a_draft_are_no_specification() -> None:
    """Assumed limits give no efficiency, and no comparison with specified devices; exceeding them is no error."""
    device = MEMORY.device
    assumed = {**device.provenance, "memory.bandwidth": Provenance(kind="assumed", source="like others")}
    match = EntryMatch(entry=None, how="No entry matches.", draft=True, notes=())
    draft = MEMORY.model_copy(update={"match": match, "device": device.model_copy(update={"provenance": assumed})})
    page, drafted = (page_one(report, curves(report), (), (device, TOY)) for report in (MEMORY, draft))

    assert any(row.efficiency.endswith("%") for row in page.figures)
    assert {row.efficiency for row in drafted.figures} == {"—"}
    assert "Efficiency: not given" in drafted.note
    assert not any("by specification" in each.text for each in drafted.decisions)
