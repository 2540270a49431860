"""Latency and bandwidth of a CPU's memory levels by working set, from its core type and its topology.

Latency of dependent loads in random order, by one thread, over a working set of S bytes::

    t(S) = sum over levels of (h(level) - h(level before)) x latency(level) + TLB misses
    h(C) = 1 - (1 - min(1, C / S)) ^ 0.75

``h`` is the share of loads that a cache of C bytes serves under LRU replacement, if four list nodes share a line: the
line was used within the last C bytes. Bandwidth of all threads, each with buffers of its own::

    1 / B(S) = sum over levels of (g(level) - g(level before)) / B(level)
    g(C) = 1 / (1 + (S / C) ^ p)

The levels up to the L3 add up over cores. Memory is limited by the cores, and by the socket's memory controllers. A
virtual machine with a part of a socket gets more than this part of the bandwidth, because its neighbours use less.

Vectorised streaming kernels on real machines (:func:`stream_curve`) follow the execution-cache-memory model (Stengel et
al., ICS 2015; Hofmann et al., "Bridging the architecture gap: abstracting performance-relevant properties of modern
server processors", 2020). Times per cache line of each stream add up: instructions in the core, then the transfers
between neighbouring levels. Where transfers overlap, their p-norm counts. Cores add up until they saturate the memory
of their NUMA domain. They fill one domain after the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpureport.observe.statistics import Floats
from gpureport.spec.cores import LINE_BYTES, Listing, Topology, socket_bandwidth, usable_l3
from gpureport.spec.models import CoreType, StreamType
from gpureport.spec.values import constant

Operation = Literal["read", "write", "copy"]
OPERATIONS: tuple[Operation, ...] = ("read", "write", "copy")
_KIB, _MIB = 1 << 10, 1 << 20
_MACHINES = "machines of reports/published/cpus, which have no entries"
NODES_PER_LINE = 4
"""List nodes of 16 bytes on a line of 64 bytes."""
SMALL_PAGES_BYTES = 4 * _MIB
"""Working sets below this size have pages of 4 KiB, larger ones huge pages."""
TLB_REACH_BYTES = 256 * _KIB
"""64 entries for pages of 4 KiB in the first-level data TLB, as most of these cores have."""
FAR_BYTES = 128 * _MIB
"""Beyond this working set, each doubling costs ``FAR_S``: page tables, and misses of the second-level TLB."""
FAR_S = constant(3e-9, _MACHINES)
PRIVATE_EXPONENT, SHARED_EXPONENT = constant(5.0, _MACHINES), constant(3.0, _MACHINES)
"""Steepness of the drop in bandwidth beyond private caches and beyond the L3."""
L2_REACH = constant(1.15, _MACHINES)
"""Random loads still hit a pseudo-LRU L2 somewhat beyond its capacity."""
STREAMED_L3 = constant(1.5, _MACHINES)
"""Half of the accesses of streams hit the L3 at this multiple of its listed size: replacement is not LRU."""
LEVEL_EXPONENT = constant(10.0, _MACHINES)
"""Steepness of the change of levels for buffers well within one level."""
SATURATION_EXPONENT = constant(5.0, _MACHINES)
"""p-norm that joins the limits of cores and of the memory of their domain."""
LEVEL_SPREADS = constant(((-2.4, 0.15), (-1.6, 0.3), (-0.9, 0.35), (-0.3, 0.3)), _MACHINES)
"""Natural logarithm of observed / predicted bandwidth, as intervals of 95 %, for data in L1, L2, L3 and memory. Code
may have narrower vectors than the core, down to single words."""
COPY_EXPONENTS = constant((4.0, 2.0, 1.0, 1.0), _MACHINES)
"""p-norm of read and write time in a copy, by level: they overlap in the L1, and follow each other beyond the L2."""


@dataclass(frozen=True)
class Spread:
    """How far observed values are from predicted ones, as intervals of 95 %.

    Attributes:
        latency: natural logarithm of observed / predicted latency in private caches.
        far_latency: the same, in addition, beyond them.
        l3: usable L3 of one thread / the predicted one.
        rates: natural logarithm of observed / predicted bandwidth of private caches, L3 and memory.
    """

    latency: tuple[float, float]
    far_latency: tuple[float, float]
    l3: tuple[float, float]
    rates: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


SPREADS: Mapping[Listing, Spread] = {
    "plain": Spread((-0.3, 0.25), (-0.2, 0.25), (0.2, 2.0), ((-0.3, 0.55), (-0.45, 0.85), (-0.65, 0.85))),
    "hidden threads": Spread((-0.3, 1.0), (-0.2, 0.2), (0.2, 2.5), ((-1.2, 0.7), (-0.7, 0.75), (-1.1, 0.8))),
    "model of the hypervisor": Spread((-0.4, 0.3), (-0.2, 0.3), (0.2, 2.0), ((-0.8, 0.5), (-1.2, 0.8), (-0.6, 1.5))),
    "whole threads": Spread((-0.3, 0.35), (-0.2, 0.4), (0.2, 2.0), ((-0.75, 0.6), (-0.6, 0.7), (-0.9, 1.8))),
    "hidden cores": Spread((-0.35, 0.3), (-0.1, 0.3), (0.2, 2.0), ((-0.3, 1.4), (-0.4, 1.4), (-0.9, 1.6))),
    "default caches": Spread((-0.4, 0.3), (-0.2, 0.3), (0.05, 4.0), ((-0.8, 1.4), (-0.9, 1.25), (-0.8, 1.7))),
}
"""Fitted to the machines of SpareCores/sc-inspector-data (commit 804d3c7)."""
STREAMED_L3_RANGE = constant((0.5, 3.0), _MACHINES)
"""L3 that streams of all threads find / the predicted one, as an interval of 95 %."""


@dataclass(frozen=True)
class Curve:
    """A predicted curve over working sets, with the interval of 95 %; in seconds or bytes/s."""

    values: Floats
    low: Floats
    high: Floats


def latency_s(core: CoreType, topology: Topology, working_set_bytes: Floats) -> Floats:
    """Return the latency of one dependent load, by working set, in seconds."""
    size = np.asarray(working_set_bytes, dtype=float)
    usable = topology.l3_bytes * usable_l3(core, topology)
    served = _served(*(random_hits(c, size) for c in (core.l1_bytes, core.l2_bytes * L2_REACH, usable)))
    latencies = (core.l1_latency_s, core.l2_latency_s, core.l3_latency_s, core.memory_latency_s)
    small_pages = np.where(size < SMALL_PAGES_BYTES, 1 - np.minimum(1.0, TLB_REACH_BYTES / size), 0.0)
    far = FAR_S * np.log2(np.maximum(1.0, size / FAR_BYTES))
    time: Floats = sum(share * t for share, t in zip(served, latencies, strict=True)) + core.tlb_latency_s * small_pages
    return time + far


def latency_curve(core: CoreType, topology: Topology, working_set_bytes: Floats) -> Curve:
    """Return the latency of one dependent load by working set, with its interval: L3 share and rates vary."""
    sizes, spread = np.asarray(working_set_bytes, dtype=float), SPREADS[topology.listing]
    fewer, more = (replace(topology, l3_share=topology.l3_share * factor) for factor in spread.l3)
    memory = np.clip(np.log(sizes / core.l2_bytes) / np.log(8), 0, 1)  # from the L2 to where memory begins to count
    factors = np.exp(np.array(spread.latency)[:, None] + np.array(spread.far_latency)[:, None] * memory)
    return Curve(
        latency_s(core, topology, sizes),
        latency_s(core, more, sizes) * factors[0],
        latency_s(core, fewer, sizes) * factors[1],
    )


def bandwidth_curve(
    core: CoreType, topology: Topology, working_set_bytes: Floats, operation: Operation, *, write_allocate: bool
) -> Curve:
    """Return the bandwidth of all threads by the size of each thread's buffer, with its interval."""
    sizes, spread = np.asarray(working_set_bytes, dtype=float), SPREADS[topology.listing]
    values, small, large = (
        _bandwidth(core, replace(topology, l3_bytes=topology.l3_bytes * factor), sizes, operation, write_allocate)
        for factor in (1.0, *STREAMED_L3_RANGE)
    )
    low = small[0] * np.exp(np.tensordot(np.array([f[0] for f in spread.rates]), small[1], axes=1))
    high = large[0] * np.exp(np.tensordot(np.array([f[1] for f in spread.rates]), large[1], axes=1))
    return Curve(values[0], low, high)


