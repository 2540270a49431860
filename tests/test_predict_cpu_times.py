"""How a CPU runs work-groups: waking threads, vectors, barriers, prefetched loads, lines that writes fetch."""

from dataclasses import replace
from math import log
from typing import Any

import pytest

from gpureport.predict import limits_of
from gpureport.predict.cpu import FILL_BUFFERS
from gpureport.predict.cpu import IntelExecution as Intel
from gpureport.predict.cpu import PoclExecution as Pocl
from gpureport.predict.model import execution
from gpureport.spec.models import Device
from gpureport.trace.chains import REORDERED
from gpureport.workloads.grid import launch
from gpureport.workloads.model import Demand, Stream
from tests.builders import altered


def _run(device: Device, demand: Demand) -> Pocl:
    run = execution(device, demand)
    assert isinstance(run, Pocl)
    return run


def _with_masks(device: Device) -> Device:
    return altered(device, architecture=altered(device.architecture, masked_lanes=device.architecture.wave_size))


def test_one_group_wakes_no_other_thread_and_many_wake_all(cpu: Device) -> None:
    awake = Pocl.groups_per_thread_awake * cpu.compute_units
    one, many, most = (Demand(64 * groups, (64,)) for groups in (1, awake, 100_000))

    assert _run(cpu, one).waking_s(1.0) == 0
    woken = Pocl.waking_share_of_launch * cpu.launch.batched_s
    assert _run(cpu, many).waking_s(0.0) == pytest.approx(woken, rel=0.05)
    fetches = cpu.compute_units * log(most.groups / many.groups)
    fetched = Pocl.fetch_share_of_launch * fetches * cpu.launch.batched_s
    assert _run(cpu, most).waking_s(0.0) == pytest.approx(woken + fetched)


def test_one_thread_works_alone_until_the_others_are_awake(cpu: Device) -> None:
    """Two threads: short work stays with one of them; of long work, the other misses the time until it is awake."""
    both = altered(cpu, compute_units=2, launch=altered(cpu.launch, batched_s=1e-6))
    demand = Demand(64 * 64, (64,))
    awake = _run(both, demand).waking_s(0.0)

    assert _run(both, demand).waking_s(2e-6) - awake == pytest.approx(2e-6)
    assert _run(both, demand).waking_s(1e-3) - awake == pytest.approx((Pocl.waking_delay_s - 1e-6) / 2)
    late = altered(both, launch=altered(both.launch, batched_s=2 * Pocl.waking_delay_s))
    # All are awake when the first one starts.
    assert _run(late, demand).waking_s(1e-3) == _run(late, demand).waking_s(0.0)


def test_accesses_that_masks_disable_take_time_on_cores_with_their_rate(cpu: Device) -> None:
    """They run one by one, so that their rate is that of lanes."""
    demand = Demand(64, (64,), operations={"instruction": 256.0, "masked": 128.0}, branches=True)
    slow = altered(cpu, architecture=altered(cpu.architecture, rates_per_cycle={"instruction": 48.0, "masked": 0.5}))

    assert "masked" not in _run(cpu, demand).class_times()
    assert _run(slow, demand).class_times()["masked"] == pytest.approx(128 / 0.5 / slow.clock_hz)


MASKS, LOOPS = {"masked_lanes": 8.0}, {"barrier_lanes": 8.0}
MASKABLE = {"branches": True, "maskable": True}
BYTES = {**MASKABLE, "lane_bytes": 1}
MEETING = {"operations": {"barrier": 64.0}}
PAIRS = {"operations": {"fp32": 64.0}, "vector_words": 2}


