"""The time of one point: launch cost plus a smooth maximum of several ceilings.

::

    T = launch + max( groups + one group, W + aligned )
    W = max( smooth_p( smooth_4(operations by pipe or class, memory), latency ),
             smooth_4(operations + last waves, memory) )

Each ceiling is the time of the dispatch if nothing else limited it. ``smooth_p`` is a smooth maximum: the p-norm with
exponent p.

- ``p`` approaches 3 from above as more work-groups share a compute unit (for streams beyond the caches, the value of
  :func:`saturation_exponent`). It is infinite for one group per compute unit: nothing disturbs that group.
- If only one group can be resident, its operations and its latency do not disturb each other either. Then
  W = smooth_p( memory, max( operations, latency ) ) on GPUs.
- If no group waits for loads, memory and latency do not disturb each other: W = max( memory, smooth_p( operations,
  latency ) ) on GPUs. Bandwidth of writes then grows in proportion to the work up to its peak, as published for V100,
  A100, A40, L40, H100, MI100 and MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream). This does not hold for devices of
  several dies (:func:`several_dies`).
- ``aligned``: groups of the first round start together, so their loads and computations do not overlap yet.
- ``latency``: the time of an isolated group, once per round of groups, plus the time from a group's end to its
  successor's start.
- ``last waves``: GPU schedulers are assumed to prefer the oldest waves. In kernels without barriers the last waves are
  then too few to keep the schedulers busy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from math import ceil, inf, prod

from gpureport.predict import cpu_times, traffic
from gpureport.predict.occupancy import Resources, local_memory_in_use_bytes, occupancy, units_per_group
from gpureport.predict.residency import (
    NO_TRANSITION,
    Misses,
    ServingLevel,
    latency_levels,
    staircase,
    translation_levels,
    with_conflicts,
)
from gpureport.predict.transfers import transfer_times
from gpureport.records.curves import Level
from gpureport.records.prediction import Occupancy, write_ceiling
from gpureport.spec.models import AmdOccupancy, Cache, Device, Transition
from gpureport.workloads.model import Demand, HostTraffic, Stream

THROUGHPUT_EXPONENT = 4.0
"""p-norm that joins throughput ceilings: fits roofline sweeps of A100, A40 and L40 to 2 % in the median
(RRZE-HPC/gpu-benches @1038c5d, gpu-roofline)."""
LATENCY_EXPONENT = 3.0
"""p-norm that joins latency with throughput, unless memory limits it. Of 1.5 to 4 it fits bandwidth against resident
work-items best, on A100, A40, H100 and MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream): half of the times within 6 %,
nine in ten within 15."""
ISOLATED_EXPONENT = 2.0
"""p-norm that joins an isolated wave's waits with its own instructions. It fits the idle time at the end of kernels
that issue for as long as they wait (bit_transpose/ballot, vector; reports/nvidia-h200)."""
ONE_WAY_LOSS = 0.2
"""Fraction of the usual bandwidth loss that remains if data move in one direction only, so that the memory bus never
turns around. An H200's copy reaches 0.89 of the listed bandwidth, its reads and writes 0.98 (reports/nvidia-h200)."""
SEVERAL_LOADS = 1.08
"""Latency of independent loads from several streams / latency of loads from one: a work-group waits for the last one.
Of 1.05, 1.08 and 1.12 it fits triads best, of two A100, A40, H100 PCIe, L40, MI100 and MI210 together
(RRZE-HPC/gpu-benches, gpu-stream). On a V100, which was not used, the error of triads falls from 3.1 to 2.4 %."""
FILL_TIME = 0.9
"""Time for which a sector from memory occupies a slice of a cache, relative to a written sector. Times of copies, sums,
transposes and particles at 0.5 to 1.6 of an H200's L2 fit 0.8 to 1; its cliffs fit 0.9 best (reports/nvidia-h200)."""
WRITES_EXPONENT = 6.0
"""p-norm that joins latency with memory bandwidth if a dispatch only writes: stores do not wait for each other."""
READS_EXPONENT = 3.0
"""The same if it only reads, with stacked memory. Latency rises before the bandwidth is reached."""
MIXED_EXPONENT = 2.6
"""The same if it reads and writes, with stacked memory: reads also wait while the bus writes. The fit is flat from 2.4
to 2.7; 2.6 keeps all plateaus of the fitted devices within 10 %."""
FEWER_CHANNELS = 2.0
"""Factor of both for other memory, whose load is distributed more evenly among its few channels."""
ON_ONE_DIE = 2
"""Most parts of a cache on one die: the partitions of A100, H100 and H200."""
_MEMORY_CLASSES = frozenset({"memory", "instruction"})


