"""The YAML files, one model for each kind of file; values have units and sources.

Every value is either bare or has a provenance::

    clock: 1.98 GHz
    clock: {value: 1.98 GHz, source: datasheet, note: boost}

``source`` is a key of the file's ``sources``; a bare value has the file's default ``source``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from gpureport.spec.models import SCALARS, Architecture, Kind, check_registers
from gpureport.spec.values import (
    QUANTITIES,
    Bytes,
    BytesPerCycle,
    BytesPerSecond,
    Count,
    Counts,
    Cycles,
    Flag,
    Fractions,
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
    """A cache level. Fields of the device's file override fields of the architecture's file."""

    short_for = "capacity"

    capacity: Leaf[Bytes] | None = None
    """Capacity of one instance."""
    scope: Leaf[Scope] | None = None
    """One instance for each compute unit, or one for the device."""
    line: Leaf[WholeBytes] | None = None
    sector: Leaf[WholeBytes] | None = None
    """Bytes transferred on a miss; equal to the line size for caches without sectors."""
    latency: Leaf[Cycles] | None = None
    """Latency of a dependent load."""
    bandwidth: Leaf[BytesPerCycle] | None = None
    """Bytes per cycle for one compute unit."""
    bandwidth_transition: Leaf[Fractions] | None = None
    """Onset, midpoint and end of the cliff in bandwidth, as fractions of the usable capacity."""
    latency_transition: Leaf[Fractions] | None = None
    """The same for the latency of one pointer-chasing work-item."""
    cyclic_transition: Leaf[Fractions] | None = None
    """The same for the bandwidth of cyclic sweeps; default: as ``bandwidth_transition``."""
    write_transition: Leaf[Fractions] | None = None
    """The same for the bandwidth of kernels that also write; default: as ``bandwidth_transition``."""
    ping_pong_transition: Leaf[Fractions] | None = None
    """The same if each dispatch reads what the previous one wrote; default: as ``write_transition``."""
    persistent: Leaf[Flag] | None = None
    """Whether contents survive from one dispatch to the next."""
    unified_with_local_memory: Leaf[Flag] | None = None
    partitions: Leaf[Count] | None = None
    far_latency: Leaf[Cycles] | None = None
    """Latency of the far partition."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        """Accept ``L2: 60 MiB`` for ``L2: {capacity: 60 MiB}``, with or without a source."""
        if isinstance(data, Mapping) and "value" not in data:
            return data
        return {"capacity": data}


Levels = Annotated[dict[Key, CacheFields | None], Field(max_length=16)]


class MemoryFields(Strict):
    """Device memory."""

    size: Leaf[Bytes] | None = None
    bandwidth: Leaf[BytesPerSecond] | None = None
    """Listed bandwidth."""
    efficiency: Leaf[Share] | None = None
    """Fraction of the listed bandwidth that a streaming kernel reaches."""
    latency: Leaf[Cycles] | None = None
    """Latency of a dependent load beyond all caches."""
    access: Leaf[WholeBytes] | None = None
    """Smallest transfer to or from memory."""


class LaunchFields(Strict):
    """Launch costs."""

    single: Leaf[Seconds] | None = None
    """One empty kernel, between its own time stamps."""
    batched: Leaf[Seconds] | None = None
    """Time per dispatch of back-to-back dispatches of an empty kernel."""
    groups_per_cycle: Leaf[Number] | None = None
    """Work-groups that the whole device starts per cycle."""


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
    """Omitted if local memory is ordinary memory."""


class CpuRules(Strict):
    """A CPU core runs one work-group at a time."""

    rule: Literal["cpu"]
    local_memory: Leaf[Bytes]


Rules = Annotated[NvidiaRules | AmdRules | IntelRules | PooledRules | CpuRules, Field(discriminator="rule")]


class File(Strict):
    """Fields of both kinds of file."""

    name: Text
    vendor: Text
    sources: dict[str, Source] = Field(default_factory=dict, max_length=200)
    """Citations by key."""
    source: str | None = None
    """The key used for values without their own source."""
    caches: Levels = Field(default_factory=dict)
    """By level, nearest first; ``null`` removes a level of the architecture."""
    memory: MemoryFields = MemoryFields()
    launch: LaunchFields = LaunchFields()
    notes: tuple[str, ...] = ()


class Rates(Strict):
    """Lane operations per cycle of one compute unit."""

    fp32: Leaf[Number]
    fp32_three: Leaf[Number] | None = None
    """Multiply-adds of three different registers, if slower."""
    int32: Leaf[Number]
    """Integer operations without their own class."""
    add: Leaf[Number] | None = None
    """Additions, if compilers may distribute them over several pipes."""
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
    """Any issued instruction."""
    barrier: Leaf[Number] | None = None
    """Work-items that reach a barrier."""


class Latencies(Strict):
    """Cycles from the issue of an instruction to the issue of a dependent one."""

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
    """Values per compute unit, assumed for devices without a file that do not report them."""

    bandwidth: Leaf[BytesPerSecond] | None = None
    capacities: dict[str, Leaf[Bytes]] = Field(default_factory=dict, max_length=16)
    """Capacities of device-wide caches, by level."""


def _scalar(name: str) -> Any:  # noqa: ANN401 - a type that pydantic reads
    """Return type and default of the field for a number of an architecture."""
    declared, leaf = Architecture.model_fields[name], Leaf
    number: Any = Count if declared.annotation is int else QUANTITIES[SCALARS[name].dimension]
    required: Any = leaf[number]
    return (required, ...) if declared.is_required() else (required | None, None)


if TYPE_CHECKING:

    class _WithScalars(File):
        """A file with the numbers that :class:`Architecture` declares."""
else:
    _WithScalars = create_model("_WithScalars", __base__=File, **{name: _scalar(name) for name in SCALARS})
    _WithScalars.documented_by = Architecture


class ArchitectureFile(_WithScalars):
    """``devices/architectures/*.yaml``: values that all devices of one (micro)architecture share."""

    kind: Kind
    matches: tuple[str, ...] = ()
    """Patterns (``*``, ``?``) of device names or compute capabilities: ``sm_90``, ``gfx110?``. They select the
    architecture of devices without their own file."""
    units_per_opencl_unit: Annotated[float, Field(gt=0)] = 1
    """Compute units that OpenCL counts as one (AMD work-group processors: 2; Intel's vector engines, of which a core
    has 16: 0.0625)."""
    typical: TypicalFields = TypicalFields()
    write_allocate: Leaf[Flag]
    """Whether a write miss fetches the line even if the write will cover it."""
    occupancy: Rules
    rates: Rates
    latencies: Latencies
    pipes: dict[Key, Leaf[Names]] = Field(default_factory=dict, max_length=50)
    """Instruction classes that share one pipe, by the pipe's name."""

    @model_validator(mode="after")
    def _has_registers(self) -> Self:
        check_registers(self.leaves()["wave_size"].value, self.occupancy)
        return self


class OpenclFields(Strict):
    """The device as OpenCL reports it."""

    names: tuple[Text, ...] = Field(default=(), min_length=1, max_length=200)
    """``CL_DEVICE_NAME``."""
    compute_units: Leaf[Count] | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS``, if it differs from ``compute_units``."""
    parts: Leaf[Count] | None = None
    """Equal parts (tiles, dies) that may appear as separate devices, each with its part of caches and bandwidth."""


class DeviceFile(File):
    """``devices/<vendor>/<device>.yaml``: one device."""

    architecture: str
    """Name of a file in ``architectures/``, without ``.yaml``."""
    compute_units: Leaf[Count] | None = None
    clock: Leaf[Hertz] | None = None
    """Listed boost clock."""
    flops: Leaf[OperationsPerSecond] | None = None
    """Listed single-precision peak. No prediction uses it; ``devices check`` compares it with lanes, compute units and
    clock."""
    opencl: OpenclFields = OpenclFields()
    pci_ids: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")], ...] = ()
    """``vendor:device`` in lower-case hexadecimal."""
    host: bool = False
    """Whether the entry describes any CPU of its kind: sizes, clock and compute units are those of this machine."""
