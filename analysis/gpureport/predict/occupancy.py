"""How many waves of a kernel are resident on a compute unit, by the vendors' own rules."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, inf, prod
from typing import Any

from gpureport.predict.propagation import maximum, minimum, where
from gpureport.records.measurement import Compilation
from gpureport.records.prediction import Limiter, Occupancy
from gpureport.spec.models import Architecture, OccupancyRules
from gpureport.workloads.model import Parameters, Workload

Compiled = Mapping[str, Any]
"""Fields of a :class:`.Demand` that the code of a kernel determines, as far as it is known, with their values."""


def builds_of(
    workload: Workload, parameters: Parameters, compilations: Iterable[Compilation]
) -> tuple[Compilation, ...]:
    """Return the builds of a point's kernels: device and back end may have added options to those of the workload."""
    required = set(workload.build_options(parameters).split())
    return tuple(each for each in compilations if required <= set(each.options.split()))


def compiled_resources(compilation: Compilation | None) -> Compiled:
    """Return the resources that the compiler reported, or what the code for a CPU shows, if any."""
    if compilation is None:
        return {}
    registers, code = compilation.registers_per_work_item, compilation.code
    if registers is not None:
        return {"registers": registers, "local_memory_bytes": compilation.local_memory_bytes or 0, "compiled": True}
    if code is None or code.vectorised is None:
        return {}
    # A single straight loop of vectors has one branch, back to its start.
    straight = (code.vector_loops, code.scalar_loops, code.counts.get("branch")) == (1, 0, 1) and not code.calls
    stored = sum(width * count for width, count in code.global_stores.items())
    each = sum(code.counts.values()) / stored if straight and stored else 0.0
    return {"vectorised": code.vectorised, "instructions_per_stored_byte": each}


def occupancy(
    architecture: Architecture,
    work_group: Sequence[int],
    registers: int,
    local_memory_bytes: int = 0,
    compiled: bool = False,
) -> Occupancy:
    """Return how many work-groups and waves of a kernel fit a compute unit, and what limits them."""
    waves_per_group, most = ceil(prod(work_group) / architecture.wave_size), architecture.occupancy.max_waves
    if architecture.groups_as_loops:
        limits, most = {Limiter.CORES: 1.0}, waves_per_group
    else:
        limits = _limits(architecture.occupancy, architecture.wave_size, waves_per_group, registers, local_memory_bytes)
    if prod(work_group) > architecture.max_work_group:
        limits = {Limiter.WORK_GROUP_SIZE: 0.0}
    limiter = min(limits, key=lambda name: limits[name])
    groups = int(limits[limiter])
    waves = groups * waves_per_group
    return Occupancy(
        work_group=tuple(work_group),
        registers_per_work_item=registers,
        local_memory_bytes=local_memory_bytes,
        source="compiled" if compiled else "assumed",
        groups_per_compute_unit=groups,
        waves_per_compute_unit=waves,
        fraction=waves / most,
        limiter=limiter,
    )


def _round_up(value: float, granularity: float) -> float:
    return ceil(value / granularity) * granularity


def _limits(
    rules: OccupancyRules, wave_size: int, waves_per_group: int, registers: int, local_memory_bytes: int
) -> dict[Limiter, float]:
    """Return the work-groups that each resource allows.

    Registers go to whole waves in one of their parts: ``cuda_occupancy.h`` (CUDA 13.5), LLVM's AMDGPUBaseInfo. Hardware
    threads and shared local memory are those of Intel's compute runtime.
    """
    limits: dict[Limiter, float] = {Limiter.WAVES: rules.max_waves // waves_per_group}
    if rules.max_groups and not (rules.free_single_waves and waves_per_group == 1):
        limits[Limiter.WORK_GROUPS] = rules.max_groups
    if rules.registers:
        each = _round_up(max(1, registers) * wave_size, rules.register_granularity)
        waves = rules.registers // rules.register_parts // each * rules.register_parts
        allowed = registers <= (rules.max_registers_per_work_item or inf)
        limits[Limiter.REGISTERS] = waves // waves_per_group if allowed else 0
    local = _local_bytes(rules, local_memory_bytes)
    if local and rules.local_memory_bytes and rules.most_local_bytes:
        limits[Limiter.LOCAL_MEMORY] = rules.local_memory_bytes // local if local <= rules.most_local_bytes else 0
    return limits


def _local_bytes(rules: OccupancyRules, group_bytes: int) -> float:
    needed = _round_up(group_bytes + rules.local_memory_reserved_bytes, rules.local_memory_granularity_bytes)
    return next((size for size in rules.local_memory_sizes_bytes if size >= needed > 0), needed)


def local_memory_in_use_bytes(architecture: Architecture, resident: Occupancy, groups: float) -> float:
    """Return the bytes of a unified cache that the carve-out for local memory takes, with *groups* per compute unit.

    The driver selects the smallest carve-out that fits the reserve and the local memory of the resident groups
    (CUDA C++ Programming Guide, unified data cache).
    """
    rules = architecture.occupancy
    if not rules.carveouts_bytes:
        return 0.0
    groups = maximum(1, minimum(ceil(groups), resident.groups_per_compute_unit))
    needed = _local_bytes(rules, resident.local_memory_bytes) * groups
    used: float = rules.carveouts_bytes[-1]
    for size in reversed(rules.carveouts_bytes):
        used = where(size >= needed, size, used)
    return used
