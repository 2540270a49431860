"""What happens between groups, and when the last waves end: each rule on a device of round numbers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict.gpu import GpuExecution
from gpureport.predict.model import execution, point_time
from gpureport.workloads.model import Stream
from tests.toy import NO_LAUNCH_RATE, TOY, of_groups, toy

# From one group to the next


def test_a_group_is_followed_after_a_while() -> None:
    """Three rounds of a chain of 4 us have two changes of 300 cycles between them; one round has none."""
    device = toy(NO_LAUNCH_RATE, turnover_cycles=300.0)
    times = [
        point_time(device, of_groups(n, chain={"int32": 1000.0})).ceilings_s["latency"] for n in (1, 800, 801, 2400)
    ]

    assert times == pytest.approx([4e-6, 4e-6, 8.3e-6, 12.6e-6])


def test_stores_delay_the_next_group() -> None:
    """By 200 cycles, twice as many under load; reads do not."""
    device = toy(NO_LAUNCH_RATE, turnover_cycles=300.0, store_cycles=200.0)
    one = Stream("a", 2**20, 16, 16)
    written = replace(one, write=True)
    cycles = [
        execution(device, of_groups(1, streams=streams, loaded=loaded)).turnover_s * device.clock_hz
        for streams, loaded in (((one,), True), ((one, written), True), ((written,), False))
    ]

    assert cycles == pytest.approx([300, 700, 500])


# One group at a time


def test_a_group_that_leaves_no_room_for_another_is_disturbed_by_nobody() -> None:
    """Its successors never run beside it: what it issues and what it waits for stay its own."""
    demand = of_groups(400, 1024, operations={"int32": 400 * 1024 * 4000.0}, chain={"int32": 15_995.0, "barrier": 1.0})
    isolated, beside = (point_time(NO_LAUNCH_RATE, replace(demand, registers=n)) for n in (64, 32))

    assert (isolated.occupancy.groups_per_compute_unit, beside.occupancy.groups_per_compute_unit) == (1, 2)
    assert isolated.ceilings_s["int32"] == isolated.ceilings_s["latency"] == pytest.approx(4 * 64e-6)
    assert isolated.time_s == pytest.approx(2e-6 + 4 * 64e-6)


# The last waves


def _idle(groups: int, each_us: float, chain_us: float, **changes: Any) -> float:
    """Return the microseconds that are idle after *groups* of four waves, one a scheduler, on each unit."""
    demand = of_groups(100 * groups, 128, **changes)
    run = execution(TOY, demand)
    assert isinstance(run, GpuExecution)
    return run.last_waves_s(groups * each_us * 1e-6, chain_us * 1e-6) * 1e6


def test_the_last_waves_leave_half_of_what_one_takes_longer() -> None:
    """A single wave takes 5 (3, 4 and 5 make a triangle): with 4, 3, 2 and 1 left, two waves of time are lost."""
    assert _idle(100, each_us=3.0, chain_us=4.0) == pytest.approx(3.0 - 3.0 * 3 / 5)
    assert _idle(100, each_us=1.0, chain_us=24**0.5) == pytest.approx(4 / 5 + 3 / 5 + 2 / 5 + 1 / 5)


def test_no_waves_are_left_over_where_all_only_just_fill_a_unit() -> None:
    """Five waves make up for the waits of a single one; the sixth has the unit for itself in the end, in part."""
    idle = [_idle(n, each_us=1.0, chain_us=24**0.5) for n in (1, 4, 5, 6, 7, 8, 20)]

    assert idle == pytest.approx([0, 0, 0, 1, 2, 2, 2])


@given(st.integers(1, 64), st.floats(0.01, 100), st.floats(0, 1000))
def test_the_last_waves_never_idle_longer_than_one_of_them_takes(groups: int, each: float, chain: float) -> None:
    """Nor less than not at all."""
    assert 0 <= _idle(groups, each, chain) <= (each**2 + chain**2) ** 0.5 / 2 * (1 + 1e-9)


def test_waves_that_meet_at_barriers_end_together() -> None:
    """None is left over that another did not wait for."""
    busy = {"int32": 800 * 256 * 1000.0}
    free = of_groups(800, operations=busy, chain={"int32": 4000.0})
    met = replace(free, chain={"int32": 3995.0, "barrier": 1.0})
    (first, second) = (point_time(NO_LAUNCH_RATE, demand).time_s for demand in (free, met))

    assert first > 1.05 * second
