"""Values of a CPU from its type of core, for the entries that describe any CPU. Pure.

Documents and measurements of many machines give the latency of each level in seconds, and its bandwidth for each core
(:class:`gpureport.spec.models.CoreType`). OpenCL reports only the number of processors and a clock.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from gpureport.spec import reported
from gpureport.spec.core_types import LINE_BYTES, Topology, socket_bandwidth
from gpureport.spec.files import ArchitectureFile
from gpureport.spec.host import HostProcessor, host_values
from gpureport.spec.models import CORE_TYPE, CoreType, PresentDevice, StreamType
from gpureport.spec.resolve import Value, queried
from gpureport.spec.values import Provenance

L1_CYCLES = {"AuthenticAMD": 4.0, "ARM": 4.0}
"""Cycles of a load from the L1, if not five."""
_ONE_CLOCK = frozenset({"AuthenticAMD"})
"""Vendors whose cores all reach the highest clock within the power budget: AMD's Precision Boost 2, since Zen+
(https://en.wikichip.org/wiki/amd/frequency_behavior). Intel's limits fall with the number of busy cores."""
_SCALAR_POCL = 5
"""PoCL from this version on runs work-items with conditions or barriers one by one (machine code of our kernels)."""
_EMULATED = {"shuffle": 0.2, "ballot": 0.07, "barrier": 0.2}
"""Lane operations per cycle of exchanges that PoCL emulates in memory, one work-item after another. On 16 cores with
PoCL 5 (reports/pocl-xeon-16-cores): shuffles from ``instructions/sub_group_rate``, ballots and barriers fitted to
transposes. Other virtual machines probably shared these cores: ballots of two cores of a Zen 4, not used here, take 0.7
times as long."""
LAUNCH_TRANSFERS, LAUNCH_EXPONENT = 27.5, 1.4
"""Launch cost of PoCL with one thread / latency of the L3, and its growth with the number of threads. These wait for
the same locks, whose lines move from core to core through the L3. Fitted to 1.8 us with 2 threads and 43 us with 16
(reports/pocl-xeon-2-cores, and a first quick run on the machine of reports/pocl-xeon-16-cores)."""
STREAMED = 2.13
"""Size at which half of the accesses of streams of all threads hit the L3 / part that a chain of loads of one thread
finds. Fitted to the cliffs of reads on two cores (reports/pocl-xeon-2-cores); on 16 cores it is the same."""
MOST_STREAMED = 1.5
"""The largest such size / the listed L3, as on the cloud machines (``predict.cpu_memory.STREAMED_L3``)."""
HITS_EXPONENT = 3.0
"""Power of the size with which the hits of streams fall (``predict.cpu_memory.SHARED_EXPONENT``)."""
_AROUND = (0.6, 1.0, 1.7)
"""Onset, midpoint and end of the cliff beyond an L3 that others share, relative to its usable part (assumed)."""
_WIDE = re.compile(r"avx512|icelake|cannonlake|cascadelake|cooperlake|tigerlake|rocketlake|rapids|znver[4-9]")
_FULL_WIDTH = re.compile(r"znver[4-9]")
"""Targets with AVX-512 for which LLVM emits vectors of 512 bits (it prefers 256 bits for Intel's)."""


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


def core_values(host: HostCore, clock_hz: float, processors: int) -> dict[str, Value]:
    """Return the values that replace those of the generic entry; *clock_hz* is the listed clock.

    The latency of the L1 gives the highest clock. With all cores busy, it is between the listed one and the highest:
    their geometric mean (assumed), or the highest if that of the vendor does not depend on the number of busy cores.

    OpenCL's buffers have small pages. A virtual machine's TLB misses read entries of two page tables, which the L3
    serves: about one more access of the L3 (assumed; chains of loads on both machines of reports/pocl-xeon-* agree).
    """
    core, place = host.core, host.topology
    source = f"{CORE_TYPE} {host.architecture}"
    highest = L1_CYCLES.get(host.vendor, 5.0) / core.l1_latency_s
    clock = max(clock_hz, highest if host.vendor in _ONE_CLOCK else sqrt(clock_hz * highest))
    threads = float(place.cores) * float(place.core_share) / max(1, processors)
    share, streamed = host.usable_l3, min(MOST_STREAMED, STREAMED * host.usable_l3) * _middle_of_cliff(host)

    def derived(value: object, note: str) -> Value:
        return Value(value, Provenance(kind="derived", source=source, note=note))

    launch_s = LAUNCH_TRANSFERS * core.l3_latency_s * processors**LAUNCH_EXPONENT
    walk_s = core.l3_latency_s if host.hypervisor else 0.0

    def rate(bytes_per_s: float) -> Value:
        return derived(bytes_per_s * threads / clock, f"{bytes_per_s / 1e9:.3g} GB/s per core")

    def latency(seconds: float) -> Value:
        return derived(seconds * clock, f"{seconds * 1e9:.3g} ns")

    return {
        "clock": derived(clock, f"of the listed {clock_hz / 1e9:.3g} GHz and the highest, {highest / 1e9:.3g} GHz"),
        "memory.bandwidth": derived(_memory_bytes_per_s(host), f"of {place.cores:.0f} cores of a socket, as reached"),
        "memory.efficiency": derived(1.0, "the bandwidth is that of streams"),
        "memory.latency": latency(core.memory_latency_s + core.tlb_latency_s + walk_s),
        "launch.single": derived(launch_s, f"to wake {processors} threads"),
        "launch.batched": derived(launch_s, f"to wake {processors} threads"),
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


def cpu_values(host: HostProcessor, present: PresentDevice, core: HostCore | None = None) -> dict[str, Value]:
    """Return a CPU's values: sizes from the operating system, values that OpenCL reports, those of its type of core."""
    clock = reported.clock_hz(present)
    values = with_core(host_values(host, reported.compute_units(present), clock) | reported.limits(present), core)
    if memory := reported.memory_bytes(present):
        values["memory.size"] = queried(float(memory), "CL_DEVICE_GLOBAL_MEM_SIZE")
    return values


def _middle_of_cliff(host: HostCore) -> float:
    """Return the size at the middle of the cliff beyond the L3 / the size at which half of the accesses hit.

    Memory takes r times as long as the L3. In the middle, on a log scale, the time is sqrt(r) times that of the L3. The
    misses are then 1 / (1 + sqrt(r)) of the accesses, fewer than half: misses / hits = (size / half)^p = 1 / sqrt(r).
    """
    place = host.topology
    cached = float(host.core.l3_read_bytes_per_s * place.cores * place.core_share)
    slower = max(1.0, cached / _memory_bytes_per_s(host))
    return float(slower ** (-1 / (2 * HITS_EXPONENT)))


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

    LLVM prefers vectors of 256 bits for Intel's targets with AVX-512, whose instructions it uses on them: three pipes
    for bitwise operations of three words, two for rotations. PoCL of a distribution compiles for such a target on AMD's
    processors, too.
    For a target without AVX-512, it emits code for AVX2. Code between barriers needs no masks.

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
    version = re.match(r"\d+", present.driver)
    scalar = version is None or int(version[0]) >= _SCALAR_POCL
    origin = Provenance(kind="derived", source=present.version, note="the compiler emits vectors of 256 bits")
    loops = origin.model_copy(update={"note": "PoCL before 5 vectorises code between barriers"})
    if scalar:
        emulated = origin.model_copy(update={"note": "emulated in memory"})
        between = {f"rates.{name}": Value(rate, emulated) for name, rate in _EMULATED.items()}
    else:
        between = {"barrier_lanes": Value(float(min(lanes, own["wave_size"].value)), loops)}
    own_lanes = own["wave_size"].value
    if own_lanes <= lanes or _FULL_WIDTH.search(present.version):
        return between
    issued = own["rates.instruction"].value * lanes / own_lanes
    values = {"wave_size": Value(lanes, origin), "rates.instruction": Value(issued, origin), **between}
    if has_masks and not scalar:
        note = "PoCL before 5 vectorises simple conditions"
        values["masked_lanes"] = Value(float(lanes), origin.model_copy(update={"note": note}))
    if has_masks and file.vendor == "AMD" and own["rates.fp32"].value < 2 * own_lanes:
        return values  # pipes of 256 bits: two such instructions take as long as one of 512
    composed = ("latencies.ternary", "latencies.shift")
    copied = ("caches.L1.bandwidth", *composed, *(path for path in other if path.startswith("rates.")))
    values = {path: Value(other[path].value, origin) for path in copied} | values
    if has_masks:
        values |= {"rates.ternary": Value(24.0, origin), "rates.shift": Value(16.0, origin)}
        values |= {path: Value(own[path].value, origin) for path in composed}
    return values
