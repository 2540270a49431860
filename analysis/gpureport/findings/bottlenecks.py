"""Bottlenecks: the kind of each, and its names in documents."""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from gpureport.records.prediction import LATENCY_OF, cache_of


class Kind(StrEnum):
    """What limits a point, from the compute units outwards; the values are those of the column ``layer`` of a store."""

    COMPUTE = "clock"
    LOCAL = "local memory"
    LATENCY = "latency"
    CACHE = "cache"
    MEMORY = "memory"
    LAUNCH = "launch"
    LINK = "link"


KIND_TEXTS: dict[str, str] = {
    Kind.COMPUTE: "instruction rate",
    Kind.LOCAL: "local memory",
    Kind.LATENCY: "latency",
    Kind.CACHE: "cache bandwidth",
    Kind.MEMORY: "memory bandwidth",
    Kind.LAUNCH: "launch cost",
    Kind.LINK: "transfers to and from the host",
}


class _Ceiling(NamedTuple):
    kind: Kind
    text: str
    label: str = ""
    """A short name, if it is not the identifier."""


_CEILINGS = {
    "launch": _Ceiling(Kind.LAUNCH, "launch cost"),
    "groups": _Ceiling(Kind.LAUNCH, "the rate at which work-groups start", "work-group starts"),
    "latency": _Ceiling(Kind.LATENCY, "latency"),
    "barrier": _Ceiling(Kind.LATENCY, "barriers"),
    "DRAM": _Ceiling(Kind.MEMORY, "memory bandwidth"),
    "local": _Ceiling(Kind.LOCAL, "local-memory accesses", "local memory"),
    "call": _Ceiling(Kind.LINK, "the cost of the call"),
    "link": _Ceiling(Kind.LINK, "the link to the host"),
    "host copy": _Ceiling(Kind.LINK, "copies by one core of the host"),
    "ALU": _Ceiling(Kind.COMPUTE, "the integer pipe", "integer pipe"),
    "VALU": _Ceiling(Kind.COMPUTE, "the vector pipe", "vector pipe"),
    "LSU": _Ceiling(Kind.COMPUTE, "the load and store pipe", "load/store pipe"),
    "instruction": _Ceiling(Kind.COMPUTE, "instruction issue", "issue rate"),
    "memory": _Ceiling(Kind.COMPUTE, "load and store instructions", "loads, stores"),
    "int32": _Ceiling(Kind.COMPUTE, "integer instructions", "integer"),
    "int32_mul": _Ceiling(Kind.COMPUTE, "integer multiplications", "integer multiply"),
    "add": _Ceiling(Kind.COMPUTE, "integer additions", "integer add"),
    "int64": _Ceiling(Kind.COMPUTE, "64-bit additions"),
    "ternary": _Ceiling(Kind.COMPUTE, "bitwise instructions", "bitwise"),
    "shift": _Ceiling(Kind.COMPUTE, "shifts"),
    "shuffle": _Ceiling(Kind.COMPUTE, "shuffles"),
    "ballot": _Ceiling(Kind.COMPUTE, "ballots"),
    "fp32": _Ceiling(Kind.COMPUTE, "floating-point instructions"),
    "fp32_three": _Ceiling(Kind.COMPUTE, "floating-point instructions with three registers", "fp32 of 3 registers"),
    "fp64": _Ceiling(Kind.COMPUTE, "double-precision instructions"),
    "fp16": _Ceiling(Kind.COMPUTE, "half-precision instructions"),
    "fp16x2": _Ceiling(Kind.COMPUTE, "packed half-precision instructions"),
    "bf16x2": _Ceiling(Kind.COMPUTE, "packed bfloat16 instructions"),
    "dot_int8": _Ceiling(Kind.COMPUTE, "dot products of bytes"),
    "transcendental": _Ceiling(Kind.COMPUTE, "transcendental instructions"),
    "conversion": _Ceiling(Kind.COMPUTE, "conversions"),
    "matrix_fp16": _Ceiling(Kind.COMPUTE, "the matrix unit (fp16)"),
    "matrix_bf16": _Ceiling(Kind.COMPUTE, "the matrix unit (bf16)"),
    "matrix_tf32": _Ceiling(Kind.COMPUTE, "the matrix unit (TF32)"),
    "matrix_int8": _Ceiling(Kind.COMPUTE, "the matrix unit (int8)"),
    "matrix_fp8": _Ceiling(Kind.COMPUTE, "the matrix unit (fp8)"),
}
"""All ceilings, except those that have the name of a level: its latency, or the bandwidth of a cache."""


_WITHOUT_MEMORY = ("instructions", "local_memory")
"""Families whose waiting has nothing to do with memory."""


def ceiling_label(name: str) -> str:
    """Return a short name of a ceiling or of a class of instructions, for tables and figures."""
    return _CEILINGS[name].label or name if name in _CEILINGS else name


def ceiling_text(name: str) -> str:
    """Return the name of a ceiling in words."""
    if name in _CEILINGS:
        return _CEILINGS[name].text
    if name.startswith(LATENCY_OF):
        return name
    cache = cache_of(name)
    return f"{cache} bandwidth" if cache == name else f"{cache} write bandwidth"


def kind_of(name: str, caches: Collection[str]) -> Kind:
    """Return the kind of a bottleneck of a device with these *caches*; other pipes execute instructions."""
    if name in _CEILINGS:
        return _CEILINGS[name].kind
    if name.startswith(LATENCY_OF):
        return Kind.LATENCY
    return Kind.CACHE if cache_of(name) in caches else Kind.COMPUTE


def layer_of(family: str, bottleneck: str, level: str, caches: Collection[str]) -> str:
    """Return the layer that limits a point: the name of one of the *caches*, or else a :class:`Kind`.

    Accesses that wait for one another are limited by the *level* that serves them.
    """
    kind = kind_of(bottleneck, caches)
    if kind in (Kind.LAUNCH, Kind.LINK):
        return kind
    limit = level if bottleneck == "latency" else bottleneck
    kind = Kind.COMPUTE if family in _WITHOUT_MEMORY else kind_of(limit, caches)
    return cache_of(limit) if kind is Kind.CACHE else Kind.MEMORY if kind is Kind.MEMORY else Kind.COMPUTE
