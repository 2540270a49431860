"""Which of a device's answers to OpenCL queries can be believed. Pure."""

from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import vendor

_LEAST_CLOCK_HZ, _MOST_CLOCK_HZ = 50e6, 10e9
_MOST_UNITS, _MOST_WORK_ITEMS, _MOST_BYTES = 1 << 20, 1 << 29, 1 << 60
"""More is no answer: some drivers report the largest number that they can."""


def compute_units(present: PresentDevice) -> int | None:
    """Return the compute units; ``None`` where the runtime does not tell.

    clvk reports one for every device. Mesa tells those of AMD and NVIDIA; of an Intel GPU it counts subslices instead
    of execution units, Adreno has 9999, and its software renderer 8.
    """
    wrong = present.platform.lower() == "clvk" or (_is_mesa(present) and _vendor(present) not in ("amd", "nvidia"))
    return None if wrong else _up_to(_MOST_UNITS, present.compute_units)


def counts_whole_units(present: PresentDevice) -> bool:
    """Whether AMD's compute units are counted, as Mesa does, and not work-group processors of two (RDNA)."""
    return _is_mesa(present)


def whole_units(listed: Device, present: PresentDevice) -> tuple[int, ...]:
    """Return what the runtime may say of all of the *listed* device, the likeliest number first.

    Drivers of AMD count work-group processors (RDNA) or compute units, runtimes on CPUs hardware threads, of which
    there may be one a core; Intel's counts vector engines alone.
    """
    usual = listed.opencl_compute_units or listed.compute_units
    if counts_whole_units(present):
        return (listed.compute_units,)
    return (usual,) if vendor(listed.vendor) == "intel" else (usual, listed.compute_units)


def clock_hz(present: PresentDevice) -> float | None:
    """Return the clock if it can be one of the device's; ``None`` otherwise.

    Apple's driver says 1000 MHz of every GPU, Mesa 400 MHz of every Intel one, 512 of NVIDIA, 300 of its software
    renderer; Qualcomm's and Arm's say 1 or 5 MHz.
    """
    if present.kind != "cpu" and _vendor(present) == "apple":
        return None
    if _is_mesa(present) and _vendor(present) != "amd":
        return None
    plausible = present.clock_hz is not None and _LEAST_CLOCK_HZ <= present.clock_hz <= _MOST_CLOCK_HZ
    return present.clock_hz if plausible else None


def tells_highest_clock(present: PresentDevice) -> bool:
    """Whether the clock is the highest of this very board: what NVIDIA's and Intel's own drivers report.

    AMD's report the game clock or that of a lower state (1115 MHz of an RX 6700 XT) as well as the boost clock.
    """
    return present.kind != "cpu" and present.platform.startswith(("NVIDIA CUDA", "Intel(R) OpenCL"))


def device_cache_bytes(present: PresentDevice) -> int | None:
    """Return the size of the cache that serves the whole device; ``None`` where the driver does not tell it.

    Intel's does. NVIDIA's reports the sum of its first level and AMD's the size of one
    (AdaptiveCpp/AdaptiveCpp#929), or what one die has of the second (ROCm/ROCm#4203).
    """
    own = present.kind != "cpu" and present.platform.startswith("Intel(R) OpenCL")
    return cache_bytes(present) if own else None


def cache_bytes(present: PresentDevice) -> int | None:
    """Return the size of the cache that the driver means, whichever that is."""
    return _up_to(_MOST_BYTES, present.global_cache_bytes)


def memory_bytes(present: PresentDevice) -> int | None:
    """Return the size of the memory, if the driver tells one."""
    return _up_to(_MOST_BYTES, present.global_memory_bytes)


def max_work_group(present: PresentDevice) -> int | None:
    """Return the most work-items of a work-group, if the driver tells it."""
    return _up_to(_MOST_WORK_ITEMS, present.max_work_group)


def wave_size(present: PresentDevice) -> int | None:
    """Return the work-items of a wave, if the driver tells them."""
    return _up_to(_MOST_WORK_ITEMS, present.wave_size or 0)


def _up_to(most: int, number: int) -> int | None:
    return number if 0 < number <= most else None


def _is_mesa(present: PresentDevice) -> bool:
    return present.platform.lower() in ("rusticl", "clover")


def _vendor(present: PresentDevice) -> str | None:
    return vendor(present.vendor)
