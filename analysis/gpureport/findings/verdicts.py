"""Prediction against observation: ratio, verdict, explanation, errors of times. Pure functions.

They do not guess why the two differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log

import numpy as np

from gpureport.matching import FeatureMatch, match_features, renamed, where_measured
from gpureport.observe.features import IDLE, work_per_item
from gpureport.records.ceilings import ceiling_text
from gpureport.records.columns import Curve
from gpureport.records.curves import DRAM, Basis, CurveFeature, Level, Observation
from gpureport.records.finding import AGREEMENT, UNCERTAIN, Finding, Verdict
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import TRANSITIONS, Device
from gpureport.units import format_bytes, format_percent, format_ratio, format_value

ABOVE_CEILING = 1.05
"""A rate above the hardware's limit by this factor is an error: clocks above the listed one explain less."""
ASSUMED = 5.0
"""Largest plausible error of an assumed or typical bandwidth; beyond it, a compiler removed work."""
_CLOSE = 0.1  # least share of the largest ceiling at which the next one is named
_Range = tuple[Level, float, float]
"""A level, with the onset and the end of its transition in bytes."""
FALLS = 0.95
"""A predicted rate that falls below this share over an observed cliff also falls there, says the explanation."""


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
    wrong = {m.key: m.verification.message for m in measurements if m.verification and not m.verification.passed}
    findings: list[Finding] = []
    for prediction in predictions:
        key = prediction.key
        if key in wrong:
            findings.append(_wrong(prediction, wrong[key]))
        elif key in observed:
            findings += _compare(device, prediction, observed[key])
    return tuple(findings)


def _compare(device: Device, prediction: Prediction, observation: Observation) -> list[Finding]:
    prediction = where_measured(prediction, observation)
    named = renamed(prediction.features, observation.features)
    context = _Context(device, prediction, observation.model_copy(update={"features": named}))
    return [_finding(match, context) for match in match_features(prediction.features, observation.features)]


@dataclass(frozen=True)
class _Context:
    """The curve of a finding, for its explanation.

    Attributes:
        device: that was predicted.
        prediction: with the features that can be compared at the measured points.
        observation: with levels named by the predicted ones that they match.
    """

    device: Device
    prediction: Prediction
    observation: Observation

    def predicted_near(self, feature: CurveFeature) -> PredictedPoint:
        """Return the predicted point that represents a rate; for a plateau, one of its last two octaves."""
        points: Sequence[PredictedPoint] = self.prediction.points
        if feature.position == "case":
            return next(point for point in points if point.point.label == feature.level.name)
        if feature.position == "plateau":
            points = self._end_of(feature) or points
        return min(points, key=lambda point: log_error(point.value, feature.value))

    def _end_of(self, plateau: CurveFeature) -> tuple[PredictedPoint, ...]:
        """Return the predicted points of the last two octaves of a plateau's working sets."""
        curves = (self.prediction.features, self.observation.features)
        shown = (c for c in curves if any(f.position == "plateau" and f.level == plateau.level for f in c))
        features = next(shown, ())
        middles = {f.level: f.value for f in features if f.feature == "cliff" and f.position == "midpoint"}
        end = middles.get(plateau.level, inf)
        begin = max((value for level, value in middles.items() if level != plateau.level and value < end), default=0.0)
        within = [p for p in self.prediction.points if begin < p.point.working_set_bytes < end]
        largest = max((point.point.working_set_bytes for point in within), default=0.0)
        return tuple(point for point in within if point.point.working_set_bytes >= largest / 4)

    def falls(self, cliff: CurveFeature) -> tuple[float, float]:
        """Return the shares of their rates to which the predicted and the observed curve fall over a *cliff*."""
        ends = [f.value for f in self.observation.features if f.feature == "cliff" and f.level == cliff.level]
        predicted, observed = (
            _fall([(p.point.working_set_bytes, p.value) for p in points], min(ends), max(ends))
            for points in (self.prediction.points, self.observation.points)
        )
        return (1 / predicted, 1 / observed) if self.prediction.metric.kind == "time" else (predicted, observed)


