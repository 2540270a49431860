"""The time of one point: launch cost plus the largest of several ceilings, joined by soft corners.

::

    T = launch + max( groups, W + in step )
    W = max( corner_p( corner_4(operations by pipe or class, memory), latency ),
             corner_4(operations + last waves, memory) )

Every ceiling is the time that the dispatch would take if nothing else limited it. ``p`` is 3 where many groups share a
compute unit, and infinite where one has it for itself: it has nobody to disturb. Where there is room for one group
only, however many follow, its operations and its latency do not disturb each other either: W is corner_p( memory, max(
operations, latency ) ) then, on GPUs. ``in step``: groups of the first round start together, and what they do one
after the other does not overlap yet. ``latency`` is what a group takes alone, once for each round of groups, and the
time that passes between one group's end and the next one's start. ``last waves``: if schedulers let the oldest waves
go first (assumed, of GPUs and of kernels without barriers), too few are left in the end to keep them busy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, inf, prod

from gpureport.predict import traffic
from gpureport.predict.occupancy import Resources, local_memory_in_use_bytes, occupancy
from gpureport.predict.residency import Step, latency_levels, staircase
from gpureport.records.levels import Level
from gpureport.records.prediction import Occupancy
from gpureport.spec.models import AmdOccupancy, Cache, Device, IntelOccupancy, Transition
from gpureport.workloads.model import Demand

THROUGHPUT_EXPONENT = 4.0
"""p-norm that joins throughput ceilings: fits roofline sweeps of A100, A40 and L40 to 2 % in the median
(RRZE-HPC/gpu-benches @1038c5d, gpu-roofline)."""
LATENCY_EXPONENT = 3.0
"""p-norm that joins latency with throughput: of 1.5 to 4 it fits bandwidth against resident work-items best, on A100,
A40, H100 and MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream): half of the times within 6 %, nine in ten within 15."""
ISOLATED_EXPONENT = 2.0
"""p-norm that joins what a wave waits for with its own instructions where no others fill its waits: what the last ones
of an H200 leave idle in kernels that issue for as long as they wait (bit_transpose/ballot, vector;
reports/nvidia-h200)."""
ONE_WAY_LOSS = 0.2
"""Share of what streams lose of the listed bandwidth that is lost where data only come or only go, so that memory's bus
never turns round: an H200's copy reaches 0.89 of it, its reads and writes 0.98 (reports/nvidia-h200)."""
_MEMORY_CLASSES = frozenset({"memory", "instruction"})


@dataclass(frozen=True)
class PointTime:
    """The model's answer for one point; all times in seconds.

    Attributes:
        time_s: of one dispatch.
        ceilings_s: by name.
        binding: the name of the largest ceiling.
        level: the memory level that mostly serves the working set.
        occupancy: of the kernel.
        operations: lane operations that compute (no memory accesses, no overhead).
        memory_bytes: that would move if no cache held anything from before.
    """

    time_s: float
    ceilings_s: Mapping[str, float]
    bottleneck: str
    level: Level
    occupancy: Occupancy
    operations: float
    memory_bytes: float


def corner(times: Iterable[float], p: float) -> float:
    """Return the p-norm of *times*: their maximum with a soft corner."""
    values = [time for time in times if time > 0]
    largest = max(values, default=0.0)
    if p == inf:
        return largest
    return largest * sum((value / largest) ** p for value in values) ** (1 / p) if largest else 0.0


