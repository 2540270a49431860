"""The model's pieces, each against arithmetic done by hand on a device of round numbers."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict import traffic
from gpureport.predict.execution import smooth_maximum
from gpureport.predict.gpu import WRITES_EXPONENT
from gpureport.predict.model import point_time
from gpureport.predict.residency import ServingLevel, fraction_beyond, staircase
from gpureport.workloads.model import Demand, Stream
from gpureport.workloads.particles import Arrays, Structs
from tests.toy import MIB, STEP, TOY, of_groups, toy


@pytest.mark.parametrize(
    ("kernel", "write_allocate", "requested", "sectors", "moved", "footprint"),
    [
        # 32 bytes read, 32 written, 32 filled, for 16 + 16 useful ones: a third, as measured on an H200.
        (Structs(), False, 32_000, 64_000, 96_000, 64_000),
        # Nothing is wasted where every byte of a record is used.
        (Arrays(), False, 32_000, 32_000, 32_000, 32_000),
        # A CPU's copy moves three bytes for two.
        (Arrays(), True, 32_000, 32_000, 48_000, 32_000),
    ],
)
def test_traffic_of_a_thousand_particles(
    kernel: Structs | Arrays, write_allocate: bool, requested: int, sectors: int, moved: int, footprint: int
) -> None:
    """Useful bytes, whole sectors, what memory moves, and what is stored."""
    device = toy(write_allocate=write_allocate)
    streams = kernel.demand({"count": 1000, "local": 256}, device).streams

    assert traffic.requested_bytes(streams) == requested
    assert traffic.outer_bytes(streams, 32) == sectors
    assert traffic.memory_bytes(streams, device, every_pass=False) == moved
    assert traffic.footprint_bytes(streams, device) == footprint


@pytest.mark.parametrize(
    ("record", "used", "granularity", "touched"),
    [(32, 16, 32, 32), (64, 16, 32, 32), (64, 40, 32, 64), (16, 8, 32, 16), (128, 4, 64, 64), (4, 4, 32, 4)],
)
def test_whole_sectors_are_touched(record: int, used: int, granularity: int, touched: int) -> None:
    """Records are aligned; a sector that records share counts once."""
    assert traffic.touched_bytes(Stream("a", 10, record, used), granularity) == 10 * touched


@pytest.mark.parametrize(
    ("times", "exponent", "expected"),
    [
        ([1.0, 1.0], 4, 2**0.25),
        ([3.0, 0.0], 4, 3.0),
        ([], 4, 0.0),
        ([2.0, 3.0, 0.0], math.inf, 3.0),
        ([], math.inf, 0.0),
    ],
)
def test_a_smooth_maximum_is_no_less_than_the_largest_time(
    times: list[float], exponent: float, expected: float
) -> None:
    """Two equal ceilings cost 2^(1/p); with an infinite exponent no power is taken, which could be too large."""
    assert smooth_maximum(times, exponent) == pytest.approx(expected)


@given(st.floats(0.01, 100), st.floats(1.0, 2.0))
def test_the_fraction_beyond_a_cache_is_monotone(size: float, step: float) -> None:
    """A larger working set is never served better."""
    assert fraction_beyond(size, 1.0, STEP) <= fraction_beyond(size * step, 1.0, STEP)


def test_a_cache_without_capacity_serves_nothing() -> None:
    """A working set of one byte misses a cache of no bytes."""
    levels = (ServingLevel("L1", 0.0, STEP, 1.0), ServingLevel("DRAM", math.inf, STEP, 8.0))

    assert staircase(1.0, levels) == (pytest.approx(8.0), "DRAM")


def _copy(megabytes: float, **changes: object) -> Demand:
    count = megabytes * MIB / 32
    demand = {
        "work_items": int(count),
        "work_group": (256,),
        "streams": (Stream("a", count, 16, 16), Stream("b", count, 16, 16, write=True)),
        **changes,
    }
    return Demand(**demand)


def test_only_groups_that_wait_for_loads_are_slowed_down_by_busy_memory() -> None:
    """Stores: the longer of memory and latency. Loads: a smooth maximum of both, which are the same here."""
    written = (Stream("b", 2**25, 16, 16, write=True),)
    stores = _copy(1024, streams=written, chain={"shuffle": 1.0}, memory_chain=0.0, phases_aligned=False)
    ceilings = point_time(TOY, stores).ceilings_s
    stores = replace(stores, chain={"shuffle": ceilings["DRAM"] / ceilings["latency"]})
    storing, loading = (point_time(TOY, replace(stores, memory_chain=count)) for count in (0.0, 1e-9))

    assert storing.ceilings_s["latency"] == pytest.approx(ceilings["DRAM"])
    last_s = 256e-9  # until the L2 has the last stores
    assert storing.time_s - TOY.launch.batched_s == pytest.approx(ceilings["DRAM"] + last_s)
    assert loading.time_s - TOY.launch.batched_s == pytest.approx(
        2 ** (1 / WRITES_EXPONENT) * ceilings["DRAM"] + last_s, rel=0.01
    )


def test_a_point_counts_arithmetic_operations_and_the_bytes_beside_them() -> None:
    """The roofline's axes: neither loads and stores nor overhead are operations."""
    operations = {"int32": 3e9, "fp32": 5e9, "memory": 1e8, "instruction": 7e8}
    found = point_time(TOY, _copy(1024, operations=operations))

    assert found.operations == 8e9
    assert found.memory_bytes == 1024 * MIB


@pytest.mark.parametrize(
    ("wave_starts", "size", "expected_s"), [(0.1, 1024, 320e-6), (1e9, 1024, 100e-6), (0.1, 32, 100e-6)]
)
def test_groups_are_bound_by_their_start_or_that_of_their_waves(
    wave_starts: float, size: int, expected_s: float
) -> None:
    """The dispatcher starts a group per cycle, a compute unit takes 10 cycles for each wave: 1000 groups a unit."""
    demand = of_groups(1000 * TOY.compute_units, size, operations={"int32": 1.0})
    found = point_time(toy(wave_starts_per_cycle=wave_starts), demand)

    assert (found.bottleneck, found.ceilings_s["groups"]) == ("groups", pytest.approx(expected_s))
