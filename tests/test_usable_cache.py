"""The part of a CPU's last cache that a machine finds."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest

from gpureport.findings.usable_cache import LATENCY, READS, usable_bytes
from gpureport.records.keys import PointKey, SweepKey
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from tests.make_report import make_report

MIB = 1 << 20


@pytest.fixture(scope="module")
def cpu() -> Device:
    """Return a CPU with a last cache of 64 MiB."""
    return load_database().device("cpu/ryzen_9_7950x")


def _observed(workload: str, values: dict[int, float]) -> Observation:
    family, variant = workload.split("/")
    template = make_report(families=1).observations[0]
    key = template.points[0].point
    points = tuple(_point(template.points[0], key, size * MIB, value) for size, value in values.items())
    sweep = SweepKey(family=family, variant=variant, sweep="working_set")
    return template.model_copy(update={"key": sweep, "points": points})


def _point(point: ObservedPoint, key: PointKey, size: float, value: float) -> ObservedPoint:
    return point.model_copy(update={"point": key.model_copy(update={"working_set_bytes": size}), "value": value})


def test_a_machine_may_find_little_of_its_last_cache(cpu: Device) -> None:
    last = cpu.caches[-1]
    cycle_s, rate = cpu.cycles(last.latency_cycles), cpu.level_bandwidth_bytes_per_s(last)
    loads = _observed(LATENCY, {4: cycle_s, 8: 1.2 * cycle_s, 16: 9 * cycle_s, 256: 10 * cycle_s})
    reads = _observed(READS, {40: rate, 48: 0.9 * rate, 56: 0.2 * rate, 256: 0.1 * rate})

    assert usable_bytes(cpu, [loads, reads]) == {LATENCY: 8 * MIB, READS: 48 * MIB}


def test_a_curve_without_memory_or_without_the_cache_says_nothing(cpu: Device) -> None:
    cycle_s = cpu.cycles(cpu.caches[-1].latency_cycles)
    short = _observed(LATENCY, {4: cycle_s, 8: 9 * cycle_s})
    slow = _observed(LATENCY, {1: 9 * cycle_s, 4: 10 * cycle_s, 256: 10 * cycle_s})

    assert usable_bytes(cpu, [short]) == usable_bytes(cpu, [slow]) == {}


def test_gpus_have_their_caches_for_themselves() -> None:
    report = make_report(families=1)

    assert usable_bytes(report.device, report.observations) == {}
