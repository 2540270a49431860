"""Selection of one of the devices that are present. Pure."""

import re
from collections.abc import Sequence

from gpureport.errors import InputError
from gpureport.spec.models import PresentDevice
from gpureport.text import quoted

_KINDS = ("gpu", "accelerator", "cpu")
_SIMULATORS = ("oclgrind", "simulat", "emulat")
"""Parts of the names of simulated devices: Oclgrind, FPGA emulators."""


def choose(devices: Sequence[PresentDevice], text: str) -> PresentDevice:
    """Return the device that *text* selects.

    Args:
        devices: as ``list_devices`` returns them.
        text: ``auto`` (GPU before accelerator before CPU, then the larger units x clock, or the better runtime of a
            CPU; never a simulator), an index, or a part of the device's or platform's name, in any case.

    Raises:
        InputError: no device or several devices match.
    """
    if text == "auto":
        return in_order(devices)[0]
    if not text.strip():
        raise InputError(f"--device: no device given; {_usage(devices)}")
    if text.isdecimal():
        matches = [device for device in devices if device.index == int(text)]
    else:
        names = [(device.name, device.platform, device.platform_version) for device in devices]
        matches = [d for d, own in zip(devices, names, strict=True) if text.casefold() in "\0".join(own).casefold()]
    if len(matches) == 1:
        return matches[0]
    problem = "matches several devices" if matches else "matches no device"
    raise InputError(f"--device: {quoted(text)} {problem}; {_usage(devices)}")


def in_order(devices: Sequence[PresentDevice]) -> list[PresentDevice]:
    """Return the devices that ``auto`` may select, the best first.

    Raises:
        InputError: all are simulators.
    """
    names = [f"{device.platform} {device.name}".casefold() for device in devices]
    real = [d for d, own in zip(devices, names, strict=True) if not any(word in own for word in _SIMULATORS)]
    if not real:
        raise InputError(f"--device: 'auto' selects no simulator or emulator; select one of: {_listing(devices)}")
    return sorted(real, key=_preference)


def named(device: PresentDevice) -> str:
    """Return the names of a device and its runtime."""
    return f"{device.name} ({device.runtime})"


def _preference(device: PresentDevice) -> tuple[float, ...]:
    """Return a key that sorts the best device first.

    If several runtimes list one CPU, the newest PoCL comes first. This follows from quick runs of PoCL 3.0, 3.1 and 6.0
    and of Intel's 2026.2 on an EPYC (family 26) and a Xeon (model 207): PoCL 6.0 is the fastest in most families, by up
    to six times. PoCL 3 and Intel's lead in half of the families each, PoCL in the memory-bound ones (by 1.1 to 1.3
    times).
    """
    kind = _KINDS.index(device.kind)
    if not device.is_cpu:
        return kind, -device.compute_units * (device.clock_hz or 1.0)
    version = re.match(r"PoCL (\d+)\.(\d+)", device.runtime)
    return kind, *((-float(part) for part in version.groups()) if version else (0.0, 0.0)), -device.compute_units


def _listing(devices: Sequence[PresentDevice]) -> str:
    return ", ".join(f"{device.index} = {named(device)}" for device in devices) or "(none)"


def _usage(devices: Sequence[PresentDevice]) -> str:
    return f"use 'auto', an index, or a part of one name of: {_listing(devices)}"
