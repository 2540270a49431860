"""OpenCL's answers as records: of a device, and of a kernel with its log and binary. Pure, but for the PCI folder."""

import re
from collections.abc import Callable, Mapping

from gpureport import machine_code
from gpureport.measure.backends import pci
from gpureport.records.measurement import Compilation, Usage
from gpureport.records.quantities import MOST_NAME
from gpureport.spec.models import Kind, PresentDevice
from gpureport.text import printable, shortened
from gpureport.workloads.model import Dispatch, Local

MAX_LOG_CHARACTERS = 8000
"""Longest log in a report."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_COUNTS = {
    "registers_per_work_item": re.compile(r"Used (\d+) registers"),
    "private_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_bytes": re.compile(r"(\d+) bytes spill stores"),
}
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_TEMPORARY = re.compile(r"(?<![^\s'\"])[^\s'\"]*tempfile_\w+\.cl")
_FOLDER = re.compile(r"(?<![\w.])/(?:[^\s:'\"/]+/)+")
_ERROR = re.compile(r"\b(?:error|undefined|unresolved)\b", re.IGNORECASE)
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


def usage(log: str) -> dict[str, Usage]:
    """Return each kernel's resource usage from NVIDIA's log (``-cl-nv-verbose``); empty for other compilers' logs."""
    parts, found = _ENTRY.split(log)[1:], dict[str, Usage]()
    for kernel, text in zip(parts[::2], parts[1::2], strict=True):
        # The log lists the functions that a kernel calls before the kernel itself: the last count is the kernel's.
        counted, shared = {name: pattern.findall(text) for name, pattern in _COUNTS.items()}, _SHARED.search(text)
        found[kernel] = Usage(
            reported_by="ptxas",
            local_memory_bytes=sum(map(int, shared.groups(default="0"))) if shared else 0,
            **{name: int(counts[-1]) if counts else None for name, counts in counted.items()},
        )
    return found


def compilation(
    dispatch: Dispatch, options: str, log: str, facts: Mapping[str, int | None], binary: bytes = b""
) -> Compilation:
    """Combine log, binary and runtime queries of a dispatch's kernel; the earlier source takes precedence.

    *facts* are results of ``clGetKernelWorkGroupInfo`` and ``clGetKernelSubGroupInfo`` by query, without ``CL_KERNEL_``
    and ``_FOR_NDRANGE`` in its name. *binary* is that of the program, or the library that contains the kernel; empty:
    not known. Local-memory arguments of the *dispatch* are added to what the kernel itself declares.
    """
    arguments = sum(argument.nbytes for argument in dispatch.arguments if isinstance(argument, Local))
    reported = usage(log).get(dispatch.kernel) or machine_code.usage(binary, dispatch.kernel)
    local, lanes = facts.get("LOCAL_MEM_SIZE") or 0, facts.get("MAX_SUB_GROUP_SIZE")
    of_runtime = Usage(
        reported_by="runtime",
        local_memory_bytes=max(0, local - arguments),
        private_bytes=facts.get("PRIVATE_MEM_SIZE"),
        wave_size=lanes or facts.get("PREFERRED_WORK_GROUP_SIZE_MULTIPLE") or None,
    )
    known = of_runtime.model_dump() | (reported.model_dump(exclude_none=True) if reported else {})
    known["local_memory_bytes"] += arguments
    return Compilation(
        **known,
        kernel=dispatch.kernel,
        options=options,
        log=log,
        max_work_group=facts.get("WORK_GROUP_SIZE") or None,
        code=machine_code.code(binary, dispatch.kernel),
    )


def tidy(log: str, source: str) -> str:
    """Return *log* without folders of this machine and NULs, at most :data:`MAX_LOG_CHARACTERS` long.

    *source*, the file that was built, replaces the name of the runtime's temporary file.
    """
    without_temporary = _TEMPORARY.sub(source, log.replace("\0", "")[: 2 * MAX_LOG_CHARACTERS])
    return _FOLDER.sub("", without_temporary).strip()[:MAX_LOG_CHARACTERS]


def first_error(log: str) -> str:
    """Return the first line of *log* with an error (the first line if there is none)."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["the log is empty"]
    return next((line for line in lines if _ERROR.search(line)), lines[0]).removeprefix("error: ")
