"""Vendors of devices and their OpenCL implementations: how they write names, and what their answers mean.

``tables/drivers.yaml`` has the rows. Nothing else depends on who made a device or a driver: other code asks for the
properties of their rows.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from gpureport.inputs import shipped_table

CpuCompiler = Literal["pocl", "intel"]
_ANY = re.compile("")
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?")


class Maker(NamedTuple):
    """A vendor of devices."""

    name: str = ""
    """In one word; empty: any other vendor."""
    written: re.Pattern[str] = _ANY
    """Pattern of its name, as drivers and entries write it, in lower case."""
    pci_vendor: str = ""
    """Of its PCI ids, if its drivers write the other half into names of devices: ``[0x1916]``."""
    model: re.Pattern[str] | None = None
    """Pattern of the model in ``CL_DEVICE_VERSION``, if the name is the same for all models."""
    software: Literal["CUDA", "ROCm"] = "CUDA"
    """What runs kernels of PyTorch on its devices."""
    halves: str = ""
    """How kernels compute with packed half-precision numbers, if its OpenCL C lacks them."""
    own_names: re.Pattern[str] = _ANY
    """Pattern of product names that only one board has."""
    own_ids: re.Pattern[str] = _ANY
    """Pattern of the names of boards whose PCI ids no other board has."""


@lru_cache(maxsize=4096)
def maker(text: str) -> Maker:
    """Return the first vendor in a *text*: of a driver, an entry or CPUID (``GenuineIntel``)."""
    found = ((match.start(), each) for each in _TABLE.makers if (match := each.written.search(text.lower())))
    return min(found, default=(0, Maker()))[1]


def version(driver: str) -> tuple[int, ...]:
    """Return the one or two numbers at the beginning of a driver's version: (3, 1) of ``3.1+debian``."""
    found = _VERSION.match(driver)
    return tuple(int(number) for number in found.groups() if number) if found else ()


class Implementation(NamedTuple):
    """An OpenCL implementation, and what it reports correctly."""

    platforms: tuple[str, ...] = ("",)
    """Beginnings of the platform's name, in lower case."""
    maker: str = ""
    """Vendor of the device; empty: any."""
    on_cpus: bool = True
    """Whether the row is also for CPUs."""
    name: str = ""
    """Its usual name, if not the platform's; its version is that of the driver."""
    options: str = ""
    """Build options with which its compiler reports what is needed, and prints nothing."""
    links_kernels: bool = False
    """Whether it links each kernel for a CPU to a library, with the system's linker."""
    cpu_compiler: CpuCompiler | None = None
    """Its compiler for CPUs (:mod:`gpureport.spec.compilers`); ``None``: not known."""
    preferred: bool = False
    """Whether its newest version comes first of all implementations for one CPU."""
    units: bool = True
    """Whether the number of compute units is correct."""
    counts_units: bool = False
    """Whether it counts the units of entries, not work-group processors of two or parts of units."""
    clock: bool = True
    clock_of_system: bool = False
    """Whether the clock of a CPU is the one that Linux lists; if none is listed, PoCL reports BogoMIPS on Arm."""
    highest_clock: bool = False
    """Whether the clock is the highest of this board. AMD's drivers report the boost clock, the game clock or a lower
    one (1115 MHz for an RX 6700 XT)."""
    cache: bool = False
    """The size of the device-wide cache. NVIDIA's driver reports the sum of all L1 caches, AMD's the size of one
    (AdaptiveCpp/AdaptiveCpp#929) or the L2 of one die (ROCm/ROCm#4203)."""


class _Table(NamedTuple):
    software: re.Pattern[str]
    makers: tuple[Maker, ...]
    implementations: tuple[Implementation, ...]


_TABLE = shipped_table("drivers", _Table)
SOFTWARE = _TABLE.software
"""In names of devices that are programs."""


@lru_cache(maxsize=4096)
def implementation(platform: str, vendor: str, *, of_cpu: bool) -> Implementation:
    """Return the implementation of a *platform* for devices of a *vendor*."""
    fitting = (
        each
        for each in _TABLE.implementations
        if platform.lower().startswith(each.platforms)
        and each.maker in ("", maker(vendor).name)
        and (each.on_cpus or not of_cpu)
    )
    return next(fitting, Implementation())
