"""Page one: whether the device is normal, the decisions, and how far to trust the predictions."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpureport.findings.key_figures import Estimate, KeyFigure, Quantity
from gpureport.glossary import find_term
from gpureport.records.curves import CurveFeature, Level
from gpureport.records.finding import Verdict
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import Report
from gpureport.report.curves import curves, reading_units, specified_values
from gpureport.report.figures.runs import working_set_chart, working_sets
from gpureport.report.run.caches import ReadCliff, read_cliffs
from gpureport.report.run.conditions import Disturbed
from gpureport.report.run.page_one import (
    State,
    advice,
    figure_table,
    first_figure,
    first_kernels,
    headline,
    median_clock_hz,
    page_one,
    sides,
    slowdowns,
    state,
)
from gpureport.report.run.trust import measured_on_such
from gpureport.report.run.work import amount_of_work, enough_work, full_occupancy
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.words import TIMES
from gpureport.results.opening import kept_results, predicted
from gpureport.spec.models import EntryMatch
from gpureport.spec.values import Provenance
from gpureport.workloads import select
from tests.builders import altered
from tests.kept import CPU, GPU, NAMES, database, kept, kept_html, record, render_html
from tests.make_report import make_report

BASE = make_report(only=("game_of_life", "memory", "transpose"))
MEMORY = make_report(only=("memory",))
MIB = 1024.0**2


def figure(quantity: Quantity, value: float, predicted: float = 100.0, unit: str = "B/s") -> KeyFigure:
    """Return a figure within 1 % of its value, predicted within 10 %."""
    return KeyFigure(
        quantity,
        "L1" if unit == "s" else "Memory",
        unit,
        predicted,
        limit=unit != "s",
        predicted=Estimate(predicted, 0.9 * predicted, 1.1 * predicted),
        measured=Estimate(value, 0.99 * value, 1.01 * value),
    )


NORMAL = (figure(Quantity.READ, 95.0), figure(Quantity.LATENCY, 1e-8, 1e-8, unit="s"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, State.NORMAL),
        ({"match": BASE.match.model_copy(update={"draft": True})}, State.UNCLEAR),
        ({"status": "partial"}, State.UNCLEAR),
        ({"findings": (BASE.findings[0].model_copy(update={"verdict": Verdict.ERROR}),)}, State.UNCLEAR),
        ({"observations": ()}, State.NOTHING),
        ({"observations": (), "measurements": (), "machine": None}, State.PREDICTED),
    ],
    ids=["normal", "draft", "partial", "error", "nothing", "predicted"],
)
def test_a_device_is_called_normal_unless_something_forbids_it(changes: dict[str, object], expected: State) -> None:
    assert state(BASE.model_copy(update=changes), NORMAL) == expected


def test_a_device_is_normal_only_after_a_strong_test() -> None:
    weak = tuple(replace(each, predicted=Estimate(100.0, 50.0, 200.0), measured=Estimate(95.0)) for each in NORMAL)
    seen = tuple(replace(each, seen=True) for each in NORMAL)

    assert state(BASE, weak) == state(BASE, seen) == State.PLAUSIBLE


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"measured": Estimate(50.0)}, State.SLOWER),
        ({"measured": Estimate(200.0)}, State.FASTER),
    ],
)
def test_a_device_is_slower_or_faster_than_expected(changed: dict[str, Any], expected: State) -> None:
    assert state(BASE, (replace(NORMAL[0], **changed), *NORMAL)) == expected


def test_the_verdict_names_what_is_slower_and_what_is_faster_the_worst_first() -> None:
    fast, slow, slowest = figure(Quantity.WRITE, 200.0), figure(Quantity.READ, 50.0), figure(Quantity.COPY, 40.0)
    assert state(BASE, (fast, slow, slowest)) == State.MIXED
    said = headline(BASE, (fast, slow, slowest))[0]
    assert re.fullmatch(r"Slower: Memory copy \(.*, not .*\), Memory read\. Faster: Memory write \(.*\)\.", said)
    cpu = page_one(kept(CPU), curves(kept(CPU)))
    assert cpu.state == State.MIXED
    assert cpu.headline[0].startswith("Slower: Memory read (70 % of typical). Faster: ")
    assert cpu.headline[1].startswith("Other figures agree with wide predicted intervals or typical values.")
    idle = page_one(kept("pocl-epyc-2-cores"), curves(kept("pocl-epyc-2-cores")))
    assert "Memory read (77 % of typical) with 20 % of samples discarded. Faster: " in idle.headline[0]


OWN = {name: info.model_copy(update={"described": True}) for name, info in BASE.workloads.items()}
ERRONEOUS = tuple(altered(each, verdict=Verdict.ERROR) if each.specified else each for each in BASE.findings)
SLOW, WEAK = figure(Quantity.READ, 50.0), replace(NORMAL[0], seen=True)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (NORMAL, "All 2 figures are as predicted, 2 by independent predictions narrow enough to show a defect."),
        (
            (*NORMAL[:1], WEAK),
            "All 2 figures are as predicted, 1 by an independent prediction narrow enough to show a defect.",
        ),
        ((WEAK,), "The one figure is as predicted, but no prediction is a strong test."),
    ],
)
def test_the_verdict_counts_figures_and_strong_tests(figures: tuple[KeyFigure, ...], said: str) -> None:
    assert headline(BASE, figures)[0] == said


@pytest.mark.parametrize(
    ("figures", "quick", "changes", "clock_hz", "said"),
    [
        (NORMAL, True, {}, None, ""),
        ((SLOW,), False, {}, None, "Close other programs and repeat."),
        ((SLOW,), True, {}, None, "Close other programs and repeat without --quick."),
        ((SLOW,), False, {}, 1e8, "Check cooling and power limit, close other programs and repeat."),
        ((WEAK,), True, {}, None, "Repeat without --quick."),
        ((WEAK,), False, {}, None, ""),
        ((figure(Quantity.READ, 200.0),), False, {}, None, "Repeat."),
        (NORMAL, False, {"findings": ERRONEOUS}, None, "Compare the entry with the data sheet and repeat."),
        (NORMAL, True, {"status": "partial"}, None, "Continue the run with --resume."),
        (NORMAL, True, {"status": "partial", "workloads": OWN}, None, "Repeat without --quick."),
        (NORMAL, False, {"match": BASE.match.model_copy(update={"draft": True})}, None, "devices new --report."),
        ((SLOW,), True, {"observations": (), "measurements": (), "machine": None}, None, ""),
    ],
)
def test_a_device_that_is_not_called_normal_has_an_action(
    figures: tuple[KeyFigure, ...], quick: bool, changes: dict[str, object], clock_hz: float | None, said: str
) -> None:
    settings = BASE.settings.model_copy(update={"quick": quick})
    found = " ".join(headline(BASE.model_copy(update={**changes, "settings": settings}), figures, (), clock_hz))
    assert found.endswith(said or ".")
    assert ("epeat" in found) is ("epeat" in said)


@pytest.mark.parametrize(("share", "expected"), [(0.96, State.NORMAL), (0.8, State.SLOWER)])
def test_a_low_clock_is_abnormal(share: float, expected: State) -> None:
    clock = BASE.device.clock_hz * share
    readings = tuple(Reading(at_s=i, measuring=True, clock_hz=clock, throttle_reasons=()) for i in range(3))
    report = BASE.model_copy(update={"conditions": (Conditions(workload="a/b", readings=readings),)})

    median = median_clock_hz(report)
    assert state(report, NORMAL, median) == expected
    said = " ".join(headline(report, NORMAL, clock_hz=median))
    assert ("20 % below" in said) is (expected is State.SLOWER)
    assert "or throttling" in said


def texts_of(html: str) -> list[str]:
    """Return the words of page one, without its title, figure and links to chapters."""
    page = html[html.index("</h1>") : html.index('<span class="next">')]
    page = re.sub(r"<figure>.*?</figure>", " ", page, flags=re.DOTALL)
    return re.sub(rf"(\d){TIMES}(\d)", r"\1x\2", re.sub(r"<[^>]+>", " ", page)).split()


RTX_4090, XTX, DISTURBED = "nvidia/rtx_4090", "amd/rx_7900_xtx", "pocl-xeon-2-cores-quick"
_UNIT = re.compile(r"[kMGTµn]?(i?B|FLOP|op|s)(/s)?,?")


@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize(
    "name",
    [RTX_4090, XTX, *(n if n in (GPU, CPU, DISTURBED) else pytest.param(n, marks=pytest.mark.slow) for n in NAMES)],
)
def test_page_one_is_short(name: str) -> None:
    """A warning of disturbed measurements, with its marks, comes on top of the limits."""
    cards = [database().device(name)] if name in (RTX_4090, XTX) else []
    html = render_html(predicted(cards[0], select(()), quick=True)[0]) if cards else kept_html(name)
    every = texts_of(html)
    if name == RTX_4090:
        page = " ".join(every)
        assert "128 compute units at 2.52 GHz, 100 KiB local memory each · 24 GiB · 450 W" in page
        assert "memory read specification: 1008 GB/s 82.3 TFLOP/s fp32 specification: 82.6 TFLOP/s" in page
        assert "(OpenCL: mma.sync) (115 to 234), specification: 165 TFLOP/s (fp32 sums)" in page
        assert "95 % intervals of key figures: within a factor of 1.25 unless given" in page
        assert "≈ 52 TFLOP/s (three registers)" in page
        assert "Inputs: 52 % documented, 20 % assumed, others mostly derived or measured elsewhere." in page
        assert "one GiB copied in device memory: 2.29 ms" in page
    numbers = [each for each in every if re.search(r"(?<![A-Za-z.\d])\d", each)]
    words = [each for each in every if re.search("[A-Za-z]{2}", each) and not _UNIT.fullmatch(each)]

    more_words, more_numbers = (25, 5) if "Disturbed measurements" in html else (0, 0)
    assert 20 <= len(numbers) <= 50 + more_numbers
    assert 80 <= len({*words} - {*numbers}) <= len([each for each in words if each not in numbers]) <= 160 + more_words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("apple/m1", "fp32 (2.0 to 3.4), entry: 2.62 TFLOP/s"),  # measured by others
        ("nvidia/gh200", "(334 to 1146), specification: 989 TFLOP/s (libraries: wgmma)"),
    ],
)
def test_only_documented_peaks_are_the_specification(name: str, said: str) -> None:
    workloads = select(("instructions/rate", "matrix/rate"))
    assert said in " ".join(texts_of(render_html(predicted(database().device(name), workloads, quick=True)[0])))


@pytest.mark.xdist_group("documents")
def test_an_interval_of_more_than_ten_per_cent_on_one_side_is_shown() -> None:
    assert Estimate(59.3, 58.8, 66.2).side > 1.1 > Estimate(59.3, 58.8, 65.0).side > Estimate(59.3).side
    assert "137 GFLOP/s (70 to 141)" in " ".join(texts_of(kept_html(DISTURBED)))


@pytest.mark.parametrize(
    ("report", "has"),
    [
        (lambda: kept(GPU), True),
        (lambda: kept(CPU), True),  # known to be not supported
        (lambda: predicted(database().device(RTX_4090), select(("memory",)), quick=True)[0], True),
        (lambda: predicted(database().device("nvidia/gtx_1060_6gb"), select(("memory",)), quick=True)[0], False),
        (lambda: record("a40_memory"), False),
    ],
    ids=["gpu", "cpu", "predicted", "without", "published"],
)
def test_a_matrix_unit_is_missed_only_where_one_is_listed(report: Callable[[], Report], has: bool) -> None:
    assert ("matrix unit" in page_one(report(), curves(report())).large) is has


def test_advice_is_marked_if_its_workloads_were_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    def marked(*names: str) -> set[str]:
        found = [Disturbed(name, 10, 10, 0, affected=True, causes=()) for name in names]
        monkeypatch.setattr("gpureport.report.run.page_one.affected", lambda _: found)
        rows = advice(BASE, curves(BASE), NORMAL, read_cliffs(BASE, curves(BASE)))
        return {row.subject for row in rows if row.disturbed}

    assert marked() == set()
    assert marked("memory/latency") == {"Working set"}
    assert marked(enough_work(BASE, curves(BASE))[0][1]) >= {"Work-items"}


def test_the_figure_marks_no_onset_beyond_a_capacity() -> None:
    card = database().device(RTX_4090)
    chart = working_set_chart(working_sets(curves(predicted(card, select(("memory",)), quick=True)[0])), card)
    marks = [mark for column in chart.columns for panel in column for mark in panel.marks if not mark.dashed]
    named = {cache.name: cache.capacity_bytes for cache in card.caches}
    assert marks
    assert not [mark for mark in marks if named["L1"] < mark.start < 4 * named["L1"]]


@pytest.mark.parametrize(
    ("kernels", "said"), [(20, "18: 90 % of peak in nine of ten kernels"), (3, "3: 90 % of peak where n90 is certain")]
)
def test_the_work_items_suffice_for_most_kernels(kernels: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(float(number), "a/b") for number in range(1, kernels + 1)]
    monkeypatch.setattr("gpureport.report.run.page_one.enough_work", lambda *_: found)
    (row,) = (row for row in advice(BASE, curves(BASE), NORMAL, []) if row.subject == "Work-items")
    assert row.text.startswith(f"≥ {said}; ≥ ")


def test_page_one_has_the_latency_of_memory_if_its_figure_has_none() -> None:
    """It is of kernels of the user, if these were measured too."""
    words, found = "game_of_life/words", select(("memory", "game_of_life/words"))
    report = predicted(database().device(RTX_4090), found, quick=True)[0]
    own = report.workloads[words].model_copy(update={"described": True})
    both = report.model_copy(update={"workloads": {**report.workloads, words: own}})
    said = [" ".join(texts_of(render_html(each))).partition("Trust.")[0] for each in (report, both)]
    assert ["Memory latency" in each for each in said] == [False, True]


@pytest.mark.xdist_group("documents")
def test_page_one_says_what_was_not_measured_and_names_a_virtual_machine() -> None:
    cpu, gpu = (" ".join(texts_of(kept_html(name))) for name in (CPU, GPU))
    assert "Not measured: fp16, launch interval, power." in cpu
    assert "AMD Zen 4 (8 fp32 lanes) · virtual machine with 2 processors · 19 GiB" in cpu
    assert "Close other programs and repeat without --quick. See reliability" in cpu
    assert "All 33 figures are as predicted, 8 by independent predictions narrow enough to show a defect." in gpu
    assert "51 °C. Not tested: most memory, endurance, GPU links, ECC counters." in gpu
    assert "Not tested: most memory, endurance, error counters. Close" in cpu
    assert "no remapped rows · GPU-a6751b5a · NVIDIA CUDA" in gpu
    assert "712 W (limit 700 W)" in gpu
    assert "from device (pinned) 55.5 GB/s, 55.4 GB/s 88 %" in gpu
    assert "fp16, packed (inline PTX) 132" in gpu
    assert "97 % of specification 40.1 TFLOP/s (three registers)" in gpu
    assert "from device (ordinary) ≈ 7.0 GB/s, 8.3 GB/s Launch" in gpu
    assert "bf16 (OpenCL: mma.sync) 65 % of specification (wgmma)" in gpu
    assert "of 60 MiB usable L2 latency rises earlier Tune for Working set reads ≤ 213 KiB (L1," in gpu
    assert "Not measured" not in gpu
    assert "virtual machine" not in gpu


@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize("name", [GPU, CPU, RTX_4090])
def test_the_glossary_has_the_words_of_page_one(name: str) -> None:
    """The labels of both tables, but for two that are plain words, and words in their texts."""
    report = kept(name) if name != RTX_4090 else predicted(database().device(name), select(()), quick=True)[0]
    page = page_one(report, curves(report))
    labels = {row.subject for row in page.advice} - {"Example", "Avoid"}
    labels |= {word.strip() for row in page.rows for word in re.split(r"[(),]", row) if word.strip()}
    labels |= {"packed", "usable", "registers", "atomics", "bank conflicts", "strided reads", "mma.sync"}
    assert [label for label in labels if not find_term(label)] == []


def test_of_a_processor_only_the_matrix_unit_is_not_usable() -> None:
    page = render_html(kept(CPU).of_workloads("memory/copy"))
    assert [page.count(f"<br />{what}</span>") for what in ("not measured", "none that OpenCL reaches")] == [2, 1]


def cliff(level: str, capacity: float, onset_at: float, latency_at: float | None) -> ReadCliff:
    cache = next(cache for cache in MEMORY.device.caches if cache.name == level)
    at = [
        value and CurveFeature(feature="cliff", position="onset", level=Level(name=level), value=value, unit="B")
        for value in (onset_at, latency_at)
    ]
    resized = cache.model_copy(update={"capacity_bytes": capacity})
    assert at[0]
    return ReadCliff(
        resized, at[0], is_of_latency=False, readers=None, beyond=0.5, midpoint=at[0], latency_onset=at[1] or None
    )


@pytest.mark.parametrize(
    ("onset_at", "latency_at", "least"),
    [(179.0, 103.0, 103.0), (179.0, 140.0, 128.0), (179.0, None, 128.0), (120.0, 125.0, 120.0)],
)
def test_a_working_set_stays_below_the_earliest_onset_and_the_capacity(
    onset_at: float, latency_at: float | None, least: float
) -> None:
    found = cliff("L1", 128.0, onset_at, latency_at)
    assert found.keep_below_bytes == least
    if latency_at and latency_at < onset_at:  # an uncertain rise is not significantly earlier
        uncertain = found._replace(latency_onset=altered(found.latency_onset, ci_low=100.0, ci_high=400.0))
        assert uncertain.keep_below_bytes == min(128.0, onset_at)


def test_discarded_samples_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Disturbed("memory/read", 60, 0, 40, affected=False, causes=()),)
    monkeypatch.setattr("gpureport.report.run.page_one.disturbed", lambda _: found)
    html = " ".join(texts_of(render_html(kept(GPU))))
    assert "40 disturbed samples discarded (other processes: ≤" in html
    assert "228 KiB local memory each, 48 KiB per work-group" in html


@pytest.mark.parametrize(
    ("device", "registers", "local_bytes"),
    [
        ("nvidia/h200_sxm", 32, 106),  # 65,536 and 228 KiB for 2048 work-items
        ("nvidia/rtx_4090", 40, 58),  # 65,536 and 100 KiB for 1536
        ("amd/rx_5700_xt", 48, 48),  # 128 KiB for 20 groups of 128, in multiples of 512 B
        ("intel/hd_630", 0, 64),  # 64 KiB for 7 groups of 128, in powers of two
    ],
)
def test_full_occupancy_allows_registers_and_local_memory(device: str, registers: int, local_bytes: int) -> None:
    """Registers come in steps of 8; a group reserves 1 KiB of local memory."""
    assert full_occupancy(database().device(device)) == (registers, local_bytes)


def test_local_memory_at_full_occupancy_is_that_of_the_advised_work_group() -> None:
    h200 = database().device("nvidia/h200_sxm")
    assert [full_occupancy(h200, group)[1] for group in (128, 256, 768)] == [106, 110, 106]
    assert "110 B local memory" in " ".join(texts_of(kept_html(GPU)))


def test_the_verdict_on_a_cpu_uses_what_page_one_calls_typical_and_names_what_to_do() -> None:
    """Reads at the largest size reach 30 to 54 GB/s, typical are 48; L3's plateau begins beyond its usable part."""
    cpu = page_one(kept("pocl-5-epyc-2-cores"), curves(kept("pocl-5-epyc-2-cores")))
    off = {figure.name for side in sides(kept("pocl-5-epyc-2-cores"), cpu.figures).values() for figure in side}
    assert off == {"Empty kernel, start to end"}
    (l3,) = (figure for figure in cpu.figures if figure.name == "Latency of L3")
    assert l3.measured
    assert l3.measured.ends[1] < 86e-9  # of the plateau
    others = [page_one(kept(name), curves(kept(name))) for name in (CPU, GPU)]
    assert ["The latency of L3 is the median" in each.note for each in (cpu, *others)] == [True, False, False]
    tables = [figure_table(kept(name), each.figures) for name, each in zip((CPU, GPU), others, strict=True)]
    assert ["efficiency" in table.columns for table in tables] == [False, True]
    assert "388 disturbed samples discarded (other virtual machines: ≤ 10 %)" in cpu.headline[1]
    assert cpu.headline[-1].endswith("Repeat.")


