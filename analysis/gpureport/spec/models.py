"""Resolved devices: plain numbers in SI base units, each with its provenance.

All other packages use these records. ``gpureport.spec.database`` makes them from YAML files, which contain units and
sources.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from math import inf
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, model_validator

from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import Level, Record
from gpureport.records.quantities import (
    Amount,
    Bytes,
    BytesPerCycle,
    BytesPerSecond,
    Count,
    Cycles,
    Hertz,
    Id,
    LineBytes,
    Many,
    Name,
    Number,
    Positive,
    Seconds,
    Share,
    Table,
    Watts,
    Whole,
    WholeBytes,
)
from gpureport.spec import drivers
from gpureport.spec.uncertainty import ONE_WAY_LOSS
from gpureport.spec.values import LinkKind, Listed, Names, Provenance, Scope
from gpureport.units import DIMENSIONS

Kind = Literal["gpu", "accelerator", "cpu"]
MatrixInstruction = Literal["mma.sync", "MFMA", "WMMA"]
R = TypeVar("R", bound=Record)


class Transition(Record):
    """The transition range of a cliff: working sets / usable capacity."""

    onset: Number
    midpoint: Number
    end: Number

    @model_validator(mode="before")
    @classmethod
    def _listed(cls, data: object) -> object:
        return dict(zip(cls.model_fields, data, strict=True)) if isinstance(data, tuple) else data

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if not self.onset <= self.midpoint <= self.end:
            raise ValueError("must ascend from onset through midpoint to end")
        return self


_CYCLES, _PER_CYCLE = ("clock", 1.0), ("clock", -1.0)
"""How measured values in cycles, and those for each cycle, depend on the listed clock."""
_LATENCY = Listed(1, 5000, "cycles", uncertain="latency", relative_to=_CYCLES)
_OF_CAPACITY = Listed(0.05, 20, uncertain="transition", relative_to=("capacity", -1.0))
_Range = Annotated[Transition, _OF_CAPACITY]
_OwnRange = Annotated[Transition | None, _OF_CAPACITY]
SPECIAL_TRANSITIONS = ("cyclic_transition", "write_transition", "ping_pong_transition")
"""Transitions that apply to some kernels only; ``None``: the same as for other kernels."""
TRANSITIONS = ("bandwidth_transition", "latency_transition", *SPECIAL_TRANSITIONS)
"""All transitions of a cache."""


class Cache(Record):
    """One cache level; cycles are those of the device's clock."""

    name: Name
    """``L1``, ``L2``, ``L3``, ``LLC`` (Infinity Cache and other memory-side caches)."""
    capacity_bytes: Annotated[Bytes, Listed(0.001, 2048, "MiB", uncertain="by source", of_card=True)]
    """Capacity of one instance."""
    scope: Annotated[Scope, Listed()]
    """One instance for each compute unit, or one for the device."""
    line_bytes: Annotated[LineBytes, Listed(16, 4096, "B")]
    sector_bytes: Annotated[LineBytes, Listed(4, 4096, "B")]
    """Bytes transferred on a miss; equal to the line size for caches without sectors."""
    latency_cycles: Annotated[Cycles, _LATENCY]
    """Latency of a dependent load."""
    bandwidth_bytes_per_cycle: Annotated[
        BytesPerCycle, Listed(0.1, 4096, "B/cycle", uncertain="bandwidth", relative_to=_PER_CYCLE)
    ]
    """Bytes per cycle for one compute unit."""
    bandwidth_transition: _Range
    """Onset, midpoint and end of the cliff in bandwidth, as fractions of the usable capacity."""
    latency_transition: _Range
    """The same for the latency of one pointer-chasing work-item."""
    cyclic_transition: _OwnRange = None
    """The same for the bandwidth of cyclic sweeps, the worst case of LRU; default: as ``bandwidth_transition``."""
    write_transition: _OwnRange = None
    """The same if kernels also write (of misses, if the rate of writes is known); default: ``bandwidth_transition``."""
    ping_pong_transition: _OwnRange = None
    """The same if each dispatch reads what the previous one wrote; default: as ``write_transition``."""
    persistent: Annotated[bool, Listed()]
    """Whether contents survive from one dispatch to the next."""
    unified_with_local_memory: Annotated[bool, Listed()] = False
    """Whether local memory is carved out of this cache's capacity."""
    partitions: Annotated[Count, Listed(1, 64)] = 1
    """Partitions that differ in latency. The latency of one work-item also rises at capacity / partitions."""
    far_latency_cycles: Annotated[Cycles | None, _LATENCY] = None
    """Latency of the far partition."""
    slice_bytes: Annotated[WholeBytes | None, Listed(16, 1 << 16, "KiB")] = None
    """Capacity of a slice. Each slice processes its own writes and atomic operations; default: not known."""

    @property
    def slices(self) -> int | None:
        """Number of slices; ``None`` if not known."""
        return max(1, round(float(self.capacity_bytes) / self.slice_bytes)) if self.slice_bytes else None

    def transition(self, name: str) -> Transition:
        """Return one of :data:`TRANSITIONS`, or that which holds if the entry does not list it."""
        of_writes = self.write_transition if name == "ping_pong_transition" else None
        own: Transition | None = getattr(self, name)
        return own or of_writes or self.bandwidth_transition


