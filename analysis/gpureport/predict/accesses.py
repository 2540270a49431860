"""What each load, store and atomic instruction of a demand costs, in the unit that executes it and in the shared cache.

A unit executes the accesses of all instructions one after another. Each takes the time of whatever is slowest: its
lanes, the lines that the unit looks up, the words in one bank, or lanes that add to one address.
"""

from collections import defaultdict
from collections.abc import Iterable
from math import ceil, prod

from gpureport.grouping import grouped
from gpureport.predict.traffic import memory_passes, touched_bytes
from gpureport.spec.models import Architecture, Cache, Device
from gpureport.spec.uncertainty import constant, sourced
from gpureport.workloads.atomics import SLICE_BYTES, busiest_share
from gpureport.workloads.model import AccessDemand, Demand

PASS_DELAY = sourced("predict.accesses.PASS_DELAY", float)
"""Cycles that each further cycle of the load/store unit adds to the latency of the access."""
CONSTANT_DELAY = sourced("predict.accesses.CONSTANT_DELAY", float)
"""The same of each further cycle of the constant cache."""
_OFTEN = constant(4.0, "assumed")
"""Most lanes for each one that is below the lane before, if addresses have no order; 2 if random."""


def _by_constant_port(each: AccessDemand, architecture: Architecture) -> bool:
    """Whether a constant cache's own port serves an access: to tables of a program, or to one address by all lanes."""
    port = each.space == "constant" and architecture.constant_cycles > 0
    return port and (not each.buffer or each.distinct <= each.waves)


def _shared(demand: Demand, *kinds: str) -> list[AccessDemand]:
    return [each for each in demand.accesses if each.kind in kinds and each.space != "local"]


def global_passes(demand: Demand, device: Device) -> float:
    """Return the mean time of a wave's access relative to a global access to neighbouring words; 0 if by another port.

    The cache looks up an access's lines one by one, those that it contains faster. A first cache that uses the banks of
    local memory also reads words in the same bank one by one, a cycle each.
    """
    return _mean((each, _passes(each, device)) for each in _shared(demand, "load", "store", "atomic"))


def lookup_cycles(demand: Demand, device: Device) -> float:
    """Return the cycles in which all compute units look up the lines of loads."""
    lookups = sum(_lookups(each, device) for each in _shared(demand, "load"))
    return lookups / _share_of_access(device.architecture, "memory")


def _lookups(each: AccessDemand, device: Device) -> float:
    architecture = device.architecture
    if _by_constant_port(each, architecture):
        return 0.0
    hits = architecture.hit_lines_per_access or architecture.lines_per_access
    missed = _missed_lines(each)
    return max(each.waves, missed / architecture.lines_per_access + (each.lines - missed) / hits)


def _passes(each: AccessDemand, device: Device) -> float:
    port = _by_constant_port(each, device.architecture)
    if port or not (device.caches and device.caches[0].unified_with_local_memory):
        return _lookups(each, device)
    return max(_lookups(each, device), each.conflict_cycles * _share_of_access(device.architecture, "memory"))


def further_load_cycles(demand: Demand, device: Device) -> float:
    """Return the mean of the cycles by which lines, banks and different constants lengthen a dependent load."""
    architecture = device.architecture
    cycle = _share_of_access(architecture, "memory")

    def cycles(each: AccessDemand) -> float:
        if _by_constant_port(each, architecture):
            return CONSTANT_DELAY * architecture.constant_cycles * (each.distinct - each.waves)
        return PASS_DELAY * (_passes(each, device) - each.waves) / cycle

    loads = _shared(demand, "load")
    return _mean((each, cycles(each)) for each in loads) if loads else 0.0


def local_passes(demand: Demand, architecture: Architecture) -> float:
    """Return the mean time of a wave's access to local memory relative to one without conflicts.

    Words in the same bank follow each other, as do atomic operations on words of a bank: an H200 takes 1.05 cycles for
    each of those.
    """
    cycle, local = _share_of_access(architecture, "local"), (a for a in demand.accesses if a.space == "local")
    return _mean((each, max(each.waves, cycle * max(each.conflict_cycles, each.turns))) for each in local)


def _share_of_access(architecture: Architecture, name: str) -> float:
    """Return a cycle relative to the time of a wave's access to neighbouring words, for which one is enough."""
    return min(1.0, architecture.rates_per_cycle[name] / architecture.wave_size)


def _mean(times: Iterable[tuple[AccessDemand, float]]) -> float:
    """Return the mean of times that are sums over waves; 1 without accesses."""
    counted = [(each.waves, time) for each, time in times]
    waves = sum(count for count, _ in counted)
    return sum(time for _, time in counted) / waves if waves else 1.0


def constant_cycles(demand: Demand, architecture: Architecture) -> float:
    """Return the cycles of constant caches of all compute units, which read further addresses of a wave one by one."""
    further = (a.distinct - a.waves for a in demand.accesses if _by_constant_port(a, architecture))
    return architecture.constant_cycles * sum(further)


