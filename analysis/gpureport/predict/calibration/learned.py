"""What primitives teach of a device that has no entry: capacities, latencies, bandwidths, each with its interval.

The curves are predicted from a draft of the device; where an observed step or plateau answers a predicted one, the
draft's figure is multiplied by observed / predicted, as in ``gpureport.predict.calibration.calibrate``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpureport.matching import match_features
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.records.features import CurveFeature
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.provenance import Provenance
from gpureport.spec.models import Device
from gpureport.spec.resolve import Value
from gpureport.units import format_bandwidth, format_bytes, format_interval
from gpureport.workloads.model import Calibration, Sweep, Workload

_AGREES = 1.2
"""Factor within which a measured capacity does not question one that is documented."""
_FURTHEST = 16.0
"""Factor beyond which a step is not taken for the one that was expected, though it is the only one."""

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
"""What a device without an entry is measured for: microbenchmarks that calibrate any of these."""

End = Literal["value", "ci_low", "ci_high"]
_ENDS: tuple[End, ...] = ("value", "ci_low", "ci_high")


@dataclass(frozen=True)
class Shown:
    """One sweep of a primitive, and what was observed."""

    workload: Workload
    sweep: Sweep
    observation: Observation


@dataclass(frozen=True)
class Learned:
    """What was learned: measured values by path, in SI base units, and what else an author should know."""

    values: Mapping[str, Value]
    remarks: tuple[str, ...]


def learned(device: Device, shown: Sequence[Shown]) -> Learned:
    """Return what primitives show of a device.

    Args:
        device: as drafted from its queries and its architecture.
        shown: sweeps of primitives over sizes enough to see its caches give out.
    """
    sizes = _capacities(device, shown)
    sized = _resized(device, {name: ends[0] for name, (ends, _) in sizes.items()})
    predictions = [predict_sweep(sized, one.workload, one.sweep, "specification") for one in shown]
    ends = [calibrated(sized, predictions, [_at(one.observation, end) for one in shown]) for end in _ENDS]
    facts = [_facts(end, sized) for end in ends]
    values = {
        path: _value([fact[path] for fact in facts], unit, ends[0].provenance[shows].source)
        for path, (shows, unit) in _paths(sized).items()
        if shows in ends[0].provenance and ends[0].provenance[shows].here
    }
    if bandwidth := values.get("memory.bandwidth"):
        reached = format_bandwidth(bandwidth.value * sized.memory.efficiency)
        share = f"what a copy reached, {reached}, / {sized.memory.efficiency:g}, the share that streams reach"
        values["memory.bandwidth"] = _noted(bandwidth, share)
    remarks = list(_unanswered(sized, shown))
    for name, (capacity, where) in sizes.items():
        path = f"caches.{name}.capacity"
        listed, known = next(c.capacity_bytes for c in device.caches if c.name == name), device.provenance[path]
        measured = _value(capacity, "B", f"where the curve of {where}")
        if known.kind != "assumed" and 1 / _AGREES < capacity[0] / listed < _AGREES:
            agreed = f"which agrees with {format_bytes(listed)} ({known.kind})"
            remarks.append(f"{name}: measured as {measured.provenance.note}, {agreed}")
        else:
            values[path] = _unless_assumed(measured, known, listed)
    return Learned(values, (*remarks, *_unseen(device, sizes)))


def _value(ends: Sequence[float], unit: str, source: str) -> Value:
    """Make a value of itself and the two ends of its interval, in either order."""
    value, low, high = ends[0], min(ends), max(ends)
    told = Provenance(kind="measured", source=source, note=format_interval(value, low, high, unit))
    return Value(value, told)


def _noted(value: Value, note: str) -> Value:
    provenance = value.provenance
    return Value(value.value, provenance.model_copy(update={"note": f"{provenance.note}; {note}"}))


def _unless_assumed(measured: Value, known: Provenance, listed: float) -> Value:
    """Record the conflict with a value that is not just a guess."""
    if known.kind == "assumed":
        return measured
    return _noted(measured, f"conflict: {format_bytes(listed)} ({known.kind}: {known.source or known.note})")


def _capacities(device: Device, shown: Sequence[Shown]) -> dict[str, tuple[list[float], str]]:
    """Return capacity with the ends of its interval, bytes, and the step that shows it, by level.

    Of a cache in partitions one work-item's latency may show the end of the near one alone, at a known share of it.
    """
    found: dict[str, tuple[list[float], str]] = {}
    listed = {cache.name: cache.capacity_bytes for cache in device.caches}
    # Latency first: its transitions are the clearest.
    for one in sorted(_showing_capacities(shown), key=lambda one: one.workload.metric.kind != "time"):
        prediction = predict_sweep(device, one.workload, one.sweep, "specification")
        steps = list(_steps(prediction.features, one.observation.features))
        for predicted, observed in sorted(steps, key=lambda step: step[0].level.near):
            level = predicted.level.name
            if level in listed and level not in found:
                ratios = [_end(observed, end) / predicted.value for end in _ENDS]
                part = " at the end of the near partition" if predicted.level.near else ""
                found[level] = [listed[level] * ratio for ratio in ratios], f"{one.workload.name} steps{part}"
    return found


def _showing_capacities(shown: Sequence[Shown]) -> list[Shown]:
    return [one for one in shown if "cache_capacity" in one.workload.calibrates]


def _steps(
    predicted: Sequence[CurveFeature], observed: Sequence[CurveFeature]
) -> Iterator[tuple[CurveFeature, CurveFeature]]:
    """Yield midpoints of predicted and observed steps that answer each other: in order, if there are as many."""
    ours, theirs = _midpoints(predicted), _midpoints(observed)
    pairs = list(zip(ours, theirs, strict=False))
    if len(ours) == len(theirs) and all(1 / _FURTHEST < o.value / p.value < _FURTHEST for p, o in pairs):
        yield from pairs
        return
    for match in match_features(predicted, observed):
        if match.predicted and match.observed and match.predicted.position == "midpoint":
            yield match.predicted, match.observed


def _midpoints(features: Sequence[CurveFeature]) -> list[CurveFeature]:
    middles = [f for f in features if f.feature == "cliff" and f.position == "midpoint"]
    return sorted(middles, key=lambda feature: feature.value)


def _resized(device: Device, capacities: Mapping[str, float]) -> Device:
    caches = (c.model_copy(update={"capacity_bytes": capacities.get(c.name, c.capacity_bytes)}) for c in device.caches)
    return device.model_copy(update={"caches": tuple(caches)})


def _end(feature: CurveFeature, end: End) -> float:
    """Return a feature's value, or an end of its interval if it has one."""
    value: float | None = getattr(feature, end)
    return feature.value if value is None else value


