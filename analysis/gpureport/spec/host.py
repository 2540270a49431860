"""The host processor as the operating system reports it."""

import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpureport.spec.lscpu import ListedCache, ProcessorFacts
from gpureport.spec.resolve import Value, assumed, queried

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CPUINFO = Path("/proc/cpuinfo")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_NAMED_BY = ("model name", "Model", "Hardware")
"""Keys of the name in ``cpuinfo``: of the processor, or on Arm of the board or chip."""
_ARM = "0x41"
"""Implementer of cores that Arm designed."""
_INTEL = "GenuineIntel"
_KEPT_FLAGS = frozenset({"avx512f"})
"""Flags that distinguish types of core."""
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class HostCache:
    """One data or unified cache of the first processor."""

    level: int
    size_bytes: int
    shared_by: int
    """Logical processors that share one instance."""
    ways: int | None = None
    """Lines of a set; ``None``: not known."""


@dataclass(frozen=True)
class HostProcessor:
    """The host processor and its memory; unknown values are ``None`` or empty."""

    name: str
    processors: int
    """Logical processors available to this program."""
    memory_bytes: int
    clock_hz: float | None = None
    caches: tuple[HostCache, ...] = ()
    machine: str = "x86_64"
    """Instruction set as the operating system names it."""
    facts: ProcessorFacts | None = None
    """What identifies its type of core; ``None``: the generic one."""
    huge_page_bytes: int | None = None
    """Size of the pages of large buffers if the system makes all of them huge; ``None``: it does not, or not known."""

    @property
    def family(self) -> Literal["aarch64", "x86_64"]:
        """The generic architecture and entry for this instruction set."""
        return "aarch64" if self.machine.lower() in ("aarch64", "arm64") else "x86_64"

    @property
    def without(self) -> tuple[str, ...]:
        """The L3 if the operating system lists caches, but no L3: a level that the generic entries have."""
        return ("L3",) if self.caches and all(cache.level < 3 for cache in self.caches) else ()


def read_host(caches: Path = _CACHES, cpuinfo: Path = _CPUINFO, huge_pages: Path = _HUGE_PAGES) -> HostProcessor:
    """Query the operating system; the arguments are the paths on Linux."""
    import psutil

    found, fields, processors = tuple(_read_caches(caches)), _fields(cpuinfo), _usable_processors()
    named = (name for named_by in _NAMED_BY for key, name in fields if key == named_by)
    return HostProcessor(
        name=next(named, "") or platform.processor() or platform.machine(),
        processors=processors,
        memory_bytes=psutil.virtual_memory().total,
        clock_hz=_clock_hz(),
        caches=found,
        machine=platform.machine(),
        facts=_facts(fields, processors, found),
        huge_page_bytes=_huge_page_bytes(huge_pages),
    )


def host_values(
    host: HostProcessor, compute_units: int | None = None, clock_hz: float | None = None
) -> dict[str, Value]:
    """Return the values that the operating system reports, as the topmost layer of a CPU's values.

    Number of compute units and clock are those that OpenCL reports, if there is a CPU device.
    """
    cores = compute_units or host.processors
    source = "CL_DEVICE_MAX_COMPUTE_UNITS" if compute_units else "operating system, usable processors"
    clock = assumed(3e9, "not reported by the operating system; typical processor")
    if listed_hz := clock_hz or host.clock_hz:
        query = "CL_DEVICE_MAX_CLOCK_FREQUENCY" if clock_hz else "operating system, processor frequency"
        clock = queried(listed_hz, query)
    bandwidth = min(cores * 25e9, 200e9)
    values = {
        "compute_units": queried(cores, source),
        "clock": clock,
        "memory.size": queried(float(host.memory_bytes), "operating system, physical memory"),
        "memory.bandwidth": assumed(bandwidth, f"25 GB/s per core for {cores} cores, at most 200 GB/s"),
        "launch.groups_per_cycle": assumed(0.025 * cores, f"about 40 cycles per group on each of {cores} cores"),
    }
    if host.huge_page_bytes:
        source = f"{_HUGE_PAGES}: always"
        values |= {f"tlb.{level}.page": queried(host.huge_page_bytes, source) for level in ("L1", "L2")}
    return values | _cache_values(host, cores)


