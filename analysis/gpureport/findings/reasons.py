"""Facts on findings that are not as predicted, which documents explain with them. Pure functions.

They do not guess why prediction and observation differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from gpureport.findings.verdicts import AboveCeiling, above_ceiling, log_error
from gpureport.records.columns import Curve
from gpureport.records.curves import CurveFeature, Level, Observation
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.spec.models import TRANSITIONS, Cache, Device

_CLOSE = 0.1  # least share of the largest ceiling at which the next one is named
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
    def likely(self) -> LevelRange | None:
        """The level that a cliff without a cache is likely to belong to."""
        items = max(point.point.work_items for point in self.prediction.points)
        return likely_level(self.value, self.device, self.prediction.features, items)

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
