"""A present device's answers to OpenCL queries, as a record. Pure but for the PCI folder of the system."""

from collections.abc import Callable

from gpureport.measure.backends import pci
from gpureport.records.quantities import MOST_NAME
from gpureport.spec.models import Kind, PresentDevice
from gpureport.text import shortened

Ask = Callable[[str], object]
"""Answers a query of ``clGetDeviceInfo``, named without ``CL_DEVICE_``; ``None``: not known."""

_KIND_BITS: tuple[tuple[int, Kind], ...] = ((1 << 2, "gpu"), (1 << 3, "accelerator"), (1 << 1, "cpu"))


def kind(ask: Ask) -> Kind | None:
    """Return the device's kind; ``None`` for a custom device, which runs no kernels of ours."""
    bits = _number(ask, "TYPE")
    return next((name for bit, name in _KIND_BITS if bits & bit), None)


def describe(index: int, platform: str, platform_version: str, ask: Ask) -> PresentDevice:
    """Return what the runtime says of a device; what it does not know is 0, empty or ``None``."""
    clock_mhz = _number(ask, "MAX_CLOCK_FREQUENCY")
    sizes = ask("MAX_WORK_ITEM_SIZES")
    place = _pci_address(ask)
    return PresentDevice(
        index=index,
        platform=clean(platform),
        platform_version=clean(platform_version),
        name=_text(ask, "NAME"),
        vendor=_text(ask, "VENDOR"),
        kind=kind(ask) or "accelerator",
        driver=_text(ask, "DRIVER_VERSION"),
        version=_text(ask, "VERSION"),
        compute_units=_number(ask, "MAX_COMPUTE_UNITS"),
        clock_hz=clock_mhz * 1e6 if clock_mhz else None,
        global_memory_bytes=_number(ask, "GLOBAL_MEM_SIZE"),
        max_allocation_bytes=_number(ask, "MAX_MEM_ALLOC_SIZE"),
        global_cache_bytes=_number(ask, "GLOBAL_MEM_CACHE_SIZE"),
        cache_line_bytes=_number(ask, "GLOBAL_MEM_CACHELINE_SIZE"),
        local_memory_bytes=_number(ask, "LOCAL_MEM_SIZE"),
        max_work_group=_number(ask, "MAX_WORK_GROUP_SIZE"),
        max_work_item_sizes=tuple(sizes) if isinstance(sizes, list | tuple) else (),
        timer_resolution_s=_number(ask, "PROFILING_TIMER_RESOLUTION") * 1e-9,
        extensions=tuple(sorted(filter(None, map(clean, str(ask("EXTENSIONS") or "").split())))),
        pci_id=pci.pci_id(place) or _amd_pci_id(ask),
        pci_address=place,
        wave_size=_number(ask, "WARP_SIZE_NV") or _number(ask, "WAVEFRONT_WIDTH_AMD") or None,
        compute_capability=_compute_capability(ask),
        board=_text(ask, "BOARD_NAME_AMD") or None,
    )


def clean(text: str) -> str:
    """Return a name without the NULs and blanks that some runtimes leave at its end, nor what steers a terminal."""
    return shortened("".join(c if c.isprintable() else " " for c in text.replace("\0", "")).strip(), MOST_NAME)


def _text(ask: Ask, query: str) -> str:
    return clean(str(ask(query) or ""))


def _number(ask: Ask, query: str) -> int:
    answer = ask(query)
    return answer if isinstance(answer, int) else 0


def _pci_address(ask: Ask) -> str | None:
    slot = ask("PCI_SLOT_ID_NV")
    if isinstance(slot, int):
        return pci.nvidia_address(_number(ask, "PCI_DOMAIN_ID_NV"), _number(ask, "PCI_BUS_ID_NV"), slot)
    topology = ask("TOPOLOGY_AMD")
    parts = [getattr(topology, name, None) for name in ("bus", "device", "function")]
    numbers = [part for part in parts if isinstance(part, int)]
    return pci.address(0, numbers[0] & 0xFF, *numbers[1:]) if len(numbers) == len(parts) else None


def _amd_pci_id(ask: Ask) -> str | None:
    number = _number(ask, "PCIE_ID_AMD")
    return f"1002:{number:04x}" if number else None


def _compute_capability(ask: Ask) -> str | None:
    major, minor = (_number(ask, f"COMPUTE_CAPABILITY_{part}_NV") for part in ("MAJOR", "MINOR"))
    return f"{major}.{minor}" if major else None
