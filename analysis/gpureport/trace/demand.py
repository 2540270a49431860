"""The demand of a dispatch: what sampled work-groups do, extrapolated to all of them."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil, exp, inf, prod
from typing import Any, Literal

import numpy as np

from gpureport.predict.accesses import moved_at_random, transferred
from gpureport.predict.occupancy import local_memory_in_use_bytes, occupancy
from gpureport.predict.traffic import ROW_BYTES, rows_with_gaps
from gpureport.spec.models import Architecture, Device, schedulers_of, traced_lanes
from gpureport.spec.uncertainty import sourced
from gpureport.trace.accesses import COUNTED, MISSED, POSSIBLE, WORD_BYTES, AccessRecorder, Extent, Placement
from gpureport.trace.chains import REORDERED, Chains
from gpureport.trace.execution import Execution, execute
from gpureport.trace.program import LOCAL, PRIVATE, TABLES, Program
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import AccessDemand, Buffer, Demand, Dispatch, Stream

_COMBINING = 5.0
"""Exchanges by which the lanes of a wave combine what they add to one address."""
_STARTING = sourced("trace.demand._STARTING", float)
"""Instructions with which each wave of a GPU without a scalar unit finds out its place and arguments."""
_UPDATED = sourced("trace.demand._UPDATED", float)
"""Latency of an atomic operation / of a load from the cache that all compute units share."""


def placed(device: Device, program: Program, shape: Dispatch) -> Placement:
    """Return where the work-groups of a kernel run; their local memory limits those that are resident together.

    Work-groups that two compute units share use both nearest caches alike. Lines stay in the nearest cache up to the
    midpoint of its latency's transition range, which shows its replacement most clearly, and in the last cache up to
    that of cyclic sweeps. The last cache of a core that executes groups as loops is the last one of its own.
    Numbers have no uncertainty here, because demands are kept for later predictions.
    """
    architecture, groups, loops = device.architecture, prod(shape.groups), device.architecture.groups_as_loops
    fitting = occupancy(architecture, shape.local_size, Demand.registers, program.local_bytes(shape))
    barriers = any(block.waits for block in program.blocks)
    caches = [each for each in device.caches if not loops or each.scope == "compute_unit"]
    near, last = (caches[0], caches[-1]) if caches else (None, None)
    beyond = [*(cache.latency_cycles for cache in device.caches[1:]), device.memory.latency_cycles]
    in_use = local_memory_in_use_bytes(architecture, fitting, groups / device.compute_units)
    capacity = near.capacity_bytes - (in_use if near.unified_with_local_memory else 0.0) if near else 0.0
    cycles = architecture.latency_cycles
    emitted = {name: listed_class(known, cycles) for name, known in emitted_as(architecture, cycles).items()}
    latencies = {**cycles, **{name: cycles[known] for name, known in emitted.items() if known in cycles}}
    latencies |= {"hit": near.latency_cycles if near else beyond[0], "miss": beyond[0], "atomic": beyond[0] * _UPDATED}
    return Placement(
        wave=traced_lanes(architecture, branches=_ways(program)[0], barriers=barriers),
        units=device.compute_units,
        units_per_group=architecture.occupancy.units,
        groups_per_place=max(1, fitting.groups_per_compute_unit),
        line_bytes=device.line_bytes,
        sector_bytes=near.sector_bytes if near else device.memory.access_bytes,
        unit_bytes=min(device.memory.access_bytes, *(cache.sector_bytes for cache in device.caches), ROW_BYTES),
        cache_bytes=float(capacity * near.latency_transition.midpoint) if near else 0.0,
        last_cache_bytes=float(last.capacity_bytes * last.transition("cyclic_transition").midpoint) if last else 0.0,
        access_bytes=device.memory.access_bytes,
        allocates=architecture.write_allocate,
        merges=architecture.line_writes_per_cycle is not None,
        banks=architecture.local_memory_banks,
        schedulers=schedulers_of(architecture),
        aligned=architecture.aligned_accesses,
        scalar_unit=architecture.scalar_unit,
        latencies=tuple((name, float(cycles)) for name, cycles in sorted(latencies.items())),
        page_lines=device.page_bytes // device.line_bytes if loops else 0,
    )


def emitted_as(architecture: Architecture, listed: Collection[str]) -> dict[str, str]:
    """Return the classes of the instructions that compilers emit for others, with those that are *listed*.

    They shift to the left by a multiplication where it has the rate of shifts, and a pipe of its own: ptxas 13 does so
    for nine shifts of ten in kernels, and for three of four where all instructions are shifts and logic.
    """
    rates = architecture.rates_per_cycle
    apart = any("shift" in pipe and "int32_mul" not in pipe for pipe in architecture.pipes.values())
    multiplied = apart and rates["int32_mul"] >= rates.get("shift", rates["int32"])
    conversion = "conversion" if "conversion" in listed else "int32"
    return {
        "address": "int32",
        "left_shift": "int32_mul" if multiplied else "shift",
        "conversion": conversion,
        "from_int32": "from_int32" if "from_int32" in listed else conversion,
    }


def _ways(program: Program) -> tuple[bool, bool]:
    """Return whether a kernel has branches, and whether these have no loops, so that masks can replace them."""
    branches = any(len(block.targets) > 1 for block in program.blocks)
    loops = any(target <= number for number, block in enumerate(program.blocks) for target in block.targets)
    return branches, branches and not loops


_SPREAD, _MORE, _UNEVEN = 12, 48, 0.2
"""Work-groups that are spread over the range: usually, and if the standard deviation of their work exceeds this share
of its mean (assumed: sizes of a sample, not fitted)."""


def strata(shape: Dispatch, placement: Placement, spread: int = _SPREAD) -> list[tuple[tuple[int, ...], float]]:
    """Return samples of the work-groups: some from the middle that share a compute unit, others, first and last one.

    The groups of a sample are executed together; each sample has the number of groups that it represents. Work-groups
    start on the compute units in turn. The first and last one represent those at the borders of the range, whose guards
    and conditions differ. *spread* are in between, because work may depend on the place.
    """
    total = prod(shape.groups)
    together = min(placement.resident, ceil(total / placement.units))
    start = total // (placement.units * together) // 2 * placement.units * together
    first = start + min(placement.units, total - start) // 2
    middle = tuple(range(first, total, placement.units)[:together])
    border = tuple(group for group in dict.fromkeys((0, total - 1)) if group not in middle)
    inner = prod(count - 2 if count > 2 else 1 for count in shape.groups)
    at_border = min(total - len(middle), max(len(border), total - inner)) if border else 0
    others = tuple(dict.fromkeys(group for group in _spread(shape.groups, spread) if group not in middle + border))
    within = total - at_border
    share = min(within // (len(others) + 1), (within - len(middle)) // max(1, len(others)))
    elsewhere = share * len(others)
    chosen = ((middle, within - elsewhere), (others, elsewhere), (border, at_border))
    return [(sample, represented) for sample, represented in chosen if sample and represented]


def _spread(counts: Sequence[int], most: int) -> Iterator[int]:
    """Yield work-groups between the borders, by the sequence of low discrepancy that Roberts described in 2018."""
    ratio = {1: 1.618034, 2: 1.324718, 3: 1.220744}[len(counts)]
    for number in range(1, most + 1):
        shares = [(0.5 + number / ratio**power) % 1 for power in range(1, len(counts) + 1)]
        place = [
            1 + int(share * (count - 2)) if count > 2 else int(share * count)
            for share, count in zip(shares, counts, strict=True)
        ]
        yield int(np.ravel_multi_index(place, counts, order="F"))


def _varies(execution: Execution) -> bool:
    work = execution.work.sum(axis=1)
    return bool(work.std() > _UNEVEN * work.mean())


class _Sample:
    def __init__(self, represented: float, execution: Execution, recorder: AccessRecorder) -> None:
        self.represented, self.execution, self.recorder = represented, execution, recorder
        self.lost, self.unexpected = recorder.beyond()
        self.weight = represented / len(execution.work)
        self.counts = {key: found.total * self.weight for key, found in recorder.instructions.items()}
        self.chain = sum(execution.chain.values())
        work = execution.work.max(axis=1)  # of the longest wave of each group
        self.mean_chain = self.chain * float(work.mean() / (work.max() or 1.0))


def dispatch_demand(
    program: Program, arguments: Sequence[Any], shape: Dispatch, device: Device, placement: Placement
) -> Demand:
    """Execute samples of the work-groups of a dispatch, and return the demand of all of them on *device*.

    *arguments*, as of :func:`.execute`, receive the results of the samples. Streams and accesses have the names of the
    kernel's parameters. Streams are of touched units; those that are written completely need no other data from memory.
    """
    sizes = {number: each.nbytes for number, each in enumerate(arguments) if isinstance(each, np.ndarray | Buffer)}
    names = {PRIVATE: "private memory"} | dict(enumerate(parameter.name for parameter in program.parameters))
    first_waves, groups = ceil(prod(shape.local_size) / placement.wave), prod(shape.groups)
    ordered = {number for number in sizes if not program.parameters[number].noalias}
    in_loops, architecture = placement.page_lines > 0, device.architecture

    def executed(together: Sequence[int]) -> tuple[Execution, AccessRecorder]:
        resident = 1 if in_loops else first_waves * min(len(together), len(parts[0][0]))
        own = program.placed_bytes * placement.wave * resident
        buffers = sizes | ({PRIVATE: own} if own else {})
        recorder = AccessRecorder(placement, buffers, first_waves, program.interleaved, ordered, program.private_places)
        chains = Chains(program, dict(placement.latencies), REORDERED if in_loops else 0)
        return execute(program, arguments, shape, together, placement.wave, recorder, chains), recorder

    parts = strata(shape, placement)
    done = [executed(together) for together, _ in parts]
    more = strata(shape, placement, _MORE)
    known = parts[1][0] if len(parts) == len(more) == 3 else ()
    further = tuple(group for group in more[1][0] if group not in known) if known else ()
    if further and _varies(done[1][0]):
        middle, (others, represented), border = more
        each = represented / len(others)
        parts = [middle, (known, each * len(known)), (further, each * len(further)), border]
        done.insert(2, executed(further))
    samples = [_Sample(represented, *found) for (_, represented), found in zip(parts, done, strict=True)]
    shared = samples[0].counts  # of groups that share a nearest cache: others miss as often
    for sample in samples[1:] if in_loops else samples[1:-1]:
        for key in sample.counts.keys() & shared.keys():
            misses = shared[key][MISSED] / np.maximum(1.0, shared[key][POSSIBLE])  # stores may be part of others
            sample.counts[key][MISSED] = sample.counts[key][POSSIBLE] * misses
    accesses, (branches, maskable) = tuple(_accesses(samples, names)), _ways(program)
    keys = dict.fromkeys(key for sample in samples for key in sample.recorder.touched)
    extents = {(names[key[0]], key[1]): _extent(key, samples, placement, groups) for key in keys}
    apart = [extent for (name, _), extent in extents.items() if name != names[PRIVATE]]
    lost, streams = samples[0].lost or _lost(samples[0].recorder, apart, placement, groups), list[Stream]()
    for (name, write), (extent, units) in extents.items():
        own = [each for each in accesses if (each.buffer, each.kind != "load") == (name, write)]
        private = name == names[PRIVATE]
        missed = 0.0 if in_loops or private else _missed_at_random(extent, units, own, device)
        streams += _streams(own, extent, missed, _replaced(extent, device) if private else lost, placement)
    chain = _chain(samples, together=groups <= placement.units * placement.resident)
    missed, near, updated = (chain.pop(name, 0.0) for name in ("miss", "hit", "atomic"))
    return Demand(
        work_items=prod(shape.global_size),
        work_group=tuple(shape.local_size),
        streams=tuple(streams),
        operations=_operations(
            _issued(samples, placement), accesses, placement.wave, architecture, groups * first_waves
        ),
        chain=_listed(chain, architecture.latency_cycles, architecture),
        memory_chain=missed,
        nearest_chain=near,
        cached_chain=updated * _UPDATED,
        local_memory_bytes=program.local_bytes(shape),
        accesses=accesses,
        branches=branches,
        maskable=maskable,
        uneven=1.0 if in_loops else _uneven(samples, placement, groups),
        phases_aligned=missed + near <= 1 and not any(each.kind == "atomic" for each in accesses),
    )


def _operations(
    issued: Mapping[str, float], accesses: Sequence[AccessDemand], wave: int, architecture: Architecture, waves: int
) -> dict[str, float]:
    """Return instructions by class, those of idle lanes included, and the accesses of *waves*."""
    lanes = {"memory": 0.0, "local": 0.0}
    counted = {name: count for name, count in issued.items() if name not in lanes}
    for each in accesses:
        lanes["local" if each.space == "local" else "memory"] += each.waves * wave
        if each.kind == "atomic" and each.same and not architecture.groups_as_loops:
            counted["shuffle"] = counted.get("shuffle", 0.0) + _COMBINING * each.waves * wave
    counted = _listed(counted, architecture.rates_per_cycle, architecture)
    executed = {name: count for name, count in lanes.items() if count}
    # An address of 64 bits takes a second instruction, which is not counted yet. Those of local and private memory have
    # 32 bits, except on cores that execute groups as loops.
    narrow = sum(each.waves * wave for each in accesses if each.space == "private")
    further = sum(lanes.values()) if architecture.groups_as_loops else lanes["memory"] - narrow
    others = 0.0 if architecture.scalar_unit else sum(executed.values()) + further
    if not (architecture.scalar_unit or architecture.groups_as_loops):
        others += _STARTING * waves * wave
    return {**counted, **executed, "instruction": sum(counted.values()) + others}


def _listed(counts: Mapping[str, float], listed: Mapping[str, float], architecture: Architecture) -> dict[str, float]:
    """Return *counts* by the classes that an architecture has *listed*."""
    usual, found = emitted_as(architecture, listed), dict[str, float]()
    for name, count in counts.items():
        known = listed_class(usual.get(name, name), listed)
        found[known] = found.get(known, 0.0) + count
    return found


def _streams(
    own: Sequence[AccessDemand], extent: Extent, missed: float, lost: float, placement: Placement
) -> Iterator[Stream]:
    """Yield what the *own* accesses of a buffer move: loads, or stores and atomic operations.

    *missed* are the passes at random that come from memory, *lost* the share of accesses to lines that left the last
    cache. Each access at random opens a row.
    """
    (used, units, full, lines, accesses, rows), write = extent, own[0].kind != "load"
    unit, (counted, share) = placement.unit_bytes, moved_at_random(own, placement.line_bytes)
    random = counted * share / max(1.0, sum(map(transferred, own)))
    in_order = rows_with_gaps(rows, *((units, unit) if write else (accesses, placement.access_bytes)))
    opened = random * accesses + (1 - random) * in_order
    requested = sum(each.distinct * each.nbytes for each in own)
    through = write and not placement.allocates
    moved = sum(each.sectors * unit if through else each.missed_sectors * placement.sector_bytes for each in own)
    full, outer = full if write else 0.0, moved / units / unit
    partly = units - full
    spread = max(unit, round(lines * placement.line_bytes / units))
    partly_used = max(1, round((used - full * unit) / max(1.0, partly)))
    for elements, record, each_used in ((full, unit, unit), (partly, spread, partly_used)):
        if elements and outer:
            yield Stream(
                buffer=own[0].buffer,
                elements=elements,
                record_bytes=record,
                used_bytes=each_used,
                write=write,
                passes=requested / used,
                outer_passes=outer,
                memory_passes=max(missed, min(1.0, outer if own[0].space != "private" else 0.0)) + lost * outer,
                accesses=None if write else accesses,
                rows=opened * elements / units,
            )


def _replaced(extent: Extent, device: Device) -> float:
    """Return the share of the accesses of resident waves to their private memory that miss the last cache.

    Each miss replaces a line at random, so that lines stay for as many misses as there are lines in the cache.
    """
    ratio = extent.lines * device.line_bytes / float(device.caches[-1].capacity_bytes) if device.caches else inf
    share = 1.0
    for _ in range(100):
        share = 1 - exp(-share * ratio)
    return round(share, 9)  # exactly 0 if all fit


def _missed_at_random(extent: Extent, apart: float, own: Sequence[AccessDemand], device: Device) -> float:
    """Return the passes over a buffer for which memory is accessed if groups access it at random; 0 if they do not.

    The last cache contains as many of the touched lines as fit, whichever groups touched them: half of its capacity if
    it has two partitions, whose units access all lines alike. Each miss brings a whole access of the memory, of which
    nothing else is used. *apart*: units touched, if groups on different compute units had none in common; groups that
    return to their own units do so in some order.
    """
    moved, share = moved_at_random(own, device.line_bytes)
    if not (share and device.caches) or round(moved / apart) > 1:
        return 0.0
    last, touched_bytes = device.caches[-1], extent.lines * device.line_bytes
    missed = max(0.0, 1 - float(last.capacity_bytes) / last.partitions / touched_bytes)
    return share * min(apart, moved) / extent.accesses * missed


def _extent(
    key: tuple[int, bool], samples: Sequence[_Sample], placement: Placement, groups: int
) -> tuple[Extent, float]:
    """Return what all groups touch: what the samples represent, at most the buffer.

    If groups at the border touch little else than those in the middle, all groups share what they touch. If they touch
    lines at the same places, so do all; little is touched before the first or after the last of these lines. Also
    return the units, if groups on different compute units had none in common, as with the private memory of *groups*.
    """
    together, *others = (sample.recorder.touched[key] for sample in samples if key in sample.recorder.touched)
    weights = [sample.weight for sample in samples if key in sample.recorder.touched]
    middle, alike = np.array(together.extent(placement)), False
    if key[0] == PRIVATE:
        own = Extent(*(middle * min(placement.units, groups / len(samples[0].execution.work))).tolist())
        return own, own.units
    apart, seen, places = weights[0] * middle, middle, together.places(placement)
    for touched, weight in zip(others, weights[1:], strict=True):
        together.add(touched)
        seen = np.array(together.extent(placement))
        apart = apart + weight * (seen - middle)
        alike = (seen - middle)[1] < _NEW * touched.extent(placement).units
    if not np.array_equal(places, together.places(placement)):
        places = np.arange(0, placement.line_bytes, WORD_BYTES)
    every = np.maximum(seen, np.minimum(together.most(places, 2 / _SPREAD, placement), apart))
    found, sampled = Extent(*(seen if alike else every).tolist()), Extent(*seen.tolist())
    full_units = _full_units(found, sampled, placement.unit_bytes)
    return found._replace(full_units=full_units), max(found.units, float(apart[1]))


_NEW = 0.5
"""Share of new sectors among those that groups at the border touch, below which all groups touch the same ones."""


def _full_units(found: Extent, seen: Extent, unit_bytes: int) -> float:
    """Return the number of sectors that are touched completely, by one group or by several together.

    Those that are not complete in the samples become so to the extent to which the density of used bytes grows.
    """
    alone = found.units * seen.full_units / seen.units
    others = seen.used_bytes - seen.full_units * unit_bytes, seen.units - seen.full_units
    if not others[1]:
        return alone
    before = others[0] / others[1] / unit_bytes
    after = (found.used_bytes - alone * unit_bytes) / (found.units - alone) / unit_bytes
    return alone + (found.units - alone) * min(1.0, max(0.0, (after - before) / (1 - before)))


def _lost(
    recorder: AccessRecorder, extents: Collection[tuple[Extent, float]], placement: Placement, groups: int
) -> float:
    """Return the share of a unit's accesses to the last cache that miss lines which were there.

    The units run alike. What several of them read is in the cache once.
    """
    apart, together = sum(units for _, units in extents), sum(extent.units for extent, _ in extents)
    if not together:
        return 0.0
    lines = placement.last_cache_bytes / placement.line_bytes * apart / together
    return recorder.cache.beyond.missed_again(lines / min(placement.units, groups))


def _accesses(samples: Sequence[_Sample], names: Mapping[int, str]) -> Iterator[AccessDemand]:
    own: Mapping[int, Literal["local", "private", "constant"]]
    own = {LOCAL: "local", PRIVATE: "private", TABLES: "constant"}
    for access, buffer in dict.fromkeys(key for sample in samples for key in sample.counts):
        executed = (sample.recorder.instructions.get((access, buffer)) for sample in samples)
        counts = sum(sample.counts.get((access, buffer), np.zeros(len(COUNTED))) for sample in samples)
        yield AccessDemand(
            buffer=names.get(buffer, ""),
            space=own.get(buffer, "constant" if access.space == "constant" else "global"),
            kind="atomic" if access.atomic else "store" if access.write else "load",
            line=access.line,
            end=max(each.end for each in executed if each),
            same=access.same,
            nbytes=access.nbytes,
            hottest=_hottest(samples, buffer) if access.atomic else 0.0,
            **dict(zip(COUNTED, np.asarray(counts).tolist(), strict=True)),
        )


def _issued(samples: Sequence[_Sample], placement: Placement) -> dict[str, float]:
    found = defaultdict[str, float](float)
    for sample in samples:
        elsewhere = sample.execution.uniform if placement.scalar_unit else {}
        for name, count in sample.execution.issued.items():
            found[name] += (count - elsewhere.get(name, 0.0)) * sample.weight
    return found


_PLACES, _SHARE = 256, 256
"""Places that are drawn, and groups of each at most (assumed: sizes of a sample, not fitted)."""


def _uneven(samples: Sequence[_Sample], placement: Placement, groups: int) -> float:
    """Return the work of the busiest scheduler / what it would be if all waves were alike.

    Waves go to the schedulers of their place in turn, and stay there: on an H200, waves 0, 4, 8 … share one.
    Places that execute groups drawn from the samples show how the sums differ: up to the largest of all places if all
    groups run at once; otherwise places that end earlier take more groups.
    """
    works = np.concatenate([sample.execution.work for sample in samples])
    weights = np.concatenate([np.full(len(sample.execution.work), sample.weight) for sample in samples])
    if not np.ptp(works):
        return 1.0
    places, weights = min(groups, max(1, placement.units // placement.units_per_group)), weights / weights.sum()
    share = ceil(groups / places)
    drawn = np.random.default_rng(0).choice(len(works), (_PLACES, min(share, _SHARE)), p=weights)
    waves = works[drawn].reshape(_PLACES, -1)
    turns = np.pad(waves, ((0, 0), (0, -waves.shape[1] % placement.schedulers)))
    turns = turns.reshape(_PLACES, -1, placement.schedulers)
    busiest = turns.sum(axis=1).max(axis=1)
    longest = np.quantile(busiest, places / (places + 1)) if share <= placement.groups_per_place else busiest.mean()
    return max(1.0, float(longest / (turns.shape[1] * (weights @ works).mean())))


def _hottest(samples: Sequence[_Sample], buffer: int) -> float:
    """Return the atomic operations on the most frequent address; addresses that two groups share, all groups share."""
    found = [sample.recorder.atomics(buffer) for sample in samples]
    words, every, first = map(np.concatenate, zip(*found, strict=True))
    weights = np.repeat([sample.weight for sample in samples], [len(words) for words, *_ in found])
    places = np.unique(words, return_inverse=True)[1]
    sharing = np.bincount(places, (first > 0).astype(int) + (every > first))[places]
    operations = np.bincount(places, every * np.where(sharing > 1, weights, 1.0))
    return float(operations.max(initial=0.0))


def _chain(samples: Sequence[_Sample], *, together: bool) -> dict[str, float]:
    """Return the longest chain, if all groups run *together*; else its share that is the mean of groups.

    The mean is that of groups in the middle: many at the border have shorter chains, but others run beside them.
    """
    inner = samples[:-1] or samples
    longest = max(inner, key=lambda sample: sample.chain)
    total = sum(sample.represented for sample in inner)
    mean = sum(sample.mean_chain * sample.represented for sample in inner) / total
    expected = max(sample.chain for sample in samples) if together else mean
    share = expected / longest.chain if longest.chain else 1.0
    chain = {name: count * share for name, count in longest.execution.chain.items()}
    return {**chain, "miss": samples[0].unexpected} if samples[0].unexpected else chain
