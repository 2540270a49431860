"""State of an NVIDIA device while kernels run, from NVIDIA's management library (NVML)."""

import os
import time
from collections.abc import Collection, Iterable
from typing import Protocol

from gpureport.measure.backends.nvidia import Opened, sm_clock_hz
from gpureport.observe.disturbance import IDLE, POWER_CAP

_RECENT_S = 1.0
_REASONS = {  # nvml.h, nvmlClocksEventReasons
    0x1: IDLE,
    0x2: "application clocks setting",
    0x4: POWER_CAP,
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clock setting",
}


class Use(Protocol):
    """NVML's record of one process's use of a device."""

    pid: int
    timeStamp: int  # noqa: N815 - NVML's name
    smUtil: int  # noqa: N815


class Nvml:
    """Reads the state of one device."""

    def __init__(self, device: Opened) -> None:
        self._device = device
        self._own: int | None = None

    def __call__(self) -> dict[str, object]:
        """Return the fields of a ``Reading`` for the device, without those that are not known."""
        query = self._device.query
        pids = query(lambda nvml, handle: [use.pid for use in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]) or []
        if os.getpid() in pids:
            self._own = os.getpid()
        elif len(set(pids)) == 1:  # this process has a context: that is its PID outside of its container
            self._own = pids[0]
        since_us = int((time.time() - _RECENT_S) * 1e6)
        uses = query(lambda nvml, handle: list(nvml.nvmlDeviceGetProcessUtilization(handle, since_us))) or ()
        # Old releases of the library also have this name for the reasons.
        mask = query(lambda nvml, handle: int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
        return known(
            clock_hz=query(sm_clock_hz) or None,
            utilisation=share(query(lambda nvml, handle: int(nvml.nvmlDeviceGetUtilizationRates(handle).gpu))),
            others_utilisation=others_share(uses, self._own),
            other_processes=others(pids),
            throttle_reasons=None if mask is None else reasons(mask),
            link_generation=query(lambda nvml, handle: int(nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle))) or None,
            link_lanes=query(lambda nvml, handle: int(nvml.nvmlDeviceGetCurrPcieLinkWidth(handle))) or None,
        )


def others(pids: Collection[int]) -> int | None:
    """Return the number of other processes; ``None`` for an empty list, which should contain this process.

    One of *pids* is this process, though its PID in a container may differ from the PID that NVML reports.
    """
    return len(set(pids)) - 1 if pids else None


def others_share(uses: Iterable[Use], own: int | None) -> float | None:
    """Return the least share of the device that processes other than *own* used; ``None``: not known.

    *uses* are in percent: the latest of each process counts, values beyond 100 are ignored. If the PID of this process,
    *own*, is not known, it may be the process that used the device most.
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


def known(**fields: object) -> dict[str, object]:
    """Return the fields that are known, those with a value."""
    return {name: value for name, value in fields.items() if value is not None}


def share(percent: int | None) -> float | None:
    """Return a percentage as a share of one; ``None`` for any other number."""
    return percent / 100 if percent is not None and 0 <= percent <= 100 else None
