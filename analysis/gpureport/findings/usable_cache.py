"""How much of a CPU's listed last cache a machine finds: neighbours of a virtual machine use the rest."""

from collections.abc import Iterable
from math import sqrt

from gpureport.records.observation import Observation
from gpureport.spec.models import Cache, Device

LATENCY, READS = "memory/latency", "memory/read"
_BEYOND = 2.0
"""Working sets up to this multiple of the private caches say nothing about the last one."""


def usable_bytes(device: Device, observations: Iterable[Observation]) -> dict[str, float]:
    """Return the part of the last cache that dependent loads and reads find, by workload; what does not show it lacks.

    It ends at the largest working set at which the observed value is nearer to that of the cache than to that of the
    largest working set, on a logarithmic scale.
    """
    last = device.caches[-1] if device.caches else None
    if not device.is_cpu or last is None or last.scope != "device":
        return {}
    private = max((c.capacity_bytes for c in device.caches if c.scope == "compute_unit"), default=0.0)
    least = {LATENCY: _BEYOND * private, READS: _BEYOND * private * device.compute_units}
    found = {
        observation.key.workload: size
        for observation in observations
        if observation.key.workload in least and (size := _end(device, last, observation))
    }
    return {name: size for name, size in found.items() if size >= least[name]}


def _end(device: Device, cache: Cache, observation: Observation) -> float | None:
    """Return where a curve leaves *cache*; ``None`` if it does not, or ends before memory."""
    points = sorted(observation.points, key=lambda point: point.point.working_set_bytes)
    sizes = [point.point.working_set_bytes for point in points]
    if not sizes or sizes[-1] <= cache.capacity_bytes:
        return None
    falls = observation.key.workload == READS
    bandwidth, latency_s = device.level_bandwidth_bytes_per_s(cache), device.cycles(cache.latency_cycles)
    middle = sqrt(points[-1].value * (bandwidth if falls else latency_s))
    if falls != (points[-1].value < middle):
        return None
    inside = [size for size, p in zip(sizes, points, strict=True) if (p.value > middle) == falls]
    return max(inside, default=None)
