"""How fast each machine is at each workload, beside the baseline and beside what its specification promises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log

from gpureport.compare.excerpt import Excerpt, Observation, ObservedPoint, PredictedPoint, Prediction
from gpureport.compare.records import Contest, Ratio, Standing
from gpureport.records.keys import Metric
from gpureport.records.levels import DRAM
from gpureport.workloads.grid import last_cache_bytes

BEYOND, WITHIN = "beyond the caches", "within the caches"
REGIMES = (BEYOND, WITHIN)
_SIZES = ("working_set", "work_items")
"""Axes along which a workload goes from level to level."""
_FAR = 2.0
"""So many times the last cache's capacity are beyond it for certain: just beyond, a part of the data may stay there."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One point of one machine; *reach*: its working set / what is beyond all caches for certain."""

    metric: Metric
    label: str
    value: float
    interval: tuple[float, float] | None
    predicted_peak: float | None
    observed: bool
    counting: str = ""
    reach: float = 1.0


Key = tuple[str, str]
"""Workload, and regime or case."""


@dataclass(frozen=True)
class Best:
    """The best points of one machine.

    Attributes:
        sized: names of the workloads that it goes through from level to level.
        points: by regime; of all other workloads also by case, since another machine may tell which of both they have.
    """

    sized: frozenset[str]
    points: Mapping[Key, Candidate]


def contests(machines: Mapping[str, Best], baseline: str) -> tuple[Contest, ...]:
    """Set the best of every machine beside each other, workload by workload.

    Sizes are chosen for each device, so that points differ; what they have in common is what serves them. Each workload
    is compared where memory serves it and where a cache does, at the point where each machine is best. Cases
    (an instruction, a stride) are compared one by one.

    Args:
        machines: the best of each, by its name, in the order of the comparison.
        baseline: name of the one that ratios refer to.
    """
    sized = frozenset[str]().union(*(best.sized for best in machines.values()))
    together: dict[Key, dict[str, Candidate]] = {}
    for machine, best in machines.items():
        for (workload, regime), candidate in best.points.items():
            if (workload in sized) == (regime in REGIMES):
                together.setdefault((workload, regime), {})[machine] = candidate
    return tuple(_contest(key, of_machines, baseline) for key, of_machines in together.items() if len(of_machines) > 1)


def best(report: Excerpt) -> Best:
    """Return the best points of a machine."""
    curves: Sequence[Observation | Prediction] = report.observations or report.specified
    sized = frozenset(curve.key.workload for curve in curves if curve.axis.quantity in _SIZES)
    found: dict[Key, Candidate] = {}
    for (name, regime), candidate in _candidates(report):
        for kind in (regime,) if name in sized else (regime, candidate.label):
            key = name, kind
            if key not in found or _rank(candidate, kind) > _rank(found[key], kind):
                found[key] = candidate
    return Best(sized, found)


def _candidates(report: Excerpt) -> Iterator[tuple[Key, Candidate]]:
    """Yield every point of a machine with its regime; of sweeps that were observed what was observed."""
    predicted_peak = {str(p.key): p for p in report.specified}
    observed = {str(o.key): o for o in report.observations}
    counting = {name: info.counting for name, info in report.workloads.items()}
    far_bytes = _FAR * last_cache_bytes(report.device)
    for name in observed or predicted_peak:
        yield from _points(predicted_peak.get(name), observed.get(name), counting, far_bytes)


def _points(
    prediction: Prediction | None,
    observation: Observation | None,
    counting: Mapping[str, str],
    far_bytes: float,
) -> Iterator[tuple[Key, Candidate]]:
    by_label = {p.point.label: p for p in prediction.points} if prediction else {}
    curve = observation or prediction
    if curve is None:
        return
    name = curve.key.workload
    for point in curve.points:
        said = by_label.get(point.point.label)
        yield (
            (name, _regime(said)),
            Candidate(
                metric=curve.metric,
                label=point.point.label,
                value=point.value,
                interval=_interval(point),
                predicted_peak=said.value if said else None,
                observed=observation is not None,
                counting=counting.get(name, ""),
                reach=point.point.working_set_bytes / far_bytes,
            ),
        )


