"""What NVIDIA's management library says while kernels run."""

import os
import time
from collections.abc import Iterable
from types import ModuleType
from typing import Protocol

from gpureport.measure.backends.nvidia import Opened
from gpureport.observe.disturbance import IDLE, POWER_CAP

_RECENT_S = 1.0
_REASONS = {  # nvml.h, nvmlClocksEventReasons
    0x1: IDLE,
    0x2: "clocks set by the owner",
    0x4: POWER_CAP,
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "clocks set for the display",
}


class Use(Protocol):
    """What NVML says of one process's use of a device."""

    pid: int
    timeStamp: int  # noqa: N815 - NVML's name
    smUtil: int  # noqa: N815


class Nvml:
    """Reads the state of one device."""

    def __init__(self, device: Opened) -> None:
        self._device = device
        self._own: int | None = None

    def __call__(self) -> dict[str, object]:
        """Return what a ``Reading`` says of the device; what is missing is left out."""
        pids = self._device.ask(_pids) or []
        if os.getpid() in pids:
            self._own = os.getpid()
        elif len(set(pids)) == 1:  # this process has a context, so that is its number outside of its container
            self._own = pids[0]
        mask = self._device.ask(_reasons)
        found = {
            "clock_hz": self._device.ask(_clock) or None,
            "utilisation": share(self._device.ask(_utilisation)),
            "others_utilisation": others_share(self._device.ask(_uses) or (), self._own),
            "other_processes": others(pids),
            "throttle_reasons": None if mask is None else reasons(mask),
        }
        return {name: value for name, value in found.items() if value is not None}


def others(pids: Iterable[int]) -> int | None:
    """Return how many other processes there are; of an empty list nothing follows: this process should be in it.

    It is one of them under whatever number: a container may give its processes other numbers than NVML does.
    """
    different = set(pids)
    return len(different) - 1 if different else None


def others_share(uses: Iterable[Use], own: int | None) -> float | None:
    """Return how much other processes than *own* used the device, at least; ``None`` if nothing is known.

    Args:
        uses: of processes, in percent; the latest of each counts, values beyond 100 are left out.
        own: number of this process; unknown: it may be the one that used the device most.
    """
    latest = {use.pid: use.smUtil for use in sorted(uses, key=lambda use: use.timeStamp) if 0 <= use.smUtil <= 100}
    if not latest:
        return None
    mine = latest.get(own, 0) if own is not None else max(latest.values())
    return min(1.0, (sum(latest.values()) - mine) / 100)


def reasons(mask: int) -> tuple[str, ...]:
    """Return the names of the bits of NVML's clocks event reasons."""
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return tuple(_REASONS.get(bit, f"reason {bit:#x}") for bit in bits)


def share(percent: int | None) -> float | None:
    """Return a share of one; what is no percentage is missing."""
    return percent / 100 if percent is not None and 0 <= percent <= 100 else None


def _pids(nvml: ModuleType, handle: object) -> list[int]:
    return [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]


def _clock(nvml: ModuleType, handle: object) -> float:
    return float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6)


def _utilisation(nvml: ModuleType, handle: object) -> int:
    return int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def _uses(nvml: ModuleType, handle: object) -> list[Use]:
    return list(nvml.nvmlDeviceGetProcessUtilization(handle, int((time.time() - _RECENT_S) * 1e6)))


def _reasons(nvml: ModuleType, handle: object) -> int:
    return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))  # the name that old releases know, too
