"""PoCL's compiled kernel libraries, and the cache folder to which it writes them.

At the first launch with a work-group size, PoCL builds a library for this size as
``<cache>/<program>/<kernel>/<x>-<y>-<z>[-…]/<kernel>.so``, and loads it into this process. A query of the program's
binary would build other libraries, for any size, which never run. Linux only: elsewhere no library is found.
"""

import os
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from gpureport.files import scratch_folder_until_exit

_MAPS = Path("/proc/self/maps")


def provide_cache() -> None:
    """Set a temporary cache folder if PoCL cannot write to its own: it would then list no device.

    Raises:
        GpuReportError: no temporary folder can be created.
    """
    if not _is_writable(_cache()):
        os.environ["POCL_CACHE_DIR"] = str(scratch_folder_until_exit())


def _cache() -> Path:
    """Return the cache folder that PoCL uses."""
    own, caches, home = (os.environ.get(name) for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "HOME"))
    return Path(own) if own else Path(caches or (f"{home}/.cache" if home else "/tmp"), "pocl", "kcache")  # noqa: S108


def _is_writable(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK | os.X_OK)
    return False


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
        folder = self._folders.get(program)
        if folder is None:
            return b""
        built = [path for path in folder.glob(f"{kernel}/*/{kernel}.so") if _is_of(path, kernel, local_size)]
        try:
            return max(built, key=lambda path: path.stat().st_mtime).read_bytes() if built else b""
        except OSError:
            return b""

    def _mapped(self) -> list[Path]:
        try:
            lines = self._maps.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        names = {line.split(maxsplit=5)[5] for line in lines if line.endswith(".so")}
        return [Path(name) for name in names]


def _is_of(library: Path, kernel: str, local_size: tuple[int, ...]) -> bool:
    size = "-".join(str(length) for length in (*local_size, 1, 1, 1)[:3])
    folder = library.parent
    return library.stem == folder.parent.name == kernel and f"{folder.name}-".startswith(f"{size}-")