@pytest.mark.parametrize(
    ("architecture", "changes", "expected"),
    [
        ({}, {}, 8),
        ({}, {"vectorised": False}, 1),
        ({}, {"vectorised": False, "operations": {"shuffle": 64.0}}, 8),  # emulated; its rate contains that
        # Conditions run one by one unless they become masks, along the first dimension.
        ({}, MASKABLE, 1),
        (MASKS, {"branches": True}, 1),
        (MASKS, MASKABLE, 8 / Pocl.masked_code_slowdown),
        (MASKS, {**MASKABLE, "work_group": (1, 64)}, 1),
        # More lanes of shorter integers, up to the width of the work-group.
        (MASKS, BYTES, 32 / Pocl.masked_code_slowdown),
        (MASKS, {**BYTES, "work_group": (16, 4)}, 16 / Pocl.masked_code_slowdown),
        # Some compilers vectorise loops between barriers; masks are for conditions.
        (MASKS, MEETING, 1),
        (LOOPS, MEETING, 8),
        (LOOPS, {**MEETING, "vectorised": False}, 8),
        (LOOPS, {**MEETING, "branches": True}, 1),
        # Code with vector types has no vectors of work-items.
        ({}, PAIRS, 2),
        ({}, {**PAIRS, "vector_words": 64}, 8),
        ({}, {**PAIRS, "branches": True}, 1),
    ],
)
def test_lanes_of_vectors(
    cpu: Device, architecture: dict[str, float], changes: dict[str, Any], expected: float
) -> None:
    device = altered(cpu, architecture=altered(cpu.architecture, **architecture))

    assert _run(device, replace(Demand(64, (64,)), **changes)).lanes == expected


def test_idle_work_items_take_time_in_code_with_masks_only(cpu: Device) -> None:
    """A quarter of the work-items pads work-groups."""
    padded = Demand(64, (64,), operations={"int32": 48.0}, branches=True, maskable=True, idle_items=16)
    masked = _with_masks(cpu)

    assert _run(masked, padded).padding == pytest.approx(64 / 48)
    assert _run(masked, replace(padded, vectorised=False)).padding == 1
    assert _run(cpu, padded).padding == 1
    assert _run(cpu, replace(padded, vectorised=True)).padding == pytest.approx(64 / 48)
    assert _run(masked, replace(padded, maskable=False)).padding == 1
    factors, without = (_run(masked, each).class_factors({}) for each in (padded, replace(padded, idle_items=0)))
    assert factors["int32"] == pytest.approx(without["int32"] * 64 / 48)


def test_counted_instructions_replace_operations_in_code_without_vectors(cpu: Device) -> None:
    """At a fraction of the rate at which a core issues instructions; idle work-items take no time."""
    issued_per_s = cpu.rate_per_s("instruction") / cpu.architecture.wave_size
    counted = Demand(256, (64,), operations={"int32": 9e9}, branches=True, maskable=True, scalar_instructions=28e3)
    masked = _with_masks(cpu)

    assert _run(cpu, counted).scalar_time_s == pytest.approx(Pocl.scalar_code_slowdown * 28e3 / issued_per_s)
    assert _run(cpu, counted).class_times().keys() == {"instruction"}
    assert _run(cpu, replace(counted, idle_items=32)).scalar_time_s == _run(cpu, counted).scalar_time_s
    assert _run(masked, counted).scalar_time_s is None
    assert _run(masked, replace(counted, vectorised=False)).scalar_time_s == _run(cpu, counted).scalar_time_s
    assert _run(cpu, replace(counted, scalar_instructions=0.0)).scalar_time_s is None


def test_a_straight_loop_takes_the_time_of_its_instructions(cpu: Device) -> None:
    """A loop of 120 instructions that stores 32 bytes: eight work-items. A quarter of the work-items is idle."""
    stored = Stream("to", 3 * 2**20, 4, 4, write=True)
    streams, counted = (replace(stored, buffer="from", write=False), stored), 120 / 32
    demand = Demand(2**22, (64, 4), streams, {"int32": 1e9}, branches=True, idle_items=2**20)
    demand = replace(demand, instructions_per_stored_byte=counted)
    per_cycle = cpu.architecture.rates_per_cycle["instruction"] / cpu.architecture.wave_size
    expected = Pocl.masked_loop_slowdown * 2**22 / 8 * 120 / per_cycle / cpu.clock_hz / cpu.compute_units

    assert _run(cpu, demand).loop_time_s == pytest.approx(expected)
    assert _run(cpu, demand).class_times() == {"instruction": pytest.approx(expected)}
    partly = replace(stored, elements=stored.elements / 16, record_bytes=64, used_bytes=38)
    # Masks disable some stores.
    assert _run(cpu, replace(demand, streams=(partly,))).loop_time_s == pytest.approx(expected)
    for other in ({"instructions_per_stored_byte": 0.0}, {"branches": False}, {"work_group": (4, 64)}):  # short rows
        assert _run(cpu, replace(demand, **other)).loop_time_s is None


