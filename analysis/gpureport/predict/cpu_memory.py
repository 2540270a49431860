"""What the cores of a CPU get from each memory level: one model for machines, streams and kernels.

A working set of S bytes takes the mean of the levels' times, over caches of capacity C::

    t(S) = t(L1) + sum over caches of  m(C, S) x (t(next level) - t(cache))

``m`` is the share of accesses that a cache misses. Half of a stream misses at the capacity. A chain of dependent loads
in random order that loads from each line n times finds it again if it was used within the last C bytes (LRU)::

    streams   m(C, S) = 1 / (1 + (C / S) ^ 4)
    chains    m(C, S) = (1 - min(1, C / S)) ^ ((n - 1) / n)

Lists have four nodes on a line. Chains of our kernels visit each line once: ``m`` is then a step, which the transition
range of the cache makes gradual. TLB misses add to the latency.

A core's time of each level for streams depends on its code: on the rates of ordinary programs
(:class:`.CoreType`), or for vectorised loops on the execution-cache-memory model (:class:`.StreamType`; Stengel et al.,
ICS 2015; Hofmann et al., "Bridging the architecture gap: abstracting performance-relevant properties of modern server
processors", 2020): times per cache line add up, first of instructions in the core, then of transfers between
neighbouring levels. Where transfers overlap, their p-norm counts. Caches add up over cores. Memory is limited by the
cores and by the controllers of their NUMA domain, joined by a p-norm (:func:`gpureport.spec.cores.saturated_s`). A
virtual machine with a part of a socket gets more than this part of the bandwidth, because its neighbours use less.

Kernels of OpenCL use the same times: ``spec.cores.core_values`` gives them to their device, and
:class:`.CpuExecution` takes the mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict.residency import mean_time, streamed_misses
from gpureport.spec.cores import (
    LINE_BYTES,
    STREAMED_L3,
    Listing,
    Quantity,
    Topology,
    norm,
    saturated_s,
    socket_limit,
    streamed_l3,
    usable_l3,
)
from gpureport.spec.models import CoreType, StreamType
from gpureport.spec.uncertainty import sourced

_KIB, _MIB = 1 << 10, 1 << 20

NODES_PER_LINE = 4
"""List nodes of 16 bytes on a line of 64 bytes."""
SMALL_PAGES_BYTES = 4 * _MIB
"""Working sets below this size have pages of 4 KiB, larger ones huge pages."""
TLB_REACH_BYTES = 256 * _KIB
"""64 entries for pages of 4 KiB in the first-level data TLB, as most of these cores have."""
FAR_BYTES = 128 * _MIB
"""Beyond this working set, each doubling costs ``FAR_S``: page tables, and misses of the second-level TLB."""
FAR_S = sourced("predict.cpu_memory.FAR_S", float)
L2_REACH = sourced("predict.cpu_memory.L2_REACH", float)
"""Random loads still hit a pseudo-LRU L2 somewhat beyond its capacity."""
COPY_EXPONENTS = sourced("predict.cpu_memory.COPY_EXPONENTS", tuple[float, float, float, float])
"""p-norm of read and write time in a copy, by level: they overlap in the L1, and follow each other beyond the L2."""
LEVEL_SPREADS = sourced("predict.cpu_memory.LEVEL_SPREADS", tuple[tuple[float, float], ...])
"""Natural logarithm of observed / predicted bandwidth of vectorised streams, as intervals of 95 %, for data in L1, L2,
L3 and memory. Code may have narrower vectors than the core, down to single words."""


@dataclass(frozen=True)
class Pattern:
    """Number of streams that a loop reads and writes; lines of *updated* ones of the stores are also read."""

    loads: int
    stores: int
    updated: int = 0

    def lines(self, *, write_allocate: bool) -> int:
        """Return the lines that move between two levels for one line of each stream."""
        return self.loads + self.stores + (self.stores - self.updated if write_allocate else 0)

    @property
    def streams(self) -> int:
        """Number of streams."""
        return self.loads + self.stores


OPERATIONS: Mapping[str, Pattern] = {"read": Pattern(1, 0), "write": Pattern(0, 1), "copy": Pattern(1, 1)}
"""Loops of ordinary programs. A copy has two buffers for each thread; its bytes are counted once."""
KERNELS: Mapping[str, Pattern] = {
    "load": Pattern(1, 0),
    "copy": Pattern(1, 1),
    "update": Pattern(1, 1, 1),
    "triad": Pattern(3, 1),
    "daxpy": Pattern(2, 1, 1),
}
"""Vectorised loops; the bytes of all streams are counted."""


@dataclass(frozen=True)
class Spread:
    """How far observed values are from predicted ones, as intervals of 95 %."""

    latency: tuple[float, float]
    """Natural logarithm of observed / predicted latency in private caches."""
    far_latency: tuple[float, float]
    """The same, in addition, beyond them."""
    l3: tuple[float, float]
    """Usable L3 of one thread / the predicted one."""
    rates: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
    """Natural logarithm of observed / predicted bandwidth of private caches, L3 and memory."""


SPREADS = sourced("predict.cpu_memory.SPREADS", dict[Listing, Spread])
"""By the way in which a machine is listed."""
STREAMED_L3_RANGE = sourced("predict.cpu_memory.STREAMED_L3_RANGE", tuple[float, float])
"""L3 that streams of all threads of a cloud machine find / the predicted one, as an interval of 95 %."""


@dataclass(frozen=True)
class Curve:
    """A predicted curve over working sets, with the interval of 95 %; in seconds or bytes/s."""

    values: Floats
    low: Floats
    high: Floats


def latency_s(core: CoreType, topology: Topology, working_set_bytes: Floats) -> Floats:
    """Return the latency of one dependent load, by working set, in seconds."""
    size = np.asarray(working_set_bytes, dtype=float)
    caches = core.l1_bytes, core.l2_bytes * L2_REACH, topology.l3_bytes * usable_l3(core, topology)
    latencies = core.l1_latency_s, core.l2_latency_s, core.l3_latency_s, core.memory_latency_s
    small_pages = np.where(size < SMALL_PAGES_BYTES, 1 - np.minimum(1.0, TLB_REACH_BYTES / size), 0.0)
    far = FAR_S * np.log2(np.maximum(1.0, size / FAR_BYTES))
    misses = [chain_misses(capacity, size) for capacity in np.maximum.accumulate(np.broadcast_arrays(*caches))]
    return np.asarray(mean_time(latencies, misses) + core.tlb_latency_s * small_pages + far)


def chain_misses(capacity_bytes: Floats, size: Floats) -> Floats:
    """Return the share of random dependent loads of list nodes over *size* bytes that a cache misses."""
    misses: Floats = (1 - np.minimum(1.0, capacity_bytes / size)) ** ((NODES_PER_LINE - 1) / NODES_PER_LINE)
    return misses


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


@dataclass(frozen=True)
class Streams:
    """Streams of all busy cores, each with data of its own; seconds are those of a counted byte."""

    core: CoreType
    """Type of the cores."""
    core_s: Sequence[float]
    """Time of one core for data in L1, L2, L3 and memory."""
    working_set_bytes: Floats
    """Working set of one core."""
    l3_bytes: Quantity
    """Part of the L3 that the streams of one core find."""
    cores: Sequence[Quantity]
    """Number of busy cores, for each domain of memory."""
    limit_s: float | Floats
    """Time of the controllers of one domain."""
    spreads: Sequence[tuple[float, float]]
    """Natural logarithm of observed / predicted bandwidth of each level, as intervals of 95 %."""
    l3_range: tuple[float, float] = (1.0, 1.0)
    """L3 that streams find / the predicted one, as an interval of 95 %."""

    def curve(self) -> Curve:
        """Return the bandwidth of all cores with its interval."""
        lows, highs = zip(*self.spreads, strict=True)
        return Curve(
            self.bytes_per_s(), self.bytes_per_s(self.l3_range[0], lows), self.bytes_per_s(self.l3_range[1], highs)
        )

    def bytes_per_s(self, l3: float = 1.0, logs: Sequence[float] = (0.0, 0.0, 0.0, 0.0)) -> Floats:
        """Return the bandwidth with *l3* times the L3 and rates of levels that differ by these *logs*."""
        caches = self.core.l1_bytes, self.core.l2_bytes, self.core.l2_bytes + l3 * self.l3_bytes
        size = self.working_set_bytes
        misses = np.broadcast_arrays(1.0, *(streamed_misses(each, size) for each in caches), 0.0)
        total = np.zeros_like(size)
        for cores in self.cores:
            *cached_s, memory_s = (time_s / cores for time_s in self.core_s)
            times = np.stack(np.broadcast_arrays(*cached_s, saturated_s(memory_s, self.limit_s), size)[:-1])
            spent = -np.diff(misses, axis=0) * times
            time_s = spent.sum(axis=0)
            total += np.exp(np.tensordot(logs, spent / time_s, axes=1)) / time_s
        return total


def machine_streams(
    core: CoreType, topology: Topology, buffer_bytes: Floats, pattern: Pattern, *, write_allocate: bool
) -> Streams:
    """Return the streams of ordinary programs on all threads of a machine, by the size of each thread's buffers."""
    busy, spread = topology.cores * topology.core_share, SPREADS[topology.listing]
    private, *shared = spread.rates
    return Streams(
        core=core,
        core_s=ordinary_s(core, pattern),
        working_set_bytes=np.asarray(buffer_bytes) * pattern.streams * (topology.processors / topology.cores),
        l3_bytes=streamed_l3(core, topology) * topology.l3_bytes * topology.l3_instances / topology.cores,
        cores=(busy,),
        limit_s=pattern.lines(write_allocate=write_allocate) / socket_limit(core, topology),
        spreads=(private, private, *shared),
        l3_range=STREAMED_L3_RANGE,
    )


