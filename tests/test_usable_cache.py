"""What a cache keeps: the part of a CPU's last cache that a machine finds, and lines at a stride of a power of two."""

from math import sqrt

import pytest

from gpureport.findings.whole_device import LATENCY, usable_part
from gpureport.records.curves import Observation, ObservedPoint, PointKey, SweepKey
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from tests.builders import altered
from tests.make_report import make_report
from tests.toy import MIB


@pytest.fixture(scope="module")
def cpu() -> Device:
    return load_database().device("cpu/ryzen_9_7950x")


def _observed(workload: str, values: dict[int, float]) -> Observation:
    family, variant = workload.split("/")
    template = make_report(families=1).observations[0]
    key = template.points[0].point
    points = tuple(_point(template.points[0], key, size * MIB, value) for size, value in values.items())
    sweep = SweepKey(family=family, variant=variant, sweep="working_set")
    return altered(template, key=sweep, points=points)


def _point(point: ObservedPoint, key: PointKey, size: float, value: float) -> ObservedPoint:
    return altered(point, point=altered(key, working_set_bytes=size), value=value)


def test_the_part_ends_halfway_up_the_rise(cpu: Device) -> None:
    """From 1 to 16 times the latency of the cache, half of the rise is at 4 times; a quarter at 2, three at 8."""
    cycle_s = cpu.cycles(cpu.caches[-1].latency_cycles)
    rise = {4: 1.0, 6: 1.5, 8: 3.0, 12: 5.0, 16: 7.0, 24: 9.0, 256: 16.0}
    loads = _observed(LATENCY, {size: factor * cycle_s for size, factor in rise.items()})
    found = usable_part(cpu, [loads])

    assert (found.low, found.value, found.high) == pytest.approx(
        (sqrt(6 * 8) * MIB, sqrt(8 * 12) * MIB, sqrt(16 * 24) * MIB)
    )


def test_one_slow_point_does_not_end_the_part(cpu: Device) -> None:
    cycle_s = cpu.cycles(cpu.caches[-1].latency_cycles)
    values = {4: 1.0, 6: 9.0, 8: 1.0, 12: 1.0, 16: 1.0, 24: 16.0, 256: 16.0}
    found = usable_part(cpu, [_observed(LATENCY, {size: factor * cycle_s for size, factor in values.items()})])

    assert 8 * MIB < found.value <= 16 * MIB


def test_a_curve_without_memory_or_without_the_cache_says_nothing(cpu: Device) -> None:
    cycle_s = cpu.cycles(cpu.caches[-1].latency_cycles)
    short = _observed(LATENCY, {4: cycle_s, 8: 9 * cycle_s})
    slow = _observed(LATENCY, {1: 9 * cycle_s, 4: 10 * cycle_s, 256: 10 * cycle_s})

    assert usable_part(cpu, [short]) is usable_part(cpu, [slow]) is usable_part(cpu, []) is None


def test_gpus_have_their_caches_for_themselves() -> None:
    report = make_report(families=1)

    assert usable_part(report.device, report.observations) is None
