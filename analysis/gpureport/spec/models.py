"""Resolved devices: plain numbers in SI base units, each with its provenance.

All other packages use these records. ``gpureport.spec.database`` makes them from YAML files, which contain units and
sources.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf
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
    Watts,
    Whole,
    WholeBytes,
)
from gpureport.spec.values import LinkKind, Names, Scope
from gpureport.units import Dimension

Kind = Literal["gpu", "accelerator", "cpu"]


class Transition(Record):
    """The transition range of a cliff: working sets / usable capacity."""

    onset: Number
    midpoint: Number
    end: Number

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if not self.onset <= self.midpoint <= self.end:
            raise ValueError("must ascend from onset through midpoint to end")
        return self


SPECIAL_TRANSITIONS = ("cyclic_transition", "write_transition", "ping_pong_transition")
"""Transitions that apply to some kernels only; ``None``: the same as for other kernels."""
TRANSITIONS = ("bandwidth_transition", "latency_transition", *SPECIAL_TRANSITIONS)
"""All transitions of a cache."""


class Cache(Record):
    """One cache level; cycles are those of the device's clock."""

    name: Name
    """``L1``, ``L2``, ``L3``, ``LLC`` (Infinity Cache and other memory-side caches)."""
    capacity_bytes: Bytes
    """Capacity of one instance."""
    scope: Scope
    """One instance for each compute unit, or one for the device."""
    line_bytes: WholeBytes
    sector_bytes: WholeBytes
    """Bytes transferred on a miss; equal to the line size for caches without sectors."""
    latency_cycles: Cycles
    """Latency of a dependent load."""
    bandwidth_bytes_per_cycle: BytesPerCycle
    """Bytes per cycle for one compute unit."""
    bandwidth_transition: Transition
    """Onset, midpoint and end of the cliff in bandwidth, as fractions of the usable capacity."""
    latency_transition: Transition
    """The same for the latency of one pointer-chasing work-item."""
    cyclic_transition: Transition | None = None
    """The same for the bandwidth of cyclic sweeps, the worst case of LRU; default: as ``bandwidth_transition``."""
    write_transition: Transition | None = None
    """The same if kernels also write (of misses, if the rate of writes is known); default: ``bandwidth_transition``."""
    ping_pong_transition: Transition | None = None
    """The same if each dispatch reads what the previous one wrote; default: as ``write_transition``."""
    persistent: bool
    """Whether contents survive from one dispatch to the next."""
    unified_with_local_memory: bool = False
    """Whether local memory is carved out of this cache's capacity."""
    partitions: Count = 1
    """Partitions that differ in latency. The latency of one work-item also rises at capacity / partitions."""
    far_latency_cycles: Cycles | None = None
    """Latency of the far partition."""
    slice_bytes: WholeBytes | None = None
    """Capacity of a slice. Each slice processes its own writes and atomic operations; default: not known."""
    ways: Count | None = None
    """Lines of a set, where bits of the address select the set; default: not known, or a hash selects the set."""

    @property
    def slices(self) -> int | None:
        """Number of slices; ``None`` if not known."""
        return max(1, round(float(self.capacity_bytes) / self.slice_bytes)) if self.slice_bytes else None

    def lines_within(self, capacity_bytes: float, stride_bytes: float) -> float:
        """Return how many lines with *stride_bytes* from one to the next fit in a part of the capacity.

        A stride that is a power of two leaves out sets, until it selects a single one. Without ``ways`` it leaves out
        none.
        """
        stride = max(stride_bytes, self.line_bytes) if self.ways else self.line_bytes
        return max(capacity_bytes / stride, min(self.ways or 0, capacity_bytes / self.line_bytes))

    @property
    def transition_of_cyclic_sweeps(self) -> Transition:
        """Transition of the bandwidth of cyclic sweeps."""
        return self.cyclic_transition or self.bandwidth_transition

    @property
    def transition_of_writes(self) -> Transition:
        """Transition of the bandwidth of kernels that also write."""
        return self.write_transition or self.bandwidth_transition

    @property
    def transition_of_ping_pong(self) -> Transition:
        """Transition of the bandwidth of kernels that read what the previous dispatch wrote."""
        return self.ping_pong_transition or self.transition_of_writes