class Tlb(Record):
    """One level of the translation lookaside buffers of a compute unit; cycles are those of the device's clock."""

    name: Name
    """``L1``, ``L2``, …, nearest first."""
    entries: Annotated[Count | None, Listed(4, 1 << 20)] = None
    """Number of entries; their pages together are the reach."""
    huge_entries: Annotated[Count | None, Listed(4, 1 << 20)] = None
    """Number of entries for huge pages, if it differs."""
    reach_bytes: Annotated[Bytes | None, Listed(16, 1 << 33, "KiB")] = None
    """Range of addresses that all entries together cover, where it is not entries times page size."""
    page_bytes: Annotated[WholeBytes, Listed(1, 1 << 21, "KiB")]
    """Page size of memory that OpenCL allocates."""
    miss_cycles: Annotated[Cycles, Listed(1, 5000, "cycles", uncertain="by source")]
    """Additional latency of a load that misses this level and hits the next one (after the last: page table walk)."""
    transition: Annotated[Transition, Listed(0.05, 20)]
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

    size_bytes: Annotated[Bytes, Listed(0.25, 65536, "GiB")]
    bandwidth_bytes_per_s: Annotated[BytesPerSecond, Listed(1, 100_000, "GB/s", uncertain="bandwidth", of_card=True)]
    """Listed bandwidth."""
    efficiency: Annotated[
        Share, Field(ge=1e-6), Listed(0.1, 1, uncertain="efficiency", relative_to=("bandwidth", -1.0), of_card=True)
    ]
    """Fraction of the listed bandwidth that a streaming kernel reaches."""
    one_way_loss: Annotated[Share, Field(ge=1e-6), Listed(0.05, 1, uncertain="one way")] = ONE_WAY_LOSS
    """Part of the usual loss of bandwidth that remains if data move in one direction only, so that the memory bus never
    turns around; default 0.2."""
    latency_cycles: Annotated[Cycles, Listed(20, 5000, "cycles", uncertain="latency", relative_to=_CYCLES)]
    """Latency of a dependent load beyond all caches."""
    access_bytes: Annotated[LineBytes, Listed(4, 4096, "B")]
    """Smallest transfer to or from memory."""
    stacked: Annotated[bool, Listed()] = False
    """Whether memory consists of stacks (HBM), which have several times as many channels as other memory."""
    channels: Annotated[Count | None, Listed(8, 1024)] = None
    """Of stacked memory: pseudo-channels, each of which opens rows by itself; default: not known."""
    ecc: Annotated[
        Share | None, Field(ge=1e-6, le=0.9), Listed(0.01, 0.5, uncertain="error correction", of_card=True)
    ] = None
    """Share of the bandwidth that error correction takes, if its bits are in the same memory (GDDR) and it is on by
    default; default: none."""
    exchange: Annotated[Positive | None, Listed(0.01, 10, uncertain="exchange")] = None
    """Additional time of an array whose lines neighbouring work-groups of 64 work-items exchange, relative to other
    traffic (:attr:`.Stream.exchanged`, which only lattice Boltzmann kernels of the scoreboard have); default: none."""

    @property
    def reached_bytes_per_s(self) -> float:
        """Bandwidth that a streaming kernel reaches."""
        return self.bandwidth_bytes_per_s * self.efficiency * (1 - (self.ecc or 0.0))

    @property
    def one_way_efficiency(self) -> float:
        """The same fraction as :attr:`efficiency` of a kernel that only reads or only writes."""
        return 1 - self.one_way_loss * (1 - self.efficiency)

    @property
    def read_bytes_per_s(self) -> float:
        """Bandwidth that a kernel reaches which only reads."""
        return self.reached_bytes_per_s / self.efficiency * self.one_way_efficiency


