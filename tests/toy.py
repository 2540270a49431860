"""A small invented GPU with round numbers, so that predictions can be checked by hand."""

from typing import Any

from gpureport.spec.models import Architecture, Cache, Device, Launch, Memory, OccupancyRules, Transition
from gpureport.workloads.model import Demand

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
STEP = Transition(onset=0.8, midpoint=1.0, end=1.25)

HOPPER_RULES = OccupancyRules(
    max_waves=64,
    max_groups=32,
    registers=65536,
    register_granularity=256,
    max_registers_per_work_item=255,
    register_parts=4,
    local_memory_bytes=228 * KIB,
    local_memory_granularity_bytes=128,
    local_memory_reserved_bytes=1024,
    carveouts_bytes=tuple(size * KIB for size in (8, 16, 32, 64, 100, 132, 164, 196, 228)),
)
TURING_RULES = HOPPER_RULES.model_copy(
    update={
        "max_waves": 32,
        "max_groups": 16,
        "local_memory_bytes": 64 * KIB,
        "local_memory_granularity_bytes": 256,
        "local_memory_reserved_bytes": 0,
        "carveouts_bytes": (32 * KIB, 64 * KIB),
    }
)
RDNA3_RULES = OccupancyRules(
    max_waves=32,
    max_groups=16,
    free_single_waves=True,
    registers=2 * 1536 * 32,
    register_parts=2,
    register_granularity=24 * 32,
    max_registers_per_work_item=256,
    local_memory_bytes=64 * KIB,
    local_memory_granularity_bytes=1024,
)
GEN9_RULES = OccupancyRules(
    units=8,
    max_waves=56,
    local_memory_bytes=64 * KIB,
    local_memory_sizes_bytes=tuple(2.0**power * KIB for power in range(7)),
)
APPLE_RULES = OccupancyRules(
    max_waves=96,
    registers=53248,
    register_parts=2,
    register_granularity=4 * 32,
    max_registers_per_work_item=128,
    local_memory_bytes=60 * KIB,
)
MALI_RULES = OccupancyRules(max_waves=64, registers=32768, register_granularity=32 * 16, max_registers_per_work_item=64)
ADRENO_RULES = OccupancyRules(
    max_waves=16,
    registers=49152,
    register_parts=2,
    register_granularity=4 * 128,
    max_registers_per_work_item=192,
    local_memory_bytes=32 * KIB,
)

ARCHITECTURE = Architecture(
    id="toy",
    name="Toy",
    vendor="NVIDIA",
    kind="gpu",
    wave_size=32,
    max_work_group=1024,
    occupancy=HOPPER_RULES,
    schedulers=4,
    rates_per_cycle={
        "fp32": 128,
        "int32": 64,
        "int32_mul": 64,
        "shuffle": 32,
        "local": 32,
        "memory": 32,
        "instruction": 128,
    },
    latency_cycles={"int32": 4, "shuffle": 24, "local": 29, "barrier": 20},
    local_memory_banks=32,
    matrix_instruction="mma.sync",
    write_allocate=False,
    loaded_latency_factor=2.0,
)
L1 = Cache(
    name="L1",
    capacity_bytes=256 * KIB,
    scope="compute_unit",
    line_bytes=128,
    sector_bytes=32,
    latency_cycles=32,
    bandwidth_bytes_per_cycle=128,
    bandwidth_transition=STEP,
    latency_transition=STEP,
    persistent=False,
    unified_with_local_memory=True,
)
L2 = Cache(
    name="L2",
    capacity_bytes=64 * MIB,
    scope="device",
    line_bytes=128,
    sector_bytes=32,
    latency_cycles=256,
    far_latency_cycles=512,
    bandwidth_bytes_per_cycle=32,
    bandwidth_transition=STEP,
    latency_transition=STEP,
    persistent=True,
    partitions=2,
)
MEMORY = Memory(
    size_bytes=64 * GIB, bandwidth_bytes_per_s=1e12, efficiency=0.9, latency_cycles=800, access_bytes=32, stacked=True
)
TOY = Device(
    id="toy",
    name="Toy 100",
    vendor="NVIDIA",
    kind="gpu",
    architecture=ARCHITECTURE,
    compute_units=100,
    clock_hz=1e9,
    caches=(L1, L2),
    memory=MEMORY,
    launch=Launch(single_s=3e-6, batched_s=2e-6, groups_per_cycle=1.0),
)
NO_LAUNCH_RATE = TOY.model_copy(update={"launch": TOY.launch.model_copy(update={"groups_per_cycle": 1e9})})
"""Starts groups in no time, so that nothing hides behind it."""


def toy(device: Device = TOY, **architecture: Any) -> Device:
    """Return *device* with another architecture."""
    return device.model_copy(update={"architecture": device.architecture.model_copy(update=architecture)})


def on_cpu(device: Device = TOY, **architecture: Any) -> Device:
    """Return *device* as a CPU, with another architecture."""
    facts = dict.fromkeys(("groups_as_loops", "on_host", "has_neighbours"), True)
    return toy(device.model_copy(update={"kind": "cpu"}), kind="cpu", **facts, **architecture)


TOY_WITH_FORMATS = toy(
    rates_per_cycle={**ARCHITECTURE.rates_per_cycle, "fp64": 64, "int64": 32, "matrix_fp16": 1024, "matrix_bf16": 1024},
    latency_cycles={**ARCHITECTURE.latency_cycles, "fp64": 8, "int64": 8},
)
"""Has rates of further number formats, so that every workload has points."""


def of_groups(count: float, size: int = 256, **changes: Any) -> Demand:
    """Return the demand of *count* work-groups of *size* work-items."""
    return Demand(work_items=int(count * size), work_group=(size,), **changes)
