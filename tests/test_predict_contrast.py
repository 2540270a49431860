"""Ceilings and contrasts of predictions: by hand on small devices."""

import re
from math import exp, log
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.compare import Comparison, compare, excerpt
from gpureport.compare.contrast import contrast
from gpureport.compare.records import BEYOND, RatioEstimate, WorkloadComparison
from gpureport.compare.runs import FP64, MATRIX
from gpureport.compare.summary import works
from gpureport.errors import InputError
from gpureport.findings.key_figures import key_figures
from gpureport.records.ceilings import Kind, kind_of
from gpureport.report.comparison.sentences import accuracy, sentences
from gpureport.report.comparison.tables import buyers_table, effects_table, limits_table, works_table
from gpureport.results.opening import predicted
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_MODEL
from gpureport.workloads import select
from gpureport.workloads.grid import part_of_units
from tests.builders import altered
from tests.kept import CPU, database, kept
from tests.make_report import make_report
from tests.toy import TOY


def _compared(first: Device, other: Device, *names: str) -> Comparison:
    reports = {device.id: predicted(device, select(names), quick=True) for device in (first, other)}
    runs = [excerpt(report, (), forecast) for report, forecast in reports.values()]
    return compare(dict(zip("ab", (runs[0], runs[-1]), strict=True)))


def _faster_memory(factor: float) -> Device:
    memory = altered(TOY.memory, bandwidth_bytes_per_s=factor * TOY.memory.bandwidth_bytes_per_s)
    return altered(TOY, id="other", name="Other", memory=memory)


def test_a_device_beside_an_equal_one_is_as_fast_within_the_models_own_error() -> None:
    """Facts of both cancel."""
    report, forecast = predicted(TOY, select(("memory/copy", "instructions/rate")), quick=True)
    found = compare({name: excerpt(report, (), forecast) for name in "ab"})
    for contest in found.contests:
        ratio = contest.standings[1].to_baseline
        assert ratio
        assert ratio.value == pytest.approx(1.0)
        assert ratio.ci_high == pytest.approx(exp(NORMAL_95 * SIGMA_MODEL * 2**0.5), rel=2e-3)


def test_a_ratio_beyond_the_caches_is_that_of_the_memories() -> None:
    (copy,) = (each for each in _compared(TOY, _faster_memory(3.0), "memory/copy").contests if each.regime == BEYOND)
    ratio = copy.standings[1].to_baseline

    assert ratio
    assert ratio.value == pytest.approx(3.0, rel=0.15)  # of which launch and latency take a little
    assert [each.bottleneck for each in copy.standings] == [Kind.MEMORY] * 2


def test_effects_belong_to_bottlenecks() -> None:
    """Kernels that memory limits gain; the others do not change. Both have their values."""
    (contrast,) = _compared(TOY, _faster_memory(1.4), "memory/copy", "memory/latency", "instructions/rate").contrasts
    found = {effect.bottleneck: effect for effect in contrast.effects}

    memory = found[Kind.MEMORY]
    assert memory.kernels == ("memory/copy",)
    assert memory.ratio.value == pytest.approx(1.4, rel=0.02)
    assert (memory.ratio.ci_low or 0) < 1.4 < (memory.ratio.ci_high or 0)
    assert memory.ends == (memory.ratio.value, memory.ratio.value)
    assert found[Kind.COMPUTE].ends == pytest.approx((1.0, 1.0), abs=0.05)


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ((FP64, MATRIX), "for fp64 and matrix units: see these columns of the table."),
        ((FP64,), "for fp64: see this column of the table."),
        ((), ""),
    ],
)
def test_ratios_refer_to_columns_of_other_units_if_there_are_any(columns: tuple[str, ...], hint: str) -> None:
    comparison = _compared(TOY, _faster_memory(1.4), "memory/copy")
    figure = comparison.figures[0]
    shown = comparison.model_copy(update={"figures": tuple(altered(figure, name=name) for name in columns)})
    assert [each for each in sentences(shown) if "very different" in each] == [
        f"Ratios may be very different {part}" for part in (hint,) if part
    ]


