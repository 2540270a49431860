"""Speed of each machine at each workload, relative to the baseline and to its own predicted peak."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot, log

from gpureport.compare.records import BEYOND, WITHIN, MachineResult, RatioEstimate, WorkloadComparison
from gpureport.records.columns import Curve
from gpureport.records.curves import DRAM, Metric, Observation
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.workloads.grid import last_cache_bytes, part_of_units

BEST_SIZE = "best size"
"""In place of a regime, of workloads without data."""
SIZES = ("working_set", "work_items")
"""Axes along which the working set moves from level to level."""
_FAR = 2.0
"""Working set / last cache's capacity from which the data certainly do not fit: just beyond it, a part may stay."""


@dataclass(frozen=True, slots=True)
class ComparedPoint:
    """One point of one machine.

    Attributes:
        counting: what its work counts.
        reach: its working set / the size that is certainly beyond all caches.
        sized: whether the machine has a sweep of the workload over sizes.
    """

    metric: Metric
    label: str
    value: float
    interval: tuple[float, float] | None
    predicted_peak: float | None
    observed: bool
    counting: str
    reach: float
    sized: bool


ContestKey = tuple[str, str, str]
"""Family, variant, and regime or case."""
BestPoints = Mapping[ContestKey, ComparedPoint]
"""The best points of one machine, by workload and regime; those of a workload without a sweep over sizes also by case,
because another machine may have only one of the two."""


def contests(machines: Mapping[str, BestPoints], baseline: str) -> tuple[WorkloadComparison, ...]:
    """Compare the best points of all machines, workload by workload.

    Devices have different sizes, so sweeps have different points. Each workload is therefore compared once where memory
    serves it and once where a cache does, at the best point of each machine. Cases (an instruction, a stride) are
    compared one by one.
    """
    sized = {key[:2] for best in machines.values() for key, point in best.items() if point.sized}
    common: dict[ContestKey, dict[str, ComparedPoint]] = {}
    for machine, best in machines.items():
        for key, point in best.items():
            if (key[:2] in sized) == (key[2] in (BEYOND, WITHIN, BEST_SIZE)):
                common.setdefault(key, {})[machine] = point
    if all(len(points) < 2 for points in common.values()):
        common = _of_any_size(machines)
    return tuple(_contest(key, points, baseline) for key, points in common.items() if len(points) > 1)


def _of_any_size(machines: Mapping[str, BestPoints]) -> dict[ContestKey, dict[str, ComparedPoint]]:
    """Return the best points of few sizes, which are within the caches of some machines only."""
    found: dict[ContestKey, dict[str, ComparedPoint]] = {}
    for machine, best in machines.items():
        for (family, variant, _), point in best.items():
            if point.sized:
                points = found.setdefault((family, variant, BEST_SIZE), {})
                points[machine] = max(points.get(machine, point), point, key=lambda each: _rank(each, BEST_SIZE))
    return found


def best_points(report: Report, curves: Iterable[Curve]) -> BestPoints:
    """Return the best points of a machine on some *curves* of its report."""
    chosen = [(record, curve.specification) for curve in curves if (record := shown(curve, report))]
    found: dict[ContestKey, ComparedPoint] = {}
    for (family, variant, regime), point in _all_points(report, chosen):
        for kind in (regime,) if point.sized else (regime, point.label):
            key = family, variant, kind
            if key not in found or _rank(point, kind) > _rank(found[key], kind):
                found[key] = point
    return found


def shown(curve: Curve, report: Report) -> Observation | Prediction | None:
    """Return what was observed; of a report without observations, what is predicted."""
    return curve.observation if report.observations else curve.specification


