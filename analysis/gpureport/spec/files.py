"""The YAML files, one model for each kind of file; values have units and sources.

Every value is either bare or has a provenance::

    clock: 1.98 GHz
    clock: {value: 1.98 GHz, source: datasheet, note: boost}

``source`` is a key of the file's ``sources``; a bare value has the file's default ``source``.
"""

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_type_hints

from pydantic import Field, model_validator

from gpureport.records.keys import Record
from gpureport.spec import models
from gpureport.spec.values import (
    QUANTITIES,
    Bytes,
    BytesPerSecond,
    Count,
    Counts,
    Cycles,
    CyclesOrZero,
    Flag,
    Fractions,
    Hertz,
    Key,
    Leaf,
    LinkKind,
    Names,
    Number,
    OperationsPerSecond,
    Seconds,
    Share,
    Sizes,
    Source,
    Strict,
    Text,
    Watts,
    WholeBytes,
    WholeBytesOrZero,
)
from gpureport.units import Dimension


def _written(kind: Any, dimension: Dimension, *, zero: bool) -> Any:  # noqa: ANN401 - types that pydantic reads
    """Return the type in YAML files of a value that a record has as *kind*; *zero*: cycles that may be zero."""
    kind = get_args(kind)[0] if NoneType in get_args(kind) else kind
    types = {
        int: WholeBytes if dimension == "bytes" else Count,
        float: CyclesOrZero if zero else QUANTITIES[dimension],
        tuple[float, ...]: Sizes,
        dict[int, int]: Counts,
        models.Transition: Fractions,
    }
    return types.get(kind, kind)


class FromRecord(Strict):
    """A part of a file with the values of a record; keys are the names of its fields without units.

    Fields with a default in the record are optional. All are if the part is *layered*: two files share its values.
    """

    documented_by: ClassVar[tuple[type[Record], Mapping[str, str]]]

    def __init_subclass__(cls, *, record: type[Record], layered: bool = False, **options: Any) -> None:  # noqa: ANN401
        """Add the fields before pydantic collects them; the class may declare some itself."""
        super().__init_subclass__(**options)
        values = models.yaml_values(record)
        derived: dict[str, Any] = {}
        for field, kind in get_type_hints(record).items():
            if field in values:
                key, dimension = values[field]
                zero = record.model_fields[field].default == 0
                leaf: Any = Leaf[_written(kind, dimension, zero=zero)]  # type: ignore[misc]
                optional = layered or not record.model_fields[field].is_required()
                derived[key] = leaf | None if optional else leaf
                if optional:
                    setattr(cls, key, None)
        cls.__annotations__ = derived | cls.__annotations__
        cls.documented_by = (record, {field: key for field, (key, _) in values.items()})


class CacheFields(FromRecord, record=models.Cache, layered=True):
    """A cache level. Fields of the device's file override fields of the architecture's file."""

    short_for = "capacity"

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        """Accept ``L2: 60 MiB`` for ``L2: {capacity: 60 MiB}``, with or without a source."""
        if isinstance(data, Mapping) and "value" not in data:
            return data
        return {"capacity": data}


Levels = Annotated[dict[Key, CacheFields | None], Field(max_length=16)]


class TlbFields(FromRecord, record=models.Tlb, layered=True):
    """A level of the translation lookaside buffers."""


TlbLevels = Annotated[dict[Key, TlbFields | None], Field(max_length=8)]


class MemoryFields(FromRecord, record=models.Memory, layered=True):
    """Device memory."""

    efficiency: Leaf[Share] | None = None


class LaunchFields(FromRecord, record=models.Launch, layered=True):
    """Launch costs."""


class NvidiaRules(FromRecord, record=models.NvidiaOccupancy):
    """Occupancy of NVIDIA multiprocessors (``cuda_occupancy.h``)."""

    rule: Literal["nvidia"]
    local_memory_reserved: Leaf[WholeBytesOrZero] | None = None


