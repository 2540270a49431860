"""Facts on findings that are not as predicted, which documents explain with them. Pure functions.

They do not guess why prediction and observation differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from gpureport.findings.verdicts import AboveCeiling, above_ceiling, log_error, overlap
from gpureport.observe.features import IDLE, work_per_item
from gpureport.records.columns import Curve
from gpureport.records.curves import CurveFeature, Level, Observation
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import TRANSITIONS, Cache, Device

_CLOSE = 0.1  # least share of the largest ceiling at which the next one is named
FALLS = 0.95
"""A predicted rate that falls below this share over an observed cliff also falls there."""
LevelRange = tuple[Level, float, float]
"""A level, with the onset and the end of its transition in bytes."""


@dataclass(frozen=True)
class Reasons:
    """Facts on one finding.

    Attributes:
        finding: a value that is not as predicted.
        device: that was predicted.
        prediction: with the features that were compared.
        observation: of the same sweep.
        compared: all findings of the sweep on this prediction.
    """

    finding: Finding
    device: Device
    prediction: Prediction
    observation: Observation
    compared: Sequence[Finding]

    @property
    def value(self) -> float:
        """The predicted, or else the observed value."""
        return self.finding.predicted or self.finding.observed or 0.0

    @property
    def above_ceiling(self) -> AboveCeiling | None:
        """The limit of the database entry that an erroneous rate exceeds."""
        f = self.finding
        if f.verdict is not Verdict.ERROR or f.observed is None:
            return None
        return above_ceiling(self.device, self.prediction, self.observation, f.position, f.level.name, f.observed)

    @property
    def cache(self) -> Cache | None:
        """The cache that the finding belongs to."""
        return next((cache for cache in self.device.caches if cache.name == self.finding.level.name), None)

    @property
    def nearest(self) -> Cache | None:
        """The cache whose capacity is the nearest to the value."""
        return min(self.device.caches, key=lambda cache: log_error(self.value, cache.capacity_bytes), default=None)

    @property
    def idle(self) -> float | None:
        """Work of a work-item beyond a cliff / before it, if more work-items are idle there."""
        share = work_per_item(self.value, (point.point for point in self.prediction.points))
        return share if share < IDLE else None

    @property
    def likely(self) -> LevelRange | None:
        """The level that a cliff without a cache is likely to belong to."""
        items = max(point.point.work_items for point in self.prediction.points)
        return likely_level(self.value, self.device, self.prediction.features, items)

    @property
    def falls(self) -> tuple[float, float] | None:
        """The shares of their rates to which prediction and observation fall, if the former does without a cliff."""
        cliff = (f for f in self.compared if (f.feature, f.level) == ("cliff", self.finding.level))
        ends = [f.observed for f in cliff if f.observed]
        predicted, observed = (
            _fall([(p.point.working_set_bytes, p.value) for p in points], min(ends), max(ends))
            for points in (self.prediction.points, self.observation.points)
        )
        if self.prediction.metric.kind == "time":
            predicted, observed = 1 / predicted, 1 / observed
        return (predicted, observed) if predicted <= FALLS else None

    @property
    def largest_bytes(self) -> float:
        """The largest measured working set."""
        return max(point.point.working_set_bytes for point in self.observation.points)

    @property
    def uncertain_sides(self) -> tuple[CurveFeature, ...]:
        """The predicted plateaus at the sides of a cliff, if their intervals overlap."""
        plateaus = [f for f in self.prediction.features if f.position == "plateau"]
        sides = next((pair for pair in pairwise(plateaus) if pair[0].level == self.finding.level), ())
        return sides if sides and overlap(*sides) else ()

    @property
    def first_plateaus(self) -> tuple[float, float] | None:
        """The predicted and the observed rate of the first plateau; ``None`` without one of them."""
        plateaus = [f for f in self.compared if f.position == "plateau"]
        predicted = next((f.predicted for f in plateaus if f.predicted), None)
        seen, ends = [f for f in plateaus if f.observed], self._middles(predicted=False)
        # Without cliffs between them, plateaus beyond the first one have been matched.
        first = min(seen, key=lambda f: (ends.get(f.level, inf), f.predicted is not None), default=None)
        return (predicted, first.observed) if predicted and first and first.observed else None

    @property
    def has_n90(self) -> bool:
        """Whether an n90 was observed."""
        return any(f.position == "n90" and f.observed for f in self.compared)

    @property
    def time_ratios(self) -> tuple[float, ...]:
        """Observed / predicted time of each point, from the smallest to the largest."""
        return tuple(o.time_s / p.time_s for o, p in self.observation.points.pairs(self.prediction.points))

    @property
    def bottlenecks(self) -> tuple[tuple[str, float], ...]:
        """The ceiling that limits a rate, and the next one if it is close: names, and shares of the largest time."""
        near = self._predicted_near()
        ceilings = near.ceilings_s if near else {}
        names = sorted(ceilings, key=lambda name: -ceilings[name])[:2]
        shares = ((name, ceilings[name] / ceilings[names[0]]) for name in names)
        return tuple((name, share) for name, share in shares if share >= _CLOSE)

    def _predicted_near(self) -> PredictedPoint | None:
        """Return the predicted point that represents a rate; for a plateau, one of its last two octaves."""
        points: Sequence[PredictedPoint] = self.prediction.points
        if self.finding.position == "case":
            return next((point for point in points if point.point.label == self.finding.level.name), None)
        if self.finding.position == "plateau":
            points = self._end_of_plateau() or points
        return min(points, key=lambda point: log_error(point.value, self.value))

    def _end_of_plateau(self) -> tuple[PredictedPoint, ...]:
        """Return the predicted points of the last two octaves of a plateau's working sets."""
        middles = self._middles(predicted=self.finding.predicted is not None)
        end = middles.pop(self.finding.level, inf)
        begin = max((value for value in middles.values() if value < end), default=0.0)
        within = [p for p in self.prediction.points if begin < p.point.working_set_bytes < end]
        largest = max((point.point.working_set_bytes for point in within), default=0.0)
        return tuple(point for point in within if point.point.working_set_bytes >= largest / 4)

    def _middles(self, *, predicted: bool) -> dict[Level, float]:
        cliffs = (f for f in self.compared if f.feature == "cliff" and f.position == "midpoint")
        return {f.level: value for f in cliffs if (value := f.predicted if predicted else f.observed)}


