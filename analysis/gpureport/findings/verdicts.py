"""Prediction against observation: ratio, verdict, explanation. Pure functions.

They do not guess why the two differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, log

from gpureport.matching import Match, match_features, renamed, where_measured
from gpureport.records.features import CurveFeature
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.levels import DRAM, Level
from gpureport.records.measurement import Measurement
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import TRANSITIONS, Device
from gpureport.units import format_bytes, format_ratio, format_value

UNCERTAIN = 2.0
"""Largest factor between the two that an interval excuses; intervals so wide that they meet in any case prove
nothing."""
ABOVE_CEILING = 1.05
"""A rate this far above what the hardware can do is an error: clocks above the listed one explain less."""
ASSUMED = 5.0
"""No bandwidth that is just assumed is wrong by more: work beyond it was left out by a compiler."""
FALLS = 0.95
"""A predicted rate that falls further, over a cliff that is observed only, is said to fall there, too."""


def find(
    device: Device,
    predictions: Iterable[Prediction],
    measurements: Iterable[Measurement],
    observations: Iterable[Observation],
) -> tuple[Finding, ...]:
    """Hold every observation against its predictions, in the order of the predictions.

    A feature that neither side has gives no finding. A sweep that was not measured gives none either; one whose
    results were wrong gives an error.
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
        """Return the predicted point that stands for a feature of rate.

        Of a plateau it is the one of nearest rate among its last two octaves.
        """
        points = self.prediction.points
        if feature.position == "case":
            return next(point for point in points if point.point.label == feature.level.name)
        if feature.position == "plateau":
            points = self._end_of(feature) or points
        return min(points, key=lambda point: abs(log(point.value / feature.value)))

    def _end_of(self, plateau: CurveFeature) -> tuple[PredictedPoint, ...]:
        """Return the predicted points of the last two octaves of a plateau's working sets."""
        curves = (self.prediction.features, self.observation.features)
        features = next((curve for curve in curves if any(_alike(plateau, f) for f in curve)), ())
        middles = {f.level: f.value for f in features if f.feature == "cliff" and f.position == "midpoint"}
        end = middles.get(plateau.level, inf)
        begin = max((value for level, value in middles.items() if level != plateau.level and value < end), default=0.0)
        within = [p for p in self.prediction.points if begin < p.point.working_set_bytes < end]
        largest = max((point.point.working_set_bytes for point in within), default=0.0)
        return tuple(point for point in within if point.point.working_set_bytes >= largest / 4)

    def falls(self, cliff: CurveFeature) -> tuple[float, float]:
        """Return to which share of their rates the predicted and the observed curve fall over an observed *cliff*."""
        ends = [f.value for f in self.observation.features if f.feature == "cliff" and f.level == cliff.level]
        predicted, observed = (
            _fall([(p.point.working_set_bytes, p.value) for p in points], min(ends), max(ends))
            for points in (self.prediction.points, self.observation.points)
        )
        return (1 / predicted, 1 / observed) if self.prediction.metric.kind == "time" else (predicted, observed)