def _at(observation: Observation, end: End) -> Observation:
    """Return the observation as it would be with everything at that end of its interval."""

    def moved(point: ObservedPoint) -> ObservedPoint:
        value: float = getattr(point, end)
        work = point.point.work
        time_s = work / value if observation.metric.kind == "rate" else value * work
        return point.model_copy(update={"value": value, "time_s": time_s})

    features = (f.model_copy(update={"value": _end(f, end)}) for f in observation.features)
    return observation.model_copy(update={"points": tuple(map(moved, observation.points)), "features": tuple(features)})


def _facts(device: Device, specified: Device) -> dict[str, float]:
    """Return the figures that primitives show, by path, in SI base units.

    Calibration changes the share of the listed bandwidth that is reached; an entry lists the bandwidth of which the
    architecture's share is reached.
    """
    reached = device.memory.efficiency / specified.memory.efficiency
    facts = {
        "memory.bandwidth": device.memory.bandwidth_bytes_per_s * reached,
        "memory.latency": device.memory.latency_cycles,
        "launch.single": device.launch.single_s,
        "launch.batched": device.launch.batched_s,
        "launch.groups_per_cycle": device.launch.groups_per_cycle,
    }
    for cache in device.caches:
        facts[f"caches.{cache.name}.latency"] = cache.latency_cycles
        facts[f"caches.{cache.name}.bandwidth"] = cache.bandwidth_bytes_per_cycle
        if cache.far_latency_cycles:
            facts[f"caches.{cache.name}.far_latency"] = cache.far_latency_cycles
    return facts


def _paths(device: Device) -> dict[str, tuple[str, str]]:
    """Return the path of the provenance that tells whether each figure was measured, and the figure's unit."""
    units = {"bandwidth": "B/cycle", "latency": "cycles", "far_latency": "cycles", "single": "s", "batched": "s"}
    paths = {path: (path, units.get(path.rsplit(".", 1)[-1], "")) for path in _facts(device, device)}
    return paths | {"memory.bandwidth": ("memory.efficiency", "B/s")}


def _unanswered(device: Device, shown: Sequence[Shown]) -> Iterator[str]:
    """Say which steps of the latency answer no cache that the architecture lists."""
    for one in _showing_capacities(shown):
        if one.workload.metric.kind != "time":
            continue
        prediction = predict_sweep(device, one.workload, one.sweep, "specification")
        answered = {observed.value for _, observed in _steps(prediction.features, one.observation.features)}
        for step in _midpoints(one.observation.features):
            if step.value not in answered:
                size = format_interval(step.value, step.ci_low, step.ci_high, "B")
                yield f"{one.workload.name} also steps at {size}, which answers no cache that the architecture lists"


def _unseen(device: Device, sizes: Mapping[str, object]) -> Iterator[str]:
    """Say which caches showed no step."""
    for cache in device.caches:
        known = device.provenance[f"caches.{cache.name}.capacity"].kind
        if cache.name not in sizes:
            yield f"{cache.name}: no step was seen where it gives out; its capacity stays as {known}"
