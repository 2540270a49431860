"""Types of CPU core: which one a processor has, how its cores share caches and memory, and the values that follow.

Documents and measurements of many machines give the latency of each level in seconds, and its bandwidth for each core
(:class:`gpureport.spec.models.CoreType`). OpenCL and the operating system only report the number of processors, a
clock, and sizes. Hypervisors may hide which processors share a core, list default sizes of caches, or make each core a
socket. Known properties of the core type then replace what is listed. Pure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gpureport.spec import reported
from gpureport.spec.compilers import compiler_value, launch_values
from gpureport.spec.drivers import CpuCompiler
from gpureport.spec.files import ArchitectureFile, ProcessorId
from gpureport.spec.host import HUGE_PAGES, HostProcessor, ProcessorFacts
from gpureport.spec.models import CoreType, Device, PresentDevice, StreamType, core_source
from gpureport.spec.uncertainty import constant, sourced
from gpureport.spec.values import Provenance, Value, assumed, queried
from gpureport.units import format_bandwidth, format_frequency, format_percent, format_time

if TYPE_CHECKING:
    from gpureport.spec.database import Database

Quantity = float | npt.NDArray[np.float64]
Listing = Literal[
    "plain", "hidden threads", "default caches", "hidden cores", "whole threads", "model of the hypervisor"
]
"""How far the listed topology is that of the hardware.

