"""A device's answers to OpenCL queries, as a record. Pure, except that it reads the system's PCI folder."""

from collections.abc import Callable

from gpureport.measure.backends import pci
from gpureport.records.quantities import MOST_NAME
from gpureport.spec.models import Kind, PresentDevice
from gpureport.text import printable, shortened

DeviceQuery = Callable[[str], object]
"""Returns the value of a ``clGetDeviceInfo`` query, named without ``CL_DEVICE_``; ``None``: not known."""

_KIND_BITS: tuple[tuple[int, Kind], ...] = ((1 << 2, "gpu"), (1 << 3, "accelerator"), (1 << 1, "cpu"))


def kind(query: DeviceQuery) -> Kind | None:
    """Return the device's kind; ``None`` for a custom device, which cannot run OpenCL C kernels."""
    bits = _number(query, "TYPE")
    return next((name for bit, name in _KIND_BITS if bits & bit), None)


def describe(index: int, platform: str, platform_version: str, query: DeviceQuery) -> PresentDevice:
    """Return the device as the runtime reports it; unknown values are 0, empty or ``None``."""
    clock_mhz = _number(query, "MAX_CLOCK_FREQUENCY")
    address, amd_id = _pci_address(query), _number(query, "PCIE_ID_AMD")
    major, minor = (_number(query, f"COMPUTE_CAPABILITY_{part}_NV") for part in ("MAJOR", "MINOR"))
    return PresentDevice(
        index=index,
        platform=clean(platform),
        platform_version=clean(platform_version),
        name=_text(query, "NAME"),
        vendor=_text(query, "VENDOR"),
        kind=kind(query) or "accelerator",
        driver=_text(query, "DRIVER_VERSION"),
        version=_text(query, "VERSION"),
        compute_units=_number(query, "MAX_COMPUTE_UNITS"),
        clock_hz=clock_mhz * 1e6 if clock_mhz else None,
        global_memory_bytes=_number(query, "GLOBAL_MEM_SIZE"),
        max_allocation_bytes=_number(query, "MAX_MEM_ALLOC_SIZE"),
        global_cache_bytes=_number(query, "GLOBAL_MEM_CACHE_SIZE"),
        local_memory_bytes=_number(query, "LOCAL_MEM_SIZE"),
        max_work_group=_number(query, "MAX_WORK_GROUP_SIZE"),
        timer_resolution_s=_number(query, "PROFILING_TIMER_RESOLUTION") * 1e-9,
        extensions=tuple(sorted(filter(None, map(clean, str(query("EXTENSIONS") or "").split())))),
        pci_id=pci.pci_id(address) or (f"1002:{amd_id:04x}" if amd_id else None),
        pci_address=address,
        wave_size=_number(query, "WARP_SIZE_NV") or _number(query, "WAVEFRONT_WIDTH_AMD") or None,
        compute_capability=f"{major}.{minor}" if major else None,
        board=_text(query, "BOARD_NAME_AMD") or None,
    )


def clean(text: str) -> str:
    """Return a name without trailing NULs and blanks, which some runtimes leave, and without control characters."""
    return shortened(printable(text.replace("\0", "")).strip(), MOST_NAME)


def _text(query: DeviceQuery, name: str) -> str:
    return clean(str(query(name) or ""))


def _number(query: DeviceQuery, name: str) -> int:
    value = query(name)
    return value if isinstance(value, int) else 0


def _pci_address(query: DeviceQuery) -> str | None:
    slot = query("PCI_SLOT_ID_NV")
    if isinstance(slot, int):
        return pci.nvidia_address(_number(query, "PCI_DOMAIN_ID_NV"), _number(query, "PCI_BUS_ID_NV"), slot)
    topology = query("TOPOLOGY_AMD")
    parts = [getattr(topology, name, None) for name in ("bus", "device", "function")]
    numbers = [part for part in parts if isinstance(part, int)]
    return pci.address(0, numbers[0] & 0xFF, *numbers[1:]) if len(numbers) == len(parts) else None
