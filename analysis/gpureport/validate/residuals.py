"""Everything of a kept result, predicted and observed again: each time and each feature beside its prediction."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import median
from typing import Literal, get_args

from gpureport.matching import match_curves
from gpureport.observe import observe
from gpureport.predict import Kind, model_inputs, predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.predict.model import PointTime, point_time
from gpureport.predict.occupancy import Resources
from gpureport.records.features import CurveFeature
from gpureport.records.keys import Metric, PointKey, SweepKey
from gpureport.records.observation import Observation
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.results.replay import Result, Series, identity
from gpureport.spec.models import Device

What = Literal["times", "latency cliffs", "bandwidth cliffs", "n90", "knees", "plateaus", "peaks"]
WHATS: tuple[What, ...] = get_args(What)


Interval = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """Which predicted curve a residual belongs to.

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
class Residual:
    """One time or one feature, predicted and observed.

    Attributes:
        curve: that it belongs to.
        what: is compared.
        label: the point's, or the feature's level and position.
        unit: of both values.
        predicted: ``None``: not predicted.
        observed: ``None``: not observed.
        interval: 95 % interval of the observation of a feature.
        expected: 95 % interval of the prediction, where one was worked out.
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
    interval: Interval | None = None
    expected: Interval | None = None
    level: str = ""
    point: PointKey | None = None
    bottleneck: str = ""
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

    @property
    def inside(self) -> bool | None:
        """Whether what was observed lies in the interval of the prediction, if there are both."""
        if self.observed is None or self.expected is None:
            return None
        return self.expected[0] <= self.observed <= self.expected[1]


@dataclass(frozen=True)
class _Seen:
    """A sweep, predicted from the specification and observed; neither, where times alone are wanted of it."""

    series: Series
    specified: Prediction | None = None
    observation: Observation | None = None


def residuals(result: Result, *, features: bool = True, workloads: Collection[str] = ()) -> tuple[Residual, ...]:
    """Predict and observe everything of *result* again.

    Args:
        result: what was measured.
        features: whether to look for cliffs, tapers and plateaus, too; takes several times as long.
        workloads: names of those to compare; none: all. Primitives calibrate in any case.
    """
    microbenchmarks = () if result.published else tuple(s for s in result.series if s.workload.microbenchmark)
    calibrating = {id(series): _seen(result.device, series) for series in microbenchmarks}
    device = _calibrated(result.device, calibrating.values())
    found: list[Residual] = []
    for series in result.series:
        if workloads and series.workload.name not in workloads:
            continue
        seen = calibrating.get(id(series)) or (_seen(result.device, series) if features else _Seen(series))
        found += _of_series(result, seen, device, features=features)
    return tuple(found)


def _seen(device: Device, series: Series) -> _Seen:
    """Predict and observe a sweep."""
    prediction = predict_sweep(device, series.workload, series.sweep, "specification", series.told)
    return _Seen(series, prediction, observe(series.measurement))


def _calibrated(device: Device, microbenchmarks: Iterable[_Seen]) -> Device | None:
    predictions = [seen.specified for seen in microbenchmarks if seen.specified]
    observations = [seen.observation for seen in microbenchmarks if seen.observation]
    return calibrated(device, predictions, observations) if observations else None


def _of_series(result: Result, seen: _Seen, measured: Device | None, *, features: bool) -> Iterator[Residual]:
    """Yield the residuals of one sweep, with both predictions where there are both."""
    series = seen.series
    devices: dict[Kind, Device] = {"specification": result.device}
    if measured is not None and not series.workload.microbenchmark:
        devices["calibrated"] = measured
    for kind, device in devices.items():
        curve = _curve(result, series, kind)
        resources = series.told if kind == "specification" else series.compiled
        if not features:
            yield from _times(curve, series, _points(device, series, resources))
            continue
        prediction = seen.specified if kind == "specification" else None
        prediction = prediction or predict_sweep(device, series.workload, series.sweep, kind, resources)
        yield from _times(curve, series, {identity(point.point.parameters): point for point in prediction.points})
        if seen.observation:
            yield from _features(curve, prediction, seen.observation)


def _curve(result: Result, series: Series, kind: Kind) -> Curve:
    return Curve(
        result=result.name,
        published=result.published,
        device=result.device.id,
        device_class="CPU" if result.device.kind == "cpu" else f"{result.device.vendor} GPU",
        key=series.measurement.key,
        conditions=series.conditions,
        kind=kind,
    )


_Points = Mapping[tuple[tuple[str, int], ...], PredictedPoint | PointTime]


def _points(device: Device, series: Series, resources: Sequence[Resources | None]) -> _Points:
    """Predict the points that were measured, and nothing of the curve that they are part of."""
    sampled = {identity(point.point.parameters) for point in series.measurement.points if point.samples_s}
    return {
        identity(parameters): point_time(*model_inputs(device, series.workload, series.sweep, parameters, told))
        for parameters, told in zip_longest(series.sweep.points, resources)
        if identity(parameters) in sampled
    }


def _times(curve: Curve, series: Series, predicted: _Points) -> Iterator[Residual]:
    """Yield the time of each measured point."""
    for measured in series.measurement.points:
        point = predicted.get(identity(measured.point.parameters))
        if point is None or not measured.samples_s:
            continue
        spread = point.spread if isinstance(point, PredictedPoint) else 1.0
        yield Residual(
            curve=curve,
            what="times",
            label=measured.point.label,
            unit="s",
            predicted=point.time_s,
            observed=median(measured.samples_s),
            expected=(point.time_s / spread, point.time_s * spread) if spread > 1 else None,
            level=str(point.level),
            point=measured.point,
            bottleneck=point.bottleneck,
            ceilings_s=point.ceilings_s,
        )


def _features(curve: Curve, prediction: Prediction, observation: Observation) -> Iterator[Residual]:
    """Yield the middles of cliffs, the tapers and the plateaus, each with what answers it."""
    for match in match_curves(prediction, observation):
        either = match.predicted or match.observed
        what = _what(either, prediction.metric) if either else None
        observed = match.observed if match.comparable else None
        if either is None or what is None:
            continue
        yield Residual(
            curve=curve,
            what=what,
            label=f"{either.level} {either.position}",
            unit=either.unit,
            predicted=match.predicted.value if match.predicted else None,
            observed=observed.value if observed else None,
            interval=_interval(observed),
            expected=_interval(match.predicted),
            level=str(either.level),
        )


def _interval(feature: CurveFeature | None) -> Interval | None:
    if feature is None or feature.ci_low is None or feature.ci_high is None:
        return None
    return feature.ci_low, feature.ci_high


def _what(feature: CurveFeature, metric: Metric) -> What | None:
    """Return what a feature's residual counts as; ``None`` for those that repeat another: cases are times."""
    if feature.position == "midpoint":
        return "latency cliffs" if metric.kind == "time" else "bandwidth cliffs"
    return _BY_POSITION.get(feature.position)


_BY_POSITION: Mapping[str, What] = {"n90": "n90", "knee": "knees", "plateau": "plateaus", "peak": "peaks"}
