"""Latency and bandwidth of a CPU's memory levels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import (
    KERNELS,
    OPERATIONS,
    SPREADS,
    Socket,
    Streams,
    chain_misses,
    latency_curve,
    latency_s,
    machine_streams,
    socket_streams,
)
from gpureport.predict.model import execution
from gpureport.predict.residency import ServingLevel, mean_time, streamed_misses
from gpureport.spec.cores import LINE_BYTES, SHARES, Topology, usable_l3
from gpureport.spec.models import CoreType, StreamType, Transition
from tests.builders import altered
from tests.toy import KIB, MIB, of_groups, on_cpu

CORE = CoreType(
    l1_bytes=32 * KIB,
    l2_bytes=1 * MIB,
    l3_bytes=32 * MIB,
    cores_per_l3=8,
    cores_per_socket=64,
    l1_latency_s=1e-9,
    l2_latency_s=4e-9,
    l3_latency_s=16e-9,
    memory_latency_s=100e-9,
    tlb_latency_s=2e-9,
    l1_read_bytes_per_s=100e9,
    l2_read_bytes_per_s=80e9,
    l3_read_bytes_per_s=40e9,
    memory_read_bytes_per_s=20e9,
    l1_write_bytes_per_s=100e9,
    l2_write_bytes_per_s=80e9,
    l3_write_bytes_per_s=40e9,
    memory_write_bytes_per_s=20e9,
    socket_bandwidth_bytes_per_s=160e9,
    socket_exponent=0.5,
    l3_share=1.0,
    l3_share_exponent=0.25,
)
PLACE = Topology("plain", 64.0, 64.0, 1.0, 1.0, 32.0 * MIB, 8.0)
SIZES = 2.0 ** np.arange(12, 33)


def test_random_loads_miss_with_the_share_of_lines_not_used_since() -> None:
    """Four nodes of a line: at half of the capacity, 0.5^(3/4) of the loads miss."""
    size = np.array([1.0, 2.0, 4.0, 1e9])

    assert chain_misses(np.array(2.0), size) == pytest.approx([0, 0, 0.5**0.75, 1], abs=1e-8)


def test_half_of_a_stream_misses_at_the_capacity() -> None:
    misses = [streamed_misses(8.0, size) for size in (8.0, 0.8, 80.0)]

    assert misses == pytest.approx([0.5, 0, 1], abs=2e-4)
    assert mean_time([1.0, 2.0, 6.0], [0.5, 0.25]) == 0.5 * 1 + 0.25 * 2 + 0.25 * 6


def test_small_pages_miss_the_tlb_and_huge_ones_do_not() -> None:
    flat = CORE.model_copy(update=dict.fromkeys(("l2_latency_s", "l3_latency_s"), CORE.l1_latency_s))

    small, huge = latency_s(flat, PLACE, np.array([2.0 * MIB, 4.0 * MIB]))

    assert small - huge == pytest.approx(2e-9 * (1 - 256 * KIB / (2 * MIB)))


def test_a_part_of_a_socket_has_a_part_of_the_l3() -> None:
    """One sixteenth of the cores to the power of 1/4 is one half."""
    sixteenth = replace(PLACE, part=1 / 16)

    assert usable_l3(CORE, PLACE) == 1
    assert usable_l3(CORE, sixteenth) == pytest.approx(0.5)
    assert (latency_s(CORE, sixteenth, SIZES) >= latency_s(CORE, PLACE, SIZES)).all()


def streams(place: Topology, size: Floats, operation: str, *, write_allocate: bool = True) -> Streams:
    return machine_streams(CORE, place, size, OPERATIONS[operation], write_allocate=write_allocate)


def test_memory_saturates_at_the_traffic_of_the_socket() -> None:
    """A write moves its line twice, a copy three times. 64 cores could read 1280 GB/s."""
    size = np.array([1e12])
    read, write, copy = (streams(PLACE, size, o).bytes_per_s()[0] for o in OPERATIONS)

    assert read == pytest.approx(160e9, rel=1e-3)
    assert write == pytest.approx(80e9, rel=1e-3)
    assert copy == pytest.approx(160e9 / 3, rel=2e-3)
    assert streams(PLACE, size, "write", write_allocate=False).bytes_per_s()[0] == pytest.approx(160e9, rel=1e-3)


@given(
    part=st.floats(0.01, 1),
    listing=st.sampled_from(list(SPREADS)),
    operation=st.sampled_from(list(OPERATIONS)),
    cores=st.integers(1, 64),
)
def test_curves_are_monotonic_and_within_their_interval(part: float, listing: str, operation: str, cores: int) -> None:
    place = replace(PLACE, listing=listing, part=part, cores=float(cores), processors=float(cores), **SHARES[listing])  # type: ignore[index, arg-type]
    latency = latency_curve(CORE, place, SIZES)
    bandwidth = streams(place, SIZES, operation).curve()

    assert (latency.low < latency.values).all()
    assert (latency.values < latency.high).all()
    assert (bandwidth.low < bandwidth.values).all()
    assert (bandwidth.values < bandwidth.high).all()
    assert (np.diff(latency.values[SIZES >= 4 * MIB]) >= 0).all()
    assert np.isfinite(bandwidth.high).all()


STREAMS = StreamType(
    load_bytes_per_cycle=64,
    store_bytes_per_cycle=32,
    access_bytes_per_cycle=64,
    l2_line_cycles=2,
    l3_line_cycles=4,
    memory_line_s=2e-9,
    socket_bandwidth_bytes_per_s=80e9,
    transfer_exponent=1,
)
SOCKET = Socket(clock_hz=2e9, cores=8, domains=2, l3_bytes=16 * MIB)
DATA = np.array([2.0 * KIB, 1.5 * MIB, 1e11])


def test_times_of_transfers_add_up() -> None:
    """A copy: two cycles in the core; three lines (one to allocate) at two cycles from the L2."""
    one, core = np.ones(3), altered(CORE, l2_bytes=64 * MIB)
    curve = socket_streams(core, STREAMS, SOCKET, KERNELS["copy"], one, DATA, write_allocate=True).curve()
    l1, l2, memory = 2 * LINE_BYTES / curve.values

    assert l1 == pytest.approx(2 / 2e9, rel=1e-3)
    assert l2 == pytest.approx((2 + 6) / 2e9, rel=1e-3)
    alone = (2 + 6 + 12) / 2e9 + 3 * 2e-9
    assert memory == pytest.approx((alone**4 + (3 * 64 / 40e9) ** 4) ** 0.25, rel=1e-3)
    assert ((curve.low < curve.values) & (curve.values < curve.high)).all()


def test_cores_fill_one_domain_after_the_other() -> None:
    cores = np.arange(1.0, 9.0)
    fast = altered(STREAMS, memory_line_s=0.2e-9, socket_bandwidth_bytes_per_s=20e9)
    found = socket_streams(CORE, fast, SOCKET, KERNELS["load"], cores, np.full(8, 1e10), write_allocate=True)
    values = found.bytes_per_s()

    assert values[[3, 7]] == pytest.approx([10e9, 20e9], rel=0.01)
    assert values[4] > 1.3 * values[3]


def test_kernels_take_the_mean_time_of_the_levels() -> None:
    """At the middle of a cache's transition, half of a stream comes from each side."""
    run = execution(on_cpu(), of_groups(1000))
    steep = ServingLevel("L2", 2.0 * MIB, Transition(onset=0.5, midpoint=1.0, end=2.0), 1.0)
    levels = (steep, ServingLevel("DRAM", np.inf, steep.transition, 5.0))

    assert run.streams_served(2.0 * MIB, levels) == (pytest.approx(3.0), "L2")
    assert run.streams_served(4.0 * MIB, levels) == (pytest.approx(5 - 4 / 17), "DRAM")
    assert run.loads_served(2.0 * MIB, levels) == (pytest.approx(3.0), "L2")
    assert run.streams_served(0.0, levels) == (1.0, "L2")
