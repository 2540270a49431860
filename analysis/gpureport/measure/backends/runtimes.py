"""The installed OpenCL runtimes, and what makes a process load only one of them.

A runtime is a library that is listed in an ICD file. A process that loads only one is not affected by other, broken
runtimes.
"""
# ruff: noqa: PTH112, PTH113 - os.path returns False for paths that cannot be accessed; pathlib raises errors

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpureport.spec import drivers
from gpureport.system import of_system

if TYPE_CHECKING:
    from gpureport.spec.models import PresentDevice

ANSWER_LIMIT_S = 30.0
"""Time limit for an answer of a runtime, seconds: loading a large driver and compiling take up to five."""
SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_KINDS = ("gpu", "accelerator", "cpu")
_LONGEST_ICD_BYTES = 4096
_BESIDE_LOADER = ".libs"


class Runtime(NamedTuple):
    """An OpenCL runtime."""

    library: str
    """Its path or its soname; empty: the runtimes that the loader finds by itself."""
    source: str = ""
    """The ICD file or environment variable that contains its name, for messages."""
    problem: str | None = None
    """Why no library can be read from the ICD file; ``None``: one can."""

    def __str__(self) -> str:
        return self.source or self.library or "the OpenCL loader"

    @property
    def of_wheel(self) -> bool:
        """Whether it is in the loader's folder of pyopencl's wheel, as the wheels of PoCL and oclgrind install it."""
        return Path(self.library).parent.name == _BESIDE_LOADER

    def environment(self) -> dict[str, str]:
        """Return variables that make both common loaders (ocl-icd, Khronos) load only this runtime."""
        return {"OCL_ICD_VENDORS": self.library, "OCL_ICD_FILENAMES": self.library} if self.library else {}


@dataclass(frozen=True)
class RuntimeDevice:
    """A device that is present; its index counts over all runtimes, *position* within its own."""

    device: "PresentDevice"
    runtime: Runtime
    position: int


def installed_runtimes() -> tuple[Runtime, ...]:
    """Return the runtimes from ICD files: those of the system first, then those of this Python environment.

    The variables of the common loaders are respected: ``OCL_ICD_VENDORS`` (a folder, an ICD file or a library) and
    ``OPENCL_VENDOR_PATH`` replace the system's folder, ``OCL_ICD_FILENAMES`` adds libraries. Systems without ICD files
    (macOS, Windows) have one runtime: the one that the loader finds.
    """
    if of_system(linux=False, macos=True, windows=True):
        return (Runtime(""),)
    vendors = os.environ.get("OCL_ICD_VENDORS", "")
    if vendors and not os.path.isdir(vendors):
        return (
            _from_file(Path(vendors)) if vendors.endswith(".icd") else Runtime(vendors, f"OCL_ICD_VENDORS={vendors}"),
        )
    listed = filter(None, os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep))
    libraries = (Runtime(library, f"OCL_ICD_FILENAMES={library}") for library in listed)
    system = map(_from_file, _icd_files(Path(vendors or os.environ.get("OPENCL_VENDOR_PATH", "") or SYSTEM_VENDORS)))
    found: dict[str, Runtime] = {}
    for runtime in (*libraries, *system, *_from_wheels(), *_from_environment()):
        found.setdefault(runtime.library or str(runtime), runtime)
    return tuple(found.values())


def _icd_files(folder: Path) -> Iterable[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".icd")
    except (OSError, ValueError):
        return ()


def _from_wheels() -> Iterator[Runtime]:
    package = find_spec("pyopencl")
    for place in (package.submodule_search_locations or ()) if package else ():
        for path in _icd_files(Path(place) / _BESIDE_LOADER):
            runtime = _from_file(path)
            beside = path.with_name(Path(runtime.library).name or path.name)
            yield Runtime(str(beside), str(path)) if runtime.library and os.path.isfile(beside) else runtime


def _from_environment() -> Iterator[Runtime]:
    """Yield the runtimes in the environment's own folder of ICD files, used by conda and Intel's wheel.

    The ICD files of Intel's wheel contain paths on the machine that built it, and one library that it lacks.
    """
    for path in _icd_files(Path(sys.prefix) / "etc" / "OpenCL" / "vendors"):
        listed = _from_file(path).library
        places = (listed, os.path.join(sys.prefix, "lib", os.path.basename(listed)))  # noqa: PTH118, PTH119 - not ours
        if library := next((each for each in places if listed and os.path.isfile(each)), None):
            yield Runtime(library, str(path))


def _from_file(path: Path) -> Runtime:
    if not os.path.isfile(path):
        return Runtime("", str(path), "the file cannot be read")
    try:
        with path.open("rb") as file:
            lines = file.read(_LONGEST_ICD_BYTES).decode(errors="replace").splitlines()
    except OSError as error:
        return Runtime("", str(path), f"the file cannot be read ({error.strerror})")
    library = lines[0].strip() if lines else ""
    if not library.isprintable():
        return Runtime("", str(path), "the file is not a text with the name of a library")
    return Runtime(library, str(path)) if library else Runtime("", str(path), "the file contains no name of a library")


def preference(device: "PresentDevice") -> tuple[float, ...]:
    """Return a key that sorts the best device first.

    If several runtimes list one CPU, the newest PoCL comes first. This follows from quick runs of PoCL 3.0, 3.1 and 6.0
    and of Intel's 2026.2 on an EPYC (family 26) and a Xeon (model 207): PoCL 6.0 is the fastest in most families, by up
    to six times. PoCL 3 and Intel's lead in half of the families each, PoCL in the memory-bound ones (by 1.1 to 1.3
    times).
    """
    kind = _KINDS.index(device.kind)
    if not device.on_host:
        return kind, -device.compute_units * (device.clock_hz or 1.0)
    version = drivers.version(device.driver) if device.implementation.preferred else ()
    return kind, *(-float(part) for part in (*version, 0, 0)[:2]), -device.compute_units
