"""Utilisation and clock of AMD and Intel GPUs, from Linux."""

import re
from pathlib import Path

from gpureport.measure.backends.link import in_folder
from gpureport.measure.backends.pci import DEVICES, read_or_empty, whole
from gpureport.measure.conditions.nvml import known, share
from gpureport.measure.conditions.processor import frequency

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
            clock_hz = frequency(read_or_empty(actual), 1e6) if actual else None
        link = in_folder(self._folder)
        return known(
            clock_hz=clock_hz,
            utilisation=share(whole(read_or_empty(self._folder / "gpu_busy_percent"))),
            link_generation=link.generation,
            link_lanes=link.lanes,
        )


def current_clock(text: str) -> float | None:
    """Return the clock of the state marked with a star, in Hz, from the text of amdgpu's ``pp_dpm_sclk``."""
    found = [match[1] for line in text.splitlines() if (match := _CURRENT.match(line.strip()))]
    return frequency(found[0], 1e6) if len(found) == 1 else None