def random_hits(capacity_bytes: npt.ArrayLike, size: Floats) -> Floats:
    """Return the share of random dependent loads over *size* bytes that a cache serves."""
    held: Floats = np.minimum(1.0, np.asarray(capacity_bytes, dtype=float) / size)
    return 1 - (1 - held) ** ((NODES_PER_LINE - 1) / NODES_PER_LINE)


def bandwidth_bytes_per_s(
    core: CoreType, topology: Topology, working_set_bytes: Floats, operation: Operation, *, write_allocate: bool
) -> Floats:
    """Return the bandwidth of all threads together, by the size of each thread's buffer.

    A copy has two buffers for each thread; its bytes are counted once.
    """
    total: Floats = _bandwidth(core, topology, working_set_bytes, operation, write_allocate)[0]
    return total


def _bandwidth(
    core: CoreType, topology: Topology, working_set_bytes: Floats, operation: Operation, write_allocate: bool
) -> tuple[Floats, Floats]:
    """Return the bandwidth, and the share of the time that private caches, L3 and memory take."""
    size = np.asarray(working_set_bytes, dtype=float) * (2 if operation == "copy" else 1)
    threads = topology.processors / topology.cores
    private = (streamed_hits(each, size * threads, PRIVATE_EXPONENT) for each in (core.l1_bytes, core.l2_bytes))
    l3_bytes = STREAMED_L3 * topology.l3_bytes * topology.l3_instances + core.l2_bytes * topology.cores
    served = _served(*private, streamed_hits(l3_bytes, size * topology.processors, SHARED_EXPONENT))
    busy = topology.cores * topology.core_share
    rates = level_rates(core, operation)
    allocated = 1.0 if write_allocate and operation != "read" else 0.0
    traffic = {"read": 1.0, "write": 1.0, "copy": 2.0}[operation] + allocated
    memory = traffic / socket_bandwidth(core, topology, rates[-1] * busy * traffic)
    rate_times = np.stack(np.broadcast_arrays(*(1 / (rate * busy) for rate in rates[:-1]), memory, size))[:-1]
    times = served * rate_times
    total: Floats = times.sum(axis=0)
    return 1 / total, np.stack([times[0] + times[1], times[2], times[3]]) / total


