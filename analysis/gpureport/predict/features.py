"""Features of a predicted curve: their names, after the levels that cause them, and their intervals.

The intervals are derived from the deviations of the points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, log
from statistics import mode

import numpy as np

from gpureport.observe.features import IDLE, IDLE_WORK_ITEMS, sizes_around, work_per_item
from gpureport.observe.statistics import Estimate, Floats, curve_noise
from gpureport.observe.tapers import saturation
from gpureport.predict.sensitivity import Fact, spread
from gpureport.records.curves import Axis, CurveFeature, Level, Metric
from gpureport.records.prediction import PredictedPoint
from gpureport.spec.models import TRANSITIONS, Cache, Device
from gpureport.spec.uncertainty import NORMAL_95, constant, sourced

_NEAR = log(1.1)
"""Points within 10 % of a plateau's value, or of the first time, belong to it."""
_FAR = log(4)
_EXACT = constant(1e-3)
"""Standard error of points of a predicted curve that is no staircase."""
_FIRST = 4
"""Number of points that represent the plateau after a taper. Further points may belong to the next level."""
_LEAST_SLOPE = constant(0.1)
"""Slope of ln(rate) over ln(work-items) at 90 % of the plateau if a fixed cost adds to the work. With a smooth maximum
it is 0.27."""
SIGMA_OTHER_CLIFFS = sourced("predict.features.SIGMA_OTHER_CLIFFS", float)
"""Relative standard deviation of cliffs that are not those of a cache's capacity (assumed for all devices)."""
SIGMA_SHAPE = sourced("predict.features.SIGMA_SHAPE", float)
"""Standard deviation of the predicted rate near n90, as a share of the peak."""


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


def _at_plateau(value: float, axis: Axis, points: Sequence[PredictedPoint]) -> Level:
    """Return the level of most points within 10 % of a plateau's value, or of the last point if there are none."""
    near = [point for point in points if abs(log(point.value / value)) < _NEAR] or [points[-1]]
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


def with_intervals(
    features: Sequence[CurveFeature],
    metric: Metric,
    points: Sequence[PredictedPoint],
    relative: Floats,
    facts: Sequence[Fact],
    *,
    in_bytes: bool = False,
) -> tuple[CurveFeature, ...]:
    """Give each feature of a predicted curve its 95 % interval.

    A rate is as uncertain as the points of its plateau. A cliff is as uncertain as the capacity and the transition
    range of its cache. A taper moves with the time of small dispatches and the rate of large ones, n90 also with the
    shape of the curve.

    *relative* are the relative deviations of the points' times, shape (points, facts). Tapers are in work-items or, of
    transfers, *in_bytes*.
    """
    order = sorted(range(len(points)), key=lambda i: points[i].point.x)
    curve = _Curve(metric, [points[i] for i in order], relative[order], {fact.path: fact for fact in facts}, in_bytes)
    return tuple(map(curve.with_interval, features))


@dataclass(frozen=True)
class _Curve:
    """A predicted curve in the order of its axis, with its deviations, see :func:`with_intervals`."""

    metric: Metric
    points: Sequence[PredictedPoint]
    relative: Floats
    facts: Mapping[str, Fact]
    in_bytes: bool

    @property
    def work(self) -> Floats:
        """Logarithms of the quantity of a taper: work-items, or bytes of a transfer."""
        points = [point.point for point in self.points]
        return np.log([float(point.working_set_bytes if self.in_bytes else point.work_items) for point in points])

    def with_interval(self, feature: CurveFeature) -> CurveFeature:
        """Return *feature* with its interval, whose middle is below its value if others use a part of a cache."""
        transition = self._transition(f"caches.{feature.level.name}") if feature.feature == "cliff" else None
        middle, factor = feature.value * (transition.centre if transition else 1.0), self.factor(feature)
        low, high = (float(f"{end:.5g}") for end in (middle / factor, middle * factor))
        return feature.model_copy(update={"ci_low": min(low, feature.value), "ci_high": max(high, feature.value)})

    def factor(self, feature: CurveFeature) -> float:
        """Return the half-width of the 95 % interval of *feature*, as a factor."""
        if feature.feature == "cliff":
            return float(np.exp(NORMAL_95 * self._of_cliff(feature.level)))
        if feature.feature == "taper":
            return spread(self._of_taper(feature), self._of_reading() if feature.position == "n90" else 0.0)
        if feature.position == "case":
            labels = [point.point.label for point in self.points]
            return spread(self.relative[labels.index(feature.level.name)])
        return spread(self._at(feature.value, [point.value for point in self.points]))

    def _of_cliff(self, level: Level) -> float:
        """Return a cliff's relative standard deviation: the transition range's and, unless measured, the capacity's.

        Those of TLBs, of lines that share sets, and of idle work-items have :data:`SIGMA_OTHER_CLIFFS`.
        """
        transition = self._transition(f"caches.{level.name}")
        capacity = self.facts.get(f"caches.{level.name}.capacity")
        if transition is None or capacity is None:
            return SIGMA_OTHER_CLIFFS
        return transition.relative if transition.kind == "here" else hypot(transition.relative, capacity.relative)

    def _transition(self, cache: str) -> Fact | None:
        of_latency = self.metric.kind == "time"
        paths = {f"{cache}.{name}" for name in TRANSITIONS if (name == "latency_transition") == of_latency}
        effects = zip(np.abs(self.relative).sum(axis=0), self.facts.values(), strict=True)
        listed = [(effect, fact) for effect, fact in effects if fact.path in paths]
        return max(listed, key=lambda each: each[0])[1] if listed else None

    def _of_taper(self, feature: CurveFeature) -> Floats:
        work = self.work
        times = np.log([point.time_s for point in self.points])
        u, first = np.unique(work, return_index=True)
        place = min(max(log(feature.value), float(u[0])), float(u[-1]))
        rates = (work - times)[first]
        reached = u >= place
        plateau = self.relative[first][reached & (rates > rates[reached].max() - _NEAR / 2)][:_FIRST].mean(axis=0)
        if feature.position == "knee":
            return np.asarray(self._at(self.points[0].time_s, [point.time_s for point in self.points]) - plateau)
        slope = max(_LEAST_SLOPE, float(np.interp(place, u, np.gradient(rates, u))))
        there = np.array([np.interp(place, u, column) for column in self.relative[first].T])
        return np.asarray((there - plateau) / slope)

    def _of_reading(self) -> float:
        """Return the relative standard deviation of n90 read off two curves that differ in shape, and are staircases.

        An error of the rate near n90 relative to the peak moves n90 by this error / slope. Predicted and observed
        curve each have the uncertainty of a smooth curve through a staircase (taken from the predicted one).
        """
        work = self.work
        rates = work - np.log([point.time_s for point in self.points])
        order = np.argsort(work, kind="stable")
        noise = np.full(len(work), max(_EXACT, curve_noise(rates[order])))
        n90, slope = saturation(work[order], rates[order], noise) or (Estimate(1.0), 0.0)
        return hypot(SIGMA_SHAPE / max(_LEAST_SLOPE, slope), np.sqrt(2.0) * np.log(n90.width) / 2.0 / NORMAL_95)

    def _at(self, value: float, values: Sequence[float]) -> Floats:
        distances = np.abs(np.log(np.asarray(values, dtype=float) / value))
        return np.asarray(self.relative[distances <= max(_NEAR, float(distances.min()))].mean(axis=0))