def _fall(curve: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Return the value at the first size from *end* on, divided by that at the last one up to *begin*."""
    ordered = sorted(curve)
    before = [value for size, value in ordered if size <= begin]
    after = [value for size, value in ordered if size >= end]
    return after[0] / before[-1] if before and after else 1.0


def _alike(one: CurveFeature, other: CurveFeature) -> bool:
    return (one.feature, one.position, one.level) == (other.feature, other.position, other.level)


def _finding(match: Match, context: _Context) -> Finding:
    feature = match.predicted or match.observed
    if feature is None:
        raise ValueError("a match has at least one side")
    predicted = match.predicted.value if match.predicted else None
    observed = match.observed.value if match.observed else None
    ratio = observed / predicted if predicted and observed and match.comparable else None
    above = _above_ceiling(match, context)
    verdict = Verdict.ERROR if above else _verdict(match, ratio)
    return Finding(
        key=context.prediction.key,
        feature=feature.feature,
        position=feature.position,
        level=feature.level,
        basis=context.prediction.kind,
        predicted=predicted,
        observed=observed,
        ci_low=match.observed.ci_low if match.observed else None,
        ci_high=match.observed.ci_high if match.observed else None,
        unit=feature.unit,
        ratio=ratio,
        predicted_low=match.predicted.ci_low if match.predicted else None,
        predicted_high=match.predicted.ci_high if match.predicted else None,
        best_point=match.observed.best_point if match.observed else None,
        verdict=verdict,
        explanation=above or _explanation(match, verdict, context),
    )


def _verdict(match: Match, ratio: float | None) -> Verdict:
    if match.predicted is None:
        return Verdict.NOT_PREDICTED
    if match.observed is None:
        return Verdict.NOT_OBSERVED
    if ratio is None:
        return Verdict.NOT_COMPARED
    return grade(ratio, meet=_meet(match.predicted, match.observed))


def grade(ratio: float, *, meet: bool) -> Verdict:
    """Return how well a value answers its prediction, by their *ratio* and by whether their intervals *meet*."""
    apart = max(ratio, 1 / ratio)
    if apart <= AGREEMENT:
        return Verdict.AGREES
    return Verdict.WITHIN if meet and apart <= UNCERTAIN else Verdict.OFF


def _meet(one: CurveFeature, other: CurveFeature) -> bool:
    """Return whether the intervals of two values overlap; a value without one is a point."""
    (low, high), (least, most) = _interval(one), _interval(other)
    return low <= most and least <= high


def _interval(feature: CurveFeature) -> tuple[float, float]:
    low, high = feature.ci_low, feature.ci_high
    return (feature.value if low is None else low), (feature.value if high is None else high)


def _above_ceiling(match: Match, context: _Context) -> str | None:
    """Say which ceiling a rate breaks, if it breaks one."""
    if match.observed is None or match.observed.feature != "rate":
        return None
    predicted = {point.point.label: point for point in context.prediction.points}
    for point in context.observation.points:
        model = predicted.get(point.point.label)
        if model is None:
            continue
        name, least_s = _hard_limit(model, context.device)
        if least_s > ABOVE_CEILING * point.time_s and _same_level(match.observed, point):
            factor = least_s / point.time_s
            return (
                f"At {point.point.label} it runs {factor:.2f} times as fast as its {name} ceiling allows at the listed "
                "clock: the ceiling, the count of work or the measurement is wrong."
            )
    return None


def _hard_limit(point: PredictedPoint, device: Device) -> tuple[str, float]:
    """Return the ceiling no kernel passes: instruction rates at full clock, memory at its listed bandwidth.

    How many lines a load looks up in a cycle and what barriers cost local memory is no listed rate.

    Instructions are counted in GPU machine code, so they bound nothing on a CPU. Memory counts only where nothing is
    served by a cache any more, at about four times the last cache and beyond.
    """
    soft = {cache.name for cache in device.caches} | {"DRAM", "launch", "latency", "groups"}
    soft |= {"memory", *({"local"} if "barrier" in point.ceilings_s else ())}
    bounding = () if device.kind == "cpu" else point.ceilings_s.keys() - soft
    rates = device.architecture.rates_per_cycle
    hard = {name: point.ceilings_s[name] for name in bounding if name in rates}
    if "int32" in hard and "add" in rates:
        # Integers in general may be additions, which compilers may spread over two pipes.
        hard["int32"] *= min(1.0, rates["int32"] / rates["add"])
    last = device.caches[-1].capacity_bytes if device.caches else 0.0
    origin = device.provenance.get("memory.bandwidth")
    doubt = ASSUMED if origin is not None and origin.kind == "assumed" else 1.0
    if point.level == DRAM and point.point.working_set_bytes >= 3.9 * last:
        hard["DRAM"] = point.memory_bytes / (doubt * device.memory.bandwidth_bytes_per_s)
    name = max(hard, key=lambda key: hard[key], default="")
    return name, hard.get(name, 0.0)


def _same_level(feature: CurveFeature, point: ObservedPoint) -> bool:
    if feature.position == "case":
        return feature.level.name == point.point.label
    return abs(log(point.value / feature.value)) < log(AGREEMENT)


def _explanation(match: Match, verdict: Verdict, context: _Context) -> str:
    feature = match.predicted or match.observed
    if feature is None:
        return ""
    because = _EXPLAIN[feature.feature](feature, context)
    if verdict == Verdict.NOT_OBSERVED:
        return f"{because} {_missing(feature, context)}"
    if verdict == Verdict.NOT_PREDICTED:
        return f"{_unpredicted(feature, context)} {because}"
    if verdict == Verdict.NOT_COMPARED:
        return f"{because} {_apart(context)}".rstrip()
    if verdict == Verdict.OFF and feature.feature == "taper":
        return f"{because} {_ends(context)}".rstrip()
    return because


def _unpredicted(feature: CurveFeature, context: _Context) -> str:
    """Say where the samples show what was not predicted, and whether the predicted curve falls there all the same."""
    value = format_value(feature.value, feature.unit)
    seen = f"The samples show it at {value}"
    if feature.best_point is not None:
        best = format_value(feature.best_point, feature.unit)
        seen = f"Without launch cost it is fitted at {value}, where the best sample is {best}"
    if feature.feature != "cliff":
        return f"{seen}; no such {feature.feature if feature.feature == 'taper' else feature.position} is predicted."
    predicted, observed = context.falls(feature)
    if predicted > FALLS:
        return f"{seen}; the predicted curve has no cliff there."
    if observed >= 1:
        return f"{seen}; the predicted curve falls there, too, but has no cliff."
    return (
        f"{seen}. The predicted curve falls there, too, to {format_ratio(predicted)} of its rate (observed: "
        f"{format_ratio(observed)}), but only the observed fall is found to be a cliff."
    )


def _cliff(feature: CurveFeature, context: _Context) -> str:
    cache = next((c for c in context.device.caches if feature.level.name == c.name), None)
    if cache is None:
        likely = likely_level(feature.value, context.device, context.prediction.features)
        if likely is None:
            return _nearest_cache(feature.value, context.device)
        name, *ends = likely
        return f"It lies in the transition range of {name}, {' to '.join(map(format_bytes, ends))}, which may cause it."
    near = feature.level.near
    size = cache.capacity_bytes / (cache.partitions if near else 1)
    whole = f"{'One partition of ' if near else ''}{cache.name} holds {format_bytes(size)}"
    stands = _STANDS[feature in context.prediction.features]
    return f"{whole}; the {feature.position} {stands} {format_ratio(feature.value / size)} of that."


_Range = tuple[Level, float, float]
"""A level, with the working sets at which its transition begins and ends."""


def likely_level(size_bytes: float, device: Device, predicted: Iterable[CurveFeature]) -> _Range | None:
    """Return the level whose transition range covers a working set at which a cliff was observed, and that range.

    Ranges are those of the predicted cliffs of the curve, and those of caches that all data go through: shared ones,
    and those of compute units that keep their data from dispatch to dispatch, one by one and added up. Either end may
    be off by a factor of :data:`AGREEMENT`; of several levels the one whose range has the nearest middle is taken.
    """
    ranges = [*_predicted_ranges(predicted), *_cache_ranges(device)]
    covering = [r for r in ranges if r[1] / AGREEMENT <= size_bytes <= r[2] * AGREEMENT]
    return min(covering, key=lambda r: abs(log(size_bytes**2 / (r[1] * r[2]))), default=None)


def _predicted_ranges(predicted: Iterable[CurveFeature]) -> Iterator[_Range]:
    cliffs: dict[Level, dict[str, float]] = {}
    for feature in predicted:
        if feature.feature == "cliff" and not feature.level.is_unexplained:
            cliffs.setdefault(feature.level, {})[feature.position] = feature.value
    for level, at in cliffs.items():
        if {"onset", "end"} <= at.keys():
            yield level, at["onset"], at["end"]


def _cache_ranges(device: Device) -> Iterator[_Range]:
    for cache in device.caches:
        transitions = [transition for name in TRANSITIONS if (transition := getattr(cache, name))]
        low, high = min(e.onset for e in transitions), max(e.end for e in transitions)
        if cache.scope == "device" or cache.persistent:
            for together in {1, 1 if cache.scope == "device" else device.compute_units}:
                size = together * cache.capacity_bytes
                yield Level(name=cache.name), low * size, high * size


def _nearest_cache(size_bytes: float, device: Device) -> str:
    near = min(device.caches, key=lambda cache: abs(log(size_bytes / cache.capacity_bytes)), default=None)
    if near is None:
        return "The device has no caches that are known."
    return f"The nearest cache, {near.name}, holds {format_bytes(near.capacity_bytes)}."


_STANDS = {True: "is predicted at", False: "lies at"}


def _taper(feature: CurveFeature, context: _Context) -> str:  # noqa: ARG001 - one signature for all features
    first, last = context.prediction.points[0], context.prediction.points[-1]
    least = f"{format_value(first.time_s, 's')} whatever its size ({ceiling_text(first.bottleneck)})"
    return f"Little work is predicted to take {least}; much work is bound by {ceiling_text(last.bottleneck)}."


def _rate(feature: CurveFeature, context: _Context) -> str:
    point = context.predicted_near(feature)
    first, *others = sorted(point.ceilings_s, key=lambda name: -point.ceilings_s[name])
    if not others:
        return f"Bound by {ceiling_text(first)}."
    share = format_ratio(point.ceilings_s[others[0]] / point.ceilings_s[first])
    return f"Bound by {ceiling_text(first)}; next comes {ceiling_text(others[0])} at {share} of it."


_EXPLAIN = {"cliff": _cliff, "taper": _taper, "rate": _rate}

_CEILINGS = {
    "launch": "launch cost",
    "latency": "latency",
    "groups": "the rate at which work-groups start",
    "int32": "integer instructions",
    "add": "integer additions",
    "ternary": "bitwise instructions",
    "shift": "shifts",
    "ballot": "ballots",
    "ALU": "the integer pipe",
    "VALU": "the vector pipe",
    "LSU": "the load and store pipe",
    "int32_mul": "integer multiplications",
    "barrier": "barriers",
    "fp32": "floating-point instructions",
    "shuffle": "shuffles",
    "local": "local-memory accesses",
    "memory": "load and store instructions",
    "instruction": "instruction issue",
    "DRAM": "memory bandwidth",
}


def ceiling_text(name: str) -> str:
    """Name a ceiling in words; those that are no class of instructions are bandwidths of a cache."""
    return _CEILINGS.get(
        name, f"{name.removesuffix('s')} bandwidth" if name.endswith(" writes") else f"{name} bandwidth"
    )


def _missing(feature: CurveFeature, context: _Context) -> str:
    """Say why a predicted feature may not show."""
    if feature.feature == "cliff":
        largest = max(point.point.working_set_bytes for point in context.observation.points)
        if feature.value > largest:
            return f"The sweep ended before it, at {format_bytes(largest)}."
        return "The samples show no step there that stands out of their noise."
    if feature.feature == "taper":
        return _no_taper(feature.position, context)
    return "The curve has no plateau that answers it."


def _no_taper(position: str, context: _Context) -> str:
    """Say why no observed taper answers the predicted one."""
    if position == "knee" and any(feature.position == "n90" for feature in context.observation.features):
        return "The sweep starts too late to show it: the time is nowhere independent of the work."
    return "The curve does not rise from a flat start to a flat end within the sweep."


def _apart(context: _Context) -> str:
    """Say why two tapers are not compared: which plateau each belongs to."""
    curves = (context.prediction.features, context.observation.features)
    first = [next((f for f in features if f.position == "plateau"), None) for features in curves]
    rates = [format_value(plateau.value, plateau.unit) for plateau in first if plateau]
    if len(rates) < len(curves):
        return ""
    return (
        f"The predicted curve levels off first at {rates[0]}, the observed one at {rates[1]}: these are not the same "
        "plateau, so how much work reaches them is not compared."
    )


def _ends(context: _Context) -> str:
    """Say which of the three makes a taper differ: the time of little work, the rate of much, or the corner between."""
    predicted = {point.point.label: point.time_s for point in context.prediction.points}
    ratios = [o.time_s / predicted[o.point.label] for o in context.observation.points if o.point.label in predicted]
    if not ratios:
        return ""
    return (
        f"Little work takes {format_ratio(ratios[0])} of the predicted time, much work {format_ratio(ratios[-1])}; "
        "the rest is the corner between them."
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
        explanation=f"Its results are wrong, so it was not timed. {message}",
    )
