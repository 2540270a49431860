"""Ceilings, which may be bottlenecks, and classes of instructions: all that documents and files know of each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from gpureport.records.prediction import LATENCY_OF, cache_of
from gpureport.records.quantities import Labelled


class Kind(Labelled):
    """What limits a point, from the compute units outwards; the values are those of the column ``layer`` of a store."""

    text: str

    COMPUTE = "clock", "instruction rate"
    LOCAL = "local memory", "local memory"
    LATENCY = "latency", "latency"
    CACHE = "cache", "cache bandwidth"
    MEMORY = "memory", "memory bandwidth"
    LAUNCH = "launch", "launch cost"
    LINK = "link", "transfers to and from the host"


@dataclass(frozen=True)
class Bottleneck:
    """What can limit the speed of a kernel or transfer: a row of :data:`CEILINGS`."""

    _what: ClassVar[str] = "Bottleneck"
    kind: Kind
    """Where it is."""
    text: str
    """Its name as a bottleneck in sentences: "limited by …"."""
    label: str = ""
    """Its name in tables and figures; empty: its identifier."""
    definition: str = ""
    """A text for the glossary, and for the schemas of files; empty: its name says it."""
    standard: tuple[str, ...] = ()
    """Names of the field or of vendors, for the glossary."""

    @property
    def entry(self) -> str:
        """Its entry of the glossary; empty: it has none."""
        of = " of transfers" if self.kind is Kind.LINK else ""
        return f"{self._what}{of}: {self.definition}" if self.definition else ""


class Rate(NamedTuple):
    """The key figure of the rate of a class of instructions."""

    name: str
    unit: Literal["FLOP/s", "op/s"]
    operations: float
    """Operations of one instruction."""
    main: bool = False
    """Whether page one shows it."""


@dataclass(frozen=True, kw_only=True)
class InstructionClass(Bottleneck):
    """A class of instructions; its identifier is that of its rate in architectures' files."""

    _what: ClassVar[str] = "Instruction class"
    kind: Kind = Kind.COMPUTE
    listed: Literal["all", "some", "special", "none"] = "all"
    """Which architectures list their rate. ``special``: those with this number format or unit; without a rate, they are
    neither predicted nor measured. Devices may have another special rate than their architecture."""
    latency: Literal["all", "some", "none"] = "none"
    """Which architectures list their latency."""
    roofline: bool = False
    """Whether they are the operations of a roofline; others are addresses, logic or exchange."""
    rate: Rate | None = None
    """Its key figure."""


def _format(text: str, definition: str, rate: Rate, standard: tuple[str, ...] = ()) -> InstructionClass:
    """Return the class of a number format, or of a unit, that not all devices have."""
    return InstructionClass(
        text=text,
        definition=definition,
        standard=standard,
        listed="special",
        latency="some",
        roofline=True,
        rate=rate,
    )


def _matrix(numbers: str, matrices: str, unit: Literal["FLOP/s", "op/s"], *, main: bool = False) -> InstructionClass:
    """Return the class of a matrix unit: multiply-adds of *matrices* of these *numbers*."""
    definition, rate = f"multiply-adds of {matrices}.", Rate(numbers.lower(), unit, 2.0, main)
    return InstructionClass(text=f"the matrix unit ({numbers})", definition=definition, listed="special", rate=rate)


