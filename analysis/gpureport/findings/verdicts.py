"""Prediction against observation: ratio, verdict, errors of times, facts on what is not as predicted. Pure functions.

Reasons do not guess why prediction and observation differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from collections.abc import Iterable
from math import log
from typing import NamedTuple

import numpy as np

from gpureport.matching import FeatureMatch, match_curves
from gpureport.observe.features import IDLE, work_per_item
from gpureport.records.columns import Curve
from gpureport.records.curves import DRAM, Basis, CurveFeature, Level, Observation, Position
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import Cache, Device

ABOVE_CEILING = 1.05
"""A rate above the hardware's limit by this factor is an error: clocks above the listed one explain less."""
ASSUMED = 5.0
"""Largest plausible error of an assumed or typical bandwidth; beyond it, a compiler removed work."""


def find(
    device: Device,
    predictions: Iterable[Prediction],
    measurements: Iterable[Measurement],
    observations: Iterable[Observation],
) -> tuple[Finding, ...]:
    """Compare every observation with its predictions, in the order of the predictions.

    A sweep that was not measured gives no finding. A sweep with wrong results gives an error.
    """
    observed = {observation.key: observation for observation in observations}
    wrong = {m.key for m in measurements if m.is_wrong}
    findings: list[Finding] = []
    for prediction in predictions:
        if prediction.key in wrong:
            findings.append(_not_timed(prediction))
        elif observation := observed.get(prediction.key):
            matches = match_curves(prediction, observation)
            findings += [_finding(match, device, prediction, observation) for match in matches]
    return tuple(findings)


def _not_timed(prediction: Prediction) -> Finding:
    return Finding(
        key=prediction.key,
        feature="rate",
        position="plateau",
        level=Level(),
        basis=prediction.kind,
        unit=prediction.metric.unit,
        verdict=Verdict.ERROR,
    )


def _finding(match: FeatureMatch, device: Device, prediction: Prediction, observation: Observation) -> Finding:
    predicted, observed = match.predicted, match.observed
    feature = predicted or observed
    if feature is None:
        raise ValueError("a match has at least one side")
    ratio = observed.value / predicted.value if predicted and observed and match.comparable else None
    verdict = _verdict(match, ratio, device)
    if observed and observed.feature == "rate":
        above = above_ceiling(device, prediction, observation, observed.position, observed.level.name, observed.value)
        verdict = Verdict.ERROR if above else verdict
    return Finding(
        key=prediction.key,
        feature=feature.feature,
        position=feature.position,
        level=feature.level,
        basis=prediction.kind,
        predicted=predicted.value if predicted else None,
        observed=observed.value if observed else None,
        ci_low=observed.ci_low if observed else None,
        ci_high=observed.ci_high if observed else None,
        unit=feature.unit,
        ratio=ratio,
        predicted_low=predicted.ci_low if predicted else None,
        predicted_high=predicted.ci_high if predicted else None,
        best_point=observed.best_point if observed else None,
        verdict=verdict,
    )


def _verdict(match: FeatureMatch, ratio: float | None, device: Device) -> Verdict:
    if match.predicted is None:
        return Verdict.NOT_PREDICTED
    if match.observed is None:
        return Verdict.NOT_OBSERVED
    if ratio is None:
        return Verdict.NOT_COMPARED
    verdict = Verdict.of(ratio, meet=overlap(match.predicted, match.observed))
    # Other programs share the caches of a CPU: where they end, only the interval is a statement, however wide it is.
    shared_cliff = device.architecture.has_neighbours and match.predicted.feature == "cliff"
    hidden = shared_cliff and match.predicted.expects(match.observed.value)
    return Verdict.WITHIN if verdict is Verdict.UNDETERMINED and hidden else verdict


def overlap(*features: CurveFeature) -> bool:
    """Return whether the intervals of values overlap; a value without interval is a point."""
    return max(feature.ends[0] for feature in features) <= min(feature.ends[1] for feature in features)


class AboveCeiling(NamedTuple):
    """A point that is faster than a limit of the database entry."""

    label: str
    ceiling: str
    factor: float
    """Its speed / the speed that the limit allows."""


