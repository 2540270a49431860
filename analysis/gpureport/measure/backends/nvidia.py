"""NVIDIA's management library (NVML): clocks, load, link, power and state of a device.

The library is optional. A query that it does not support leaves its value unknown.
"""

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from gpureport.measure.backends.common import known, share
from gpureport.observe.disturbance import IDLE, POWER_CAP
from gpureport.spec import drivers
from gpureport.spec.models import PresentDevice

_SM, _MEMORY = 1, 2  # nvml.h: nvmlClockType_t
_CHIP = 0  # nvmlTemperatureSensors_t
_PAGE_CAUSES = (0, 1)  # nvmlPageRetirementCause_t: several single-bit errors, a double-bit error
_RECENT_S = 1.0
_REASONS = {  # nvmlClocksEventReasons
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


class Opened(NamedTuple):
    """A device of the library while the library is initialised."""

    nvml: ModuleType
    handle: object

    def query(self, name: str, *arguments: object) -> Any:  # noqa: ANN401 - a number, text or structure
        """Return the answer to ``nvmlDeviceGet<name>``; ``None`` if driver or library do not support the query."""
        try:
            return getattr(self.nvml, f"nvmlDeviceGet{name}")(self.handle, *arguments)
        except (self.nvml.NVMLError, AttributeError):
            return None

    def thousandths(self, name: str) -> float | None:
        """Return a value that the library gives in thousandths, e.g. a power in mW."""
        found = self.query(name)
        return None if found is None else found / 1e3


@contextlib.contextmanager
def opened(device: PresentDevice) -> Iterator[Opened | None]:
    """Find the device in the library; ``None`` if the library, its driver or the device is missing."""
    if device.on_host or drivers.maker(device.vendor).name != "nvidia":
        yield None
        return
    with contextlib.ExitStack() as stack:
        found = None
        with contextlib.suppress(ImportError):
            nvml = importlib.import_module("pynvml")
            with contextlib.suppress(nvml.NVMLError):
                nvml.nvmlInit()
                stack.callback(_shut_down, nvml)
                found = _found(nvml, device)
        yield found


def _shut_down(nvml: ModuleType) -> None:
    with contextlib.suppress(nvml.NVMLError):
        nvml.nvmlShutdown()


def _found(nvml: ModuleType, device: PresentDevice) -> Opened | None:
    with contextlib.suppress(nvml.NVMLError):
        if device.pci_address is not None:
            return Opened(nvml, nvml.nvmlDeviceGetHandleByPciBusId(device.pci_address.encode()))
    with contextlib.suppress(nvml.NVMLError):
        if nvml.nvmlDeviceGetCount() == 1:
            return Opened(nvml, nvml.nvmlDeviceGetHandleByIndex(0))
    return None


def _watts(milliwatts: float) -> str:
    return f"{milliwatts / 1000:.0f} W"


def _switch(modes: Sequence[int]) -> str:
    return "on" if modes[0] else "off"


def remapped_rows(rows: Sequence[int]) -> str:
    """Return the text of the library's counts of memory rows: correctable errors, uncorrectable errors, two flags."""
    correctable, uncorrectable, pending, failed = rows
    ends = (", one is pending" if pending else "", ", one failed" if failed else "")
    return f"{correctable + uncorrectable} ({uncorrectable} uncorrectable{''.join(ends)})"


_FACTS: dict[str, tuple[Callable[[Any], str], str, *tuple[int, ...]]] = {
    "UUID": (str, "UUID"),
    "power": (_watts, "PowerUsage"),
    "power limit": (_watts, "EnforcedPowerLimit"),
    "memory clock": ("{} MHz".format, "ClockInfo", _MEMORY),
    "temperature": ("{} °C".format, "Temperature", _CHIP),
    "ECC": (_switch, "EccMode"),
    "MIG": (_switch, "MigMode"),
    "remapped rows": (remapped_rows, "RemappedRows"),
}


def facts(device: Opened) -> dict[str, str]:
    """Return current settings, power and temperature, ready to print."""
    found = {name: device.query(query, *arguments) for name, (_, query, *arguments) in _FACTS.items()}
    texts = {name: _FACTS[name][0](value) for name, value in found.items() if value is not None}
    pages = [device.query("RetiredPages", cause) for cause in _PAGE_CAUSES]
    return texts if None in pages else {**texts, "retired pages": str(sum(map(len, pages)))}


class Nvml:
    """Reads the state of one device while kernels run."""

    def __init__(self, device: Opened) -> None:
        self._device = device
        self._own: int | None = None

    def __call__(self) -> dict[str, object]:
        """Return the fields of a ``Reading`` for the device, without those that are not known."""
        query = self._device.query
        pids = [use.pid for use in query("ComputeRunningProcesses") or ()]
        if os.getpid() in pids:
            self._own = os.getpid()
        elif len(set(pids)) == 1:  # this process has a context: that is its PID outside of its container
            self._own = pids[0]
        uses = query("ProcessUtilization", int((time.time() - _RECENT_S) * 1e6))
        rates = query("UtilizationRates")
        mask = query("CurrentClocksThrottleReasons")  # old releases of the library also have this name
        return known(
            clock_hz=(query("ClockInfo", _SM) or 0) * 1e6 or None,
            utilisation=share(rates and int(rates.gpu)),
            others_utilisation=others_share(uses or (), self._own),
            throttle_reasons=None if mask is None else reasons(mask),
            power_w=self._device.thousandths("PowerUsage"),
            energy_j=self._device.thousandths("TotalEnergyConsumption"),
            temperature_c=query("Temperature", _CHIP),
            link_generation=query("CurrPcieLinkGeneration") or None,
            link_lanes=query("CurrPcieLinkWidth") or None,
        )


def others_share(uses: Iterable[Any], own: int | None) -> float | None:
    """Return the least share of the device that processes other than *own* used; ``None``: not known.

    *uses* are NVML's records of use in percent: the latest of each process counts, values beyond 100 are ignored. If
    the PID of this process, *own*, is not known, it may be the process that used the device most.
    """
    latest = {use.pid: use.smUtil for use in sorted(uses, key=lambda use: use.timeStamp) if 0 <= use.smUtil <= 100}
    if not latest:
        return None
    mine = latest.get(own, 0) if own is not None else max(latest.values())
    return float(min(1.0, (sum(latest.values()) - mine) / 100))


def reasons(mask: int) -> tuple[str, ...]:
    """Return the names of the bits of NVML's clocks event reasons."""
    bits = [1 << place for place in range(mask.bit_length()) if mask >> place & 1]
    return tuple(_REASONS.get(bit, f"reason {bit:#x}") for bit in bits)
