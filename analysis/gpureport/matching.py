"""Which observed feature answers which predicted one, and what those are called that answer none."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, log

from gpureport.observe import features_of_points
from gpureport.records.features import CurveFeature
from gpureport.records.finding import AGREEMENT
from gpureport.records.levels import Level
from gpureport.records.observation import Observation
from gpureport.records.prediction import Prediction

FURTHEST = 4.0
"""Factor beyond which an observed cliff does not answer a predicted one."""


@dataclass(frozen=True)
class FeatureMatch:
    """A predicted feature and the observed one that answers it; either may be missing.

    Attributes:
        predicted: feature of the predicted curve.
        observed: feature of the observed curve.
        comparable: whether their ratio means anything: tapers of two different plateaus stand side by side only.
    """

    predicted: CurveFeature | None
    observed: CurveFeature | None
    comparable: bool = True


def match_curves(prediction: Prediction, observation: Observation) -> tuple[FeatureMatch, ...]:
    """Pair the features of a predicted curve with those of the observed one, as :func:`match_features` does.

    Predicted features are those that the measured points can show, see :func:`where_measured`.
    """
    return match_features(where_measured(prediction, observation).features, observation.features)


def where_measured(prediction: Prediction, observation: Observation) -> Prediction:
    """Return a prediction with the features that can be compared with what was measured.

    More points are predicted than measured. Cliffs of caches and plateaus are those of all points. The best point of a
    search is that of the shapes that were measured: others may not have run. Where groups fill a device in rounds a
    curve is a staircase, and where its taper is depends on which steps are looked at: it is read off at the measured
    points, if these show its plateau. Steps of no cache that these do not show are left out. Verdicts, figures and
    tables use the same features.
    """
    found = _found_where_measured(prediction, observation)
    if not found:
        return prediction
    matches = match_features([f for f in prediction.features if f.feature == "cliff"], found)
    shown = {match.predicted.level for match in matches if match.predicted and match.observed}
    kept = [f for f in prediction.features if not f.level.is_unexplained or f.level in shown]
    anew = [f for f in found if f.position == "peak" or (f.feature == "taper" and _reach(prediction, found))]
    known = {f.position: f for f in kept if f.feature in {each.feature for each in anew} and f.position != "plateau"}
    features = [f for f in kept if f not in known.values()]
    features += [_moved(known[f.position], f.value) if f.position in known else f for f in anew]
    order = ("cliff", "taper", "rate")
    return prediction.model_copy(update={"features": tuple(sorted(features, key=lambda f: order.index(f.feature)))})


def _reach(prediction: Prediction, found: Sequence[CurveFeature]) -> bool:
    """Return whether features *found* at the measured points have the plateau that the predicted taper belongs to."""
    first, shown = _first_plateau(prediction.features), _first_plateau(found)
    return first is None or shown is None or abs(log(first.value / shown.value)) <= log(AGREEMENT)


def _found_where_measured(prediction: Prediction, observation: Observation) -> tuple[CurveFeature, ...]:
    """Return the features that the predicted points show that were measured; none if all were."""
    measured = {point.point.label for point in observation.points}
    points = [point for point in prediction.points if point.point.label in measured]
    if len(points) == len(prediction.points) or not any(map(_depends_on_points, prediction.features)):
        return ()
    return features_of_points(prediction.axis, prediction.metric, points)


def _depends_on_points(feature: CurveFeature) -> bool:
    return feature.feature == "taper" or feature.position == "peak" or feature.level.is_unexplained


def _moved(feature: CurveFeature, value: float) -> CurveFeature:
    """Return *feature* at another value, as sure as before."""
    low, high = (end and end * value / feature.value for end in (feature.ci_low, feature.ci_high))
    return feature.model_copy(update={"value": value, "ci_low": low, "ci_high": high})


def match_features(predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]) -> tuple[FeatureMatch, ...]:
    """Pair features of one curve; observed levels take the names of the predicted ones that they answer.

    Those that answer none are named by where they are seen: ``step at 37 MiB``.

    Cliffs are paired in order of size, so that the midpoints lie as near as possible (in log) and none further than
    :data:`FURTHEST`. A plateau goes with the cliff that ends it. The last observed one goes with the last predicted
    one if as many cliffs are seen as predicted; where fewer are seen, with the predicted one of nearest value (in log)
    beyond the last cliff that is paired. Peaks are single. A taper belongs to the first plateau of its curve: those of
    plateaus that differ in level and in rate are paired, but not comparable.
    """
    names, places = _level_names(predicted, observed), _places(observed)
    named = [_called(feature, names) for feature in observed]
    answers = {(f.feature, f.position, f.level): f for f in named}
    matches = [FeatureMatch(p, answers.pop((p.feature, p.position, p.level), None)) for p in predicted]
    if not _same_plateau(_first_plateau(predicted), _first_plateau(named)):
        matches = list(map(_not_compared, matches))
    return (*matches, *(FeatureMatch(None, _called(feature, places)) for feature in answers.values()))


def _same_plateau(one: CurveFeature | None, other: CurveFeature | None) -> bool:
    """Return whether two plateaus are of one level or of one rate; a curve without any speaks against neither."""
    if one is None or other is None or one.level == other.level:
        return True
    return abs(log(one.value / other.value)) <= log(AGREEMENT)


def _not_compared(match: FeatureMatch) -> FeatureMatch:
    """Return a *match* of two tapers as not comparable, any other as it is."""
    tapers = match.predicted and match.observed and match.predicted.feature == "taper"
    return replace(match, comparable=False) if tapers else match


def renamed(predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]) -> tuple[CurveFeature, ...]:
    """Return the *observed* features with the names of the levels that they answer, or where they are seen."""
    names = _places(observed) | _level_names(predicted, observed)
    return tuple(_called(feature, names) for feature in observed)


def _called(feature: CurveFeature, names: Mapping[Level, Level]) -> CurveFeature:
    return feature.model_copy(update={"level": names.get(feature.level, feature.level)})


def _first_plateau(features: Sequence[CurveFeature]) -> CurveFeature | None:
    return next((feature for feature in features if feature.position == "plateau"), None)


def _places(observed: Sequence[CurveFeature]) -> dict[Level, Level]:
    """Name each observed level by the cliff that ends it; the last one by the last cliff."""
    cliffs, last = _midpoints(observed), _last_plateau(observed)
    beyond = {last: Level.unexplained(cliffs[-1].value, beyond=True)} if cliffs and last else {}
    return beyond | {cliff.level: Level.unexplained(cliff.value) for cliff in cliffs}


def _level_names(predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]) -> dict[Level, Level]:
    """Return the predicted name of each observed level that has one."""
    ours, theirs = _midpoints(predicted), _midpoints(observed)
    names = {theirs[j].level: ours[i].level for i, j in _nearest_in_order(ours, theirs)}
    last = _last_plateau(observed)
    if last and last not in names and (beyond := _plateaus_beyond(predicted, ours, names.values())):
        names[last] = _nearest_level(beyond if len(theirs) < len(ours) else beyond[-1:], observed, last)
    return names


def _plateaus_beyond(
    predicted: Sequence[CurveFeature], cliffs: Sequence[CurveFeature], paired: Collection[Level]
) -> list[CurveFeature]:
    """Return the predicted plateaus further out than the last of the *paired* cliffs, nearest first.

    Those that a cliff ends stand in the order of the cliffs, the last plateau after them.
    """
    levels = [cliff.level for cliff in cliffs]
    first = max((levels.index(level) + 1 for level in paired), default=0)
    outer = [*levels[first:], _last_plateau(predicted)]
    rates = {f.level: f for f in predicted if f.feature == "rate" and f.position != "case"}
    return [rates[level] for level in outer if level in rates]


def _nearest_level(plateaus: Sequence[CurveFeature], observed: Sequence[CurveFeature], last: Level) -> Level:
    """Return the level of the plateau nearest in value to the observed one called *last*; of equals the outermost."""
    value = next(f.value for f in observed if f.feature == "rate" and f.level == last)
    return min(reversed(plateaus), key=lambda plateau: abs(log(plateau.value / value))).level


def _midpoints(features: Sequence[CurveFeature]) -> list[CurveFeature]:
    middles = [f for f in features if f.feature == "cliff" and f.position == "midpoint"]
    return sorted(middles, key=lambda feature: feature.value)


def _last_plateau(features: Sequence[CurveFeature]) -> Level | None:
    """Return the level of the plateau that no cliff ends (or of the only peak)."""
    ended = {f.level for f in features if f.feature == "cliff"}
    rates = (f for f in reversed(features) if f.feature == "rate" and f.position != "case")
    return next((f.level for f in rates if f.level not in ended), None)


def _nearest_in_order(ours: Sequence[CurveFeature], theirs: Sequence[CurveFeature]) -> list[tuple[int, int]]:
    """Return pairs of indices, ascending in both: as many as possible, then as near as possible."""
    for size in range(min(len(ours), len(theirs)), 0, -1):
        best, pairs = inf, []
        for chosen in combinations(range(len(ours)), size):
            for answers in combinations(range(len(theirs)), size):
                distances = [abs(log(ours[i].value / theirs[j].value)) for i, j in zip(chosen, answers, strict=True)]
                if max(distances) <= log(FURTHEST) and sum(distances) < best:
                    best, pairs = sum(distances), list(zip(chosen, answers, strict=True))
        if pairs:
            return pairs
    return []
