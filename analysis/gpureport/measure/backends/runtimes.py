"""The OpenCL runtimes that are installed, and how a process loads one of them and no other.

A runtime is a library that an ICD file names. Loading only one keeps a broken runtime from disturbing the rest.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gpureport.errors import DeviceError
from gpureport.spec.models import PresentDevice

ANSWER_LIMIT_S = 30.0
"""Within which a runtime must answer, seconds: loading a large driver and compiling take up to five."""
SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_LONGEST_ICD_BYTES = 4096
_BESIDE_LOADER = ".libs"
_loaded: list["Runtime"] = []


@dataclass(frozen=True)
class Runtime:
    """An OpenCL runtime.

    Attributes:
        library: its path or its soname; empty: whatever the loader finds by itself.
        source: what names it, for messages: an ICD file, or a variable of the environment.
        problem: why the ICD file names no library; ``None``: it names one.
    """

    library: str
    source: str = ""
    problem: str | None = None

    def __str__(self) -> str:
        """Name what a user can change."""
        return self.source or self.library or "the OpenCL loader"

    @property
    def of_wheel(self) -> bool:
        """Whether it lies beside the loader in pyopencl's wheel, where the wheels of PoCL and oclgrind put theirs."""
        return Path(self.library).parent.name == _BESIDE_LOADER

    def environment(self) -> dict[str, str]:
        """Return the variables with which both common loaders (ocl-icd, Khronos) load this runtime alone."""
        return {"OCL_ICD_VENDORS": self.library, "OCL_ICD_FILENAMES": self.library} if self.library else {}

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Let the loader of this process find this runtime alone: it reads the variables once, when it is first used.

        Raises:
            DeviceError: the process has loaded another runtime.
        """
        if _loaded and _loaded[0].library != self.library:
            raise DeviceError(f"this process has loaded another OpenCL runtime ({_loaded[0]})")
        before = {name: os.environ.get(name) for name in self.environment()}
        os.environ.update(self.environment())
        _loaded[:] = [self]
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@dataclass(frozen=True)
class RuntimeDevice:
    """A device that is present.

    Attributes:
        device: what its runtime reports; its index counts over all runtimes.
        runtime: that offers it.
        position: among the devices of its runtime.
    """

    device: PresentDevice
    runtime: Runtime
    position: int


def installed_runtimes() -> tuple[Runtime, ...]:
    """Return the runtimes that ICD files name: those of the system first, then those of this Python environment.

    The variables of the common loaders count: ``OCL_ICD_VENDORS`` (a folder, an ICD file or a library) and
    ``OPENCL_VENDOR_PATH`` replace the system's folder, ``OCL_ICD_FILENAMES`` adds libraries. Where the system has no
    ICD files (macOS, Windows) there is one runtime, whatever its loader finds.
    """
    if sys.platform != "linux":
        return (Runtime(""),)
    asked = os.environ.get("OCL_ICD_VENDORS", "")
    if asked and not _is(os.path.isdir, asked):
        told = f"OCL_ICD_VENDORS={asked}"
        return (_named_by(Path(asked)) if asked.endswith(".icd") else Runtime(asked, told),)
    listed = filter(None, os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep))
    libraries = (Runtime(library, f"OCL_ICD_FILENAMES={library}") for library in listed)
    system = _of_folder(Path(asked or os.environ.get("OPENCL_VENDOR_PATH", "") or SYSTEM_VENDORS))
    found: dict[str, Runtime] = {}
    for runtime in (*libraries, *system, *_of_wheels(), *_of_environment()):
        found.setdefault(runtime.library or str(runtime), runtime)
    return tuple(found.values())


def _is(kind: Callable[[str], bool], path: str) -> bool:
    """Say whether a path is of a kind; not if it cannot be looked at."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _of_folder(folder: Path) -> Iterator[Runtime]:
    for path in _icd_files(folder):
        yield _named_by(path)


def _icd_files(folder: Path) -> Iterable[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".icd")
    except (OSError, ValueError):
        return ()


def _of_wheels() -> Iterator[Runtime]:
    """Yield what lies beside the loader in pyopencl's wheel."""
    package = find_spec("pyopencl")
    for place in (package.submodule_search_locations or ()) if package else ():
        for path in _icd_files(Path(place) / _BESIDE_LOADER):
            runtime = _named_by(path)
            beside = path.with_name(Path(runtime.library).name or path.name)
            yield Runtime(str(beside), str(path)) if runtime.library and _is(os.path.isfile, str(beside)) else runtime


def _of_environment() -> Iterator[Runtime]:
    """Yield what lies in the environment's own folder of ICD files, where conda and Intel's wheel put theirs.

    Intel's wheel names its libraries in the folder of the machine that built it, and names one that it lacks.
    """
    for path in _icd_files(Path(sys.prefix) / "etc" / "OpenCL" / "vendors"):
        named = _named_by(path).library
        here = (named, os.path.join(sys.prefix, "lib", os.path.basename(named)))  # noqa: PTH118, PTH119 - not ours
        library = next((each for each in here if named and _is(os.path.isfile, each)), None)
        if library:
            yield Runtime(library, str(path))


def _named_by(path: Path) -> Runtime:
    """Return the runtime that an ICD file names."""
    if not _is(os.path.isfile, str(path)):
        return Runtime("", str(path), "the file cannot be read")
    try:
        with path.open("rb") as file:
            lines = file.read(_LONGEST_ICD_BYTES).decode(errors="replace").splitlines()
    except OSError as error:
        return Runtime("", str(path), f"the file cannot be read ({error.strerror})")
    library = lines[0].strip() if lines else ""
    if not library.isprintable():
        return Runtime("", str(path), "the file is no text that names a library")
    return Runtime(library, str(path)) if library else Runtime("", str(path), "the file names no library")