def test_a_gather_takes_longer_than_the_same_accesses_one_by_one(cpu: Device) -> None:
    vector, wave = Demand(64, (64,), operations={"local": 64.0}), float(cpu.architecture.wave_size)
    scalar = replace(vector, branches=True)

    assert _run(cpu, vector).class_factors({"local": wave}) == {"local": Pocl.gather_slowdown * wave}
    assert _run(cpu, scalar).class_factors({"local": wave}) == {"local": wave}


def _intels(cpu: Device, demand: Demand) -> Intel:
    device = altered(cpu, architecture=altered(cpu.architecture, compiler="intel", shuffles_per_cycle=2.0))
    run = execution(device, demand)
    assert isinstance(run, Intel)
    return run


GATHER, INSERT, RECORD = Intel.gather_cycles, Intel.insert_cycles / 2, Intel.record_cycles / 2
TO = Stream("to", 64, 16, 16, write=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (8, 0, 0)),
        ({"branches": True}, (8, GATHER, GATHER)),
        ({"branches": True, "streams": (replace(TO, record_bytes=1, used_bytes=1),)}, (8, INSERT, INSERT)),
        ({"branches": True, "work_group": (4, 16)}, (1,)),
        ({"vector_words": 4, "streams": (TO,)}, (8, 0, RECORD * 4 * 2)),  # four words, two doublings
        (
            {"operations": {"memory": 64.0}, "streams": (TO,)},
            (8, 0, Intel.move_cycles * 2),
        ),  # twice 8 bytes, moved only
        ({"vector_words": 8, "streams": (TO,)}, (8,)),
    ],
)
def test_intels_compiler_vectorises_work_items(
    cpu: Device, changes: dict[str, Any], expected: tuple[float, ...]
) -> None:
    run = _intels(cpu, replace(Demand(64, (64,), operations={"memory": 64.0, "local": 64.0}), **changes))

    assert (run.lanes, *run.lane_cycles({}).values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"used_bytes": 16}, 32),  # half of each record: two records in a line
        ({}, 0),  # whole records follow each other
        ({"used_bytes": 16, "write": True}, 32),
        ({"record_bytes": 4096, "used_bytes": 16}, 64),
    ],
)
def test_only_gathers_and_scatters_of_intels_compiler_wait_for_lines(
    cpu: Device, changes: dict[str, Any], lines: int
) -> None:
    stream = replace(Stream("from", 64, 32, 32), **changes)
    group = _intels(cpu, Demand(64, (64,), streams=(stream,))).isolated_group(160.0, {})

    assert group.loads_s == pytest.approx(cpu.cycles(lines * 160 / FILL_BUFFERS))


def test_work_items_of_intels_compiler_with_long_vectors_follow_each_other(cpu: Device) -> None:
    demand = Demand(64, (64,), operations={"instruction": 64.0 * 8 * REORDERED}, chain={"int32": 10.0}, vector_words=8)
    vectors, lanes = (_intels(cpu, replace(demand, vector_words=words)) for words in (8, 0))

    assert vectors.isolated_group(0.0, {}).chain_s == pytest.approx(64 * lanes.isolated_group(0.0, {}).chain_s)


def test_rows_shorter_than_a_vector_run_one_by_one_even_if_a_core_executes_it_in_parts(cpu: Device) -> None:
    wide = altered(cpu, architecture=altered(cpu.architecture, masked_lanes=16.0))

    assert [_intels(wide, Demand(64, group, branches=True)).lanes for group in ((8, 8), (16, 4))] == [1, 8]
    assert launch(wide, limits_of(wide), "latencies of exchanges")["local"] == 16
