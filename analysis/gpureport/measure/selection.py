"""Which of the devices that are present is meant. Pure."""

import re
from collections.abc import Sequence

from gpureport.errors import InputError
from gpureport.spec.models import PresentDevice
from gpureport.text import quoted

_KINDS = ("gpu", "accelerator", "cpu")
_PRETENDERS = ("oclgrind", "simulat", "emulat")
"""In the names of what only pretends to be a device: Oclgrind, FPGA emulators."""


def choose(devices: Sequence[PresentDevice], text: str) -> PresentDevice:
    """Return the device that *text* means.

    Args:
        devices: as ``list_devices`` returns them.
        text: ``auto`` (GPU before accelerator before CPU, then the larger units x clock, or the better runtime of a
            CPU; never a simulator or emulator), an index, or a part of the device's or platform's name, in any case.

    Raises:
        InputError: no device or several devices match.
    """
    if text == "auto":
        return in_order(devices)[0]
    if not text.strip():
        raise InputError(
            f"--device: no device given; use 'auto', an index, or a part of one name of: {_listing(devices)}"
        )
    if text.isdecimal():
        matches = [device for device in devices if device.index == int(text)]
    else:
        matches = [
            device
            for device in devices
            if any(
                text.casefold() in name.casefold() for name in (device.name, device.platform, device.platform_version)
            )
        ]
    if len(matches) == 1:
        return matches[0]
    problem = "matches several devices" if matches else "matches no device"
    raise InputError(
        f"--device: {quoted(text)} {problem}; use 'auto', an index, or a part of one name of: {_listing(devices)}"
    )


def in_order(devices: Sequence[PresentDevice]) -> list[PresentDevice]:
    """Return the devices that ``auto`` may take, the best first.

    Raises:
        InputError: all are simulators or emulators.
    """
    real = [device for device in devices if not _pretends(device)]
    if not real:
        raise InputError(f"--device: 'auto' takes no simulator or emulator; name one of: {_listing(devices)}")
    return sorted(real, key=_preference)


def named(device: PresentDevice) -> str:
    """Name a device and the runtime that offers it."""
    return f"{device.name} ({device.runtime})"


def _pretends(device: PresentDevice) -> bool:
    names = f"{device.platform} {device.name}".casefold()
    return any(word in names for word in _PRETENDERS)


def _preference(device: PresentDevice) -> tuple[float, ...]:
    """Return a key that sorts the best device first.

    Of the runtimes that offer one processor, the newest PoCL comes first. Quick runs of PoCL 3.0, 3.1 and 6.0 and of
    Intel's 2026.2 on an EPYC of family 26 and on a Xeon of model 207: PoCL 6.0 is the fastest in most families, by up
    to six times. PoCL 3 and Intel's each lead in half of them, PoCL in those that memory limits (by 1.1 to 1.3 times).
    """
    kind = _KINDS.index(device.kind)
    if device.kind != "cpu":
        return kind, -device.compute_units * (device.clock_hz or 1.0)
    version = re.match(r"PoCL (\d+)\.(\d+)", device.runtime)
    return kind, *((-float(part) for part in version.groups()) if version else (0.0, 0.0)), -device.compute_units


def _listing(devices: Sequence[PresentDevice]) -> str:
    return ", ".join(f"{device.index} = {named(device)}" for device in devices) or "(none)"
