"""Where a cache gives out for whom: passes in order, passes that overlap, kernels that write; and why two thirds."""

from collections import OrderedDict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gpureport.predict.model import _extent, _in_flight_bytes, point_time
from gpureport.predict.occupancy import Resources, occupancy
from gpureport.spec.database import load_database
from gpureport.spec.models import Extent
from gpureport.workloads.model import Demand, Stream
from tests.toy import L2, MIB, TOY

ORDERED, WRITTEN = (Extent(departure=0.6, midpoint=middle, arrival=0.9) for middle in (0.75, 0.67))
CACHE = L2.model_copy(update={"ordered_extent": ORDERED, "written_extent": WRITTEN})
READ = Demand(
    work_items=256_000,
    work_group=(256,),
    streams=(Stream("data", 2**20, 16, 16, passes=64.0),),
    reused="kernel",
)
COPY = replace(READ, streams=(Stream("from", 2**20, 16, 16), Stream("to", 2**20, 16, 16, write=True)))


def test_passes_in_order_have_an_extent_of_their_own_and_so_have_writes() -> None:
    """Where a cache lists none, all leave it where any order does."""
    assert _extent(CACHE, READ, overlapping=False) == ORDERED
    assert _extent(CACHE, READ, overlapping=True) == CACHE.bandwidth_extent
    assert _extent(CACHE, COPY, overlapping=False) == _extent(CACHE, COPY, overlapping=True) == WRITTEN
    for demand in (READ, COPY):
        assert _extent(L2, demand, overlapping=False) == L2.bandwidth_extent


def test_passes_overlap_if_groups_have_asked_for_all_data_before_they_end() -> None:
    """A thousand groups ask for 1 GiB; 800 of them reside. A dispatch that writes for the next never overlaps it."""
    resident = occupancy(TOY.architecture, READ.work_group, Resources(1))

    assert _in_flight_bytes(TOY, READ, resident) == 64 * 2**24 * 0.8
    assert _in_flight_bytes(TOY, replace(READ, work_items=25_600), resident) == 64 * 2**24
    assert _in_flight_bytes(TOY, replace(READ, reused="dispatch"), resident) == 0


def test_the_model_asks_whether_passes_overlap() -> None:
    """48 MiB are three quarters of the cache: half way for passes in order, all in it for any others."""
    device = TOY.model_copy(update={"caches": (TOY.caches[0], CACHE)})
    stream = Stream("data", 48 * MIB / 16, 16, 16, passes=64.0, outer_passes=64.0)
    many = Demand(10**8, (256,), streams=(stream,), reused="kernel")
    ordered, overlapping = (
        point_time(device, demand, Resources(1)).ceilings_s["L2"] for demand in (many, replace(many, work_items=10**5))
    )

    assert overlapping == pytest.approx(64 * 48 * MIB / 32e11)
    assert ordered > 1.5 * overlapping


def _missing(size: float, ways: int, lines: int = 8192, seed: int = 1) -> float:
    """Return the share of reads that memory must serve, in passes in order over *size* x the capacity.

    Two partitions, of which each is the home of half of the lines. A chunk of lines is read from one side or the other,
    as compute units happen to take it. What its home is not on that side is kept on both. Of a set of *ways* lines the
    one leaves that was used longest ago.
    """
    chance = np.random.default_rng(seed)
    sets = lines // 2 // ways
    count = round(size * lines)
    homes, places = chance.integers(2, size=count).tolist(), chance.integers(sets, size=count).tolist()
    partitions: list[list[OrderedDict[int, None]]] = [[OrderedDict() for _ in range(sets)] for _ in range(2)]

    def hit(side: int, line: int) -> bool:
        held = partitions[side][places[line]]
        found = line in held
        held[line] = None
        held.move_to_end(line)
        if len(held) > ways:
            held.popitem(last=False)
        return found

    missed = reads = 0
    for number in range(10):
        for first in range(0, count, 32):
            side = int(chance.integers(2))
            for line in range(first, min(first + 32, count)):
                found = hit(side, line)
                if not found and side != homes[line]:
                    found = hit(homes[line], line)
                if number >= 5:
                    reads, missed = reads + 1, missed + (not found)
    return missed / reads


def test_two_partitions_give_out_at_two_thirds() -> None:
    """Half of the lines are kept twice: 3/2 of the data fit into the whole, if no set is fuller than others."""
    assert _missing(0.64, ways=4096) < 0.2
    assert _missing(0.70, ways=4096) > 0.8


@pytest.mark.parametrize("entry", ["nvidia/h200_sxm", "nvidia/a100_sxm_80"])
def test_the_extent_of_passes_in_order_is_that_of_the_simulation(entry: str) -> None:
    """Reads take as long as the cache needs for all or memory for what it serves, whichever is longer."""
    device = load_database().device(entry)
    cache = device.caches[-1]
    assert cache.ordered_extent is not None
    share = device.memory.bandwidth_bytes_per_s * device.memory.efficiency / device.level_bandwidth_bytes_per_s(cache)
    sizes = [0.5 + 0.02 * i for i in range(26)]
    missing = [_missing(size, ways=32) for size in sizes]

    def where(rate: float) -> float:
        """Return the size at which the rate has fallen to *rate* of the cache's."""
        pairs = zip(pairwise(sizes), pairwise(missing), strict=True)
        (a, b), (low, high) = next(pair for pair in pairs if pair[1][0] < share / rate <= pair[1][1])
        return a + (share / rate - low) / (high - low) * (b - a)

    assert cache.ordered_extent.departure == pytest.approx(where(0.95), rel=0.05)
    assert cache.ordered_extent.midpoint == pytest.approx(where(share**0.5), rel=0.03)
    assert cache.ordered_extent.arrival == pytest.approx(where(share / 0.95), rel=0.05)
