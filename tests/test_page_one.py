"""Page one: whether the device is normal, the decisions, and how far to trust the predictions."""
# ruff: noqa: D103 - the names of the tests say what they check

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpureport.findings.key_figures import Estimate, KeyFigure, Quantity
from gpureport.records.curves import CurveFeature, Level, SweepKey
from gpureport.records.finding import Finding, Verdict
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import EntryMatch, Report
from gpureport.report.curves import curves, reading_units, specified_values
from gpureport.report.run.caches import ReadCliff, working_set
from gpureport.report.run.page_one import another_device, first_kernels, headline, page_one
from gpureport.report.run.work import amount_of_work
from gpureport.report.text.sentences import paragraphs
from gpureport.results.opening import kept_folders
from gpureport.spec.models import CpuOccupancy, Device, Memory
from gpureport.spec.values import Provenance
from tests.make_report import make_report
from tests.toy import TOY

BASE = make_report(only=("game_of_life", "memory", "transpose"))
MEMORY = make_report(only=("memory",))
MIB = 1024.0**2


def figure(
    quantity: Quantity, value: float, predicted: float = 100.0, others: tuple[float, ...] = (), unit: str = "B/s"
) -> KeyFigure:
    """Return a figure within 1 % of its value, predicted within 10 %."""
    return KeyFigure(
        quantity,
        "L1" if unit == "s" else "Memory",
        unit,
        predicted,
        limit=unit != "s",
        predicted=Estimate(predicted, 0.9 * predicted, 1.1 * predicted),
        measured=Estimate(value, 0.99 * value, 1.01 * value),
        others=others,
    )


NORMAL = (figure(Quantity.READ, 95.0), figure(Quantity.LATENCY, 1e-8, 1e-8, unit="s"))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"match": BASE.match.model_copy(update={"draft": True})},
        {"status": "partial"},
        {"findings": (BASE.findings[0].model_copy(update={"verdict": Verdict.ERROR}),)},
    ],
    ids=["normal", "draft", "partial", "error"],
)
def test_a_device_is_called_normal_unless_something_forbids_it(changes: dict[str, object]) -> None:
    text = headline(BASE.model_copy(update=changes), NORMAL, 0)

    assert text.startswith("2 of 2 independent key figures are as predicted")
    assert ("normal" in text) is (not changes)
    assert ("in error because they are faster" in text) is ("findings" in changes)


def test_figures_are_compared_with_kept_reports() -> None:
    alike = headline(BASE, (figure(Quantity.READ, 95.0, others=(94.0, 96.0)), NORMAL[1]), 2)
    unusual = replace(figure(Quantity.READ, 95.0, others=(120.0, 130.0)), unusual="slower")
    slower = headline(BASE, (unusual, NORMAL[1]), 2)

    assert "No key figure differs significantly from 2 kept reports of this model (1 compared)." in alike
    assert "Significantly different from 2 kept reports" in slower
    assert "Memory read" in slower
    assert "kept" not in headline(BASE, NORMAL, 0)


@pytest.mark.parametrize(("share", "said"), [(0.96, False), (0.8, True)])
def test_a_low_clock_is_abnormal(share: float, said: bool) -> None:
    clock = BASE.device.clock_hz * share
    readings = tuple(Reading(at_s=i, measuring=True, clock_hz=clock, throttle_reasons=()) for i in range(3))
    report = BASE.model_copy(update={"conditions": (Conditions(workload="a/b", readings=readings),)})

    assert ("20 % below" in headline(report, NORMAL, 0)) is said


def onset(observed: float | None, level: str | Level = "L2") -> Finding:
    low, high = (0.98 * observed, 1.02 * observed) if observed else (None, None)
    return Finding.model_validate(
        {
            "key": SweepKey(family="memory", variant="read", sweep="size"),
            "feature": "cliff",
            "position": "onset",
            "level": level,
            "basis": "specification",
            "predicted": 60 * MIB,
            "observed": observed,
            "ci_low": low,
            "ci_high": high,
            "unit": "B",
            "ratio": None,
            "verdict": Verdict.AGREES,
            "explanation": "",
        }
    )


def working_set_of(*findings: Finding) -> str:
    report = MEMORY.model_copy(update={"findings": findings})
    return working_set(report, curves(report))


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
    assert cliff("L1", 128.0, onset_at, latency_at).keep_below_bytes == least


def test_missing_and_unexplained_transitions_are_reported() -> None:
    text = working_set_of(onset(None), onset(30 * MIB, Level.unexplained(32 * MIB)))

    assert "Keep" not in text
    assert "Read bandwidth shows no transition of the L2 (predicted from 60 MiB in total)." in text
    assert "also falls from 30 MiB in total, which matches no cache" in text


def work(report: Report, *values: float) -> str:
    """Return the sentence on a report of which the sweeps have tapers at *values*."""
    tapers = [f for f in report.findings if f.position == "n90" and f.basis == "specification"]
    findings = tuple(f.model_copy(update={"observed": value}) for f, value in zip(tapers, values, strict=False))
    changed = report.model_copy(update={"findings": findings})
    return amount_of_work(changed, curves(changed))


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
    assert kept_folders() == ()


def test_a_cpu_has_no_resident_capacity() -> None:
    rules = CpuOccupancy(local_memory_bytes=65536)
    cpu = BASE.device.architecture.model_copy(update={"occupancy": rules})
    report = BASE.model_copy(update={"device": BASE.device.model_copy(update={"architecture": cpu})})

    assert work(report, 1e5, 2e6).startswith("Kernels reach 90 %")
    assert work(report) == ""


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


def test_devices_with_higher_specifications_are_counted() -> None:
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
    memory = device.memory
    return memory.model_copy(update={"bandwidth_bytes_per_s": memory.bandwidth_bytes_per_s * factor})


def test_values_of_a_draft_are_no_specification() -> None:
    device = MEMORY.device
    assumed = {**device.provenance, "memory.bandwidth": Provenance(kind="assumed", source="like others")}
    match = EntryMatch(entry=None, how="No entry matches.", draft=True, notes=())
    draft = MEMORY.model_copy(update={"match": match, "device": device.model_copy(update={"provenance": assumed})})
    page, drafted = (page_one(report, curves(report), (), (device, TOY)) for report in (MEMORY, draft))

    assert any(figure.efficiency for figure in page.figures)
    assert {figure.efficiency for figure in drafted.figures} == {None}
    assert "Efficiency: not given" in drafted.note
    assert not any("by specification" in text for _, text, _ in drafted.decisions)
