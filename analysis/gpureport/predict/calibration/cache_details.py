"""Properties of the nearest cache that dependent loads show: sectors, ways, and what it keeps. Pure functions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from gpureport.records.observation import Observation, ObservedPoint
from gpureport.spec.models import Device
from gpureport.workloads.memory.latency import APART

_CLEAR = 1.3
"""Least factor between the latencies of two levels that can be told apart."""
_WHOLE = 0.7
"""A cache that keeps this share of its lines at a stride of a power of two has no conflicts."""


@dataclass(frozen=True)
class CacheDetails:
    """What was measured; ``None``: not measured, or not clear.

    Attributes:
        sector_bytes: smallest distance of a word that a load does not bring into the nearest cache.
        access_bytes: smallest distance of a word that a load does not bring from memory into any cache.
        keeps_loads: whether the nearest cache keeps data that were loaded.
        keeps_stores: whether the nearest cache keeps data that were stored.
        stride_bytes: largest stride at which lines were loaded; 0: none.
        lines_kept: lines at this stride that the nearest cache keeps: its ways, if the stride selects a single set.
    """

    sector_bytes: int | None = None
    access_bytes: int | None = None
    keeps_loads: bool | None = None
    keeps_stores: bool | None = None
    stride_bytes: int = 0
    lines_kept: int | None = None

    def ways(self, device: Device) -> int | None:
        """Return the ways of the nearest cache; ``None``: not known, or it keeps lines at all strides."""
        cache, kept = device.caches[0], self.lines_kept
        return kept if kept and kept < _WHOLE * cache.capacity_bytes / cache.line_bytes else None


def cache_details(device: Device, observations: Iterable[Observation]) -> CacheDetails:
    """Return what *observations* show, if the latencies of the levels of *device* differ enough."""
    latencies = [device.cycles(cache.latency_cycles) for cache in device.caches]
    if len(latencies) < 2 or latencies[1] < _CLEAR * latencies[0]:
        return CacheDetails()
    near_s, next_s, memory_s = *latencies[:2], device.cycles(device.memory.latency_cycles)
    found = {(each.key.workload, each.key.sweep): each.points for each in observations}
    pairs = found.get(("memory/sectors", "distance"), ())
    cases = {p.point.label: p.value for p in found.get(("memory/second_access", "first_access"), ())}
    strides = {p[0].point.parameters[APART]: p for (name, _), p in found.items() if name == "memory/set_conflicts"}
    stride = max(strides, default=0)
    middle_s = sqrt(near_s * next_s)
    loaded_s, stored_s = cases.get("load, load"), cases.get("store, load")
    return CacheDetails(
        sector_bytes=_first_beyond(pairs, (next_s - near_s) / 2),
        access_bytes=_first_beyond(pairs, (next_s + memory_s) / 2 - near_s),
        # Half of the loads of this case find an empty cache.
        keeps_loads=None if loaded_s is None else 2 * loaded_s - next_s < middle_s,
        keeps_stores=None if stored_s is None else stored_s < middle_s,
        stride_bytes=stride,
        lines_kept=_kept(strides[stride], (next_s - near_s) / 3) if stride else None,
    )


def _first_beyond(pairs: Sequence[ObservedPoint], added_s: float) -> int | None:
    """Return the smallest distance at which a pair takes *added_s* longer than at the first, bytes."""
    by_distance = sorted((4 * pair.point.parameters["distance"], pair.value) for pair in pairs)
    return next((distance for distance, value in by_distance if value > by_distance[0][1] + added_s), None)


def _kept(points: Sequence[ObservedPoint], added_s: float) -> int | None:
    """Return the most lines whose loads take less than *added_s* longer than of the fewest; ``None`` if all do."""
    by_lines = sorted((point.point.parameters["lines"], point.value) for point in points)
    count = next((n for n, (_, value) in enumerate(by_lines) if value > by_lines[0][1] + added_s), 0)
    return by_lines[count - 1][0] if count else None
