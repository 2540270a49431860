"""Which memory level serves a working set: interpolation between levels, with a transition range for each cache."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Generic, TypeVar

from gpureport.observe.statistics import Floats
from gpureport.predict.propagation import clamped, exp, log, maximum, minimum, where
from gpureport.records.curves import DRAM, Level
from gpureport.spec.models import PAGE_WALK, Device, Transition
from gpureport.spec.uncertainty import constant, sourced

T = TypeVar("T")
N = TypeVar("N", float, Floats)

STREAMED_EXPONENT = sourced("predict.residency.STREAMED_EXPONENT", float)
"""Power of the size with which the hits of streams fall beyond a cache of a CPU."""

NO_TRANSITION = Transition(onset=1, midpoint=1, end=1)
"""Of memory, which serves every working set beyond the caches."""


@dataclass(frozen=True)
class Misses:
    """Data that miss a cache within the same range of working sets."""

    transition: Transition
    """Range in which the fraction of misses grows, relative to the capacity."""
    share: float
    """Share of all traffic with the next level if everything misses."""
    fill_cost: float
    """Seconds that the cache takes to store these data if all of them come from the next level."""


@dataclass(frozen=True)
class ServingLevel(Generic[T]):
    """One level that may serve a working set."""

    name: T
    """A memory level, or the name of a ceiling."""
    capacity_bytes: float
    """Capacity available to the kernel's data (infinite for memory)."""
    transition: Transition
    """Transition range to the next level, relative to the capacity."""
    cost: float
    """Seconds of a dispatch, or cycles of a load, if this level serves everything."""
    misses: tuple[Misses, ...] = ()
    """What the level exchanges with the next one, if the cost of doing so is known."""


_AT_ONSET, _AT_END = constant(0.05), constant(0.95)
"""Fraction of a transition (log scale) that is complete at its onset and at its end."""


def fraction_beyond(working_set_bytes: float, capacity_bytes: float, transition: Transition) -> float:
    """Return how far the transition beyond a cache has progressed, 0 (all hits) to 1, linear in the log of the size."""
    if capacity_bytes <= 0:
        return 1.0
    if working_set_bytes <= 0:
        return 0.0
    position, middle = log(working_set_bytes / capacity_bytes), log(transition.midpoint)
    onset, end = maximum(middle - log(transition.onset), 1e-9), maximum(log(transition.end) - middle, 1e-9)
    before = position <= middle
    part = (position - middle) / where(before, onset, end) * where(before, 0.5 - _AT_ONSET, _AT_END - 0.5)
    return clamped(0.5 + part, 0.0, 1.0)


def streamed_misses(capacity_bytes: float | N, working_set_bytes: N) -> N:
    """Return the share of a stream over a working set that a cache misses: half of it at the capacity."""
    misses: N = 1 / (1 + (capacity_bytes / working_set_bytes) ** STREAMED_EXPONENT)
    return misses


def mean_time(times: Sequence[float], misses: Iterable[N]) -> N | float:
    """Return the mean of the *times* of levels, from the share of accesses that each level except the last misses."""
    return times[0] + sum(share * (far - near) for share, (near, far) in zip(misses, pairwise(times), strict=True))


def mean_cost(levels: Sequence[ServingLevel[T]], misses: Sequence[float]) -> tuple[float, T]:
    """Return the mean cost, and the name of the level that serves most: the first with less than half missed.

    *misses* are shares of accesses, as of :func:`mean_time`.
    """
    name = levels[-1].name
    for level, share in zip(levels[-2::-1], misses[::-1], strict=True):
        name = where(share <= 0.5, level.name, name)
    return mean_time([level.cost for level in levels], misses), name


def staircase(working_set_bytes: float, levels: Sequence[ServingLevel[T]]) -> tuple[float, T]:
    """Return the cost at a working set, and the name of the level that serves most of it.

    Between two levels, costs are interpolated on a log scale, so that the cost has the onset, midpoint and end of the
    near level's transition range, unless the misses are known. *levels* are given nearest first, memory last.
    """
    cost, serving = log(levels[0].cost), levels[0].name
    for near, far in pairwise(levels):
        beyond = fraction_beyond(working_set_bytes, near.capacity_bytes, near.transition)
        if near.misses:
            cost += log(_cost_with_misses(working_set_bytes, near, far.cost)) - log(near.cost)
        else:
            cost += beyond * (log(far.cost) - log(near.cost))
        serving = where(beyond > 0.5, far.name, serving)
    return exp(cost), serving


def _cost_with_misses(working_set_bytes: float, near: ServingLevel[T], far_cost: float) -> float:
    """Return the cost of a working set that *near* serves, and the next level at *far_cost*.

    The near level spends time on its hits and on its fills, and the far level on the misses. Whichever takes longer
    counts, at most the cost of the far level. How fast the cost grows depends on the near level first and on the far
    level last.
    """
    missed = [(fraction_beyond(working_set_bytes, near.capacity_bytes, part.transition), part) for part in near.misses]
    filling = near.cost + sum(fraction * part.fill_cost for fraction, part in missed)
    return minimum(far_cost, maximum(filling, far_cost * sum(fraction * part.share for fraction, part in missed)))


_level = functools.cache(Level)


def latency_levels(device: Device, usable_bytes: Sequence[float]) -> tuple[ServingLevel[Level], ...]:
    """Return the levels of a dependent load's latency, in cycles, with *usable_bytes* of each cache.

    To one work-item, a cache with several partitions is two levels: the near partition, then the far ones.
    """
    levels = []
    for cache, usable in zip(device.caches, usable_bytes, strict=True):
        transition, cycles = cache.latency_transition, cache.latency_cycles
        if cache.partitions > 1 and cache.far_latency_cycles:
            near = _level(name=cache.name, near=True)
            levels.append(ServingLevel(near, usable / cache.partitions, transition, cycles))
            cycles = cache.far_latency_cycles
        levels.append(ServingLevel(_level(name=cache.name), usable, transition, cycles))
    return (*levels, ServingLevel(DRAM, inf, NO_TRANSITION, device.memory.latency_cycles))


def translation_levels(device: Device, load_cycles: float) -> tuple[ServingLevel[Level], ...]:
    """Return the levels of address translation of a dependent load, whose data take *load_cycles* to arrive.

    A miss in one level adds the latency of that miss; the last level is the walk through the page tables.
    """
    levels, cycles = [], load_cycles
    for tlb in device.tlb:
        levels.append(ServingLevel(tlb.level, tlb.covered_bytes, tlb.transition, cycles))
        cycles = cycles + tlb.miss_cycles
    return (*levels, ServingLevel(PAGE_WALK, inf, NO_TRANSITION, cycles))