def point_time(device: Device, demand: Demand, resources: Resources) -> PointTime:
    """Predict one dispatch of *demand* on *device*, compiled to *resources*."""
    resident = occupancy(device.architecture, demand.work_group, resources)
    footprint = traffic.footprint_bytes(demand.streams, device, one_buffer=demand.one_buffer)
    held = _usable_bytes(device, demand, resident)
    load_cycles, level = staircase(footprint, latency_levels(device, held))
    evenly = _operation_times(device, demand)
    by_class = _unevenly(device, evenly, _waves_of_a_host(device, demand))
    by_pipe = _pipe_times(device, by_class)
    memory_s, bound = _memory_time(device, demand, footprint, held, resident) if demand.streams else (0.0, "DRAM")
    isolated = _isolated(device, demand, load_cycles, evenly)
    rounds = ceil(_rounds(device, demand, resident))
    # The first groups start with the dispatch, whose launch is counted by itself.
    latency_s = isolated.time_s * rounds + device.cycles(device.architecture.turnover_cycles) * (rounds - 1)
    groups_s = _group_time(device, demand)
    # What starts work-groups does nothing else: it waits for nobody.
    work_s = max(_work_time(device, demand, resident, by_pipe, memory_s, latency_s, isolated), groups_s)
    launch_s = device.launch.single_s if demand.isolated else device.launch.batched_s
    moving = {bound: memory_s} if demand.streams else {}
    ceilings = {"launch": launch_s, "latency": latency_s, "groups": groups_s, **by_class, **by_pipe, **moving}
    return PointTime(
        time_s=launch_s + work_s,
        ceilings_s=ceilings,
        bottleneck=max(ceilings, key=lambda name: ceilings[name]),
        level=level,
        occupancy=resident,
        operations=sum(n for name, n in demand.operations.items() if name not in _MEMORY_CLASSES),
        memory_bytes=traffic.memory_bytes(demand.streams, device, every_pass=demand.reused == "kernel"),
    )


def _work_time(
    device: Device,
    demand: Demand,
    resident: Occupancy,
    by_pipe: Mapping[str, float],
    memory_s: float,
    latency_s: float,
    isolated: "_Isolated",
) -> float:
    """Return the seconds that groups take once they are started: what of their work and their waits overlaps."""
    computing_s = corner(by_pipe.values(), THROUGHPUT_EXPONENT)
    throughput_s = corner((*by_pipe.values(), memory_s), THROUGHPUT_EXPONENT)
    p = _latency_corner(_groups_of_a_unit(device, demand))
    work_s = corner((throughput_s, latency_s), p)
    if device.kind == "cpu":
        return work_s
    if resident.groups_per_compute_unit == 1:
        # Nobody else is on the unit, now or later; memory has others to serve.
        work_s = corner((memory_s, max(computing_s, latency_s)), p)
    if computing_s and not demand.chain.get("barrier"):
        with_last_s = computing_s + _last_waves_time(device, demand, computing_s, isolated.chain_s)
        work_s = max(work_s, corner((with_last_s, memory_s), THROUGHPUT_EXPONENT))
    if demand.in_step:
        # Groups of the first round start together: they wait, load and compute in step, and nothing overlaps, unless
        # they do so again and again.
        in_step_s = isolated.loads_s + memory_s + max(isolated.instructions_s, computing_s)
        rounds = _rounds(device, demand, resident)
        work_s += max(0.0, in_step_s - work_s) / (rounds * max(1.0, demand.memory_chain))
    return work_s


def _latency_corner(groups: int) -> float:
    """Return the p-norm of latency and throughput: the fewer *groups* share a compute unit, the less they disturb."""
    return LATENCY_EXPONENT * groups / (groups - 1) if groups > 1 else inf


def _usable_bytes(device: Device, demand: Demand, resident: Occupancy) -> tuple[float, ...]:
    """Return what each cache holds of the data that the kernel finds again.

    Caches that do not outlive a dispatch hold nothing for data that the next dispatch reuses. Local memory takes
    its part of a unified cache. Caches of compute units that have a work-group add up only if each unit touches its own
    part.
    """
    held = []
    for cache in device.caches:
        capacity = cache.capacity_bytes
        if cache.unified_with_local_memory:
            capacity -= local_memory_in_use_bytes(device.architecture, resident, demand.groups / device.compute_units)
        if cache.scope == "compute_unit" and not demand.shared:
            capacity *= min(device.compute_units, ceil(demand.groups))
        lost = demand.reused == "never" or (demand.reused == "dispatch" and not cache.persistent)
        held.append(0.0 if lost else capacity)
    return tuple(held)