class AmdRules(FromRecord, record=models.AmdOccupancy):
    """Occupancy of AMD compute units (LLVM's AMDGPU back end)."""

    rule: Literal["amd"]


class IntelRules(FromRecord, record=models.IntelOccupancy):
    """Occupancy of Intel subslices (compute-runtime)."""

    rule: Literal["intel"]


class PooledRules(FromRecord, record=models.PooledOccupancy):
    """Occupancy of GPUs whose waves share pools of registers (Apple, Arm, Qualcomm)."""

    rule: Literal["pooled"]


class CpuRules(FromRecord, record=models.CpuOccupancy):
    """A CPU core runs one work-group at a time."""

    rule: Literal["cpu"]


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
    tlb: TlbLevels = Field(default_factory=dict)
    """Translation lookaside buffers by level, nearest first; ``null`` removes a level of the architecture."""
    memory: MemoryFields = MemoryFields()
    launch: LaunchFields = LaunchFields()
    notes: tuple[str, ...] = ()


class PrecisionRates(Strict):
    """Lane operations per cycle of one compute unit for number formats and units that not all devices have.

    A class that is not listed is neither predicted nor measured.
    """

    fp64: Leaf[Number] | None = None
    """Double-precision multiply-adds."""
    fp16: Leaf[Number] | None = None
    """Half-precision multiply-adds of single numbers."""
    fp16x2: Leaf[Number] | None = None
    """Half-precision multiply-adds of pairs: one instruction, two results."""
    bf16x2: Leaf[Number] | None = None
    """bfloat16 multiply-adds of pairs."""
    dot_int8: Leaf[Number] | None = None
    """Dot products of four bytes, added to a word: one instruction, four multiply-adds."""
    int64: Leaf[Number] | None = None
    """64-bit integer additions."""
    transcendental: Leaf[Number] | None = None
    """Approximate reciprocals, roots, exponentials, logarithms, sines (special function unit)."""
    conversion: Leaf[Number] | None = None
    """Conversions of single-precision numbers to 32-bit integers."""
    matrix_fp16: Leaf[Number] | None = None
    """Multiply-adds of half-precision matrices with single-precision sums, by the instruction that a note names."""
    matrix_bf16: Leaf[Number] | None = None
    """The same of bfloat16 matrices."""
    matrix_tf32: Leaf[Number] | None = None
    """The same of TF32 matrices (19 bits)."""
    matrix_int8: Leaf[Number] | None = None
    """Multiply-adds of matrices of bytes with 32-bit integer sums."""
    matrix_fp8: Leaf[Number] | None = None
    """Multiply-adds of 8-bit floating-point matrices (e4m3) with single-precision sums."""


class _BasicRates(Strict):
    """Rates of all devices."""

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


class Rates(PrecisionRates, _BasicRates):
    """Lane operations per cycle of one compute unit."""


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
    branch: Leaf[Cycles] | None = None
    """A branch that only some lanes of a wave take."""
    fp64: Leaf[Cycles] | None = None
    fp16: Leaf[Cycles] | None = None
    fp16x2: Leaf[Cycles] | None = None
    bf16x2: Leaf[Cycles] | None = None
    dot_int8: Leaf[Cycles] | None = None
    int64: Leaf[Cycles] | None = None
    transcendental: Leaf[Cycles] | None = None
    conversion: Leaf[Cycles] | None = None


class TypicalFields(Strict):
    """Values per compute unit, assumed for devices without a file that do not report them."""

    bandwidth: Leaf[BytesPerSecond] | None = None
    capacities: dict[str, Leaf[Bytes]] = Field(default_factory=dict, max_length=16)
    """Capacities of device-wide caches, by level."""


class CoreFields(FromRecord, record=models.CoreType, layered=True):
    """The memory hierarchy of a CPU core."""


class StreamFields(FromRecord, record=models.StreamType, layered=True):
    """Vectorised streaming kernels on a CPU core."""


