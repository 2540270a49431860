"""Latency and bandwidth of a CPU's memory levels by working set, from its core type and its topology.

Latency of dependent loads in random order, by one thread, over a working set of S bytes::

    t(S) = sum over levels of (h(level) - h(level before)) x latency(level) + TLB misses
    h(C) = 1 - (1 - min(1, C / S)) ^ 0.75

``h`` is the share of loads that a cache of C bytes serves under LRU replacement, if four list nodes share a line: the
line was used within the last C bytes. Bandwidth of all threads, each with buffers of its own::

    1 / B(S) = sum over levels of (g(level) - g(level before)) / B(level)
    g(C) = 1 / (1 + (S / C) ^ p)

The levels up to the L3 add up over cores. Memory is limited by the cores, and by the socket's memory controllers. A part
of a socket, as a virtual machine has, gets more than its part of them as long as its neighbours leave it.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gpureport.spec.core_types import Topology
from gpureport.spec.models import CoreType

Operation = Literal["read", "write", "copy"]
OPERATIONS: tuple[Operation, ...] = ("read", "write", "copy")
Floats = npt.NDArray[np.float64]

_KIB, _MIB = 1 << 10, 1 << 20
NODES_PER_LINE = 4
"""List nodes of 16 bytes on a line of 64 bytes."""
SMALL_PAGES_BYTES = 4 * _MIB
"""Working sets below this size have pages of 4 KiB, larger ones huge pages."""
TLB_REACH_BYTES = 256 * _KIB
"""64 entries for pages of 4 KiB in the first-level data TLB, as most of these cores have."""
FAR_BYTES = 128 * _MIB
"""Beyond this working set, each doubling costs ``FAR_S``: page tables, and misses of the second-level TLB."""
FAR_S = 3e-9
MOST_OF_L3 = 1.3
"""Largest usable part of the listed L3 size; above 1 where evicted lines of the L2 are kept besides it (victim cache)."""
PRIVATE_EXPONENT, SHARED_EXPONENT = 5.0, 3.0
"""Steepness of the drop in bandwidth beyond private caches and beyond the L3."""
STREAMED_L3 = 1.5
"""Half of the accesses of streams hit the L3 at this multiple of its listed size: replacement is not LRU."""
SATURATION_EXPONENT = 3.0
"""p-norm that joins the limits of cores and socket."""
COPY_EXPONENTS = (4.0, 2.0, 1.0, 1.0)
"""p-norm of read and write time in a copy, by level: they overlap in the L1, and follow each other beyond the L2."""


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
    hits = np.maximum.accumulate(
        np.stack(np.broadcast_arrays(*(random_hits(c, size) for c in (core.l1_bytes, core.l2_bytes * L2_REACH, usable))))
    )
    served = np.diff(hits, axis=0, prepend=0.0, append=1.0)
    latencies = (core.l1_latency_s, core.l2_latency_s, core.l3_latency_s, core.memory_latency_s)
    small_pages = np.where(size < SMALL_PAGES_BYTES, 1 - np.minimum(1.0, TLB_REACH_BYTES / size), 0.0)
    far = FAR_S * np.log2(np.maximum(1.0, size / FAR_BYTES))
    time: Floats = sum(share * t for share, t in zip(served, latencies, strict=True)) + core.tlb_latency_s * small_pages
    return time + far


L2_REACH = 1.15
"""Random loads still hit a pseudo-LRU L2 somewhat beyond its capacity."""


def random_hits(capacity_bytes: npt.ArrayLike, size: Floats) -> Floats:
    """Return the share of random dependent loads over *size* bytes that a cache serves."""
    held: Floats = np.minimum(1.0, np.asarray(capacity_bytes, dtype=float) / size)
    return 1 - (1 - held) ** ((NODES_PER_LINE - 1) / NODES_PER_LINE)


def usable_l3(core: CoreType, topology: Topology) -> Floats:
    """Return the usable part of one instance of the listed L3, for one thread.

    Other programs on the socket use the rest, on hosts that cannot be seen. A large part of the socket leaves little
    room for them.
    """
    share: Floats = np.minimum(MOST_OF_L3, core.l3_share * topology.l3_share * topology.part**core.l3_share_exponent)
    return share


def bandwidth_bytes_per_s(
    core: CoreType, topology: Topology, working_set_bytes: Floats, operation: Operation, *, write_allocate: bool
) -> Floats:
    """Return the bandwidth of all threads together, by the size of each thread's buffer.

    A copy has two buffers for each thread; its bytes are counted once.
    """
    size = np.asarray(working_set_bytes, dtype=float) * (2 if operation == "copy" else 1)
    threads = topology.processors / topology.cores
    l2 = streamed_hits(core.l2_bytes, size * threads, PRIVATE_EXPONENT)
    l1 = np.minimum(streamed_hits(core.l1_bytes, size * threads, PRIVATE_EXPONENT), l2)
    l3_bytes = STREAMED_L3 * topology.l3_bytes * topology.l3_instances + core.l2_bytes * topology.cores
    l3 = np.maximum(l2, streamed_hits(l3_bytes, size * topology.processors, SHARED_EXPONENT))
    served = np.diff(np.stack(np.broadcast_arrays(l1, l2, l3)), axis=0, prepend=0.0, append=1.0)
    busy = topology.cores * topology.core_share
    rates = level_rates(core, operation)
    traffic = {"read": 1.0, "write": 2.0 if write_allocate else 1.0, "copy": 3.0 if write_allocate else 2.0}[operation]
    socket = core.socket_bandwidth_bytes_per_s / traffic * topology.sockets * topology.memory_share * topology.part**core.socket_exponent
    memory = norm(1 / (rates[-1] * busy), 1 / socket, SATURATION_EXPONENT)
    times = (*(1 / (rate * busy) for rate in rates[:-1]), memory)
    total: Floats = 1 / sum(share * t for share, t in zip(served, times, strict=True))
    return total


def streamed_hits(capacity_bytes: npt.ArrayLike, size: Floats, exponent: float) -> Floats:
    """Return the share of a stream over *size* bytes that a cache serves."""
    return 1 / (1 + (size / np.asarray(capacity_bytes, dtype=float)) ** exponent)


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
