"""Atomic writing of files, reservations against other commands, and temporary folders."""

import atexit
import glob
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread

from gpureport.errors import GpuReportError
from gpureport.system import lock, open_folder, remove_locked

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and the request of the system or of a job scheduler to end."""
_PART = ".part"
_SCRATCH = "gpureport-tmp-"


class InUseError(Exception):
    """Another process is writing this file."""


def real_path(path: Path) -> Path:
    """Return *path* without symbolic links; unlike ``Path.resolve``, it allows loops of links."""
    return Path(os.path.realpath(path))


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file as :func:`write_files` does."""
    write_files({path: content})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files completely, even if the power fails, and none if a content cannot be stored; create their folders.

    Temporary files in the same folders get the contents, and then, uninterrupted, the names. Links stay links.

    Raises:
        GpuReportError: a file cannot be written.
    """
    parts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            real = real_path(path)
            parts[path] = real.with_name(f".{real.name}.{os.getpid()}{_PART}")
            with parts[path].open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())  # else the name may reach the disk before the content
        with uninterrupted():
            for path, part in parts.items():
                part.replace(real_path(path))
    except OSError as error:
        raise GpuReportError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        for part in parts.values():
            with suppress(OSError):  # a name that is too long cannot be removed either
                part.unlink(missing_ok=True)


def remove_files(*paths: Path) -> None:
    """Remove files of an earlier run; a GpuReportError if one cannot be removed."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise GpuReportError(f"{path}: cannot be replaced ({error.strerror})") from error


@contextmanager
def uninterrupted(waiting: Sequence[signal.Signals] = INTERRUPTS) -> Iterator[None]:
    """Let interrupts wait for the end of the context; then the earlier handlers get them.

    Other threads than the main one get none. Pydantic replaces an interrupt within a serialiser by an error of its own.
    """
    if not waiting or current_thread() is not main_thread():
        yield
        return
    number, *others = waiting
    arrived: list[int] = []
    before = signal.getsignal(number)
    try:
        signal.signal(number, lambda number, _: arrived.append(number))
        with uninterrupted(others):  # nested: an earlier handler that raises leaves none of the others replaced
            yield
    finally:
        signal.signal(number, before)
        for each in arrived[:1]:
            signal.raise_signal(each)


@contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Reserve *path* and files that differ only in the suffix, against other processes.

    The system ends the reservation with the process. Temporary files of killed processes are removed.

    Raises:
        InUseError: another process has reserved it.
        OSError: its folder cannot be written.
    """
    lock = path.with_name(f".{path.stem}.lock")
    handle = _locked(lock)
    try:
        for part in path.parent.glob(f".{glob.escape(path.stem)}.*{_PART}"):
            part.unlink(missing_ok=True)
        yield
    finally:
        remove_locked(lock, handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove those of killed processes; a GpuReportError if it cannot be created."""
    try:
        _remove_abandoned()
        folder, handle = _locked_folder()
    except OSError as error:
        raise GpuReportError(no_scratch(error)) from error
    try:
        yield folder
    finally:
        os.close(handle)  # first: Windows removes no open file
        shutil.rmtree(folder, ignore_errors=True)


def scratch_folder_until_exit() -> Path:
    """Create a temporary folder that is removed at exit; raises as :func:`scratch_folder`."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


def no_scratch(error: OSError) -> str:
    """Return the message that temporary files cannot be written, with reason and remedy."""
    return f"temporary files cannot be written ({error.strerror}); set TMPDIR to another folder"


def _locked(path: Path) -> int:
    """Open a file and lock it until it is closed, if the file system has locks; raise if another process has."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if lock(handle) is False:
            os.close(handle)
            raise InUseError
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)  # the process that had locked it has just removed it


def _locked_folder() -> tuple[Path, int]:
    """Create a temporary folder and lock it until the handle is closed, if the file system has locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH))
        with suppress(FileNotFoundError):  # another process removed it as abandoned before it was locked
            handle = open_folder(folder)
            if lock(handle) is not False and folder.exists():
                return folder, handle
            os.close(handle)


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            handle = open_folder(folder)
            try:
                abandoned = lock(handle)
                if abandoned:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
            if abandoned and folder.exists():  # Windows removes no open file
                shutil.rmtree(folder)
