"""What the models know about a device: plain numbers in SI base units, with where each came from.

These are the *resolved* records that every other room uses. The YAML files that people write, with their
units and sources, are read by ``gpureport.spec.database`` into these.
"""

from itertools import chain
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gpureport.records.keys import Record
from gpureport.records.levels import Level
from gpureport.records.provenance import Provenance
from gpureport.records.quantities import (
    Amount,
    Bytes,
    BytesPerCycle,
    BytesPerSecond,
    Count,
    Cycles,
    Hertz,
    Id,
    Many,
    Name,
    Number,
    Seconds,
    Share,
    Table,
    Whole,
    WholeBytes,
)
from gpureport.spec.values import Names

Kind = Literal["gpu", "accelerator", "cpu"]


class Transition(Record):
    """A cliff's width: working set / usable capacity at which a cache departs, is half way, has given out."""

    onset: Number
    midpoint: Number
    end: Number

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if not self.onset <= self.midpoint <= self.end:
            raise ValueError("must ascend from onset (departure) through midpoint to end (arrival)")
        return self


SPECIAL_TRANSITIONS = ("cyclic_transition", "write_transition", "ping_pong_transition")
"""Fields of a cache that say where curves of some kernels leave it; ``None``: where others do."""
TRANSITIONS = ("bandwidth_transition", "latency_transition", *SPECIAL_TRANSITIONS)
"""Fields of a cache that say where curves leave it."""


class Cache(Record):
    """One cache level."""

    name: Name
    """``L1``, ``L2``, ``L3``, ``LLC`` (Infinity Cache and other memory-side caches)."""
    capacity_bytes: Bytes
    """Capacity of one instance."""
    scope: Literal["compute_unit", "device"]
    """``compute_unit``: one instance for each compute unit; ``device``: one instance for all."""
    line_bytes: WholeBytes
    sector_bytes: WholeBytes
    """The least that moves on a miss (= line where lines are not sectored)."""
    latency_cycles: Cycles
    """Dependent-load latency at the device's clock."""
    bandwidth_bytes_per_cycle: BytesPerCycle
    """Bytes a cycle for one compute unit, at the device's clock."""
    bandwidth_transition: Transition
    """Where a bandwidth curve leaves this level, whatever the order of accesses."""
    latency_transition: Transition
    """Where a latency curve of one chasing work-item leaves this level."""
    persistent: bool
    """Whether contents survive from one dispatch to the next (GPU L1 caches are invalidated)."""
    unified_with_local_memory: bool = False
    """Whether local memory is carved out of this cache's capacity."""
    partitions: Count = 1
    """Parts of a device-wide cache that differ in distance.

    One work-item's latency also steps at capacity / partitions.
    """
    far_latency_cycles: Cycles | None = None
    """Latency of the far partition."""
    cyclic_transition: Transition | None = None
    """Where that of passes leaves this level that follow one another in order, so that what is needed next is what was
    used longest ago; ``None``: as ``bandwidth_transition``."""
    write_transition: Transition | None = None
    """Of the bandwidth of kernels that also write; ``None``: as ``bandwidth_transition``."""
    ping_pong_transition: Transition | None = None
    """Where that of a kernel leaves this level that reads what the dispatch before it wrote, and writes what that one
    read; ``None``: as of kernels that write."""

    @property
    def transition_of_cyclic_sweeps(self) -> Transition:
        """Where the bandwidth of passes in order leaves this level."""
        return self.cyclic_transition or self.bandwidth_transition

    @property
    def transition_of_writes(self) -> Transition:
        """Where the bandwidth of kernels that also write leaves this level."""
        return self.write_transition or self.bandwidth_transition

    @property
    def transition_of_ping_pong(self) -> Transition:
        """Where the bandwidth of kernels leaves this level that read what the dispatch before them wrote."""
        return self.ping_pong_transition or self.transition_of_writes


class Memory(Record):
    """Device memory."""

    size_bytes: Bytes
    bandwidth_bytes_per_s: BytesPerSecond
    """As listed."""
    efficiency: Annotated[Share, Field(ge=1e-6)]
    """Share of the listed bandwidth that a streaming kernel reaches."""
    latency_cycles: Cycles
    """Dependent-load latency beyond all caches, at the device's clock."""
    access_bytes: WholeBytes
    """The least that moves to or from memory."""


class Launch(Record):
    """What starting work costs."""

    single_s: Seconds
    """Shortest time between the start and end stamps of one dispatch that does nothing."""
    batched_s: Seconds
    """Time a dispatch takes in a row of dispatches that do nothing."""
    groups_per_cycle: Number
    """Work-groups that the whole device starts in one clock cycle."""


