"""Time of a dispatch's traffic by level, and latency of its loads.

Each level takes ``bytes / bandwidth`` if it serves the whole working set; it cannot be faster than those before it. The
cache that all compute units share also takes time for sectors that are written. Memory serves what misses all caches.
Which levels serve a working set follows from usable capacities (:mod:`gpureport.predict.residency`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf, log2, prod

from gpureport.predict import traffic
from gpureport.predict.accesses import (
    atomic_sectors,
    lines_at_once,
    lookup_cycles,
    requested_lines,
    sectors_and_lines_written,
    sent_requests,
    waits_beyond,
)
from gpureport.predict.execution import THROUGHPUT_EXPONENT, Execution, smooth_maximum
from gpureport.predict.occupancy import local_memory_in_use_bytes
from gpureport.predict.propagation import maximum, minimum, where
from gpureport.predict.residency import NO_TRANSITION, Misses, ServingLevel, latency_levels, translation_levels
from gpureport.records.curves import Level
from gpureport.records.prediction import write_ceiling
from gpureport.spec.models import Cache, Transition
from gpureport.spec.uncertainty import constant, sourced
from gpureport.workloads.model import Stream

FILL_TIME = sourced("predict.memory.FILL_TIME", float)
"""Time for which a sector from memory occupies a slice of a cache, relative to a written sector."""
UPDATE_TIME = sourced("predict.memory.UPDATE_TIME", float)
"""Time of an atomic operation in a slice, relative to a written sector."""
EXCHANGING_ITEMS = constant(64)
"""Work-items of the work-groups that the entries' additional time of exchanged lines is for."""
OPENING_EXPONENT = sourced("predict.memory.OPENING_EXPONENT", float)
"""p-norm that joins the times in which memory moves bytes and opens rows."""
SLOWEST_LINE = sourced("predict.memory.SLOWEST_LINE", float)
"""Part of the latency of memory that each doubling of the number of lines adds, if a wave waits for all of them."""


def usable_capacities(run: Execution) -> tuple[float, ...]:
    """Return the bytes of each cache that are available for data that the kernel reuses.

    Caches that are invalidated between dispatches are useless for reuse by the next dispatch. Local memory takes its
    part of a unified cache. Caches of several compute units add up only if each unit touches its own part of the data.
    """
    device, demand, usable = run.device, run.demand, []
    for cache in device.caches:
        capacity = cache.capacity_bytes
        if cache.unified_with_local_memory:
            groups = demand.groups / device.compute_units
            capacity -= local_memory_in_use_bytes(run.architecture, run.resident, groups)
        if cache.scope == "compute_unit" and not demand.shared:
            capacity *= minimum(device.compute_units, ceil(demand.groups))
        lost = demand.reused == "never" or (demand.reused == "dispatch" and not cache.persistent)
        usable.append(0.0 if lost else capacity)
    return tuple(usable)


def load_latency(run: Execution, footprint: float, usable: Sequence[float]) -> tuple[float, Level]:
    """Return the cycles of a dependent load, and the level that serves most of the working set."""
    device, demand, shared = run.device, run.demand, run.device.shared_cache
    cycles, level = run.loads_served(footprint, latency_levels(device, usable))
    if demand.accesses and shared and cycles > shared.latency_cycles:
        further_cycles = cycles * slowest_line(run) - shared.latency_cycles
        cycles = shared.latency_cycles + further_cycles * waits_beyond(demand, shared, run.waits)
    if demand.span_bytes and device.tlb:
        cycles, level = run.loads_served(demand.span_bytes, translation_levels(device, cycles))
    return cycles, level


def slowest_line(run: Execution) -> float:
    """Return how much longer a group waits for the slowest line than for a single one, beyond the factor of load.

    A wave waits for all its lines. A group ends when the slowest of its waves has got its last ones.
    """
    demand = run.demand
    lines = lines_at_once(demand, run.waits)
    doublings = log2(lines) + log2(run.waves_per_group) / maximum(1.0, demand.memory_chain)
    return maximum(1.0, (1 + SLOWEST_LINE * doublings) / run.loaded_factor)


