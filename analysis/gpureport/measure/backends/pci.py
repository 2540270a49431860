"""Files of the operating system about devices; PCI addresses and identifiers."""

from pathlib import Path

DEVICES = Path("/sys/bus/pci/devices")


def address(domain: int, bus: int, device: int, function: int = 0) -> str:
    """Return the address as Linux and vendor tools write it, e.g. ``0000:3b:00.0``."""
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function}"


def nvidia_address(domain: int, bus: int, slot: int, devices: Path = DEVICES) -> str:
    """Return the address of an NVIDIA device from the slot number that its OpenCL driver reports.

    The slot is device and function packed into one number, as in the PCI standard, or only the device number (on
    virtual machines). The address that exists is returned; the first form if neither does.
    """
    candidates = [address(domain, bus, slot >> 3, slot & 7), address(domain, bus, slot)]
    return next((each for each in candidates if (devices / each).exists()), candidates[0])


def pci_id(place: str | None, devices: Path = DEVICES) -> str | None:
    """Return ``vendor:device`` in hexadecimal of the device at the PCI address *place*; ``None``: not known."""
    if place is None:
        return None
    try:
        vendor, device = ((devices / place / name).read_text().strip() for name in ("vendor", "device"))
        return f"{int(vendor, 16):04x}:{int(device, 16):04x}"
    except (OSError, ValueError):
        return None


def read_or_empty(path: Path) -> str:
    """Return the text of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def whole(text: str) -> int | None:
    """Return a number that is not negative, from the text of a file."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