class Tlb(Record):
    """One level of the translation lookaside buffers of a compute unit; cycles are those of the device's clock."""

    name: Name
    """``L1``, ``L2``, …, nearest first."""
    entries: Count | None = None
    """Number of entries; their pages together are the reach."""
    huge_entries: Count | None = None
    """Number of entries for huge pages, if it differs."""
    reach_bytes: Bytes | None = None
    """Range of addresses that all entries together cover, where it is not entries times page size."""
    page_bytes: WholeBytes
    """Page size of memory that OpenCL allocates."""
    miss_cycles: Cycles
    """Additional latency of a load that misses this level and hits the next one (after the last: page table walk)."""
    transition: Transition
    """Onset, midpoint and end of the cliff in latency, as fractions of the reach."""

    @property
    def level(self) -> Level:
        """The level of curves."""
        return Level(name=f"{self.name} TLB")

    @property
    def covered_bytes(self) -> float:
        """Range of addresses whose translations fit; infinite if neither entries nor reach are known."""
        if self.reach_bytes:
            return self.reach_bytes
        huge = self.huge_entries if self.page_bytes >= HUGE_PAGE_BYTES else None
        entries = huge or self.entries
        return entries * self.page_bytes if entries else inf


HUGE_PAGE_BYTES = 2 << 20
"""Size of a huge page on x86-64 and aarch64."""
PAGE_WALK = Level(name="page table walk")
"""Address translation beyond all translation lookaside buffers."""


class Memory(Record):
    """Device memory."""

    size_bytes: Bytes
    bandwidth_bytes_per_s: BytesPerSecond
    """Listed bandwidth."""
    efficiency: Annotated[Share, Field(ge=1e-6)]
    """Fraction of the listed bandwidth that a streaming kernel reaches."""
    latency_cycles: Cycles
    """Latency of a dependent load beyond all caches."""
    access_bytes: WholeBytes
    """Smallest transfer to or from memory."""
    stacked: bool = False
    """Whether memory consists of stacks (HBM), which have several times as many channels as other memory."""


class Launch(Record):
    """Launch costs."""

    single_s: Seconds
    """One empty kernel, between its own time stamps."""
    batched_s: Seconds
    """Time per dispatch of back-to-back dispatches of an empty kernel."""
    groups_per_cycle: Number
    """Work-groups that the whole device starts per cycle."""


def check_link(kind: str, lanes: bool, bandwidth: bool) -> None:
    """Check that generation and *lanes*, or the *bandwidth*, are known where the kind of a link needs them.

    Raises:
        ValueError: they are not.
    """
    if kind == "pcie" and not lanes:
        raise ValueError("needs generation and lanes for kind pcie")
    if kind == "nvlink_c2c" and not bandwidth:
        raise ValueError("needs bandwidth for kind nvlink_c2c")


_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 8e9 / 8 * 128 / 130, 4: 16e9 / 8 * 128 / 130, 5: 32e9 / 8 * 128 / 130}
"""Rate of a lane of PCI Express in one direction without its line code (8b/10b; from generation 3 on 128b/130b); later
generations: 64 GT/s, of which 236 of 256 bytes are packets (PCI Express Base Specification, sections 4.2 and 3.3)."""