def _memory_time(
    device: Device, demand: Demand, footprint: float, held: tuple[float, ...], resident: Occupancy
) -> tuple[float, str]:
    """Return the seconds that global memory traffic takes, and the level that bounds it."""
    again = demand.reused == "kernel"
    units = {
        "compute_unit": _busy_share(device, demand),
        "device": min(1.0, ceil(demand.groups) / _compute_units(device)),
    }
    writes_s = _write_time(device, demand, resident)
    overlapping = _in_flight_bytes(device, demand, resident) > footprint
    levels, slowest, bound = [], 0.0, "DRAM"
    for index, (cache, capacity) in enumerate(zip(device.caches, held, strict=True)):
        moved = (
            traffic.requested_bytes(demand.streams)
            if index == 0
            else traffic.outer_bytes(demand.streams, cache.sector_bytes)
        )
        time_s = moved / (device.level_bandwidth_bytes_per_s(cache) * units[cache.scope])
        if time_s > slowest:
            slowest, bound = time_s, cache.name
        if cache.scope == "device" and writes_s:
            bound = f"{cache.name} writes" if writes_s > slowest else bound
            slowest = corner((slowest, writes_s), THROUGHPUT_EXPONENT)
        levels.append(Step(bound, capacity, _transition(cache, demand, overlapping=overlapping), slowest))
    moved = traffic.memory_bytes(demand.streams, device, every_pass=again)
    reached = device.memory.efficiency
    if device.kind != "cpu" and traffic.one_way(demand.streams, device):
        reached = 1 - ONE_WAY_LOSS * (1 - reached)
    memory_s = moved / (device.memory.bandwidth_bytes_per_s * reached)
    if memory_s > slowest:
        slowest, bound = memory_s, "DRAM"
    nowhere = Transition(onset=1, midpoint=1, end=1)
    levels.append(Step(bound, float("inf"), nowhere, slowest))
    return staircase(footprint, levels)


