"""Stored results compared with current predictions: a residual for each time and each feature."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, get_args

from gpureport.findings.verdicts import log_error
from gpureport.matching import match_curves
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.curves import DEVICE, Basis, CurveFeature, Metric, Observation, PointKey, Record, SweepKey
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import Prediction
from gpureport.results.replay import Result, Series
from gpureport.spec.database import Database
from gpureport.spec.drivers import CpuCompiler
from gpureport.spec.models import Cache, Device, Memory, core_source, listed
from gpureport.spec.uncertainty import CONSTANTS

What = Literal[
    "times", "latency cliffs", "bandwidth cliffs", "n90", "knees", "plateaus", "peaks", "latencies", "bandwidths"
]
WHATS: tuple[What, ...] = get_args(What)
Independence = Literal["seen", "unseen device", "unseen architecture"]
Interval = tuple[float, float]


@dataclass(frozen=True)
class PredictedCurve:
    """Identity of the predicted curve of a residual.

    Attributes:
        result: name of the result.
        published: whether it is a published one.
        device: id of its device.
        device_class: ``NVIDIA GPU``, ``AMD GPU``, ``CPU`` and so on.
        key: the sweep.
        conditions: text that distinguishes it from other sweeps with this key.
        kind: of the prediction.
        independence: of the device's measurements; ``None`` if unknown.
        architecture: of the device.
        described: whether the workload is a kernel of the user.
        compiler: of kernels, on a CPU.
    """

    result: str
    published: bool
    device: str
    device_class: str
    key: SweepKey
    conditions: str
    kind: Basis
    independence: Independence | None = None
    architecture: str = ""
    described: bool = False
    compiler: CpuCompiler = "pocl"

    def __str__(self) -> str:
        """Return result, sweep and conditions."""
        return ", ".join(part for part in (self.result, str(self.key), self.conditions) if part)


@dataclass(frozen=True)
class Residual:
    """One time or one feature, predicted and observed.

    Attributes:
        curve: its predicted curve.
        what: the compared quantity.
        label: of the point, or level and position of the feature.
        unit: of both values.
        predicted: ``None`` if not predicted.
        observed: ``None`` if not observed.
        interval: 95 % interval of an observed feature.
        expected: 95 % interval of the prediction, if known.
        level: memory level of the point or feature.
        point: of a time.
        bottleneck: of the point.
        ceilings_s: all ceilings of the point, in seconds.
    """

    curve: PredictedCurve
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
        """Predicted / observed; ``None`` without one of them."""
        return self.predicted / self.observed if self.predicted and self.observed else None

    @property
    def error(self) -> float | None:
        """|ln(predicted / observed)|; ``None`` without one of the values."""
        return log_error(self.predicted, self.observed) if self.predicted and self.observed else None

    @property
    def inside(self) -> bool | None:
        """Whether the observed value is within the interval of the prediction; ``None`` without one of them."""
        if self.observed is None or self.expected is None:
            return None
        return self.expected[0] <= self.observed <= self.expected[1]


def residuals(
    result: Result,
    independence: Independence | None = None,
    *,
    features: bool = True,
    workloads: Collection[str] = (),
) -> tuple[Residual, ...]:
    """Predict and observe the sweeps of *result* again.

    Args:
        result: the measurements.
        independence: of the prediction of its device.
        features: whether to compare cliffs, tapers and plateaus, too; takes several times as long.
        workloads: names of those to compare; empty for all. Microbenchmarks calibrate in either case.
    """
    microbenchmarks = () if result.publication else tuple(s for s in result.series if s.workload.microbenchmark)
    analysed = {id(series): _analysed(result.device, series) for series in microbenchmarks}
    observed = [observation for _, observation in analysed.values() if observation]
    device = calibrated(result.device, [p for p, _ in analysed.values()], observed) if observed else None
    found: list[Residual] = []
    for series in result.series:
        if workloads and series.workload.name not in workloads:
            continue
        curves = analysed.get(id(series)) or (_analysed(result.device, series) if features else None)
        found += _of_series(result, series, curves, device, independence, features=features)
    return tuple(found)


def _analysed(device: Device, series: Series) -> tuple[Prediction, Observation | None]:
    prediction = predict_sweep(
        device, series.workload, series.sweep, "specification", series.resources["specification"]
    )
    return prediction, observe(series.measurement)


def _of_series(
    result: Result,
    series: Series,
    curves: tuple[Prediction, Observation | None] | None,
    measured: Device | None,
    independence: Independence | None,
    *,
    features: bool,
) -> Iterator[Residual]:
    """Yield the residuals of one sweep, for each kind of prediction; *curves*: specification and observation."""
    devices: dict[Basis, Device] = {"specification": result.device}
    if measured is not None and not series.workload.microbenchmark:
        devices["calibrated"] = measured
    for kind, device in devices.items():
        curve = _curve(result, series, kind, independence)
        if curves and features and curves[0].kind == kind:
            prediction = curves[0]
        else:
            prediction = predict_sweep(device, series.workload, series.sweep, kind, series.resources[kind])
        yield from _times(curve, series.measurement, prediction)
        if curves and features and curves[1]:
            yield from _features(curve, prediction, curves[1])


def _curve(result: Result, series: Series, kind: Basis, independence: Independence | None) -> PredictedCurve:
    return PredictedCurve(
        result=result.name,
        published=result.publication is not None,
        device=result.device.id,
        device_class=result.device.device_class,
        key=series.measurement.key,
        conditions=series.conditions,
        kind=kind,
        independence=independence,
        architecture=result.device.architecture.id,
        described=series.workload.described,
        compiler=result.device.architecture.compiler,
    )


def _times(curve: PredictedCurve, measurement: Measurement, prediction: Prediction) -> Iterator[Residual]:
    for measured, point in measurement.points.pairs(prediction.points):
        if measured.samples_s:
            yield Residual(
                curve=curve,
                what="times",
                label=measured.point.label,
                unit="s",
                predicted=point.time_s,
                observed=median(measured.samples_s),
                expected=(point.time_s / point.spread, point.time_s * point.spread) if point.spread > 1 else None,
                level=str(point.level),
                point=measured.point,
                bottleneck=point.bottleneck,
                ceilings_s=point.ceilings_s,
            )


def _features(curve: PredictedCurve, prediction: Prediction, observation: Observation) -> Iterator[Residual]:
    for match in match_curves(prediction, observation):
        either = match.predicted or match.observed
        if either is None or (what := _what(either, prediction.metric)) is None:
            continue
        observed = match.observed if match.comparable else None
        yield Residual(
            curve=curve,
            what=what,
            label=either.position if either.level == DEVICE else f"{either.level} {either.position}",
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
    """Return the compared quantity of a feature; ``None`` for features that others or the times already cover."""
    if feature.position == "midpoint":
        return "latency cliffs" if metric.kind == "time" else "bandwidth cliffs"
    by_position: Mapping[str, What] = {"n90": "n90", "knee": "knees", "plateau": "plateaus", "peak": "peaks"}
    return by_position.get(feature.position)


def _exact(record: type[Record]) -> set[str]:
    """Return the keys of whole numbers, such as the size of a line: a measurement of these has no error."""
    return {key for name, (key, _) in listed(record).items() if record.model_fields[name].annotation is int}


_EXACT = _exact(Cache) | _exact(Memory)


def independence(device: Device, database: Database) -> Independence:
    """Return whether constants that predict *device* were measured on such a device or fitted to one.

    Returns:
        ``seen``: at least one was. ``unseen device``: none was, but one comes from another device of its architecture.
        ``unseen architecture``: all come from documents and from other architectures.
    """
    origins = (origin for path, origin in device.provenance.items() if path.rpartition(".")[2] not in _EXACT)
    measured = {entry for origin in origins for entry in origin.measured_on}
    sources = measured.union(*(each.measured_on for each in CONSTANTS))
    name = device.architecture.id
    if sources & {device.id, f"architectures/{name}"}:
        return "seen"
    known = {database.entries[entry].file.architecture for entry in sources if entry in database.entries}
    # The values of a type of core come from other machines with such cores.
    has_core_type = any(origin.source == core_source(name) for origin in device.provenance.values())
    return "unseen device" if has_core_type or name in known else "unseen architecture"