def traffic_time(run: Execution, footprint: float, usable: Sequence[float]) -> tuple[float, str]:
    """Return the seconds that global memory traffic takes, and the name of the ceiling that limits it.

    *footprint* is the working set in bytes; *usable* are the bytes of each cache (:func:`usable_capacities`).
    """
    device, demand = run.device, run.demand
    in_flight, writes_s = bytes_in_flight(run), maximum(write_time_s(run), device.cycles(waiting_cycles(run)))
    units = {"compute_unit": run.busy_fraction, "device": minimum(1.0, ceil(demand.groups) / run.places)}
    levels: list[ServingLevel[str]] = []
    slowest, limiting = 0.0, "DRAM"
    for cache, capacity in zip(device.caches, usable, strict=True):
        moved = traffic.outer_bytes(demand.streams, cache.sector_bytes)
        if not levels:
            moved = traffic.requested_bytes(demand.streams)
        elif run.fills_every_level and demand.accesses and cache.scope == "device":
            moved = traffic.memory_bytes(demand.streams, device, every_pass=False)
        elif run.fills_every_level:
            moved += sum(traffic.fill_bytes(s, device, cache.sector_bytes) * s.outer_passes for s in demand.streams)
        time_s = moved / (device.level_bandwidth_bytes_per_s(cache) * units[cache.scope])
        if cache.scope == "device":
            time_s = maximum(time_s, request_time_s(run, cache))
        slowest, limiting = maximum(slowest, time_s), where(time_s > slowest, cache.name, limiting)
        if cache.scope == "device" and writes_s:
            limiting = where(writes_s > slowest, write_ceiling(cache.name), limiting)
            slowest = smooth_maximum((slowest, writes_s), THROUGHPUT_EXPONENT)
        if cache.scope == "device" and demand.accesses:
            sending_s = sending_time_s(run)
            slowest, limiting = maximum(slowest, sending_s), where(sending_s > slowest, cache.name, limiting)
        transition = transition_range(run, cache, overlapping=in_flight > footprint)
        levels.append(ServingLevel(limiting, capacity, transition, slowest, misses_of(run, cache)))
    moved = traffic.memory_bytes(demand.streams, device, every_pass=demand.reused == "kernel")
    moved += exchanged_bytes(run) * (device.memory.exchange or 0.0)
    memory_s = moved / (device.memory.bandwidth_bytes_per_s * run.memory_efficiency)
    opening_s = traffic.opening_s(demand.streams, device, every_pass=demand.reused == "kernel")
    memory_s = smooth_maximum((memory_s, opening_s), OPENING_EXPONENT)
    slowest, limiting = maximum(slowest, memory_s), where(memory_s > slowest, "DRAM", limiting)
    levels.append(ServingLevel(limiting, inf, NO_TRANSITION, slowest))
    return run.streams_served(footprint, shared_by_groups(run, levels, in_flight) if demand.shared else levels)


def exchanged_bytes(run: Execution) -> float:
    """Return the bytes to and from memory of arrays whose lines neighbouring work-groups of 64 work-items exchange.

    Larger groups have fewer neighbours. An H200 that updates 8 to 38 arrays in place, a quarter of which are shifted by
    1 to 32 bytes, takes 10 to 16 % longer in groups of 64 and 4 % in groups of 256. It takes 0 to 4 % longer if other
    arrays are written, and no longer without a shift, with any number of arrays at any distance.
    """
    demand = run.demand
    exchanged = [stream for stream in demand.streams if stream.exchanged]
    moved = traffic.memory_bytes(exchanged, run.device, every_pass=demand.reused == "kernel")
    return moved * EXCHANGING_ITEMS / prod(demand.work_group)


