"""The model and the detector as they are now, held against results that are kept. Pure functions.

The error of a time is ``|predicted / observed - 1|``; that of a feature is the factor between the two, whichever is
larger, less one. A feature that only one side has has no error, and is counted as not observed or not predicted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log
from statistics import median
from typing import Literal

import numpy as np

from gpureport.matching import match_features
from gpureport.observe import observe
from gpureport.predict import Kind, predict_sweep
from gpureport.predict.calibrate import calibrated
from gpureport.predict.occupancy import Resources
from gpureport.records import CurveFeature, Measurement, Metric, Observation, Prediction, SweepKey
from gpureport.spec.models import Device
from gpureport.workloads.model import Parameters, Sweep, Workload

What = Literal["times", "latency cliffs", "bandwidth cliffs", "n90", "knees", "plateaus", "peaks"]
KINDS: tuple[Kind, ...] = ("specification", "calibrated")


@dataclass(frozen=True)
class Series:
    """One measured sweep, and how to predict it.

    Attributes:
        workload: what was measured.
        sweep: all points to predict; those that were measured are among them.
        measurement: the raw samples.
        told: registers and local memory of each point that the specification prediction may use: published ones.
        compiled: those that the calibrated prediction may use: the compiler's.
        conditions: under which it was measured, in words.
    """

    workload: Workload
    sweep: Sweep
    measurement: Measurement
    told: tuple[Resources | None, ...] = ()
    compiled: tuple[Resources | None, ...] = ()
    conditions: str = ""

    @cached_property
    def measured(self) -> "Series":
        """The same without the points that have no samples."""
        sampled = {_identity(point.point.parameters) for point in self.measurement.points if point.samples_s}
        kept = [index for index, parameters in enumerate(self.sweep.points) if _identity(parameters) in sampled]
        return replace(
            self,
            sweep=replace(self.sweep, points=tuple(self.sweep.points[i] for i in kept)),
            told=tuple(self.told[i] for i in kept if i < len(self.told)),
            compiled=tuple(self.compiled[i] for i in kept if i < len(self.compiled)),
        )


@dataclass(frozen=True)
class Result:
    """What was measured on one device.

    Attributes:
        name: of the folder or file that it came from.
        device: as the database has it now.
        series: what was measured.
        unknown: sweeps of workloads that there are no more.
        published: by others; there are no primitives of the same run then, and nothing is calibrated.
    """

    name: str
    device: Device
    series: tuple[Series, ...]
    unknown: tuple[str, ...] = ()
    published: bool = False

    @property
    def device_class(self) -> str:
        """``NVIDIA GPU``, ``AMD GPU``, ``CPU``, …"""
        return "CPU" if self.device.kind == "cpu" else f"{self.device.vendor} GPU"


@dataclass(frozen=True)
class Curve:
    """Which predicted curve a comparison belongs to.

    Attributes:
        result: name of the result.
        device: id of its device.
        device_class: see :class:`Result`.
        key: the sweep.
        kind: of the prediction.
    """

    result: str
    device: str
    device_class: str
    key: SweepKey
    kind: Kind


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
        binding: the ceiling that binds the point.
        level: the memory level that serves the point, or that the feature belongs to.
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
    binding: str = ""
    level: str = ""
    ceilings_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Predicted / observed, if there are both."""
        return self.predicted / self.observed if self.predicted and self.observed else None

    @property
    def error(self) -> float | None:
        """See the module's description; ``None`` where one side is missing."""
        ratio = self.ratio
        if ratio is None:
            return None
        return abs(ratio - 1) if self.what == "times" else exp(abs(log(ratio))) - 1


@dataclass(frozen=True)
class Summary:
    """The errors of several comparisons.

    Attributes:
        n: how many have both sides.
        median: error.
        p90: the error that nine tenths do not exceed.
        worst: error.
        ratio: median of predicted / observed.
        not_observed: predicted, but not seen in the samples.
        not_predicted: seen, but not predicted.
    """

    n: int
    median: float | None
    p90: float | None
    worst: float | None
    ratio: float | None
    not_observed: int = 0
    not_predicted: int = 0