def sectors_and_lines_written(demand: Demand) -> tuple[float, float]:
    """Return the sectors that stores and atomic operations write to the shared cache, and lines written in part.

    Caches of units write through. An atomic operation costs as much as a partly written line: updates of one address
    for each wave, and of words far apart, take 2.5 and 2.1 cycles of each slice of an H200.
    """
    updates, stores = sum(map(_updates, _shared(demand, "atomic"))), _shared(demand, "store")
    return sum(each.sectors for each in stores) + updates, sum(each.partly_written for each in stores) + updates


def _updates(each: AccessDemand) -> float:
    """Return the updates of sectors by atomic operations: a word is updated several times in turn."""
    return max(each.sectors, each.turns)


def sent_requests(demand: Demand, architecture: Architecture) -> float:
    """Return the requests of loads, stores and atomic operations that units send, and the sectors of the latter two."""
    written = _shared(demand, "store", "atomic")
    return requested_lines(demand, architecture) + sum(each.lines + each.sectors for each in written)


def requested_lines(demand: Demand, architecture: Architecture) -> float:
    """Return the lines from which loads request sectors of the shared cache: a slice accepts one request at a time."""
    return sum(_missed_lines(a) for a in _shared(demand, "load") if not _by_constant_port(a, architecture))


def _missed_lines(each: AccessDemand) -> float:
    """Return the lines of which a load's waves miss sectors."""
    return each.missed_sectors * each.lines / each.sectors if each.sectors else 0.0


def waits_beyond(demand: Demand, shared: Cache, waits: float) -> float:
    """Return the share of *waits* for loads of data that no compute unit has brought into the *shared* cache.

    A wave waits for the slowest of the lines that it loads, and of the loads for which it waits together. Lines are in
    the cache independently of each other. Private memory that the cache contains is not new.
    """
    missed, sector = defaultdict[str, float](float), shared.sector_bytes
    for each in demand.accesses:
        missed[each.buffer] += each.missed_sectors
    new = {
        each.buffer: min(1.0, memory_passes(each)) * touched_bytes(each, sector) / sector / missed[each.buffer]
        for each in demand.streams
        if not each.write and missed[each.buffer]
    }

    def beyond(each: AccessDemand) -> float:
        lines = max(1.0, _missed_lines(each) / each.missing_waves)
        all_there: float = (1 - min(1.0, new[each.buffer])) ** lines
        return each.missing_waves * (1 - all_there)

    waiting = [each for each in demand.accesses if each.missing_waves and each.buffer in new]
    if not (waiting and waits):
        return 1.0
    apart = sum(map(beyond, waiting)) / sum(each.missing_waves for each in waiting)
    return max(apart, 1 - prod(1 - min(1.0, beyond(each) / waits) for each in waiting))


def lines_at_once(demand: Demand, waits: float) -> float:
    """Return the mean number of lines for which a wave waits together, in one or several loads."""
    return max(1.0, sum(map(_missed_lines, demand.accesses)) / waits) if waits else 1.0


def moved_at_random(accesses: Iterable[AccessDemand], line_bytes: float) -> tuple[float, float]:
    """Return the sectors that accesses move beyond the nearest cache, and the share of random ones.

    At random, addresses are often below those of the lane before, unlike those along columns. A wave uses less than a
    quarter of each of several lines and one sector of each, because two of its lanes seldom share a line. Loads never
    find the sectors in the nearest cache again. Other stores do not count: the last cache completes their lines.
    """

    def is_at_random(each: AccessDemand) -> bool:
        single = each.waves < each.lines and round(each.sectors / each.lines) == 1
        sparse = single and 4 * each.distinct * each.nbytes < each.lines * line_bytes
        return sparse and _OFTEN * each.backward > each.lanes and transferred(each) > each.sectors / 2

    some = [each for each in accesses if each.kind != "store" or is_at_random(each)]
    total = sum(map(transferred, some))
    return total, sum(transferred(each) for each in some if is_at_random(each)) / total if total else 0.0


def transferred(access: AccessDemand, *, allocates: bool = False) -> float:
    """Return the sectors that the first cache requests, and writes through; lines written back later do not count."""
    cached = access.kind == "load" or allocates
    return 0.0 if access.space == "local" else access.missed_sectors if cached else access.sectors


def atomic_sectors(demand: Demand, device: Device) -> float:
    """Return the sectors that the busiest slice of the shared cache updates for atomic operations, one by one."""
    shared, updates = device.shared_cache, 0.0
    for buffer, atomic in grouped((each.buffer, each) for each in _shared(demand, "atomic")).items():
        written = (each for each in demand.streams if each.write and each.buffer == buffer)
        parts = ceil(sum(touched_bytes(each, device.line_bytes) for each in written) / SLICE_BYTES)
        share = busiest_share(max(1, parts), shared.slices if shared else None)
        hottest = max(each.hottest * (each.waves / each.lanes if each.same else 1.0) for each in atomic)
        updates += max(sum(map(_updates, atomic)) * share, hottest)
    return updates