def shared_by_groups(
    run: Execution, levels: Sequence[ServingLevel[str]], in_flight: float
) -> tuple[ServingLevel[str], ...]:
    """Return *levels* of which caches serve more than their capacity if many groups read the same data at once.

    They read each byte in_flight / footprint times at once, and the next level delivers it once: a cache that all
    compute units share keeps its bandwidth as long as this factor exceeds the ratio of both bandwidths. MI100 and MI210
    read at half of it at 0.8 to 1.0 of this size, three times their L2 (RRZE-HPC/gpu-benches, gpu-l2-cache).
    """
    served = (
        replace(near, capacity_bytes=maximum(near.capacity_bytes, in_flight * near.cost / far.cost))
        if cache.scope == "device"
        else near
        for cache, (near, far) in zip(run.device.caches, pairwise(levels), strict=True)
    )
    return (*served, levels[-1])


def bytes_in_flight(run: Execution) -> float:
    """Return the bytes that all resident work-groups request until they end; 0 without reuse within the kernel."""
    demand = run.demand
    if demand.reused != "kernel":
        return 0.0
    return traffic.requested_bytes(demand.streams) / demand.groups * minimum(demand.groups, run.resident_groups)


def transition_range(run: Execution, cache: Cache, *, overlapping: bool) -> Transition:
    """Return the transition range of a bandwidth curve beyond *cache*.

    Passes over the data are *overlapping* if some groups start the next one before others finish the previous one.
    """
    if run.demand.writes:
        return cache.transition("ping_pong_transition" if run.demand.ping_pong else "write_transition")
    return cache.bandwidth_transition if overlapping else cache.transition("cyclic_transition")


def write_time_s(run: Execution) -> float:
    """Return the seconds that the cache shared by all compute units takes for writes.

    A slice writes one sector after another; a line with sectors that a store covers in part costs additional time: 1.25
    cycles of an H200 for each sector and 1.2 more for each line, within 3 % at strides of 2 to 64 words. Later loads
    wait behind stores before the load/store unit looks up their lines: an H200 that reads and writes columns, 32 lines
    for each wave, takes the sum of both.
    """
    device, demand, shared = run.device, run.demand, run.device.shared_cache
    rate, line_rate = run.architecture.sector_writes_per_cycle, run.architecture.line_writes_per_cycle
    sectors, lines = sectors_and_lines_written(demand) if demand.accesses else _written(run)
    cycles = sum(count / per_cycle for count, per_cycle in ((sectors, rate), (lines, line_rate)) if per_cycle)
    writing_s = device.cycles(cycles / ((shared and shared.slices) or device.compute_units))
    if not (demand.accesses and writing_s):
        return writing_s
    return writing_s + device.cycles(lookup_cycles(demand, device) / (device.compute_units * run.busy_fraction))


def _written(run: Execution) -> tuple[float, float]:
    """Return the sectors and the lines written in part, by the streams and means of a demand without accesses.

    Stores write some of the sectors completely, and the others to a half at most (assumed).
    """
    demand, shared = run.demand, run.device.shared_cache
    sector = shared.sector_bytes if shared else run.device.memory.access_bytes
    written = [stream for stream in demand.streams if stream.write]
    sectors = traffic.outer_bytes(written, sector) / sector * demand.stores_per_sector
    if shared and demand.ping_pong:
        sectors += where(run.rounds > 1, _crossing_reads(run, shared), 0.0)
    partly = 1.0
    if run.architecture.sector_writes_per_cycle:
        used = sum(stream.elements * stream.used_bytes * stream.outer_passes for stream in written)
        partly = minimum(1.0, 2.0 * (1.0 - used / (sectors * sector))) if sectors else 0.0
    return sectors, (demand.line_writes or 0.0) * partly