def summarise(comparisons: Iterable[Comparison]) -> Summary:
    """Return the statistics of *comparisons*."""
    every = list(comparisons)
    errors = [c.error for c in every if c.error is not None]
    ratios = [c.ratio for c in every if c.ratio is not None]
    absent = {
        "not_observed": sum(c.observed is None for c in every),
        "not_predicted": sum(c.predicted is None for c in every),
    }
    if not errors:
        return Summary(0, None, None, None, None, **absent)
    middle, p90, worst = (float(q) for q in np.quantile(errors, [0.5, 0.9, 1.0]))
    return Summary(len(errors), middle, p90, worst, median(ratios), **absent)


def compare(
    result: Result, *, features: bool = True, workloads: Collection[str] = ()
) -> tuple[tuple[Comparison, ...], tuple[str, ...]]:
    """Predict and observe everything of *result* again.

    Args:
        result: what was measured.
        features: whether to look for cliffs, tapers and plateaus, too; takes three times as long.
        workloads: names of those to compare; none: all. Primitives calibrate in any case.

    Returns:
        The comparisons, and the sweeps whose points the workloads of today do not know.
    """
    primitives = () if result.published else tuple(s for s in result.series if s.workload.primitive)
    shown = [shown for series in primitives if (shown := _shown(result.device, series))]
    device = calibrated(result.device, [p for p, _ in shown], [o for _, o in shown]) if shown else None
    found: list[Comparison] = []
    unknown = list(result.unknown)
    for series in result.series:
        if workloads and series.workload.name not in workloads:
            continue
        try:
            found += _compared(result, series if features else series.measured, device, features)
        except KeyError:
            unknown.append(str(series.measurement.key))
    return tuple(found), tuple(unknown)


def _shown(device: Device, series: Series) -> tuple[Prediction, Observation] | None:
    """Return what the specification says of a primitive, and what its samples do."""
    observation = observe(series.measurement)
    try:
        prediction = predict_sweep(device, series.workload, series.sweep, "specification")
    except KeyError:
        return None
    return (prediction, observation) if observation else None


def _compared(result: Result, series: Series, device: Device | None, features: bool) -> Iterator[Comparison]:
    """Yield the comparisons of one sweep, with both predictions where there are both."""
    observation = observe(series.measurement) if features else None
    specified = predict_sweep(result.device, series.workload, series.sweep, "specification", series.told)
    predictions = [specified]
    if device is not None and not series.workload.primitive:
        predictions.append(predict_sweep(device, series.workload, series.sweep, "calibrated", series.compiled))
    for prediction in predictions:
        curve = Curve(result.name, result.device.id, result.device_class, prediction.key, prediction.kind)
        yield from _times(curve, series.measurement, prediction)
        if observation:
            yield from _features(curve, prediction, observation)


def _times(curve: Curve, measurement: Measurement, prediction: Prediction) -> Iterator[Comparison]:
    """Yield the time of each measured point."""
    predicted = {_identity(p.point.parameters): p for p in prediction.points}
    for measured in measurement.points:
        point = predicted.get(_identity(measured.point.parameters))
        if point is None or not measured.samples_s:
            continue
        yield Comparison(
            curve=curve,
            what="times",
            label=measured.point.label,
            unit="s",
            predicted=point.time_s,
            observed=median(measured.samples_s),
            binding=point.binding,
            level=point.level,
            ceilings_s=point.ceilings_s,
        )


def _identity(parameters: Parameters) -> tuple[tuple[str, int], ...]:
    """Return what tells points of one sweep apart."""
    return tuple(sorted(parameters.items()))


def _features(curve: Curve, prediction: Prediction, observation: Observation) -> Iterator[Comparison]:
    """Yield the middles of cliffs, the tapers and the plateaus, each with what answers it."""
    for match in match_features(prediction.features, observation.features):
        either = match.predicted or match.observed
        what = _what(either, prediction.metric) if either else None
        if either is None or what is None:
            continue
        seen = match.observed
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