- ``plain``: as listed.
- ``hidden threads``: a virtual machine without hardware threads; its processors may be threads that share cores.
- ``default caches``: caches have the hypervisor's default sizes.
- ``hidden cores``: each processor is listed as a socket, but two share a core.
- ``whole threads``: processors are listed as threads, but each has a core of its own.
- ``model of the hypervisor``: the name of the processor is that of a model of the hypervisor, not of a product.
"""
_GENERIC = re.compile(r"^(AMD EPYC(-\w+)? Processor|Intel Core Processor|Intel Xeon Processor)")
"""Names of the processor models of QEMU."""
_MOST_SOCKETS = 8
LINE_BYTES = 64
SATURATION_EXPONENT = sourced("spec.cores.SATURATION_EXPONENT", float)
"""p-norm that joins the limits of cores and of the memory of their domain."""
STREAMED_L3 = sourced("spec.cores.STREAMED_L3", float)
"""Half of the accesses of streams hit the L3 at most at this multiple of its listed size: replacement is not LRU."""
STREAMED_SHARE = sourced("spec.cores.STREAMED_SHARE", float)
"""The size at which half of the accesses of streams of all threads hit the L3 / the part that one thread can use."""
_TOLERANCE = constant(1.2)
MOST_OF_L3 = constant(1.3)
"""Largest usable part of the listed L3 size; above 1 where the L3 keeps lines that the L2 evicts (victim cache)."""
SHARES = sourced("spec.cores.SHARES", dict[Listing, dict[str, float]])
"""What a machine gets of its hardware (see :class:`Topology`), by the way in which it is listed."""
_AROUND = constant((0.6, 1.0, 1.7))
"""Onset, midpoint and end of the cliff beyond an L3 that others share, relative to what programs find (assumed)."""


@dataclass(frozen=True)
class Topology:
    """Logical processors, physical cores, sockets and instances of the L3 of a machine, or of several as arrays.

    The machine has a *part* of the cores of these sockets, at most 1. *l3_bytes* is the size of one instance.
    """

    listing: Listing
    processors: Quantity
    cores: Quantity
    sockets: Quantity
    part: Quantity
    l3_bytes: Quantity
    l3_instances: Quantity
    core_share: Quantity = 1.0
    """Share of the rate of these cores."""
    l3_share: Quantity = 1.0
    """Share of the L3 that one thread can usually use."""
    memory_share: Quantity = 1.0
    """Share of the memory bandwidth that is usual for this part of a socket."""


def topology(facts: ProcessorFacts, core: CoreType) -> Topology:
    """Return the topology of a machine with cores of a known type."""
    listing = how_listed(facts, core)
    per_core = {"whole threads": 1, "hidden cores": 2}.get(listing, facts.threads_per_core)
    cores = max(1.0, facts.processors / per_core)
    sockets = facts.sockets
    if sockets > _MOST_SOCKETS or (facts.hypervisor and sockets == facts.processors):
        sockets = ceil(cores / core.cores_per_socket)
    listed = None if has_default_caches(facts, core) else facts.l3
    instances = listed.instances if listed and listed.instances else None
    if instances is None:
        # Intel's cores of a socket share one L3; AMD's complexes have one each.
        instances = max(1, round(cores / core.cores_per_l3)) if core.cores_per_l3 < core.cores_per_socket else sockets
    return Topology(
        listing=listing,
        processors=float(facts.processors),
        cores=cores,
        sockets=float(sockets),
        part=min(1.0, cores / (sockets * core.cores_per_socket)),
        l3_bytes=listed.instance_bytes if listed else core.l3_bytes,
        l3_instances=float(instances),
        **SHARES[listing],
    )


def how_listed(facts: ProcessorFacts, core: CoreType) -> Listing:
    """Return how far the listed topology is that of the hardware."""
    if not facts.hypervisor or facts.generic == "aarch64":
        return "plain"
    generic = _GENERIC.match(facts.name) is not None
    if facts.threads_per_core > 1:
        return "whole threads" if generic and facts.hypervisor == "Microsoft" else "plain"
    if generic:
        return "model of the hypervisor"
    if facts.sockets == facts.processors > 1:
        return "hidden cores"
    return "default caches" if has_default_caches(facts, core) else "hidden threads"


def has_default_caches(facts: ProcessorFacts, core: CoreType) -> bool:
    """Whether a virtual machine lists private caches that cores of this type do not have."""
    pairs = ((facts.l1, core.l1_bytes), (facts.l2, core.l2_bytes))
    ratios = [listed.instance_bytes / size for listed, size in pairs if listed]
    return bool(facts.hypervisor) and not all(1 / _TOLERANCE < ratio < _TOLERANCE for ratio in ratios)


def _of_vendor(
    facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile]
) -> Iterator[tuple[str, ProcessorId]]:
    for name, file in architectures.items():
        yield from ((name, each) for each in file.identified_by if each.vendor == facts.vendor)


def core_type_name(facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile]) -> str | None:
    """Return the name of the architecture whose file identifies this processor, if any."""
    return next((name for name, each in _of_vendor(facts, architectures) if _is(each, facts)), None)


def generic_name(facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile]) -> str:
    """Return the name of the architecture for processors of an unknown type: of the vendor or the instruction set."""
    for name, each in _of_vendor(facts, architectures):
        if each.family is None and each.name is None:
            return name
    if facts.generic == "aarch64":
        return "aarch64"
    return "x86_64_avx512" if "avx512f" in facts.flags else "x86_64"


class HostCore(NamedTuple):
    """The type of core of a machine; *architecture* is the name of its file. A virtual machine has a *hypervisor*."""

    architecture: str
    core: CoreType
    streams: StreamType
    topology: Topology
    hypervisor: bool

    @property
    def usable_l3(self) -> float:
        """Part of the listed L3 that one thread can use."""
        return float(usable_l3(self.core, self.topology))


def core_of_machine(facts: ProcessorFacts, database: "Database") -> HostCore:
    """Return the type of core of a machine's processor.

    A processor of an unknown type gets that of the generic architecture, with the private caches that it lists.
    """
    architectures = database.architectures()
    known = core_type_name(facts, architectures)
    name = known or generic_name(facts, architectures)
    core = database.core_type(name)
    if not known:
        listed = {"l1_bytes": facts.l1, "l2_bytes": facts.l2}
        core = core.model_copy(update={field: cache.instance_bytes for field, cache in listed.items() if cache})
    return HostCore(name, core, database.stream_type(name), topology(facts, core), bool(facts.hypervisor))


def usable_l3(core: CoreType, place: Topology) -> npt.NDArray[np.float64]:
    """Return the usable part of one instance of the listed L3, for one thread.

    Other programs on the socket use the rest, on hosts that cannot be seen. A large part of the socket leaves little
    room for them.
    """
    return np.asarray(np.minimum(MOST_OF_L3, core.l3_share * place.l3_share * place.part**core.l3_share_exponent))


def streamed_l3(core: CoreType, place: Topology) -> npt.NDArray[np.float64]:
    """Return the part of the listed L3 at whose size half of the accesses of streams of all threads hit it."""
    return np.asarray(np.minimum(STREAMED_L3, STREAMED_SHARE * usable_l3(core, place)))


def socket_limit(core: CoreType, place: Topology) -> Quantity:
    """Return the bytes/s between the cores of a machine and memory that the controllers of its sockets allow."""
    return core.socket_bandwidth_bytes_per_s * place.sockets * place.memory_share * place.part**core.socket_exponent


def saturated_s(cores_s: Quantity, controllers_s: Quantity) -> npt.NDArray[np.float64]:
    """Return the time of traffic with memory, from those of cores and of controllers without each other's limit."""
    return norm(cores_s, controllers_s, SATURATION_EXPONENT)


