"""Stored results compared with current predictions: a residual for each time and each feature."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from statistics import median
from typing import Literal, get_args

import numpy as np
import pandas as pd

from gpureport.matching import match_curves
from gpureport.observe import observe
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.curves import DEVICE, Basis, CurveFeature, Metric, Observation
from gpureport.records.measurement import Measurement
from gpureport.records.prediction import Prediction
from gpureport.results.replay import Result, Series
from gpureport.spec.database import Database
from gpureport.spec.models import Device, core_source, is_exact
from gpureport.spec.uncertainty import CONSTANTS

What = Literal[
    "times", "latency cliffs", "bandwidth cliffs", "n90", "knees", "plateaus", "peaks", "latencies", "bandwidths"
]
WHATS: tuple[What, ...] = get_args(What)
Independence = Literal["seen", "unseen device", "unseen architecture"]
Residual = dict[str, object]
"""A time or a feature, predicted and observed: values of some of the :data:`COLUMNS`."""

COLUMNS: Residual = {
    **dict.fromkeys(("result", "device", "device_class", "architecture"), ""),
    "published": False,
    "described": False,
    "compiler": "pocl",
    "conditions": "",
    "kind": "specification",
    **dict.fromkeys(("independence", "workload", "sweep", "what", "label", "unit"), ""),
    **dict.fromkeys(("predicted", "observed", "interval", "expected"), None),
    "level": "",
    "point": None,
    "bottleneck": "",
    "ceilings_s": None,
    **dict.fromkeys(("data_set", "kernel_class", "sealed"), ""),
    "rivals": None,
    "ecc": False,
}
"""Defaults of the columns of :func:`frame`."""


def frame(residuals: Iterable[Residual]) -> pd.DataFrame:
    r"""Return a row for each time and each feature, predicted and observed.

    Columns:
        result, published: name of the result, and whether it is a published one.
        device, device_class, architecture: of the result; the class is ``NVIDIA GPU``, ``AMD GPU``, ``CPU`` and so on.
        compiler: of kernels, on a CPU.
        workload, sweep, conditions: the sweep, and text that distinguishes it from others of this name.
        described: whether the workload is a kernel of the user.
        kind, independence: of the prediction, and of the device's measurements.
        what, label, unit: the compared quantity; the point, or level and position of the feature; unit of both values.
        predicted, observed: NaN if not predicted or not observed.
        interval, expected: 95 % intervals of an observed feature and of the prediction, if known.
        level: memory level of the point or feature.
        point, bottleneck, ceilings_s: of a time, with all ceilings in seconds.
        data_set, kernel_class: of a row of the scoreboard; empty for all others.
        rivals: what others predict for such a row, in seconds by name; a plain "roofline" is always one of them.
        ecc: whether error correction takes bandwidth in a row of the scoreboard, by a share from other devices.
        sealed: the file with the prediction, if it was sealed before there was an observation.
        ratio, error: predicted / observed, and \|ln(ratio)\|; NaN without one of the values.
        inside: whether (1 or 0) the observed value is within the interval of the prediction; NaN without one of them.
    """
    found = pd.DataFrame([COLUMNS | residual for residual in residuals], columns=list(COLUMNS))
    found = found.astype({"predicted": float, "observed": float, "interval": object, "expected": object})
    found["ratio"] = found["predicted"].where(found["predicted"] > 0) / found["observed"].where(found["observed"] > 0)
    found["error"] = np.log(found["ratio"]).abs()
    ends = zip(found["expected"], found["observed"], strict=True)
    found["inside"] = pd.Series([e[0] <= o <= e[1] if e and o == o else None for e, o in ends], dtype=float)
    return found


def residuals(
    result: Result,
    independence: Independence | Literal[""] = "",
    *,
    features: bool = True,
    workloads: Collection[str] = (),
) -> list[Residual]:
    """Predict and observe the sweeps of *result* again, of the named *workloads*, or of all if none is named.

    Microbenchmarks calibrate in either case. *features* are cliffs, tapers and plateaus; they take several times as
    long as the times.
    """
    given = dict(enumerate(result.series))
    calibrating = {i for i, each in given.items() if each.workload.microbenchmark and not result.publication}
    chosen = {i for i, each in given.items() if not workloads or each.workload.name in workloads}
    specified = {i: _predicted(given[i], result.device, "specification") for i in sorted(calibrating | chosen)}
    observed = {i: observe(given[i].measurement) for i in (calibrating | chosen if features else calibrating)}
    devices: dict[Basis, Device] = {"specification": result.device}
    if shown := [observation for i in sorted(calibrating) if (observation := observed[i])]:
        devices["calibrated"] = calibrated(result.device, specified.values(), shown)
    found: list[Residual] = []
    for i in sorted(chosen):
        series = given[i]
        for kind, device in devices.items():
            if kind == "calibrated" and series.workload.microbenchmark:
                continue
            prediction = specified[i] if kind == "specification" else _predicted(series, device, kind)
            curve = _curve(result, series, kind, independence)
            found += _times(curve, series.measurement, prediction)
            if features and (observation := observed[i]):
                found += _features(curve, prediction, observation)
    return found


def _predicted(series: Series, device: Device, kind: Basis) -> Prediction:
    return predict_sweep(device, series.workload, series.sweep, kind, series.resources[kind])


def _curve(result: Result, series: Series, kind: Basis, independence: Independence | Literal[""]) -> Residual:
    key = series.measurement.key
    return of_device(result.device) | {
        "result": result.name,
        "published": result.publication is not None,
        "workload": key.workload,
        "sweep": key.sweep,
        "conditions": series.conditions,
        "kind": kind,
        "independence": independence,
        "described": series.workload.described,
        "compiler": result.device.architecture.compiler,
    }


def of_device(device: Device) -> Residual:
    """Return the values of all residuals of a device."""
    return {"device": device.id, "device_class": device.device_class, "architecture": device.architecture.id}


def _times(curve: Residual, measurement: Measurement, prediction: Prediction) -> Iterator[Residual]:
    for measured, point in measurement.points.pairs(prediction.points):
        if measured.samples_s:
            yield curve | {
                "what": "times",
                "label": measured.point.label,
                "unit": "s",
                "predicted": point.time_s,
                "observed": median(measured.samples_s),
                "expected": (point.time_s / point.spread, point.time_s * point.spread) if point.spread > 1 else None,
                "level": str(point.level),
                "point": measured.point,
                "bottleneck": point.bottleneck,
                "ceilings_s": dict(point.ceilings_s),
            }


def _features(curve: Residual, prediction: Prediction, observation: Observation) -> Iterator[Residual]:
    for match in match_curves(prediction, observation):
        either = match.predicted or match.observed
        if either is None or (what := _what(either, prediction.metric)) is None:
            continue
        observed = match.observed if match.comparable else None
        yield curve | {
            "what": what,
            "label": either.position if either.level == DEVICE else f"{either.level} {either.position}",
            "unit": either.unit,
            "predicted": match.predicted.value if match.predicted else None,
            "observed": observed.value if observed else None,
            "interval": _interval(observed),
            "expected": _interval(match.predicted),
            "level": str(either.level),
        }


def _interval(feature: CurveFeature | None) -> tuple[float, float] | None:
    if feature is None or feature.ci_low is None or feature.ci_high is None:
        return None
    return feature.ci_low, feature.ci_high


def _what(feature: CurveFeature, metric: Metric) -> What | None:
    """Return the compared quantity of a feature; ``None`` for features that others or the times already cover."""
    if feature.position == "midpoint":
        return "latency cliffs" if metric.kind == "time" else "bandwidth cliffs"
    by_position: Mapping[str, What] = {"n90": "n90", "knee": "knees", "plateau": "plateaus", "peak": "peaks"}
    return by_position.get(feature.position)


def independence(device: Device, database: Database, software: str = "") -> Independence:
    """Return whether constants that predict *device* were measured on such a device or fitted to one.

    *software* names what made the kernels, if constants describe it.

    Returns:
        ``seen``: at least one was. ``unseen device``: none was, but one comes from another device of its architecture,
        or of the one that this extends.
        ``unseen architecture``: all come from documents and from other architectures.
    """
    origins = (origin for path, origin in device.provenance.items() if not is_exact(path))
    measured = {entry for origin in origins for entry in origin.measured_on}
    sources = measured.union(*(each.measured_on for each in CONSTANTS if each.only in software))
    name = device.architecture.id
    if sources & {device.id, f"architectures/{name}"}:
        return "seen"
    known = {database.entries[entry].file.architecture for entry in sources if entry in database.entries}
    # The values of a type of core come from other machines with such cores.
    has_core_type = any(origin.source == core_source(name) for origin in device.provenance.values())
    related = {name, database.architecture(name).extends} & known
    return "unseen device" if has_core_type or related else "unseen architecture"
