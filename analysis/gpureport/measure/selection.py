"""Which of the devices that are present is meant. Pure."""

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
        text: ``auto`` (GPU before accelerator before CPU, then the larger units x clock; never a simulator or
            emulator), an index, or a part of the device's or platform's name, in any case.

    Raises:
        InputError: no device or several devices match.
    """
    if text == "auto":
        return _best(devices)
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


def _best(devices: Sequence[PresentDevice]) -> PresentDevice:
    real = [device for device in devices if not _pretends(device)]
    if not real:
        raise InputError(f"--device: 'auto' takes no simulator or emulator; name one of: {_listing(devices)}")
    return min(real, key=_preference)


def _pretends(device: PresentDevice) -> bool:
    names = f"{device.platform} {device.name}".casefold()
    return any(word in names for word in _PRETENDERS)


def _preference(device: PresentDevice) -> tuple[int, float]:
    return _KINDS.index(device.kind), -device.compute_units * (device.clock_hz or 1.0)


def _listing(devices: Sequence[PresentDevice]) -> str:
    return ", ".join(f"{device.index} = {device.name} ({device.platform})" for device in devices) or "(none)"
