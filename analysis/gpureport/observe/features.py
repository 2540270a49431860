"""Features of a curve, with the same definitions for measured and predicted curves."""

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.cliffs import LEAST_DROP, Plateau, beside, cliffs, levels, replicated, staircase
from gpureport.observe.statistics import Estimate, Floats
from gpureport.observe.tapers import flattens, saturation_of_transfers, taper
from gpureport.records.curves import DEVICE, Axis, CurveFeature, Feature, Level, Metric, PointKey, Position
from gpureport.records.prediction import PredictedPoint
from gpureport.units import format_bytes
from gpureport.workloads.model import REPEATS

REPLICATES = 400
"""Bootstrap copies of a measured curve. The ends of an interval are then known to about 5 % of its width."""
FEWEST_POINTS = 4
"""Least number of points of a curve with features."""
HIDDEN = 2.0 ** (1.0 / 3.0)
"""Time of a dispatch whose work takes as long as its latency, relative to either: a smooth maximum with p = 3."""
RISING = ((1.5, 2.2, 0.32), (1.1, 1.5, 0.67))
"""Ranges of times, relative to the flat time, and the intercept of a straight line through such times of a smooth
maximum with p = 3, relative to its latency. Dispatches of the first range are mostly work and rarely beyond the first
cliff. Those of the second range are not beyond it, but little of their time is work."""
SEPARATE = ("work_group", "case")
"""Axes whose points form no curve."""
TRANSFER = "large transfers"
"""Level of the plateau of transfers."""
LEAST_SHARE = 0.2
"""A smaller share of launch cost hides no cliff."""
VARIES = 4.0
"""A sweep over work-items shows cliffs if its working set grows by more than this factor."""
MOST_WIDTH = 1.5**2
"""Widest interval of a cliff (upper end / lower end): a factor of 1.5 to either side."""