class Link(Record):
    """The link between device and host."""

    kind: LinkKind
    """``pcie``; ``nvlink_c2c``: a coherent link on the module; ``shared``: device and host have the same memory."""
    generation: Count | None = None
    """PCI Express only."""
    lanes: Count | None = None
    """PCI Express only."""
    bandwidth_bytes_per_s: Amount = 0.0
    """Listed bandwidth of one direction; of PCI Express the rate of its lanes without the line code; 0 if shared."""
    latency_s: Seconds = 1.45e-6
    """Fixed time of a copy of pinned memory to the host, between the device's time stamps. Assumed for all: 1.45
    us on an H200. A read of the host's memory takes 0.6 to 1 us (Neugebauer et al., SIGCOMM 2018)."""
    call_s: Seconds = 16.5e-6
    """Time of the smallest copy to the device for the host, from call to arrival. Assumed for all: 16.5 us with
    NVIDIA's OpenCL and an H200."""
    peer_bandwidth_bytes_per_s: BytesPerSecond | None = None
    """Listed bandwidth of one direction of the direct link to other devices of the model (NVLink, Infinity Fabric);
    ``None``: there is none, or it is not known."""
    peer_speedup: Amount = 1.0
    """Rate of copies to another device / rate if staged through host memory. Runtimes may take the direct link."""
    host_copy_bytes_per_s: BytesPerSecond = 10e9
    """Rate at which one core of the host copies. Assumed: 11.6 GB/s in the host of an H200; servers of 2012 to 2017
    move 6 to 17 GB/s in a copy, both directions together (RRZE-HPC/kerncraft @5d1cc67)."""

    @classmethod
    def pcie(cls, generation: int, lanes: int) -> "Link":
        """Return a link of PCI Express."""
        return cls(
            kind="pcie",
            generation=generation,
            lanes=lanes,
            bandwidth_bytes_per_s=lanes * _LANE_BYTES_PER_S.get(generation, 7.56e9),
        )

    def __str__(self) -> str:
        """``PCIe 5.0 x16``, ``NVLink-C2C``, ``shared memory``."""
        names = {"nvlink_c2c": "NVLink-C2C", "shared": "shared memory"}
        return names.get(self.kind) or f"PCIe {self.generation}.0 x{self.lanes}"


class NvidiaOccupancy(Record):
    """Rules of ``cuda_occupancy.h``: registers are allocated to whole warps per sub-partition."""

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
    """Maximum local memory of a compute unit (largest carve-out)."""
    local_memory_granularity_bytes: WholeBytes
    local_memory_reserved_bytes: Whole
    """Reserved by the system for each work-group."""
    carveouts_bytes: Many[Amount] = ()
    """Sizes of local memory within the unified cache, ascending; empty: not unified."""


class AmdOccupancy(Record):
    """Rules of LLVM's AMDGPU back end: vector registers per SIMD, LDS per compute unit; all are of one compute unit."""

    rule: Literal["amd"] = "amd"
    simds: Count
    max_waves_per_simd: Count
    vector_registers: Table[Count, Count]
    """Vector registers of a SIMD lane, by wave size."""
    vector_register_granularity: Table[Count, Count]
    max_vector_registers: Count
    max_groups: Count
    local_memory_bytes: Amount
    local_memory_granularity_bytes: WholeBytes
    units_per_group: Count = 1
    """Compute units that share a work-group's waves and their local memory (work-group processor mode: 2)."""


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
    """Equal parts of the registers; a wave is allocated in one of them, and waves are distributed evenly."""
    register_granularity: Count
    """Registers are allocated to a work-item in multiples of this."""
    max_registers_per_work_item: Count
    local_memory_bytes: Amount | None = None
    """Omitted if local memory is ordinary memory."""


class CpuOccupancy(Record):
    """A CPU core runs one work-group at a time."""

    rule: Literal["cpu"] = "cpu"
    local_memory_bytes: Amount


OccupancyRules = NvidiaOccupancy | AmdOccupancy | IntelOccupancy | PooledOccupancy | CpuOccupancy


def without_registers(wave_size: int, rules: object) -> str | None:
    """Return the field of AMD's *rules* without vector registers for waves of *wave_size*; ``None``: there is none."""
    for name in ("vector_registers", "vector_register_granularity"):
        table = getattr(rules, name, None)
        sizes = getattr(table, "value", table)
        if sizes is not None and wave_size not in sizes:
            return name
    return None


