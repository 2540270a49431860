"""Memory of the process: its limit (``ulimit -v``), and how often garbage is collected."""

import gc
import resource

LEAST_BYTES = 2**30
"""With less, libraries crash or hang while they load (observed on two cores up to 550 MB)."""


def limit_bytes() -> float:
    """Return the limit of the address space in bytes; infinite without one."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def limit_remark() -> str:
    """Return a remark about the memory limit for error messages; empty without a limit."""
    limit = limit_bytes()
    return "" if limit == float("inf") else f"; memory is limited to {limit / 2**20:.0f} MiB (ulimit -v)"


def collect_rarely() -> None:
    """Let garbage be collected rarely. It would take a sixth of a command and find nothing: records are kept."""
    gc.set_threshold(1_000_000, 20, 20)