class Curve(NamedTuple):
    """A curve in arrays of shape (n,), ordered by x."""

    work_items: Floats
    """Work-items of each point."""
    working_set: Floats
    """Working sets, bytes."""
    values: Floats
    """Values in the metric's unit."""
    times: Floats
    """Times of one dispatch, seconds."""
    noise: Floats
    """Relative standard error of the values; zeros for a predicted curve."""

    def at(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> "Curve":
        """Return the chosen points."""
        return Curve(*(column[chosen] for column in self))


def features_of_points(axis: Axis, metric: Metric, points: Sequence[PredictedPoint]) -> tuple[CurveFeature, ...]:
    """Return the features of predicted *points*, in any order, without intervals.

    Returns:
        Of cases, their values. Otherwise cliffs ``level 1``, ``level 2``, … in bytes, nearest first; the taper of the
        ``device`` in work-items; plateaus ``level 1``, … (number k precedes cliff k); for a sweep of work-groups the
        peak.
    """
    if axis.quantity in SEPARATE:
        return separate_features(axis, metric, [(p.point.label, Estimate(p.value)) for p in points])
    ordered = sorted(points, key=lambda p: p.point.x)
    columns = [(p.point.work_items, p.point.working_set_bytes, p.value, p.time_s, 0.0) for p in ordered]
    return curve_features(axis, metric, Curve(*np.array(columns, dtype=float).reshape(-1, 5).T))[0]


def separate_features(axis: Axis, metric: Metric, points: Sequence[tuple[str, Estimate]]) -> tuple[CurveFeature, ...]:
    """Return one rate (or time) for each separate case, from label and value; of a search over work-groups the best."""
    if axis.quantity == "case":
        return tuple(_feature("rate", "case", Level(name=label), value, metric.value_unit) for label, value in points)
    order = max if metric.kind == "rate" else min
    best = order((value for _, value in points), key=lambda value: value.value, default=None)
    return (_feature("rate", "peak", DEVICE, best, metric.value_unit),) if best else ()


def curve_features(axis: Axis, metric: Metric, curve: Curve) -> tuple[tuple[CurveFeature, ...], tuple[str, ...]]:
    """Return the features of a curve, and sentences about missing features."""
    sizes = curve.work_items if axis.quantity == "work_items" else curve.working_set
    size, first = np.unique(sizes, return_index=True)
    if len(size) < FEWEST_POINTS:
        return (), (f"A curve with {len(size)} sizes is too short to find features; it needs {FEWEST_POINTS}.",)
    if axis.quantity == "transfer":
        plateau, n90 = saturation_of_transfers(size, curve.values[first], curve.noise[first])
        found = () if n90 is None else (_feature("taper", "n90", DEVICE, n90, "B"),)
        return (*found, _feature("rate", "plateau", Level(name=TRANSFER), plateau, metric.value_unit)), ()
    return _shape_features(axis, metric, curve.at(first), size)


def _shape_features(
    axis: Axis, metric: Metric, curve: Curve, size: Floats
) -> tuple[tuple[CurveFeature, ...], tuple[str, ...]]:
    u, rate = np.log(size), np.log(curve.values) if metric.kind == "rate" else -np.log(curve.values)
    replicates = REPLICATES if np.any(curve.noise > 0.0) else 0
    copies, plateaus = replicated(rate, curve.noise, replicates), staircase(u, rate, curve.noise)
    found: list[CurveFeature] = []
    warnings: list[str] = []
    net = without_launch(curve, plateaus[0]) if axis.quantity == "working_set" and metric.kind == "rate" else curve
    net_copies, net_plateaus, measured = copies, plateaus, None
    if net is not curve:
        measured = curve.values[np.isin(curve.working_set, net.working_set)]
        u, net_rate = np.log(net.working_set), np.log(net.values)
        net_copies, net_plateaus = replicated(net_rate, net.noise, replicates), staircase(u, net_rate, net.noise)
    if axis.quantity == "working_set" or _grows(curve.working_set, VARIES):
        found, warnings = _cliff_features(net, net_copies, net_plateaus)
    if _grows(curve.work_items, 2.0) and (metric.kind == "rate" or axis.quantity == "work_items"):
        throughput = copies if metric.kind == "rate" else copies - copies[:1] + np.log(curve.work_items / curve.times)
        features, missing = _taper_features(np.log(curve.work_items), throughput, curve.noise, plateaus)
        found, warnings = [*found, *features], [*warnings, *missing]
    end = plateaus[-1].stop
    if end < len(rate) and np.median(rate[end:]) < np.median(plateaus[-1].of(rate)) - LEAST_DROP:
        warnings.append("The rate still falls at the largest size, so the next level was not reached.")
    if curve.work_items[-1] >= 2.0 * curve.work_items[0]:
        # Rates rise slightly along a plateau. Its end is the reference of n90 and of the next cliff's onset.
        net_plateaus = tuple(beside(u, plateau, end=True) for plateau in net_plateaus)
    return (*found, *_plateau_features(metric, net_copies, net.noise, net_plateaus, measured)), tuple(warnings)


def without_launch(curve: Curve, plateau: Plateau) -> Curve:
    """Subtract launch cost from the times of a curve of growing work, so that it hides no cliff.

    The smallest dispatches take a time t that does not depend on their work. It consists of launch cost, which every
    dispatch has, and latency, which larger dispatches hide. Two estimates give the share of launch cost:

    - At the work that takes t by itself, a dispatch takes 2 t if all of t is launch cost, and 1.26 t if all is latency
      (a smooth maximum with p = 3).
    - A straight line through times of about 2 t has its intercept at t, or at 0.32 t. One through times of about 1.3 t
      has it at t, or at 0.67 t.

    A cliff makes the first estimate too small if the smallest dispatches use a cache that is faster than the plateau,
    and the others if they leave a cache. So the largest one counts. Points that take less than 1.5 t are left out,
    because too little of their time is work. The first *plateau* of the *curve*, rates over the working set, shows
    the time of work by itself. A curve that shows no launch cost, or little else, is returned itself.
    """
    beginning = curve.times[curve.work_items <= 2.0 * curve.work_items[0] * (1.0 + 1e-9)]
    if len(beginning) < 2 or np.ptp(beginning) > 0.1 * beginning[0] or not _grows(curve.work_items, 2.0):
        return curve
    flat_s = float(beginning.min())
    work = curve.values * curve.times
    knee = flat_s * float(np.median(plateau.of(curve.values)))
    at_knee_s = float(np.exp(np.interp(np.log(knee), np.log(work), np.log(curve.times))))
    share = (at_knee_s / flat_s - HIDDEN) / (2.0 - HIDDEN)
    for least, most, hidden in RISING:
        rising = (curve.times > least * flat_s) & (curve.times < most * flat_s)
        if np.sum(rising) >= FEWEST_POINTS - 1:
            intercept = float(np.polyfit(work[rising], curve.times[rising], 1)[1]) / flat_s
            share = max(share, (intercept - hidden) / (1.0 - hidden))
    kept = curve.times > 1.5 * flat_s
    if share < LEAST_SHARE or np.sum(kept) < 2 * FEWEST_POINTS:
        return curve
    launch_s = min(share, 1.0) * flat_s
    part = curve.at(kept)
    times = part.times - launch_s
    inflated = part.times / times
    return part._replace(values=part.values * inflated, times=times, noise=part.noise * inflated)


def _grows(column: Floats, factor: float) -> bool:
    return bool(np.all(np.diff(column) >= 0.0) and column[-1] >= factor * column[0])


def _cliff_features(
    curve: Curve, copies: Floats, plateaus: tuple[Plateau, ...]
) -> tuple[list[CurveFeature], list[str]]:
    """Return three positions for each cliff, in bytes, and sentences about falls at an uncertain size."""
    if np.any(np.diff(curve.working_set) <= 0.0):
        return [], []
    features: list[CurveFeature] = []
    uncertain = []
    for number, cliff in enumerate(cliffs(np.log(curve.working_set), copies, curve.noise, plateaus), start=1):
        level, midpoint = Level(name=f"level {number}"), cliff["midpoint"]
        if midpoint.width > MOST_WIDTH:
            ends = f"{format_bytes(midpoint.low)} and {format_bytes(midpoint.high)}"
            uncertain.append(f"The rate falls between {ends}. This range is too wide to report a cliff.")
            continue
        features += [_feature("cliff", position, level, found, "B") for position, found in cliff.items()]
    return features, uncertain


def _taper_features(
    u: Floats, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...]
) -> tuple[list[CurveFeature], list[str]]:
    if not flattens(plateaus):
        return [], ["The rate still rises at the largest size, so no taper was observed."]
    found = taper(u, copies, noise, plateaus)
    late = "The time always depends on the work: the sweep starts too late to show the knee."
    features = [_feature("taper", position, DEVICE, each, "work-items") for position, each in found.items()]
    return features, [late] if found and "knee" not in found else []