def _all_points(
    report: Report, curves: Sequence[tuple[Observation | Prediction, Prediction | None]]
) -> Iterator[tuple[ContestKey, ComparedPoint]]:
    """Yield every point with its regime; no rates of a part of the compute units: its size differs by device."""
    far_bytes = _FAR * last_cache_bytes(report.device)
    sized = {record.key.workload for record, _ in curves if record.axis.quantity in SIZES}
    sweeps_of_cases = Counter(curve.key.workload for curve, _ in curves if curve.axis.quantity == "case")
    for curve, prediction in curves:
        parameters = (point.point.parameters for point in curve.points)
        if curve.metric.kind == "rate" and part_of_units(parameters, report.device.compute_units):
            continue
        workload = curve.key.workload
        info, fixed = report.workloads.get(workload), _is_without_data(curve, last_cache_bytes(report.device))
        of_transfers = curve.axis.quantity == "transfer"
        name = f", {curve.key.sweep}" if of_transfers or sweeps_of_cases[workload] > 1 else ""
        largest = max((point.point.x for point in curve.points), default=0.0)
        for point in curve.points:
            if of_transfers and point.point.x < largest:
                continue
            predicted = prediction.points.at(point.point) if prediction else None
            far = predicted is None or predicted.level == DRAM
            yield (
                (curve.key.family, curve.key.variant, BEST_SIZE if fixed else BEYOND if far else WITHIN),
                ComparedPoint(
                    metric=curve.metric,
                    label=f"{'large transfers' if of_transfers else point.point.label}{name}",
                    value=point.value,
                    interval=point.interval if point.interval[0] < point.interval[1] else None,
                    predicted_peak=predicted.value if predicted else None,
                    observed=isinstance(curve, Observation),
                    counting=info.counting if info else "",
                    reach=point.point.working_set_bytes / far_bytes,
                    sized=workload in sized,
                ),
            )


def _is_without_data(curve: Observation | Prediction, cache_bytes: float) -> bool:
    """Return whether more work-items of a sweep use the same data, which fit in the last cache of *cache_bytes*."""
    sizes = {point.point.working_set_bytes for point in curve.points}
    return curve.axis.quantity == "work_items" and len(sizes) == 1 and max(sizes) <= cache_bytes


def _rank(point: ComparedPoint, regime: str) -> tuple[float, float]:
    """Return the key of the best point: speed, but beyond the caches first the certainty that no cache serves it."""
    speed = point.value if point.metric.kind == "rate" else 1 / point.value
    return (min(point.reach, 1.0) if regime == BEYOND else 1.0, speed)


def _contest(key: ContestKey, points: Mapping[str, ComparedPoint], baseline: str) -> WorkloadComparison:
    family, variant, regime = key
    base = points.get(baseline)
    others = [name for name, point in points.items() if base is not None and not _comparable(point, base)]
    return WorkloadComparison(
        family=family,
        variant=variant,
        regime=regime,
        metric=next(iter(points.values())).metric,
        refused=f"{baseline} and {', '.join(others)} count work differently" if others else "",
        standings=tuple(_result(name, point, base) for name, point in points.items()),
    )


def _comparable(one: ComparedPoint, other: ComparedPoint) -> bool:
    same_counting = one.counting == other.counting or not (one.counting and other.counting)
    return same_counting and (one.metric.kind, one.metric.unit) == (other.metric.kind, other.metric.unit)


def _result(name: str, point: ComparedPoint, base: ComparedPoint | None) -> MachineResult:
    low, high = point.interval or (None, None)
    return MachineResult(
        machine=name,
        point=point.label,
        value=point.value,
        ci_low=low,
        ci_high=high,
        predicted_peak=point.predicted_peak,
        efficiency=_efficiency(point),
        to_baseline=_speed_ratio(point, base) if base is not None and _comparable(point, base) else None,
    )


def _efficiency(point: ComparedPoint) -> RatioEstimate | None:
    peak = point.predicted_peak
    if not point.observed or peak is None:
        return None
    return _speed_ratio(point, replace(point, value=peak, interval=(peak, peak)))


def _speed_ratio(one: ComparedPoint, other: ComparedPoint) -> RatioEstimate:
    """Return speed of *one* / speed of *other*; the half-widths of both intervals add in quadrature."""
    if one is other:
        return RatioEstimate(value=1.0)
    sign = 1 if one.metric.kind == "rate" else -1
    known = [log(high / low) / 2 for low, high in filter(None, (one.interval, other.interval))]
    return RatioEstimate.of_log(sign * log(one.value / other.value), hypot(*known) if len(known) == 2 else None)
