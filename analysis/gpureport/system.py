"""The operating system: what Linux, macOS and Windows do in different ways. No other module asks which one it is."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from subprocess import Popen

R = TypeVar("R")
NEW_GROUP = 0x200 if sys.platform == "win32" else 0  # CREATE_NEW_PROCESS_GROUP
"""Flag for a process that interrupts of the terminal do not reach; elsewhere one with a session of its own."""
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
_PRIVATE = 5  # column of /proc/self/statm: pages of data and stacks
_LIMITING = RLock()  # two threads would restore the limit of each other


def of_system(linux: R, macos: R, windows: R) -> R:
    """Return the value for this system; others count as Linux."""
    return {"darwin": macos, "win32": windows}.get(sys.platform, linux)


def is_console(stream: "TextIO | None") -> bool:
    """Return whether *stream* is a console of Windows: it takes all characters, but bytes only in its code page."""
    return sys.platform == "win32" and stream is not None and stream.isatty()


def usable_cores() -> frozenset[int]:
    """Return the logical cores that this process may use; macOS and Windows: all."""
    if sys.platform == "linux":
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def proc_is_missing(proc: Path = Path("/proc")) -> bool:
    """Whether this is Linux without ``/proc``: OpenCL runtimes for CPUs then find no memory or processor."""
    return sys.platform == "linux" and not (proc / "self").exists()


def ticks_per_s() -> int:
    """Return the resolution of times in ``/proc``."""
    if sys.platform == "win32":
        return 100  # never used: there is no /proc
    return os.sysconf("SC_CLK_TCK")


def open_folder(folder: Path) -> int:
    """Open a folder, but not a link to one, for :func:`lock`; Windows opens a file in it instead."""
    if sys.platform == "win32":
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


_LOCKED = PermissionError if sys.platform == "win32" else BlockingIOError  # by another process


def lock(handle: int) -> bool | None:
    """Lock an open file until it is closed; return whether no other process has, ``None`` if there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except _LOCKED:
        return False
    except OSError:  # some network file systems have none
        return None
    return True


def remove_locked(path: Path, handle: int) -> None:
    """Remove a file that this process has locked, if it can be, and close it."""
    if sys.platform == "win32":  # removes no open file, also none of another process
        os.close(handle)
    with suppress(OSError):  # the folder may have become read-only
        path.unlink(missing_ok=True)
    if sys.platform != "win32":
        os.close(handle)


def limit_bytes() -> float:
    """Return the limit of the address space in bytes; infinite without one."""
    if sys.platform == "win32":
        return inf
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return inf if limit == resource.RLIM_INFINITY else float(limit)


@contextmanager
def limited_growth(most_bytes: int) -> Iterator[None]:
    """Limit the memory that this process allocates in the context; only Linux can.

    Other threads wait before they set a limit. The limit is for all threads together. Threads that have not started
    need some megabytes each.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    with _LIMITING:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[_PRIVATE]) * resource.getpagesize()
        present = resource.getrlimit(resource.RLIMIT_DATA)
        limit = min(each for each in (used + most_bytes, *present) if each != resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, present[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, present)


def end_with_parent(parent: int) -> None:
    """Write no core file; end this process when its *parent* ends, or at once if it has ended."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    else:
        Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    import psutil

    with suppress(psutil.Error):
        psutil.Process(parent).wait()
    os._exit(1)


def kill(process: "Popen[bytes]") -> None:
    """Kill a process, which leads a group of its own, and those that it started."""
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