def _plateau_features(
    metric: Metric, copies: Floats, noise: Floats, plateaus: tuple[Plateau, ...], measured: Floats | None
) -> list[CurveFeature]:
    """Return the value of each plateau, with the best of its *measured* rates if launch cost was subtracted."""
    if not flattens(plateaus):
        return []
    found = levels(copies, noise, plateaus)
    if metric.kind == "time":
        found = tuple(Estimate(1.0 / e.value, e.high and 1.0 / e.high, e.low and 1.0 / e.low) for e in found)
    features = []
    for number, (value, plateau) in enumerate(zip(found, plateaus, strict=True), start=1):
        feature = _feature("rate", "plateau", Level(name=f"level {number}"), value, metric.value_unit)
        if measured is not None and value.value > (reached := float(plateau.of(measured).max())):
            # A plateau may exceed all points of its fit: its interval then extends down to the best one.
            update = {"best_point": reached, "ci_low": value.low and min(value.low, reached)}
            feature = feature.model_copy(update=update)
        features.append(feature)
    return features


def _feature(feature: Feature, position: Position, level: Level, estimate: Estimate, unit: str) -> CurveFeature:
    return CurveFeature(
        feature=feature,
        position=position,
        level=level,
        value=estimate.value,
        unit=unit,
        ci_low=estimate.low,
        ci_high=estimate.high,
    )


IDLE = 0.9
"""Beyond a transition, the work of a work-item falls below this share if more work-items are idle."""
IDLE_WORK_ITEMS = "idle work-items"
"""The cause, as the name of a level."""


def work_per_item(size_bytes: float, points: Iterable[PointKey]) -> float:
    """Return the work of a work-item just beyond a working set / just before it; 1 if a side has no points."""
    work = {
        point.working_set_bytes: point.work / point.work_items / prod(point.parameters.get(name, 1) for name in REPEATS)
        for point in points
    }
    around = sizes_around(size_bytes, work)
    return work[around[-1]] / work[around[0]] if around else 1.0


def sizes_around(size_bytes: float, sizes: Iterable[float]) -> tuple[float, ...]:
    """Return the sizes just before and just beyond a size; neither if a side has none."""
    before = max((size for size in sizes if size < size_bytes), default=None)
    beyond = min((size for size in sizes if size >= size_bytes), default=None)
    return () if before is None or beyond is None else (before, beyond)