def test_all_inputs_from_such_a_device_count() -> None:
    """Of an H100 SXM, sizes of lines and sectors were measured; of an RTX 4090, a bandwidth is derived from one."""
    assert measured_on_such(kept("nvidia-h100")) == 4
    card = database().device(RTX_4090)
    assert card.provenance["caches.L2.bandwidth"].kind == "derived"
    assert measured_on_such(predicted(card, select(("memory",)), quick=True)[0]) == 1


def test_slowdowns_say_where_and_how_slow() -> None:
    found = {each.workload: each for each in slowdowns(kept(GPU), None)}
    strided, atomics = found["memory/strided"], found["atomics/spread"]
    assert "64" in strided.case
    assert atomics.best == pytest.approx(903e9, rel=0.01)
    assert atomics.best / atomics.factor == pytest.approx(1.37e9, rel=0.01)


@pytest.mark.parametrize(("worst", "said"), [(0.14, "256"), (0.78, "256 (loss ≤ 78 %)")])
def test_a_work_group_size_with_a_large_loss_says_so(worst: float, said: str) -> None:
    assert text("tune_work_group", best=SimpleNamespace(size=256, worst=worst, best_shape=None)) == said


def test_many_kernels_of_the_user_are_counted() -> None:
    assert first_kernels(("A.", "B.", "C.")) == "A. The chapter “Your kernels” has 2 more."
    assert paragraphs("first_kernels", own=("A\n\nB.",), more=0) == ("A B.",)


