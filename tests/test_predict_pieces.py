"""The pieces of a point's time, each by itself, against arithmetic done by hand on a device of round numbers."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict.gpu import overlap_exponent
from gpureport.predict.memory import traffic_time, usable_capacities, write_time_s
from gpureport.predict.model import execution, point_time
from gpureport.predict.traffic import memory_bytes
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Stream
from tests.builders import altered
from tests.toy import GEN9_RULES, KIB, L1, MIB, NO_LAUNCH_RATE, TOY, of_groups, on_cpu, toy

READ = Stream("a", 2**28, 16, 16)
WRITE = Stream("b", 2**28, 16, 16, write=True)
"""Streams beyond all caches."""

WRITES = {"sector_writes_per_cycle": 0.5, "line_writes_per_cycle": 0.25}
SECTORS, HALVES = Stream("a", 8192, 16, 16, write=True), Stream("a", 8192, 32, 16, write=True)


CPU = on_cpu()
GEN9 = altered(toy(occupancy=GEN9_RULES, wave_size=16, max_work_group=256), compute_units=24)
L2_HOLDS = (0.0, 1e15)
"""What L1 and L2 hold."""


def _served(device: Device, demand: Demand, size: float, held: tuple[float, ...]) -> Any:
    return traffic_time(execution(device, demand), size, held)


# Which compute units work


@pytest.mark.parametrize(
    ("groups", "share"),
    [(1, 0.01), (50, 0.5), (100, 1.0), (101, 0.505), (150, 0.75), (200, 1.0), (250, 250 / 300), (0.5, 0.005)],
)
def test_units_work_until_the_fullest_is_done(groups: float, share: float) -> None:
    """Of 100 units 101 groups leave 99 idle for half of the time; half a group is a hundredth of half a unit."""
    assert execution(TOY, of_groups(groups)).busy_fraction == pytest.approx(share)


# Rounds


@pytest.mark.parametrize(
    ("device", "registers", "groups", "rounds"),
    [
        # Eight groups of 256 on each of 100 units; the last round may be a part of one.
        *((TOY, 32, groups, rounds) for groups, rounds in [(1, 1), (800, 1), (1000, 1.25), (1600, 2), (0.25, 1)]),
        # Too many registers for any group: as if each unit held one.
        (TOY, 256, 101, 1.01),
        # Gen9: 56 threads of 16 lanes hold three groups of 256; 24 units are three subslices: nine slots.
        *((GEN9, 32, groups, rounds) for groups, rounds in [(9, 1), (12, 4 / 3), (18, 2)]),
    ],
)
def test_rounds_are_those_of_resident_groups(device: Device, registers: int, groups: float, rounds: float) -> None:
    """Units of a subslice share its groups."""
    assert execution(device, of_groups(groups, registers=registers)).rounds == pytest.approx(rounds)


# A group by itself


def test_a_lone_group_waits_for_its_loads_one_after_another() -> None:
    """Three rounds at 800 loaded cycles x 2, and two of neighbours' data at L2's 256, which no load slows down."""
    demand = of_groups(1, memory_chain=3.0, cached_chain=2.0, chain={"shuffle": 10.0, "local": 2.0})
    isolated = execution(TOY, demand).isolated_group(800.0, {})
    unloaded = execution(TOY, replace(demand, loaded=False)).isolated_group(800.0, {})
    without_l2 = execution(altered(TOY, caches=(L1,)), demand).isolated_group(800.0, {})

    assert isolated.loads_s == pytest.approx((3 * 800 * 2 + 2 * 256) * 1e-9)
    assert isolated.instructions_s == pytest.approx((10 * 24 + 2 * 29) * 1e-9)
    assert unloaded.loads_s == pytest.approx((3 * 800 + 2 * 256) * 1e-9)
    assert without_l2.loads_s == pytest.approx(3 * 800 * 2 * 1e-9)


@pytest.mark.parametrize(
    ("size", "factor"), [(32, 4.0), (64, 2.0), (96, 4 / 3), (128, 1.0), (160, 8 / 5), (192, 4 / 3), (256, 1.0), (16, 4)]
)
def test_few_waves_leave_schedulers_idle(size: int, factor: float) -> None:
    """Of four schedulers one wave uses one; five waves take two turns, of which the second is a quarter full."""
    assert execution(TOY, of_groups(1, size)).issue_time_s({"int32": 1e-6}) == pytest.approx(factor * 1e-6)


# The smooth maximum of latency and throughput


@pytest.mark.parametrize(("groups", "p"), [(0, math.inf), (1, math.inf), (2, 6.0), (3, 4.5), (4, 4)])
def test_the_exponent_falls_with_the_groups_of_a_compute_unit(groups: int, p: float) -> None:
    """3 n / (n - 1) for n groups on the fullest unit: alone, a group is disturbed by nobody."""
    assert overlap_exponent(groups) == pytest.approx(p)


# In step


def _loads_and_computes(groups: int, **changes: Any) -> Demand:
    """Each group asks L2 for 4 KiB, waits, and computes for 4 us on a unit of its own."""
    items = groups * 256
    demand = Demand(
        work_items=items,
        work_group=(256,),
        streams=(Stream("a", items, 16, 16),),
        operations={"int32": 1000.0 * items},
        memory_chain=1.0,
    )
    return replace(demand, **changes)


def test_groups_of_one_round_wait_load_and_compute_in_step_and_others_overlap() -> None:
    """Loads of 256 x 2 cycles, 4 KiB at 32 bytes a cycle, 256 000 operations at 64 a cycle: one after another.

    Out of step, a group takes the longer of its traffic and its own loads and operations; the last of 100 groups
    starts 0.1 microseconds after the first. Groups of a processor are never in step.
    """
    together, apart = (
        [point_time(device, _loads_and_computes(100, phases_aligned=step)).time_s for device in (TOY, CPU)]
        for step in (True, False)
    )

    assert together[0] == pytest.approx(2e-6 + 0.512e-6 + 0.128e-6 + 4e-6)
    assert apart[0] == pytest.approx(2e-6 + 0.1e-6 + 0.512e-6 + 4e-6)
    assert together[1] == apart[1]


@pytest.mark.parametrize(("rounds", "chain"), [(1, 1.0), (2, 1.0), (4, 1.0), (1, 3.0), (2, 2.0), (1, 0.5)])
def test_only_the_first_round_and_the_first_loads_are_in_step(rounds: int, chain: float) -> None:
    """What being in step costs is divided by the rounds of groups and by the rounds of loads, if more than one."""
    demand = _loads_and_computes(rounds * 800, memory_chain=chain)
    overlapping = point_time(NO_LAUNCH_RATE, replace(demand, phases_aligned=False))
    found = point_time(NO_LAUNCH_RATE, demand)

    memory_s, compute_s = overlapping.ceilings_s["L2"], overlapping.ceilings_s["int32"]
    aligned_s = 0.512e-6 * chain + memory_s + compute_s
    apart_s = overlapping.time_s - 2e-6
    assert compute_s == pytest.approx(rounds * 32e-6)
    assert found.time_s - overlapping.time_s == pytest.approx((aligned_s - apart_s) / (rounds * max(1.0, chain)))


# Writes


def _written(device: Device, demand: Demand) -> float:
    return write_time_s(execution(device, demand))


@pytest.mark.parametrize(
    ("rates", "stream", "lines", "expected_ns"),
    [
        # 128 KiB are 4096 sectors; half a sector a cycle for each of 100 units: 81.92 cycles.
        (WRITES, SECTORS, None, 81.92),
        (WRITES, replace(SECTORS, outer_passes=2.0), None, 163.84),
        (WRITES, replace(SECTORS, write=False), None, 0.0),
        # Halves of 8192 sectors; at 25 lines a cycle their 4000 lines take 160 ns more.
        (WRITES, HALVES, None, 163.84),
        (WRITES, HALVES, 500.0, 183.84),
        (WRITES, HALVES, 4000.0, 323.84),
        # Whole sectors need no further access; with a quarter of the sectors half written, half of the lines count.
        (WRITES, SECTORS, 4000.0, 81.92),
        (WRITES, replace(HALVES, used_bytes=24), 4000.0, 163.84 + 80),
        # An architecture may know one of both limits, or none.
        ({}, SECTORS, 4000.0, 0.0),
        ({"sector_writes_per_cycle": 0.5}, SECTORS, 4000.0, 81.92),
        ({"line_writes_per_cycle": 0.25}, SECTORS, 4000.0, 160.0),
    ],
)
def test_sectors_and_lines_that_are_written_take_the_shared_cache_a_time(
    rates: dict[str, float], stream: Stream, lines: float | None, expected_ns: float
) -> None:
    """Only what is written counts."""
    demand = of_groups(100, streams=(stream,), line_writes=lines)

    assert _written(toy(**rates), demand) == pytest.approx(expected_ns * 1e-9)


def test_writes_share_the_cache_with_its_other_traffic() -> None:
    """8 MiB written within L2: as bytes at 3.2 TB/s, as sectors of 32 bytes at half of that; a smooth maximum."""
    size = 8 * MIB
    device = toy(sector_writes_per_cycle=0.5)
    streams = (Stream("a", size / 16, 16, 16, write=True),)
    demand = Demand(int(size / 16), (256,), streams)
    bytes_s, sectors_s = size / 3.2e12, size / 32 / 50e9
    found = _served(device, demand, size, L2_HOLDS)

    assert sectors_s == pytest.approx(2 * bytes_s)
    assert found == (pytest.approx((bytes_s**4 + sectors_s**4) ** 0.25), "L2 writes")
    quick = _served(toy(sector_writes_per_cycle=50.0), demand, size, L2_HOLDS)
    assert quick == (pytest.approx(bytes_s, rel=1e-4), "L2")


# Lines that an access touches


@pytest.mark.parametrize(
    ("touched", "looked_up", "factor"), [(1, 1, 1), (32, 1, 32), (32, 2, 16), (2, 2, 1), (1, 2, 1)]
)
def test_accesses_take_a_turn_for_the_lines_that_are_looked_up_at_once(
    touched: float, looked_up: float, factor: float
) -> None:
    """32 accesses a cycle on each of 100 units, and never faster than one access at a time."""
    device = toy(lines_per_access=looked_up)
    demand = of_groups(100, operations={"memory": 3.2e6, "local": 3.2e6}, lines_per_access=touched)
    times = execution(device, demand).class_times()

    assert times["memory"] == pytest.approx(factor * 1e-6)
    assert times["local"] == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("conflicts", "looked_up", "unified", "rate", "factor"),
    [
        (32, 1.6, True, 32.0, 32),
        (16, 1.6, True, 32.0, 20),
        (32, 1.6, False, 32.0, 20),
        # Accesses of 16 lanes a cycle take two cycles each: of 32 lines in the same banks 32 cycles, not 64.
        (32, 3.2, True, 16.0, 32),
    ],
)
def test_lines_in_the_same_banks_are_read_one_a_cycle(
    conflicts: float, looked_up: float, unified: bool, rate: float, factor: float
) -> None:
    """Where L1 has banks of its own, only how many are looked up at once counts: 32 lines at 1.6."""
    first, *others = TOY.caches
    first = altered(first, unified_with_local_memory=unified)
    rates = {**TOY.architecture.rates_per_cycle, "memory": rate}
    device = altered(toy(lines_per_access=looked_up, rates_per_cycle=rates), caches=(first, *others))
    demand = of_groups(100, operations={"memory": 3.2e6}, lines_per_access=32.0, line_conflicts=conflicts)

    assert execution(device, demand).class_times()["memory"] == pytest.approx(factor * 1e-6)


def test_bank_conflicts_slow_down_local_memory_alone_and_classes_without_a_rate_cost_nothing() -> None:
    """What an architecture does not list is no ceiling."""
    demand = of_groups(100, operations={"memory": 3.2e6, "local": 3.2e6, "permute": 1e9}, local_conflicts=8.0)

    assert execution(TOY, demand).class_times() == pytest.approx({"memory": 1e-6, "local": 8e-6})


def test_a_pipe_is_the_sum_of_what_it_executes() -> None:
    """A pipe of which one class alone is used keeps that class's name."""
    pipes = execution(toy(pipes={"LSU": ("memory", "local", "shuffle")}), of_groups(1))

    assert pipes.pipe_times({"memory": 1.0, "local": 2.0, "int32": 4.0}) == {
        "LSU": 3.0,
        "int32": 4.0,
    }
    assert pipes.pipe_times({"local": 2.0, "memory": 0.0}) == {"local": 2.0, "memory": 0.0}


