"""Derive capacities, latencies and bandwidths of a device without an entry from microbenchmarks, with intervals.

Curves are predicted from a draft of the device. Where an observed cliff or plateau corresponds to a predicted one, the
draft's figure is multiplied by observed / predicted, as in ``gpureport.predict.calibration.calibrate``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpureport.matching import match_features, midpoints_of
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.predict.uncertainty.sensitivity import figures
from gpureport.records.curves import CurveFeature, Observation, ObservedPoint, Points
from gpureport.records.prediction import Prediction
from gpureport.spec.models import Device
from gpureport.spec.resolve import Value
from gpureport.spec.values import Provenance
from gpureport.units import format_bandwidth, format_bytes, format_interval
from gpureport.workloads.model import Calibration, Sweep, Workload

AGREES = 1.2
"""Largest factor between a measured and a documented value that still count as equal."""
_LARGEST_FACTOR = 16.0
"""Largest factor between an observed and a predicted cliff that may be matched by their order."""

LEARNED: frozenset[Calibration] = frozenset(
    {
        "launch_cost",
        "group_rate",
        "isolated_launch_cost",
        "memory_efficiency",
        "load_latency",
        "device_cache_bandwidth",
        "unit_cache_bandwidth",
        "cache_capacity",
    }
)
"""Quantities that are measured for a device without an entry."""

End = Literal["value", "ci_low", "ci_high"]
_ENDS: tuple[End, ...] = ("value", "ci_low", "ci_high")


@dataclass(frozen=True)
class ObservedSweep:
    """One measured sweep of a microbenchmark."""

    workload: Workload
    sweep: Sweep
    observation: Observation


@dataclass(frozen=True)
class Learned:
    """Measured values by path, in SI base units, and remarks for the author of the entry.

    *device* is the drafted one with measured capacities, latencies and bandwidths.
    """

    values: Mapping[str, Value]
    remarks: tuple[str, ...]
    device: Device


def learned(device: Device, sweeps: Sequence[ObservedSweep]) -> Learned:
    """Derive values of a drafted *device* from *sweeps* that show the cliffs of its caches."""
    sizes = _capacities(device, sweeps)
    found = {name: ends[0] for name, (ends, _) in sizes.items()}
    caches = (c.model_copy(update={"capacity_bytes": found.get(c.name, c.capacity_bytes)}) for c in device.caches)
    sized = device.model_copy(update={"caches": tuple(caches)})
    predictions = [predict_sweep(sized, one.workload, one.sweep, "specification") for one in sweeps]
    ends = [calibrated(sized, predictions, [_at(one.observation, end) for one in sweeps]) for end in _ENDS]
    measured, origins = [_figures(end, sized) for end in ends], ends[0].provenance
    shown_by = {"memory.bandwidth": "memory.efficiency"}
    values = {
        path: measured_value([each[path] for each in measured], unit, origin.source)
        for path, unit in _units(sized).items()
        if (origin := origins.get(shown_by.get(path, path))) and origin.here
    }
    if bandwidth := values.get("memory.bandwidth"):
        copy = format_bandwidth(bandwidth.value * sized.memory.efficiency)
        share = f"{sized.memory.efficiency:g}, the share of the bandwidth that copies reach"
        values["memory.bandwidth"] = noted(bandwidth, f"bandwidth of a copy, {copy}, / {share}")
    remarks = list(_unexplained(sweeps, predictions))
    for name, (capacity, where) in sizes.items():
        path = f"caches.{name}.capacity"
        listed, known = next(c.capacity_bytes for c in device.caches if c.name == name), device.provenance[path]
        shown = measured_value(capacity, "B", f"cliff of {where}")
        if known.kind == "assumed":
            values[path] = shown
        elif 1 / AGREES < capacity[0] / listed < AGREES:
            agreement = f"which agrees with {format_bytes(listed)} ({known.kind})"
            remarks.append(f"{name}: measured as {shown.provenance.note}, {agreement}")
        else:
            values[path] = noted(shown, conflict(format_bytes(listed), known))
    kinds = {cache.name: device.provenance[f"caches.{cache.name}.capacity"].kind for cache in device.caches}
    remarks += [
        f"{name}: no cliff was observed; its capacity remains {kind}"
        for name, kind in kinds.items()
        if name not in sizes
    ]
    described = {"architecture": device.architecture, "provenance": device.provenance}
    return Learned(values, tuple(remarks), ends[0].model_copy(update=described))


def measured_value(ends: Sequence[float], unit: str, source: str) -> Value:
    """Return a measured value, from the value followed by the ends of its interval in either order."""
    value, low, high = ends[0], min(ends), max(ends)
    return Value(value, Provenance(kind="measured", source=source, note=format_interval(value, low, high, unit)))


def conflict(listed: str, known: Provenance) -> str:
    """Return the note of a measured value that contradicts the *listed* one."""
    return f"conflict: {listed} ({known.kind}: {known.source or known.note})"


def noted(value: Value, note: str) -> Value:
    """Return *value* with a further *note*."""
    return Value(value.value, value.provenance.model_copy(update={"note": f"{value.provenance.note}; {note}"}))


def _capacities(device: Device, sweeps: Sequence[ObservedSweep]) -> dict[str, tuple[list[float], str]]:
    """Return each level's capacity with the ends of its interval, bytes, and the workload whose cliff shows it.

    The latency of one work-item may show only the near partition of a cache, a known fraction of the whole.
    """
    found: dict[str, tuple[list[float], str]] = {}
    listed = {cache.name: cache.capacity_bytes for cache in device.caches}
    showing = [one for one in sweeps if "cache_capacity" in one.workload.calibrates]
    # Latency first: its transitions are the clearest.
    for one in sorted(showing, key=lambda one: one.workload.metric.kind != "time"):
        prediction = predict_sweep(device, one.workload, one.sweep, "specification")
        cliffs = _matched_cliffs(prediction.features, one.observation.features)
        for predicted, observed in sorted(cliffs, key=lambda pair: pair[0].level.near):
            level = predicted.level.name
            if level in listed and level not in found:
                ratios = [_end(observed, end) / predicted.value for end in _ENDS]
                part = " (near partition)" if predicted.level.near else ""
                found[level] = [listed[level] * ratio for ratio in ratios], f"{one.workload.name}{part}"
    return found


def _matched_cliffs(
    predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]
) -> Iterator[tuple[CurveFeature, CurveFeature]]:
    """Yield midpoints of corresponding predicted and observed cliffs: in order, if their numbers are equal."""
    ours, theirs = midpoints_of(predicted), midpoints_of(observed)
    pairs = list(zip(ours, theirs, strict=False))
    if len(ours) == len(theirs) and all(1 / _LARGEST_FACTOR < o.value / p.value < _LARGEST_FACTOR for p, o in pairs):
        yield from pairs
        return
    for match in match_features(predicted, observed):
        if match.predicted and match.observed and match.predicted.position == "midpoint":
            yield match.predicted, match.observed


def _end(feature: CurveFeature, end: End) -> float:
    value: float | None = getattr(feature, end)
    return feature.value if value is None else value


def _at(observation: Observation, end: End) -> Observation:

    def moved(point: ObservedPoint) -> ObservedPoint:
        value: float = getattr(point, end)
        work = point.point.work
        time_s = work / value if observation.metric.kind == "rate" else value * work
        return point.model_copy(update={"value": value, "time_s": time_s})

    features = (f.model_copy(update={"value": _end(f, end)}) for f in observation.features)
    return observation.model_copy(
        update={"points": Points(map(moved, observation.points)), "features": tuple(features)}
    )


def _figures(device: Device, specified: Device) -> dict[str, float]:
    """Return all figures of *device* by path, in SI base units.

    Calibration changes the memory's efficiency, which an entry takes from its architecture. So the listed bandwidth
    gets the change.
    """
    change = device.memory.efficiency / specified.memory.efficiency
    return {**figures(device), "memory.bandwidth": device.memory.bandwidth_bytes_per_s * change}


def _units(device: Device) -> dict[str, str]:
    """Return the unit of each learned figure, by path."""
    units = {"memory.bandwidth": "B/s", "memory.latency": "cycles", "launch.single": "s", "launch.batched": "s"}
    units["launch.groups_per_cycle"] = ""
    of_cache = {"latency": "cycles", "bandwidth": "B/cycle", "far_latency": "cycles"}
    return units | {f"caches.{cache.name}.{key}": unit for cache in device.caches for key, unit in of_cache.items()}


def _unexplained(sweeps: Sequence[ObservedSweep], predictions: Sequence[Prediction]) -> Iterator[str]:
    """Yield sentences about latency cliffs that no cache of the architecture explains."""
    for one, prediction in zip(sweeps, predictions, strict=True):
        if one.workload.metric.kind != "time" or "cache_capacity" not in one.workload.calibrates:
            continue
        explained = {observed.value for _, observed in _matched_cliffs(prediction.features, one.observation.features)}
        for cliff in midpoints_of(one.observation.features):
            if cliff.value not in explained:
                size = format_interval(cliff.value, cliff.ci_low, cliff.ci_high, "B")
                yield f"{one.workload.name} has another cliff at {size}, which no cache of the architecture explains"