@dataclass(frozen=True)
class PointTime:
    """The model's result for one dispatch.

    Attributes:
        time_s: of the dispatch.
        ceilings_s: by name.
        bottleneck: the name of the largest ceiling.
        level: the memory level that serves most of the working set.
        occupancy: of the kernel; ``None`` for a transfer.
        operations: arithmetic operations, counted per lane (no memory accesses, no overhead).
        memory_bytes: bytes to and from memory with caches that are empty at the start.
    """

    time_s: float
    ceilings_s: Mapping[str, float]
    bottleneck: str
    level: Level
    occupancy: Occupancy | None
    operations: float
    memory_bytes: float


def smooth_maximum(times: Iterable[float], exponent: float) -> float:
    """Return the p-norm of *times* with p = *exponent*: slightly more than their maximum if several are large."""
    values = [time for time in times if time > 0]
    largest = max(values, default=0.0)
    if exponent == inf:
        return largest
    return largest * sum((value / largest) ** exponent for value in values) ** (1 / exponent) if largest else 0.0


def point_time(device: Device, demand: Demand, resources: Resources) -> PointTime:
    """Predict one dispatch of *demand* on *device*, compiled to *resources*; the mean of a sequence of kernels."""
    first = _dispatch_time(device, demand, resources)
    if not demand.later_dispatches:
        return first
    used = (Resources(each.registers, each.local_memory_bytes) for each in demand.later_dispatches)
    parts = [first, *map(_dispatch_time, repeat(device), demand.later_dispatches, used)]
    count, longest = len(parts), max(parts, key=lambda part: part.time_s)
    names = dict.fromkeys(name for part in parts for name in part.ceilings_s)
    ceilings = {name: sum(part.ceilings_s.get(name, 0.0) for part in parts) / count for name in names}
    return replace(
        longest,
        time_s=sum(part.time_s for part in parts) / count,
        ceilings_s=ceilings,
        bottleneck=max(ceilings, key=lambda name: ceilings[name]),
        operations=sum(part.operations for part in parts) / count,
        memory_bytes=sum(part.memory_bytes for part in parts) / count,
    )