@pytest.mark.parametrize(("groups", "expected"), [({1}, 1), ({16}, 16), ({132}, 64), ({1, 16}, 64), (set(), 64)])
def test_few_units_read_if_all_points_have_as_many_groups(groups: set[int], expected: int) -> None:
    points = [SimpleNamespace(point=SimpleNamespace(parameters={"groups": each})) for each in groups]
    curve: Any = SimpleNamespace(points=points or [SimpleNamespace(point=SimpleNamespace(parameters={}))])
    assert reading_units(curve, 64) == expected


def test_an_installation_without_kept_reports_has_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.results.opening.data_dir", lambda _: Path("nothing").read_text())
    assert kept_results() == ()


@pytest.mark.parametrize(("factor", "certain"), [(1.2, False), (1.3, True)])
def test_an_n90_near_the_start_of_a_sweep_is_uncertain(factor: float, certain: bool) -> None:
    (curve, *_) = (c for c in curves(BASE) if c.key.family == "game_of_life" and specified_values([c], "n90"))
    assert curve.observation
    begin = min(point.point.work_items for point in curve.points)
    narrow = {"ci_low": 0.99 * factor * begin, "ci_high": 1.01 * factor * begin}
    (finding,) = (f.model_copy(update={"observed": factor * begin, **narrow}) for f in specified_values([curve], "n90"))
    (feature,) = (f for f in curve.observation.features if f.position == "n90")
    feature = feature.model_copy(update={"value": factor * begin, **narrow})
    seen = curve.observation.model_copy(update={"features": (feature,)})
    found = [replace(curve, observation=seen, findings=(finding,))]

    assert ("reach 90 %" in amount_of_work(BASE, found)) is certain
    forecast = BASE.model_copy(update={"observations": ()})
    assert curve.specification
    early = curve.specification.model_copy(update={"features": (feature,)})
    only = [replace(curve, specification=early, calibrated=None, observation=None, measurement=None, findings=())]
    assert ("predicted to reach 90 %" in amount_of_work(forecast, only)) is certain


