"""A device's state from NVIDIA's management library (NVML). Optional: a query that fails leaves its value unknown."""

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TypeVar

from gpureport.spec.models import PresentDevice

_T = TypeVar("_T")
_Query = Callable[[ModuleType, object], _T]


@dataclass(frozen=True)
class State:
    """How a device is running.

    Attributes:
        clocks_hz: by name, e.g. ``SM clock``.
        facts: by name, ready to print, e.g. ``power limit``: ``700 W``.
    """

    clocks_hz: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


_IDLE = 0.5  # largest clock of an idle device, as a share of the highest
CLOCK = "SM clock"
"""Name of the clock of the compute units."""


def sm_clock_hz(nvml: ModuleType, handle: object) -> float:
    """Query the current clock of the compute units."""
    return float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6)


_CLOCKS: dict[str, _Query[float]] = {
    CLOCK: sm_clock_hz,
    "memory clock": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
    "highest SM clock": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
    "highest memory clock": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
}
_PAGE_CAUSES = (0, 1)  # nvml.h: several single-bit errors, a double-bit error
_FACTS: dict[str, _Query[str]] = {
    "UUID": lambda nvml, handle: nvml.nvmlDeviceGetUUID(handle),
    "power": lambda nvml, handle: f"{nvml.nvmlDeviceGetPowerUsage(handle) / 1000:.0f} W",
    "power limit": lambda nvml, handle: f"{nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000:.0f} W",
    "temperature": lambda nvml, handle: f"{nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)} °C",
    "ECC": lambda nvml, handle: "on" if nvml.nvmlDeviceGetEccMode(handle)[0] else "off",
    "MIG": lambda nvml, handle: "on" if nvml.nvmlDeviceGetMigMode(handle)[0] else "off",
    "remapped rows": lambda nvml, handle: remapped_rows(nvml.nvmlDeviceGetRemappedRows(handle)),
    "retired pages": lambda nvml, handle: (
        f"{sum(len(nvml.nvmlDeviceGetRetiredPages(handle, c)) for c in _PAGE_CAUSES)}"
    ),
}


def remapped_rows(rows: Sequence[int]) -> str:
    """Return the text of the library's counts of memory rows: correctable errors, uncorrectable errors, two flags."""
    correctable, uncorrectable, pending, failed = rows
    ends = (", one is pending" if pending else "", ", one failed" if failed else "")
    return f"{correctable + uncorrectable} ({uncorrectable} uncorrectable{''.join(ends)})"


def free_memory_bytes(device: PresentDevice) -> float | None:
    """Return the device's free memory in bytes, or ``None`` if it is not known."""
    with opened(device) as found:
        return found.query(lambda nvml, handle: float(nvml.nvmlDeviceGetMemoryInfo(handle).free)) if found else None


def state(device: PresentDevice) -> State:
    """Return the current clocks, power and temperature; empty if they are not known."""
    with opened(device) as found:
        return State(found.query_all(_CLOCKS), found.query_all(_FACTS)) if found else State()


def is_idle(device: PresentDevice) -> bool:
    """Return whether the clock is known to be at most half the highest."""
    clocks = state(device).clocks_hz
    now, highest = clocks.get(CLOCK), clocks.get("highest SM clock")
    return now is not None and highest is not None and now <= _IDLE * highest


@dataclass(frozen=True)
class Opened:
    """A device of the library while the library is initialised."""

    nvml: ModuleType
    handle: object

    def query(self, query: _Query[_T]) -> _T | None:
        """Return a value; ``None`` if the driver or an old release of the library does not support the query."""
        try:
            return query(self.nvml, self.handle)
        except (self.nvml.NVMLError, AttributeError):
            return None

    def query_all(self, queries: dict[str, _Query[_T]]) -> dict[str, _T]:
        """Return the values of those queries that are supported."""
        return {name: value for name, query in queries.items() if (value := self.query(query)) is not None}


@contextlib.contextmanager
def opened(device: PresentDevice) -> Iterator[Opened | None]:
    """Find the device in the library; ``None`` if the library, its driver or the device is missing."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        yield None
        return
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        yield None
        return
    try:
        yield _found(nvml, device)
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _found(nvml: ModuleType, device: PresentDevice) -> Opened | None:
    """Find the device by its PCI address, or as the only NVIDIA device."""
    if "nvidia" not in device.vendor.casefold():
        return None
    with contextlib.suppress(nvml.NVMLError):
        if device.pci_address is not None:
            return Opened(nvml, nvml.nvmlDeviceGetHandleByPciBusId(device.pci_address.encode()))
    with contextlib.suppress(nvml.NVMLError):
        if nvml.nvmlDeviceGetCount() == 1:
            return Opened(nvml, nvml.nvmlDeviceGetHandleByIndex(0))
    return None
