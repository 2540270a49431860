"""What single instructions cost that access memory, against arithmetic done by hand on a device of round numbers."""

from dataclasses import replace
from typing import Any

import pytest

from gpureport.predict.accesses import waits_beyond
from gpureport.predict.advice import changes
from gpureport.predict.execution import IsolatedGroup
from gpureport.predict.gpu import EXPOSED
from gpureport.predict.memory import (
    load_latency,
    misses_of,
    request_time_s,
    sending_time_s,
    slowest_line,
    traffic_time,
    usable_capacities,
    waiting_cycles,
    write_time_s,
)
from gpureport.predict.model import execution
from gpureport.predict.traffic import memory_bytes, one_way, opening_s
from gpureport.spec.database import Database
from gpureport.workloads.model import AccessDemand, Demand, Stream
from tests.builders import altered
from tests.toy import L1, L2, MEMORY, TOY, of_groups, toy

READ, WRITE = Stream("a", 100, 32, 32), Stream("b", 100, 32, 32, write=True)
WAVES = 1e5
"""Of 12,500 groups of 256 work-items: 1,000 on each of 100 units."""
SLICES = altered(L2, slice_bytes=2.0**20)
"""64 of them."""
SLICED = altered(toy(sector_writes_per_cycle=0.5, line_writes_per_cycle=0.25), caches=(L1, SLICES))


def _access(kind: Any = "load", space: Any = "global", buffer: str = "a", **of_wave: float) -> AccessDemand:
    sums = {name: value * WAVES for name, value in {"waves": 1.0, "lanes": 32.0, **of_wave}.items()}
    return AccessDemand(buffer, space, kind, 4, **sums)


def _demand(*accesses: AccessDemand, **changes: Any) -> Demand:
    return of_groups(12_500, accesses=accesses, **changes)


_TABLE, _ARGUMENT = {"space": "constant", "buffer": ""}, {"space": "constant"}


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        ([{"lines": 1.0, "conflict_cycles": 1.0}], {"memory": 1.0}),
        ([{"lines": 16.0}], {"memory": 4.0}),
        ([{"lines": 16.0, "sectors": 16.0, "missed_sectors": 8.0}], {"memory": 5.0 + 2.0}),
        ([{"lines": 16.0, "conflict_cycles": 12.0}], {"memory": 12.0}),
        # A sum over instructions, not the time of a mean access
        ([{"lines": 32.0}, {"lines": 1.0}], {"memory": 8.0 + 1.0}),
        # 4 cycles of conflicts; 32 lanes that add to one address
        ([{"space": "local", "conflict_cycles": 4.0}], {"local": 4.0}),
        ([{"kind": "atomic", "space": "local", "conflict_cycles": 1.0, "turns": 32.0}], {"local": 32.0}),
        # Each further constant takes 10 cycles of a port of its own: in tables, not in arguments.
        ([{**_TABLE, "distinct": 8.0, "lines": 8.0}], {"memory": 0.0, "constant": 70.0}),
        ([{**_ARGUMENT, "distinct": 8.0, "lines": 8.0}], {"memory": 2.0}),
        ([{**_ARGUMENT, "distinct": 1.0, "lines": 1.0}], {"memory": 0.0}),
    ],
)
def test_units_take_the_sum_of_their_accesses(accesses: list[dict[str, Any]], expected: dict[str, float]) -> None:
    """Of lines, 4 hits or 1.6 misses a cycle, or of banks: cycles of each of 1000 waves on a unit at 1 GHz."""
    device = toy(lines_per_access=1.6, hit_lines_per_access=4.0, constant_cycles=10.0)
    name = "local" if "local" in expected else "memory"
    demand = _demand(*(_access(**each) for each in accesses), operations={name: 32 * WAVES * len(accesses)})

    times = execution(device, demand).class_times()
    assert times == pytest.approx({name: cycles * 1e-6 for name, cycles in expected.items()})


