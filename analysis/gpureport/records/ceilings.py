"""Ceilings, which may be bottlenecks, and classes of instructions: all that documents and files know of each."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from pydantic import ConfigDict

from gpureport.inputs import shipped_table
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


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """What can limit the speed of a kernel or transfer: a row of :data:`CEILINGS`."""

    __pydantic_config__ = ConfigDict(extra="forbid")
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


class _Tables(NamedTuple):
    instruction_classes: dict[str, InstructionClass]
    others: dict[str, Bottleneck]


_TABLES = shipped_table("ceilings", _Tables)
INSTRUCTION_CLASSES: Mapping[str, InstructionClass] = _TABLES.instruction_classes
"""In the order of files."""
CEILINGS: Mapping[str, Bottleneck] = {**INSTRUCTION_CLASSES, **_TABLES.others}
"""All ceilings, except those that have the name of a level: its latency, or the bandwidth of a cache."""


def ceiling_of(name: str) -> Bottleneck:
    """Return the row of a ceiling, or one for the latency of a level or the bandwidth of a cache."""
    if name in CEILINGS:
        return CEILINGS[name]
    if name.startswith(LATENCY_OF):
        return Bottleneck(kind=Kind.LATENCY, text=name)
    cache = cache_of(name)
    return Bottleneck(kind=Kind.CACHE, text=f"{cache} bandwidth" if cache == name else f"{cache} write bandwidth")


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
    if (kind := kind_of(bottleneck, caches)) in (Kind.LAUNCH, Kind.LINK):
        return kind
    limit = level if bottleneck == "latency" else bottleneck
    alone = family in ("instructions", "local_memory")  # their waiting has nothing to do with memory
    kind = Kind.COMPUTE if alone else kind_of(limit, caches)
    return cache_of(limit) if kind is Kind.CACHE else Kind.MEMORY if kind is Kind.MEMORY else Kind.COMPUTE
