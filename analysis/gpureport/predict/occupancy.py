"""How many waves of a kernel are resident on a compute unit, by the vendors' own rules."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, prod

from gpureport.predict.uncertainty.propagation import maximum, minimum, where
from gpureport.records.measurement import Compilation
from gpureport.records.prediction import Limiter, Occupancy
from gpureport.spec.models import (
    AmdOccupancy,
    Architecture,
    CpuOccupancy,
    IntelOccupancy,
    NvidiaOccupancy,
    PooledOccupancy,
    most_waves,
)
from gpureport.workloads.model import Parameters, Workload


@dataclass(frozen=True)
class Resources:
    """Registers and local memory of a kernel.

    Attributes:
        registers: 32-bit registers of a work-item.
        local_memory_bytes: local memory of a work-group.
        compiled: whether the compiler reported them (otherwise they are the workload's estimate).
        vectorised: whether a compiler for CPUs emitted vectors of work-items; ``None``: not known.
        instructions_per_stored_byte: of code for a CPU that is a single straight loop of vectors; 0: other code.
    """

    registers: int
    local_memory_bytes: int = 0
    compiled: bool = False
    vectorised: bool | None = None
    instructions_per_stored_byte: float = 0.0


def builds_of(
    workload: Workload, parameters: Parameters, compilations: Iterable[Compilation]
) -> tuple[Compilation, ...]:
    """Return the builds of a point's kernels: device and back end may have added options to those of the workload."""
    required = set(workload.build_options(parameters).split())
    return tuple(each for each in compilations if required <= set(each.options.split()))


def compiled_resources(compilation: Compilation | None) -> Resources | None:
    """Return the resources that the compiler reported, or with 0 registers what the code for a CPU shows, if any."""
    if compilation is None:
        return None
    registers, code = compilation.registers_per_work_item, compilation.code
    local_memory = compilation.local_memory_bytes or 0
    if registers is not None:
        return Resources(registers, local_memory, compiled=True)
    if code is None or code.vectorised is None:
        return None
    # A single straight loop of vectors has one branch, back to its start.
    straight = (code.vector_loops, code.scalar_loops, code.counts.get("branch")) == (1, 0, 1) and not code.calls
    stored = sum(width * count for width, count in code.global_stores.items())
    each = sum(code.counts.values()) / stored if straight and stored else 0.0
    return Resources(0, local_memory, vectorised=code.vectorised, instructions_per_stored_byte=each)


def occupancy(architecture: Architecture, work_group: Sequence[int], resources: Resources) -> Occupancy:
    """Return how many work-groups and waves of a kernel fit a compute unit, and what limits them."""
    rules = architecture.occupancy
    waves_per_group = ceil(prod(work_group) / architecture.wave_size)
    match rules:
        case NvidiaOccupancy():
            limits = _nvidia(rules, waves_per_group, resources)
        case AmdOccupancy():
            limits = _amd(rules, architecture.wave_size, waves_per_group, resources)
        case IntelOccupancy():
            limits = _intel(rules, waves_per_group, resources)
        case PooledOccupancy():
            limits = _pooled(rules, architecture.wave_size, waves_per_group, resources)
        case CpuOccupancy():
            limits = {Limiter.CORES: 1.0}
    most = most_waves(rules) or waves_per_group
    if prod(work_group) > architecture.max_work_group:
        limits = {Limiter.WORK_GROUP_SIZE: 0.0}
    limiter = min(limits, key=lambda name: limits[name])
    groups = int(limits[limiter])
    waves = groups * waves_per_group
    return Occupancy(
        work_group=tuple(work_group),
        registers_per_work_item=resources.registers,
        local_memory_bytes=resources.local_memory_bytes,
        source="compiled" if resources.compiled else "assumed",
        groups_per_compute_unit=groups,
        waves_per_compute_unit=waves,
        max_waves_per_compute_unit=most,
        fraction=waves / most,
        limiter=limiter,
    )


def too_many_registers(architecture: Architecture, work_group: Sequence[int], resources: Resources) -> str | None:
    """Return a sentence if a work-group needs more registers than a compute unit has, else ``None``."""
    resident = occupancy(architecture, work_group, resources)
    if resident.groups_per_compute_unit or resident.limiter != Limiter.REGISTERS:
        return None
    items, each = prod(work_group), resources.registers
    return (
        f"The compiled kernel uses {each} registers per work-item, {each * items} for a work-group of {items}; "
        f"a compute unit has {_registers(architecture)}, allocated to whole waves."
    )


def _registers(architecture: Architecture) -> int:
    match architecture.occupancy:
        case NvidiaOccupancy() | PooledOccupancy() as rules:
            return rules.registers
        case AmdOccupancy() as rules:
            simds = rules.units_per_group * rules.simds
            return simds * rules.vector_registers[architecture.wave_size] * architecture.wave_size
        case _:
            raise ValueError("registers do not limit the waves of such a compute unit")


def _round_up(value: float, granularity: float) -> float:
    return ceil(value / granularity) * granularity


def _nvidia(rules: NvidiaOccupancy, waves_per_group: int, resources: Resources) -> dict[Limiter, float]:
    """Follow ``cuda_occupancy.h`` (CUDA 13.5): registers go to whole warps of a sub-partition."""
    registers_per_wave = _round_up(max(1, resources.registers) * 32, rules.register_granularity)
    waves_per_partition = rules.registers // rules.sub_partitions // registers_per_wave
    allowed = resources.registers <= rules.max_registers_per_work_item
    local = _local_bytes(rules, resources.local_memory_bytes)
    return {
        Limiter.WAVES: rules.max_waves // waves_per_group,
        Limiter.WORK_GROUPS: rules.max_groups,
        Limiter.REGISTERS: waves_per_partition * rules.sub_partitions // waves_per_group if allowed else 0,
        Limiter.LOCAL_MEMORY: rules.local_memory_bytes // local if local else inf,
    }


def _local_bytes(rules: NvidiaOccupancy, group_bytes: int) -> float:
    return _round_up(group_bytes + rules.local_memory_reserved_bytes, rules.local_memory_granularity_bytes)


def _amd(rules: AmdOccupancy, wave_size: int, waves_per_group: int, resources: Resources) -> dict[Limiter, float]:
    """Follow LLVM's AMDGPUBaseInfo: waves of a SIMD share its vector registers, groups of a unit its LDS.

    In the work-group processor mode, LLVM's default from gfx10 on, groups share the SIMDs and the LDS of two units.
    """
    units, simds = rules.units_per_group, rules.units_per_group * rules.simds
    granularity = rules.vector_register_granularity[wave_size]
    allocated = _round_up(max(1, resources.registers), granularity)
    waves_per_simd = rules.vector_registers[wave_size] // allocated
    local = _round_up(resources.local_memory_bytes, rules.local_memory_granularity_bytes)
    # One group may use the local memory of one compute unit only.
    fits = 0.0 < local <= rules.local_memory_bytes
    groups = units * rules.local_memory_bytes // local if fits else 0.0
    return {
        Limiter.WAVES: rules.max_waves_per_simd * simds // waves_per_group,
        # A group of one wave needs no barrier and does not count towards the limit.
        Limiter.WORK_GROUPS: units * rules.max_groups if waves_per_group > 1 else inf,
        Limiter.REGISTERS: waves_per_simd * simds // waves_per_group
        if resources.registers <= rules.max_vector_registers
        else 0,
        Limiter.LOCAL_MEMORY: groups if local else inf,
    }


def _intel(rules: IntelOccupancy, waves_per_group: int, resources: Resources) -> dict[Limiter, float]:
    """Follow Intel's compute runtime: threads and shared local memory of a subslice."""
    needed = resources.local_memory_bytes
    local = next((size for size in rules.local_memory_sizes_bytes if size >= needed), inf) if needed else 0
    return {
        Limiter.WAVES: rules.threads // waves_per_group,
        Limiter.LOCAL_MEMORY: rules.local_memory_bytes // local if local else inf,
    }


def _pooled(rules: PooledOccupancy, wave_size: int, waves_per_group: int, resources: Resources) -> dict[Limiter, float]:
    """Give each wave its registers from one of equal pools; local memory of a unit goes to its groups."""
    registers_per_wave = _round_up(max(1, resources.registers), rules.register_granularity) * wave_size
    waves_per_pool = rules.registers // rules.pools // registers_per_wave
    allowed = resources.registers <= rules.max_registers_per_work_item
    available, needed = rules.local_memory_bytes, resources.local_memory_bytes
    return {
        Limiter.WAVES: rules.max_waves // waves_per_group,
        Limiter.REGISTERS: waves_per_pool * rules.pools // waves_per_group if allowed else 0,
        Limiter.LOCAL_MEMORY: inf if available is None or not needed else available // needed,
    }


def local_memory_in_use_bytes(architecture: Architecture, resident: Occupancy, groups: float) -> float:
    """Return the bytes of a unified cache that the carve-out for local memory takes, with *groups* per compute unit.

    The driver selects the smallest carve-out that fits the reserve and the local memory of the resident groups
    (CUDA C++ Programming Guide, unified data cache).
    """
    rules = architecture.occupancy
    if not isinstance(rules, NvidiaOccupancy) or not rules.carveouts_bytes:
        return 0.0
    groups = maximum(1, minimum(ceil(groups), resident.groups_per_compute_unit))
    needed = _local_bytes(rules, resident.local_memory_bytes) * groups
    used: float = rules.carveouts_bytes[-1]
    for size in reversed(rules.carveouts_bytes):
        used = where(size >= needed, size, used)
    return used