# What caches hold


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        # The next dispatch finds nothing in L1, which does not outlive one.
        ({}, (0.0, 64 * MIB)),
        ({"reused": "never"}, (0.0, 0.0)),
        # The reserve of each group takes the smallest carve-out, 8 KiB.
        ({"reused": "kernel"}, (248 * KIB, 64 * MIB)),
        ({"reused": "kernel", "shared": False}, (50 * 248 * KIB, 64 * MIB)),
    ],
)
def test_caches_hold_what_is_found_again(changes: dict[str, Any], held: tuple[float, float]) -> None:
    """50 groups on 50 units: their caches add up only where each has its own data."""
    demand = of_groups(50, **changes)

    assert usable_capacities(execution(TOY, demand)) == held


SIZES = st.sampled_from([32, 64, 128, 256, 512, 1024])


@given(st.integers(1, 5000), st.integers(1, 500), SIZES, st.floats(1.0, 1e4), st.floats(1.0, 64.0))
def test_more_groups_that_are_not_in_step_never_take_less_time(
    groups: int, more: int, size: int, operations: float, nbytes: float
) -> None:
    """Each group computes and reads the same."""

    def time_s(count: int) -> float:
        items = count * size
        streams = (Stream("a", items, math.ceil(nbytes), math.ceil(nbytes)),)
        demand = Demand(items, (size,), streams, {"int32": operations * items}, memory_chain=1.0, phases_aligned=False)
        return point_time(TOY, demand).time_s

    assert time_s(groups) <= time_s(groups + more) * (1 + 1e-9)