def _cache_values(host: HostProcessor, cores: int) -> dict[str, Value]:
    """Return capacities: the part of one core for L1 and L2, the sum of all instances for L3.

    Ways are left out where a hash of the address selects the set: in an L3, and in an L2 other than Intel's (CPUID of
    Intel's tells which caches have such a hash; an L2 of Zen 4 keeps three times the lines that bits would allow).
    """
    values: dict[str, Value] = {}
    for cache in host.caches:
        path = f"caches.L{cache.level}"
        source = f"/sys/devices/system/cpu/cpu0/cache, level {cache.level}"
        if cache.level <= 2:
            sharers = min(cache.shared_by, max(cores, 1))
            note = f"{cache.size_bytes >> 10} KiB for {sharers} hardware threads" if sharers > 1 else ""
            values[f"{path}.capacity"] = queried(cache.size_bytes / sharers, source, note)
            if cache.ways and (cache.level == 1 or (host.facts and host.facts.vendor == _INTEL)):
                values[f"{path}.ways"] = queried(cache.ways, source)
        else:
            instances = max(1, round(cores / cache.shared_by))
            note = f"{instances} of {cache.size_bytes >> 10} KiB" if instances > 1 else ""
            values[f"{path}.capacity"] = queried(float(cache.size_bytes * instances), source, note)
            values[f"{path}.partitions"] = queried(instances, source)
    if not host.caches:
        note = "not reported by the operating system; 2 MiB per core"
        values["caches.L3.capacity"] = assumed(float(cores * (2 << 20)), note)
    return values


def _huge_page_bytes(root: Path) -> int | None:
    """Return the size of huge pages if Linux uses them for all large buffers; ``None`` if programs must ask for them.

    OpenCL runtimes do not ask for them.
    """
    try:
        if "[always]" not in (root / "enabled").read_text():
            return None
        return int((root / "hpage_pmd_size").read_text())
    except (OSError, ValueError):
        return None


def _fields(cpuinfo: Path) -> list[tuple[str, str]]:
    """Return the fields of ``cpuinfo`` in their order; none if it cannot be read."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [(key.strip(), name.strip()) for key, _, name in (line.partition(":") for line in lines) if name.strip()]


def _facts(fields: Sequence[tuple[str, str]], processors: int, caches: Iterable[HostCache]) -> ProcessorFacts | None:
    """Return what identifies the type of core; ``None`` if the processor does not say."""
    first = dict(reversed(fields))
    numbers = {key: int(value) for key, value in first.items() if value.isdecimal()}
    listed = {
        f"l{cache.level}": ListedCache(
            instance_bytes=cache.size_bytes, instances=max(1, round(processors / cache.shared_by))
        )
        for cache in caches
        if cache.level <= 3
    }
    if first.get("CPU implementer") == _ARM and "CPU part" in first:
        part = first["CPU part"].lower()
        return ProcessorFacts(vendor="ARM", instruction_set="aarch64", part=part, processors=processors, **listed)
    if "vendor_id" not in first or "cpu family" not in numbers:
        return None
    flags = frozenset(first.get("flags", "").split())
    siblings, cores = numbers.get("siblings"), numbers.get("cpu cores")
    return ProcessorFacts(
        vendor=first["vendor_id"],
        name=first.get("model name", ""),
        family=numbers["cpu family"],
        model=numbers.get("model"),
        processors=processors,
        threads_per_core=max(1, siblings // cores if siblings and cores else 1),
        sockets=max(1, len({value for key, value in fields if key == "physical id"})),
        hypervisor="unknown" if "hypervisor" in flags else "",
        flags=flags & _KEPT_FLAGS,
        **listed,
    )


def _usable_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _clock_hz() -> float | None:
    """Return the maximum of the listed and the current frequency."""
    import psutil

    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    megahertz = max(frequency.max or 0.0, frequency.current or 0.0) if frequency else 0.0
    return megahertz * 1e6 or None


def _read_caches(root: Path) -> list[HostCache]:
    """Read the data and unified caches under *root*, nearest first; skip unreadable ones."""
    found = []
    for folder in sorted(root.glob("index*")):
        with suppress(OSError, ValueError, KeyError):
            if (folder / "type").read_text().strip() != "Instruction":
                found.append(_read_cache(folder))
    return sorted(found, key=lambda cache: cache.level)


def _read_cache(folder: Path) -> HostCache:
    """Read one ``index*`` folder; raise an OSError, ValueError or KeyError if it is not as Linux documents."""
    text = {name: (folder / name).read_text().strip() for name in ("level", "size", "shared_cpu_list")}
    ways = folder / "ways_of_associativity"
    return HostCache(
        level=int(text["level"]),
        size_bytes=int(text["size"][:-1]) * _SIZES[text["size"][-1]],
        shared_by=_count_list(text["shared_cpu_list"]),
        ways=(int(ways.read_text()) if ways.exists() else 0) or None,
    )


def _count_list(text: str) -> int:
    """Count the processors of a list such as ``0-3,8``."""
    ranges = (part.partition("-") for part in text.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)
