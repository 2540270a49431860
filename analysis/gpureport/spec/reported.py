"""What a present device reports: the product in its names and ids, and plausible values among its answers. Pure."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from gpureport.spec.models import Device, Kind, PresentDevice
from gpureport.spec.resolve import Value, queried

_NOISE = re.compile(r"\((?:r|tm|c)\)|\[0x[0-9a-f]+\]|\b(?:nvidia|amd|intel|geforce|radeon|graphics|series)\b|[^a-z0-9]")
_VENDOR = re.compile(r"nvidia|advanced micro|amd|intel|apple|qualcomm|\barm\b", re.IGNORECASE)
_TARGET = re.compile(r"gfx[0-9a-f]{3,5}(?![0-9a-z])", re.IGNORECASE)
_FEATURE = re.compile(r":(sramecc|xnack)([+-])", re.IGNORECASE)
_AROUND = re.compile(
    r"^mesa (?=intel)"  # rusticl and clover on Intel
    r"|\s+\([^()]*\)$"  # Mesa: (radeonsi, navi31, LLVM 15.0.7, DRM 3.49, 6.1)
    r"|\s+mig [0-9].*$"  # NVIDIA: a slice
    r"|-(?:[0-9]-)?[0-9]+[abcq]$"  # NVIDIA: a virtual GPU, A40-8Q
    r"|\s+compute engine$"  # Apple's driver of AMD cards
    r"|\s+r[0-9]+p[0-9]+$",  # Arm: revision
    re.IGNORECASE,
)
_POCL = re.compile(r"^(?:pthread-|cpu-(?:[a-z0-9_.]+-)+)(?=[A-Z0-9])")
"""PoCL: the driver, LLVM's name of the microarchitecture, then the processor's name."""
_MIG = re.compile(r"\bMIG (?:[0-9]+c\.)?([0-9]+g\.([0-9]+)gb)\b", re.IGNORECASE)
_LEAST_CLOCK_HZ, _MOST_CLOCK_HZ = 50e6, 10e9
_MOST_UNITS, _MOST_WORK_ITEMS, _MOST_BYTES = 1 << 20, 1 << 29, 1 << 60
"""Larger values are ignored: some drivers report the largest number that they can."""
MEMORY_TOLERANCE = 0.12
"""ECC reserves up to 1/16 of a card's memory and the driver some of the rest: a T4 reports 14.6 GiB."""


def plain(name: str) -> str:
    """Remove vendor, brand, trade marks, blanks and punctuation from a name."""
    return _NOISE.sub("", name.lower()) or re.sub(r"[^a-z0-9]", "", name.lower())


def product(name: str) -> str:
    """Return the product's name, without the additions of drivers."""
    bare = _POCL.sub("", " ".join(name.split()))
    while (shorter := _AROUND.sub("", bare).strip()) not in (bare, ""):
        bare = shorter
    return bare


def vendor(text: str) -> str | None:
    """Return the vendor in one word; ``None`` if the text contains none."""
    found = _VENDOR.search(text)
    return found[0].lower().replace("advanced micro", "amd") if found else None


def mig_slice(name: str, memory_bytes: float) -> tuple[str, Fraction] | None:
    """Return the MIG slice in *name*, such as ``NVIDIA A100-SXM4-40GB MIG 1g.5gb``: its profile, and its share.

    The share is that of the memory, bandwidth and L2 of a card with *memory_bytes*. Slices have whole eighths of a card
    (A30 and RTX PRO 6000: quarters), see NVIDIA, MIG User Guide, supported profiles. The memory in the profile's name
    is rounded to GB.
    """
    if (found := _MIG.search(name)) is None:
        return None
    return found[1].lower(), Fraction(min(8, max(1, round(8 * int(found[2]) * 2**30 / memory_bytes))), 8)


def target(name: str) -> str | None:
    """Return AMD's instruction set: ``gfx90a`` of ``gfx90a:sramecc+:xnack-``, ``gfx906`` of ``gfx906+sram-ecc``."""
    found = _TARGET.match(name.strip())
    return found[0].lower() if found else None


def features(name: str) -> dict[str, str]:
    """Return the features of an AMD target: ``{"sramecc": "+", "xnack": "-"}``."""
    older = {"sramecc": "+"} if "+sram-ecc" in name else {}
    return older | {feature.lower(): sign for feature, sign in _FEATURE.findall(name)}


def same(one: str, other: str) -> bool:
    """Whether two names are of one product; AMD targets must agree in instruction set and common features."""
    if target(one) or target(other):
        ours, theirs = features(one), features(other)
        agree = all(theirs.get(feature, sign) == sign for feature, sign in ours.items() if feature != "xnack")
        return target(one) == target(other) and agree
    return _reduced(one) == _reduced(other)


@lru_cache(maxsize=4096)
def _reduced(name: str) -> str:
    return plain(product(name))


def same_kind(one: Kind, other: Kind) -> bool:
    """Whether both devices are CPUs, or neither."""
    return (one == "cpu") == (other == "cpu")


def agreement(one: str, other: str) -> int:
    """Return the number of features that two AMD targets have in common."""
    return len(features(one).items() & features(other).items())


