"""Limits of a device for any kernel: bandwidths, latencies, instruction rates, launch cost."""

from collections.abc import Iterator
from math import exp, sqrt
from typing import Literal

from gpureport.predict.propagation import relative_deviations
from gpureport.predict.sensitivity import uncertain
from gpureport.predict.transfers import link_bytes_per_s
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import Record
from gpureport.records.quantities import Compact
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95

Kind = Literal["bandwidth", "latency", "rate", "launch", "transfer", "per watt"]

WORD_BYTES = 4
"""Bytes of one lane's access to local memory."""
_NO_RATES = ("memory", "local", "barrier")
"""Classes without an instruction rate: shown as bandwidth, or waiting only."""


class Ceiling(Record):
    """One limit of a device, for all compute units together."""

    kind: Kind
    name: str
    """``DRAM``, the name of a cache, ``local memory``, an instruction class, the kind of launch, the direction of a
    transfer of pinned memory, or what is done per watt of the board's listed power limit."""
    value: Compact
    unit: str
    """``B/s``, ``s``, ``FLOP/s``, ``op/s`` (lane operations), ``groups/s``, ``B/s/W``, ``FLOP/s/W``."""
    ci_low: Compact
    ci_high: Compact
    """95 % interval, from the uncertainties of the device's figures."""
    capacity_bytes: float | None = None
    """Capacity of one instance of the memory or cache; ``None`` for other limits."""
    each: bool = False
    """Whether every compute unit has its own instance."""


def ceilings(device: Device) -> tuple[Ceiling, ...]:
    """Return the limits of *device*: memory and caches (outermost first), local memory, instructions, launches.

    Rates count operations as key figures do: a multiply-add is two.
    """
    traced, facts = uncertain(device)
    return tuple(_ceiling(len(facts), *limit) for limit in _limits(traced) if limit[2] > 0)


def _ceiling(
    facts: int, kind: Kind, name: str, value: float, unit: str, size: float | None = None, each: bool = False
) -> Ceiling:
    relative = relative_deviations(value, facts)
    factor = exp(NORMAL_95 * sqrt(float(relative @ relative)))
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


_Limit = tuple[Kind, str, float, str] | tuple[Kind, str, float, str, float | None, bool]


def _limits(device: Device) -> Iterator[_Limit]:
    memory, architecture = device.memory, device.architecture
    caches = device.caches[::-1]
    yield "bandwidth", "DRAM", memory.reached_bytes_per_s, "B/s", memory.size_bytes, False
    for cache in caches:
        bandwidth, each = device.level_bandwidth_bytes_per_s(cache), cache.scope == "compute_unit"
        yield "bandwidth", cache.name, bandwidth, "B/s", cache.capacity_bytes, each
    if "local" in architecture.rates_per_cycle:
        size = architecture.occupancy.most_local_bytes
        yield "bandwidth", "local memory", device.rate_per_s("local") * WORD_BYTES, "B/s", size, size is not None
    for name, latency_cycles in (("DRAM", memory.latency_cycles), *((c.name, c.latency_cycles) for c in caches)):
        yield "latency", name, device.cycles(latency_cycles), "s"
    for name in architecture.rates_per_cycle:
        if name not in _NO_RATES:
            rate = INSTRUCTION_CLASSES[name].rate
            operations, unit = (rate.operations, rate.unit) if rate else (1.0, "op/s")
            yield "rate", name, operations * device.rate_per_s(name), unit
    yield "launch", "one dispatch", device.launch.single_s, "s"
    yield "launch", "back-to-back dispatch", device.launch.batched_s, "s"
    yield "launch", "work-groups", device.launch.groups_per_cycle * device.clock_hz, "groups/s"
    if device.host_link.kind != "shared":
        yield "transfer", "host to device", link_bytes_per_s(device.host_link, "to_device"), "B/s"
        yield "transfer", "device to host", link_bytes_per_s(device.host_link, "to_host"), "B/s"
    if device.board_power_w:
        rates = listed_rates(device)
        yield "per watt", "DRAM copy per watt", rates["memory read"] / device.board_power_w, "B/s/W"
        yield "per watt", "fp32 per watt", rates["fp32 FMA"] / device.board_power_w, "FLOP/s/W"


def listed_rates(device: Device) -> dict[str, float]:
    """Return bytes/s (of memory: those of a copy) and operations/s of the entry, by the name of the load."""
    return {
        "memory read": device.memory.reached_bytes_per_s,
        "fp32 FMA": 2.0 * device.rate_per_s("fp32"),
        **{f"{cache.name} read": device.level_bandwidth_bytes_per_s(cache) for cache in device.caches},
    }