def test_two_waves_share_a_cycle_only_without_conflicts() -> None:
    """If a unit accesses 64 words of local memory a cycle, waves of 32 take half a cycle."""
    device, local = toy(rates_per_cycle={**TOY.architecture.rates_per_cycle, "local": 64.0}), {"local": 32 * WAVES}
    for conflicts, cycles in ((1.0, 0.5), (2.0, 1.0)):
        demand = _demand(_access(space="local", conflict_cycles=conflicts), operations=local)
        assert execution(device, demand).class_times()["local"] == pytest.approx(cycles * 1e-6)


def test_conflicts_lengthen_a_dependent_load() -> None:
    """A wave waits 2.2 cycles for each further cycle of its access, 5.5 for constants; stores do not count."""
    loads = _access(conflict_cycles=11.0), _access(space="constant", buffer="", distinct=5.0)
    demand = _demand(*loads, _access("store", conflict_cycles=32.0), nearest_chain=1.0)

    group = execution(toy(constant_cycles=2.0), demand).isolated_group(0.0, {})
    assert group.loads_s == pytest.approx((32 + (2.2 * 10 + 5.5 * 2 * 4) / 2) * 1e-9)


def test_slices_of_the_cache_take_time_for_each_request_sector_and_partly_written_line() -> None:
    """64 slices at 1 GHz: a request or sector takes 2 cycles, a line with partly written sectors 4 more."""
    load = _access(lines=4.0, sectors=16.0, missed_sectors=8.0)
    device = toy(SLICED, requests_per_cycle=0.5)
    store = _access("store", lines=2.0, sectors=5.0, partly_written=1.5)
    run = execution(device, _demand(load, store))

    assert request_time_s(run, SLICES) == pytest.approx(2 * 2 * WAVES / 64 * 1e-9)
    # A unit sends requests for two missing lines, and for two lines with five sectors
    assert sending_time_s(run) == pytest.approx(2 * (2 + 2 + 5) * WAVES / 100 * 1e-9)
    # A load of four lines waits behind the stores: 4 cycles of each unit for a wave
    assert write_time_s(run) == pytest.approx((5 * 2 + 1.5 * 4) * WAVES / 64 * 1e-9 + 4 * WAVES / 100 * 1e-9)


@pytest.mark.parametrize(("hottest", "cycles"), [(1e7, 1.15 * 2e7), (0.0, 1.15 * 2 * 39 * WAVES)])
def test_atomic_operations_wait_in_the_busiest_slice(hottest: float, cycles: float) -> None:
    """Eight sectors, one of them with 32 operations on one word; one slice has all, and takes 2.3 cycles for each.

    Two instructions have the same hottest address. What else is written is in other slices.
    """
    atomic = _access("atomic", sectors=4.0, turns=19.5, hottest=hottest / WAVES)
    streams = (Stream("a", 4, 32, 32, write=True), Stream("b", 1e6, 32, 32, write=True))
    run = execution(SLICED, _demand(atomic, atomic, streams=streams))

    assert waiting_cycles(run) == pytest.approx(cycles)


@pytest.mark.parametrize(("space", "turns"), [("global", 4), ("local", 1)])
def test_ordered_atomic_operations_take_fewer_turns(space: str, turns: float) -> None:
    """Of 32 words in lines of their own, and in one bank. Nothing opens rows for a part of their bytes then."""
    atomic = _access("atomic", space, lines=32.0, sectors=32.0, conflict_cycles=32.0, distinct=32.0, turns=32.0)
    scattered = _demand(atomic, streams=(Stream("a", 100, 256, 4, accesses=100.0, rows=100.0),))
    (ordered,) = (demand for what, demand in changes(scattered, SLICED) if "neighbouring elements" in what)

    assert (ordered.accesses[0].turns, ordered.streams) == (turns * WAVES, (Stream("a", 100, 4, 4),))