@pytest.mark.parametrize("name", [GPU, CPU])
def test_the_work_for_kernels_is_that_of_the_table_where_it_is_certain(name: str) -> None:
    found = [curve for curve in curves(kept(name)) if not (curve.is_work_group or curve.is_transfer)]
    seen = [f.observed for f in specified_values(found, "n90") if f.observed and f.key.family != "launch"]
    work = [value for value, _ in enough_work(kept(name), found)]
    assert len(work) < len(seen)
    assert {*work} <= {*seen}


def test_a_chapter_gives_the_onset_of_page_one_with_a_wide_interval() -> None:
    found = cliff("L1", 25 * 1024.0, 29.3 * 1024, None)
    wide = found._replace(onset=altered(found.onset, ci_low=11.3 * 1024, ci_high=36.1 * 1024))
    written = text("working_set", measured=True, cliffs=[wide], cache=None, usable=None)
    assert "29.3 KiB (95 % interval: 11.3 KiB to 36.1 KiB)" in written
    assert "above the capacity of 25 KiB" in written


def test_the_clock_of_the_host_is_named() -> None:
    assert MEMORY.machine is not None
    opencl = MEMORY.machine.opencl.model_copy(update={"timed_by_host": True})
    by_host = MEMORY.model_copy(update={"machine": MEMORY.machine.model_copy(update={"opencl": opencl})})
    page, stamps = "The clock of the host times it", "own time stamps"
    assert [(html.count(page), html.count(stamps)) for html in map(render_html, (MEMORY, by_host))] == [(0, 1), (2, 0)]


def test_the_figure_of_software_shows_no_predictions() -> None:
    """Its caption names none, and that of another device does."""
    software = MEMORY.model_copy(update={"predictions": ()})
    captions = [picture.caption for each in (MEMORY, software) if (picture := first_figure(each, curves(each)))]
    assert ["Lines and bands: predicted" in caption for caption in captions] == [True, False]


def test_values_of_a_draft_are_no_specification() -> None:
    device = MEMORY.device
    assumed = {**device.provenance, "memory.bandwidth": Provenance(kind="assumed", source="like others")}
    match = EntryMatch(entry=None, how="No entry matches.", draft=True, notes=())
    draft = MEMORY.model_copy(update={"match": match, "device": device.model_copy(update={"provenance": assumed})})
    page, drafted = (page_one(report, curves(report)) for report in (MEMORY, draft))

    assert any(figure.efficiency for figure in page.figures)
    assert {figure.efficiency for figure in drafted.figures} == {None}
    assert "Efficiency: not given" in drafted.note
