"""What NVIDIA's management library says of a device. Optional: whatever fails is simply not known."""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TypeVar

from gpureport.spec.models import PresentDevice

_T = TypeVar("_T")
_Question = Callable[[ModuleType, object], _T]


@dataclass(frozen=True)
class State:
    """How a device is running.

    Attributes:
        clocks_hz: by what they clock, e.g. ``SM clock``.
        facts: by name, ready to print, e.g. ``power limit``: ``700 W``.
    """

    clocks_hz: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


CLOCK = "SM clock"
"""The clock that instructions run at."""

_CLOCKS: dict[str, _Question[float]] = {
    CLOCK: lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
    "memory clock": lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
    "highest SM clock": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM) * 1e6,
    "highest memory clock": lambda nvml, handle: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6,
}

_IDLE = 0.5

_FACTS: dict[str, _Question[str]] = {
    "power": lambda nvml, handle: f"{nvml.nvmlDeviceGetPowerUsage(handle) / 1000:.0f} W",
    "power limit": lambda nvml, handle: f"{nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000:.0f} W",
    "temperature": lambda nvml, handle: f"{nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)} °C",
    "ECC": lambda nvml, handle: "on" if nvml.nvmlDeviceGetEccMode(handle)[0] else "off",
    "MIG": lambda nvml, handle: "on" if nvml.nvmlDeviceGetMigMode(handle)[0] else "off",
}


def free_memory_bytes(device: PresentDevice) -> float | None:
    """Return the device's free memory in bytes, or ``None`` if it is not known."""
    with opened(device) as found:
        return found.ask(_free) if found else None


def state(device: PresentDevice) -> State:
    """Return clocks, power and temperature now; empty if they are not known."""
    with opened(device) as found:
        if found is None:
            return State()
        return State(clocks_hz=found.answers(_CLOCKS), facts=found.answers(_FACTS))


def is_idle(device: PresentDevice) -> bool:
    """Say whether the clock is known to be no more than half the highest."""
    clocks = state(device).clocks_hz
    now, highest = clocks.get(CLOCK), clocks.get("highest SM clock")
    return now is not None and highest is not None and now <= _IDLE * highest


def _free(nvml: ModuleType, handle: object) -> float:
    return float(nvml.nvmlDeviceGetMemoryInfo(handle).free)


@dataclass(frozen=True)
class Opened:
    """A device of the library, which is initialised."""

    nvml: ModuleType
    handle: object

    def ask(self, question: _Question[_T]) -> _T | None:
        """Return the answer; ``None`` if the driver or an old release of the library has none."""
        try:
            return question(self.nvml, self.handle)
        except (self.nvml.NVMLError, AttributeError):
            return None

    def answers(self, questions: dict[str, _Question[_T]]) -> dict[str, _T]:
        """Return the answers that there are."""
        asked = {name: self.ask(question) for name, question in questions.items()}
        return {name: answer for name, answer in asked.items() if answer is not None}


@contextlib.contextmanager
def opened(device: PresentDevice) -> Iterator[Opened | None]:
    """Find the device by its PCI address; ``None`` without one, without the library or without its driver."""
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
    """Find the device by its address, or because there is no other NVIDIA device."""
    if "nvidia" not in device.vendor.casefold():
        return None
    try:
        if device.pci_address is not None:
            return Opened(nvml, nvml.nvmlDeviceGetHandleByPciBusId(device.pci_address.encode()))
    except nvml.NVMLError:
        pass
    try:
        return Opened(nvml, nvml.nvmlDeviceGetHandleByIndex(0)) if nvml.nvmlDeviceGetCount() == 1 else None
    except nvml.NVMLError:
        return None
