"""What Linux says of the GPUs of AMD and Intel: how much they are used, and their clock."""

import re
from pathlib import Path

from gpureport.measure.backends.pci import DEVICES

_CURRENT = re.compile(r"^\d+:\s*(\d{1,5})\s*mhz\s*\*$", re.IGNORECASE)


class Sysfs:
    """Reads the files of the device at a PCI address."""

    def __init__(self, address: str, devices: Path = DEVICES) -> None:
        self._folder = devices / address

    def __call__(self) -> dict[str, object]:
        """Return what a ``Reading`` says of the device; what is missing is left out."""
        clock_hz = current_clock(_text(self._folder / "pp_dpm_sclk"))
        if clock_hz is None:
            actual = next(iter(sorted(self._folder.glob("drm/card*/gt_act_freq_mhz"))), None)
            clock_hz = megahertz(_text(actual)) if actual else None
        found = {"clock_hz": clock_hz, "utilisation": busy(_text(self._folder / "gpu_busy_percent"))}
        return {name: value for name, value in found.items() if value is not None}


def busy(text: str) -> float | None:
    """Return the share of the time in which the device worked, from the text of amdgpu's ``gpu_busy_percent``."""
    text = text.strip()
    percent = int(text) if re.fullmatch("[0-9]{1,3}", text) else -1
    return percent / 100 if 0 <= percent <= 100 else None


def current_clock(text: str) -> float | None:
    """Return the clock of the state marked with a star, in Hz, from the text of amdgpu's ``pp_dpm_sclk``."""
    found = [match[1] for line in text.splitlines() if (match := _CURRENT.match(line.strip()))]
    return megahertz(found[0]) if len(found) == 1 else None


def megahertz(text: str) -> float | None:
    """Return a frequency in Hz from a text in MHz; zero is no frequency."""
    text = text.strip()
    return (1e6 * int(text) or None) if re.fullmatch("[0-9]{1,5}", text) else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