class ProcessorId(Strict):
    """Processors with this type of core, as the CPU identifies itself (CPUID; Arm: part name)."""

    vendor: Text
    """``GenuineIntel``, ``AuthenticAMD``, ``ARM``, … Without family and name: processors of this vendor with an unknown
    type of core."""
    family: Annotated[int, Field(ge=0, le=1 << 12)] | None = None
    models: tuple[Annotated[str, Field(pattern=r"^\d{1,4}(-\d{1,4})?$")], ...] = Field(default=(), max_length=50)
    """Numbers and ranges, such as ``16-31``."""
    name: Text | None = None
    """Model name, such as ``Neoverse-N1``, where the numbers do not distinguish cores (Arm)."""
    part: Annotated[str, Field(pattern=r"^0x[0-9a-f]{3}$")] | None = None
    """Arm part number, such as ``0xd0c``, where the operating system lists no name."""


class ArchitectureFile(File, FromRecord, record=models.Architecture):
    """``devices/architectures/*.yaml``: values that all devices of one (micro)architecture share."""

    kind: models.Kind
    extends: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,100}$")] | None = None
    """An architecture, by the name of its file without ``.yaml``. This file then lists only what differs."""
    identified_by: tuple[ProcessorId, ...] = Field(default=(), max_length=50)
    """CPUs with this architecture."""
    core: CoreFields = CoreFields()
    streams: StreamFields = StreamFields()
    matches: tuple[str, ...] = ()
    """Patterns (``*``, ``?``) of device names or compute capabilities: ``sm_90``, ``gfx110?``. They select the
    architecture of devices without their own file."""
    predecessor: str | None = None
    """The previous generation: a file in ``architectures/``, without ``.yaml``. Omitted: none that is similar."""
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
        models.check_registers(self.leaves()["wave_size"].value, self.occupancy)
        return self


class OpenclFields(Strict):
    """The device as OpenCL reports it."""

    names: tuple[Text, ...] = Field(default=(), min_length=1, max_length=200)
    """``CL_DEVICE_NAME``."""
    compute_units: Leaf[Count] | None = None
    """``CL_DEVICE_MAX_COMPUTE_UNITS``, if it differs from ``compute_units``."""
    parts: Leaf[Count] | None = None
    """Equal parts (tiles, dies) that may appear as separate devices, each with its part of caches and bandwidth."""


class LinkFields(Strict):
    """The link between device and host."""

    kind: Leaf[LinkKind]
    """``pcie``, ``nvlink_c2c`` or ``shared`` (device and host have the same memory)."""
    generation: Leaf[Count] | None = None
    """PCI Express: generation, such as 4."""
    lanes: Leaf[Count] | None = None
    """PCI Express: number of lanes that the device uses."""
    bandwidth: Leaf[BytesPerSecond] | None = None
    """Listed bandwidth of one direction, if the kind of link does not determine it."""
    peer_bandwidth: Leaf[BytesPerSecond] | None = None
    """Listed bandwidth of one direction of the direct link to other devices of the model (NVLink, Infinity Fabric)."""
    latency: Leaf[Seconds] | None = None
    """Time of the smallest copy of pinned memory to the host, between the device's time stamps."""
    call: Leaf[Seconds] | None = None
    """Time of the smallest copy to the device for the host, from the call to the arrival of the data."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        models.check_link(self.kind.value, bool(self.generation and self.lanes), bool(self.bandwidth))
        return self


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
    rates: PrecisionRates = PrecisionRates()
    """Rates that differ from those of the architecture, such as those of limited product lines."""
    link: LinkFields | None = None
    """The link to the host, with the generation and lanes of the device's data sheet."""
    board_power: Leaf[Watts] | None = None
    """Listed power limit of the whole board (TDP, TBP)."""
    opencl: OpenclFields = OpenclFields()
    pci_ids: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$")], ...] = ()
    """``vendor:device`` in lower-case hexadecimal."""
    host: bool = False
    """Whether the entry describes any CPU of its kind: sizes, clock and compute units are those of this machine."""
