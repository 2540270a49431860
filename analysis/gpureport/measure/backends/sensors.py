"""What reads the state of a device and its machine: by the device's kind and vendor, if the system has it."""

from contextlib import ExitStack
from functools import partial
from math import inf

from gpureport.measure.backends import machine, nvidia, pci
from gpureport.measure.backends.common import PowerSensor, Source, known
from gpureport.spec.host import read_host
from gpureport.spec.models import PresentDevice

_NO_SENSOR = "The system has no power sensor of this device that this process can read."


def sources_of(device: PresentDevice, stack: ExitStack) -> list[Source]:
    """Return the sources of readings for a device and its machine; *stack* closes what they open."""
    processor = machine.Processor()
    if device.on_host:
        return [processor, processor.clock]
    if (found := stack.enter_context(nvidia.opened(device))) is not None:
        return [processor, nvidia.Nvml(found)]
    return [processor] if device.pci_address is None else [processor, partial(pci.live_state, device.pci_address)]


def power_sensor(device: PresentDevice, stack: ExitStack) -> PowerSensor | str:
    """Return the sensor of a device, which *stack* closes; or why there is none, in a sentence."""
    if device.on_host:
        return machine.rapl() or _NO_SENSOR
    if (found := stack.enter_context(nvidia.opened(device))) is not None:
        # The counter of energy starts when the driver is loaded.
        return PowerSensor("NVML", "board", lambda: found.thousandths("EnforcedPowerLimit") or None, nvidia.Nvml(found))
    return (pci.hwmon(device.pci_address) if device.pci_address else None) or _NO_SENSOR


def facts(device: PresentDevice) -> dict[str, str]:
    """Return current settings, power and temperature by name, ready to print; empty if they are not known."""
    with nvidia.opened(device) as found:
        return nvidia.facts(found) if found else {}


def free_memory_bytes(device: PresentDevice) -> float:
    """Return the free memory for buffers in bytes; the device's total memory if nothing else is known."""
    free = machine.free_bytes() if device.on_host else inf
    with nvidia.opened(device) as found:
        if memory := found and found.query("MemoryInfo"):
            free = float(memory.free)
    return max(0.0, min(free, device.global_memory_bytes))


def with_system(device: PresentDevice) -> PresentDevice:
    """Return a device with what the system knows of it: its best link, that it is emulated, that it has no clock."""
    if device.on_host:
        host = read_host()
        has_clock = host.facts.clock_hz or not device.implementation.clock_of_system
        clock_hz = device.clock_hz if has_clock else None
        device = device.model_copy(update={"clock_hz": clock_hz, "emulated": host.emulated})
    with nvidia.opened(device) as found:
        if found is not None:
            link = known(
                link_generation=found.query("MaxPcieLinkGeneration"), link_lanes=found.query("MaxPcieLinkWidth")
            )
        else:
            link = pci.highest_link(device.pci_address) if device.pci_address else {}
    return device.model_copy(update={name: value for name, value in link.items() if value})