def _interval(point: PredictedPoint | ObservedPoint) -> tuple[float, float] | None:
    """Return the 95 % interval of a point's value, where there is one."""
    if isinstance(point, PredictedPoint):
        return (point.value / point.spread, point.value * point.spread) if point.spread > 1 else None
    return (point.ci_low, point.ci_high) if point.ci_low < point.ci_high else None


def _regime(said: PredictedPoint | None) -> str:
    return BEYOND if said is None or said.level == DRAM else WITHIN


def _rank(candidate: Candidate, regime: str) -> tuple[float, float]:
    """Return what the best point has most of: speed, but beyond the caches only where the data are so for certain."""
    return (min(candidate.reach, 1.0) if regime == BEYOND else 1.0, _speed(candidate))


def _speed(candidate: Candidate) -> float:
    return candidate.value if candidate.metric.kind == "rate" else 1 / candidate.value


def _contest(key: tuple[str, str], of_machines: Mapping[str, Candidate], baseline: str) -> Contest:
    workload, regime = key
    base = of_machines.get(baseline)
    others = [name for name, candidate in of_machines.items() if base is not None and not _comparable(candidate, base)]
    return Contest(
        workload=workload,
        regime=regime,
        metric=next(iter(of_machines.values())).metric,
        refused=f"work is counted otherwise on {baseline} than on {', '.join(others)}" if others else "",
        standings=tuple(_standing(name, candidate, base) for name, candidate in of_machines.items()),
    )


def _comparable(one: Candidate, other: Candidate) -> bool:
    """Return whether both count the same work, so that a ratio of the two means something."""
    counted_alike = one.counting == other.counting or not (one.counting and other.counting)
    return counted_alike and (one.metric.kind, one.metric.unit) == (other.metric.kind, other.metric.unit)


def _standing(name: str, candidate: Candidate, base: Candidate | None) -> Standing:
    efficiency = _efficiency(candidate)
    return Standing(
        machine=name,
        point=candidate.label,
        value=candidate.value,
        ci_low=candidate.interval[0] if candidate.interval else None,
        ci_high=candidate.interval[1] if candidate.interval else None,
        predicted_peak=candidate.predicted_peak,
        efficiency=efficiency,
        to_baseline=_faster(candidate, base) if base is not None and _comparable(candidate, base) else None,
        normalised=_quotient(efficiency, _efficiency(base)) if base is not None and efficiency else None,
    )


def _efficiency(candidate: Candidate) -> Ratio | None:
    """Return speed / promised speed of a point that was observed; the promise is taken at its word."""
    predicted_peak = candidate.predicted_peak
    if not candidate.observed or predicted_peak is None:
        return None
    return _faster(
        candidate,
        Candidate(candidate.metric, "", predicted_peak, (predicted_peak, predicted_peak), None, observed=False),
    )


def _faster(one: Candidate, other: Candidate) -> Ratio:
    """Return how many times as fast *one* is as *other*; an interval as wide as those of both together."""
    if one is other:
        return Ratio(value=1.0)
    sign = 1 if one.metric.kind == "rate" else -1
    centre = sign * log(one.value / other.value)
    if one.interval is None or other.interval is None:
        return _ratio(centre, None)
    return _ratio(centre, hypot(*(log(high / low) / 2 for low, high in (one.interval, other.interval))))


def _quotient(one: Ratio | None, other: Ratio | None) -> Ratio | None:
    if one is None or other is None:
        return None
    if one == other:
        return Ratio(value=1.0)
    widths = [log(r.ci_high / r.ci_low) / 2 if r.ci_low and r.ci_high else None for r in (one, other)]
    known = [width for width in widths if width is not None]
    half = sum(width**2 for width in known) ** 0.5 if len(known) == len(widths) else None
    return _ratio(log(one.value / other.value), half)


def _ratio(centre: float, half_width: float | None) -> Ratio:
    """Return the ratio whose logarithm is *centre*, with its interval."""
    if half_width is None:
        return Ratio(value=exp(centre))
    return Ratio(value=exp(centre), ci_low=exp(centre - half_width), ci_high=exp(centre + half_width))