def _dispatch_time(device: Device, demand: Demand, resources: Resources) -> PointTime:
    if demand.transfer is not None:
        return _transfer(device, demand.transfer)
    resident = occupancy(device.architecture, demand.work_group, resources)
    footprint = traffic.footprint_bytes(demand.streams, device, one_buffer=demand.one_buffer)
    usable = usable_capacities(device, demand, resident)
    load_cycles, level = staircase(footprint, latency_levels(device, usable, demand.stride_bytes))
    if demand.span_bytes and device.tlb:
        load_cycles, translated = staircase(demand.span_bytes, translation_levels(device, load_cycles))
        level = level if demand.stride_bytes else translated
    class_times = instruction_class_times(device, demand)
    by_class = with_uneven_schedulers(device, class_times, _waves_per_compute_unit(device, demand))
    by_pipe = pipe_times(device, by_class)
    memory_s, limiting = (
        memory_traffic_time(device, demand, footprint, usable, resident) if demand.streams else (0.0, "DRAM")
    )
    isolated = isolated_group(device, demand, load_cycles, class_times)
    rounds = ceil(work_group_rounds(device, demand, resident))
    # The first groups start with the dispatch, whose launch is a ceiling of its own.
    group_s = isolated.loads_s + isolated.instructions_s
    latency_s = group_s * rounds + turnover_s(device, demand) * (rounds - 1)
    groups_s = group_time_s(device, demand)
    # The work-group dispatcher runs in parallel with everything else.
    busy = {"core": _core_time_s(groups_s, by_pipe)} if device.is_cpu else by_pipe
    computing_s = smooth_maximum(busy.values(), THROUGHPUT_EXPONENT)
    beyond = limiting == "DRAM" and memory_s > computing_s and not device.is_cpu
    base = saturation_exponent(device, demand) if beyond else LATENCY_EXPONENT
    exponent = latency_exponent(_groups_per_compute_unit(device, demand), base)
    # The last group starts after all others have started.
    started_s = groups_s + group_s
    work_s = max(_work_time(device, demand, resident, computing_s, memory_s, latency_s, isolated, exponent), started_s)
    launch_s = device.launch.single_s if demand.isolated else device.launch.batched_s
    if device.is_cpu:
        launch_s += cpu_times.waking_s(device, demand, work_s)
    moving = {limiting: memory_s} if demand.streams else {}
    ceilings = {"launch": launch_s, "latency": latency_s, "groups": groups_s, **by_class, **by_pipe, **moving}
    return PointTime(
        time_s=launch_s + work_s + last_stores_s(device, demand),
        ceilings_s=ceilings,
        bottleneck=max(ceilings, key=lambda name: ceilings[name]),
        level=level,
        occupancy=resident,
        operations=sum(n for name, n in demand.operations.items() if name not in _MEMORY_CLASSES),
        memory_bytes=traffic.memory_bytes(demand.streams, device, every_pass=demand.reused == "kernel"),
    )


def _transfer(device: Device, traffic: HostTraffic) -> PointTime:
    times = transfer_times(device, traffic)
    return PointTime(sum(times.values()), times, max(times, key=lambda name: times[name]), Level(), None, 0.0, 0.0)


def _core_time_s(groups_s: float, by_pipe: Mapping[str, float]) -> float:
    """Return the seconds that a CPU's core executes: it starts its groups itself, and barriers end its loops."""
    others = (time_s for name, time_s in by_pipe.items() if name != "barrier")
    return groups_s + by_pipe.get("barrier", 0.0) + smooth_maximum(others, THROUGHPUT_EXPONENT)


def _work_time(
    device: Device,
    demand: Demand,
    resident: Occupancy,
    computing_s: float,
    memory_s: float,
    latency_s: float,
    isolated: "_IsolatedGroup",
    exponent: float,
) -> float:
    """Return the seconds that work-groups take after they were started, with overlap of work and waits.

    *exponent* is that of the p-norm that joins latency and throughput.
    """
    throughput_s = smooth_maximum((computing_s, memory_s), THROUGHPUT_EXPONENT)
    work_s = smooth_maximum((throughput_s, latency_s), exponent)
    if not (device.is_cpu or several_dies(device) or demand.memory_chain or demand.cached_chain):
        # No group waits for data, so its time does not grow while memory is busy with the stores of others.
        work_s = max(throughput_s, smooth_maximum((computing_s, latency_s), exponent))
    if device.is_cpu:
        return work_s
    if resident.groups_per_compute_unit == 1:
        # No other group shares the compute unit, but memory still serves other units.
        work_s = smooth_maximum((memory_s, max(computing_s, latency_s)), exponent)
    if computing_s and not demand.chain.get("barrier"):
        with_last_s = computing_s + last_waves_time_s(device, demand, computing_s, isolated.chain_s)
        work_s = max(work_s, smooth_maximum((with_last_s, memory_s), THROUGHPUT_EXPONENT))
    if demand.phases_aligned:
        # Groups of the first round start together: they wait, load and compute at the same time, without overlap.
        # Every further round and every further dependent load desynchronises them.
        aligned_s = isolated.loads_s + memory_s + max(isolated.instructions_s, computing_s)
        rounds = work_group_rounds(device, demand, resident)
        work_s += max(0.0, aligned_s - work_s) / (rounds * max(1.0, demand.memory_chain))
    return work_s