class NvidiaOccupancy(Record):
    """Rules of ``cuda_occupancy.h``: registers are handed out to whole warps per sub-partition."""

    rule: Literal["nvidia"] = "nvidia"
    max_waves: Count
    max_groups: Count
    registers: Count
    """32-bit registers of a compute unit."""
    register_granularity: Count
    """Registers are allocated to a warp in multiples of this."""
    max_registers_per_work_item: Count
    sub_partitions: Count
    local_memory_bytes: Amount
    """Most local memory of a compute unit (largest carve-out)."""
    local_memory_granularity_bytes: WholeBytes
    local_memory_reserved_bytes: Whole
    """Taken by the system for each work-group."""
    carveouts_bytes: Many[Amount] = ()
    """Sizes that local memory may take of the unified cache, ascending; empty: not unified."""


class AmdOccupancy(Record):
    """Rules of LLVM's AMDGPU back end: vector registers per SIMD, LDS per compute unit."""

    rule: Literal["amd"] = "amd"
    simds: Count
    max_waves_per_simd: Count
    vector_registers: Table[Count, Count]
    """Vector registers of a SIMD lane, by wave width."""
    vector_register_granularity: Table[Count, Count]
    max_vector_registers: Count
    max_groups: Count
    local_memory_bytes: Amount
    local_memory_granularity_bytes: WholeBytes


class IntelOccupancy(Record):
    """Rules of Intel's compute runtime: hardware threads of a subslice, shared local memory of a subslice."""

    rule: Literal["intel"] = "intel"
    threads: Count
    """Hardware threads of a subslice."""
    units_per_subslice: Count
    """Execution units that share a subslice (OpenCL reports execution units as compute units)."""
    local_memory_bytes: Amount
    local_memory_sizes_bytes: Many[Amount]
    """Sizes that an allocation is rounded up to, ascending."""


class PooledOccupancy(Record):
    """Waves of a compute unit share pools of registers; for GPUs whose vendors publish no calculator."""

    rule: Literal["pooled"] = "pooled"
    max_waves: Count
    registers: Count
    """32-bit registers of a compute unit, all pools together."""
    pools: Count
    """Equal parts of the registers; a wave takes its own from one of them, and all hold equally many waves."""
    register_granularity: Count
    """Registers are allocated to a work-item in multiples of this."""
    max_registers_per_work_item: Count
    local_memory_bytes: Amount | None = None
    """``None``: local memory is ordinary memory, of which there is enough for all waves."""


class CpuOccupancy(Record):
    """A CPU core runs one work-group at a time."""

    rule: Literal["cpu"] = "cpu"
    local_memory_bytes: Amount


OccupancyRules = NvidiaOccupancy | AmdOccupancy | IntelOccupancy | PooledOccupancy | CpuOccupancy


def without_registers(wave_size: int, rules: object) -> str | None:
    """Name the table of vector registers, of AMD's rules, that has none for waves of a width; ``None``: all have."""
    for name in ("vector_registers", "vector_register_granularity"):
        table = getattr(rules, name, None)
        widths = getattr(table, "value", table)
        if widths is not None and wave_size not in widths:
            return name
    return None


def check_registers(wave_size: int, rules: object) -> None:
    """Check that AMD's rules have vector registers for waves of a width.

    Raises:
        ValueError: they have not.
    """
    if name := without_registers(wave_size, rules):
        raise ValueError(f"occupancy.{name} has no value for wave_size {wave_size}; add one")


class Architecture(Record):
    """What all devices of one (micro)architecture share."""

    id: Name
    name: Name
    vendor: Name
    kind: Kind
    wave_size: Count
    """Lanes of a wave (warp, wavefront, hardware thread; SIMD width of a CPU core in 32-bit lanes)."""
    max_work_group: Count
    occupancy: OccupancyRules = Field(discriminator="rule")
    schedulers: Count
    """Waves that can issue an instruction in one cycle, per compute unit."""
    rates_per_cycle: Table[Name, Number]
    """Lane operations per cycle of one compute unit, by instruction class.

    ``fp32``, ``int32`` (whatever has no class of its own), ``int32_mul``, ``shuffle``, ``local`` (4-byte local-memory
    accesses), ``memory`` (4-byte global loads and stores issued), ``instruction`` (anything); where known ``add``
    (additions alone, where compilers may spread them over two pipes), ``fp32_three`` (multiply-adds of three different
    registers), ``ternary`` (bitwise, of three words), ``shift`` (and rotations), ``ballot``, ``permute`` (words of a
    CPU's vector), ``barrier`` (work-items that reach one).
    """
    lines_per_access: Number = 1.0
    """Lines that the load/store unit looks up in the time of one access of a wave to neighbouring words."""
    sector_writes_per_cycle: Number | None = None
    """Sectors that the device-wide cache lets write in a cycle, for each compute unit; ``None``: not known to be a
    limit."""
    line_writes_per_cycle: Number | None = None
    """Writes, of a line or of any part of one, that it takes in a cycle, for each compute unit."""
    barrier_cycles: Amount = 0.0
    """For how long a work-group's barrier keeps its compute unit's local memory from other work."""
    pipes: Table[Name, Names] = Field(default_factory=dict)
    """Instruction classes that one pipe executes, by the pipe's name: they wait for each other."""
    latency_cycles: Table[Name, Cycles]
    """Dependent-issue latency by instruction class (as in ``rates_per_cycle``, plus ``barrier``)."""
    local_memory_banks: Count
    write_allocate: bool
    """Whether a write miss fetches the line even when the write will cover it (CPUs)."""
    loaded_latency_factor: Number
    """Latency under streaming load / latency of a lone dependent load."""
    turnover_cycles: Amount = 0.0
    """From the end of a work-group to the first instruction of the next in its place, in all but what it waits for."""

    @model_validator(mode="after")
    def _has_registers(self) -> Self:
        check_registers(self.wave_size, self.occupancy)
        return self