@given(st.integers(1, 5000), SIZES, st.floats(1.0, 1e4), st.floats(0.0, 8.0))
def test_being_in_step_never_saves_time_and_costs_no_more_than_all_in_turn(
    groups: int, size: int, operations: float, chain: float
) -> None:
    """No slower than the sum of all ceilings, no faster than without."""
    items = groups * size
    demand = Demand(items, (size,), (Stream("a", items, 64, 64),), {"int32": operations * items}, memory_chain=chain)
    apart, together = (point_time(TOY, replace(demand, phases_aligned=step)) for step in (False, True))

    assert apart.time_s <= together.time_s <= sum(together.ceilings_s.values()) * (1 + 1e-9)


def test_a_device_without_caches_is_bound_by_memory() -> None:
    """All levels are optional; lines are then what memory moves at once."""
    bare = altered(TOY, caches=())
    found = point_time(bare, of_groups(4000, streams=(Stream("a", 2**22, 16, 16),)))

    assert (str(found.level), found.bottleneck) == ("DRAM", "DRAM")
    assert found.ceilings_s["DRAM"] == pytest.approx(2**26 / 0.98e12)


@pytest.mark.parametrize(("exchanged", "local", "factor"), [(False, 64, 1.0), (True, 64, 1.75), (True, 256, 1.1875)])
def test_groups_that_exchange_lines_take_longer_the_smaller_they_are(
    exchanged: bool, local: int, factor: float
) -> None:
    """The additional time of half of the traffic, for groups of 64; error correction takes its share of all."""
    memory = TOY.memory.model_copy(update={"exchange": 1.5, "ecc": 0.1})
    device = TOY.model_copy(update={"memory": memory})
    streams = tuple(replace(READ, write=write, exchanged=exchanged and write) for write in (False, True))

    found = point_time(device, replace(of_groups(4000, streams=streams), work_group=(local,)))

    moved = memory_bytes(streams, device, every_pass=False)
    assert found.ceilings_s["DRAM"] == pytest.approx(factor * moved / (0.9 * 0.9e12))
    assert memory.reached_bytes_per_s == pytest.approx(0.9 * 0.9e12)
    assert device.without_ecc.memory.reached_bytes_per_s == pytest.approx(0.9e12)


@pytest.mark.parametrize(
    ("device", "streams", "rate"),
    [
        (TOY, (READ,), 0.98e12),
        (TOY, (WRITE,), 0.98e12),
        (TOY, (READ, replace(READ, buffer="c")), 0.98e12),
        (TOY, (READ, WRITE), 0.9e12),
        (TOY, (replace(WRITE, used_bytes=8),), 0.9e12),
        (altered(CPU, caches=()), (READ,), 0.9e12),
    ],
)
def test_memory_loses_less_where_data_go_one_way(device: Device, streams: tuple[Stream, ...], rate: float) -> None:
    """A fifth of what others lose; partly written records are read, too; cores keep streams from all of it."""
    found = point_time(device, of_groups(4000, streams=streams))

    assert found.ceilings_s["DRAM"] == pytest.approx(memory_bytes(streams, device, every_pass=False) / rate)