class Launch(Record):
    """Launch costs."""

    single_s: Annotated[Seconds, Listed(0.1, 1000, "us", uncertain="launch cost", of_card=True)]
    """One empty kernel, between its own time stamps."""
    batched_s: Annotated[Seconds, Listed(0.1, 1000, "us", uncertain="launch cost", of_card=True)]
    """Time per dispatch of back-to-back dispatches of an empty kernel."""
    groups_per_cycle: Annotated[Number, Listed(0.001, 100, uncertain="starts", relative_to=_PER_CYCLE, of_card=True)]
    """Work-groups that the whole device starts per cycle."""
    transfer_s: Annotated[Seconds, Listed(0.1, 10_000, "us", uncertain="transfer cost")] = 50e-6
    """CPUs: fixed time of a copy from memory to memory. Default: the runtime wakes a thread, and that wakes the waiting
    host, 25 us each (``PoclExecution.waking_delay_s``; assumed, chosen after a Zen 4 had needed 51 to 60 us)."""
    parallel_transfer_s: Annotated[Amount, Listed(0.1, 10_000, "us", uncertain="transfer cost")] = 0.0
    """CPUs: further fixed time of a copy on all cores; 0: one core copies."""


_LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 8e9 / 8 * 128 / 130, 4: 16e9 / 8 * 128 / 130, 5: 32e9 / 8 * 128 / 130}
"""Rate of a lane of PCI Express in one direction without its line code (8b/10b; from generation 3 on 128b/130b); later
generations: 64 GT/s, of which 236 of 256 bytes are packets (PCI Express Base Specification, sections 4.2 and 3.3)."""


class Link(Record):
    """The link between device and host."""

    kind: Annotated[LinkKind, Listed()]
    """``pcie``; ``nvlink_c2c``: a coherent link on the module; ``shared``: device and host have the same memory."""
    generation: Annotated[Count | None, Listed(1, 7)] = None
    """PCI Express: generation, such as 4."""
    lanes: Annotated[Count | None, Listed(1, 32)] = None
    """PCI Express: number of lanes that the device uses."""
    bandwidth_bytes_per_s: Annotated[Amount, Listed(1, 10_000, "GB/s", uncertain="link bandwidth")] = 0.0
    """Listed bandwidth of one direction, if the kind of link does not determine it. PCI Express: the rate of its lanes
    without the line code; 0 if shared."""
    latency_s: Annotated[Seconds, Listed(0.1, 1000, "us", uncertain="transfer cost")] = 1.45e-6
    """Fixed time of a copy of pinned memory to the host, between the device's time stamps. Default: 1.45 us, as on an
    H200. A read of the host's memory takes 0.6 to 1 us (Neugebauer et al., SIGCOMM 2018)."""
    call_s: Annotated[Seconds, Listed(0.1, 10_000, "us", uncertain="transfer cost")] = 16.5e-6
    """Time of the smallest copy to the device for the host, from the call to the arrival of the data. Default: 16.5 us,
    as with NVIDIA's OpenCL and an H200."""
    host_copy_bytes_per_s: Annotated[BytesPerSecond, Listed(1, 1000, "GB/s", uncertain="host copy")] = 10e9
    """Rate at which one core of the host copies. Default: 10 GB/s; 11.6 GB/s in the host of an H200; servers of 2012 to
    2017 move 6 to 17 GB/s in a copy, both directions together (RRZE-HPC/kerncraft @5d1cc67)."""

    @classmethod
    def pcie(cls, generation: int, lanes: int) -> "Link":
        """Return a link of PCI Express."""
        rate = lanes * _LANE_BYTES_PER_S.get(generation, 7.56e9)
        return cls(kind="pcie", generation=generation, lanes=lanes, bandwidth_bytes_per_s=rate)

    def __str__(self) -> str:
        """``PCIe 5.0 x16``, ``NVLink-C2C``, ``shared memory``."""
        names = {"nvlink_c2c": "NVLink-C2C", "shared": "shared memory"}
        return names.get(self.kind) or f"PCIe {self.generation}.0 x{self.lanes}"


