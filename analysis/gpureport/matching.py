"""Match observed features with predicted ones, and name the observed features without a match."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product, starmap
from math import log
from typing import NamedTuple

from gpureport.observe import features_of_points
from gpureport.records.curves import CurveFeature, Level, Observation
from gpureport.records.finding import AGREEMENT
from gpureport.records.prediction import Prediction

FURTHEST = 4.0
"""Largest factor between an observed cliff and the predicted cliff that it matches."""


class FeatureMatch(NamedTuple):
    """A predicted feature and the corresponding observed one; either may be missing.

    Tapers of different plateaus are not *comparable*: their ratio has no meaning.
    """

    predicted: CurveFeature | None
    observed: CurveFeature | None
    comparable: bool = True


def match_curves(prediction: Prediction, observation: Observation) -> tuple[FeatureMatch, ...]:
    """Match the predicted features that the measured points can show with the observed ones."""
    return match_features(where_measured(prediction, observation).features, observation.features)


def where_measured(prediction: Prediction, observation: Observation) -> Prediction:
    """Return a prediction with the features that can be compared with measurements.

    More points are predicted than measured. Cliffs of caches and plateaus come from all points. The best point of a
    work-group search comes from the measured shapes, because others may not have run. If work-groups run in rounds, a
    curve is a staircase and its taper depends on the selection of points. The taper then comes from the measured points
    if these show its plateau. Transitions that no cache causes are left out if the measured points do not show them.
    Verdicts, figures and tables use the same features.
    """
    points = [point for point, _ in prediction.points.pairs(observation.points)]
    changes = any(f.feature == "taper" or f.position == "peak" or f.level.is_transition for f in prediction.features)
    if len(points) == len(prediction.points) or not changes:
        return prediction
    found = features_of_points(prediction.axis, prediction.metric, points)
    if not found:
        return prediction
    same = _same_plateau(_first_plateau(prediction.features), _first_plateau(found))
    matches = match_features([f for f in prediction.features if f.feature == "cliff"], found)
    shown = {predicted.level for predicted, _ in both_of(matches)}
    kept = [f for f in prediction.features if not f.level.is_transition or f.level in shown]
    new = [f for f in found if f.position == "peak" or (f.feature == "taper" and same)]
    old = {f.position: f for f in kept if f.feature in {each.feature for each in new} and f.position != "plateau"}
    features = [f for f in kept if f not in old.values()]
    features += [_moved(old[f.position], f.value) if f.position in old else f for f in new]
    order = ("cliff", "taper", "rate")
    return prediction.model_copy(update={"features": tuple(sorted(features, key=lambda f: order.index(f.feature)))})


def _moved(feature: CurveFeature, value: float) -> CurveFeature:
    low, high = (end and end * value / feature.value for end in (feature.ci_low, feature.ci_high))
    return feature.model_copy(update={"value": value, "ci_low": low, "ci_high": high})


def match_features(predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]) -> tuple[FeatureMatch, ...]:
    """Match the features of one curve; observed levels get the names of the predicted levels that they match.

    Observed levels without a match are named by their position: ``unexplained transition at 37 MiB``.

    Cliffs are matched in order of size, with the smallest total distance of the midpoints on a log scale, none beyond
    :data:`FURTHEST`, unless the interval of the prediction contains the observed one. A plateau belongs to the cliff at
    its end. The last observed plateau matches the last predicted one if equally many cliffs were observed and
    predicted. With fewer observed cliffs, it matches the predicted plateau of nearest value (log scale) beyond the last
    matched cliff. A curve has one peak. A taper belongs to the first plateau of its curve. Tapers of plateaus that
    differ in level and rate are matched, but not comparable.
    """
    names, cliffs, last = _level_names(predicted, observed), midpoints_of(observed), _last_plateau(observed)
    # An observed level has the name of the cliff at its end, the last level that of the last cliff.
    positions = {last: Level.unexplained(cliffs[-1].value, beyond=True)} if cliffs and last else {}
    positions |= {cliff.level: Level.unexplained(cliff.value) for cliff in cliffs}
    named = [_with_name(feature, names) for feature in observed]
    unmatched = {(f.feature, f.position, f.level): f for f in named}
    matches = [FeatureMatch(p, unmatched.pop((p.feature, p.position, p.level), None)) for p in predicted]
    if not _same_plateau(_first_plateau(predicted), _first_plateau(named)):
        tapers = [bool(m.predicted and m.observed and m.predicted.feature == "taper") for m in matches]
        matches = [m._replace(comparable=not taper) for m, taper in zip(matches, tapers, strict=True)]
    return (*matches, *(FeatureMatch(None, _with_name(feature, positions)) for feature in unmatched.values()))


def both_of(matches: Iterable[FeatureMatch]) -> Iterator[tuple[CurveFeature, CurveFeature]]:
    """Yield the predicted and the observed feature of complete *matches*."""
    return ((each.predicted, each.observed) for each in matches if each.predicted and each.observed)


def _same_plateau(one: CurveFeature | None, other: CurveFeature | None) -> bool:
    """Return whether two plateaus have the same level or nearly the same rate, or one of them is missing."""
    if one is None or other is None or one.level == other.level:
        return True
    return abs(log(one.value / other.value)) <= log(AGREEMENT)


def _with_name(feature: CurveFeature, names: Mapping[Level, Level]) -> CurveFeature:
    return feature.model_copy(update={"level": names.get(feature.level, feature.level)})


def _first_plateau(features: Sequence[CurveFeature]) -> CurveFeature | None:
    return next((feature for feature in features if feature.position == "plateau"), None)


def _level_names(predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]) -> dict[Level, Level]:
    ours, theirs = midpoints_of(predicted), midpoints_of(observed)
    names = {o.level: p.level for p, o in _nearest_in_order(ours, theirs)}
    last = _last_plateau(observed)
    if last and last not in names and (beyond := _plateaus_beyond(predicted, ours, names.values())):
        value = next(f.value for f in observed if f.feature == "rate" and f.level == last)
        candidates = reversed(beyond if len(theirs) < len(ours) else beyond[-1:])  # of equals the outermost
        names[last] = min(candidates, key=lambda plateau: abs(log(plateau.value / value))).level
    return names


def _plateaus_beyond(
    predicted: Sequence[CurveFeature], cliffs: Sequence[CurveFeature], matched: Collection[Level]
) -> list[CurveFeature]:
    """Return the predicted plateaus beyond the last of the *matched* cliffs, nearest first."""
    levels = [cliff.level for cliff in cliffs]
    first = max((levels.index(level) + 1 for level in matched), default=0)
    outer = [*levels[first:], _last_plateau(predicted)]
    rates = {f.level: f for f in predicted if f.feature == "rate" and f.position != "case"}
    return [rates[level] for level in outer if level in rates]


def midpoints_of(features: Sequence[CurveFeature]) -> list[CurveFeature]:
    """Return the midpoints of the cliffs among *features*, in order of size."""
    middles = [f for f in features if f.feature == "cliff" and f.position == "midpoint"]
    return sorted(middles, key=lambda feature: feature.value)


def _last_plateau(features: Sequence[CurveFeature]) -> Level | None:
    ended = {f.level for f in features if f.feature == "cliff"}
    rates = (f for f in reversed(features) if f.feature == "rate" and f.position != "case")
    return next((f.level for f in rates if f.level not in ended), None)


def _nearest_in_order(
    ours: Sequence[CurveFeature], theirs: Sequence[CurveFeature]
) -> Sequence[tuple[CurveFeature, CurveFeature]]:
    """Return pairs, ascending in both: as many as possible, with the smallest total distance.

    An observed cliff may be at most :data:`FURTHEST` from a predicted one, unless it is within its interval.
    """

    def distance(predicted: CurveFeature, observed: CurveFeature) -> float:
        return abs(log(predicted.value / observed.value))

    for size in range(min(len(ours), len(theirs)), 0, -1):
        chosen = product(combinations(ours, size), combinations(theirs, size))
        pairs = (tuple(zip(*sides, strict=True)) for sides in chosen)
        near = [
            found for found in pairs if all(p.expects(o.value) or distance(p, o) <= log(FURTHEST) for p, o in found)
        ]
        if near:
            return min(near, key=lambda found: sum(starmap(distance, found)))
    return ()