def latency_exponent(groups: int, base: float = LATENCY_EXPONENT) -> float:
    """Return the exponent that joins latency and throughput: the fewer *groups* share a compute unit, the larger.

    *base* is that of many groups.
    """
    return base * groups / (groups - 1) if groups > 1 else inf


def several_dies(device: Device) -> bool:
    """Return whether compute units are on several dies, each with its own part of a cache and its own way to memory.

    Stores of such dies meet at memory, and the bandwidth of writes saturates as gradually as that of copies. This was
    found on an MI300X (eight dies). The curve of an MI300A (six dies), which was not used, has the same shape
    (RRZE-HPC/gpu-benches, gpu-stream).
    """
    return any(cache.partitions > ON_ONE_DIE for cache in device.caches)


def saturation_exponent(device: Device, demand: Demand) -> float:
    """Return the exponent of the p-norm that joins latency with memory bandwidth as work is added beyond the caches.

    The larger it is, the sharper is the transition.

    The constants are fitted to bandwidth against resident work-items (RRZE-HPC/gpu-benches, gpu-stream): of 2, 2.5, 3,
    4, 5, 6 and 8, rounded, they fit times and n90 best. Stacked memory: V100, A100 (40 and 80 GB), H100 PCIe, MI100 and
    MI210. Other memory: A40 and L40. Not used: RX 6900 XT, MI300A, and
    MI300X except for :func:`several_dies`.
    """
    directions = {stream.write for stream in demand.streams}
    if directions == {True}:
        return MIXED_EXPONENT if several_dies(device) else WRITES_EXPONENT
    exponent = READS_EXPONENT if directions == {False} else MIXED_EXPONENT
    return exponent if device.memory.stacked else FEWER_CHANNELS * exponent


def usable_capacities(device: Device, demand: Demand, resident: Occupancy) -> tuple[float, ...]:
    """Return the bytes of each cache that are available for data that the kernel reuses.

    Caches that are invalidated between dispatches are useless for reuse by the next dispatch. Local memory takes its
    part of a unified cache. Caches of several compute units add up only if each unit touches its own part of the data.
    Lines that share sets find only a part of each cache.
    """
    usable = []
    for cache in device.caches:
        capacity = cache.capacity_bytes
        if cache.unified_with_local_memory:
            capacity -= local_memory_in_use_bytes(device.architecture, resident, demand.groups / device.compute_units)
        if cache.scope == "compute_unit" and not demand.shared:
            capacity *= min(device.compute_units, ceil(demand.groups))
        lost = demand.reused == "never" or (demand.reused == "dispatch" and not cache.persistent)
        usable.append(0.0 if lost else capacity)
    return with_conflicts(device, usable, demand.stride_bytes) if demand.stride_bytes else tuple(usable)


def memory_traffic_time(
    device: Device, demand: Demand, footprint: float, usable: tuple[float, ...], resident: Occupancy
) -> tuple[float, str]:
    """Return the seconds that global memory traffic takes, and the name of the ceiling that limits it."""
    units = {
        "compute_unit": busy_fraction(device, demand),
        "device": min(1.0, ceil(demand.groups) / _group_places(device)),
    }
    writes_s = max(write_time_s(device, demand, resident), device.cycles(demand.waiting_cycles))
    in_flight = bytes_in_flight(device, demand, resident)
    overlapping = in_flight > footprint
    levels: list[ServingLevel[str]] = []
    slowest, limiting = 0.0, "DRAM"
    for cache, capacity in zip(device.caches, usable, strict=True):
        moved = traffic.outer_bytes(demand.streams, cache.sector_bytes)
        if not levels:
            moved = traffic.requested_bytes(demand.streams)
        elif device.is_cpu:
            # Between the caches of a core and beyond, a line that is written moves twice: fetched, then evicted.
            moved += traffic.filled_bytes(demand.streams, device, cache.sector_bytes)
        time_s = moved / (device.level_bandwidth_bytes_per_s(cache) * units[cache.scope])
        if time_s > slowest:
            slowest, limiting = time_s, cache.name
        if cache.scope == "device" and writes_s:
            limiting = write_ceiling(cache.name) if writes_s > slowest else limiting
            slowest = smooth_maximum((slowest, writes_s), THROUGHPUT_EXPONENT)
        transition = transition_range(cache, demand, overlapping=overlapping)
        levels.append(ServingLevel(limiting, capacity, transition, slowest, misses_of(device, cache, demand)))
    moved = traffic.memory_bytes(demand.streams, device, every_pass=demand.reused == "kernel")
    efficiency = device.memory.efficiency
    if not device.is_cpu and traffic.one_way(demand.streams, device):
        efficiency = 1 - ONE_WAY_LOSS * (1 - efficiency)
    memory_s = moved / (device.memory.bandwidth_bytes_per_s * efficiency)
    if memory_s > slowest:
        slowest, limiting = memory_s, "DRAM"
    levels.append(ServingLevel(limiting, inf, NO_TRANSITION, slowest))
    return staircase(footprint, shared_by_groups(device, levels, in_flight) if demand.shared else levels)


