"""Give the features of a predicted curve the names of the levels that cause them."""

from collections.abc import Sequence
from math import log
from statistics import mode

from gpureport.records.features import CurveFeature
from gpureport.records.keys import Axis
from gpureport.records.levels import Level
from gpureport.records.prediction import PredictedPoint
from gpureport.spec.models import TRANSITIONS, Cache, Device


def named(
    features: Sequence[CurveFeature], axis: Axis, points: Sequence[PredictedPoint], device: Device
) -> tuple[CurveFeature, ...]:
    """Rename the numbered levels of *features*.

    A cliff belongs to the cache whose step is nearest to its midpoint (in log), unless none is near, or it holds more
    than that in any case; the plateau before it has its name. A plateau that no cliff ends is named by what serves
    (over working sets) or binds (over work-items) its points.
    """
    names = {
        feature.level: _cache_near(feature.value, device, _waits(points))
        for feature in features
        if feature.feature == "cliff" and feature.position == "midpoint"
    }

    def name(feature: CurveFeature) -> Level:
        return names.get(feature.level) or _at_plateau(feature.value, axis, points)

    return tuple(
        feature
        if feature.feature == "taper" or feature.position in ("peak", "case")
        else feature.model_copy(update={"level": name(feature)})
        for feature in features
    )


_ON_IT = log(1.1)
_NONE_IS_NEAR = log(4)  # where work-groups change their shape curves step, too


def _at_plateau(value: float, axis: Axis, points: Sequence[PredictedPoint]) -> Level:
    """Return what serves or binds most of the points within 10 % of a plateau's value (the last point if none is)."""
    near = [point for point in points if abs(log(point.value / value)) < _ON_IT] or [points[-1]]
    if axis.quantity != "working_set":
        return Level(name=mode(point.bottleneck for point in near))
    level = mode(point.level for point in near)
    return level if _waits(points) else level.whole


def _waits(points: Sequence[PredictedPoint]) -> bool:
    """Return whether the curve is one of latency: to bandwidth no partition is nearer than another."""
    return mode(point.bottleneck for point in points) == "latency"


def _cache_near(size_bytes: float, device: Device, apart: bool) -> Level:
    ends = {Level(name=c.name): c.capacity_bytes for c in device.caches if size_bytes >= _least_bytes(c)}
    if apart:
        parted = (cache for cache in device.caches if cache.partitions > 1)
        ends |= {Level(name=cache.name, near=True): cache.capacity_bytes / cache.partitions for cache in parted}
    nearest = min(ends, key=lambda level: abs(log(size_bytes / ends[level])), default=Level(name="cache"))
    far = nearest in ends and abs(log(size_bytes / ends[nearest])) > _NONE_IS_NEAR
    return Level.unexplained(size_bytes) if far else nearest


def _least_bytes(cache: Cache) -> float:
    """Return the working set below which no curve leaves *cache*; local memory may take any part of a unified one."""
    transitions = [transition for name in TRANSITIONS if (transition := getattr(cache, name))]
    return 0.0 if cache.unified_with_local_memory else cache.capacity_bytes * min(e.onset for e in transitions)
