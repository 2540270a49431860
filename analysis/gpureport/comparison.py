"""Everything of a kept result, predicted and observed again: each time and each feature beside its prediction."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, get_args

from gpureport.matching import match_features
from gpureport.observe import observe
from gpureport.predict import Kind, predict_sweep
from gpureport.predict.calibrate import calibrated
from gpureport.records import CurveFeature, Measurement, Metric, Observation, PointKey, Prediction, SweepKey
from gpureport.replay import Result, Series, identity
from gpureport.spec.models import Device

What = Literal["times", "latency cliffs", "bandwidth cliffs", "n90", "knees", "plateaus", "peaks"]
WHATS: tuple[What, ...] = get_args(What)


@dataclass(frozen=True)
class Curve:
    """Which predicted curve a comparison belongs to.

    Attributes:
        result: name of the result.
        published: whether others measured it.
        device: id of its device.
        device_class: ``NVIDIA GPU``, ``AMD GPU``, ``CPU`` and so on.
        key: the sweep.
        conditions: that tell it from other sweeps of this key, in words.
        kind: of the prediction.
    """

    result: str
    published: bool
    device: str
    device_class: str
    key: SweepKey
    conditions: str
    kind: Kind

    def __str__(self) -> str:
        """The result, the sweep and its conditions."""
        return ", ".join(part for part in (self.result, str(self.key), self.conditions) if part)


@dataclass(frozen=True)
class Comparison:
    """One time or one feature, predicted and observed.

    Attributes:
        curve: that it belongs to.
        what: is compared.
        label: the point's, or the feature's level and position.
        unit: of both values.
        predicted: ``None``: not predicted.
        observed: ``None``: not observed.
        low: end of the observation's 95 % interval.
        high: the other.
        level: the memory level that serves the point, or that the feature belongs to.
        point: the point of a time.
        binding: the ceiling that binds the point.
        ceilings_s: all of the point's ceilings.
    """

    curve: Curve
    what: What
    label: str
    unit: str
    predicted: float | None
    observed: float | None
    low: float | None = None
    high: float | None = None
    level: str = ""
    point: PointKey | None = None
    binding: str = ""
    ceilings_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Predicted / observed, if there are both."""
        return self.predicted / self.observed if self.predicted and self.observed else None

    @property
    def error(self) -> float | None:
        """How far the prediction is off; ``None`` where one side is missing.

        For a time ``|predicted / observed - 1|``; for a feature the factor between the two, less one.
        """
        ratio = self.ratio
        if ratio is None:
            return None
        return abs(ratio - 1) if self.what == "times" else max(ratio, 1 / ratio) - 1


@dataclass(frozen=True)
class _Seen:
    """A sweep, predicted from the specification and observed."""

    series: Series
    specified: Prediction
    observation: Observation | None


def compare(
    result: Result, *, features: bool = True, workloads: Collection[str] = ()
) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    """Predict and observe everything of *result* again.

    Args:
        result: what was measured.
        features: whether to look for cliffs, tapers and plateaus, too; takes several times as long.
        workloads: names of those to compare; none: all. Primitives calibrate in any case.

    Returns:
        The comparisons, and the sweeps that the workloads of today do not know.
    """
    wanted = [s for s in result.series if not workloads or s.workload.name in workloads]
    calibrating = [] if result.published else [s for s in result.series if s.workload.primitive]
    seen: dict[int, _Seen] = {}
    unknown = list(result.unknown)
    for series in {id(s): s for s in (*calibrating, *wanted)}.values():
        whole = features or series in calibrating
        try:
            seen[id(series)] = _see(result.device, series, whole=whole)
        except KeyError:  # a parameter that its points had not when they were measured
            unknown.append(str(series.measurement.key))
    device = _calibrated(result.device, [seen[id(s)] for s in calibrating if id(s) in seen])
    found = [c for s in wanted if id(s) in seen for c in _compared(result, seen[id(s)], device, features=features)]
    return tuple(found), tuple(unknown)


def _see(device: Device, series: Series, *, whole: bool) -> _Seen:
    """Predict a sweep and observe it, or (not *whole*) predict its measured points only."""
    series = series if whole else series.measured()
    specified = predict_sweep(device, series.workload, series.sweep, "specification", series.told)
    return _Seen(series, specified, observe(series.measurement) if whole else None)


def _calibrated(device: Device, primitives: list[_Seen]) -> Device | None:
    observations = [seen.observation for seen in primitives if seen.observation]
    return calibrated(device, [seen.specified for seen in primitives], observations) if observations else None


def _compared(result: Result, seen: _Seen, device: Device | None, *, features: bool) -> Iterator[Comparison]:
    """Yield the comparisons of one sweep, with both predictions where there are both."""
    series, predictions = seen.series, [seen.specified]
    if device is not None and not series.workload.primitive:
        predictions.append(predict_sweep(device, series.workload, series.sweep, "calibrated", series.compiled))
    for prediction in predictions:
        curve = Curve(
            result=result.name,
            published=result.published,
            device=result.device.id,
            device_class="CPU" if result.device.kind == "cpu" else f"{result.device.vendor} GPU",
            key=prediction.key,
            conditions=series.conditions,
            kind=prediction.kind,
        )
        yield from _times(curve, series.measurement, prediction)
        if features and seen.observation:
            yield from _features(curve, prediction, seen.observation)


def _times(curve: Curve, measurement: Measurement, prediction: Prediction) -> Iterator[Comparison]:
    """Yield the time of each measured point."""
    predicted = {identity(point.point.parameters): point for point in prediction.points}
    for measured in measurement.points:
        point = predicted.get(identity(measured.point.parameters))
        if point is None or not measured.samples_s:
            continue
        yield Comparison(
            curve=curve,
            what="times",
            label=measured.point.label,
            unit="s",
            predicted=point.time_s,
            observed=median(measured.samples_s),
            level=point.level,
            point=point.point,
            binding=point.binding,
            ceilings_s=point.ceilings_s,
        )


def _features(curve: Curve, prediction: Prediction, observation: Observation) -> Iterator[Comparison]:
    """Yield the middles of cliffs, the tapers and the plateaus, each with what answers it."""
    for match in match_features(prediction.features, observation.features):
        either, seen = match.predicted or match.observed, match.observed
        what = _what(either, prediction.metric) if either else None
        if either is None or what is None:
            continue
        yield Comparison(
            curve=curve,
            what=what,
            label=f"{either.level} {either.position}",
            unit=either.unit,
            predicted=match.predicted.value if match.predicted else None,
            observed=seen.value if seen else None,
            low=seen.ci_low if seen else None,
            high=seen.ci_high if seen else None,
            level=either.level,
        )


def _what(feature: CurveFeature, metric: Metric) -> What | None:
    """Return what a feature's comparison counts as; ``None`` for those that repeat another: cases are times."""
    if feature.position == "midpoint":
        return "latency cliffs" if metric.kind == "time" else "bandwidth cliffs"
    return _BY_POSITION.get(feature.position)


_BY_POSITION: Mapping[str, What] = {"n90": "n90", "knee": "knees", "plateau": "plateaus", "peak": "peaks"}
