"""A device with what its primitives measured in place of what its entry says.

Only primitives calibrate, and only the predictions of other workloads: launch cost and rate (``launch``),
stream bandwidth (``memory/copy``), bandwidth and extent of the caches (``memory/read``), latencies (``memory/latency``).
"""

from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.matching import match_features
from gpureport.records import CurveFeature, Observation, Prediction, Provenance
from gpureport.spec.models import Cache, Device, Extent


def calibrated(device: Device, predictions: Iterable[Prediction], observations: Iterable[Observation]) -> Device:
    """Return *device* with measured primitives.

    Args:
        device: as specified.
        predictions: specification predictions of the primitives (they name the levels).
        observations: of the primitives; others are ignored.
    """
    by_key = {str(prediction.key): prediction for prediction in predictions}
    for observation in observations:
        prediction = by_key.get(str(observation.key))
        if prediction is None:
            continue
        features = [
            m.observed for m in match_features(prediction.features, observation.features) if m.predicted and m.observed
        ]
        match observation.key.workload, observation.key.variant:
            case "launch", _:
                device = _with_launch(device, observation, features)
            case "memory", "copy":
                device = _with_stream(device, prediction, features)
            case "memory", "read":
                device = _with_caches(device, features)
            case "memory", "latency":
                device = _with_latencies(device, features)
    return device


def _measured(device: Device, **facts: str) -> dict[str, Provenance]:
    """Return the provenance of *device* with *facts* (path with ``__`` for dots → how) marked as measured."""
    new = {path.replace("__", "."): Provenance(kind="measured", source=how) for path, how in facts.items()}
    return {**device.provenance, **new}


def _with_launch(device: Device, observation: Observation, features: Sequence[CurveFeature]) -> Device:
    """Take the time of the smallest dispatches, and the rate of the largest."""
    times = [point.time_s for point in observation.points if point.point.work <= 16]
    launch = device.launch
    if times:
        launch = launch.model_copy(update={"batched_s": median(times)})
    rate = _plateaus(features)
    if rate:
        launch = launch.model_copy(update={"groups_per_cycle": max(rate.values()) / device.clock_hz})
    how = _measured(device, launch="empty kernel (launch/groups)")
    return device.model_copy(update={"launch": launch, "provenance": how})


def _with_stream(device: Device, prediction: Prediction, features: Sequence[CurveFeature]) -> Device:
    """Take the share of the listed bandwidth that the copy's largest working sets reach, in bytes that really move."""
    value = _plateaus(features).get("DRAM")
    if value is None:
        return device
    last = prediction.points[-1]
    efficiency = value * last.memory_bytes / last.point.work / device.memory.bandwidth_bytes_per_s
    how = _measured(device, memory__efficiency="stream copy (memory/copy)")
    memory = device.memory.model_copy(update={"efficiency": efficiency})
    return device.model_copy(update={"memory": memory, "provenance": how})


def _with_caches(device: Device, features: Sequence[CurveFeature]) -> Device:
    """Take bandwidth and extent of each cache whose plateau or cliff was found."""
    rates = _plateaus(features)
    caches, facts = [], {}
    for cache in device.caches:
        update: dict[str, float | Extent] = {}
        if cache.name in rates:
            per_unit = rates[cache.name] / device.clock_hz / device.compute_units
            update["bandwidth_bytes_per_cycle"] = per_unit
            facts[f"caches__{cache.name}__bandwidth"] = "read bandwidth (memory/read)"
        extent = _extent(cache, features)
        if extent:
            update["bandwidth_extent"] = extent
            facts[f"caches__{cache.name}__extent"] = "read bandwidth (memory/read)"
        caches.append(cache.model_copy(update=update))
    return device.model_copy(update={"caches": tuple(caches), "provenance": _measured(device, **facts)})


def _extent(cache: Cache, features: Sequence[CurveFeature]) -> Extent | None:
    """Return where the read curve leaves a device-wide cache, in units of its capacity."""
    if cache.scope != "device":
        return None
    found = {
        f.position: f.value / cache.capacity_bytes for f in features if f.feature == "cliff" and f.level == cache.name
    }
    if not {"departure", "midpoint", "arrival"} <= found.keys():
        return None
    middle = found["midpoint"]
    return Extent(
        departure=min(found["departure"], 0.99 * middle),
        midpoint=middle,
        arrival=max(found["arrival"], 1.01 * middle),
    )


def _with_latencies(device: Device, features: Sequence[CurveFeature]) -> Device:
    """Take the latency of each level whose plateau was found, in cycles of the listed clock."""
    cycles = {name: seconds * device.clock_hz for name, seconds in _plateaus(features).items()}
    caches, facts = [], {}
    for cache in device.caches:
        update = {}
        near = cycles.get(f"{cache.name} near")
        if near is not None:
            update["latency_cycles"] = near
        if cache.name in cycles:
            update["far_latency_cycles" if near is not None else "latency_cycles"] = cycles[cache.name]
        if update:
            facts[f"caches__{cache.name}__latency"] = "pointer chase (memory/latency)"
        caches.append(cache.model_copy(update=update))
    memory = device.memory
    if "DRAM" in cycles:
        memory = memory.model_copy(update={"latency_cycles": cycles["DRAM"]})
        facts["memory__latency"] = "pointer chase (memory/latency)"
    how = _measured(device, **facts)
    return device.model_copy(update={"caches": tuple(caches), "memory": memory, "provenance": how})


def _plateaus(features: Sequence[CurveFeature]) -> dict[str, float]:
    return {f.level: f.value for f in features if f.feature == "rate"}