def request_time_s(run: Execution, cache: Cache) -> float:
    """Return the seconds for which the slices of *cache* look up the lines that loads request, if these are known.

    A slice accepts one request in the time in which it writes a sector: random reads of words of an H200 fetch 4 to 5
    TB/s of sectors, half of the bandwidth of whole lines.
    """
    rate = run.architecture.sector_writes_per_cycle
    lines = requested_lines(run.demand, run.architecture)
    return run.device.cycles(lines / (rate * cache.slices)) if rate and cache.slices else 0.0


def sending_time_s(run: Execution) -> float:
    """Return the seconds for which busy units send requests and sectors to the next cache; 0 if the rate is unknown."""
    rate = run.architecture.requests_per_cycle
    cycles = sent_requests(run.demand, run.architecture) / rate if rate else 0.0
    return run.device.cycles(cycles / (run.device.compute_units * run.busy_fraction))


def waiting_cycles(run: Execution) -> float:
    """Return the cycles for which atomic operations wait for each other in the busiest slice of the shared cache.

    A slice writes one sector per cycle if its rate is unknown.
    """
    if run.architecture.groups_as_loops:
        return 0.0
    shared = run.device.shared_cache
    rate = run.architecture.sector_writes_per_cycle if shared and shared.slices else None
    return UPDATE_TIME * atomic_sectors(run.demand, run.device) / (rate or 1.0)


def _crossing_reads(run: Execution, cache: Cache) -> float:
    """Return the load of reads on the path between a cache's partitions, as an equivalent number of writes.

    With two partitions, half of all writes cross to a line's home on the other side and leave a copy on this side. A
    quarter of the reads cross: half of the lines have their home on the other side, and half of these were written from
    there. A read therefore counts as half a write (assumed: one crossing rate fits one-way, ping-pong and in-place
    copies of an H200 to 5 %). If all groups are resident at once, each runs where it ran before and finds what it
    wrote: counters have 0.00 of the reads, 0.18 to 0.26 from 1.1 rounds on, and 0.50 of the writes. Beyond the cache
    half of all reads cross; memory takes longer there.
    """
    streams = run.demand.streams
    renewed = minimum(1.0, maximum(0.0, *(stream.outer_passes for stream in streams if stream.write)))
    touched = sum(
        traffic.touched_bytes(stream, cache.sector_bytes) * minimum(1.0, stream.outer_passes)
        for stream in streams
        if not stream.write
    )
    return touched / cache.sector_bytes * renewed * (1 - 1 / cache.partitions)


def misses_of(run: Execution, cache: Cache) -> tuple[Misses, ...]:
    """Return what *cache* exchanges with memory: because of reads, and because of writes.

    Nothing if the rate of the cache is unknown, if the kernel does not both read and write, or if memory moves nothing,
    as with private memory only. Partly written sectors are filled from memory, too. They leave the cache when written
    data do, even if the next dispatch reads them.
    """
    device, demand = run.device, run.demand
    rate, sector = run.architecture.sector_writes_per_cycle, cache.sector_bytes
    read = [stream for stream in demand.streams if not stream.write]
    written = [stream for stream in demand.streams if stream.write]
    if cache.scope != "device" or not (rate and cache.slices and read and written):
        return ()
    every_pass = demand.reused == "kernel"
    if not (moved := traffic.memory_bytes(demand.streams, device, every_pass=every_pass)):
        return ()
    fill_s = FILL_TIME * device.cycles(1 / (rate * cache.slices))

    def misses(streams: Sequence[Stream], transition: Transition) -> Misses:
        filled = sum(
            (traffic.fill_bytes(each, device, sector) if each.write else traffic.touched_bytes(each, sector))
            * minimum(1.0, each.outer_passes)
            for each in streams
        )
        share = traffic.memory_bytes(streams, device, every_pass=every_pass) / moved
        return Misses(transition, share, filled / sector * fill_s)

    of_writes = cache.transition("write_transition")
    return misses(read, transition_range(run, cache, overlapping=False)), misses(written, of_writes)
