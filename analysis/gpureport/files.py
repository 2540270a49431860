"""Files that are written whole or not at all, by one command at a time; temporary folders that do not stay."""

import atexit
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gpureport.errors import GpuReportError

_PART = ".part"
_SCRATCH = "gpureport-tmp-"


class InUseError(Exception):
    """Another process writes this file."""


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, and its folder if need be: all of it, or nothing.

    The content goes to a temporary file in the same folder, which then takes the name. A link stays a link; what is no
    regular file (a pipe, ``/dev/stdout``) is written to directly.

    Raises:
        GpuReportError: it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path.resolve(), data)
    except OSError as error:
        raise GpuReportError(f"{path}: cannot be written ({error.strerror})") from error


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_files(*paths: Path) -> None:
    """Remove files that were written before, so that none stands beside those of another run.

    Raises:
        GpuReportError: one cannot be removed.
    """
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise GpuReportError(f"{path}: cannot be replaced ({error.strerror})") from error


@contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Keep other processes from reserving *path*, or files beside it that differ from it in the suffix only.

    The system ends the reservation with the process. What a process that was ended left half written is removed.

    Raises:
        InUseError: another process has reserved it.
        OSError: its folder cannot be written to.
    """
    lock = path.with_name(f".{path.stem}.lock")
    handle = _locked(lock)
    try:
        for part in path.parent.glob(f".{glob.escape(path.stem)}.*{_PART}"):
            part.unlink(missing_ok=True)
        yield
    finally:
        with suppress(OSError):  # the folder may have become read-only
            lock.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a temporary folder, and remove those that killed processes left behind.

    Raises:
        GpuReportError: none can be made.
    """
    try:
        _remove_abandoned()
        made = Path(tempfile.mkdtemp(prefix="gpureport-new-"))
        handle = os.open(made, os.O_RDONLY)
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        folder = made.rename(made.with_name(made.name.replace("gpureport-new-", _SCRATCH)))
    except OSError as error:
        raise GpuReportError(no_scratch(error)) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def scratch_folder_until_exit() -> Path:
    """Make a temporary folder that is removed when this process ends; raises as :func:`scratch_folder`."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


def no_scratch(error: OSError) -> str:
    """Say that temporary files cannot be written, why, and what would help."""
    return f"temporary files cannot be written ({error.strerror}); the variable TMPDIR selects another folder for them"


def _locked(path: Path) -> int:
    """Open a file, and lock it until it is closed, where the file system has locks.

    Raises:
        InUseError: another process has locked it.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise InUseError from None
        except OSError:  # some network file systems have no locks
            return handle
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)  # whoever had locked it has just removed it


def _remove_abandoned() -> None:
    """Remove folders that no process has locked any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(handle)
