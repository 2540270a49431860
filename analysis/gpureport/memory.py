"""How much memory the system lets a process have: ``ulimit -v``."""

import resource

LEAST_BYTES = 2**30
"""With less, libraries crash or never end while they are loaded (tried on two cores: up to 550 MB)."""


def limit_bytes() -> float:
    """Return the limit of the process's address space; infinite if there is none."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def limit_remark() -> str:
    """Say how far memory is limited, to follow a failure that this may explain; nothing if it is not limited."""
    limit = limit_bytes()
    return (
        "" if limit == float("inf") else f"; the memory of a process is limited to {limit / 2**20:.0f} MiB (ulimit -v)"
    )