def test_transfers_of_pinned_and_of_ordinary_memory_have_ratios_of_their_own() -> None:
    names = ("transfer/pinned", "transfer/pageable")
    found = _compared(TOY, altered(TOY, id="other", name="Other"), *names)
    (contrast,) = found.contrasts
    assert [each.kernels for each in contrast.effects if each.bottleneck == Kind.LINK] == [(name,) for name in names]
    rows = [row[0] for row in works_table(found).rows]
    assert rows == ["Transfer bandwidth, pinned", "Transfer bandwidth, pageable"]
    limits = [row[:2] for row in effects_table(found, contrast).rows]
    assert limits == [(f"transfers ({memory})",) * 2 for memory in ("pinned", "ordinary memory")]


@pytest.mark.parametrize(("log_ratio", "undecided"), [(0.0, True), (0.34, True), (0.5, False)])
def test_a_ratio_of_predictions_is_undecided_if_its_interval_includes_one(log_ratio: float, undecided: bool) -> None:
    """Such as 1.4 (0.64 to 2.9), which is no difference."""
    found = _compared(TOY, altered(TOY, id="other", name="Other"), "transfer/pinned")
    (contrast,) = found.contrasts
    (effect,) = contrast.effects
    wide = altered(effect, ratio=RatioEstimate.of_log(log_ratio, 0.4))
    moved = altered(effect, bottleneck=Kind.MEMORY, ratio=RatioEstimate.of_log(-1.0, 0.1))
    changed = found.model_copy(update={"contrasts": (altered(contrast, effects=(moved, wide)),)})
    said = sentences(changed)[0]
    assert ("undecided (the interval includes 1) for transfers (pinned)" in said) is undecided
    assert ("kernels limited by transfers (pinned)" in said) is not undecided
    rows = effects_table(changed, changed.contrasts[0]).rows
    assert [row[3].startswith("undecided") for row in rows] == [False, undecided]


@pytest.mark.parametrize(("values", "middle"), [((1.0, 4.0), 2.0), ((1.0, 3.0, 4.0), 3.0), ((1.0, 2.0, 8.0, 9.0), 4.0)])
def test_the_ratio_of_several_kernels_is_their_median_and_the_range_has_all_values(
    values: tuple[float, ...], middle: float
) -> None:
    (queued,) = _compared(TOY, TOY, "launch/queued").contests[:1]
    base = altered(queued.standings[0], machine="a")

    def contest(number: int, ratio: float) -> WorkloadComparison:
        own = altered(base, machine="b", to_baseline=RatioEstimate.of_log(log(ratio), 0.1 * ratio))
        return altered(queued, regime=str(number), standings=(base, own))

    (effect,) = contrast("b", "a", [contest(*each) for each in enumerate(values)]).effects
    assert effect.ratio.value == pytest.approx(middle)
    assert effect.ends == pytest.approx((min(values), max(values)))


def test_barriers_are_a_kind_of_work_beside_instructions() -> None:
    found = works(_compared(TOY, _faster_memory(2.0), "instructions/rate", "instructions/barrier"))
    cases = {work.label: {contest.regime for contest in work.contests} for work in found}
    assert "barrier" not in cases["instruction rate"]
    assert "barrier" in cases["instruction rate, barriers"]


def test_of_a_prediction_buyers_see_the_read_bandwidth_of_its_page_one() -> None:
    report, forecast = predicted(TOY, select(("memory/read",)), quick=True)
    (read,) = (figure for figure in key_figures(report) if figure.name == "Memory read")
    (bandwidth,) = (each for each in excerpt(report, (), forecast).figures if each.name == "memory bandwidth")
    assert read.predicted
    assert (bandwidth.value, bandwidth.basis) == (pytest.approx(read.predicted.value, rel=1e-4), "predicted")


