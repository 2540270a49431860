"""What a present device reports: the product in its names and ids, and plausible values among its answers. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gpureport.spec import drivers
from gpureport.spec.models import Device, Kind, PresentDevice
from gpureport.spec.values import Value, queried

_NOISE = re.compile(r"\((?:r|tm|c)\)|\[0x[0-9a-f]+\]|\b(?:nvidia|amd|intel|geforce|radeon|graphics|series)\b|[^a-z0-9]")
_NO_LETTER = re.compile(r"[^a-z0-9]")
_TARGET = re.compile(r"\s*(gfx[0-9a-f]{3,5})(?![0-9a-z])", re.IGNORECASE)
_FEATURE = re.compile(r":(sramecc|xnack)([+-])|([+-])(sram-ecc|xnack)", re.IGNORECASE)
_AROUND = re.compile(
    r"^mesa (?=intel)"  # rusticl and clover on Intel
    r"|\s+\([^()]*\)$"  # Mesa: (radeonsi, navi31, LLVM 15.0.7, DRM 3.49, 6.1)
    r"|\s+mig [0-9].*$"  # NVIDIA: a slice
    r"|-(?:[0-9]-)?[0-9]+[abcq]$"  # NVIDIA: a virtual GPU, A40-8Q
    r"|\s+compute engine$"  # Apple's driver of AMD cards
    r"|\s+r[0-9]+p[0-9]+$",  # Arm: revision
    re.IGNORECASE,
)
_POCL = re.compile(r"^(?:pthread-|cpu-(?:[a-z0-9_.]+-)+)(?=[A-Z1-9]|0(?!x))")
"""PoCL: the driver, LLVM's name of the microarchitecture, then the processor's name, but not an Arm part's number."""
_MIG = re.compile(r"\bMIG (?:[0-9]+c\.)?([0-9]+g\.([0-9]+)gb)\b", re.IGNORECASE)
_PCI_DEVICE = re.compile(r"\[0x([0-9a-f]{4})\]", re.IGNORECASE)
_BOARD = re.compile(r".*\[(?!0x)(.+)\]")
LAST_CACHE = "last cache"
"""In place of the path of the device-wide cache."""
LIMITS, SIZES = ("occupancy.local_memory", "max_work_group"), ("memory.size", "clock")
_MOST_UNITS = 1 << 20
_QUERIES = {
    "clock": ("clock_hz", 50e6, 10e9, "CL_DEVICE_MAX_CLOCK_FREQUENCY"),
    "memory.size": ("global_memory_bytes", 1, 1 << 60, "CL_DEVICE_GLOBAL_MEM_SIZE"),
    LAST_CACHE: ("global_cache_bytes", 1, 1 << 60, "CL_DEVICE_GLOBAL_MEM_CACHE_SIZE"),
    "occupancy.local_memory": ("local_memory_bytes", 1, 1 << 60, "CL_DEVICE_LOCAL_MEM_SIZE"),
    "max_work_group": ("max_work_group", 1, 1 << 29, "CL_DEVICE_MAX_WORK_GROUP_SIZE"),
    "wave_size": ("wave_size", 1, 1 << 29, "sub-group, warp or wavefront size"),
}
"""Field, range and query of reported values. Some drivers report the largest number that they can."""
WITH_ECC = 15 / 16
"""The most of a card's memory that is left by error correction whose bits are in the same memory."""
MEMORY_TOLERANCE = 0.12
"""ECC reserves up to 1/16 of a card's memory and the driver some of the rest: a T4 reports 14.6 GiB."""


class DeviceName(NamedTuple):
    """The parts of a device's name."""

    product: str
    """The product's name, without the additions of drivers."""
    plain: str
    """See :func:`plain`."""
    target: str | None
    """AMD's instruction set: ``gfx90a`` of ``gfx90a:sramecc+:xnack-``, ``gfx906`` of ``gfx906+sram-ecc``."""
    features: Mapping[str, str]
    """Of an AMD target: ``{"sramecc": "+", "xnack": "-"}``."""
    mig: tuple[str, int] | None
    """Of ``NVIDIA A100-SXM4-40GB MIG 1g.5gb``: the profile of the slice, and its memory, rounded to GB."""
    pci_device: str | None
    """Of ``Intel(R) HD Graphics [0x1916]``: the second half of the PCI id."""


