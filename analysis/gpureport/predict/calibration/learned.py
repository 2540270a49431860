"""Derive values of a device without an entry from microbenchmarks: of caches, memory, translation, formats, the link.

Documented values stay, unless the measured ones contradict them. Curves are predicted from a draft of the device. Where
an observed cliff or plateau corresponds to a predicted one, the draft's figure is multiplied by observed / predicted,
as in ``gpureport.predict.calibration.calibrate``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gpureport.matching import both_of, match_features, midpoints_of
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.calibrate import calibrated
from gpureport.predict.sensitivity import figures
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import CurveFeature, Observation
from gpureport.spec.models import HUGE_PAGE_BYTES, Device
from gpureport.spec.uncertainty import constant
from gpureport.spec.values import Provenance, Value, assumed, steps_of
from gpureport.units import format_bandwidth, format_bytes, format_value
from gpureport.workloads.model import Sweep, Workload

AGREES = constant(1.2)
"""Largest factor between a measured and a documented value that still count as equal."""
_LARGEST_FACTOR = constant(16.0)
"""Largest factor between an observed and a predicted cliff that may be matched by their order."""

FURTHER = (
    *("memory/sectors", "memory/translation"),
    *("instructions/formats", "matrix/rate", "transfer/pinned", "transfer/pageable"),
)
"""Workloads that show more than calibration uses: sectors, address translation, rates of number formats, the link."""

_LISTED = frozenset({"bandwidth", "latency", "far_latency", "single", "batched", "groups_per_cycle"})
"""Figures of caches, memory and launches that an entry may list."""
_CLEAR = constant(1.3)
"""Least factor between the latencies of two levels that can be told apart."""
_SMALL_BYTES = 64
"""Transfers up to this size take the time of the call."""
Found = tuple[str, Value] | str
"""A path with its value, or a remark."""


@dataclass(frozen=True)
class ObservedSweep:
    """One measured sweep of a microbenchmark."""

    workload: Workload
    sweep: Sweep
    observation: Observation


@dataclass(frozen=True)
class Learned:
    """Measured values by path, in SI base units, and remarks for the author of the entry."""

    values: Mapping[str, Value]
    remarks: tuple[str, ...]


def learned(device: Device, sweeps: Sequence[ObservedSweep]) -> Learned:
    """Derive all values of a drafted *device* that *sweeps* show."""
    sizes = _capacities(device, sweeps)
    found = {name: capacity for name, (capacity, _) in sizes.items()}
    caches = (c.model_copy(update={"capacity_bytes": found.get(c.name, c.capacity_bytes)}) for c in device.caches)
    sized = device.model_copy(update={"caches": tuple(caches)})
    predictions = [predict_sweep(sized, one.workload, one.sweep, "specification") for one in sweeps]
    observations = [one.observation for one in sweeps]
    shown = calibrated(sized, predictions, observations)
    values = {
        path: measured_value(value, origin.source)
        for path, value in figures(shown).items()
        if steps_of(path)[-1] in _LISTED and (origin := shown.provenance.get(path)) and origin.here
    }
    if (origin := shown.provenance.get("memory.efficiency")) and origin.here:
        # An entry takes the efficiency from its architecture, so the listed bandwidth gets the change.
        bandwidth = sized.memory.bandwidth_bytes_per_s * (shown.memory.efficiency / sized.memory.efficiency)
        copy = format_bandwidth(bandwidth * sized.memory.efficiency)
        share = f"{sized.memory.efficiency:g}, the share of the bandwidth that copies reach"
        values["memory.bandwidth"] = measured_value(bandwidth, origin.source, f"bandwidth of a copy, {copy}, / {share}")
    remarks = []
    for cache in device.caches:
        path = f"caches.{cache.name}.capacity"
        known = device.provenance[path]
        if cache.name not in sizes:
            remarks.append(f"{cache.name}: no cliff was observed; its capacity remains {known.kind}")
            continue
        capacity, where = sizes[cache.name]
        if known.kind == "assumed":
            values[path] = measured_value(capacity, where)
        elif not 1 / AGREES < capacity / cache.capacity_bytes < AGREES:
            values[path] = _measured(device, path, capacity, where, format_bytes(cache.capacity_bytes))
    shown = shown.model_copy(update={"architecture": device.architecture, "provenance": device.provenance})
    further = [*_cache(shown, observations), *_translation(shown, sweeps), *_rates(shown, sweeps)]
    further += _link(shown, observations)
    values |= dict(each for each in further if not isinstance(each, str))
    return Learned(values, (*remarks, *(each for each in further if isinstance(each, str))))


def measured_value(value: float, source: str, note: str = "") -> Value:
    """Return a measured value."""
    return Value(value, Provenance(kind="measured", source=source, note=note))


def _capacities(device: Device, sweeps: Sequence[ObservedSweep]) -> dict[str, tuple[float, str]]:
    """Return each level's capacity, bytes, and the cliff that shows it.

    The latency of one work-item may show only the near partition of a cache, a known fraction of the whole.
    """
    found: dict[str, tuple[float, str]] = {}
    listed = {cache.name: cache.capacity_bytes for cache in device.caches}
    showing = [one for one in sweeps if "cache_capacity" in one.workload.calibrates]
    # Latency first: its transitions are the clearest.
    for one in sorted(showing, key=lambda one: one.workload.metric.kind != "time"):
        prediction = predict_sweep(device, one.workload, one.sweep, "specification")
        cliffs = _matched_cliffs(prediction.features, one.observation.features)
        for predicted, observed in sorted(cliffs, key=lambda pair: pair[0].level.near):
            level = predicted.level.name
            if level in listed and level not in found:
                part = " (near partition)" if predicted.level.near else ""
                capacity = listed[level] * observed.value / predicted.value
                found[level] = capacity, f"cliff of {one.workload.name}{part}"
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
    yield from ((p, o) for p, o in both_of(match_features(predicted, observed)) if p.position == "midpoint")


def _cache(device: Device, observations: Sequence[Observation]) -> Iterator[Found]:
    """Yield the sectors that pairs of loads show, if the latencies of the levels of *device* differ enough."""
    latencies = [device.cycles(cache.latency_cycles) for cache in device.caches]
    if len(latencies) < 2 or latencies[1] < _CLEAR * latencies[0]:
        return
    near_s, next_s, memory_s = *latencies[:2], device.cycles(device.memory.latency_cycles)
    pairs = next((each.points for each in observations if each.key.workload == "memory/sectors"), ())
    cache = device.caches[0]
    for name, listed, added_s in (
        (f"caches.{cache.name}.sector", cache.sector_bytes, (next_s - near_s) / 2),
        ("memory.access", device.memory.access_bytes, (next_s + memory_s) / 2 - near_s),
    ):
        by_distance = sorted((4 * pair.point.parameters["distance"], pair.value) for pair in pairs)
        measured = next((distance for distance, value in by_distance if value > by_distance[0][1] + added_s), None)
        if measured and measured != listed:
            yield name, _measured(device, name, measured, "latency of memory/sectors", format_bytes(listed))


def _translation(device: Device, sweeps: Sequence[ObservedSweep]) -> Iterator[Found]:
    """Yield reach and latency of translation lookaside buffers: listed ones, or all if none is listed."""
    for one in (one for one in sweeps if one.workload.name == "memory/translation"):
        predicted = predict_sweep(device, one.workload, one.sweep, "specification").features
        features = one.observation.features
        matches = match_features(midpoints_of(predicted), midpoints_of(features))
        levels = {o.value: p.level for p, o in both_of(matches)}
        plateaus = {f.level: f.value for f in features if f.position == "plateau"}
        following = dict(zip(plateaus, [*plateaus.values()][1:], strict=False))
        listed = {tlb.level: tlb for tlb in device.tlb}
        number = 0
        for cliff in midpoints_of(features):
            known = levels.get(cliff.value)
            if cliff.level not in following or (known not in listed if listed else known is not None):
                continue
            number += 1
            tlb = listed.get(known) if known else None
            path = f"tlb.{tlb.name if tlb else f'L{number}'}"
            middle = tlb.transition.midpoint if tlb else 1.0
            cycles = (following[cliff.level] - plateaus[cliff.level]) * device.clock_hz
            reach = cliff.value / middle
            origins = (device.provenance.get(f"{path}.{key}") for key in ("reach", "entries"))
            documented = any(each.kind not in ("assumed", "measured") for each in origins if each)
            if tlb and documented and 1 / AGREES < reach / tlb.covered_bytes < AGREES:
                continue
            yield f"{path}.reach", measured_value(reach, "cliff of memory/translation")
            yield f"{path}.miss", measured_value(cycles, "plateaus of memory/translation")
            if not tlb:
                yield f"{path}.page", assumed(HUGE_PAGE_BYTES, "typical of drivers of GPUs")
                yield f"{path}.transition", assumed((0.9, 1.0, 1.2), "not known")


def _rates(device: Device, sweeps: Sequence[ObservedSweep]) -> Iterator[Found]:
    for one in (one for one in sweeps if one.workload.name in ("instructions/formats", "matrix/rate")):
        prediction = predict_sweep(device, one.workload, one.sweep, "specification")
        for observed, predicted in one.observation.points.pairs(prediction.points):
            name = observed.point.label
            if predicted.bottleneck != name or INSTRUCTION_CLASSES[name].listed != "special":
                continue
            ratio, listed = predicted.time_s / observed.time_s, device.architecture.rates_per_cycle[name]
            if not 1 / AGREES < ratio < AGREES:
                path = f"rates.{name}"
                yield path, _measured(device, path, listed * ratio, f"rate of {one.workload.name}", f"{listed:g}")


def _link(device: Device, observations: Sequence[Observation]) -> Iterator[Found]:
    if device.architecture.on_host:
        return
    pinned = {each.key.sweep: each for each in observations if each.key.workload == "transfer/pinned"}
    rates = [
        f"{format_value(feature.value, feature.unit)} {each.key.sweep_name}"
        for each in pinned.values()
        for feature in each.features
        if feature.position == "plateau"
    ]
    if rates:
        yield f"link: copies of pinned memory reach {', '.join(rates)} (transfer/pinned)"
    calls = [
        point.time_s
        for each in observations
        if (each.key.workload, each.key.sweep) == ("transfer/pageable", "to_device")
        for point in each.points
        if point.point.x <= _SMALL_BYTES
    ]
    if device.link is None:
        return
    if "to_host" in pinned:
        smallest = min(pinned["to_host"].points, key=lambda point: point.point.x)
        size = format_bytes(smallest.point.x)
        yield "link.latency", measured_value(smallest.time_s, f"{size} of transfer/pinned")
    if calls:
        yield "link.call", measured_value(median(calls), f"up to {_SMALL_BYTES} B of transfer/pageable")


def _measured(device: Device, path: str, value: float, source: str, listed: str) -> Value:
    known = device.provenance.get(path)
    note = f"conflict: {listed} ({known.kind}: {known.source or known.note})" if known else ""
    return measured_value(value, source, note)
