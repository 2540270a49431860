"""How much of a CPU's listed last cache a machine finds: neighbours of a virtual machine use the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

from gpureport.records.observation import Observation
from gpureport.spec.models import Device

LATENCY = "memory/latency"
_BEYOND = 2.0
"""Working sets up to this multiple of the private caches say nothing about the last one."""


@dataclass(frozen=True)
class UsablePart:
    """The part of the last cache that one thread finds.

    Attributes:
        size_bytes: where the latency has risen by half of its whole rise.
        low_bytes: where it has risen by a quarter.
        high_bytes: where it has risen by three quarters.
    """

    size_bytes: float
    low_bytes: float
    high_bytes: float


def usable_part(device: Device, observations: Iterable[Observation]) -> UsablePart | None:
    """Return the part of a CPU's last cache that dependent loads find; ``None`` if their latency does not show it.

    The latency rises from that of the cache to that of memory, both on a logarithmic scale. Where other programs use a
    part of the cache, it rises gradually, which the interval shows.
    """
    last = device.caches[-1] if device.caches else None
    loads = next((each for each in observations if each.key.workload == LATENCY), None)
    if not device.is_cpu or last is None or last.scope != "device" or loads is None:
        return None
    points = sorted((p.point.working_set_bytes, p.value) for p in loads.points)
    private = max((c.capacity_bytes for c in device.caches if c.scope == "compute_unit"), default=0.0)
    beyond = [value for size, value in points if size > last.capacity_bytes]
    inside = [value for size, value in points if _BEYOND * private <= size <= last.capacity_bytes]
    if not beyond or not inside or inside[0] >= (memory := median(beyond)):
        return None
    fastest = min(inside[0], device.cycles(last.latency_cycles))
    low, middle, high = (_crossing(points, fastest * (memory / fastest) ** share) for share in (0.25, 0.5, 0.75))
    return UsablePart(middle, low, high) if middle >= _BEYOND * private else None


def _crossing(points: Sequence[tuple[float, float]], value: float) -> float:
    """Return the size up to which most values are below *value*: as many above before it as below after it."""
    sizes = [size for size, _ in points]
    below = sum(seen < value for _, seen in points)
    return sqrt(sizes[max(0, below - 1)] * sizes[min(below, len(sizes) - 1)])
