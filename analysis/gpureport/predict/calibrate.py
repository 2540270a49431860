"""A device with what its primitives measured in place of what its entry says.

Only primitives calibrate, and only the predictions of other workloads: launch cost and rate (``launch``), stream
bandwidth (``memory/copy``), bandwidth and extent of the caches (``memory/read``, ``memory/read_private``), latencies
(``memory/latency``).
"""

from collections.abc import Iterable, Sequence
from statistics import median

from gpureport.matching import Match, match_features
from gpureport.records import Observation, Prediction, Provenance
from gpureport.spec.models import Cache, Device, Extent


def calibrated(device: Device, predictions: Iterable[Prediction], observations: Iterable[Observation]) -> Device:
    """Return *device* with measured primitives.

    A figure of the entry is multiplied by observed / predicted of the primitive that shows it, so that what the model
    already accounts for (launch cost, soft corners) is not counted twice.

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
        matches = match_features(prediction.features, observation.features)
        match observation.key.workload, observation.key.variant:
            case "launch", _:
                device = _with_launch(device, prediction, observation, matches)
            case "memory", "copy":
                device = _with_stream(device, prediction, observation)
            case "memory", "read" | "read_private":
                device = _with_caches(device, matches)
            case "memory", "latency":
                device = _with_latencies(device, matches)
    return device


def _ratios(matches: Sequence[Match]) -> dict[str, float]:
    """Return observed / predicted of each plateau that both sides have, by level."""
    return {
        m.predicted.level: m.observed.value / m.predicted.value
        for m in matches
        if m.predicted and m.observed and m.predicted.feature == "rate"
    }


def _measured(device: Device, facts: Iterable[str], how: str) -> dict[str, Provenance]:
    """Return the provenance of *device* with *facts* (dotted paths) marked as measured by *how*."""
    return {**device.provenance, **dict.fromkeys(facts, Provenance(kind="measured", source=how))}


def _with_launch(device: Device, prediction: Prediction, observation: Observation, matches: Sequence[Match]) -> Device:
    """Take the time of the smallest dispatches, and the rate of the largest."""
    expected = {point.point.label: point.time_s for point in prediction.points}
    times = [o.time_s / expected[o.point.label] for o in observation.points if o.point.work <= _FEW_GROUPS]
    update = {}
    if times:
        update["batched_s"] = device.launch.batched_s * median(times)
    rate = _ratios(matches)
    if rate:
        update["groups_per_cycle"] = device.launch.groups_per_cycle * max(rate.values())
    how = _measured(device, (f"launch.{name.removesuffix('_s')}" for name in update), "empty kernel (launch/groups)")
    return device.model_copy(update={"launch": device.launch.model_copy(update=update), "provenance": how})


_FEW_GROUPS = 8
"""Dispatches of so few work-groups take as long as one of a single group."""


def _with_stream(device: Device, prediction: Prediction, observation: Observation) -> Device:
    """Take the share of the listed bandwidth that the copy reaches where no cache helps: beyond four times the last."""
    beyond = 4 * max((cache.capacity_bytes for cache in device.caches), default=0.0)
    expected = {point.point.label: point.time_s for point in prediction.points}
    ratios = [
        expected[o.point.label] / o.time_s
        for o in observation.points
        if o.point.label in expected and o.point.working_set_bytes >= beyond
    ]
    if not ratios:
        return device
    memory = device.memory.model_copy(update={"efficiency": device.memory.efficiency * median(ratios)})
    how = _measured(device, ["memory.efficiency"], "stream copy (memory/copy)")
    return device.model_copy(update={"memory": memory, "provenance": how})


def _with_caches(device: Device, matches: Sequence[Match]) -> Device:
    """Take bandwidth and extent of each cache whose plateau or cliff was found."""
    ratios = _ratios(matches)
    caches, facts = [], []
    for cache in device.caches:
        update: dict[str, float | Extent] = {}
        if cache.name in ratios:
            update["bandwidth_bytes_per_cycle"] = cache.bandwidth_bytes_per_cycle * ratios[cache.name]
            facts.append(f"caches.{cache.name}.bandwidth")
        extent = _extent(cache, matches)
        if extent:
            update["bandwidth_extent"] = extent
            facts.append(f"caches.{cache.name}.bandwidth_extent")
        caches.append(cache.model_copy(update=update))
    how = _measured(device, facts, "read bandwidth (memory/read, memory/read_private)")
    return device.model_copy(update={"caches": tuple(caches), "provenance": how})


def _extent(cache: Cache, matches: Sequence[Match]) -> Extent | None:
    """Return where the read curve leaves a cache, each position moved by observed / predicted."""
    moved = {
        m.predicted.position: m.observed.value / m.predicted.value
        for m in matches
        if m.predicted and m.observed and m.predicted.feature == "cliff" and m.predicted.level == cache.name
    }
    if not {"departure", "midpoint", "arrival"} <= moved.keys():
        return None
    old = cache.bandwidth_extent
    middle = old.midpoint * moved["midpoint"]
    return Extent(
        departure=min(old.departure * moved["departure"], 0.99 * middle),
        midpoint=middle,
        arrival=max(old.arrival * moved["arrival"], 1.01 * middle),
    )


def _with_latencies(device: Device, matches: Sequence[Match]) -> Device:
    """Take the latency of each level whose plateau was found; a far partition's goes by the cache's own name."""
    ratios = _ratios(matches)
    caches, facts = [], []
    for cache in device.caches:
        far = cache.far_latency_cycles
        names = {"latency_cycles": f"{cache.name} near" if far else cache.name, "far_latency_cycles": cache.name}
        update = {
            field: getattr(cache, field) * ratios[level]
            for field, level in names.items()
            if level in ratios and getattr(cache, field)
        }
        facts += [f"caches.{cache.name}.{field.removesuffix('_cycles')}" for field in update]
        caches.append(cache.model_copy(update=update))
    memory = device.memory
    if "DRAM" in ratios:
        memory = memory.model_copy(update={"latency_cycles": memory.latency_cycles * ratios["DRAM"]})
        facts.append("memory.latency")
    how = _measured(device, facts, "pointer chase (memory/latency)")
    return device.model_copy(update={"caches": tuple(caches), "memory": memory, "provenance": how})