@lru_cache(maxsize=4096)
def name_of(text: str) -> DeviceName:
    """Read the name of a device, as drivers and entries write it."""
    product = _POCL.sub("", " ".join(text.split()))
    while (shorter := _AROUND.sub("", product).strip()) not in (product, ""):
        product = shorter
    target, mig, device = _TARGET.match(text), _MIG.search(text), _PCI_DEVICE.search(text)
    return DeviceName(
        product,
        plain(product),
        target[1].lower() if target else None,
        {(new or old).lower().replace("-", ""): after or before for new, after, before, old in _FEATURE.findall(text)},
        (mig[1].lower(), int(mig[2])) if mig else None,
        device[1].lower() if device else None,
    )


def plain(name: str) -> str:
    """Remove vendor, brand, trade marks, blanks and punctuation from a name."""
    return _NOISE.sub("", name.lower()) or _NO_LETTER.sub("", name.lower())


def same(one: str, other: str) -> bool:
    """Whether two names are of one product; AMD targets must agree in instruction set and common features."""
    ours, theirs = name_of(one), name_of(other)
    if not (ours.target or theirs.target):
        return ours.plain == theirs.plain
    differing = {name for name, sign in ours.features.items() if theirs.features.get(name, sign) != sign}
    return ours.target == theirs.target and differing <= {"xnack"}


def same_kind(one: Kind, other: Kind) -> bool:
    """Whether both devices are CPUs, or neither."""
    return (one == "cpu") == (other == "cpu")


def pci_id(present: PresentDevice) -> str | None:
    """Return ``vendor:device`` from an extension or the name."""
    if present.pci_id:
        return present.pci_id.lower()
    device, vendor = name_of(present.name).pci_device, drivers.maker(present.vendor).pci_vendor
    return f"{vendor}:{device}" if device and vendor else None


def keys(present: PresentDevice) -> tuple[tuple[str, str], ...]:
    """Return the identifiers of a device, most specific first: kind of identifier, and its text."""
    board, maker = _BOARD.fullmatch(present.board or ""), drivers.maker(present.vendor)
    model = maker.model.search(present.version) if maker.model else None
    identifiers = (
        ("PCI id", pci_id(present) or ""),
        ("board name", board[1] if board else present.board or ""),
        ("OpenCL name", present.name),
        ("OpenCL version", f"{maker.name.upper()} {model[0]}" if model else ""),
    )
    return tuple((what, key) for what, key in identifiers if key.strip())


def compute_units(present: PresentDevice) -> int | None:
    """Return the compute units; ``None`` if the runtime does not report them correctly."""
    return present.compute_units if present.implementation.units and 0 < present.compute_units <= _MOST_UNITS else None


def whole_units(listed: Device, present: PresentDevice) -> tuple[int, ...]:
    """Return the numbers of units that the runtime may report for the whole *listed* device, likeliest first.

    AMD drivers count work-group processors (RDNA) or compute units; runtimes on CPUs count hardware threads, possibly
    one per core. Parts of a GPU's units (Intel's vector engines) are never counted otherwise.
    """
    usual = listed.opencl_compute_units or listed.compute_units
    if present.implementation.counts_units:
        return (listed.compute_units,)
    counts_parts = usual > listed.compute_units and not listed.architecture.on_host
    return (usual,) if counts_parts else (usual, listed.compute_units)


def answers(present: PresentDevice, *paths: str) -> dict[str, Value]:
    """Return those of the values at *paths* that the device reports, correctly and plausibly.

    Qualcomm's and Arm's drivers report clocks of 1 or 5 MHz.
    """
    trusted = {"clock": present.implementation.clock, LAST_CACHE: present.implementation.cache}
    found = {}
    for path in paths:
        field, least, most, query = _QUERIES[path]
        if trusted.get(path, True) and least <= (answer := getattr(present, field) or 0) <= most:
            found[path] = queried(answer, query)
    return found


def link_values(generation: int | None, lanes: int | None) -> dict[str, Value]:
    """Return the values of the link that the system reports; none if it does not."""
    if not (generation and lanes):
        return {}
    known = {"kind": "pcie", "generation": generation, "lanes": lanes}
    source = "NVML or sysfs, highest link of device and machine"
    return {f"link.{key}": queried(value, source) for key, value in known.items()}