class OccupancyRules(Record):
    """What the compute units that share a work-group keep resident together.

    Rules of ``cuda_occupancy.h``, of LLVM's AMDGPU back end and of Intel's compute runtime are one formula with these
    values (:func:`gpureport.predict.occupancy.occupancy`).
    """

    units: Annotated[Count, Listed(1, 256)] = 1
    """Compute units that share the waves and local memory of a work-group: the execution units of an Intel subslice,
    the two compute units of an AMD work-group processor; default 1. All other values are of these together."""
    max_waves: Annotated[Count, Listed(1, 4096)]
    max_groups: Annotated[Count | None, Listed(1, 1024)] = None
    """Default: only waves, registers and local memory limit work-groups."""
    free_single_waves: Annotated[bool, Listed()] = False
    """Whether groups of one wave, which need no barrier, do not count as groups (AMD); default false."""
    registers: Annotated[Count | None, Listed(64, 1 << 22)] = None
    """32-bit registers; default: each wave has its own (Intel)."""
    register_parts: Annotated[Count, Listed(1, 64)] = 1
    """Equal parts of the registers (sub-partitions, SIMDs); a wave is allocated in one of them, and waves are
    distributed evenly; default 1."""
    register_granularity: Annotated[Count, Listed(1, 1 << 16)] = 1
    """Registers are allocated in multiples of this, for a wave of `wave_size`; default 1."""
    max_registers_per_work_item: Annotated[Count | None, Listed(8, 4096)] = None
    local_memory_bytes: Annotated[Bytes | None, Listed(1, 1 << 15, "KiB")] = None
    """Local memory, with the largest carve-out; default: it is ordinary memory."""
    local_memory_of_group_bytes: Annotated[Bytes | None, Listed(1, 1 << 15, "KiB")] = None
    """The most that one group may use; default: all."""
    local_memory_granularity_bytes: Annotated[WholeBytes, Listed(1, 1 << 16, "B")] = 1
    local_memory_reserved_bytes: Annotated[Whole, Listed(1, 1 << 16, "B")] = 0
    """Reserved by the system for each work-group."""
    local_memory_sizes_bytes: Annotated[Many[Amount], Listed(0, 1 << 15, "KiB")] = ()
    """Sizes that an allocation is rounded up to, ascending; default: multiples of the granularity."""
    carveouts_bytes: Annotated[Many[Amount], Listed(0, 1 << 15, "KiB")] = ()
    """Sizes of local memory within the unified cache, ascending; empty: not unified."""

    @property
    def most_local_bytes(self) -> float | None:
        """The most local memory that one group may use; ``None``: it is ordinary memory."""
        return self.local_memory_of_group_bytes or self.local_memory_bytes


def schedulers_of(architecture: "Architecture") -> int:
    """Return the number of schedulers of the compute units that share a work-group's waves."""
    return architecture.schedulers * architecture.occupancy.units


def traced_lanes(architecture: "Architecture", *, branches: bool, barriers: bool) -> int:
    """Return the lanes of a wave of traced kernels; compilers for cores turn fewer work-items with these into lanes."""
    lanes = [architecture.wave_size]
    if architecture.groups_as_loops:
        lanes += [int(architecture.masked_lanes)] * branches + [int(architecture.barrier_lanes)] * barriers
    return min(lanes)


_Latency = Annotated[Seconds, Listed(0.02, 2000, "ns")]
_Rate = Annotated[BytesPerSecond, Listed(0.5, 4096, "GB/s")]
_Socket = Annotated[BytesPerSecond, Listed(5, 20_000, "GB/s")]
_OfSocket = Annotated[Number, Listed(0.005, 10)]
_Accesses = Annotated[BytesPerCycle, Listed(1, 1024, "B/cycle")]
_Line = Annotated[Cycles, Listed(0.02, 100, "cycles")]


class CoreType(Record):
    """The memory hierarchy of one type of CPU core, for loads and stores of ordinary programs.

    Rates are those of one core that shares nothing. Where vendors document no rate, they come from measurements of many
    machines (``predict.cpu_memory`` describes the model).
    """

    l1_bytes: Annotated[Bytes, Listed(4, 1 << 12, "KiB")]
    """L1 data cache of a core."""
    l2_bytes: Annotated[Bytes, Listed(32, 1 << 17, "KiB")]
    """L2 cache of a core."""
    l3_bytes: Annotated[Bytes, Listed(256, 1 << 22, "KiB")]
    """L3 cache of one domain, for machines that do not list their own."""
    cores_per_l3: Annotated[Count, Listed(1, 2048)]
    """Cores that share an L3 domain."""
    cores_per_socket: Annotated[Count, Listed(1, 2048)]
    """Cores of a large socket."""
    load_to_use_cycles: Annotated[Cycles, Listed(1, 20, "cycles")] = 5.0
    """Latency of the L1 in cycles of the core's highest clock; default: 5."""
    all_core_boost: Annotated[bool, Listed()] = False
    """Whether all cores together reach the highest clock within the power budget; default: the more cores are busy, the
    lower is the clock."""
    l1_latency_s: _Latency
    """Latency of a dependent load."""
    l2_latency_s: _Latency
    l3_latency_s: _Latency
    memory_latency_s: _Latency
    tlb_latency_s: _Latency
    """Additional latency of a miss in the first-level TLB."""
    l1_read_bytes_per_s: _Rate
    l2_read_bytes_per_s: _Rate
    l3_read_bytes_per_s: _Rate
    memory_read_bytes_per_s: _Rate
    """One core alone, without competition for memory."""
    l1_write_bytes_per_s: _Rate
    l2_write_bytes_per_s: _Rate
    l3_write_bytes_per_s: _Rate
    memory_write_bytes_per_s: _Rate
    socket_bandwidth_bytes_per_s: _Socket
    """Traffic between a socket and its memory, in both directions together."""
    socket_exponent: _OfSocket
    """A part p of the socket's cores gets p to this power of the socket's bandwidth."""
    l3_share: _OfSocket
    """Part of the listed L3 that one thread can use on a machine with a whole socket."""
    l3_share_exponent: _OfSocket
    """A part p of the socket's cores reduces this share by p to this power."""


