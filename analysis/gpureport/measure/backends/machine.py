"""The machine: its processor and memory, from Linux; its description, without names of machine, users or folders."""

import os
import platform
import time
from collections.abc import Collection
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from gpureport.measure.backends.common import PowerSensor
from gpureport.measure.backends.pci import first_scaled, read_or_empty, whole
from gpureport.spec.host import read_host
from gpureport.system import limit_bytes, ticks_per_s, usable_cores

PROC, CORES, POWERCAP = Path("/proc"), Path("/sys/devices/system/cpu"), Path("/sys/class/powercap")
CGROUP = Path("/sys/fs/cgroup")
"""The container's folder."""

_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq: proc_stat(5); guests are counted in user and nice
_STEAL = 7
_MOST_CORES = 4  # of which the frequency is read: each reading interrupts that core
_RUNTIME_BYTES = 2**28
"""Memory for compiling and running kernels, besides buffers: PoCL 3.0 crashes without it."""
_PROTECTED = "RAPL has energy counters, but only the administrator of this machine may read them."
_PACKAGES = (
    *("gpureport", "numpy", "scipy", "pyopencl", "pocl-binary-distribution", "nvidia-ml-py"),
    *("pydantic", "weasyprint"),
)


class Processor:
    """Reads the state of the processor; totals count from its first reading."""

    def __init__(self, proc: Path = PROC, cores: Path = CORES) -> None:
        self._proc, self._folder = proc, cores
        self._usable = usable_cores()
        self._first: dict[str, float] = {}

    def __call__(self) -> dict[str, object]:
        """Return the fields of a ``Reading`` for the processor, without those that are not known."""
        import psutil

        ticks, spent = core_ticks(read_or_empty(self._proc / "stat"), self._usable), os.times()
        own_s = time.process_time() + spent.children_user + spent.children_system
        totals = {"cpu_own_total_s": own_s / len(self._usable)}
        if ticks is not None:
            per_s = ticks_per_s() * len(self._usable)
            totals |= {"cpu_busy_total_s": ticks[0] / per_s, "cpu_steal_total_s": ticks[1] / per_s}
        self._first = totals | self._first
        # Counters may decrease when a virtual machine migrates.
        state: dict[str, object] = {name: max(0, total - self._first[name]) for name, total in totals.items()}
        with suppress(OSError):  # not known
            load = psutil.getloadavg()[0]
            if load or hasattr(os, "getloadavg"):  # psutil computes it on Windows, and is 0 at first
                state["load_average"] = load
        return state

    def clock(self) -> dict[str, object]:
        """Return the median frequency of some cores, if the system reports it."""
        cores = (self._folder / f"cpu{core}" / "cpufreq" for core in sorted(self._usable)[:_MOST_CORES])
        found = [hz for core in cores if (hz := first_scaled(core, 1e3, "scaling_cur_freq"))]
        return {"clock_hz": median(found)} if found else {}


def core_ticks(stat: str, usable: Collection[int]) -> tuple[int, int] | None:
    """Return the busy ticks and the stolen ticks of *usable* cores, from the text of ``/proc/stat``.

    ``None`` if a core or a field is missing, or all are zero, as in sandboxes that do not count.
    """
    names = {f"cpu{core}" for core in usable}
    rows = [fields[1 : _STEAL + 2] for line in stat.splitlines() if (fields := line.split()) and fields[0] in names]
    ticks = [[count for field in row if (count := whole(field)) is not None] for row in rows]
    if len(ticks) != len(names) or any(len(core) <= _STEAL for core in ticks) or not any(map(any, ticks)):
        return None
    return sum(core[field] for core in ticks for field in _BUSY), sum(core[_STEAL] for core in ticks)


def rapl(folder: Path = POWERCAP) -> PowerSensor | str | None:
    """Return the sensor of all processor packages of the machine; ``None`` without one, or why it cannot be read.

    The counters start again from zero after an hour or so.
    """
    packages = [path for path in sorted(folder.glob("*rapl:[0-9]*")) if path.name.count(":") == 1]

    def limit_w() -> float | None:
        found = [first_scaled(package, 1e-6, "constraint_0_power_limit_uw") for package in packages]
        return sum(filter(None, found)) if all(found) else None

    def read() -> dict[str, object]:
        found = [whole(read_or_empty(package / "energy_uj")) for package in packages]
        return {} if None in found else {"energy_j": sum(filter(None, found)) * 1e-6}

    if not packages:
        return None
    return PowerSensor("RAPL", "processor packages, without memory", limit_w, read) if read() else _PROTECTED


def free_bytes() -> float:
    """Return the main memory that this process may still use, in bytes; not positive if there is none."""
    import psutil

    process = limit_bytes() - psutil.Process().memory_info().vms - _RUNTIME_BYTES
    return float(min(psutil.virtual_memory().available, cgroup_free_bytes(CGROUP), process))


def cgroup_limit_bytes(folder: Path) -> float:
    """Return the memory limit of a container (cgroup v2, then v1), in bytes; infinite if there is none."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" means no limit
            return float((folder / name).read_text(encoding="ascii"))
    return float("inf")


def cgroup_free_bytes(folder: Path) -> float:
    """Return the limit less the used memory; file pages that can be dropped count as free."""
    limit = cgroup_limit_bytes(folder)
    try:
        used = float((folder / "memory.current").read_text(encoding="ascii"))
        stat = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
        return limit - used + float(stat.get("inactive_file", 0))
    except (OSError, ValueError):
        return limit


def machine_facts() -> dict[str, Any]:
    """Return the fields of the report's ``Machine`` that do not depend on the device."""
    import psutil

    processor, versions = read_host().facts, dict[str, str]()
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    system = ""
    with suppress(OSError, KeyError):
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    # Only the version: its suffix names who built the kernel, and for which machines.
    kernel = f"{platform.system()} {platform.release().partition('-')[0]}"
    return {
        "system": ", ".join(part for part in (system, kernel, platform.machine()) if part),
        "cpu": processor.name or "not known",
        "cores": len(usable_cores()),
        "memory_bytes": float(min(psutil.virtual_memory().total, cgroup_limit_bytes(CGROUP))),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": versions,
        "processor": processor,
    }
