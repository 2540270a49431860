"""Values of a CPU from its type of core, for the entries that describe any CPU. Pure.

Documents and measurements of many machines give the latency of each level in seconds, and its bandwidth for each core
(:class:`gpureport.spec.models.CoreType`). OpenCL reports only the number of processors and a clock.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from gpureport.records.provenance import Provenance
from gpureport.spec.core_types import LINE_BYTES, Topology, socket_bandwidth
from gpureport.spec.files import ArchitectureFile
from gpureport.spec.host import HostCache, listed_caches
from gpureport.spec.lscpu import ProcessorFacts
from gpureport.spec.models import CORE_TYPE, CoreType, PresentDevice, StreamType
from gpureport.spec.resolve import Value

L1_CYCLES = {"AuthenticAMD": 4.0, "ARM": 4.0}
"""Cycles of a load from the L1, if not five."""
_SCALAR_POCL = 5
"""PoCL from this version on runs work-items with conditions or barriers one by one (machine code of our kernels)."""
_EMULATED_SHUFFLE = 0.2
"""Lane operations per cycle of a shuffle that PoCL emulates in memory. Measured on 16 cores with PoCL 5."""
LAUNCH_S, LAUNCH_EXPONENT = 0.9e-6, 1.4
"""Launch cost of PoCL with one thread, and its growth with the number of threads, which wait for the same lock. Fitted
to 1.8 us with 2 threads and 43 us with 16 (reports/pocl-xeon-2-cores, pocl-xeon-16-cores)."""
STREAMED = 2.0
"""Part of the L3 that streams of all threads find / part that a chain of loads of one thread finds. Fitted to the
cliffs of reads on two cores (reports/pocl-xeon-2-cores); on 16 cores it is the same."""
_AROUND = (0.6, 1.0, 1.7)
"""Onset, midpoint and end of the cliff beyond an L3 that others share, relative to its usable part (assumed)."""
_WIDE = re.compile(r"avx512|icelake|cannonlake|cascadelake|cooperlake|tigerlake|rocketlake|rapids|znver[4-9]")
_NO_MODEL = re.compile(r"(Processor|EPYC)\s*$")


@dataclass(frozen=True)
class HostCore:
    """The type of core of a machine.

    Attributes:
        architecture: name of its file.
        core: the memory hierarchy of a core.
        streams: how vectorised streams run on a core.
        topology: of the machine.
        usable_l3: part of the listed L3 that one thread can use.
        vendor: of the processor, as CPUID reports it.
        hypervisor: whether the machine is a virtual one.
    """

    architecture: str
    core: CoreType
    streams: StreamType
    topology: Topology
    usable_l3: float
    vendor: str
    hypervisor: bool


def guessed_facts(present: PresentDevice, name: str, caches: tuple[HostCache, ...]) -> ProcessorFacts | None:
    """Return what an OpenCL device reveals of its processor: for reports without the facts of the operating system.

    A name without a model number is that of a virtual machine. ``None``: the vendor is not known.

    Args:
        present: the device.
        name: of the processor.
        caches: of the processor.
    """
    words = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}
    maker = next((vendor for vendor, word in words.items() if present.vendor == vendor or word in name), None)
    if maker is None:
        return None
    return ProcessorFacts(
        vendor=maker,
        name=name,
        processors=max(1, present.compute_units),
        hypervisor="unknown" if _NO_MODEL.search(name) else "",
        flags=frozenset({"avx512f"} if _WIDE.search(present.version) else ()),
        **listed_caches(caches, present.compute_units),
    )


def core_values(host: HostCore, clock_hz: float, processors: int) -> dict[str, Value]:
    """Return the values that replace those of the generic entry; *clock_hz* is the listed clock.

    With all cores busy, the clock is between the listed one and the highest, which follows from the latency of the L1:
    their geometric mean (assumed).

    OpenCL's buffers have small pages. A virtual machine's TLB misses read entries of two page tables, which the L3
    serves: about one more access of the L3 (assumed; chains of loads on both machines of reports/pocl-xeon-* agree).
    """
    core, place = host.core, host.topology
    source = f"{CORE_TYPE} {host.architecture}"
    highest = L1_CYCLES.get(host.vendor, 5.0) / core.l1_latency_s
    clock = sqrt(clock_hz * highest) if highest > clock_hz else clock_hz
    threads = float(place.cores) * float(place.core_share) / max(1, processors)
    share, streamed = host.usable_l3, min(1.5, STREAMED * host.usable_l3)

    def derived(value: object, note: str) -> Value:
        return Value(value, Provenance(kind="derived", source=source, note=note))

    walk_s = core.l3_latency_s if host.hypervisor else 0.0

    def rate(bytes_per_s: float) -> Value:
        return derived(bytes_per_s * threads / clock, f"{bytes_per_s / 1e9:.3g} GB/s per core")

    def latency(seconds: float) -> Value:
        return derived(seconds * clock, f"{seconds * 1e9:.3g} ns")

    return {
        "clock": derived(clock, f"between the listed {clock_hz / 1e9:.3g} GHz and {highest / 1e9:.3g} GHz"),
        "memory.bandwidth": derived(_memory_bytes_per_s(host), f"of {place.cores:.0f} cores of a socket, as reached"),
        "memory.efficiency": derived(1.0, "the bandwidth is that of streams"),
        "memory.latency": latency(core.memory_latency_s + core.tlb_latency_s + walk_s),
        "launch.single": derived(LAUNCH_S * processors**LAUNCH_EXPONENT, f"to wake {processors} threads"),
        "launch.batched": derived(LAUNCH_S * processors**LAUNCH_EXPONENT, f"to wake {processors} threads"),
        "caches.L1.latency": latency(core.l1_latency_s),
        "caches.L2.latency": latency(core.l2_latency_s),
        "caches.L3.latency": latency(core.l3_latency_s + core.tlb_latency_s + walk_s),
        **({"tlb.L2.miss": latency(walk_s)} if walk_s else {}),
        "caches.L2.bandwidth": rate(core.l2_read_bytes_per_s),
        "caches.L3.bandwidth": rate(core.l3_read_bytes_per_s),
        "caches.L3.latency_transition": derived(
            tuple(share * factor for factor in _AROUND), f"one thread can use {share:.0%} of it"
        ),
        "caches.L3.bandwidth_transition": derived(
            tuple(streamed * factor for factor in _AROUND), f"streams find {streamed:.0%} of it"
        ),
    }


def with_core(values: Mapping[str, Value], host: HostCore | None) -> dict[str, Value]:
    """Return the *values* of a machine on top of which those of its type of core are, if it is known."""
    core = core_values(host, values["clock"].value, values["compute_units"].value) if host else {}
    return {**values, **core}


def _memory_bytes_per_s(host: HostCore) -> float:
    """Return the traffic of all cores with memory: reads, writes, and lines that writes fetch.

    One core: the geometric mean of what ordinary programs reach and what vectorised streams reach.
    """
    core, place = host.core, host.topology
    ordinary = (core.memory_read_bytes_per_s + 2 * core.memory_write_bytes_per_s) / 2
    one = sqrt(ordinary * LINE_BYTES / host.streams.memory_line_s)
    return float(socket_bandwidth(core, place, one * place.cores * place.core_share))


def vector_values(present: PresentDevice, file: ArchitectureFile, narrow: ArchitectureFile) -> dict[str, Value]:
    """Return the rates of the vectors that the compiler of a runtime emits.

    LLVM prefers vectors of 256 bits on Intel's processors with AVX-512, whose instructions it uses on them: three
    pipes for bitwise operations of three words, two for rotations. For a target without AVX-512, it emits code for
    AVX2.

    Args:
        present: the device.
        file: the architecture of its processor.
        narrow: an architecture with vectors of 256 bits; instructions per cycle are those of *file*.
    """
    own, other = file.leaves(), narrow.leaves()
    lanes = other["wave_size"].value
    if "Portable Computing Language" not in present.platform:
        return {}
    has_masks = _WIDE.search(present.version) is not None
    if own["wave_size"].value <= lanes or (has_masks and file.vendor == "AMD"):
        return {}
    origin = Provenance(kind="derived", source=present.version, note="the compiler emits vectors of 256 bits")
    copied = ("wave_size", "caches.L1.bandwidth", *(path for path in other if path.startswith("rates.")))
    values = {path: Value(other[path].value, origin) for path in copied}
    issued = own["rates.instruction"].value * lanes / own["wave_size"].value
    values["rates.instruction"] = Value(issued, origin)
    version = re.match(r"\d+", present.driver)
    if version is None or int(version[0]) >= _SCALAR_POCL:
        values["rates.shuffle"] = Value(_EMULATED_SHUFFLE, origin.model_copy(update={"note": "emulated in memory"}))
    elif has_masks:
        note = "PoCL before 5 vectorises simple conditions and code between barriers"
        values["masked_lanes"] = Value(float(lanes), origin.model_copy(update={"note": note}))
    if has_masks:
        values |= {"rates.ternary": Value(24.0, origin), "rates.shift": Value(16.0, origin)}
        values |= {path: Value(own[path].value, origin) for path in ("latencies.ternary", "latencies.shift")}
    return values
