"""Which level serves a working set: a staircase in log, one step a cache, each with the width that its kind has."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from gpureport.predict.uncertainty.propagation import clamped, exp, log
from gpureport.records.levels import DRAM, Level
from gpureport.spec.models import Device, Transition

T = TypeVar("T")


@dataclass(frozen=True)
class Step(Generic[T]):
    """One level that may serve a working set.

    Attributes:
        of: what the step is of: a memory level, or the name of a ceiling.
        capacity_bytes: capacity available to the kernel's data (infinite for memory).
        transition: where a curve leaves the level, in units of the capacity.
        value: what the level costs: seconds of a dispatch, or cycles of a load.
    """

    of: T
    capacity_bytes: float
    transition: Transition
    value: float


_DEPARTED, _ARRIVED = 0.05, 0.95
"""How far down a step (in log) the curve is at an extent's departure and arrival."""


def departed(working_set_bytes: float, capacity_bytes: float, transition: Transition) -> float:
    """Return how far a curve has gone from a cache to the level behind it, 0 (all hits) to 1, linear in log size."""
    if capacity_bytes <= 0:
        return 1.0
    if working_set_bytes <= 0:
        return 0.0
    position = log(working_set_bytes / capacity_bytes)
    start, middle, end = log(transition.onset), log(transition.midpoint), log(transition.end)
    if position <= middle:
        share = 0.5 + (position - middle) / max(middle - start, 1e-9) * (0.5 - _DEPARTED)
    else:
        share = 0.5 + (position - middle) / max(end - middle, 1e-9) * (_ARRIVED - 0.5)
    return clamped(share, 0.0, 1.0)


def staircase(working_set_bytes: float, levels: Sequence[Step[T]]) -> tuple[float, T]:
    """Return the value at a working set, and the name of the level that mostly serves it.

    Between two levels the value is interpolated in log, so that a lone memory curve departs, is half way and has
    arrived just where the extents say.

    Args:
        working_set_bytes: the footprint.
        levels: nearest first, the last one memory.
    """
    value, serving = log(levels[0].value), levels[0].of
    for near, far in pairwise(levels):
        share = departed(working_set_bytes, near.capacity_bytes, near.transition)
        value += share * (log(far.value) - log(near.value))
        if share > 0.5:
            serving = far.of
    return exp(value), serving


def latency_levels(device: Device, usable_bytes: Sequence[float]) -> tuple[Step[Level], ...]:
    """Return the levels of a dependent load's latency, in cycles.

    A cache of several partitions is two levels to one work-item: the near partition, then the far ones.

    Args:
        device: gives the caches.
        usable_bytes: what each of ``device.caches`` holds of the kernel's data, in bytes.
    """
    levels = []
    for cache, usable in zip(device.caches, usable_bytes, strict=True):
        if cache.partitions > 1 and cache.far_latency_cycles:
            near = Level(name=cache.name, near=True)
            near_bytes = usable / cache.partitions
            levels.append(Step(near, near_bytes, cache.latency_transition, cache.latency_cycles))
            levels.append(Step(near.whole, usable, cache.latency_transition, cache.far_latency_cycles))
        else:
            levels.append(Step(Level(name=cache.name), usable, cache.latency_transition, cache.latency_cycles))
    nowhere = Transition(onset=1, midpoint=1, end=1)
    return (*levels, Step(DRAM, float("inf"), nowhere, device.memory.latency_cycles))
