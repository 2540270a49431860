"""Free memory of the machine, within the limits of this process and its container."""

from contextlib import suppress
from pathlib import Path

from gpureport.memory import limit_bytes

CGROUP = Path("/sys/fs/cgroup")
"""The container's folder."""
_RUNTIME_BYTES = 2**28
"""Memory for compiling and running kernels, besides buffers: PoCL 3.0 crashes without it."""


def free_bytes() -> float:
    """Return the main memory that this process may still use, in bytes; not positive if there is none."""
    import psutil

    process = limit_bytes() - psutil.Process().memory_info().vms - _RUNTIME_BYTES
    return float(min(psutil.virtual_memory().available, cgroup_free_bytes(CGROUP), process))


def cgroup_limit_bytes(folder: Path) -> float:
    """Return the memory limit of a container (cgroup v2, then v1), in bytes; infinite if there is none."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" means no limit
            return float((folder / name).read_text())
    return float("inf")


def cgroup_free_bytes(folder: Path) -> float:
    """Return the limit less the used memory; file pages that can be dropped count as free."""
    try:
        used = float((folder / "memory.current").read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return cgroup_limit_bytes(folder) - used + float(stat.get("inactive_file", 0))
    except (OSError, ValueError):
        return cgroup_limit_bytes(folder)
