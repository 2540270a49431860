"""Plausible values among a device's answers to queries. Pure."""

from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import vendor
from gpureport.spec.resolve import Value, queried

_LEAST_CLOCK_HZ, _MOST_CLOCK_HZ = 50e6, 10e9
_MOST_UNITS, _MOST_WORK_ITEMS, _MOST_BYTES = 1 << 20, 1 << 29, 1 << 60
"""Larger values are ignored: some drivers report the largest number that they can."""
MEMORY_TOLERANCE = 0.12
"""ECC reserves up to 1/16 of a card's memory and the driver some of the rest: a T4 reports 14.6 GiB."""


def compute_units(present: PresentDevice) -> int | None:
    """Return the compute units; ``None`` if the runtime does not report them correctly.

    clvk reports 1 for every device. Mesa is correct for AMD and NVIDIA; for Intel it counts subslices instead of
    execution units, for Adreno it reports 9999 and for its software renderer 8.
    """
    wrong = present.platform.lower() == "clvk" or (is_mesa(present) and _vendor(present) not in ("amd", "nvidia"))
    return None if wrong else _up_to(_MOST_UNITS, present.compute_units)


def is_mesa(present: PresentDevice) -> bool:
    """Whether the runtime is Mesa's, which counts AMD's compute units, not work-group processors of two (RDNA)."""
    return present.platform.lower() in ("rusticl", "clover")


def whole_units(listed: Device, present: PresentDevice) -> tuple[int, ...]:
    """Return the numbers of units that the runtime may report for the whole *listed* device, likeliest first.

    AMD drivers count work-group processors (RDNA) or compute units; runtimes on CPUs count hardware threads, possibly
    one per core; Intel's runtime counts vector engines.
    """
    usual = listed.opencl_compute_units or listed.compute_units
    if is_mesa(present):
        return (listed.compute_units,)
    return (usual,) if vendor(listed.vendor) == "intel" else (usual, listed.compute_units)


def clock_hz(present: PresentDevice) -> float | None:
    """Return the clock if it is plausible; ``None`` otherwise.

    Apple's driver reports 1000 MHz for every GPU. Mesa reports 400 MHz for every Intel GPU, 512 for NVIDIA and 300 for
    its software renderer. Qualcomm's and Arm's drivers report 1 or 5 MHz.
    """
    of_apple = not present.is_cpu and _vendor(present) == "apple"
    if of_apple or (is_mesa(present) and _vendor(present) != "amd"):
        return None
    return present.clock_hz if _LEAST_CLOCK_HZ <= (present.clock_hz or 0) <= _MOST_CLOCK_HZ else None


def reports_highest_clock(present: PresentDevice) -> bool:
    """Whether the reported clock is the highest of this board: NVIDIA's and Intel's own drivers.

    AMD's drivers report the boost clock, the game clock or a lower one (1115 MHz for an RX 6700 XT).
    """
    return not present.is_cpu and present.platform.startswith(("NVIDIA CUDA", "Intel(R) OpenCL"))


def device_cache_bytes(present: PresentDevice) -> int | None:
    """Return the size of the device-wide cache; ``None`` if the driver does not report it.

    Intel's driver reports it. NVIDIA's reports the sum of all L1 caches, AMD's the size of one
    (AdaptiveCpp/AdaptiveCpp#929) or the L2 of one die (ROCm/ROCm#4203).
    """
    own = not present.is_cpu and present.platform.startswith("Intel(R) OpenCL")
    return cache_bytes(present) if own else None


def cache_bytes(present: PresentDevice) -> int | None:
    """Return the cache size that the driver reports, of whichever level."""
    return _up_to(_MOST_BYTES, present.global_cache_bytes)


def memory_bytes(present: PresentDevice) -> int | None:
    """Return the memory size, if reported."""
    return _up_to(_MOST_BYTES, present.global_memory_bytes)


def max_work_group(present: PresentDevice) -> int | None:
    """Return the maximum work-group size, if reported."""
    return _up_to(_MOST_WORK_ITEMS, present.max_work_group)


def wave_size(present: PresentDevice) -> int | None:
    """Return the wave size, if reported."""
    return _up_to(_MOST_WORK_ITEMS, present.wave_size or 0)


def limits(present: PresentDevice) -> dict[str, Value]:
    """Return the limits that a runtime sets."""
    values = {"occupancy.local_memory": queried(max(0.0, present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")}
    if (most := max_work_group(present)) is not None:
        values["max_work_group"] = queried(most, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
    return values


def link_values(generation: int | None, lanes: int | None) -> dict[str, Value]:
    """Return the values of the link that the system reports; none if it does not."""
    if not (generation and lanes):
        return {}
    known = {"kind": "pcie", "generation": generation, "lanes": lanes}
    source = "NVML or sysfs, highest link of device and machine"
    return {f"link.{key}": queried(value, source) for key, value in known.items()}


def _up_to(most: int, number: int) -> int | None:
    return number if 0 < number <= most else None


def _vendor(present: PresentDevice) -> str | None:
    return vendor(present.vendor)
