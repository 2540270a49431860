"""Combination of measured and specified values of a CPU."""

from math import log

import pytest

from gpureport.predict.calibration.calibrate import SIGMA_RATE_TRANSFER, combined, noise
from gpureport.predict.uncertainty.sensitivity import specified_deviation
from gpureport.records.curves import Observation
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from tests.builders import altered
from tests.make_report import make_report


@pytest.fixture(scope="module")
def cpu() -> Device:
    return load_database().device("cpu/ryzen_7_3700x")


def _with_fp32(device: Device, rate: float) -> Device:
    rates = {**device.architecture.rates_per_cycle, "fp32": rate}
    return altered(device, architecture=altered(device.architecture, rates_per_cycle=rates))


def test_a_noisy_value_counts_less(cpu: Device) -> None:
    listed = cpu.architecture.rates_per_cycle["fp32"]
    measured = _with_fp32(cpu, listed / 4)
    moved = [
        log(combined(cpu, measured, {"rates.fp32": n}).architecture.rates_per_cycle["fp32"] / listed) / log(1 / 4)
        for n in (0.0, 0.3, 3.0)
    ]

    specified = specified_deviation(cpu, "rates.fp32")
    assert moved[0] == pytest.approx(specified**2 / (specified**2 + SIGMA_RATE_TRANSFER**2))
    assert moved[0] > moved[1] > moved[2] > 0
    assert moved[2] < 0.02


def test_values_that_no_microbenchmark_measured_stay(cpu: Device) -> None:
    assert combined(cpu, cpu, {"rates.fp32": 0.1}).architecture.rates_per_cycle == pytest.approx(
        cpu.architecture.rates_per_cycle
    )


def _observation(width: float) -> Observation:
    found = make_report(families=1).observations[0]
    points = (altered(p, ci_low=p.value / width, ci_high=p.value * width) for p in found.points)
    return altered(found, points=tuple(points))


def test_noise_follows_from_the_intervals() -> None:
    assert noise(_observation(1.0)) == 0
    assert noise(_observation(1.5)) == pytest.approx(log(1.5) / 1.96)