def shared_by_groups(
    device: Device, levels: Sequence[ServingLevel[str]], in_flight: float
) -> tuple[ServingLevel[str], ...]:
    """Return *levels* of which caches serve more than their capacity if many groups read the same data at once.

    Groups that all read the same data read each byte in_flight / footprint times at once. The next level delivers it
    once. A cache that all compute units share keeps its bandwidth as long as this factor exceeds the ratio of both
    bandwidths. MI100 and MI210 read at half of this bandwidth at 0.8 to 1.0 of this size, three times their L2
    (RRZE-HPC/gpu-benches, gpu-l2-cache).

    Args:
        device: whose caches the levels are, before memory.
        levels: nearest first, memory last; costs in seconds.
        in_flight: bytes that all resident groups request until they end.
    """
    served = (
        replace(near, capacity_bytes=max(near.capacity_bytes, in_flight * near.cost / far.cost))
        if cache.scope == "device"
        else near
        for cache, (near, far) in zip(device.caches, pairwise(levels), strict=True)
    )
    return (*served, levels[-1])


def bytes_in_flight(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return the bytes that all resident work-groups request until they end; 0 without reuse within the kernel."""
    if demand.reused != "kernel":
        return 0.0
    groups = min(demand.groups, _resident_groups(device, resident))
    return traffic.requested_bytes(demand.streams) / demand.groups * groups


def transition_range(cache: Cache, demand: Demand, *, overlapping: bool) -> Transition:
    """Return the transition range of a bandwidth curve beyond *cache*.

    Passes over the data are *overlapping* if some groups start the next one before others finish the previous one.
    """
    if demand.writes:
        return cache.transition_of_ping_pong if demand.ping_pong else cache.transition_of_writes
    return cache.bandwidth_transition if overlapping else cache.transition_of_cyclic_sweeps


def busy_fraction(device: Device, demand: Demand) -> float:
    """Return the mean fraction of the compute units that work until the most loaded one has finished its groups."""
    return demand.groups / (_groups_per_compute_unit(device, demand) * _group_places(device))


def _group_places(device: Device) -> float:
    """Return the number of places for a work-group: compute units, Intel's subslices or AMD's work-group processors."""
    return max(1.0, device.compute_units / units_per_group(device.architecture.occupancy))


def _groups_per_compute_unit(device: Device, demand: Demand) -> int:
    """Return the number of work-groups of the most loaded compute unit (or subslice)."""
    return ceil(demand.groups / _group_places(device))


def write_time_s(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return the seconds that the cache shared by all compute units takes for writes.

    A slice of the cache writes one sector after another. A line with sectors that a store covers only in part costs
    additional time.
    Reads of data that the previous dispatch wrote share the path between a cache's partitions with writes; each counts
    as a fraction of a write.

    Strided writes of an H200 (memory/scatter) take 1.25 cycles of a slice for each sector and 1.2 more for each line,
    within 3 % at strides of 2 to 64 words. At stride 1, where stores cover whole sectors, only the sectors take time.
    """
    shared = device.shared_cache
    sector = shared.sector_bytes if shared else device.memory.access_bytes
    written = tuple(stream for stream in demand.streams if stream.write)
    sectors = traffic.outer_bytes(written, sector) / sector * demand.stores_per_sector
    if shared and demand.ping_pong and work_group_rounds(device, demand, resident) > 1:
        sectors += _crossing_reads(shared, demand)
    rate, line_rate = device.architecture.sector_writes_per_cycle, device.architecture.line_writes_per_cycle
    lines = _partly_written_lines(demand, sectors * sector) if rate else demand.line_writes or 0.0
    cycles = sum(count / per_cycle for count, per_cycle in ((sectors, rate), (lines, line_rate)) if per_cycle)
    return device.cycles(cycles / ((shared and shared.slices) or device.compute_units))


def _partly_written_lines(demand: Demand, sector_bytes: float) -> float:
    """Return the number of lines with partly written sectors, summed over all stores of all waves.

    Stores write some of their sectors, of *sector_bytes* in total, completely, and the others to a half at most
    (assumed).
    """
    written = sum(s.elements * s.used_bytes * s.outer_passes for s in demand.streams if s.write)
    partly = min(1.0, 2.0 * (1.0 - written / sector_bytes)) if sector_bytes else 0.0
    return partly * (demand.line_writes or 0.0)


def misses_of(device: Device, cache: Cache, demand: Demand) -> tuple[Misses, ...]:
    """Return what *cache* exchanges with memory: because of reads, and because of writes.

    Nothing if the rate of the cache is unknown, or if the kernel does not both read and write. Partly written sectors
    are filled from memory, too. They leave the cache when written data do, even if the next dispatch reads them.
    """
    rate, sector = device.architecture.sector_writes_per_cycle, cache.sector_bytes
    read = [stream for stream in demand.streams if not stream.write]
    written = [stream for stream in demand.streams if stream.write]
    if cache.scope != "device" or not (rate and cache.slices and read and written):
        return ()
    every_pass, allocate = demand.reused == "kernel", device.architecture.write_allocate
    moved = traffic.memory_bytes(demand.streams, device, every_pass=every_pass)
    fill_s = FILL_TIME * device.cycles(1 / (rate * cache.slices))

    def misses(streams: Sequence[Stream], transition: Transition) -> Misses:
        filled = sum(
            (
                traffic.fill_bytes(stream, sector, write_allocate=allocate)
                if stream.write
                else traffic.touched_bytes(stream, sector)
            )
            * min(1.0, stream.outer_passes)
            for stream in streams
        )
        share = traffic.memory_bytes(streams, device, every_pass=every_pass) / moved
        return Misses(transition, share, filled / sector * fill_s)

    reads = transition_range(cache, demand, overlapping=False)
    return misses(read, reads), misses(written, cache.transition_of_writes)


def _crossing_reads(cache: Cache, demand: Demand) -> float:
    """Return the load of reads on the path between a cache's partitions, as an equivalent number of writes.

    With two partitions, half of all writes cross to a line's home on the other side and leave a copy on this side. A
    quarter of the reads cross: half of the lines have their home on the other side, and half of these were written from
    there. A read therefore counts as half a write, if the path limits writes and serves reads and writes alike
    (assumed: one crossing rate fits one-way copies, ping-pong copies and in-place copies on an H200 to 5 %). After a
    read both sides have the line. This applies if each group goes to whichever compute unit is free. If all groups are
    resident at once, each runs where it ran before and finds what it wrote.

    Counters of an H200, ping-pong copies of 16 to 32 MiB: 0.00 of the reads cross up to one round of groups, 0.18 to
    0.26 from 1.1 rounds on, and 0.50 of the writes. Beyond the cache half of all reads cross. That is not counted,
    because memory takes longer there.
    """
    reads = [stream for stream in demand.streams if not stream.write]
    renewed = min(1.0, max((stream.outer_passes for stream in demand.streams if stream.write), default=0.0))
    touched = sum(traffic.touched_bytes(stream, cache.sector_bytes) * min(1.0, stream.outer_passes) for stream in reads)
    return touched / cache.sector_bytes * renewed * (1 - 1 / cache.partitions)


def instruction_class_times(device: Device, demand: Demand) -> dict[str, float]:
    """Return the seconds of each instruction class on the most loaded compute unit, with all its pipes busy."""
    units = busy_fraction(device, demand)
    rates = device.architecture.rates_per_cycle
    factors = {"local": demand.local_conflicts, "memory": _access_passes(device, demand)}
    if device.is_cpu:
        for counted_s in (cpu_times.loop_time_s(device, demand), cpu_times.scalar_time_s(device, demand)):
            if counted_s is not None:
                return {"instruction": counted_s / units}
        factors = cpu_times.class_factors(device, demand, factors)
    times = {
        name: count * factors.get(name, 1.0) / (device.rate_per_s(name) * units)
        for name, count in demand.operations.items()
        if name in rates
    }
    barriers = demand.operations.get("barrier", 0.0) / prod(demand.work_group)
    barriers_s = device.cycles(barriers * device.architecture.barrier_cycles / (device.compute_units * units))
    return {**times, "local": times.get("local", 0.0) + barriers_s} if barriers_s else times


def _access_passes(device: Device, demand: Demand) -> float:
    """Return the time of a wave's access relative to an access to neighbouring words.

    The cache looks up an access's lines one by one. A first cache that uses the banks of local memory also reads lines
    that map to the same banks one by one, a cycle each.
    """
    architecture = device.architecture
    passes = max(1.0, demand.lines_per_access / architecture.lines_per_access)
    if demand.line_conflicts > 1 and device.caches and device.caches[0].unified_with_local_memory:
        cycles = architecture.wave_size / architecture.rates_per_cycle["memory"]
        return max(passes, demand.line_conflicts / cycles)
    return passes


def pipe_times(device: Device, by_class: Mapping[str, float]) -> dict[str, float]:
    """Replace the times of classes that share one pipe by their sum, under the pipe's name."""
    times = dict(by_class)
    for pipe, members in device.architecture.pipes.items():
        used = [name for name in members if times.get(name)]
        if len(used) > 1:
            times[pipe] = sum(times.pop(name) for name in used)
    return times


def _waves_per_group(device: Device, demand: Demand) -> int:
    return ceil(prod(demand.work_group) / device.architecture.wave_size)


def _waves_per_compute_unit(device: Device, demand: Demand) -> int:
    return _waves_per_group(device, demand) * _groups_per_compute_unit(device, demand)


def group_time_s(device: Device, demand: Demand) -> float:
    """Return the seconds that it takes to start all work-groups.

    The dispatcher starts one group after another, and each compute unit one wave after another. Empty groups of 1024
    work-items on an H200 take 8.9 cycles of a compute unit for each wave, from 2^10 to 2^20 groups within 2 %. Groups
    of 512 keep up with the dispatcher.
    """
    dispatched_s = demand.groups / (device.launch.groups_per_cycle * device.clock_hz)
    rate = device.architecture.wave_starts_per_cycle
    return max(dispatched_s, device.cycles(_waves_per_compute_unit(device, demand) / rate)) if rate else dispatched_s


@dataclass(frozen=True)
class _IsolatedGroup:
    """The time of a work-group that has a compute unit for itself, in seconds.

    Attributes:
        loads_s: dependent loads.
        chain_s: dependent instructions.
        instructions_s: dependent instructions, or the issue of all its instructions if that takes longer.
    """

    loads_s: float
    chain_s: float
    instructions_s: float


def isolated_group(
    device: Device, demand: Demand, load_cycles: float, class_times: Mapping[str, float]
) -> _IsolatedGroup:
    """Return the times of a work-group that has a compute unit to itself."""
    loaded = device.architecture.loaded_latency_factor if demand.loaded else 1.0
    latencies = device.architecture.latency_cycles
    chain_s = device.cycles(sum(count * latencies.get(name, 0.0) for name, count in demand.chain.items()))
    near_cycles = device.shared_cache.latency_cycles if device.shared_cache else 0.0
    several = not device.is_cpu and sum(not stream.write for stream in demand.streams) > 1
    if device.is_cpu and demand.loaded:
        load_cycles = near_cycles = 0.0  # prefetched
    cycles = load_cycles * loaded * (SEVERAL_LOADS if several else 1.0)
    nearest_cycles = device.caches[0].latency_cycles if device.caches else 0.0
    rounds = demand.memory_chain * cycles + demand.cached_chain * near_cycles + demand.nearest_chain * nearest_cycles
    loads_s = device.cycles(rounds)
    return _IsolatedGroup(loads_s, chain_s, max(chain_s, issue_time_s(device, demand, class_times)))


def turnover_s(device: Device, demand: Demand) -> float:
    """Return the seconds from the last instruction of a work-group to the first one of its successor.

    Waves of some architectures keep their place until the cache that all compute units share has accepted their stores.
    These pass through the same queues as loads, so that load lengthens both alike.
    """
    architecture = device.architecture
    cycles = architecture.turnover_cycles
    if demand.writes:
        loaded = architecture.loaded_latency_factor if demand.loaded else 1.0
        cycles += architecture.store_cycles * loaded
    return device.cycles(cycles)


def last_stores_s(device: Device, demand: Demand) -> float:
    """Return the seconds from the last store of a dispatch on a GPU until the cache of all compute units has it."""
    shared = device.shared_cache
    if device.is_cpu or shared is None or not demand.writes:
        return 0.0
    return device.cycles(shared.latency_cycles)


def last_waves_time_s(device: Device, demand: Demand, computing_s: float, chain_s: float) -> float:
    """Return the seconds that schedulers idle at the end because too few waves are left.

    The oldest waves go first, so waves end one after another (assumed; with fair scheduling all would end together). An
    isolated wave takes as long as r waves' shares of the issue slots. With k < r waves left, a scheduler is busy for
    k / r of the time, until the next wave ends. If all waves together barely keep the scheduler busy, no idle time is
    added. Waves that meet at barriers end together.
    """
    waves = ceil(_waves_per_compute_unit(device, demand) / _schedulers(device))
    share_s = computing_s / waves
    isolated_s = smooth_maximum((share_s, chain_s), ISOLATED_EXPONENT)
    last = ceil(isolated_s / share_s) - 1
    idle_s = last * share_s * (1 - (last + 1) / 2 * share_s / isolated_s)
    return max(0.0, min(idle_s, computing_s - isolated_s))


def work_group_rounds(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return the work-groups per resident group; a group's successor starts after its last wave has ended."""
    return max(1.0, demand.groups / _resident_groups(device, resident))


def _resident_groups(device: Device, resident: Occupancy) -> float:
    """Return the number of groups resident on the device at once, at least one per compute unit (or subslice)."""
    return max(1, resident.groups_per_compute_unit) * _group_places(device)


_SHARED_PIPES = frozenset({"local", "shuffle", "memory", "barrier"})
"""Classes whose pipe all schedulers of a compute unit share. Each scheduler has its own part of all other pipes."""


def _schedulers(device: Device) -> int:
    rules, schedulers = device.architecture.occupancy, device.architecture.schedulers
    return (rules.simds if isinstance(rules, AmdOccupancy) else schedulers) * units_per_group(rules)


def with_uneven_schedulers(device: Device, class_times: Mapping[str, float], waves: int) -> dict[str, float]:
    """Return the times of instruction classes if *waves* are distributed among a compute unit's schedulers.

    A wave stays with one scheduler. The pipes of the others idle while those with one wave more finish.
    """
    if device.is_cpu:
        return dict(class_times)  # a core has one instruction stream, which uses all its pipes
    parts = _schedulers(device)
    longer = parts * ceil(waves / parts) / waves
    return {name: time_s if name in _SHARED_PIPES else time_s * longer for name, time_s in class_times.items()}


def issue_time_s(device: Device, demand: Demand, class_times: Mapping[str, float]) -> float:
    """Return the seconds that one group's instructions take to issue on a compute unit without other groups."""
    if device.is_cpu:
        return 0.0
    times = pipe_times(device, with_uneven_schedulers(device, class_times, _waves_per_group(device, demand)))
    return max(times.values(), default=0.0) / _groups_per_compute_unit(device, demand)