class Device(Record):
    """A device, resolved: its own figures and its architecture's."""

    id: Id
    """The database entry, e.g. ``nvidia/h200_sxm``; ``draft`` for a device that no entry matches."""
    name: Name
    vendor: Name
    kind: Kind
    architecture: Architecture
    compute_units: Count
    clock_hz: Hertz
    """Clock that the model uses: listed boost clock, unless a better one is known."""
    caches: Many[Cache]
    """Nearest first; only those that OpenCL global loads and stores see."""
    memory: Memory
    launch: Launch
    opencl_names: Many[Name] = ()
    opencl_compute_units: Count | None = None
    """What ``CL_DEVICE_MAX_COMPUTE_UNITS`` reports, where it differs (AMD work-group processors, Intel engines)."""
    pci_ids: Many[Name] = ()
    provenance: Table[Name, Provenance] = Field(default_factory=dict)
    """By dotted path of the value: ``memory.bandwidth``, ``caches.L2.capacity``."""
    notes: Many[str] = ()

    @property
    def cache_levels(self) -> tuple[Level, ...]:
        """The levels that cliffs end, innermost first: the near partition of a cache ends before the whole cache."""
        near_first = ((Level(name=cache.name, near=True), Level(name=cache.name)) for cache in self.caches)
        return tuple(chain.from_iterable(near_first))

    def rate_per_s(self, instruction: str) -> float:
        """Lane operations per second of the whole device for one instruction class."""
        return self.architecture.rates_per_cycle[instruction] * self.clock_hz * self.compute_units

    def level_bandwidth_bytes_per_s(self, cache: Cache) -> float:
        """Bandwidth of one cache level, all compute units together, in bytes/s."""
        return cache.bandwidth_bytes_per_cycle * self.clock_hz * self.compute_units

    def cycles(self, count: float) -> float:
        """Seconds that *count* clock cycles take."""
        return count / self.clock_hz


class PresentDevice(Record):
    """What the OpenCL runtime says of a device that is present (plain data: no OpenCL object)."""

    index: Whole
    platform: Name
    platform_version: Name
    name: Name
    vendor: Name
    kind: Kind
    driver: Name
    version: Name
    """``CL_DEVICE_VERSION``."""
    compute_units: Whole
    clock_hz: Amount | None
    global_memory_bytes: Whole
    max_allocation_bytes: Whole
    global_cache_bytes: Whole
    cache_line_bytes: Whole
    local_memory_bytes: Whole
    max_work_group: Whole
    max_work_item_sizes: Many[Whole]
    timer_resolution_s: Amount
    extensions: Many[Name]
    pci_id: Name | None = None
    """``vendor:device`` in hexadecimal, where an extension tells."""
    pci_address: Name | None = None
    """``domain:bus:device.function`` in hexadecimal, where an extension tells."""
    wave_size: Whole | None = None
    """Warp or wavefront width where an extension tells."""
    compute_capability: Name | None = None
    """NVIDIA only, e.g. ``9.0``."""
    board: Name | None = None
    """AMD only: the board's name, where the device's is that of the instruction set."""

    @property
    def runtime(self) -> str:
        """The OpenCL runtime as people know it, with its version."""
        if "Portable Computing Language" in self.platform:
            return f"PoCL {self.driver}"
        return f"{self.platform}, driver {self.driver}"


class DeviceMatch(Record):
    """What the database makes of a device that is present."""

    device: Device
    """The device to predict for: the entry's figures, corrected by what is there."""
    entry_id: Id | None
    """``None``: no entry matches, the device is a draft."""
    how: str
    """A sentence: by which name or id the entry was found, or what the draft was made from."""
    draft: bool
    notes: Many[str] = ()
    """Where the device that is present disagrees with its entry."""