def _fall(curve: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Return the value at the first size from *end* on, divided by the value at the last size up to *begin*."""
    ordered = sorted(curve)
    before = [value for size, value in ordered if size <= begin]
    after = [value for size, value in ordered if size >= end]
    return after[0] / before[-1] if before and after else 1.0


def _finding(match: FeatureMatch, context: _Context) -> Finding:
    feature = match.predicted or match.observed
    if feature is None:
        raise ValueError("a match has at least one side")
    predicted, observed = match.predicted, match.observed
    ratio = observed.value / predicted.value if predicted and observed and match.comparable else None
    above = _above_ceiling(match, context)
    verdict = Verdict.ERROR if above else _verdict(match, ratio, context.device)
    return Finding(
        key=context.prediction.key,
        feature=feature.feature,
        position=feature.position,
        level=feature.level,
        basis=context.prediction.kind,
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
        explanation=above or _explanation(feature, verdict, context),
    )


def _verdict(match: FeatureMatch, ratio: float | None, device: Device) -> Verdict:
    if match.predicted is None:
        return Verdict.NOT_PREDICTED
    if match.observed is None:
        return Verdict.NOT_OBSERVED
    if ratio is None:
        return Verdict.NOT_COMPARED
    verdict = grade(ratio, meet=_overlap(match.predicted, match.observed))
    # Other programs share the caches of a CPU: where they end, only the interval is a statement, however wide it is.
    shared_cliff = device.architecture.has_neighbours and match.predicted.feature == "cliff"
    hidden = shared_cliff and match.predicted.expects(match.observed.value)
    return Verdict.WITHIN if verdict is Verdict.UNDETERMINED and hidden else verdict


def grade(ratio: float, *, meet: bool) -> Verdict:
    """Return the verdict on a value, from observed / predicted and from whether their intervals *meet* (overlap)."""
    factor = max(ratio, 1 / ratio)
    if factor <= AGREEMENT:
        return Verdict.AGREES
    if not meet:
        return Verdict.OFF
    return Verdict.WITHIN if factor <= UNCERTAIN else Verdict.UNDETERMINED


def _overlap(*features: CurveFeature) -> bool:
    """Return whether the intervals of values overlap; a value without interval is a point."""
    return max(feature.ends[0] for feature in features) <= min(feature.ends[1] for feature in features)


def _above_ceiling(match: FeatureMatch, context: _Context) -> str | None:
    if match.observed is None or match.observed.feature != "rate":
        return None
    for point, model in context.observation.points.pairs(context.prediction.points):
        name, least_s = _hard_limit(model, context.device)
        is_case, rate = match.observed.position == "case", match.observed.value
        near = log_error(point.value, rate) < log(AGREEMENT)
        same = match.observed.level.name == point.point.label if is_case else near
        if least_s > ABOVE_CEILING * point.time_s and same:
            faster = f"At {point.point.label} it runs {least_s / point.time_s:.2f} times as fast as its {name} ceiling"
            wrong = "the ceiling, the count of work or the measurement is wrong"
            return f"{faster} allows at the listed clock: {wrong}."
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


def _explanation(feature: CurveFeature, verdict: Verdict, context: _Context) -> str:
    because = _EXPLAIN[feature.feature](feature, context)
    if verdict == Verdict.NOT_OBSERVED:
        return f"{because} {_missing(feature, context)}"
    if verdict == Verdict.NOT_PREDICTED:
        return f"{_unpredicted(feature, context)} {because}"
    if verdict == Verdict.NOT_COMPARED:
        return f"{because} {_different_plateaus(context)}".rstrip()
    if verdict in (Verdict.OFF, Verdict.UNDETERMINED) and feature.feature == "taper":
        return f"{because} {_ends_differ(context)}".rstrip()
    return because


def _unpredicted(feature: CurveFeature, context: _Context) -> str:
    value = format_value(feature.value, feature.unit)
    seen = "Only the samples show it" if feature.feature == "cliff" else f"The samples show it at {value}"
    if feature.best_point is not None:
        best = format_value(feature.best_point, feature.unit)
        seen = f"The fit without launch cost gives {value}; the best sample is {best}"
    if feature.feature != "cliff":
        return f"{seen}; no such {feature.feature if feature.feature == 'taper' else feature.position} is predicted."
    predicted, observed = context.falls(feature)
    if predicted > FALLS:
        return f"{seen}; the predicted curve has no cliff there."
    if observed >= 1:
        return f"{seen}. The predicted curve also falls there, but without a cliff."
    return (
        f"{seen}. The predicted curve also falls there, to {format_ratio(predicted)} of its rate (observed: "
        f"{format_ratio(observed)}), but without a cliff."
    )


def _cliff(feature: CurveFeature, context: _Context) -> str:
    cache = next((c for c in context.device.caches if feature.level.name == c.name), None)
    if cache is None:
        idle = work_per_item(feature.value, (point.point for point in context.prediction.points))
        if idle < IDLE:
            share = format_ratio(idle)
            return f"Beyond it, more work-items are idle, so that each does {share} times the work on average."
        if feature.level.name:
            return "Beyond it, the predicted bottleneck is another one."
        items = max(point.point.work_items for point in context.prediction.points)
        likely = likely_level(feature.value, context.device, context.prediction.features, items)
        if likely:
            name, *ends = likely
            return f"The {name}, with a transition range of {' to '.join(map(format_bytes, ends))}, may be the cause."
        if not context.device.caches:
            return "The device has no known caches."
        cache = min(context.device.caches, key=lambda each: log_error(feature.value, each.capacity_bytes))
        return f"No cache has such a capacity; the nearest is {cache.name} with {format_bytes(cache.capacity_bytes)}."
    near = feature.level.near
    size = cache.capacity_bytes / (cache.partitions if near else 1)
    whole = f"The capacity of {'one partition of ' if near else ''}{cache.name} is {format_bytes(size)}"
    verb = "is predicted at" if feature in context.prediction.features else "is at"
    return f"{whole}; the {feature.position} {verb} {format_ratio(feature.value / size)} times the capacity."


def likely_level(size_bytes: float, device: Device, predicted: Iterable[CurveFeature], items: int) -> _Range | None:
    """Return the level whose transition range covers the working set of an observed cliff, and that range.

    Ranges are those of the curve's predicted cliffs, of shared caches, and of compute units' caches that keep their
    data from dispatch to dispatch (one of them, and the sum of those that so many work-*items* use). Either end may be
    off by a factor of :data:`AGREEMENT`. Of several levels, the one whose range has the nearest middle is returned.
    """
    ranges = [*_predicted_ranges(predicted), *_cache_ranges(device, min(device.compute_units, items))]
    covering = [r for r in ranges if r[1] / AGREEMENT <= size_bytes <= r[2] * AGREEMENT]
    return min(covering, key=lambda r: log_error(size_bytes**2, r[1] * r[2]), default=None)


def _predicted_ranges(predicted: Iterable[CurveFeature]) -> Iterator[_Range]:
    cliffs: dict[Level, dict[str, float]] = {}
    for feature in predicted:
        if feature.feature == "cliff" and not feature.level.is_transition:
            cliffs.setdefault(feature.level, {})[feature.position] = feature.value
    for level, at in cliffs.items():
        if {"onset", "end"} <= at.keys():
            yield level, at["onset"], at["end"]


def _cache_ranges(device: Device, units: int) -> Iterator[_Range]:
    for cache in device.caches:
        transitions = [transition for name in TRANSITIONS if (transition := getattr(cache, name))]
        low, high = min(e.onset for e in transitions), max(e.end for e in transitions)
        if cache.scope == "device" or cache.persistent:
            for together in {1, 1 if cache.scope == "device" else units}:
                size = together * cache.capacity_bytes
                yield Level(name=cache.name), low * size, high * size


def _taper(feature: CurveFeature, context: _Context) -> str:  # noqa: ARG001 - one signature for all features
    first, last = context.prediction.points[0], context.prediction.points[-1]
    least = f"{format_value(first.time_s, 's')} at any size ({ceiling_text(first.bottleneck)})"
    return f"Predicted: small dispatches take {least}; large ones are limited by {ceiling_text(last.bottleneck)}."


def _rate(feature: CurveFeature, context: _Context) -> str:
    point = context.predicted_near(feature)
    first, *others = sorted(point.ceilings_s, key=lambda name: -point.ceilings_s[name])
    share = point.ceilings_s[others[0]] / point.ceilings_s[first] if others else 0.0
    close = f"; next: {ceiling_text(others[0])} ({format_percent(share)} of that time)" if share >= _CLOSE else ""
    return f"Predicted bottleneck: {ceiling_text(first)}{close}."


_EXPLAIN = {"cliff": _cliff, "taper": _taper, "rate": _rate}


def _missing(feature: CurveFeature, context: _Context) -> str:
    if feature.feature == "cliff":
        largest = max(point.point.working_set_bytes for point in context.observation.points)
        if feature.value > largest:
            return f"The sweep ended before it, at {format_bytes(largest)}."
        return f"The samples show no transition there above their noise. {_uncertain_fall(feature, context)}".rstrip()
    if feature.feature == "rate":
        return "The observed curve has no matching plateau."
    if feature.position == "knee" and any(f.position == "n90" for f in context.observation.features):
        return "The sweep starts with too much work to show it: the time is nowhere independent of the work."
    return "The observed curve does not rise from a flat start to a flat end."


def _uncertain_fall(cliff: CurveFeature, context: _Context) -> str:
    """Say that a predicted fall is uncertain if the intervals of the plateaus at its sides overlap."""
    plateaus = [f for f in context.prediction.features if f.position == "plateau"]
    sides = next((pair for pair in pairwise(plateaus) if pair[0].level == cliff.level), None)
    if sides is None or not _overlap(*sides):
        return ""
    rates = " and ".join(format_value(plateau.value, plateau.unit) for plateau in sides)
    return f"The predicted values at its sides, {rates}, have overlapping intervals: the fall may be too small to see."


def _different_plateaus(context: _Context) -> str:
    curves = (context.prediction.features, context.observation.features)
    first = [next((f for f in features if f.position == "plateau"), None) for features in curves]
    rates = [format_value(plateau.value, plateau.unit) for plateau in first if plateau]
    if len(rates) < len(curves):
        return ""
    return (
        f"The first plateau is predicted at {rates[0]} and observed at {rates[1]}. These are different plateaus, so "
        "their n90 are not compared."
    )


def _ends_differ(context: _Context) -> str:
    """Say how small and large dispatches differ from their predictions, which move a taper."""
    ratios = [o.time_s / p.time_s for o, p in context.observation.points.pairs(context.prediction.points)]
    if not ratios:
        return ""
    return (
        f"Observed: the smallest dispatch takes {format_ratio(ratios[0])} times its predicted time, the largest "
        f"{format_ratio(ratios[-1])} times."
    )


def _wrong(prediction: Prediction, message: str) -> Finding:
    return Finding(
        key=prediction.key,
        feature="rate",
        position="plateau",
        level=Level(),
        basis=prediction.kind,
        predicted=None,
        observed=None,
        ci_low=None,
        ci_high=None,
        unit=prediction.metric.unit,
        ratio=None,
        verdict=Verdict.ERROR,
        explanation=f"The results are wrong, so the sweep was not timed. {message}".rstrip(),
    )


def log_error(predicted: float, observed: float) -> float:
    """Return |ln(predicted / observed)|, the error of a prediction in all statistics; documents give it as a factor.

    Unlike a relative error, it is the same for a kernel that is ten times slower as for one that is ten times faster.
    """
    return abs(log(predicted / observed))


@dataclass(frozen=True)
class ErrorStatistics:
    """Statistics of *n* errors; ``p90`` is their 90th percentile."""

    n: int
    median: float
    mean: float
    p90: float


def error_statistics(errors: Sequence[float]) -> ErrorStatistics | None:
    """Return the statistics of *errors*; ``None`` if there are none."""
    if not errors:
        return None
    middle, p90 = (float(quantile) for quantile in np.quantile(errors, [0.5, 0.9]))
    return ErrorStatistics(len(errors), middle, float(np.mean(errors)), p90)


def time_errors(curves: Iterable[Curve], kind: Basis) -> list[float]:
    """Return the error of every observed point that this *kind* of prediction contains."""
    return [log_error(p.time_s, seen.time_s) for curve in curves for p, seen in curve.compared(kind)]
