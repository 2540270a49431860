"""Transition ranges of a cache by kernel: cyclic sweeps, overlapping passes, kernels that write; why two thirds."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest

from gpureport.predict.memory import bytes_in_flight, transition_range, write_time_s
from gpureport.predict.model import execution
from gpureport.predict.residency import Misses, ServingLevel, staircase
from gpureport.spec.database import load_database
from gpureport.spec.models import Device, Transition
from gpureport.workloads.model import Demand, Stream
from tests.builders import altered
from tests.toy import L1, L2, TOY, toy

ORDERED, WRITTEN, TO_AND_FRO = (Transition(onset=0.6, midpoint=middle, end=0.9) for middle in (0.75, 0.67, 0.8))
CACHE = altered(L2, cyclic_transition=ORDERED, write_transition=WRITTEN, ping_pong_transition=TO_AND_FRO)
READ = Demand(
    work_items=256_000,
    work_group=(256,),
    streams=(Stream("data", 2**20, 16, 16, passes=64.0),),
    reused="kernel",
)
COPY = replace(READ, streams=(Stream("from", 2**20, 16, 16), Stream("to", 2**20, 16, 16, write=True)))


def test_cyclic_sweeps_and_writes_have_their_own_transitions() -> None:
    """Where a cache lists none, all leave it where any order does."""
    assert transition_range(execution(TOY, READ), CACHE, overlapping=False) == ORDERED
    assert transition_range(execution(TOY, READ), CACHE, overlapping=True) == CACHE.bandwidth_transition
    assert (
        transition_range(execution(TOY, COPY), CACHE, overlapping=False)
        == transition_range(execution(TOY, COPY), CACHE, overlapping=True)
        == WRITTEN
    )
    back = replace(COPY, ping_pong=True)
    assert transition_range(execution(TOY, back), CACHE, overlapping=False) == TO_AND_FRO
    assert (
        transition_range(execution(TOY, back), altered(CACHE, ping_pong_transition=None), overlapping=False) == WRITTEN
    )
    for demand in (READ, COPY):
        assert transition_range(execution(TOY, demand), L2, overlapping=False) == L2.bandwidth_transition


def test_passes_overlap_if_groups_have_asked_for_all_data_before_they_end() -> None:
    """A thousand groups ask for 1 GiB; 800 of them reside. A dispatch that writes for the next never overlaps it."""
    assert bytes_in_flight(execution(TOY, READ)) == 64 * 2**24 * 0.8
    assert bytes_in_flight(execution(TOY, replace(READ, work_items=25_600))) == 64 * 2**24
    assert bytes_in_flight(execution(TOY, replace(READ, reused="dispatch"))) == 0


@dataclass
class _Shares:
    """What happened to the lines that a pass touched, as shares of them."""

    missed: float = 0.0
    crossed: float = 0.0


Order = Literal["read", "copy", "ping_pong"]


class _Partitions:
    """Two partitions, of which each is the home of half of the lines; of a set of *ways* the oldest line leaves.

    A line that is asked for on one side and at home on the other is kept on both, whether it is read or written; a
    write ends the copy on the side it did not come from.
    """

    def __init__(self, count: int, ways: int, lines: int, chance: np.random.Generator) -> None:
        sets = lines // 2 // ways
        self.ways = ways
        self.homes: list[int] = chance.integers(2, size=count).tolist()
        self.places: list[int] = chance.integers(sets, size=count).tolist()
        self.held: list[list[OrderedDict[int, None]]] = [[OrderedDict() for _ in range(sets)] for _ in range(2)]
        self.shares = _Shares()

    def read(self, side: int, line: int) -> None:
        """Find *line* on the side of its reader, at its home, or in memory."""
        home, near = self.homes[line], line in self._set(side, line)
        self.shares.crossed += side != home and not near
        self.shares.missed += not near and line not in self._set(home, line)
        for place in [side] if near else [home, side]:
            self._touch(place, line)

    def write(self, side: int, line: int) -> None:
        """Change *line* at its home."""
        home = self.homes[line]
        self.shares.crossed += side != home
        self._touch(home, line)
        if side != home:
            self._touch(side, line)
        else:
            self._set(1 - home, line).pop(line, None)

    def _set(self, side: int, line: int) -> OrderedDict[int, None]:
        return self.held[side][self.places[line]]

    def _touch(self, side: int, line: int) -> None:
        held = self._set(side, line)
        if line not in held and len(held) == self.ways:
            held.popitem(last=False)
        held[line] = None
        held.move_to_end(line)


def _shares(
    size: float, ways: int = 32, order: Order = "read", lines: int = 8192, seed: int = 1, *, settled: bool = False
) -> _Shares:
    """Return what happens in passes in order over *size* x the capacity, once the first ones are over.

    A chunk of lines is touched from one side or the other, as compute units happen to take it; if *settled* from the
    same one in every pass.
    """
    chance, count = np.random.default_rng(seed), round(size * lines)
    cache = _Partitions(count, ways, lines, chance)
    half = count // 2
    for number in range(10):
        if number == 5:
            cache.shares = _Shares()
        source, target = (half, 0) if order == "ping_pong" and number % 2 else (0, half)
        for first in range(0, count if order == "read" else half, 32):
            side = first // 32 % 2 if settled else int(chance.integers(2))
            chunk = range(first, min(first + 32, count if order == "read" else half))
            for line in chunk:
                cache.read(side, source + line)
            for line in chunk if order != "read" else ():
                cache.write(side, target + line)
    return _Shares(*(value / (5 * count) for value in astuple(cache.shares)))


def _where(sizes: Sequence[float], times: Sequence[float], time: float) -> float:
    """Return the size at which the time has grown to *time*."""
    pairs = zip(pairwise(sizes), pairwise(times), strict=True)
    (a, b), (low, high) = next(pair for pair in pairs if pair[1][0] < time <= pair[1][1])
    return a + (time - low) / (high - low) * (b - a)


def test_two_partitions_give_out_at_two_thirds() -> None:
    """Half of the lines are kept twice: 3/2 of the data fit into the whole, if no set is fuller than others."""
    assert _shares(0.64, ways=4096).missed < 0.2
    assert _shares(0.70, ways=4096).missed > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("entry", ["nvidia/h200_sxm", "nvidia/a100_sxm_80"])
def test_the_transition_of_cyclic_sweeps_is_that_of_the_simulation(entry: str) -> None:
    """Reads take as long as the cache needs for all or memory for what it serves, whichever is longer."""
    device = load_database().device(entry)
    cache = device.caches[-1]
    memory = device.memory
    longer = device.level_bandwidth_bytes_per_s(cache) / (memory.bandwidth_bytes_per_s * memory.efficiency)
    sizes = [0.5 + 0.02 * i for i in range(26)]
    times = [_shares(size).missed * longer for size in sizes]

    assert cache.cyclic_transition.onset == pytest.approx(_where(sizes, times, 1 / 0.95), rel=0.05)
    assert cache.cyclic_transition.midpoint == pytest.approx(_where(sizes, times, longer**0.5), rel=0.03)
    assert cache.cyclic_transition.end == pytest.approx(_where(sizes, times, 0.95 * longer), rel=0.05)


@pytest.mark.slow
def test_the_transition_of_copies_is_that_of_the_simulation() -> None:
    """Its positions are those of the fraction of reads that miss; half of a copy's accesses are reads."""
    cache = load_database().device("nvidia/h200_sxm").caches[-1]
    sizes = [0.46 + 0.02 * i for i in range(26)]
    missed = [2 * _shares(size, order="copy").missed for size in sizes]

    assert cache.write_transition.onset == pytest.approx(_where(sizes, missed, 0.05), rel=0.05)
    assert cache.write_transition.midpoint == pytest.approx(_where(sizes, missed, 0.5), rel=0.03)
    assert cache.write_transition.end == pytest.approx(_where(sizes, missed, 0.95), rel=0.05)