def above_ceiling(
    device: Device, prediction: Prediction, observation: Observation, position: Position, case: str, rate: float
) -> AboveCeiling | None:
    """Return the first point that an observed *rate* describes, and that is faster than a limit; *case*: its label."""
    for point, model in observation.points.pairs(prediction.points):
        name, least_s = _hard_limit(model, device)
        label = point.point.label
        same = label == case if position == "case" else log_error(point.value, rate) < log(AGREEMENT)
        if same and least_s > ABOVE_CEILING * point.time_s:
            return AboveCeiling(label, name, least_s / point.time_s)
    return None


def _hard_limit(point: PredictedPoint, device: Device) -> tuple[str, float]:
    """Return the ceiling that no kernel exceeds: instruction rates at full clock, memory at its listed bandwidth.

    Assumed rates, cache lines per cycle of a load and the cost of barriers in local memory are not listed rates.
    Instructions are counted in GPU machine code, so they do not limit a CPU. Memory counts only where caches serve
    nothing, from about four times the last cache.
    """
    soft = {cache.name for cache in device.caches} | {"DRAM", "launch", "latency", "groups"}
    soft |= {"memory", *({"local"} if "barrier" in point.ceilings_s else ())}
    bounding = () if device.architecture.groups_as_loops else point.ceilings_s.keys() - soft
    rates = device.architecture.rates_per_cycle
    assumed = {path for path, origin in device.provenance.items() if origin.kind == "assumed"}
    hard = {name: point.ceilings_s[name] for name in bounding if name in rates and f"rates.{name}" not in assumed}
    if "int32" in hard and "add" in rates:
        # Integer operations may be additions, which compilers may spread over two pipes.
        hard["int32"] *= min(1.0, rates["int32"] / rates["add"])
    last = device.caches[-1].capacity_bytes if device.caches else 0.0
    origin = device.provenance.get("memory.bandwidth")
    # Derived from a type of core, a CPU's bandwidth is a typical value. Its interval says how far others are from it.
    guesses = ("assumed", "derived") if device.architecture.has_neighbours else ("assumed",)
    doubt = ASSUMED if origin is not None and origin.kind in guesses else 1.0
    if point.level == DRAM and point.point.working_set_bytes >= 3.9 * last:
        hard["DRAM"] = point.memory_bytes / (doubt * device.memory.bandwidth_bytes_per_s)
    name = max(hard, key=lambda key: hard[key], default="")
    return name, hard.get(name, 0.0)


class Reasons(NamedTuple):
    """Facts on a value that is not as predicted."""

    finding: Finding
    value: float
    """The predicted, or else the observed value."""
    above_ceiling: AboveCeiling | None
    """The limit of the database entry that an erroneous rate exceeds."""
    cache: Cache | None
    """The cache that the finding belongs to."""
    idle: float | None
    """Work of a work-item beyond a cliff / before it, if more work-items are idle there."""


def reasons(device: Device, curve: Curve, finding: Finding) -> Reasons | None:
    """Return the facts on a *finding* of a *curve*, whose predictions have the features that were compared.

    ``None``: the curve was not timed, because its results are wrong.
    """
    f, seen, value = finding, curve.observation, finding.predicted or finding.observed
    prediction = curve.specification if f.basis == "specification" else curve.calibrated
    if not (value and prediction and prediction.points and seen and seen.points):
        return None
    above = None
    if f.verdict is Verdict.ERROR and f.observed is not None:
        above = above_ceiling(device, prediction, seen, f.position, f.level.name, f.observed)
    share = work_per_item(value, (point.point for point in prediction.points))
    cache = next((cache for cache in device.caches if cache.name == f.level.name), None)
    return Reasons(f, value, above, cache, share if share < IDLE else None)


def log_error(predicted: float, observed: float) -> float:
    """Return |ln(predicted / observed)|, the error of a prediction in all statistics; documents give it as a factor.

    Unlike a relative error, it is the same for a kernel that is ten times slower as for one that is ten times faster.
    """
    return abs(log(predicted / observed))


class ErrorStatistics(NamedTuple):
    """Statistics of *n* errors; ``p90`` is their 90th percentile."""

    n: int
    median: float
    p90: float


def time_errors(curves: Iterable[Curve], kind: Basis) -> ErrorStatistics | None:
    """Return the errors of every observed point that this *kind* of prediction contains; ``None`` without one."""
    errors = [log_error(p.time_s, seen.time_s) for curve in curves for p, seen in curve.compared(kind)]
    return ErrorStatistics(len(errors), *np.quantile(errors, [0.5, 0.9]).tolist()) if errors else None