def norm(one: Quantity, other: Quantity, exponent: float) -> npt.NDArray[np.float64]:
    """Return the p-norm of two times."""
    return np.asarray(np.asarray(one, dtype=float) ** exponent + np.asarray(other) ** exponent) ** (1 / exponent)


def _is(one: ProcessorId, facts: ProcessorFacts) -> bool:
    if facts.part:
        return one.part == facts.part
    if one.name is not None:
        return one.name == facts.name
    ranges = [[int(end) for end in models.split("-")] for models in one.models]
    known = facts.model is not None and any(each[0] <= facts.model <= each[-1] for each in ranges)
    return known and one.family == facts.family


def core_values(host: HostCore, clock_hz: float, processors: int, compiler: CpuCompiler = "pocl") -> dict[str, Value]:
    """Return the values that replace those of the generic entry; *clock_hz* is the listed clock.

    The latency of the L1 gives the highest clock. With all cores busy, it is between the listed one and the highest:
    their geometric mean (assumed), or the highest if all cores together reach it.

    OpenCL's buffers have small pages. A virtual machine's TLB misses read entries of two page tables, which the L3
    serves: about one more access of the L3 (assumed; chains of loads on both machines of reports/pocl-xeon-* agree).
    """
    core, place = host.core, host.topology
    highest = core.load_to_use_cycles / core.l1_latency_s
    clock = max(clock_hz, highest if core.all_core_boost else sqrt(clock_hz * highest))
    threads = float(place.cores) * float(place.core_share) / max(1, processors)
    share, streamed = host.usable_l3, float(streamed_l3(core, place))
    origin = f"of the listed {format_frequency(clock_hz)} and the highest, {format_frequency(highest)}"

    def derived(value: object, note: str) -> Value:
        return Value(value, Provenance(kind="derived", source=core_source(host.architecture), note=note))

    walk_s = core.l3_latency_s if host.hypervisor else 0.0

    def rate(bytes_per_s: float) -> Value:
        return derived(bytes_per_s * threads / clock, f"{format_bandwidth(bytes_per_s)} per core")

    def latency(seconds: float) -> Value:
        return derived(seconds * clock, format_time(seconds))

    return {
        "clock": derived(clock, "the highest, which all cores reach together" if clock == highest else origin),
        "memory.bandwidth": derived(_memory_bytes_per_s(host), f"of {place.cores:.0f} cores of a socket, as reached"),
        "memory.efficiency": derived(1.0, "the bandwidth is that of streams"),
        "memory.latency": latency(core.memory_latency_s + core.tlb_latency_s + walk_s),
        **launch_values(compiler, core, host.architecture, processors),
        "caches.L1.latency": latency(core.l1_latency_s),
        "caches.L2.latency": latency(core.l2_latency_s),
        "caches.L3.latency": latency(core.l3_latency_s + core.tlb_latency_s + walk_s),
        **({"tlb.L2.miss": latency(walk_s)} if walk_s else {}),
        "caches.L2.bandwidth": rate(core.l2_read_bytes_per_s),
        "caches.L3.bandwidth": rate(core.l3_read_bytes_per_s),
        "caches.L3.latency_transition": derived(
            tuple(share * factor for factor in _AROUND), f"one thread can use {format_percent(share)} of it"
        ),
        "caches.L3.bandwidth_transition": derived(
            tuple(streamed * factor for factor in _AROUND), f"streams find {format_percent(streamed)} of it"
        ),
    }