def test_no_advice_is_on_private_memory_whose_places_compilers_determine() -> None:
    private = _access("load", "private", "private memory", lines=32.0, sectors=32.0, distinct=32.0)
    assert not [*changes(_demand(private), SLICED)]


@pytest.mark.parametrize(("branches", "barriers", "lanes"), [(False, 0, 16), (False, 1, 1), (True, 0, 1)])
def test_waves_of_a_core_have_the_lanes_of_its_traces(
    branches: bool, barriers: int, lanes: int, database: Database
) -> None:
    """Of 12,500 groups of 256 work-items, which wait twice."""
    demand = _demand(memory_chain=2.0, branches=branches, operations={"barrier": 1.0} if barriers else {})

    run = execution(database.device("cpu/core_i7_7800x"), demand)
    assert run.waits == 12_500 * 256 / lanes * 2


@pytest.mark.parametrize(("new", "share"), [(1.0, 1.0), (0.5, 1 - 0.5**4)])
def test_a_wave_waits_for_memory_if_one_of_its_lines_is_new(new: float, share: float) -> None:
    """Four lines are missing, of which a part is new to the shared cache, and one of another load, which is in it."""
    load = _access(lines=4.0, sectors=4.0, missed_sectors=4.0, missing_waves=1.0)
    other = _access(buffer="c", lines=1.0, sectors=1.0, missed_sectors=1.0, missing_waves=1.0)
    streams = Stream("a", 4 * WAVES * new, 32, 32, outer_passes=1 / new), Stream("c", 0, 32, 32)
    demand = _demand(load, streams=streams[:1], memory_chain=1.0)
    run, two = (execution(TOY, each) for each in (demand, replace(demand, streams=streams)))

    assert waits_beyond(demand, L2, run.waits) == pytest.approx(share)
    assert waits_beyond(replace(two.demand, accesses=(load, other)), L2, run.waits) == pytest.approx(share)
    # If one waits after the other, the mean counts.
    assert waits_beyond(replace(two.demand, accesses=(load, other)), L2, 2 * run.waits) == pytest.approx(share / 2)
    # Memory takes 800 cycles; the factor of load, 2, exceeds that of the slowest of 4 lines of 8 waves, 1.5.
    assert load_latency(run, 2.0**40, usable_capacities(run))[0] == pytest.approx(256 + share * (800 - 256))
    assert slowest_line(execution(toy(loaded_latency_factor=1.2), demand)) == pytest.approx(1.5 / 1.2)


def test_private_memory_that_a_cache_contains_moves_nothing_beyond() -> None:
    """Beside it, the dispatch only reads. A wave waits for two loads in turn, of which one is in the cache."""
    own = [Stream("p", 4 * WAVES, 32, 4, write=write, memory_passes=0.0) for write in (False, True)]
    load = _access(lines=4.0, sectors=4.0, missed_sectors=4.0, missing_waves=1.0)
    loads = load, replace(load, buffer="p", space="private")
    demand = _demand(*loads, streams=(Stream("a", 4 * WAVES, 32, 32), *own), memory_chain=2.0)
    run, alone = (execution(SLICED, replace(demand, streams=each)) for each in (demand.streams, demand.streams[:1]))

    assert waits_beyond(demand, L2, run.waits) == pytest.approx(1 / 2)
    assert one_way(demand.streams, TOY)
    assert run.saturation_exponent == alone.saturation_exponent
    assert misses_of(execution(SLICED, replace(demand, streams=tuple(own))), SLICES) == ()


