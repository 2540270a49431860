"""Key figures: what they are taken from, on constructed values and on the kept reports."""

from dataclasses import replace
from math import log
from types import SimpleNamespace
from typing import Any

import pytest

from gpureport.findings.key_figures import Estimate, KeyFigure, Quantity, Side, key_figures
from gpureport.findings.verdicts import time_errors
from gpureport.records.report import Report
from gpureport.results.opening import predicted
from gpureport.spec.database import load_database
from gpureport.spec.models import resident_work_items
from gpureport.workloads import select
from tests.kept import CPU, GPU, kept
from tests.make_report import make_report

MEMORY = make_report(only=("memory",))


def by_name(report: Report) -> dict[str, KeyFigure]:
    return {figure.name: figure for figure in key_figures(report)}


def test_latencies_that_the_curve_does_not_separate_are_one_figure() -> None:
    report = kept(CPU)
    figure = by_name(report)["Latency of L3 and memory"]

    assert not {"Latency of L3", "Latency of memory"} & set(by_name(report))
    assert figure.nearer
    assert figure.nearer.predicted
    assert figure.predicted
    assert figure.nearer.measured is None
    assert (figure.nearer.specification or 0) < (figure.specification or 0)
    low, high = figure.nearer.predicted.ends[0], figure.predicted.ends[1]
    for value, side in ((low * 0.9, "faster"), (low * 1.1, None), (high * 0.9, None), (high * 1.1, "slower")):
        assert replace(figure, measured=Estimate(value)).unpredicted == side


@pytest.mark.parametrize(
    ("device", "count"),
    [
        ("nvidia/h200_sxm", 132 * 64 * 32),
        ("amd/mi50", 60 * 4 * 10 * 64),
        ("intel/hd_520", 24 // 8 * 56 * 16),  # threads are those of a subslice of eight execution units
        ("cpu/x86_64", None),
    ],
)
def test_resident_capacity_follows_from_the_rules_of_each_vendor(device: str, count: int | None) -> None:
    assert resident_work_items(load_database().device(device)) == count


RATE = KeyFigure(Quantity.READ, "Memory", "B/s", 100.0, limit=True, predicted=Estimate(90.0, 80.0, 101.0))
TIME = KeyFigure(Quantity.LATENCY, "L1", "s", 10.0, predicted=Estimate(10.0, 8.0, 12.0))


@pytest.mark.parametrize(
    ("figure", "measured", "side"),
    [
        (RATE, Estimate(79.0, 78.0, 80.0), None),
        (RATE, Estimate(79.0, 78.0, 79.9), "slower"),
        (RATE, Estimate(79.0, 78.0, 79.97), None),  # documents show 80.0
        (RATE, Estimate(103.0, 102.0, 104.0), "faster"),
        (RATE, Estimate(102.0), "faster"),
        (TIME, Estimate(13.0, 11.9, 14.0), None),
        (TIME, Estimate(13.0, 12.1, 14.0), "slower"),
        (TIME, Estimate(7.0, 6.0, 7.9), "faster"),
        (replace(TIME, quantity=Quantity.ENERGY), Estimate(13.0, 12.1, 14.0), "other"),
    ],
)
def test_a_figure_is_abnormal_only_if_intervals_do_not_overlap(
    figure: KeyFigure, measured: Estimate, side: Side | None
) -> None:
    assert replace(figure, measured=measured).unpredicted == side
    assert replace(figure, measured=measured, predicted=None).unpredicted is None


def test_only_independent_and_narrow_predictions_are_strong_tests() -> None:
    h200 = {figure.name: figure for figure in key_figures(kept(GPU))}

    assert h200["Memory read"].is_strong_test
    assert not h200["Empty kernel, start to end"].is_strong_test  # measured on an H200, a factor of 1.75
    assert h200["Memory copy"].seen  # the rate at which sectors are written, too
    assert not h200["Memory copy"].is_strong_test
    assert not h200["Matrix bf16 (mma.sync)"].is_strong_test  # independent, but a factor of 1.85
    assert not h200["Matrix bf16 (mma.sync)"].seen
    assert h200["Memory copy"].is_narrow  # ± 23 %
    assert not h200["Matrix bf16 (mma.sync)"].is_narrow  # so that page one does not call it as predicted


def test_specifications_are_those_of_the_vendor() -> None:
    dual = predicted(load_database().device("amd/rx_7900_xt"), select(("instructions/rate",)), quick=True)[0]
    fp32 = by_name(dual)["fp32 FMA rate"]
    assert fp32.specification == pytest.approx(51.6e12, rel=0.01)
    assert fp32.predicted
    assert fp32.predicted.value < 0.51 * fp32.specification


def test_errors_of_times_have_one_definition() -> None:
    """Factors in both directions count alike."""
    factors = (1.1, 1 / 1.2, 1.3, 1 / 1.4, 11.0)
    pairs = [(SimpleNamespace(time_s=1.0), SimpleNamespace(time_s=time_s)) for time_s in factors]
    curve: Any = SimpleNamespace(compared=lambda _: pairs)
    errors, statistics = time_errors(MEMORY.curves, "specification"), time_errors([curve], "specification")

    assert errors
    assert statistics
    assert errors.n == sum(len(o.points) for o in MEMORY.observations)
    assert (statistics.n, statistics.median) == (5, pytest.approx(log(1.3)))
    assert statistics.p90 == pytest.approx(log(1.4) + 0.6 * log(11 / 1.4))
    assert time_errors([], "specification") is None


def test_rates_of_software_are_those_observed() -> None:
    """Nothing is predicted for it, so that there are no findings."""
    report = kept(CPU)
    assert report.machine
    opencl = report.machine.opencl.model_copy(update={"emulated": True})
    machine = report.machine.model_copy(update={"opencl": opencl})
    software = report.model_copy(update={"machine": machine, "findings": (), "predictions": ()})
    known, own = (
        {f.of: f.measured for f in key_figures(each) if f.quantity is Quantity.RATE and f.measured}
        for each in (report, software)
    )
    assert known == own
    assert known
