"""Sensors of power and energy: NVIDIA's management library, Linux hwmon (AMD and Intel GPUs), RAPL (processors).

A sensor is optional, and so is each of its values. RAPL counts the energy of all processor packages of the machine.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpureport.measure.backends import nvidia
from gpureport.measure.backends.pci import DEVICES, read_or_empty, whole
from gpureport.measure.conditions.nvml import known, reasons
from gpureport.spec.models import PresentDevice

POWERCAP = Path("/sys/class/powercap")
_PROTECTED = "RAPL has energy counters, but only the administrator of this machine may read them."
_NONE = "The system has no power sensor of this device that this process can read."


class PowerSensor(Protocol):
    """Reads power, energy and state of one device."""

    @property
    def name(self) -> str:
        """What reports the values: ``NVML``."""

    @property
    def scope(self) -> str:
        """What the power includes."""

    def limit_w(self) -> float | None:
        """Return the power limit that the driver enforces."""

    def energy_j(self) -> float | None:
        """Return the energy since some moment, which only grows; ``None`` without a counter."""

    def state(self) -> dict[str, object]:
        """Return the fields of a ``PowerReading``, without those that are not known."""


def sensor_of(device: PresentDevice, stack: ExitStack) -> PowerSensor | str:
    """Return the sensor of a device, which *stack* closes; or why there is none, in a sentence."""
    if device.is_cpu:
        return rapl()
    opened = stack.enter_context(nvidia.opened(device))
    if opened is not None:
        return NvmlPower(opened)
    folders = hwmon_folders(device.pci_address) if device.pci_address else []
    return Hwmon(folders[0]) if folders else _NONE


@dataclass(frozen=True)
class NvmlPower:
    """NVIDIA's management library."""

    device: nvidia.Opened
    name: str = "NVML"
    scope: str = "board"

    def limit_w(self) -> float | None:
        """Return the enforced limit."""
        return self.device.query(lambda nvml, handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1e3) or None

    def energy_j(self) -> float | None:
        """Return the energy since the driver was loaded."""
        return self.device.query(lambda nvml, handle: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3)

    def state(self) -> dict[str, object]:
        """Query power, clocks, temperature and the reasons of lower clocks."""
        query = self.device.query
        mask = query(lambda nvml, handle: int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)))
        return known(
            power_w=query(lambda nvml, handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3),
            clock_hz=query(nvidia.sm_clock_hz) or None,
            memory_clock_hz=query(lambda nvml, handle: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * 1e6)
            or None,
            temperature_c=query(
                lambda nvml, handle: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
            ),
            throttle_reasons=None if mask is None else reasons(mask),
        )


@dataclass(frozen=True)
class Hwmon:
    """The files of a GPU in Linux hwmon: power and energy in millionths of W and J, temperature in thousandths."""

    folder: Path
    name: str = "hwmon"
    scope: str = "board or chip, as its driver defines it"

    def limit_w(self) -> float | None:
        """Return the power cap."""
        return _scaled(self.folder, 1e-6, "power1_cap", "power1_max")

    def energy_j(self) -> float | None:
        """Return the energy counter of Intel's and some AMD GPUs."""
        return _scaled(self.folder, 1e-6, "energy1_input")

    def state(self) -> dict[str, object]:
        """Read power, clock and temperature."""
        return known(
            power_w=_scaled(self.folder, 1e-6, "power1_input", "power1_average"),
            clock_hz=_scaled(self.folder, 1.0, "freq1_input"),
            memory_clock_hz=_scaled(self.folder, 1.0, "freq2_input"),
            temperature_c=_scaled(self.folder, 1e-3, "temp1_input"),
        )


@dataclass(frozen=True)
class Rapl:
    """The energy counters of the processor packages, in millionths of J."""

    folders: tuple[Path, ...]
    name: str = "RAPL"
    scope: str = "processor packages, without memory"

    def limit_w(self) -> float | None:
        """Return the sum of the long-term limits."""
        found = [_scaled(folder, 1e-6, "constraint_0_power_limit_uw") for folder in self.folders]
        return sum(limit or 0.0 for limit in found) if all(found) else None

    def energy_j(self) -> float | None:
        """Return the sum of the counters, which start again from zero after an hour or so."""
        found = [whole(read_or_empty(folder / "energy_uj")) for folder in self.folders]
        return None if None in found else sum(energy or 0 for energy in found) * 1e-6

    def state(self) -> dict[str, object]:
        """Nothing but the energy is known."""
        return {}


def rapl(folder: Path = POWERCAP) -> Rapl | str:
    """Return the processor's sensor; or why there is none, in a sentence."""
    packages = tuple(path for path in sorted(folder.glob("*rapl:[0-9]*")) if path.name.count(":") == 1)
    sensor = Rapl(packages)
    if not packages:
        return _NONE
    return sensor if sensor.energy_j() is not None else _PROTECTED


def hwmon_folders(address: str, devices: Path = DEVICES) -> list[Path]:
    """Return the hwmon folders of a PCI device that contain power or energy."""
    names = ("power1_input", "power1_average", "energy1_input")
    folders = sorted((devices / address / "hwmon").glob("hwmon*"))
    return [folder for folder in folders if _scaled(folder, 1.0, *names) is not None]


def _scaled(folder: Path, unit: float, *names: str) -> float | None:
    """Return the first number in the files *names*, in multiples of *unit*; ``None`` for none or zero."""
    found = (whole(read_or_empty(folder / name)) for name in names)
    return next((count * unit for count in found if count), None)