def check_registers(wave_size: int, rules: object) -> None:
    """Check that AMD's *rules* have vector registers for waves of *wave_size*.

    Raises:
        ValueError: they do not.
    """
    if name := without_registers(wave_size, rules):
        raise ValueError(f"occupancy.{name} has no value for wave_size {wave_size}; add one")


@dataclass(frozen=True)
class Scalar:
    """Declares a number of an architecture, as metadata of its field in :class:`Architecture`.

    From it follow the field in YAML files, its unit, the warning about unlikely values and the part of the number in
    the uncertainty of predictions. A field with a default is optional in YAML files.

    Attributes:
        dimension: of the quantity in YAML files; ``count``: a number without a unit.
        least: smallest usual value.
        most: largest usual value.
        uncertain: whether the uncertainty of predictions includes it.
    """

    dimension: Dimension
    least: float
    most: float
    uncertain: bool = True


class CoreType(Record):
    """The memory hierarchy of one type of CPU core, for loads and stores of ordinary programs.

    Rates are those of one core that shares nothing. Where vendors document no rate, they come from measurements of many
    machines (:mod:`gpureport.predict.cpu_memory` describes the model).
    """

    l1_bytes: Bytes
    """L1 data cache of a core."""
    l2_bytes: Bytes
    """L2 cache of a core."""
    l3_bytes: Bytes
    """L3 cache of one domain, for machines that do not list their own."""
    cores_per_l3: Count
    """Cores that share an L3 domain."""
    cores_per_socket: Count
    """Cores of a large socket."""
    l1_latency_s: Seconds
    """Latency of a dependent load."""
    l2_latency_s: Seconds
    l3_latency_s: Seconds
    memory_latency_s: Seconds
    tlb_latency_s: Seconds
    """Additional latency of a miss in the first-level TLB."""
    l1_read_bytes_per_s: BytesPerSecond
    l2_read_bytes_per_s: BytesPerSecond
    l3_read_bytes_per_s: BytesPerSecond
    memory_read_bytes_per_s: BytesPerSecond
    """One core alone, without competition for memory."""
    l1_write_bytes_per_s: BytesPerSecond
    l2_write_bytes_per_s: BytesPerSecond
    l3_write_bytes_per_s: BytesPerSecond
    memory_write_bytes_per_s: BytesPerSecond
    socket_bandwidth_bytes_per_s: BytesPerSecond
    """Traffic between a socket and its memory, in both directions together."""
    socket_exponent: Number
    """A part p of the socket's cores gets p to this power of the socket's bandwidth."""
    l3_share: Number
    """Part of the listed L3 that one thread can use on a machine with a whole socket."""
    l3_share_exponent: Number
    """A part p of the socket's cores reduces this share by p to this power."""


class StreamType(Record):
    """Vectorised streaming kernels on one type of CPU core (execution-cache-memory model)."""

    load_bytes_per_cycle: BytesPerCycle
    """Loads from the L1."""
    store_bytes_per_cycle: BytesPerCycle
    """Stores to the L1."""
    access_bytes_per_cycle: BytesPerCycle
    """Loads and stores together."""
    l2_line_cycles: Cycles
    """Cycles per line between L1 and L2."""
    l3_line_cycles: Cycles
    """Cycles per line between L2 and L3."""
    memory_line_s: Seconds
    """Time per line between the last cache and memory, for one core."""
    socket_bandwidth_bytes_per_s: BytesPerSecond
    """Traffic between a socket and its memory that streams reach."""
    transfer_exponent: Number
    """p-norm of the times of all transfers: 1 if they follow each other; the larger, the more they overlap."""


REQUIRED_RATES = ("fp32", "int32", "int32_mul", "shuffle", "local", "memory", "instruction")
"""Instruction classes whose rates predictions of all kernels use."""