def _served(*hits: Floats) -> Floats:
    """Return the share of accesses that each cache and memory serve, from the hits of caches of growing capacity."""
    cumulative = np.maximum.accumulate(np.stack(np.broadcast_arrays(*hits)))
    return np.diff(cumulative, axis=0, prepend=0.0, append=1.0)


def streamed_hits(capacity_bytes: npt.ArrayLike, size: Floats, exponent: float) -> Floats:
    """Return the share of a stream over *size* bytes that a cache serves."""
    hits: Floats = 1 / (1 + (size / np.asarray(capacity_bytes, dtype=float)) ** exponent)
    return hits


def level_rates(core: CoreType, operation: Operation) -> tuple[float, ...]:
    """Return the bytes/s of one core from L1, L2, L3 and memory."""
    reads = (
        core.l1_read_bytes_per_s,
        core.l2_read_bytes_per_s,
        core.l3_read_bytes_per_s,
        core.memory_read_bytes_per_s,
    )
    writes = (
        core.l1_write_bytes_per_s,
        core.l2_write_bytes_per_s,
        core.l3_write_bytes_per_s,
        core.memory_write_bytes_per_s,
    )
    if operation == "copy":
        return tuple(
            1 / float(norm(1 / read, 1 / write, p))
            for read, write, p in zip(reads, writes, COPY_EXPONENTS, strict=True)
        )
    return reads if operation == "read" else writes


