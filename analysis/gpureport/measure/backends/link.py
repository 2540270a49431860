"""The PCI Express link of a device, as the system reports it. Idle devices may lower the generation of their link."""

import re
from dataclasses import dataclass
from pathlib import Path

from gpureport.measure.backends import nvidia
from gpureport.measure.backends.pci import DEVICES, read_or_empty, whole
from gpureport.spec.models import PresentDevice

_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Generation by the rate of a lane in GT/s."""
_SPEED = re.compile(r"^(\d+(?:\.\d)?) GT/s")


@dataclass(frozen=True)
class LiveLink:
    """Generation and lanes; ``None``: not known."""

    generation: int | None = None
    lanes: int | None = None


def with_link(device: PresentDevice) -> PresentDevice:
    """Return a device with the link that the system reports; a processor has none."""
    link = LiveLink() if device.is_cpu else highest_link(device)
    return device.model_copy(update={"link_generation": link.generation, "link_lanes": link.lanes})


def highest_link(device: PresentDevice) -> LiveLink:
    """Return the best link that device and machine support together."""
    with nvidia.opened(device) as opened:
        if opened is not None:
            return LiveLink(
                opened.query(lambda nvml, handle: int(nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle))) or None,
                opened.query(lambda nvml, handle: int(nvml.nvmlDeviceGetMaxPcieLinkWidth(handle))) or None,
            )
    return highest_in_sysfs(device.pci_address) if device.pci_address else LiveLink()


def highest_in_sysfs(address: str, devices: Path = DEVICES) -> LiveLink:
    """Return the smallest of the maxima of a device and of all ports between it and the processor."""
    folder = devices / address
    found = []
    if folder.exists():
        folder = folder.resolve()
        found = [in_folder(each, "max") for each in (folder, *folder.parents) if (each / "max_link_speed").exists()]
    generations = [each.generation for each in found if each.generation]
    lanes = [each.lanes for each in found if each.lanes]
    return LiveLink(min(generations, default=None), min(lanes, default=None))


def in_folder(folder: Path, which: str = "current") -> LiveLink:
    """Return the *current* or *max* link of a PCI device in the system's folder of it."""
    speed = _SPEED.match(read_or_empty(folder / f"{which}_link_speed"))
    lanes = whole(read_or_empty(folder / f"{which}_link_width"))
    return LiveLink(_GENERATIONS.get(float(speed[1])) if speed else None, lanes if lanes and lanes <= 32 else None)