class StreamType(Record):
    """Vectorised streaming kernels on one type of CPU core (execution-cache-memory model)."""

    load_bytes_per_cycle: _Accesses
    """Loads from the L1."""
    store_bytes_per_cycle: _Accesses
    """Stores to the L1."""
    access_bytes_per_cycle: _Accesses
    """Loads and stores together."""
    l2_line_cycles: _Line
    """Cycles per line between L1 and L2."""
    l3_line_cycles: _Line
    """Cycles per line between L2 and L3."""
    memory_line_s: Annotated[Seconds, Listed(0.02, 100, "ns")]
    """Time per line between the last cache and memory, for one core."""
    socket_bandwidth_bytes_per_s: _Socket
    """Traffic between a socket and its memory that streams reach."""
    transfer_exponent: Annotated[Number, Listed(0.5, 20)]
    """p-norm of the times of all transfers: 1 if they follow each other; the larger, the more they overlap."""


def _on_cpus(known: dict[str, object]) -> bool:
    return known.get("kind") == "cpu"


def _stall(key: str, least: float, most: float, uncertain: str = "by source") -> Listed:
    return Listed(least, most, "cycles", uncertain=uncertain, key=key)


class Architecture(Record):
    """What all devices of one (micro)architecture share."""

    id: Name
    name: Name
    vendor: Name
    kind: Kind
    wave_size: Annotated[Count, Listed(1, 256)]
    """Lanes of a wave (warp, wavefront, hardware thread; SIMD width of a CPU core in 32-bit lanes)."""
    max_work_group: Annotated[Count, Listed(16, 1 << 16)]
    occupancy: OccupancyRules
    schedulers: Annotated[Count, Listed(1, 64)]
    """Waves of a compute unit that can issue an instruction in one cycle."""
    dual_issue: Annotated[Number, Listed(1, 4)] = 1.0
    """Factor between the listed single-precision peak and ``rates.fp32``, where vendors count two operations that may
    issue together (RDNA 3 and 4); default 1. Predictions use the rate without it."""
    packed_fp32: Annotated[Number, Listed(1, 4)] = 1.0
    """The same where packed instructions multiply and add two numbers (CDNA 2 and later); default 1: there are none.
    Only predictions of vectors on the scoreboard use it."""
    rates_per_cycle: Annotated[
        Table[Name, Number], Listed(0.01, 4096, uncertain="rate", relative_to=_PER_CYCLE, key="rates", by_name=True)
    ]
    """Lane operations per cycle of one compute unit, by instruction class (:data:`.INSTRUCTION_CLASSES`)."""
    lines_per_access: Annotated[Number, Listed(0.5, 64)] = 1.0
    """Lines that the load/store unit looks up in the time of one access of a wave to neighbouring words; default 1."""
    hit_lines_per_access: Annotated[Number | None, Listed(0.5, 64)] = None
    """The same of lines that are in the nearest cache; default: the same number."""
    sector_writes_per_cycle: Annotated[Number | None, Listed(0.01, 64, uncertain="by source")] = None
    """Sectors that the device-wide cache writes per cycle, for each of its slices (for each compute unit if the entry
    lists no slices); default: no known limit."""
    line_writes_per_cycle: Annotated[Number | None, Listed(0.01, 64, uncertain="by source")] = None
    """Lines with partly written sectors that the device-wide cache accepts per cycle, for each slice (or compute unit,
    as above), besides the time of the sectors; all written lines if that is not known; default: no known limit."""
    requests_per_cycle: Annotated[Number | None, Listed(0.1, 16, uncertain="by source")] = None
    """Requests for lines, and sectors of stores, that a compute unit whose cache writes through sends to the next one
    per cycle; default: no known limit."""
    wave_starts_per_cycle: Annotated[Number | None, Listed(0.001, 64, uncertain="by source")] = None
    """Waves that a compute unit starts and retires per cycle; default: no known limit."""
    unrolled_iterations: Annotated[Count, Listed(1, 64)] = 4
    """Factor by which compilers unroll loops whose number of iterations they do not know; default 4."""
    scalar_unit: Annotated[bool, Listed()] = False
    """Whether a scalar unit executes branches, and integer instructions with the same result for all lanes of a wave.
    Scalar, vector and memory instructions of different waves then issue in the same cycle; default false: all share
    the issue slots."""
    aligned_accesses: Annotated[bool, Listed()] = False
    """Whether loads and stores must be at a multiple of their size, so that compilers make several of those for which
    that is not known; default false: they may be at any address."""
    matrix_instruction: Annotated[MatrixInstruction | None, Listed()] = None
    """The instruction of ``rates.matrix_*``: of NVIDIA, of CDNA 3, or of RDNA 3; default: another one, which the
    kernels do not use, or none."""
    barrier_cycles: Annotated[Amount, _stall("barrier_cycles", 0.1, 1000)] = 0.0
    """Cycles for which a barrier of a work-group blocks the local memory of its compute unit; default 0."""
    constant_cycles: Annotated[Amount, _stall("constant_cycles", 0.1, 1000)] = 0.0
    """Cycles in which the constant cache of a compute unit reads each further address of a wave; default 0: constant
    memory is read like global memory."""
    groups_as_loops: Annotated[bool, Listed()] = Field(default_factory=_on_cpus)
    """Whether a compiler turns each work-group into loops, and a core runs one group after another. Lanes then do not
    access memory together, a barrier is the end of a loop, and instructions are the compiler's choice. Default: on
    CPUs."""
    on_host: Annotated[bool, Listed()] = Field(default_factory=_on_cpus)
    """Whether the device consists of the host's cores and memory. Default: CPUs."""
    has_neighbours: Annotated[bool, Listed()] = Field(default_factory=_on_cpus)
    """Whether other programs, also of other virtual machines, use the same cores and caches: measured values then apply
    to other kernels only in part, and programs find a part of each cache. Default: CPUs."""
    compiler: Annotated[drivers.CpuCompiler, Listed()] = "pocl"
    """CPUs: the compiler of kernels, with its runtime (:mod:`gpureport.spec.compilers`). Default: PoCL's."""
    masked_lanes: Annotated[Number, Listed(1, 64)] = 1.0
    """CPUs: lanes of the vectors into which a compiler turns conditional code, by masks; default 1: none."""
    barrier_lanes: Annotated[Number, Listed(1, 64)] = 1.0
    """CPUs: lanes of the vectors into which a compiler turns code between barriers; default 1: none."""
    shuffles_per_cycle: Annotated[Number, Listed(0.25, 8)] = 1.0
    """CPUs: instructions per cycle that move words between the lanes of vectors; default 1."""
    pipes: Annotated[Table[Name, Names], Listed(by_name=True)] = Field(default_factory=dict)
    """Instruction classes that share one pipe and wait for each other, by the pipe's name."""
    latency_cycles: Annotated[
        Table[Name, Cycles],
        Listed(0.5, 1000, "cycles", uncertain="by source", relative_to=_CYCLES, key="latencies", by_name=True),
    ]
    """Cycles from the issue of an instruction to the issue of a dependent one, by instruction class."""
    local_memory_banks: Annotated[Count, Listed(1, 256)]
    write_allocate: Annotated[bool, Listed()]
    """Whether a write miss fetches the line even if the write will cover it (CPUs)."""
    loaded_latency_factor: Annotated[Number, Listed(1, 5, uncertain="loaded latency")]
    """Latency under streaming load / unloaded latency of a dependent load."""
    turnover_cycles: Annotated[Amount, _stall("turnover_cycles", 1, 10_000, "turnover")] = 0.0
    """Cycles from the end of a work-group to the first instruction of the next one in its place; default 0."""
    store_cycles: Annotated[Amount, _stall("store_cycles", 1, 10_000)] = 0.0
    """Cycles for which a wave stays resident after its last store, without load; default 0: it does not wait."""
    core: CoreType | None = None
    """CPUs only; transfers use it."""
    streams: StreamType | None = None
    """CPUs only; transfers use it."""

    @property
    def vector_lanes(self) -> int:
        """Lanes of a wave, or of a vector of a compiler for CPUs, which a core may execute as several waves."""
        return max(self.wave_size, int(self.masked_lanes))

    @property
    def listed_fp32(self) -> float:
        """Factor between the highest single-precision peak that vendors list and ``rates.fp32``."""
        return self.dual_issue * self.packed_fp32

    @model_validator(mode="after")
    def _has_rates(self) -> Self:
        required = (name for name, each in INSTRUCTION_CLASSES.items() if each.listed == "all")
        if lacking := [name for name in required if name not in self.rates_per_cycle]:
            raise ValueError(f"rates_per_cycle lacks {', '.join(lacking)}")
        return self