@pytest.mark.parametrize(("fraction", "cost"), [(0.0, 10.0), (0.5, 13.0), (0.8, 16.0), (1.0, 20.0)])
def test_a_cache_is_busy_with_hits_and_fills_and_memory_with_misses(fraction: float, cost: float) -> None:
    """Fills first: 10 + 6 x 0.5; then memory: 20 x 0.8; never more than memory takes for all."""
    step = Transition(onset=0.5, midpoint=1.0, end=2.0)
    size = float(np.exp((fraction - 0.5) / 0.45 * np.log(2.0)))
    near = ServingLevel("L2", 1.0, step, 10.0, (Misses(step, 0.75, 6.0), Misses(step, 0.25, 0.0)))

    assert staircase(size, (near, ServingLevel("DRAM", math.inf, step, 20.0)))[0] == pytest.approx(cost)


def test_half_of_the_writes_cross_and_a_quarter_of_the_reads_of_what_was_written() -> None:
    """Which is what the model counts; reads of what nobody writes do not cross, as both sides keep it."""
    assert _shares(0.3, order="read").crossed < 0.05
    assert _shares(0.3, order="copy").crossed == pytest.approx((0 + 0.5) / 2, abs=0.02)
    assert _shares(0.3, order="ping_pong").crossed == pytest.approx((0.25 + 0.5) / 2, abs=0.02)
    assert _shares(0.3, order="ping_pong", settled=True).crossed == pytest.approx((0 + 0.5) / 2, abs=0.02)


def test_the_model_counts_what_crosses_between_partitions() -> None:
    """A read of what the last dispatch wrote is worth half a write, if not all groups reside at once.

    A sector that two stores fill is worth two.
    """
    device = toy(sector_writes_per_cycle=0.5)
    parted, whole = (altered(device, caches=(L1, altered(CACHE, partitions=partitions))) for partitions in (2, 1))
    sectors = 2**20 * 16 / CACHE.sector_bytes
    once_s = sectors / (0.5 * TOY.compute_units * TOY.clock_hz)
    back = replace(COPY, ping_pong=True)

    few, fewer = replace(back, registers=64), replace(back, work_items=800 * 256)
    assert [execution(TOY, used).resident.groups_per_compute_unit for used in (few, COPY)] == [4, 8]
    assert COPY.groups == 1000

    def times(device: Device, demand: Demand) -> float:
        return write_time_s(execution(device, demand)) / once_s

    assert times(parted, COPY) == times(whole, back) == times(parted, fewer) == pytest.approx(1)
    assert times(parted, back) == times(parted, replace(few, work_items=800 * 256)) == pytest.approx(1.5)
    assert times(parted, replace(COPY, stores_per_sector=2.0)) == pytest.approx(2)
    assert times(parted, replace(READ, ping_pong=True)) == 0