class Architecture(Record):
    """What all devices of one (micro)architecture share."""

    id: Name
    name: Name
    vendor: Name
    kind: Kind
    wave_size: Annotated[Count, Scalar("count", 1, 256, uncertain=False)]
    """Lanes of a wave (warp, wavefront, hardware thread; SIMD width of a CPU core in 32-bit lanes)."""
    max_work_group: Annotated[Count, Scalar("count", 16, 1 << 16, uncertain=False)]
    occupancy: OccupancyRules = Field(discriminator="rule")
    schedulers: Annotated[Count, Scalar("count", 1, 64, uncertain=False)]
    """Waves of a compute unit that can issue an instruction in one cycle."""
    dual_issue: Annotated[Number, Scalar("count", 1, 4, uncertain=False)] = 1.0
    """Factor between the listed single-precision peak and ``rates.fp32``, where vendors count two operations that may
    issue together (RDNA 3 and 4); default 1. Predictions use the rate without it."""
    rates_per_cycle: Table[Name, Number]
    """Lane operations per cycle of one compute unit, by instruction class.

    ``fp32``, ``int32`` (integer operations without their own class), ``int32_mul``, ``shuffle``, ``local`` (4-byte
    local-memory accesses), ``memory`` (4-byte global loads and stores issued), ``instruction`` (any); where known
    ``add`` (additions, which compilers may distribute over two pipes), ``fp32_three`` (multiply-adds of three
    different registers), ``ternary`` (bitwise, of three words), ``shift`` (and rotations), ``ballot``, ``permute``
    (words of a CPU's vector), ``barrier`` (work-items that reach one); number formats and units that not all devices
    have: ``fp64``, ``fp16``, ``fp16x2`` and ``bf16x2`` (pairs), ``dot_int8``, ``int64`` (additions),
    ``transcendental``, ``conversion``, and ``matrix_…`` (multiply-adds of matrix units).
    """
    lines_per_access: Annotated[Number, Scalar("count", 0.5, 64, uncertain=False)] = 1.0
    """Lines that the load/store unit looks up in the time of one access of a wave to neighbouring words; default 1."""
    sector_writes_per_cycle: Annotated[Number | None, Scalar("count", 0.01, 64)] = None
    """Sectors that the device-wide cache writes per cycle, for each of its slices (for each compute unit if the entry
    lists no slices); default: no known limit."""
    line_writes_per_cycle: Annotated[Number | None, Scalar("count", 0.01, 64)] = None
    """Lines with partly written sectors that the device-wide cache accepts per cycle, for each slice (or compute unit,
    as above), besides the time of the sectors; all written lines if that is not known; default: no known limit."""
    wave_starts_per_cycle: Annotated[Number | None, Scalar("count", 0.001, 64)] = None
    """Waves that a compute unit starts and retires per cycle; default: no known limit."""
    barrier_cycles: Annotated[Amount, Scalar("cycles", 0.1, 1000)] = 0.0
    """Cycles for which a barrier of a work-group blocks the local memory of its compute unit; default 0."""
    masked_lanes: Annotated[Number, Scalar("count", 1, 64, uncertain=False)] = 1.0
    """CPUs: lanes of the vectors into which a compiler turns conditional code, by masks; default 1: none."""
    barrier_lanes: Annotated[Number, Scalar("count", 1, 64, uncertain=False)] = 1.0
    """CPUs: lanes of the vectors into which a compiler turns code between barriers; default 1: none."""
    pipes: Table[Name, Names] = Field(default_factory=dict)
    """Instruction classes that share one pipe and wait for each other, by the pipe's name."""
    latency_cycles: Table[Name, Cycles]
    """Dependent-issue latency by instruction class (as in ``rates_per_cycle``, plus ``barrier``, and ``branch``: one
    that only some lanes of a wave take)."""
    local_memory_banks: Annotated[Count, Scalar("count", 1, 256, uncertain=False)]
    write_allocate: bool
    """Whether a write miss fetches the line even if the write will cover it (CPUs)."""
    loaded_latency_factor: Annotated[Number, Scalar("count", 1, 5)]
    """Latency under streaming load / unloaded latency of a dependent load."""
    turnover_cycles: Annotated[Amount, Scalar("cycles", 1, 10_000)] = 0.0
    """Cycles from the end of a work-group to the first instruction of the next one in its place; default 0."""
    store_cycles: Annotated[Amount, Scalar("cycles", 1, 10_000)] = 0.0
    """Cycles for which a wave stays resident after its last store, without load; default 0: it does not wait."""
    core: CoreType | None = None
    """CPUs only; transfers use it."""
    streams: StreamType | None = None
    """CPUs only; transfers use it."""

    @model_validator(mode="after")
    def _has_registers(self) -> Self:
        check_registers(self.wave_size, self.occupancy)
        return self

    @model_validator(mode="after")
    def _has_rates(self) -> Self:
        if lacking := [name for name in REQUIRED_RATES if name not in self.rates_per_cycle]:
            raise ValueError(f"rates_per_cycle lacks {', '.join(lacking)}")
        return self


