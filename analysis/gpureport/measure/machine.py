"""The machine that contains the device: its description in a report.

It does not name the machine, its users or its folders.
"""

import platform
from contextlib import suppress
from importlib import metadata
from typing import Any

from gpureport.measure.backends.processor import CGROUP, cgroup_limit_bytes, usable_cores
from gpureport.spec.host import read_host

_PACKAGES = (
    *("gpureport", "numpy", "scipy", "pyopencl", "pocl-binary-distribution", "nvidia-ml-py"),
    *("pydantic", "ruptures", "weasyprint"),
)


def machine_facts() -> dict[str, Any]:
    """Return the fields of the report's ``Machine`` that do not depend on the device."""
    import psutil

    processor = read_host().facts
    return {
        "system": _system(),
        "cpu": processor.name or "not known",
        "cores": len(usable_cores()),
        "memory_bytes": float(min(psutil.virtual_memory().total, cgroup_limit_bytes(CGROUP))),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": _versions(),
        "processor": processor,
    }


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = ""
    # Only the version: its suffix names who built the kernel, and for which machines.
    kernel = f"{platform.system()} {platform.release().partition('-')[0]}"
    return ", ".join(part for part in (name, kernel, platform.machine()) if part)


def _versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions
