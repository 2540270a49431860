"""The YAML files as people write them: their units, their sources; one model a kind of file.

Every value may be written bare or with where it comes from::

    clock: 1.98 GHz
    clock: {value: 1.98 GHz, source: datasheet, note: boost}

``source`` is a key of the file's ``sources``; a bare value has the file's default ``source``.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gpureport.spec.models import Kind, check_registers
from gpureport.spec.values import (
    Bytes,
    BytesPerCycle,
    BytesPerSecond,
    Count,
    Counts,
    Cycles,
    Extents,
    Flag,
    Hertz,
    Key,
    Leaf,
    Names,
    Number,
    OperationsPerSecond,
    Scope,
    Seconds,
    Share,
    Sizes,
    Source,
    Strict,
    Text,
    WholeBytes,
)


class CacheFields(Strict):
    """A cache level. Fields may be spread over the architecture's and the device's file; the device's win."""

    short_for = "capacity"

    capacity: Leaf[Bytes] | None = None
    """Capacity of one instance."""
    scope: Leaf[Scope] | None = None
    """One instance for each compute unit, or one for the device."""
    line: Leaf[WholeBytes] | None = None
    sector: Leaf[WholeBytes] | None = None
    """The least that moves on a miss (= line where lines are not sectored)."""
    latency: Leaf[Cycles] | None = None
    """Latency of a dependent load."""
    bandwidth: Leaf[BytesPerCycle] | None = None
    """Bytes a cycle for one compute unit."""
    bandwidth_transition: Leaf[Extents] | None = None
    """Onset, midpoint and end of the cliff in bandwidth, as shares of the usable capacity."""
    latency_transition: Leaf[Extents] | None = None
    """The same for one chasing work-item's latency."""
    cyclic_transition: Leaf[Extents] | None = None
    """The same for the bandwidth of cyclic sweeps; as ``bandwidth_transition`` if not given."""
    write_transition: Leaf[Extents] | None = None
    """The same for the bandwidth of kernels that also write; as ``bandwidth_transition`` if not given."""
    ping_pong_transition: Leaf[Extents] | None = None
    """The same where each dispatch reads what the one before it wrote; as ``write_transition`` if not given."""
    persistent: Leaf[Flag] | None = None
    """Whether contents survive from one dispatch to the next."""
    unified_with_local_memory: Leaf[Flag] | None = None
    partitions: Leaf[Count] | None = None
    far_latency: Leaf[Cycles] | None = None
    """Latency of the far partition."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        """Accept ``L2: 60 MiB`` for ``L2: {capacity: 60 MiB}``, with or without where it comes from."""
        if isinstance(data, Mapping) and "value" not in data:
            return data
        return {"capacity": data}


Levels = Annotated[dict[Key, CacheFields | None], Field(max_length=16)]


class MemoryFields(Strict):
    """Device memory."""

    size: Leaf[Bytes] | None = None
    bandwidth: Leaf[BytesPerSecond] | None = None
    """As listed."""
    efficiency: Leaf[Share] | None = None
    """Share of the listed bandwidth that a streaming kernel reaches."""
    latency: Leaf[Cycles] | None = None
    """Latency of a dependent load beyond all caches."""
    access: Leaf[WholeBytes] | None = None
    """The least that moves to or from memory."""


class LaunchFields(Strict):
    """What starting work costs."""

    single: Leaf[Seconds] | None = None
    """One dispatch that does nothing, between its own time stamps."""
    batched: Leaf[Seconds] | None = None
    """One of many dispatches in a row that do nothing."""
    groups_per_cycle: Leaf[Number] | None = None
    """Work-groups that the whole device starts in a cycle."""


class NvidiaRules(Strict):
    """Occupancy of NVIDIA multiprocessors (``cuda_occupancy.h``)."""

    rule: Literal["nvidia"]
    max_waves: Leaf[Count]
    max_groups: Leaf[Count]
    registers: Leaf[Count]
    register_granularity: Leaf[Count]
    max_registers_per_work_item: Leaf[Count]
    sub_partitions: Leaf[Count]
    local_memory: Leaf[Bytes]
    local_memory_granularity: Leaf[WholeBytes]
    local_memory_reserved: Leaf[WholeBytes] | None = None
    carveouts: Leaf[Sizes] | None = None


class AmdRules(Strict):
    """Occupancy of AMD compute units (LLVM's AMDGPU back end)."""

    rule: Literal["amd"]
    simds: Leaf[Count]
    max_waves_per_simd: Leaf[Count]
    vector_registers: Leaf[Counts]
    vector_register_granularity: Leaf[Counts]
    max_vector_registers: Leaf[Count]
    max_groups: Leaf[Count]
    local_memory: Leaf[Bytes]
    local_memory_granularity: Leaf[WholeBytes]


class IntelRules(Strict):
    """Occupancy of Intel subslices (compute-runtime)."""

    rule: Literal["intel"]
    threads: Leaf[Count]
    units_per_subslice: Leaf[Count]
    local_memory: Leaf[Bytes]
    local_memory_sizes: Leaf[Sizes]


class PooledRules(Strict):
    """Occupancy of GPUs whose waves share pools of registers (Apple, Arm, Qualcomm)."""

    rule: Literal["pooled"]
    max_waves: Leaf[Count]
    registers: Leaf[Count]
    """32-bit registers of a compute unit, all pools together."""
    pools: Leaf[Count]
    register_granularity: Leaf[Count]
    """Registers are allocated to a work-item in multiples of this."""
    max_registers_per_work_item: Leaf[Count]
    local_memory: Leaf[Bytes] | None = None
    """Left out where local memory is ordinary memory."""


class CpuRules(Strict):
    """A CPU core runs one work-group at a time."""

    rule: Literal["cpu"]
    local_memory: Leaf[Bytes]


Rules = Annotated[NvidiaRules | AmdRules | IntelRules | PooledRules | CpuRules, Field(discriminator="rule")]


class File(Strict):
    """What both kinds of file share."""

    name: Text
    vendor: Text
    sources: dict[str, Source] = Field(default_factory=dict, max_length=200)
    """Citations by key."""
    source: str | None = None
    """The key that values without a source of their own have."""
    caches: Levels = Field(default_factory=dict)
    """By level, nearest first; ``null`` drops a level that the architecture lists."""
    memory: MemoryFields = MemoryFields()
    launch: LaunchFields = LaunchFields()
    notes: tuple[str, ...] = ()


class Rates(Strict):
    """Lane operations per cycle of one compute unit."""

    fp32: Leaf[Number]
    fp32_three: Leaf[Number] | None = None
    """Multiply-adds of three different registers, where that is slower."""
    int32: Leaf[Number]
    """Whatever integer operation has no class of its own."""
    add: Leaf[Number] | None = None
    """Additions alone, where compilers may spread them over more pipes than one."""
    int32_mul: Leaf[Number]
    ternary: Leaf[Number] | None = None
    """Bitwise combinations of three words."""
    shift: Leaf[Number] | None = None
    """Shifts, funnel shifts and rotations by a variable distance."""
    shuffle: Leaf[Number]
    ballot: Leaf[Number] | None = None
    permute: Leaf[Number] | None = None
    local: Leaf[Number]
    """4-byte accesses of local memory."""
    memory: Leaf[Number]
    """4-byte global loads and stores issued."""
    instruction: Leaf[Number]
    """Anything that is issued."""
    barrier: Leaf[Number] | None = None
    """Work-items that reach a barrier."""


class Latencies(Strict):
    """Cycles from the issue of an instruction to that of one that needs its result."""

    fp32: Leaf[Cycles]
    int32: Leaf[Cycles]
    add: Leaf[Cycles] | None = None
    int32_mul: Leaf[Cycles]
    ternary: Leaf[Cycles] | None = None
    shift: Leaf[Cycles] | None = None
    shuffle: Leaf[Cycles]
    ballot: Leaf[Cycles] | None = None
    local: Leaf[Cycles]
    barrier: Leaf[Cycles]


class TypicalFields(Strict):
    """What to assume of a device that has no file and does not say: so much for each compute unit."""

    bandwidth: Leaf[BytesPerSecond] | None = None
    capacities: dict[str, Leaf[Bytes]] = Field(default_factory=dict, max_length=16)
    """Of caches that serve the whole device, by level."""


class ArchitectureFile(File):
    """``devices/architectures/*.yaml``: what all devices of one (micro)architecture share."""

    kind: Kind
    matches: tuple[str, ...] = ()
    """Patterns (``*``, ``?``) of what its devices call themselves: ``sm_90``, ``gfx110?``, a name; for those
    without a file of their own."""
    units_per_opencl_unit: Annotated[float, Field(gt=0)] = 1
    """Compute units that OpenCL counts as one (AMD work-group processors: 2; Intel's vector engines, of which a core
    has 16: 0.0625)."""
    typical: TypicalFields = TypicalFields()
    wave_size: Leaf[Count]
    max_work_group: Leaf[Count]
    schedulers: Leaf[Count]
    """Waves that can issue an instruction in one cycle, per compute unit."""
    local_memory_banks: Leaf[Count]
    write_allocate: Leaf[Flag]
    """Whether a write miss fetches the line even when the write will cover it."""
    loaded_latency_factor: Leaf[Number]
    """Latency under streaming load / latency of a lone dependent load."""
    lines_per_access: Leaf[Number] | None = None
    """Lines that the load/store unit looks up in the time of one access of a wave to neighbouring words; 1 if not
    given."""
    sector_writes_per_cycle: Leaf[Number] | None = None
    """Sectors that the device-wide cache lets write in a cycle, for each compute unit."""
    line_writes_per_cycle: Leaf[Number] | None = None
    """Writes, of a line or of any part of one, that it takes in a cycle, for each compute unit."""
    barrier_cycles: Leaf[Cycles] | None = None
    """For how long a work-group's barrier keeps its compute unit's local memory from other work; 0 if not given."""
    turnover_cycles: Leaf[Cycles] | None = None
    """From the end of a work-group to the first instruction of the next in its place; 0 if not given."""
    occupancy: Rules
    rates: Rates
    latencies: Latencies
    pipes: dict[Key, Leaf[Names]] = Field(default_factory=dict, max_length=50)
    """Instruction classes that one pipe executes, one after the other, by the pipe's name."""

    @model_validator(mode="after")
    def _has_registers(self) -> Self:
        check_registers(self.wave_size.value, self.occupancy)
        return self


class OpenclFields(Strict):
    """How the device shows itself in OpenCL."""

    names: tuple[Text, ...] = Field(default=(), min_length=1, max_length=200)
    """``CL_DEVICE_NAME``."""
    compute_units: Leaf[Count] | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS``, where it differs from ``compute_units``."""
    parts: Leaf[Count] | None = None
    """Equal parts (tiles, dies) that may show as devices of their own, each with its share of caches and bandwidth."""


class DeviceFile(File):
    """``devices/<vendor>/<device>.yaml``: one device."""

    architecture: str
    """Name of a file in ``architectures/``, without ``.yaml``."""
    compute_units: Leaf[Count] | None = None
    clock: Leaf[Hertz] | None = None
    """Listed boost clock."""
    flops: Leaf[OperationsPerSecond] | None = None
    """Listed single-precision peak: no prediction uses it, but ``devices check`` holds it against lanes, units and
    clock."""
    opencl: OpenclFields = OpenclFields()
    pci_ids: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")], ...] = ()
    """``vendor:device`` in lower-case hexadecimal."""
    host: bool = False
    """Whether sizes, clock and compute units are those of the machine that it runs on (CPUs)."""
