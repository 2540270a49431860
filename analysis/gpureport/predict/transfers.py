"""Time of a transfer between host and device, from the link between them.

Memory of the host is pinned or ordinary::

    pinned     T = latency + max over directions of ( bytes / B )     both at once: call instead of latency
               timed by the host: call, to the host 2 calls, instead of latency
    ordinary   T = call + bytes x ( 1 / B + 1 / C )                   to the host: 2 calls, 1.7 C

B is the rate of the link for the direction, C the rate at which one core of the host copies. A driver copies ordinary
memory through pinned memory of its own. The second of two directions starts one call after the first.

Where device and host share their memory, a transfer is one copy by a core, or by all: T = call + bytes / C.

PCI Express sends packets (PCI Express Base Specification 5.0, sections 2.2, 3.6 and 4.2). Each has a payload and an
overhead: framing and sequence number (4 B), header and checksum (4 B). A write to the host has a header of 16 B. Data
for the device answer its read requests, with a header of 12 B. Machines with links of generation 3 and 4 have a maximum
payload of 128 B: :data:`REACHED` is then almost 1 to the host, on all 14 models. With generation 5, 256 B fit.
"""

from itertools import accumulate
from typing import Literal

from gpureport.predict.cpu_memory import OPERATIONS, ordinary_s
from gpureport.predict.propagation import maximum, where
from gpureport.predict.residency import mean_time, streamed_misses
from gpureport.spec.models import Device, Link
from gpureport.spec.uncertainty import constant, sourced
from gpureport.workloads.model import HostTraffic

Direction = Literal["to_device", "to_host"]

PAYLOAD_BYTES = sourced("predict.transfers.PAYLOAD_BYTES", tuple[float, float])
"""Usual maximum payload of a packet: up to generation 4 of PCI Express, and later."""
OVERHEAD_BYTES = constant((20.0, 24.0))
"""Overhead of a packet: to the device, to the host."""
REACHED = sourced("predict.transfers.REACHED", tuple[float, float])
"""Rate that copies reach / rate of the payloads: to the device, to the host. The other 5 % are acknowledgements, flow
control and waiting."""
BOTH_WAYS = sourced("predict.transfers.BOTH_WAYS", float)
"""Rate of each direction while the other one is busy, too / rate of one direction alone."""
C2C_REACHED = constant(0.85)
"""Rate that copies reach / listed rate of NVLink-C2C (assumed: no machine with such a link is among these)."""
TO_DEVICE_LATENCY = sourced("predict.transfers.TO_DEVICE_LATENCY", float)
"""Fixed time of a copy to the device / to the host."""
TO_HOST_CALLS = sourced("predict.transfers.TO_HOST_CALLS", float)
"""Time of a call that waits for data of the device / time of one that only sends data."""
FROM_STAGING = sourced("predict.transfers.FROM_STAGING", float)
"""Rate at which the driver copies to ordinary memory / rate at which it copies from it: what it reads has just arrived
in a cache."""
PARALLEL_BYTES = sourced("predict.transfers.PARALLEL_BYTES", int)
"""Bytes from which on a runtime copies on all cores, if it does."""


def transfer_times(device: Device, traffic: HostTraffic) -> dict[str, float]:
    """Return the times of a transfer that add up, seconds: of the ``call``, the ``link`` and the ``host copy``."""
    link, moved = device.host_link, traffic.to_device + traffic.to_host
    shared = link.kind == "shared"
    copied_s = 0.0
    if shared:
        copied_s = moved / (link.host_copy_bytes_per_s * _faster(device, moved))
    elif traffic.memory == "pageable":
        copied_s = (traffic.to_device + traffic.to_host / FROM_STAGING) / link.host_copy_bytes_per_s
    ceilings = {"call": _first_s(device, traffic), "host copy": copied_s}
    if not shared:
        both = BOTH_WAYS if traffic.to_device and traffic.to_host else 1.0
        ceilings["link"] = maximum(
            traffic.to_device / (link_bytes_per_s(link, "to_device") * both),
            traffic.to_host / (link_bytes_per_s(link, "to_host") * both),
        )
    return ceilings


def _first_s(device: Device, traffic: HostTraffic) -> float:
    link, by_host = device.host_link, traffic.memory == "pageable"
    if not (by_host or device.architecture.on_host or (traffic.to_device and traffic.to_host)):
        return link.latency_s * (TO_DEVICE_LATENCY if traffic.to_device else 1.0)
    waits = by_host and traffic.to_host and link.kind != "shared"
    parallel = traffic.to_device + traffic.to_host >= PARALLEL_BYTES
    further_s = where(parallel, device.launch.parallel_transfer_s, 0.0) if link.kind == "shared" else 0.0
    return link.call_s * (TO_HOST_CALLS if waits else 1.0) + further_s


def link_bytes_per_s(link: Link, direction: Direction) -> float:
    """Return the rate of copies of pinned memory through a link."""
    if link.kind != "pcie":
        return link.bandwidth_bytes_per_s * C2C_REACHED
    payload, way = PAYLOAD_BYTES[(link.generation or 0) > 4], direction == "to_host"
    return link.bandwidth_bytes_per_s * (payload / (payload + OVERHEAD_BYTES[way])) * REACHED[way]


def _faster(device: Device, moved: float) -> float:
    core = device.architecture.core
    if core is None or not device.caches:
        return 1.0
    memory_s = 1 / float(device.host_link.host_copy_bytes_per_s)
    cached_s = (min(memory_s, time_s) for time_s in ordinary_s(core, OPERATIONS["copy"])[:-1])
    capacities = accumulate((core.l1_bytes, core.l2_bytes, float(device.caches[-1].capacity_bytes)), max)
    return memory_s / mean_time([*cached_s, memory_s], [streamed_misses(each, 2.0 * moved) for each in capacities])
