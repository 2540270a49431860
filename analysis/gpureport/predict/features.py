"""Name the features of a predicted curve after the levels that cause them."""

from collections.abc import Sequence
from math import log
from statistics import mode

from gpureport.observe.features import IDLE, IDLE_WORK_ITEMS, sizes_around, work_per_item
from gpureport.records.curves import Axis, CurveFeature, Level
from gpureport.records.prediction import PredictedPoint
from gpureport.spec.models import TRANSITIONS, Cache, Device


def with_level_names(
    features: Sequence[CurveFeature], axis: Axis, points: Sequence[PredictedPoint], device: Device
) -> tuple[CurveFeature, ...]:
    """Replace the numbered levels of *features* by names.

    A cliff and the plateau before it get the name of the cache whose capacity is nearest to the midpoint (log scale). A
    cache does not qualify if its transition range cannot start there. If no cache is near, they get the name of the
    cause, where the points show it (:func:`_cause`). A plateau without a cliff is named after the level that serves its
    points (sweeps over working sets) or their bottleneck (sweeps over work-items).
    """
    if axis.quantity == "transfer":
        return tuple(features)
    translated = {tlb.level for tlb in device.tlb} & {point.level for point in points}
    names = {
        feature.level: (
            _end_of_span_near(feature.value, device, points)
            if translated
            else _cache_near(feature.value, device, of_latency=_is_latency(points))
        )
        or Level.unexplained(feature.value, cause=_cause(feature.value, points))
        for feature in features
        if feature.position == "midpoint"
    }

    def named(feature: CurveFeature) -> CurveFeature:
        if feature.feature == "taper" or feature.position in ("peak", "case"):
            return feature
        level = names.get(feature.level) or _at_plateau(feature.value, axis, points)
        return feature.model_copy(update={"level": level})

    return tuple(map(named, features))


_NEAR_PLATEAU = log(1.1)
_FAR = log(4)


def _at_plateau(value: float, axis: Axis, points: Sequence[PredictedPoint]) -> Level:
    """Return the level of most points within 10 % of a plateau's value, or of the last point if there are none."""
    near = [point for point in points if abs(log(point.value / value)) < _NEAR_PLATEAU] or [points[-1]]
    if axis.quantity != "working_set":
        return Level(name=mode(point.bottleneck for point in near))
    level = mode(point.level for point in near)
    return level if _is_latency(points) else level.whole


def _is_latency(points: Sequence[PredictedPoint]) -> bool:
    """Return whether latency limits the curve. Only latency depends on which partition of a cache serves."""
    return mode(point.bottleneck for point in points) == "latency"


def _cause(size_bytes: float, points: Sequence[PredictedPoint]) -> str:
    """Return the cause of a transition that no cache causes: idle work-items, or another bottleneck; empty if neither.

    Work-items are idle if sizes beyond the transition are no multiples of the work-group, so that each does less work.
    """
    if work_per_item(size_bytes, (point.point for point in points)) < IDLE:
        return IDLE_WORK_ITEMS
    bottlenecks = {point.point.working_set_bytes: point.bottleneck for point in points}
    return (
        "change of bottleneck" if len({bottlenecks[size] for size in sizes_around(size_bytes, bottlenecks)}) > 1 else ""
    )


def _end_of_span_near(size_bytes: float, device: Device, points: Sequence[PredictedPoint]) -> Level | None:
    """Return the translation lookaside buffer that ends nearest to a cliff in the range of addresses, or the cache.

    Caches contain one line of each page. Such a cliff is no working set of the cache, and so has a name of its own.
    """
    parameters = points[0].point.parameters
    lines = parameters["page"] / parameters["line"]
    ends = {tlb.level: tlb.covered_bytes * tlb.transition.midpoint for tlb in device.tlb}
    for cache in device.caches:
        end = cache.capacity_bytes * lines * _usable(cache, of_latency=True)
        ends[Level(name=f"{cache.name} data")] = end / cache.partitions
    nearest = min(ends, key=lambda level: abs(log(size_bytes / ends[level])), default=None)
    return None if nearest is None or abs(log(size_bytes / ends[nearest])) > _FAR else nearest


def _cache_near(size_bytes: float, device: Device, *, of_latency: bool) -> Level | None:
    ends = {
        Level(name=cache.name): cache.capacity_bytes
        * (_usable(cache, of_latency=of_latency) if device.architecture.has_neighbours else 1.0)
        for cache in device.caches
        # Local memory may take any part of a unified cache.
        if cache.unified_with_local_memory
        or size_bytes >= cache.capacity_bytes * min(cache.transition(name).onset for name in TRANSITIONS)
    }
    if of_latency:
        partitioned = (cache for cache in device.caches if cache.partitions > 1)
        ends |= {Level(name=cache.name, near=True): cache.capacity_bytes / cache.partitions for cache in partitioned}
    nearest = min(ends, key=lambda level: abs(log(size_bytes / ends[level])), default=Level(name="cache"))
    far = nearest in ends and abs(log(size_bytes / ends[nearest])) > _FAR
    return None if far else nearest


def _usable(cache: Cache, *, of_latency: bool) -> float:
    """Return the part of a cache that programs find where other programs use the rest."""
    return (cache.latency_transition if of_latency else cache.bandwidth_transition).midpoint