INSTRUCTION_CLASSES: Mapping[str, InstructionClass] = {
    "fp32": InstructionClass(
        text="floating-point instructions",
        definition="single-precision multiply-adds.",
        roofline=True,
        rate=Rate("fp32 FMA", "FLOP/s", 2.0, main=True),
        latency="all",
    ),
    "fp32_three": InstructionClass(
        text="floating-point instructions with three registers",
        label="fp32 of 3 registers",
        definition="multiply-adds of three different registers, which some devices execute more slowly than others.",
        standard=("fp32 of 3 registers",),
        listed="some",
    ),
    "int32": InstructionClass(
        text="integer instructions",
        label="integer",
        definition="32-bit integer operations without a class of their own.",
        roofline=True,
        latency="all",
    ),
    "add": InstructionClass(
        text="integer additions",
        label="integer add",
        definition="32-bit additions, if compilers may distribute them over several pipes.",
        rate=Rate("int32 add", "op/s", 1.0, main=True),
        listed="some",
        latency="some",
    ),
    "int32_mul": InstructionClass(
        text="integer multiplications",
        label="integer multiply",
        definition="32-bit integer multiplications.",
        roofline=True,
        latency="all",
    ),
    "ternary": InstructionClass(
        text="bitwise instructions",
        label="bitwise",
        definition="bitwise combinations of three words in one instruction.",
        standard=("LOP3", "bitwise"),
        listed="some",
        latency="some",
    ),
    "shift": InstructionClass(
        text="shifts",
        definition="shifts, funnel shifts and rotations by a variable distance.",
        listed="some",
        latency="some",
    ),
    "shuffle": InstructionClass(
        text="shuffles", definition="exchanges of words between the lanes of a wave.", roofline=True, latency="all"
    ),
    "ballot": InstructionClass(
        text="ballots", definition="votes of the lanes of a wave.", listed="some", latency="some"
    ),
    "masked": InstructionClass(
        text="masked accesses",
        definition="accesses by lanes of a CPU's vector that a mask disables, in gathers and scatters.",
        listed="none",
    ),
    "permute": InstructionClass(
        text="permutations", definition="permutations of the words of a CPU's vector.", listed="some"
    ),
    "local": InstructionClass(
        kind=Kind.LOCAL,
        text="local-memory accesses",
        label="local memory",
        definition="4-byte accesses of local memory.",
        roofline=True,
        latency="all",
    ),
    "constant": InstructionClass(
        text="reads of constant memory",
        label="constant memory",
        definition="reads of different addresses of constant memory by the lanes of a wave, one after another.",
        listed="none",
        latency="some",
    ),
    "memory": InstructionClass(
        text="load and store instructions",
        label="loads, stores",
        definition="4-byte global loads and stores issued.",
    ),
    "instruction": InstructionClass(
        text="instruction issue",
        label="issue rate",
        definition="instructions of any class that a compute unit can issue.",
        standard=("issue rate",),
        roofline=True,
    ),
    "barrier": InstructionClass(
        kind=Kind.LATENCY, text="barriers", definition="work-items that reach a barrier.", listed="some", latency="all"
    ),
    "branch": InstructionClass(
        text="branches",
        definition="branches that only some lanes of a wave take.",
        listed="none",
        latency="some",
    ),
    "fp64": _format(
        "double-precision instructions",
        "double-precision multiply-adds.",
        Rate("fp64 FMA", "FLOP/s", 2.0, main=True),
    ),
    "fp16": _format(
        "half-precision instructions",
        "half-precision multiply-adds of single numbers.",
        Rate("fp16 FMA", "FLOP/s", 2.0),
    ),
    "fp16x2": _format(
        "packed half-precision instructions",
        "half-precision multiply-adds of pairs that share a register: one instruction, two multiply-adds.",
        Rate("Packed fp16 FMA", "FLOP/s", 4.0),
        standard=("packed half precision",),
    ),
    "bf16x2": _format(
        "packed bfloat16 instructions",
        "bfloat16 multiply-adds of pairs that share a register: one instruction, two multiply-adds.",
        Rate("Packed bf16 FMA", "FLOP/s", 4.0),
    ),
    "dot_int8": _format(
        "dot products of bytes",
        "dot products of four bytes, added to a 32-bit integer: one instruction, four multiply-adds.",
        Rate("int8 dot product", "op/s", 8.0),
        standard=("dp4a", "dot4"),
    ),
    "int64": _format("64-bit additions", "64-bit integer additions.", Rate("int64 add", "op/s", 1.0)),
    "transcendental": _format(
        "transcendental instructions",
        "approximate reciprocals, roots, exponentials, logarithms and sines. Reciprocals are measured.",
        Rate("Reciprocal", "op/s", 1.0),
        standard=("special function unit", "MUFU"),
    ),
    "conversion": InstructionClass(
        text="conversions",
        definition="conversions of single-precision numbers to 32-bit integers.",
        listed="special",
        rate=Rate("Conversion", "op/s", 1.0),
        latency="some",
    ),
    "from_int32": InstructionClass(
        text="conversions of integers",
        label="integer to fp32",
        definition="conversions of 32-bit integers to single-precision numbers, where other conversions are slower.",
        listed="some",
    ),
    "matrix_fp16": _matrix("fp16", "half-precision matrices with single-precision sums", "FLOP/s"),
    "matrix_bf16": _matrix("bf16", "bfloat16 matrices with single-precision sums", "FLOP/s", main=True),
    "matrix_fp32": _matrix("fp32", "single-precision matrices", "FLOP/s"),
    "matrix_tf32": _matrix("TF32", "TF32 matrices (19 bits) with single-precision sums", "FLOP/s"),
    "matrix_int8": _matrix("int8", "matrices of bytes with 32-bit integer sums", "op/s"),
    "matrix_fp8": _matrix("fp8", "8-bit floating-point matrices (e4m3) with single-precision sums", "FLOP/s"),
}
"""In the order of files."""

