"""The trace of a dispatch: what sampled work-groups do, extrapolated to all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil, prod, sqrt
from typing import Any, Literal

import numpy as np

from gpureport.predict.occupancy import Resources, local_memory_in_use_bytes, occupancy
from gpureport.spec.models import Device, units_per_group
from gpureport.trace.accesses import COUNTED, LOCAL_MEMORY, AccessRecorder, Extent, Placement
from gpureport.trace.execution import Execution, NDRange, execute, local_arrays
from gpureport.trace.program import Access, Program
from gpureport.workloads.model import AccessDemand


@dataclass(frozen=True)
class Footprint:
    """What a dispatch reads, or writes, of one buffer.

    Attributes:
        buffer: name of the kernel's argument.
        write: whether it writes.
        extent: of all work-groups.
        units_apart: its units, if work-groups on different compute units had none in common.
    """

    buffer: str
    write: bool
    extent: Extent
    units_apart: float


@dataclass(frozen=True)
class KernelTrace:
    """What one dispatch of a kernel does.

    Attributes:
        placement: of its work-groups.
        accesses: by instruction and buffer, in the order of their first execution.
        footprints: of the buffers in global memory.
        issued: operations by instruction class, with those of idle lanes of waves.
        chain: the longest chain of dependent operations of a work-item, by class; ``hit`` and ``miss``: loads.
        local_bytes: of a work-group.
        groups: number of work-groups.
        traced: those that were executed.
        lost: share of accesses beyond the nearest cache to lines that have left the last cache since their last access.
        error: relative standard error of operations and sectors, from the difference between sampled strata.
    """

    placement: Placement
    accesses: tuple[AccessDemand, ...]
    footprints: tuple[Footprint, ...]
    issued: Mapping[str, float]
    chain: Mapping[str, float]
    local_bytes: int
    groups: int
    traced: tuple[int, ...]
    lost: float
    error: float


def placed(device: Device, local_size: Sequence[int], resources: Resources, groups: int) -> Placement:
    """Return where *groups* work-groups of a kernel run; *resources* limit those that are resident together.

    Work-groups that two compute units share use both nearest caches alike. Lines stay in the nearest cache up to the
    midpoint of its latency's transition range, which shows its replacement most clearly, and in the last cache up to
    that of cyclic sweeps.
    """
    architecture = device.architecture
    fitting = occupancy(architecture, local_size, resources)
    near, last = (device.caches[0], device.caches[-1]) if device.caches else (None, None)
    beyond = [*(cache.latency_cycles for cache in device.caches[1:]), device.memory.latency_cycles]
    in_use = local_memory_in_use_bytes(architecture, fitting, groups / device.compute_units)
    capacity = near.capacity_bytes - (in_use if near.unified_with_local_memory else 0.0) if near else 0.0
    latencies = {**architecture.latency_cycles, "hit": near.latency_cycles if near else beyond[0], "miss": beyond[0]}
    return Placement(
        wave=architecture.wave_size,
        units=device.compute_units,
        resident=max(1, fitting.groups_per_compute_unit // units_per_group(architecture.occupancy)),
        line_bytes=device.line_bytes,
        sector_bytes=near.sector_bytes if near else device.memory.access_bytes,
        unit_bytes=min(device.memory.access_bytes, *(cache.sector_bytes for cache in device.caches), device.line_bytes),
        cache_bytes=capacity * near.latency_transition.midpoint if near else 0.0,
        last_cache_bytes=last.capacity_bytes * last.transition("cyclic_transition").midpoint if last else 0.0,
        allocates=architecture.write_allocate,
        banks=architecture.local_memory_banks,
        latencies=tuple(sorted(latencies.items())),
    )


@dataclass(frozen=True)
class _Stratum:
    """Work-groups that are executed together, and the number of groups that they represent."""

    groups: tuple[int, ...]
    represented: float


def strata(shape: NDRange, placement: Placement) -> tuple[_Stratum, ...]:
    """Return samples of the work-groups: some from the middle that share a compute unit, and the first and last one.

    Work-groups start on the compute units in turn. The first and last one represent those at the borders of the range,
    whose guards and conditions differ.
    """
    total = prod(shape.groups)
    together = min(placement.resident, ceil(total / placement.units))
    start = total // (placement.units * together) // 2 * placement.units * together
    first = start + min(placement.units, total - start) // 2
    middle = tuple(range(first, total, placement.units))[:together]
    border = tuple(group for group in dict.fromkeys((0, total - 1)) if group not in middle)
    inner = prod(count - 2 if count > 2 else 1 for count in shape.groups)
    at_border = min(total - len(middle), max(len(border), total - inner)) if border else 0
    chosen = (_Stratum(middle, total - at_border), _Stratum(border, at_border))
    return tuple(each for each in chosen if each.groups)


class _Sample:
    """One stratum that was executed."""

    def __init__(self, stratum: _Stratum, execution: Execution, recorder: AccessRecorder) -> None:
        self.execution, self.recorder = execution, recorder
        self.groups, self.represented = stratum.groups, stratum.represented
        self.weight = stratum.represented / len(stratum.groups)
        self.counts = {key: found.total * self.weight for key, found in recorder.instructions.items()}

    @property
    def work(self) -> float:
        """Operations, and sectors, of a work-group."""
        operations = sum(self.execution.issued.values()) * self.weight
        sectors = sum(float(each[COUNTED.index("sectors")]) for each in self.counts.values())
        return (operations + sectors) / self.represented


_kept: dict[bytes, KernelTrace] = {}
_MOST_KEPT = 256


def trace_dispatch(program: Program, arguments: Sequence[Any], shape: NDRange, placement: Placement) -> KernelTrace:
    """Execute samples of the work-groups of a dispatch, and return what all of them do.

    *arguments* are arrays, which receive the results of the samples, scalars, and bytes of local memory. Traces are
    kept by the content that determines them; values of floating-point arrays are assumed not to.
    """
    key = _content(program, arguments, shape, placement)
    if key not in _kept:
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = _traced(program, arguments, shape, placement)
    return _kept[key]


def _content(program: Program, arguments: Sequence[Any], shape: NDRange, placement: Placement) -> bytes:
    digest = blake2b(repr((program.digest, program.name, shape, placement)).encode())
    for each in arguments:
        if isinstance(each, np.ndarray):
            digest.update(repr((each.dtype, each.nbytes)).encode())
            if each.dtype.kind in "iub":
                digest.update(np.ascontiguousarray(each).data)
        else:
            digest.update(repr(each).encode())
    return digest.digest()


def _traced(program: Program, arguments: Sequence[Any], shape: NDRange, placement: Placement) -> KernelTrace:
    sizes = {number: each.nbytes for number, each in enumerate(arguments) if isinstance(each, np.ndarray)}
    names = [parameter.name for parameter in program.parameters]
    first_waves = ceil(prod(shape.local_size) / placement.wave)
    chosen, samples = strata(shape, placement), list[_Sample]()
    for stratum in chosen:
        recorder = AccessRecorder(placement, sizes, first_waves, program.interleaved)
        done = execute(program, arguments, shape, stratum.groups, placement.wave, recorder, dict(placement.latencies))
        samples.append(_Sample(stratum, done, recorder))
    keys = dict.fromkeys(key for sample in samples for key in sample.recorder.touched)
    footprints = tuple(_footprint(key, names[key[0]], samples, placement) for key in keys)
    return KernelTrace(
        placement=placement,
        accesses=tuple(_accesses(samples, names)),
        footprints=footprints,
        issued=_issued(samples),
        chain=samples[0].execution.chain,
        local_bytes=sum(each.nbytes for each in local_arrays(program, arguments)),
        groups=prod(shape.groups),
        traced=tuple(group for stratum in chosen for group in stratum.groups),
        lost=_lost(samples[0].recorder, footprints, placement, prod(shape.groups)),
        error=_error(samples),
    )


def _footprint(key: tuple[int, bool], name: str, samples: Sequence[_Sample], placement: Placement) -> Footprint:
    """Return what all groups touch: what the samples represent, at most the buffer.

    If groups at the border touch little else than those in the middle, all groups share what they touch. If they touch
    lines at the same places, so do all.
    """
    together, *others = (sample.recorder.touched[key] for sample in samples if key in sample.recorder.touched)
    weights = [sample.weight for sample in samples if key in sample.recorder.touched]
    middle, alike = np.array(together.extent(placement)), False
    apart, seen, most = weights[0] * middle, middle, together.most(placement)
    for touched, weight in zip(others, weights[1:], strict=True):
        together.add(touched)
        seen = np.array(together.extent(placement))
        apart = apart + weight * (seen - middle)
        alike = (seen - middle)[1] < _NEW * touched.extent(placement).units
    most = most if together.most(placement) == most else together.whole(placement)
    every = np.maximum(seen, np.minimum(most, apart))
    found, sampled = Extent(*(seen if alike else every).tolist()), Extent(*seen.tolist())
    full_units = _full_units(found, sampled, placement.unit_bytes)
    return Footprint(name, key[1], found._replace(full_units=full_units), max(found.units, float(apart[1])))


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


def _lost(recorder: AccessRecorder, footprints: Sequence[Footprint], placement: Placement, groups: int) -> float:
    """Return the share of a unit's accesses to the last cache that miss lines which were there.

    The units run alike. What several of them read is in the cache once.
    """
    apart, together = sum(each.units_apart for each in footprints), sum(each.extent.units for each in footprints)
    if not together:
        return 0.0
    lines = placement.last_cache_bytes / placement.line_bytes * apart / together
    return recorder.beyond.missed_again(lines / min(placement.units, groups))


def _accesses(samples: Sequence[_Sample], names: Sequence[str]) -> Iterator[AccessDemand]:
    for access, buffer in dict.fromkeys(key for sample in samples for key in sample.counts):
        counts = sum(sample.counts.get((access, buffer), np.zeros(len(COUNTED))) for sample in samples)
        hottest = samples[0].recorder.hottest(buffer)
        yield AccessDemand(
            buffer=names[buffer] if buffer >= 0 else "",
            space=_space(access, buffer),
            kind="atomic" if access.atomic else "store" if access.write else "load",
            line=access.line,
            nbytes=access.nbytes,
            hottest=hottest.operations * (samples[0].weight if hottest.common else 1.0) if access.atomic else 0.0,
            **dict(zip(COUNTED, np.asarray(counts).tolist(), strict=True)),
        )


def _space(access: Access, buffer: int) -> Literal["global", "constant", "local"]:
    if buffer == LOCAL_MEMORY:
        return "local"
    return "constant" if buffer < LOCAL_MEMORY or access.space == "constant" else "global"


def _issued(samples: Sequence[_Sample]) -> dict[str, float]:
    names = dict.fromkeys(name for sample in samples for name in sample.execution.issued)
    return {name: sum(each.execution.issued.get(name, 0.0) * each.weight for each in samples) for name in names}


def _error(samples: Sequence[_Sample]) -> float:
    total = sum(sample.represented for sample in samples)
    mean = sum(sample.work * sample.represented for sample in samples) / total
    variance = sum(sample.represented / total * (sample.work - mean) ** 2 for sample in samples)
    return sqrt(variance / len(samples)) / mean if mean else 0.0