SCALARS: Mapping[str, Scalar] = {
    name: scalar
    for name, field in Architecture.model_fields.items()
    for scalar in field.metadata
    if isinstance(scalar, Scalar)
}
"""The numbers of an architecture that YAML files contain, by field."""
_UNITS: Mapping[str, Dimension] = {
    "_bytes_per_cycle": "bytes/cycle",
    "_bytes_per_s": "bytes/s",
    "_bytes": "bytes",
    "_cycles": "cycles",
    "_w": "watts",
    "_s": "seconds",
    "": "count",
}


def yaml_values(record: type[Record]) -> dict[str, tuple[str, Dimension]]:
    """Return key and dimension in YAML files of the values of *record*, by field: units are not part of keys."""
    if record is Architecture:
        return {name: (name, scalar.dimension) for name, scalar in SCALARS.items()}
    names = [name for name in record.model_fields if name not in ("name", "rule")]
    units = [next(unit for unit in _UNITS if name.endswith(unit)) for name in names]
    return {name: (name.removesuffix(unit), _UNITS[unit]) for name, unit in zip(names, units, strict=True)}


CORE_TYPE = "core type"
"""The source of values that follow from the type of core begins so; the architecture's id follows."""


class Device(Record):
    """A resolved device: its own values and those of its architecture."""

    id: Id
    """The database entry, e.g. ``nvidia/h200_sxm``; ``draft`` for a device without a matching entry."""
    name: Name
    vendor: Name
    kind: Kind
    architecture: Architecture
    compute_units: Count
    clock_hz: Hertz
    """Clock that the model uses: the listed boost clock unless a better value is known."""
    caches: Many[Cache]
    """Nearest first; only caches that OpenCL global loads and stores use."""
    tlb: Many[Tlb] = ()
    """Translation lookaside buffers, nearest first; empty: not known."""
    memory: Memory
    launch: Launch
    link: Link | None = None
    """``None``: not known."""
    board_power_w: Watts | None = None
    """Listed power limit of the whole board; ``None``: not known."""
    opencl_names: Many[Name] = ()
    opencl_compute_units: Count | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS`` where it differs (AMD work-group processors, Intel vector engines)."""
    pci_ids: Many[Name] = ()
    provenance: Table[Name, Provenance] = Field(default_factory=dict)
    """By dotted path of the value: ``memory.bandwidth``, ``caches.L2.capacity``."""
    notes: Many[str] = ()

    @property
    def is_cpu(self) -> bool:
        """Whether work-groups run on the cores of a CPU, one after the other on each."""
        return self.kind == "cpu"

    @property
    def line_bytes(self) -> int:
        """Length of the longest line of its caches; without caches, that of an access to memory."""
        return max((cache.line_bytes for cache in self.caches), default=self.memory.access_bytes)

    @property
    def page_bytes(self) -> int:
        """Page size of memory that OpenCL allocates; if it is not known, that of Linux and of drivers of GPUs."""
        return min((tlb.page_bytes for tlb in self.tlb), default=4096 if self.is_cpu else HUGE_PAGE_BYTES)

    @property
    def is_typical(self) -> bool:
        """Whether the values are what machines with this type of core usually reach, so that they are no limits."""
        origin = self.provenance.get("memory.bandwidth")
        return bool(origin and origin.source.startswith(CORE_TYPE))

    @property
    def host_link(self) -> Link:
        """The link to the host. Of a CPU: none; a device without a listed one is assumed to have PCIe 4.0 x16."""
        if self.link is not None:
            return self.link
        if not self.is_cpu:
            return Link.pcie(4, 16)
        streams = self.architecture.streams
        line_s = streams.memory_line_s if streams else 3e-9
        # A core reads a line, fetches the line that it overwrites, and writes that back.
        # A runtime for CPUs wakes a thread for the copy, and that wakes the waiting host: 25 us each, as for kernels of
        # PoCL on a Xeon (predict.cpu_times.LATE_S); assumed, chosen after a Zen 4 had needed 51 to 60 us.
        return Link(kind="shared", call_s=50e-6, host_copy_bytes_per_s=min(64 / (3 * line_s), 20e9))

    @property
    def cache_levels(self) -> tuple[Level, ...]:
        """The levels that can have a cliff, innermost first: the near partition comes before the whole cache.

        Translation lookaside buffers come last.
        """
        near_first = ((Level(name=cache.name, near=True), Level(name=cache.name)) for cache in self.caches)
        return (*chain.from_iterable(near_first), *(tlb.level for tlb in self.tlb))

    @property
    def shared_cache(self) -> Cache | None:
        """The nearest cache that all compute units share."""
        return next((cache for cache in self.caches if cache.scope == "device"), None)

    def rate_per_s(self, instruction: str) -> float:
        """Lane operations per second of the whole device for one instruction class."""
        return self.architecture.rates_per_cycle[instruction] * self.clock_hz * self.compute_units

    def level_bandwidth_bytes_per_s(self, cache: Cache) -> float:
        """Bandwidth of one cache level for all compute units together, in bytes/s."""
        return cache.bandwidth_bytes_per_cycle * self.clock_hz * self.compute_units

    def cycles(self, count: float) -> float:
        """Seconds that *count* clock cycles take."""
        return count / self.clock_hz


class PresentDevice(Record):
    """A device as the OpenCL runtime reports it (plain data, no OpenCL object)."""

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
    """``vendor:device`` in hexadecimal, if an extension reports it."""
    pci_address: Name | None = None
    """``domain:bus:device.function`` in hexadecimal, if an extension reports it."""
    wave_size: Whole | None = None
    """Warp or wavefront size, if an extension reports it."""
    compute_capability: Name | None = None
    """NVIDIA only, e.g. ``9.0``."""
    link_generation: Whole | None = None
    """Highest PCI Express generation that device and machine support together, as the system reports it."""
    link_lanes: Whole | None = None
    """Lanes that device and machine have together."""
    board: Name | None = None
    """AMD only: the board's name, where the device name is that of the instruction set."""
    peers: Whole = 0
    """Other devices of its model on its platform; CPUs have none."""

    @property
    def is_cpu(self) -> bool:
        """Whether the device is a CPU."""
        return self.kind == "cpu"

    @property
    def runtime(self) -> str:
        """The usual name of the OpenCL runtime, with its version."""
        if "Portable Computing Language" in self.platform:
            return f"PoCL {self.driver}"
        return f"{self.platform}, driver {self.driver}"


class DeviceMatch(Record):
    """The database entry of a device that is present."""

    device: Device
    """The device to predict for: the entry's values, corrected by values that the device reports."""
    entry_id: Id | None
    """``None``: no entry matches, the device is a draft."""
    how: str
    """A sentence: the name or id that identified the entry, or what the draft was made from."""
    draft: bool
    notes: Many[str] = ()
    """Differences between the device that is present and its entry."""
