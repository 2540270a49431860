"""Give the features of a predicted curve the names of the levels that cause them."""

from collections.abc import Sequence
from math import log

from gpureport.records import Axis, CurveFeature, PredictedPoint
from gpureport.spec.models import Device


def named(
    features: Sequence[CurveFeature], axis: Axis, points: Sequence[PredictedPoint], device: Device
) -> tuple[CurveFeature, ...]:
    """Rename the numbered levels of *features*.

    A cliff belongs to the cache whose step is nearest to its midpoint (in log); the plateau before it has its name.
    A plateau that no cliff ends is named by what serves (over working sets) or binds (over work-items) the last point.
    """
    names = {
        feature.level: _cache_near(feature.value, device)
        for feature in features
        if feature.feature == "cliff" and feature.position == "midpoint"
    }
    last = points[-1].level if axis.quantity == "working_set" else points[-1].binding
    return tuple(
        feature
        if feature.feature == "taper" or feature.position == "peak"
        else feature.model_copy(update={"level": names.get(feature.level, last)})
        for feature in features
    )


def _cache_near(size_bytes: float, device: Device) -> str:
    steps = {cache.name: cache.capacity_bytes for cache in device.caches}
    steps |= {f"{c.name} near": c.capacity_bytes / c.partitions for c in device.caches if c.partitions > 1}
    return min(steps, key=lambda name: abs(log(size_bytes / steps[name])), default="cache")