def reasons(device: Device, curve: Curve, finding: Finding) -> Reasons | None:
    """Return the facts on a *finding* of a *curve*, whose predictions have the features that were compared.

    ``None``: the curve was not timed, because its results are wrong.
    """
    prediction: Prediction | None = getattr(curve, finding.basis)
    seen = curve.observation
    if not (finding.predicted or finding.observed) or not (prediction and prediction.points and seen and seen.points):
        return None
    compared = [each for each in curve.findings if each.basis == finding.basis]
    return Reasons(finding, device, prediction, seen, compared)


def _fall(curve: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Return the value at the first size from *end* on, divided by the value at the last size up to *begin*."""
    ordered = sorted(curve)
    before = [value for size, value in ordered if size <= begin]
    after = [value for size, value in ordered if size >= end]
    return after[0] / before[-1] if before and after else 1.0


def likely_level(size_bytes: float, device: Device, predicted: Iterable[CurveFeature], items: int) -> LevelRange | None:
    """Return the level whose transition range covers the working set of an observed cliff, and that range.

    Ranges are those of the curve's predicted cliffs, of shared caches, and of compute units' caches that keep their
    data from dispatch to dispatch (one of them, and the sum of those that so many work-*items* use). Either end may be
    off by a factor of :data:`AGREEMENT`. Of several levels, the one whose range has the nearest middle is returned.
    """
    ranges = [*_predicted_ranges(predicted), *_cache_ranges(device, min(device.compute_units, items))]
    covering = [r for r in ranges if r[1] / AGREEMENT <= size_bytes <= r[2] * AGREEMENT]
    return min(covering, key=lambda r: log_error(size_bytes**2, r[1] * r[2]), default=None)


def _predicted_ranges(predicted: Iterable[CurveFeature]) -> Iterator[LevelRange]:
    cliffs: dict[Level, dict[str, float]] = {}
    for feature in predicted:
        if feature.feature == "cliff" and not feature.level.is_transition:
            cliffs.setdefault(feature.level, {})[feature.position] = feature.value
    for level, at in cliffs.items():
        if {"onset", "end"} <= at.keys():
            yield level, at["onset"], at["end"]


def _cache_ranges(device: Device, units: int) -> Iterator[LevelRange]:
    for cache in device.caches:
        transitions = [transition for name in TRANSITIONS if (transition := getattr(cache, name))]
        low, high = min(e.onset for e in transitions), max(e.end for e in transitions)
        if cache.scope == "device" or cache.persistent:
            for together in {1, 1 if cache.scope == "device" else units}:
                size = together * cache.capacity_bytes
                yield Level(name=cache.name), low * size, high * size
