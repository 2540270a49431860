"""Utilisation and clock of AMD and Intel GPUs, from Linux."""

import re
from pathlib import Path

from gpureport.measure.backends.pci import DEVICES
from gpureport.measure.conditions.processor import read_or_empty

_CURRENT = re.compile(r"^\d+:\s*(\d{1,5})\s*mhz\s*\*$", re.IGNORECASE)


class Sysfs:
    """Reads the files of the device at a PCI address."""

    def __init__(self, address: str, devices: Path = DEVICES) -> None:
        self._folder = devices / address

    def __call__(self) -> dict[str, object]:
        """Return the fields of a ``Reading`` for the device, without those that are not known."""
        clock_hz = current_clock(read_or_empty(self._folder / "pp_dpm_sclk"))
        if clock_hz is None:
            actual = next(iter(sorted(self._folder.glob("drm/card*/gt_act_freq_mhz"))), None)
            clock_hz = megahertz(read_or_empty(actual)) if actual else None
        found = {"clock_hz": clock_hz, "utilisation": busy(read_or_empty(self._folder / "gpu_busy_percent"))}
        return {name: value for name, value in found.items() if value is not None}


def busy(text: str) -> float | None:
    """Return the share of time in which the device was busy, from the text of amdgpu's ``gpu_busy_percent``."""
    text = text.strip()
    percent = int(text) if re.fullmatch("[0-9]{1,3}", text) else -1
    return percent / 100 if 0 <= percent <= 100 else None


def current_clock(text: str) -> float | None:
    """Return the clock of the state marked with a star, in Hz, from the text of amdgpu's ``pp_dpm_sclk``."""
    found = [match[1] for line in text.splitlines() if (match := _CURRENT.match(line.strip()))]
    return megahertz(found[0]) if len(found) == 1 else None


def megahertz(text: str) -> float | None:
    """Return a frequency in Hz from a text in MHz; ``None`` for zero."""
    text = text.strip()
    return (1e6 * int(text) or None) if re.fullmatch("[0-9]{1,5}", text) else None
