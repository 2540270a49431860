"""Derive further values of a device without an entry: sectors, ways, address translation, rates of formats, the link.

Documented values stay, unless the measured ones contradict them.
"""

from collections.abc import Iterator, Sequence

from gpureport.matching import match_features, midpoints_of
from gpureport.predict import predict_sweep
from gpureport.predict.calibration.cache_details import cache_details
from gpureport.predict.calibration.learned import AGREES, Learned, ObservedSweep, conflict, measured_value
from gpureport.records.observation import Observation
from gpureport.records.provenance import Provenance
from gpureport.spec.files import PrecisionRates
from gpureport.spec.models import HUGE_PAGE_BYTES, Device
from gpureport.spec.resolve import Value, assumed
from gpureport.units import format_bytes, format_value

FURTHER = (
    "memory/sectors",
    "memory/second_access",
    "memory/set_conflicts",
    "memory/translation",
    "instructions/formats",
    "matrix/rate",
    "transfer/pinned",
    "transfer/latency",
)
"""The workloads that show these values."""

Found = tuple[str, Value] | str
"""A path with its value, or a remark."""


def further(device: Device, sweeps: Sequence[ObservedSweep]) -> Learned:
    """Derive values of *device*, whose capacities and latencies are the measured ones, from *sweeps*."""
    observations = [one.observation for one in sweeps]
    found = [*_cache(device, observations), *_translation(device, sweeps), *_rates(device, sweeps)]
    found += _link(device, observations)
    values = dict(each for each in found if not isinstance(each, str))
    return Learned(values, tuple(each for each in found if isinstance(each, str)), device)


def _cache(device: Device, observations: Sequence[Observation]) -> Iterator[Found]:
    """Yield sector and ways of the nearest cache, the transfer from memory, and remarks on what the cache keeps."""
    details = cache_details(device, observations)
    if not device.caches:
        return
    cache = device.caches[0]
    path, near = f"caches.{cache.name}", f"{cache.name}: memory/second_access shows that"
    for name, listed, measured in (
        (f"{path}.sector", cache.sector_bytes, details.sector_bytes),
        ("memory.access", device.memory.access_bytes, details.access_bytes),
    ):
        if measured and measured != listed:
            yield name, _measured(device, name, measured, "latency of memory/sectors", format_bytes(listed))
    ways = details.ways(device)
    if ways and not cache.ways:
        yield f"{path}.ways", _measured(device, f"{path}.ways", ways, "latency of memory/set_conflicts")
    if details.keeps_loads is False:
        yield f"{near} loads do not find data that were loaded there before; `{cache.name}: null` removes the level"
    if details.keeps_stores is not None and details.keeps_stores != device.architecture.write_allocate:
        kept = "keeps" if details.keeps_stores else "does not keep"
        yield f"{near} it {kept} stored data, unlike `write_allocate` of the architecture"


def _translation(device: Device, sweeps: Sequence[ObservedSweep]) -> Iterator[Found]:
    """Yield reach and latency of translation lookaside buffers: listed ones, or all if none is listed."""
    for one in (one for one in sweeps if one.workload.name == "memory/translation"):
        predicted = predict_sweep(device, one.workload, one.sweep, "specification").features
        features = one.observation.features
        matches = match_features(midpoints_of(predicted), midpoints_of(features))
        levels = {m.observed.value: m.predicted.level for m in matches if m.observed and m.predicted}
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
            ends = [end / middle for end in (cliff.value, cliff.ci_low or cliff.value, cliff.ci_high or cliff.value)]
            if tlb and _is_documented(device, path) and 1 / AGREES < ends[0] / tlb.covered_bytes < AGREES:
                continue
            yield f"{path}.reach", measured_value(ends, "B", "cliff of memory/translation")
            yield f"{path}.miss", _measured(device, f"{path}.miss", cycles, "plateaus of memory/translation")
            if not tlb:
                yield f"{path}.page", assumed(HUGE_PAGE_BYTES, "typical of drivers of GPUs")
                yield f"{path}.transition", assumed((0.9, 1.0, 1.2), "not known")


def _rates(device: Device, sweeps: Sequence[ObservedSweep]) -> Iterator[Found]:
    """Yield rates of number formats that differ from those of the architecture; name the others."""
    agreeing = []
    for one in (one for one in sweeps if one.workload.name in ("instructions/formats", "matrix/rate")):
        prediction = predict_sweep(device, one.workload, one.sweep, "specification", intervals=False)
        points = {point.point.label: point for point in prediction.points}
        for observed in one.observation.points:
            name, predicted = observed.point.label, points.get(observed.point.label)
            if not predicted or predicted.bottleneck != name or name not in PrecisionRates.model_fields:
                continue
            ratio, listed = predicted.time_s / observed.time_s, device.architecture.rates_per_cycle[name]
            if 1 / AGREES < ratio < AGREES:
                agreeing.append(name)
            else:
                path = f"rates.{name}"
                yield path, _measured(device, path, listed * ratio, f"rate of {one.workload.name}", f"{listed:g}")
    if agreeing:
        yield f"rates measured as in the architecture's file: {', '.join(agreeing)}"


def _link(device: Device, observations: Sequence[Observation]) -> Iterator[Found]:
    """Yield the latency of the link; name the rates that transfers reach."""
    if device.is_cpu:
        return
    pinned = {each.key.sweep: each for each in observations if each.key.workload == "transfer/pinned"}
    rates = [
        f"{format_value(feature.value, feature.unit)} {name.replace('_', ' ')}"
        for name, each in pinned.items()
        for feature in each.features
        if feature.position == "plateau"
    ]
    if rates:
        yield f"link: copies of pinned memory reach {', '.join(rates)} (transfer/pinned)"
    calls = [
        point.time_s
        for each in observations
        if each.key.workload == "transfer/latency"
        for point in each.points
        if point.point.label == "pinned, to device"
    ]
    if device.link is None:
        return
    if "to_host" in pinned:
        smallest = min(pinned["to_host"].points, key=lambda point: point.point.x)
        size = format_bytes(smallest.point.x)
        yield "link.latency", _measured(device, "link.latency", smallest.time_s, f"{size} of transfer/pinned")
    if calls:
        yield "link.call", _measured(device, "link.call", calls[0], "4 B of transfer/latency")


def _measured(device: Device, path: str, value: float, source: str, listed: str = "") -> Value:
    """Return a measured value; its note names a documented value that it contradicts, *listed*."""
    known = device.provenance.get(path)
    note = conflict(listed, known) if listed and known else ""
    return Value(value, Provenance(kind="measured", source=source, note=note))


def _is_documented(device: Device, path: str) -> bool:
    """Return whether the size of a translation lookaside buffer at *path* has a source."""
    known = (device.provenance.get(f"{path}.{key}") for key in ("reach", "entries"))
    return any(each.kind not in ("assumed", "measured") for each in known if each)