def test_only_the_first_load_of_a_chain_meets_those_of_other_groups() -> None:
    """The factor of 2 applies to one of four loads; those of one group queue behind its own requests while it waits.

    Of the waits of more groups, at most half are exposed in part.
    """
    chain = _demand(_access(), memory_chain=4.0, phases_aligned=False)
    assert execution(TOY, chain).loaded_factor == 1.25

    for groups, expected in ((100, 5e-6), (300, 4e-6 + EXPOSED * 1.5e-6)):
        run = execution(TOY, replace(chain, work_items=groups * 256))
        time_s = run.work_s(4e-6, 0.0, 3e-6, IsolatedGroup(3e-6, 0.0, 0.0), from_memory=False)
        assert time_s == pytest.approx(expected)


def test_computing_groups_do_not_hide_all_waits_of_one() -> None:
    """Those for loads, 1 of 3 us, and for local memory, but at most half of its time."""
    waiting = _demand(_access(), memory_chain=1.0, chain={"barrier": 1.0}, phases_aligned=False)
    run = execution(TOY, replace(waiting, work_items=300 * 256))
    times = [
        run.work_s(9e-6, 0.0, 3e-6, IsolatedGroup(1e-6, 2e-6, 2e-6, local), from_memory=False) for local in (0, 1e-6)
    ]

    assert times == pytest.approx([9e-6 + EXPOSED * 1e-6, 9e-6 + EXPOSED * 1.5e-6])
    assert run.work_s(9e-6, 0.0, 1e-6, IsolatedGroup(0.0, 0.0, 0.0), from_memory=False) == pytest.approx(9e-6, 1e-4)


def test_memory_is_slower_for_sectors_without_order() -> None:
    """A load of single sectors that are not found again; half of all sectors are loaded in order."""
    gathered = _access(lines=4.0, sectors=4.0, missed_sectors=4.0, backward=16.0)
    demand = _demand(gathered, _access(lines=1.0, sectors=4.0, missed_sectors=4.0), streams=(READ, WRITE))

    assert execution(TOY, demand).memory_efficiency == pytest.approx(0.9 * (1 - 0.42 / 2))


def test_memory_of_known_channels_opens_rows_of_which_a_part_is_accessed() -> None:
    """Of ten channels; 32 bytes of each 128 open half of a row, 40 of 512 one, 480 of 512 two, with one access less."""
    known = altered(TOY, memory=altered(MEMORY, channels=10))

    def rows(*streams: Stream) -> float:
        return opening_s(streams, known, every_pass=False) / 4.16e-9 * 10

    assert rows(Stream("a", 100, 128, 32)) == pytest.approx(50)
    assert rows(Stream("a", 100, 512, 40), Stream("a", 100, 128, 128)) == pytest.approx(100)
    assert rows(Stream("a", 100, 512, 480)) == pytest.approx(100)
    assert rows(Stream("a", 100, 128, 32, rows=7.0, memory_passes=3.0)) == pytest.approx(21)
    # What is written in part is read, too.
    assert rows(Stream("a", 100, 256, 4, write=True)) == pytest.approx(100 * (1 + 6.6 / 4.16))
    assert opening_s([Stream("a", 100, 256, 4)], TOY, every_pass=False) == 0


def test_opening_rows_overlaps_with_moving_bytes() -> None:
    """16 million accesses of 32 bytes, each in a row: 6.7 ms, and 0.5 ms for their bytes."""
    known = altered(TOY, memory=altered(MEMORY, channels=10))
    demand = _demand(_access(lines=32.0, backward=16.0), streams=(Stream("a", 16e6, 256, 4),))
    run = execution(known, demand)
    time_s, _ = traffic_time(run, 16e6 * 128, usable_capacities(run))

    assert run.memory_efficiency == pytest.approx(0.98)  # also without order
    assert time_s == pytest.approx(((16e6 * 4.16e-10) ** 3 + (16e6 * 32 / 0.98e12) ** 3) ** (1 / 3))


def test_a_stream_may_know_its_passes_through_memory() -> None:
    """Gathers beyond the shared cache fetch sectors again."""
    assert memory_bytes([Stream("a", 100, 32, 32, outer_passes=9.0, memory_passes=3.0)], TOY, every_pass=False) == 9600