def _in_flight_bytes(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return what the resident work-groups will have asked for when they end; 0 if data are not found again by them."""
    if demand.reused != "kernel":
        return 0.0
    groups = min(demand.groups, _slots(device, resident))
    return traffic.requested_bytes(demand.streams) / demand.groups * groups


def _transition(cache: Cache, demand: Demand, *, overlapping: bool) -> Transition:
    """Return where a curve of bandwidth leaves *cache*.

    Args:
        cache: of a device.
        demand: of the kernel.
        overlapping: whether groups begin with the next pass over the data before others are done with the last one.
    """
    if any(stream.write for stream in demand.streams):
        return cache.transition_of_ping_pong if demand.ping_pong else cache.transition_of_writes
    return cache.bandwidth_transition if overlapping else cache.transition_of_cyclic_sweeps


def _busy_share(device: Device, demand: Demand) -> float:
    """Return the share of the compute units that work, on average, until the fullest has done its groups."""
    return demand.groups / (_groups_of_a_unit(device, demand) * _compute_units(device))


def _units_sharing_a_group(device: Device) -> int:
    """Return how many compute units share a work-group's waves: Intel's execution units those of a subslice."""
    rules = device.architecture.occupancy
    return rules.units_per_subslice if isinstance(rules, IntelOccupancy) else 1


def _compute_units(device: Device) -> float:
    """Return how many places there are where a work-group can run: compute units, or groups of them."""
    return max(1.0, device.compute_units / _units_sharing_a_group(device))


def _groups_of_a_unit(device: Device, demand: Demand) -> int:
    """Return how many groups the fullest of these places gets."""
    return ceil(demand.groups / _compute_units(device))


def _write_time(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return the seconds that the cache that all units share takes for writes: their number's or their sectors'.

    Whichever takes longer. Between the partitions of a cache writes meet reads of what the last dispatch wrote, which
    count as a part of a write each.
    """
    shared = next((cache for cache in device.caches if cache.scope == "device"), None)
    line, sector = (shared.line_bytes, shared.sector_bytes) if shared else (device.memory.access_bytes,) * 2
    written = tuple(stream for stream in demand.streams if stream.write)
    sectors = traffic.outer_bytes(written, sector) / sector * demand.stores_per_sector
    if shared and demand.ping_pong and _rounds(device, demand, resident) > 1:
        sectors += _crossing_reads(shared, demand)
    lines = traffic.outer_bytes(written, line) / line if demand.line_writes is None else demand.line_writes
    architecture = device.architecture
    counted = (sectors, architecture.sector_writes_per_cycle), (lines, architecture.line_writes_per_cycle)
    cycles = max(count / (per_cycle * device.compute_units) if per_cycle else 0.0 for count, per_cycle in counted)
    return device.cycles(cycles)


def _crossing_reads(cache: Cache, demand: Demand) -> float:
    """Return how many writes the reads of what the last dispatch wrote are worth to the path between partitions.

    Of two partitions half of all writes take it, to lines whose home is on the other side, and leave a copy on this
    side. A quarter of the reads take it: half of the lines are at home on the other side, and half of these were
    written from there. A read is thus worth half a write, if the path is what limits writes, and takes reads and writes
    alike (assumed: the same rate of crossing fits copies one way, there and back, and in place on an H200 to 5 %). Once
    read, a line is on both sides. That is so if groups go to whichever unit is free: where all reside at once, each
    goes where it went before, and finds what it wrote.

    An H200's counters, in copies there and back of 16 to 32 MiB: of what is read 0.00 crosses up to one round of
    groups, and 0.18 to 0.26 from 1.1 rounds on; of what is written 0.50. Beyond the cache half of all reads cross,
    whoever wrote them; as memory takes longer there, no more than within it is counted.
    """
    reads = [stream for stream in demand.streams if not stream.write]
    renewed = min(1.0, max((stream.outer_passes for stream in demand.streams if stream.write), default=0.0))
    touched = sum(traffic.touched_bytes(stream, cache.sector_bytes) * min(1.0, stream.outer_passes) for stream in reads)
    return touched / cache.sector_bytes * renewed * (1 - 1 / cache.partitions)


def _operation_times(device: Device, demand: Demand) -> dict[str, float]:
    """Return the seconds each instruction class takes on the compute unit that has most groups, with all its pipes."""
    units = _busy_share(device, demand)
    rates = device.architecture.rates_per_cycle
    factors = {"local": demand.local_conflicts, "memory": _access_turns(device, demand)}
    if demand.branches and device.kind == "cpu":
        # One work-item after the other instead of a vector of them; at a barrier that is so in any case.
        scalar = device.architecture.wave_size
        factors = {name: scalar * factors.get(name, 1.0) for name in demand.operations.keys() - {"barrier"}}
    times = {
        name: count * factors.get(name, 1.0) / (device.rate_per_s(name) * units)
        for name, count in demand.operations.items()
        if name in rates
    }
    barriers = demand.operations.get("barrier", 0.0) / prod(demand.work_group)
    kept_s = device.cycles(barriers * device.architecture.barrier_cycles / (device.compute_units * units))
    return {**times, "local": times.get("local", 0.0) + kept_s} if kept_s else times


def _access_turns(device: Device, demand: Demand) -> float:
    """Return how often as long an access of a wave takes as one of neighbouring words.

    Its lines are looked up one after the other. Where the first cache lies in local memory's banks, lines of which it
    wants the same banks are read one a cycle.
    """
    architecture = device.architecture
    turns = max(1.0, demand.lines_per_access / architecture.lines_per_access)
    if demand.line_conflicts > 1 and device.caches and device.caches[0].unified_with_local_memory:
        cycles = architecture.wave_size / architecture.rates_per_cycle["memory"]
        return max(turns, demand.line_conflicts / cycles)
    return turns


def _pipe_times(device: Device, by_class: Mapping[str, float]) -> dict[str, float]:
    """Add up the times of classes that one pipe executes; the sum has the pipe's name."""
    times = dict(by_class)
    for pipe, members in device.architecture.pipes.items():
        used = [name for name in members if times.get(name)]
        if len(used) > 1:
            times[pipe] = sum(times.pop(name) for name in used)
    return times


def _waves_of_a_group(device: Device, demand: Demand) -> int:
    return ceil(prod(demand.work_group) / device.architecture.wave_size)


def _waves_of_a_host(device: Device, demand: Demand) -> int:
    return _waves_of_a_group(device, demand) * _groups_of_a_unit(device, demand)


def _group_time(device: Device, demand: Demand) -> float:
    """Return the seconds that starting all work-groups takes."""
    return demand.groups / (device.launch.groups_per_cycle * device.clock_hz)


@dataclass(frozen=True)
class _Isolated:
    """What a work-group takes that has a compute unit for itself, in seconds.

    Attributes:
        loads_s: rounds of loads, one after the other.
        chain_s: instructions that depend on one another.
        issue_s: the issue of all its instructions.
    """

    loads_s: float
    chain_s: float
    issue_s: float

    @property
    def instructions_s(self) -> float:
        """The chain or the issue, whichever takes longer."""
        return max(self.chain_s, self.issue_s)

    @property
    def time_s(self) -> float:
        """Of the whole group."""
        return self.loads_s + self.instructions_s


def _isolated(device: Device, demand: Demand, load_cycles: float, evenly: Mapping[str, float]) -> _Isolated:
    loaded = device.architecture.loaded_latency_factor if demand.loaded else 1.0
    latencies = device.architecture.latency_cycles
    chain_s = device.cycles(sum(count * latencies.get(name, 0.0) for name, count in demand.chain.items()))
    near_cycles = next((cache.latency_cycles for cache in device.caches if cache.scope == "device"), 0.0)
    loads_s = device.cycles(demand.memory_chain * load_cycles * loaded + demand.cached_chain * near_cycles)
    return _Isolated(loads_s, chain_s, _issue_time(device, demand, evenly))


def _last_waves_time(device: Device, demand: Demand, computing_s: float, chain_s: float) -> float:
    """Return the seconds that schedulers idle for want of waves: the oldest go first, so they end one after another.

    A lone wave takes as long as the shares of r waves: with k < r of them left, a scheduler works k / r of its time,
    until the next one ends after a wave's share (an assumption: waves that took fair turns would end together). Where
    all waves together only just keep it busy, none is left over. Waves that meet at barriers go together.
    """
    waves = ceil(_waves_of_a_host(device, demand) / _schedulers(device))
    share_s = computing_s / waves
    isolated_s = corner((share_s, chain_s), ISOLATED_EXPONENT)
    last = ceil(isolated_s / share_s) - 1
    idle_s = last * share_s * (1 - (last + 1) / 2 * share_s / isolated_s)
    return max(0.0, min(idle_s, computing_s - isolated_s))


def _rounds(device: Device, demand: Demand, resident: Occupancy) -> float:
    """Return how often all resident groups are replaced: a group's successor starts when its last wave is done."""
    return max(1.0, demand.groups / _slots(device, resident))


def _slots(device: Device, resident: Occupancy) -> float:
    """Return how many groups reside at once; one a place in any case."""
    return max(1, resident.groups_per_compute_unit) * _compute_units(device)


_OF_A_UNIT = frozenset({"local", "shuffle", "memory", "barrier"})
"""Classes that all schedulers of a compute unit share; the others have a part of their pipe for each."""


def _schedulers(device: Device) -> int:
    """Return among how many schedulers the waves of a work-group are dealt out."""
    rules, schedulers = device.architecture.occupancy, device.architecture.schedulers
    return rules.simds if isinstance(rules, AmdOccupancy) else schedulers * _units_sharing_a_group(device)


def _unevenly(device: Device, evenly: Mapping[str, float], waves: int) -> dict[str, float]:
    """Return how long instruction classes take if *waves* share a compute unit.

    A wave stays with one scheduler; while those that have one wave more are at work, the pipes of the others wait.
    """
    if device.kind == "cpu":
        return dict(evenly)  # a core has but one thread of instructions, to which all its pipes belong
    parts = _schedulers(device)
    longer = parts * ceil(waves / parts) / waves
    return {name: time_s if name in _OF_A_UNIT else time_s * longer for name, time_s in evenly.items()}


def _issue_time(device: Device, demand: Demand, evenly: Mapping[str, float]) -> float:
    """Return the seconds that one group's instructions take to issue on a compute unit that has no other group."""
    if device.kind == "cpu":
        return 0.0
    times = _pipe_times(device, _unevenly(device, evenly, _waves_of_a_group(device, demand)))
    return max(times.values(), default=0.0) / _groups_of_a_unit(device, demand)
