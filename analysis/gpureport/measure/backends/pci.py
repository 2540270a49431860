"""Files of Linux about PCI devices: addresses, identifiers, links; clocks, load and power of AMD and Intel GPUs."""

import re
from pathlib import Path

from gpureport.measure.backends.common import PowerSensor, known, share

DEVICES = Path("/sys/bus/pci/devices")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Generation of PCI Express by the rate of a lane in GT/s."""
_SPEED = re.compile(r"^(\d+(?:\.\d)?) GT/s")
_CURRENT_CLOCK = re.compile(r"^\d+:\s*(\d{1,5})\s*mhz\s*\*$", re.IGNORECASE)
_POWER = ("power1_input", "power1_average")
_ENERGY = "energy1_input"


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


def scaled(text: str, unit: float) -> float | None:
    """Return a number in multiples of *unit*, from the text of a file; ``None`` for none or zero."""
    count = whole(text)
    return unit * count if count else None


def first_scaled(folder: Path, unit: float, *names: str) -> float | None:
    """Return the first number in the files *names*, as :func:`scaled`."""
    return next(filter(None, (scaled(read_or_empty(folder / name), unit) for name in names)), None)


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
    files = (devices / place / name for name in ("vendor", "device")) if place else ()
    found = [read_or_empty(file).strip().removeprefix("0x") for file in files]
    return ":".join(found) if all(found) and found else None


def highest_link(address: str, devices: Path = DEVICES) -> dict[str, int]:
    """Return the least of the highest links of a device and of all ports between it and the processor."""
    folder = (devices / address).resolve()
    found = [(name, value) for each in (folder, *folder.parents) for name, value in live_link(each, "max").items()]
    return {name: min(value for other, value in found if other == name) for name, _ in found}


def live_link(folder: Path, which: str = "current") -> dict[str, int]:
    """Return the *current* or *max* link of a PCI device in its folder, as fields of a ``Reading`` if they are known.

    Idle devices may lower the generation of their link.
    """
    speed = _SPEED.match(read_or_empty(folder / f"{which}_link_speed"))
    generation = _GENERATIONS.get(float(speed[1])) if speed else None
    lanes = whole(read_or_empty(folder / f"{which}_link_width"))
    return known(link_generation=generation, link_lanes=lanes if lanes and lanes <= 32 else None)


def live_state(address: str, devices: Path = DEVICES) -> dict[str, object]:
    """Return utilisation, clock and link of the AMD or Intel GPU at a PCI address, as fields of a ``Reading``."""
    folder = devices / address
    if (clock_hz := current_clock(read_or_empty(folder / "pp_dpm_sclk"))) is None:
        cards = sorted(folder.glob("drm/card*"))
        clock_hz = first_scaled(folder, 1e6, *(f"drm/{card.name}/gt_act_freq_mhz" for card in cards))
    utilisation = share(whole(read_or_empty(folder / "gpu_busy_percent")))
    return {**known(clock_hz=clock_hz, utilisation=utilisation), **live_link(folder)}


def current_clock(text: str) -> float | None:
    """Return the clock of the state marked with a star, in Hz, from the text of amdgpu's ``pp_dpm_sclk``."""
    found = [match[1] for line in text.splitlines() if (match := _CURRENT_CLOCK.match(line.strip()))]
    return scaled(found[0], 1e6) if len(found) == 1 else None


def hwmon(address: str, devices: Path = DEVICES) -> PowerSensor | None:
    """Return the sensor of the GPU at a PCI address, from the first of its folders with power or energy.

    Power and energy are in millionths of W and J, temperatures in thousandths. Intel's and some AMD GPUs count energy.
    """
    folders = sorted((devices / address / "hwmon").glob("hwmon*"))
    folder = next((each for each in folders if first_scaled(each, 1.0, *_POWER, _ENERGY) is not None), None)
    if folder is None:
        return None

    def read() -> dict[str, object]:
        return known(
            power_w=first_scaled(folder, 1e-6, *_POWER),
            energy_j=first_scaled(folder, 1e-6, _ENERGY),
            clock_hz=first_scaled(folder, 1.0, "freq1_input"),
            temperature_c=first_scaled(folder, 1e-3, "temp1_input"),
        )

    scope = "board or chip, as its driver defines it"
    return PowerSensor("hwmon", scope, lambda: first_scaled(folder, 1e-6, "power1_cap", "power1_max"), read)