def pci_id(present: PresentDevice) -> str | None:
    """Return ``vendor:device`` from an extension or the name (Intel: ``[0x1916]``)."""
    in_name = re.search(r"\[0x([0-9a-f]{4})\]", present.name, re.IGNORECASE)
    if present.pci_id is None and in_name and vendor(present.vendor) == "intel":
        return f"8086:{in_name[1].lower()}"
    return present.pci_id.lower() if present.pci_id else None


def keys(present: PresentDevice) -> tuple[tuple[str, str], ...]:
    """Return the identifiers of a device, most specific first: kind of identifier, and its text."""
    board = re.sub(r"^.*\[(?!0x)(.+)\]$", r"\1", present.board or "")
    # Qualcomm's version contains the model ("OpenCL 2.0 Adreno(TM) 630"); the name is the same for all models.
    adreno = re.search(r"Adreno.*", present.version) if vendor(present.vendor) == "qualcomm" else None
    identifiers = (
        ("PCI id", pci_id(present) or ""),
        ("board name", board),
        ("OpenCL name", present.name),
        ("OpenCL version", f"QUALCOMM {adreno[0]}" if adreno else ""),
    )
    return tuple((what, key) for what, key in identifiers if key.strip())


class Driver(NamedTuple):
    """What a driver reports correctly."""

    platform: str = ""
    """Beginning of the platform's name."""
    vendor: str = ""
    """Of the device; empty: any."""
    units: bool = True
    """The number of compute units."""
    counts_units: bool = False
    """Whether it counts the units of entries, not work-group processors of two or parts of units."""
    clock: bool = True
    highest_clock: bool = False
    """Whether the clock is the highest of this board. AMD's drivers report the boost clock, the game clock or a lower
    one (1115 MHz for an RX 6700 XT)."""
    cache: bool = False
    """The size of the device-wide cache. NVIDIA's driver reports the sum of all L1 caches, AMD's the size of one
    (AdaptiveCpp/AdaptiveCpp#929) or the L2 of one die (ROCm/ROCm#4203)."""


_RUNTIMES = (
    Driver("clvk", units=False),  # 1 for every device
    *(Driver(mesa, "amd", counts_units=True) for mesa in ("rusticl", "clover")),
    *(Driver(mesa, "nvidia", counts_units=True, clock=False) for mesa in ("rusticl", "clover")),  # 512 MHz
    # Subslices of Intel's GPUs and 400 MHz; 9999 units of Adreno; 8 units and 300 MHz of the software renderer.
    *(Driver(mesa, units=False, counts_units=True, clock=False) for mesa in ("rusticl", "clover")),
)
_OF_GPUS = (
    Driver(vendor="apple", clock=False),  # 1000 MHz
    Driver("nvidia cuda", highest_clock=True),
    Driver("intel(r) opencl", highest_clock=True, cache=True),
)


def driver(present: PresentDevice) -> Driver:
    """Return what the driver of a device reports correctly."""
    platform, maker = present.platform.lower(), vendor(present.vendor)
    known = _RUNTIMES if present.is_cpu else (*_RUNTIMES, *_OF_GPUS)
    fitting = (each for each in known if platform.startswith(each.platform) and each.vendor in ("", maker))
    return next(fitting, Driver())


def compute_units(present: PresentDevice) -> int | None:
    """Return the compute units; ``None`` if the runtime does not report them correctly."""
    return _up_to(_MOST_UNITS, present.compute_units) if driver(present).units else None


def whole_units(listed: Device, present: PresentDevice) -> tuple[int, ...]:
    """Return the numbers of units that the runtime may report for the whole *listed* device, likeliest first.

    AMD drivers count work-group processors (RDNA) or compute units; runtimes on CPUs count hardware threads, possibly
    one per core; Intel's runtime counts vector engines.
    """
    usual = listed.opencl_compute_units or listed.compute_units
    if driver(present).counts_units:
        return (listed.compute_units,)
    return (usual,) if vendor(listed.vendor) == "intel" else (usual, listed.compute_units)


def answers(present: PresentDevice) -> dict[str, Value]:
    """Return clock and memory size, where they are plausible: Qualcomm's and Arm's drivers report 1 or 5 MHz."""
    values = dict[str, Value]()
    if driver(present).clock and _LEAST_CLOCK_HZ <= (present.clock_hz or 0) <= _MOST_CLOCK_HZ:
        values["clock"] = queried(present.clock_hz, "CL_DEVICE_MAX_CLOCK_FREQUENCY")
    if size := _up_to(_MOST_BYTES, present.global_memory_bytes):
        values["memory.size"] = queried(float(size), "CL_DEVICE_GLOBAL_MEM_SIZE")
    return values


def device_cache(present: PresentDevice) -> Value | None:
    """Return the size of the device-wide cache; ``None`` if the driver does not report it."""
    size = _up_to(_MOST_BYTES, present.global_cache_bytes) if driver(present).cache else None
    return queried(float(size), "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE") if size else None


def wave_size(present: PresentDevice) -> int | None:
    """Return the wave size, if reported."""
    return _up_to(_MOST_WORK_ITEMS, present.wave_size or 0)


def limits(present: PresentDevice) -> dict[str, Value]:
    """Return the limits that a runtime sets."""
    values = {"occupancy.local_memory": queried(max(0.0, present.local_memory_bytes), "CL_DEVICE_LOCAL_MEM_SIZE")}
    if (most := _up_to(_MOST_WORK_ITEMS, present.max_work_group)) is not None:
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