CEILINGS: Mapping[str, Bottleneck] = {
    **INSTRUCTION_CLASSES,
    "launch": Bottleneck(
        Kind.LAUNCH,
        "launch cost",
        definition="the time that a dispatch takes even if it does nothing.",
        standard=("launch cost", "launch overhead"),
    ),
    "groups": Bottleneck(
        Kind.LAUNCH,
        "the rate at which work-groups start",
        "work-group starts",
        definition="the rate at which the device starts work-groups.",
        standard=("work-group dispatch rate", "work-group starts"),
    ),
    "latency": Bottleneck(Kind.LATENCY, "latency"),
    "DRAM": Bottleneck(Kind.MEMORY, "memory bandwidth"),
    "call": Bottleneck(
        Kind.LINK,
        "the cost of the call",
        definition="the time that the smallest transfer takes.",
        standard=("call overhead",),
    ),
    "link": Bottleneck(Kind.LINK, "the link to the host"),
    "host copy": Bottleneck(
        Kind.LINK,
        "copies by the host",
        definition="the host's copy between ordinary memory and pinned memory, or within shared memory.",
        standard=("memcpy", "staging copy"),
    ),
    "ALU": Bottleneck(
        Kind.COMPUTE,
        "the integer pipe",
        "integer pipe",
        (
            "the pipe of a compute unit that executes integer, bitwise and shift instructions. AMD's vector pipe is "
            "called VALU."
        ),
        ("integer pipe", "VALU", "vector pipe"),
    ),
    "VALU": Bottleneck(Kind.COMPUTE, "the vector pipe", "vector pipe"),
    "LSU": Bottleneck(
        Kind.COMPUTE,
        "the load and store pipe",
        "load/store pipe",
        "the pipe of a compute unit that issues loads and stores, those of local memory included.",
        ("load/store unit", "load/store pipe"),
    ),
}
"""All ceilings, except those that have the name of a level: its latency, or the bandwidth of a cache."""


def ceiling_of(name: str) -> Bottleneck:
    """Return the row of a ceiling, or one for the latency of a level or the bandwidth of a cache."""
    if name in CEILINGS:
        return CEILINGS[name]
    if name.startswith(LATENCY_OF):
        return Bottleneck(Kind.LATENCY, name)
    cache = cache_of(name)
    return Bottleneck(Kind.CACHE, f"{cache} bandwidth" if cache == name else f"{cache} write bandwidth")


def ceiling_label(name: str) -> str:
    """Return a short name of a ceiling or of a class of instructions, for tables and figures."""
    return ceiling_of(name).label or name


def kind_of(name: str, caches: Collection[str]) -> Kind:
    """Return the kind of a bottleneck of a device with these *caches*; other pipes execute instructions."""
    kind = ceiling_of(name).kind
    return Kind.COMPUTE if kind is Kind.CACHE and cache_of(name) not in caches else kind


def layer_of(family: str, bottleneck: str, level: str, caches: Collection[str]) -> str:
    """Return the layer that limits a point: the name of one of the *caches* (also of translations), or a :class:`Kind`.

    Accesses that wait for one another are limited by the *level* that serves them.
    """
    kind = kind_of(bottleneck, caches)
    if kind in (Kind.LAUNCH, Kind.LINK):
        return kind
    limit = level if bottleneck == "latency" else bottleneck
    alone = family in ("instructions", "local_memory")  # their waiting has nothing to do with memory
    kind = Kind.COMPUTE if alone else kind_of(limit, caches)
    return cache_of(limit) if kind is Kind.CACHE else Kind.MEMORY if kind is Kind.MEMORY else Kind.COMPUTE