def test_what_is_predicted_says_so_beside_what_is_measured() -> None:
    seen = excerpt(make_report(only=("memory",)))
    compared = compare({"seen": seen, "other": excerpt(predicted(TOY, select(("memory",)), quick=True)[0])})
    (first, other), columns = (row[1:] for row in buyers_table(compared).rows), works_table(compared).columns
    assert "predicted" in other[0]
    assert "predicted" not in "".join(first[-2:])
    assert {"best seen", "best predicted other"} <= {*columns}
    assert "predicted" not in "".join(limits_table(compared).columns)


def test_a_typical_value_of_a_processor_is_not_called_a_peak() -> None:
    assert not any(each.listed for each in excerpt(kept(CPU)).figures)


def test_a_comparison_of_predictions_says_how_accurate_such_ones_were_by_vendor() -> None:
    devices = [database().device(name) for name in ("nvidia/rtx_4090", "amd/rx_7900_xtx")]
    runs = {each.id: excerpt(predicted(each, select(("memory/copy",)), quick=True)[0]) for each in devices}
    found = r".* within [\d.]+ % \(NVIDIA GPUs\) and [\d.]+ % \(AMD GPUs\), nine in ten within .* and .*\."
    assert re.fullmatch(found, accuracy(compare(runs)))


def test_only_equal_cases_are_compared() -> None:
    """Cases of two sweeps with one label stay apart; different cases have no ratio, as sizes have."""
    queued = excerpt(predicted(TOY, select(["launch/queued"]), quick=True)[0])
    cases = [contest.regime for contest in compare({"a": queued, "b": queued}).contests]
    assert {"1 group, isolated", "1 group, batched"} < {*cases}

    report = predicted(TOY, select(["instructions/rate"]), quick=True)[0]
    (rates,) = report.predictions
    runs = [
        excerpt(altered(report, predictions=(altered(rates, points=rates.points[number : number + 1]),)))
        for number in range(2)
    ]
    with pytest.raises(InputError, match="no two of a, b have a workload in common"):
        compare(dict(zip("ab", runs, strict=True)))


def test_bottlenecks_have_kinds() -> None:
    """Caches are known by name; every other bottleneck is a class of instructions."""
    kinds = {
        "DRAM": Kind.MEMORY,
        "L2 writes": Kind.CACHE,
        "LLC": Kind.CACHE,
        "latency of L2 near partition": Kind.LATENCY,
        "barrier": Kind.LATENCY,
        "groups": Kind.LAUNCH,
        "local": Kind.LOCAL,
        "LSU": Kind.COMPUTE,
        "int32": Kind.COMPUTE,
    }

    assert {name: kind_of(name, ("L1", "L2", "LLC")) for name in kinds} == kinds


def test_a_part_of_the_compute_units_has_no_rates_to_compare() -> None:
    report = predicted(TOY, select(["memory/read_private"]), quick=True)[0]
    every = {each.key.sweep: excerpt(altered(report, predictions=(each,))).best for each in report.predictions}
    assert {sweep: bool(best) for sweep, best in every.items()} == {"working_set": False, "every_unit": True}
    assert part_of_units([{"groups": 3}, {"groups": 4}], 10) == 4
    assert part_of_units([{"groups": 3}, {"groups": 20}], 10) is None
    assert part_of_units([{"bytes": 3}], 10) is None


def test_many_devices_are_compared_as_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under short names that stay distinct; the first remains the baseline. No row is without a value."""
    names = ["nvidia/h200_sxm", "nvidia/a40", "amd/mi100", "amd/rx_7900_xt", "nvidia/rtx_4090"]
    pdf = ["--pdf", "-o", str(tmp_path)]
    assert main(["predict", *names, "--quick", "-w", "memory/read,particles/arrays", *pdf]) == 0
    printed, page = capsys.readouterr().out, (tmp_path / "report.html").read_text()

    assert "speed relative to h200_sxm" in printed
    assert "Prediction only." in page
    assert not any(text in printed + page for text in ("efficiency of", "eff.", "<td></td>", 'id="against-'))
    assert main(["predict", *names, "-w", "launch/queued", "--json"]) == 0
