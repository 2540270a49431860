"""Comparisons of machines: measured by us, published by others, or only predicted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import log, sqrt

from gpureport import __version__
from gpureport.compare.conditions import cautions, conditions, merged_facts
from gpureport.compare.contrast import NONE_SHARED, Columns, contrast, shared_facts
from gpureport.compare.differences import MINIMUM_EFFECT, differences, regressions
from gpureport.compare.records import BEYOND, FEW, WITHIN, Comparison, MachineResult, RatioEstimate, WorkloadComparison
from gpureport.compare.runs import BEST_SIZE, BestPoints, ComparedPoint, ContestKey, Run, excerpt, rank, same_device
from gpureport.errors import InputError
from gpureport.grouping import grouped
from gpureport.records.curves import Observation
from gpureport.records.prediction import Prediction
from gpureport.spec.uncertainty import NORMAL_95

__all__ = ["FEW", "MINIMUM_EFFECT", "Comparison", "Run", "compare", "excerpt", "regressions"]


def compare(
    machines: Mapping[str, Run | Sequence[Run]],
    baseline: str | None = None,
    sources: Mapping[str, str] = {},
    minimum_effect: float = MINIMUM_EFFECT,
) -> Comparison:
    """Compare machines.

    Args:
        machines: two or more, by a short name, each with one or several runs; in the order of the comparison.
        baseline: name of the machine that ratios refer to; the first by default.
        sources: files or database id of each machine, by name.
        minimum_effect: relative difference below which none is significant.

    Raises:
        InputError: there are fewer than two machines, the baseline is unknown, one machine has runs of several devices,
            or no two machines have a workload in common.
    """
    runs = {name: (given,) if isinstance(given, Run) else tuple(given) for name, given in machines.items()}
    for name, of_machine in runs.items():
        other = next((run for run in of_machine if not same_device(run, of_machine[0])), None)
        if other:
            raise InputError(
                f"{name}: its reports are of two devices, {of_machine[0].described} and {other.described}; "
                "give the reports of each device their own name"
            )
    first = {name: of_machine[0] for name, of_machine in runs.items()}
    if len(first) < 2:
        raise InputError("a comparison needs at least two machines")
    base = next(iter(first)) if baseline is None else baseline
    if base not in first:
        raise InputError(f"--baseline: no machine is called {base!r}; choose one of {', '.join(first)}")
    shared = {name: shared_facts(run, first[base]) for name, run in first.items()}
    common = contests({name: run.best for name, run in first.items()}, base, shared)
    if not common:
        raise InputError(f"nothing to compare: no two of {', '.join(first)} have a workload in common")
    facts = {name: merged_facts([run.machine.facts for run in of_machine]) for name, of_machine in runs.items()}
    differing = conditions(facts)
    tested, limits = differences(runs, base, minimum_effect), {name: run.limits for name, run in first.items()}
    return Comparison(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        baseline=base,
        machines=tuple(
            of_machine[0].machine.model_copy(
                update={
                    "name": name,
                    "source": sources.get(name, ""),
                    "runs": len(of_machine),
                    "facts": facts[name],
                    "cautions": cautions(differing, name, base),
                }
            )
            for name, of_machine in runs.items()
        ),
        conditions=differing,
        contests=common,
        landmarks=tuple(
            mark.model_copy(update={"machine": name}) for name, run in first.items() for mark in run.landmarks
        ),
        differences=tested.differences,
        overall=tested.overall,
        between_runs=tested.between_runs,
        minimum_effect=minimum_effect,
        figures=tuple(each.model_copy(update={"machine": name}) for name, run in first.items() for each in run.figures),
        limits=limits if len(limits) <= FEW and len(set(limits.values())) > 1 else {},
        contrasts=tuple(
            contrast(name, base, common)
            for name, run in first.items()
            if name != base and run.facts and first[base].facts and len(first) <= FEW
        ),
        families={family: title for run in first.values() for family, title in run.families.items()},
        curves=tuple(_common_curves(first)) if len(first) <= FEW else (),
    )


def _common_curves(machines: Mapping[str, Run]) -> Iterator[dict[str, Observation | Prediction]]:
    every = ((curve.key, (name, curve)) for name, run in machines.items() for curve in run.curves)
    for found in grouped(every).values():
        first = found[0][1]
        alike = {name: curve for name, curve in found if (curve.metric, curve.axis) == (first.metric, first.axis)}
        if len(alike) > 1:
            yield alike


def contests(
    machines: Mapping[str, BestPoints], baseline: str, shared: Mapping[str, Columns] = {}
) -> tuple[WorkloadComparison, ...]:
    """Compare the best points of all machines, workload by workload.

    Devices have different sizes, so sweeps have different points. Each workload is therefore compared once where memory
    serves it and once where a cache does, at the best point of each machine. Cases (an instruction, a stride) are
    compared one by one. *shared* are the facts that predicted machines share with the baseline.
    """
    sized = {key[:2] for best in machines.values() for key, point in best.items() if point.sized}
    common: dict[ContestKey, dict[str, ComparedPoint]] = {}
    for machine, best in machines.items():
        for key, point in best.items():
            if (key[:2] in sized) == (key[2] in (BEYOND, WITHIN, BEST_SIZE)):
                common.setdefault(key, {})[machine] = point
    if all(len(points) < 2 for points in common.values()):
        common = _of_any_size(machines)
    return tuple(_contest(key, points, baseline, shared) for key, points in common.items() if len(points) > 1)


def _of_any_size(machines: Mapping[str, BestPoints]) -> dict[ContestKey, dict[str, ComparedPoint]]:
    """Return the best points of few sizes, which are within the caches of some machines only."""
    found: dict[ContestKey, dict[str, ComparedPoint]] = {}
    for machine, best in machines.items():
        for (family, variant, _), point in best.items():
            if point.sized:
                points = found.setdefault((family, variant, BEST_SIZE), {})
                points[machine] = max(points.get(machine, point), point, key=lambda each: rank(each, BEST_SIZE))
    return found


def _contest(
    key: ContestKey, points: Mapping[str, ComparedPoint], baseline: str, shared: Mapping[str, Columns]
) -> WorkloadComparison:
    family, variant, regime = key
    base = points.get(baseline)
    others = [name for name, point in points.items() if base is not None and not _comparable(point, base)]
    return WorkloadComparison(
        family=family,
        variant=variant,
        regime=regime,
        metric=next(iter(points.values())).metric,
        refused=f"{baseline} and {', '.join(others)} count work differently" if others else "",
        standings=tuple(_result(name, point, base, shared.get(name, NONE_SHARED)) for name, point in points.items()),
    )


def _comparable(one: ComparedPoint, other: ComparedPoint) -> bool:
    same_counting = one.counting == other.counting or not (one.counting and other.counting)
    return same_counting and (one.metric.kind, one.metric.unit) == (other.metric.kind, other.metric.unit)


def _result(name: str, point: ComparedPoint, base: ComparedPoint | None, shared: Columns) -> MachineResult:
    (low, high), peak = point.interval or (None, None), point.predicted_peak
    at_peak = None if peak is None else replace(point, value=peak, interval=(peak, peak))
    return MachineResult(
        machine=name,
        point=point.label,
        value=point.value,
        ci_low=low,
        ci_high=high,
        predicted_peak=peak,
        efficiency=_speed_ratio(point, at_peak) if point.observed and at_peak else None,
        to_baseline=_speed_ratio(point, base, shared) if base is not None and _comparable(point, base) else None,
        bottleneck=point.bottleneck,
    )


def _speed_ratio(one: ComparedPoint, other: ComparedPoint, shared: Columns = NONE_SHARED) -> RatioEstimate:
    """Return speed of *one* / speed of *other*; half-widths add in quadrature, those from *shared* facts cancel."""
    if one is other:
        return RatioEstimate(value=1.0)
    sign = 1 if one.metric.kind == "rate" else -1
    known = [log(high / low) / 2 for low, high in filter(None, (one.interval, other.interval))]
    square = sum(half**2 for half in known)
    if one.deviations is not None and other.deviations is not None:
        square -= 2 * NORMAL_95**2 * float(one.deviations[shared[0]] @ other.deviations[shared[1]])
    half = sqrt(max(square, 0.0)) if len(known) == 2 else None
    return RatioEstimate.of_log(sign * log(one.value / other.value), half)