def norm(one: npt.ArrayLike, other: npt.ArrayLike, exponent: float) -> Floats:
    """Return the p-norm of two times."""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    total: Floats = (one**exponent + other**exponent) ** (1 / exponent)
    return total


@dataclass(frozen=True)
class Kernel:
    """Number of streams that a kernel reads and writes; lines of *updated* ones of the stores are also read."""

    loads: int
    stores: int
    updated: int

    def lines(self, *, write_allocate: bool) -> int:
        """Return the lines that move between two levels for one line of each stream."""
        return self.loads + self.stores + (self.stores - self.updated if write_allocate else 0)

    @property
    def counted(self) -> int:
        """Streams whose bytes count."""
        return self.loads + self.stores


KERNELS: Mapping[str, Kernel] = {
    "load": Kernel(1, 0, 0),
    "copy": Kernel(1, 1, 0),
    "update": Kernel(1, 1, 1),
    "triad": Kernel(3, 1, 0),
    "daxpy": Kernel(2, 1, 1),
}


@dataclass(frozen=True)
class Socket:
    """One socket of a machine: the clock of its cores, their number, NUMA domains, and the L3 (0 without one)."""

    clock_hz: float
    cores: int
    domains: int
    l3_bytes: float


def stream_curve(
    core: CoreType,
    streams: StreamType,
    socket: Socket,
    kernel: Kernel,
    cores: Floats,
    bytes_per_core: Floats,
    *,
    write_allocate: bool,
) -> Curve:
    """Return the bandwidth of *cores* cores that each work on *bytes_per_core*, in bytes/s."""
    lines = kernel.lines(write_allocate=write_allocate)
    in_core = LINE_BYTES * max(
        kernel.loads / streams.load_bytes_per_cycle,
        kernel.stores / streams.store_bytes_per_cycle,
        kernel.counted / streams.access_bytes_per_cycle,
    )
    transfers = np.array(
        [
            in_core / socket.clock_hz,
            lines * streams.l2_line_cycles / socket.clock_hz,
            lines * streams.l3_line_cycles / socket.clock_hz,
            lines * streams.memory_line_s,
        ]
    )
    if not socket.l3_bytes:
        transfers[2] = 0.0
    times = np.cumsum(transfers**streams.transfer_exponent) ** (1 / streams.transfer_exponent)
    per_domain = socket.cores / socket.domains
    l3_bytes = socket.l3_bytes / socket.domains / np.minimum(cores, per_domain) + core.l2_bytes
    served = _served(
        *(streamed_hits(each, bytes_per_core, LEVEL_EXPONENT) for each in (core.l1_bytes, core.l2_bytes, l3_bytes))
    )
    counted = kernel.counted * LINE_BYTES
    from_caches = served[:3].T @ times[:3]
    # Domains that are filled one after the other; the last may be filled in part.
    share = streams.socket_bandwidth_bytes_per_s / socket.domains / (lines * LINE_BYTES)
    total = np.zeros_like(from_caches)
    for domain in range(socket.domains):
        used = np.clip(cores - domain * per_domain, 0.0, per_domain)
        busy = np.maximum(used, 1e-9)
        memory = norm(times[3] / busy, np.full_like(busy, 1 / share), SATURATION_EXPONENT)
        total += np.where(used > 0, counted / (from_caches / busy + served[3] * memory), 0.0)
    spread = np.array(LEVEL_SPREADS).T @ served
    return Curve(total, total * np.exp(spread[0]), total * np.exp(spread[1]))