def ordinary_s(core: CoreType, pattern: Pattern) -> tuple[float, ...]:
    """Return the time of one core for a byte of each stream, by level: reads and writes overlap near the core."""
    reads = core.l1_read_bytes_per_s, core.l2_read_bytes_per_s, core.l3_read_bytes_per_s, core.memory_read_bytes_per_s
    writes = (
        *(core.l1_write_bytes_per_s, core.l2_write_bytes_per_s),
        *(core.l3_write_bytes_per_s, core.memory_write_bytes_per_s),
    )
    return tuple(
        float(norm(pattern.loads / read, pattern.stores / write, exponent))
        for read, write, exponent in zip(reads, writes, COPY_EXPONENTS, strict=True)
    )


@dataclass(frozen=True)
class Socket:
    """One socket of a machine: the clock of its cores, their number, NUMA domains, and the L3 (0 without one)."""

    clock_hz: float
    cores: int
    domains: int
    l3_bytes: float


def socket_streams(
    core: CoreType,
    streams: StreamType,
    socket: Socket,
    pattern: Pattern,
    cores: Floats,
    bytes_per_core: Floats,
    *,
    write_allocate: bool,
) -> Streams:
    """Return the vectorised streams of *cores* cores of a socket, which fill one domain after the other."""
    lines, per_domain = pattern.lines(write_allocate=write_allocate), socket.cores / socket.domains
    counted = pattern.streams * LINE_BYTES
    return Streams(
        core=core,
        core_s=tuple(time_s / counted for time_s in vectorised_s(streams, socket, pattern, lines)),
        working_set_bytes=bytes_per_core,
        l3_bytes=STREAMED_L3 * socket.l3_bytes / socket.domains / np.minimum(cores, per_domain),
        cores=tuple(
            np.clip(cores - domain * per_domain, 1e-9, per_domain)  # hardly any: no division by zero
            for domain in range(socket.domains)
        ),
        limit_s=lines / pattern.streams * socket.domains / streams.socket_bandwidth_bytes_per_s,
        spreads=LEVEL_SPREADS,
    )


def vectorised_s(streams: StreamType, socket: Socket, pattern: Pattern, lines: int) -> Floats:
    """Return the time of one core for a line of each stream, by level; *lines* move between two levels."""
    in_core = LINE_BYTES * max(
        pattern.loads / streams.load_bytes_per_cycle,
        pattern.stores / streams.store_bytes_per_cycle,
        pattern.streams / streams.access_bytes_per_cycle,
    )
    l3_cycles = streams.l3_line_cycles if socket.l3_bytes else 0.0
    cycles = np.array([in_core, lines * streams.l2_line_cycles, lines * l3_cycles])
    transfers = np.array([*(cycles / socket.clock_hz), lines * streams.memory_line_s])
    times: Floats = np.cumsum(transfers**streams.transfer_exponent) ** (1 / streams.transfer_exponent)
    return times