def listed_clock_hz(device: Device) -> float:
    """Return the clock that a machine lists, from that of its resolved device (:func:`core_values`)."""
    architecture, origin = device.architecture, device.provenance.get("clock")
    core = architecture.core
    if core is None or core.all_core_boost or origin is None or origin.source != core_source(architecture.id):
        return device.clock_hz
    return min(device.clock_hz, device.clock_hz**2 * core.l1_latency_s / core.load_to_use_cycles)


def cpu_values(host: HostProcessor, core: HostCore | None, present: PresentDevice | None = None) -> dict[str, Value]:
    """Return a CPU's values: of the *host*, on top those that OpenCL reports, and on top those of its type of core."""
    compiler: CpuCompiler = "pocl"
    values = host_values(host, reported.compute_units(present) if present else None)
    if present:
        values |= reported.answers(present, *reported.SIZES, *reported.LIMITS)
        compiler = present.implementation.cpu_compiler or compiler
    if core:
        values |= core_values(core, values["clock"].value, values["compute_units"].value, compiler)
    return values | (compiler_value(present) if present else {})


def _memory_bytes_per_s(host: HostCore) -> float:
    """Return the traffic of all cores with memory: reads, writes, and lines that writes fetch.

    One core: the geometric mean of what ordinary programs reach and what vectorised streams reach.
    """
    core, place = host.core, host.topology
    ordinary = (core.memory_read_bytes_per_s + 2 * core.memory_write_bytes_per_s) / 2
    one = sqrt(ordinary * LINE_BYTES / host.streams.memory_line_s)
    return 1 / float(saturated_s(1 / (one * place.cores * place.core_share), 1 / socket_limit(core, place)))


def host_values(host: HostProcessor, compute_units: int | None = None) -> dict[str, Value]:
    """Return the values that the *host*'s source lists, of a CPU with the *compute_units* that OpenCL reports."""
    facts = host.facts
    cores = compute_units or facts.processors
    source = "CL_DEVICE_MAX_COMPUTE_UNITS" if compute_units else f"{host.source}, processors"
    clock = assumed(3e9, f"{host.source}: not listed; typical processor")
    if facts.clock_hz:
        clock = queried(facts.clock_hz, f"{host.source}, processor frequency")
    bandwidth = min(cores * 25e9, 200e9)
    values = {
        "compute_units": queried(cores, source),
        "clock": clock,
        "memory.size": assumed(facts.processors * 2.0**32, "not listed; 4 GiB per processor"),
        "memory.bandwidth": assumed(bandwidth, f"25 GB/s per core for {cores} cores, at most 200 GB/s"),
        "launch.groups_per_cycle": assumed(0.025 * cores, f"about 40 cycles per group on each of {cores} cores"),
    }
    if host.memory_bytes:
        values["memory.size"] = queried(float(host.memory_bytes), "operating system, physical memory")
    if host.huge_page_bytes:
        source = f"{HUGE_PAGES}: always"
        values |= {f"tlb.{level}.page": queried(host.huge_page_bytes, source) for level in ("L1", "L2")}
    if not (facts.l1 or facts.l2 or facts.l3):
        note = f"{host.source}: not listed; 2 MiB per core"
        values["caches.L3.capacity"] = assumed(float(cores * (2 << 20)), note)
    return values | _cache_values(host, cores)


def _cache_values(host: HostProcessor, cores: int) -> dict[str, Value]:
    """Return capacities: the part of one core for L1 and L2, the sum of all instances for L3."""
    facts, values = host.facts, dict[str, Value]()
    physical = max(1, facts.processors // facts.threads_per_core)
    for level, cache, usual in ((1, facts.l1, physical), (2, facts.l2, physical), (3, facts.l3, facts.sockets)):
        if cache is None:
            continue
        path, source, size = f"caches.L{level}", f"{host.source}, cache of level {level}", round(cache.instance_bytes)
        shared_by = cache.shared_by or max(1, facts.processors / (cache.instances or usual))
        if level <= 2:
            sharers = min(int(shared_by), max(cores, 1))
            note = f"{size >> 10} KiB for {sharers} hardware threads" if sharers > 1 else ""
            values[f"{path}.capacity"] = queried(size / sharers, source, note)
        else:
            instances = max(1, round(cores / shared_by))
            note = f"{instances} of {size >> 10} KiB" if instances > 1 else ""
            values[f"{path}.capacity"] = queried(float(size * instances), source, note)
            values[f"{path}.partitions"] = queried(instances, source)
    return values