UNITS = {each.ending: each.unit for each in sorted(DIMENSIONS.values(), key=lambda each: -len(each.ending))}
"""Endings of field names, longest first, with their units."""


@cache
def listed(record: type[Record]) -> Mapping[str, tuple[str, Listed]]:
    """Return key and declaration of the values of *record* in YAML files, by field: units are not part of keys."""
    return {
        name: (each.key or name.removesuffix(next(unit for unit in UNITS if name.endswith(unit))), each)
        for name, field in record.model_fields.items()
        for each in field.metadata
        if isinstance(each, Listed)
    }


_EXACT = frozenset(
    key for r in (Cache, Memory) for n, (key, _) in listed(r).items() if r.model_fields[n].annotation is int
)


def is_exact(path: str) -> bool:
    """Return whether the value at *path* is a whole number, such as a line's size: measuring it has no error."""
    return path.rpartition(".")[2] in _EXACT


def visited(record: R, visit: Callable[[str, Listed, Any], Any], prefix: str = "") -> R:
    """Return a record with each value that files list replaced by ``visit(path, declaration, value)``.

    These are the values of the record and of all its parts, with their paths: ``memory.latency``, ``caches.L2.line``.
    """
    found: dict[str, object] = {}
    declared = listed(type(record))
    for field in type(record).model_fields:
        value, path = getattr(record, field), f"{prefix}{declared[field][0] if field in declared else field}"
        if field in declared and declared[field][1].by_name:
            found[field] = {name: visit(f"{path}.{name}", declared[field][1], each) for name, each in value.items()}
        elif field in declared:
            found[field] = visit(path, declared[field][1], value)
        elif isinstance(value, Record):
            found[field] = visited(value, visit, prefix if isinstance(value, Architecture) else f"{path}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], Record):
            found[field] = tuple(visited(each, visit, f"{path}.{each.name}.") for each in value)
    return record.model_copy(update=found)


def core_source(architecture: str) -> str:
    """Return the source of values that follow from the type of core of an architecture."""
    return f"core type {architecture}"


class Device(Record):
    """A resolved device: its own values and those of its architecture."""

    id: Id
    """The database entry, e.g. ``nvidia/h200_sxm``; ``draft`` for a device without a matching entry."""
    name: Name
    vendor: Name
    kind: Kind
    architecture: Architecture
    compute_units: Annotated[Count, Listed(1, 1 << 16)]
    clock_hz: Annotated[Hertz, Listed(0.1, 6, "GHz", uncertain="clock", of_card=True)]
    """Clock that the model uses: the listed boost clock unless a better value is known."""
    dies: Annotated[Count, Listed(1, 64)] = 1
    """Dies with compute units, each with its own way to memory; default 1."""
    caches: Many[Cache]
    """Nearest first; only caches that OpenCL global loads and stores use."""
    tlb: Many[Tlb] = ()
    """Translation lookaside buffers, nearest first; empty: not known."""
    memory: Memory
    launch: Launch
    link: Link | None = None
    """``None``: not known."""
    board_power_w: Annotated[Watts | None, Listed(1, 5000, "W")] = None
    """Listed power limit of the board (TDP, TBP), divided by the number of its devices; default: not known."""
    process_nm: Annotated[Positive | None, Listed(1, 1000)] = None
    """Manufacturing process by its name, in nm, which gives the energy of an operation; default: not known."""
    matrix_peak_flop_per_s: Annotated[Positive | None, Listed(0.1, 100_000, "TFLOP/s")] = None
    """Peak of the matrix unit with fp16 or bf16 operands, without sparsity, that the vendor lists, if it needs other
    instructions than ``rates.matrix_fp16`` is for; tf32 has half of it, fp8 and int8 twice as much. Default: the peak
    that follows from this rate."""
    opencl_compute_units: Count | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS`` where it differs (AMD work-group processors, Intel vector engines)."""
    provenance: Table[Name, Provenance] = Field(default_factory=dict)
    """By dotted path of the value: ``memory.bandwidth``, ``caches.L2.capacity``."""
    notes: Many[str] = ()

    @property
    def device_class(self) -> str:
        """Devices whose errors have statistics of their own: ``CPU``, ``NVIDIA GPU``."""
        return "CPU" if self.architecture.groups_as_loops else f"{self.vendor} GPU"

    @property
    def line_bytes(self) -> int:
        """Length of the longest line of its caches; without caches, that of an access to memory."""
        return max((cache.line_bytes for cache in self.caches), default=self.memory.access_bytes)

    @property
    def page_bytes(self) -> int:
        """Page size of memory that OpenCL allocates; if it is not known, that of Linux and of drivers of GPUs."""
        return min((tlb.page_bytes for tlb in self.tlb), default=4096 if self.architecture.on_host else HUGE_PAGE_BYTES)

    @property
    def is_typical(self) -> bool:
        """Whether the values are what machines with this type of core usually reach, so that they are no limits."""
        origin = self.provenance.get("memory.bandwidth")
        return bool(origin and origin.source == core_source(self.architecture.id))

    @property
    def host_link(self) -> Link:
        """The link to the host, unless the device is on it; if none is listed, PCIe 4.0 x16 is assumed."""
        if self.link is not None:
            return self.link
        if not self.architecture.on_host:
            return Link.pcie(4, 16)
        streams = self.architecture.streams
        line_s = streams.memory_line_s if streams else 3e-9
        # A core reads a line, fetches the line that it overwrites, and writes that back.
        rate, cores = min(64 / (3 * line_s), 20e9), self.compute_units if self.launch.parallel_transfer_s else 1
        rate = max(rate, min(rate * cores, float(self.memory.bandwidth_bytes_per_s) / 3))
        return Link(kind="shared", call_s=self.launch.transfer_s, host_copy_bytes_per_s=rate)

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

    @property
    def without_ecc(self) -> "Device":
        """The device with error correction switched off."""
        return self.model_copy(update={"memory": self.memory.model_copy(update={"ecc": None})})

    def cycles(self, count: float) -> float:
        """Seconds that *count* clock cycles take."""
        return count / self.clock_hz


def resident_work_items(device: Device) -> int | None:
    """Return the most work-items that all compute units of *device* keep resident; ``None`` on a CPU."""
    architecture, rules = device.architecture, device.architecture.occupancy
    if architecture.groups_as_loops:
        return None
    return device.compute_units * rules.max_waves // rules.units * architecture.wave_size


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
    local_memory_bytes: Whole
    max_work_group: Whole
    timer_resolution_s: Amount
    extensions: Many[Name]
    pci_id: Name | None = None
    """``vendor:device`` in hexadecimal, if an extension reports it."""
    pci_address: Name | None = None
    """``domain:bus:device.function`` in hexadecimal, if an extension reports it."""
    wave_size: Whole | None = None
    """Warp or wavefront size, if an extension reports it."""
    compute_capability: Name | None = None
    """Of CUDA, e.g. ``9.0``, if an extension reports it."""
    link_generation: Count | None = None
    """Highest PCI Express generation that device and machine support together, as the system reports it."""
    link_lanes: Count | None = None
    """Lanes that device and machine have together."""
    board: Name | None = None
    """The board's name, if an extension reports it: the device's may be that of the instruction set."""
    timed_by_host: bool = False
    """Whether its driver refuses queues with time stamps, so that the host's clock times it; known once it is open."""
    emulated: bool = False
    """Whether it consists of processors whose instructions a program executes, such as QEMU."""

    @property
    def on_host(self) -> bool:
        """Whether the device consists of the host's cores and memory, whose clock, power and load are its own."""
        return self.kind == "cpu"

    @property
    def is_software(self) -> bool:
        """Whether a program takes the place of a device: a simulator, an emulator or a software renderer."""
        return self.emulated or drivers.SOFTWARE.search(f"{self.platform} {self.name}".casefold()) is not None

    @property
    def implementation(self) -> drivers.Implementation:
        """Its OpenCL implementation."""
        return drivers.implementation(self.platform, self.vendor, of_cpu=self.on_host)

    @property
    def runtime(self) -> str:
        """The usual name of the OpenCL runtime, with its version."""
        name = self.implementation.name
        return f"{name} {self.driver}" if name else f"{self.platform}, driver {self.driver}"


class EntryMatch(Record):
    """The database entry that was used for the device, and how it was found."""

    entry: Id | None
    """Id of the database entry, e.g. ``nvidia/h200_sxm``; ``None`` if no entry matches."""
    how: str
    """How the entry was found, in a sentence."""
    draft: bool = False
    """Whether the device has no entry and was drafted from driver queries and its architecture's family."""
    notes: Many[str] = ()
    """Differences between the entry and the values that the device reports, in sentences."""


class DeviceMatch(EntryMatch):
    """The same for a device that is present."""

    device: Device
    """The device to predict for: the entry's values, corrected by values that the device reports."""
