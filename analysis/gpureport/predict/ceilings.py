"""Limits of a device for any kernel: bandwidths, latencies, instruction rates, launch cost."""

from collections.abc import Iterator
from math import exp, sqrt
from typing import Literal

from gpureport.predict.uncertainty.propagation import relative_deviations
from gpureport.predict.uncertainty.sensitivity import NORMAL_95, uncertain
from gpureport.records.keys import Record
from gpureport.records.quantities import Compact
from gpureport.spec.models import Device

Kind = Literal["bandwidth", "latency", "rate", "launch"]

WORD_BYTES = 4
"""Bytes of one lane's access to local memory."""
_NO_RATES = ("memory", "local", "barrier")
"""Classes without an instruction rate: shown as bandwidth, or waiting only."""


class Ceiling(Record):
    """One limit of a device, for all compute units together."""

    kind: Kind
    name: str
    """``DRAM``, the name of a cache, ``local memory``, an instruction class, or the kind of launch."""
    value: Compact
    unit: str
    """``B/s``, ``s``, ``op/s`` (lane operations), ``groups/s``."""
    ci_low: Compact
    ci_high: Compact
    """95 % interval, from the uncertainties of the device's figures."""
    capacity_bytes: float | None = None
    """Capacity of one instance of the memory or cache; ``None`` for other limits."""
    each: bool = False
    """Whether every compute unit has its own instance."""


def ceilings(device: Device) -> tuple[Ceiling, ...]:
    """Return the limits of *device*: memory and caches (outermost first), local memory, instructions, launches."""
    traced, facts, _ = uncertain(device)
    return tuple(
        _ceiling(kind, name, value, unit, len(facts), capacity)
        for kind, name, value, unit, capacity in _limits(traced)
        if value > 0
    )


_Capacity = tuple[float | None, bool] | None


def _ceiling(kind: Kind, name: str, value: float, unit: str, facts: int, capacity: _Capacity) -> Ceiling:
    relative = relative_deviations(value, facts)
    factor = exp(NORMAL_95 * sqrt(float(relative @ relative)))
    size, each = capacity or (None, False)
    return Ceiling(
        kind=kind,
        name=name,
        value=float(value),
        unit=unit,
        ci_low=float(value) / factor,
        ci_high=float(value) * factor,
        capacity_bytes=None if size is None else float(size),
        each=each,
    )


def _limits(device: Device) -> Iterator[tuple[Kind, str, float, str, _Capacity]]:
    memory, architecture = device.memory, device.architecture
    local_bytes = architecture.occupancy.local_memory_bytes
    local = None if local_bytes is None else (local_bytes, True)
    caches = [(cache, (cache.capacity_bytes, cache.scope == "compute_unit")) for cache in reversed(device.caches)]
    yield "bandwidth", "DRAM", memory.bandwidth_bytes_per_s * memory.efficiency, "B/s", (memory.size_bytes, False)
    for cache, capacity in caches:
        yield "bandwidth", cache.name, device.level_bandwidth_bytes_per_s(cache), "B/s", capacity
    if "local" in architecture.rates_per_cycle:
        yield "bandwidth", "local memory", device.rate_per_s("local") * WORD_BYTES, "B/s", local
    yield "latency", "DRAM", device.cycles(memory.latency_cycles), "s", None
    for cache, _ in caches:
        yield "latency", cache.name, device.cycles(cache.latency_cycles), "s", None
    for name in architecture.rates_per_cycle:
        if name not in _NO_RATES:
            yield "rate", name, device.rate_per_s(name), "op/s", None
    yield "launch", "one dispatch", device.launch.single_s, "s", None
    yield "launch", "back-to-back dispatch", device.launch.batched_s, "s", None
    yield "launch", "work-groups", device.launch.groups_per_cycle * device.clock_hz, "groups/s", None
