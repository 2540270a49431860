"""What the operating system says of a device's place on the PCI bus."""

from pathlib import Path

DEVICES = Path("/sys/bus/pci/devices")


def address(domain: int, bus: int, device: int, function: int = 0) -> str:
    """Return the address as Linux and vendor tools write it, e.g. ``0000:3b:00.0``."""
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function}"


def nvidia_address(domain: int, bus: int, slot: int, devices: Path = DEVICES) -> str:
    """Return the address of an NVIDIA device from what its OpenCL calls a slot.

    That is device and function in one number, as the PCI standard packs them, or (on virtual machines) the device's
    number alone: whichever exists.
    """
    candidates = [address(domain, bus, slot >> 3, slot & 7), address(domain, bus, slot)]
    return next((place for place in candidates if (devices / place).exists()), candidates[0])


def pci_id(place: str | None, devices: Path = DEVICES) -> str | None:
    """Return ``vendor:device`` in hexadecimal of the device at the address *place*; ``None``: not known."""
    if place is None:
        return None
    try:
        vendor, device = ((devices / place / name).read_text().strip() for name in ("vendor", "device"))
        return f"{int(vendor, 16):04x}:{int(device, 16):04x}"
    except (OSError, ValueError):
        return None
