"""What a cache keeps: the part of a CPU's last cache that a machine finds, and lines at a stride of a power of two."""

from math import sqrt
from pathlib import Path

import pytest

from gpureport.findings.whole_device import LATENCY, usable_part
from gpureport.predict import limits_of
from gpureport.predict.residency import with_conflicts
from gpureport.records.curves import Observation, ObservedPoint, PointKey, SweepKey
from gpureport.spec.cores import host_values
from gpureport.spec.database import load_database
from gpureport.spec.host import HostCache, HostProcessor, ProcessorFacts, read_host
from gpureport.spec.models import Device, Tlb, Transition
from gpureport.workloads import select
from tests.builders import altered
from tests.make_report import make_report
from tests.toy import KIB, L1, L2, MIB, TOY


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


LINES = round(L1.capacity_bytes / L1.line_bytes)
(WORKLOAD,) = select(("memory/set_conflicts",))


def _with_ways(ways: int | None, device: Device = TOY) -> Device:
    return device.model_copy(update={"caches": (L1.model_copy(update={"ways": ways}), L2)})


@pytest.mark.parametrize(
    ("ways", "stride", "lines"),
    [
        (None, 4 * KIB, LINES),
        (8, 64, LINES),
        (8, 128, LINES),
        (8, 4 * KIB, 64),  # 16 of 256 sets
        (8, 32 * KIB, 8),  # one set
        (8, 128 * KIB, 8),
        (LINES, 128 * KIB, LINES),
    ],
)
def test_a_stride_leaves_out_sets(ways: int | None, stride: float, lines: int) -> None:
    cache = L1.model_copy(update={"ways": ways})
    assert cache.lines_within(cache.capacity_bytes, stride) == lines


def test_strides_beyond_a_page_select_no_sets() -> None:
    page = Tlb(name="L1", entries=64, page_bytes=4096, miss_cycles=7, transition=Transition(onset=1, midpoint=1, end=1))
    device = _with_ways(8).model_copy(update={"tlb": (page,)})
    assert with_conflicts(device, [L1.capacity_bytes, L2.capacity_bytes], 128 * KIB)[0] == 64 * L1.line_bytes


def test_an_outer_cache_is_worth_as_much_as_an_inner_one() -> None:
    outer = L2.model_copy(update={"ways": 4})
    device = TOY.model_copy(update={"caches": (L1, outer)})
    assert with_conflicts(device, [L1.capacity_bytes, outer.capacity_bytes], 2 * MIB) == (L1.capacity_bytes,) * 2


def test_first_loads_of_an_empty_cache_take_longer() -> None:
    """A cache that is empty when a dispatch starts misses each line once."""
    kept = L1.model_copy(update={"persistent": True})
    (sweep, *_) = WORKLOAD.sweeps(TOY, limits_of(TOY))
    point = sweep.points[20]
    demand = WORKLOAD.demand(point, TOY)
    assert demand.cached_chain == point["lines"]
    assert demand.memory_chain + demand.cached_chain == point["steps"]
    assert WORKLOAD.demand(point, TOY.model_copy(update={"caches": (kept, L2)})).cached_chain == 0


def _described(root: Path, number: int, **facts: str) -> None:
    folder = root / f"index{number}"
    folder.mkdir(parents=True)
    for name, text in facts.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("vendor", "ways"),
    [("AuthenticAMD", {"caches.L1.ways": 12}), ("GenuineIntel", {"caches.L1.ways": 12, "caches.L2.ways": 16})],
)
def test_the_system_reports_ways(vendor: str, ways: dict[str, int], tmp_path: Path) -> None:
    """A hash selects the set of an L3, and of an L2 that is not Intel's."""
    _described(tmp_path, 0, level="1", type="Data", size="48K", shared_cpu_list="0", ways_of_associativity="12\n")
    _described(tmp_path, 1, level="2", type="Unified", size="2048K", shared_cpu_list="0", ways_of_associativity="16")
    _described(tmp_path, 2, level="3", type="Unified", size="32M", shared_cpu_list="0-7", ways_of_associativity="16")
    host = read_host(caches=tmp_path, cpuinfo=tmp_path / "none")
    facts = ProcessorFacts(vendor=vendor, family=6, processors=8)
    assert [cache.ways for cache in host.caches] == [12, 16, 16]
    values = host_values(HostProcessor("x", 8, 1 << 34, caches=host.caches, facts=facts))
    assert {path: value.value for path, value in values.items() if path.endswith(".ways")} == ways


@pytest.mark.parametrize("ways", [None, "0"])
def test_a_system_may_report_no_ways(ways: str | None, tmp_path: Path) -> None:
    listed = {} if ways is None else {"ways_of_associativity": ways}
    _described(tmp_path, 0, level="1", type="Data", size="32K", shared_cpu_list="0", **listed)
    assert [cache.ways for cache in read_host(caches=tmp_path, cpuinfo=tmp_path / "none").caches] == [None]
    assert "caches.L1.ways" not in host_values(HostProcessor("x", 8, 1 << 34, caches=(HostCache(1, 32 << 10, 1),)))
