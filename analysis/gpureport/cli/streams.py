"""Standard output and standard error that may be closed, or no longer writable."""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

from gpureport.errors import GpuReportError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ERRORS = 2


class _Stream(FileIO):
    """A standard stream that discards all output after the first failed write, so that the command continues."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some bytes.

        Raises:
            GpuReportError: standard output cannot be written, for another reason than a closed pipe.
        """
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if self.fileno() == _ERRORS or isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise GpuReportError(f"standard output cannot be written ({error.strerror})") from None


def provide_streams() -> None:
    """Replace the standard streams by ones whose failure ends no command.

    Closed streams are connected to the null device. Otherwise the next opened file would get their descriptor, and
    drivers would write messages into it. Characters outside the encoding of standard output are replaced.
    """
    for number in range(_ERRORS + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free descriptor
    sys.stdout = _text(1, sys.stdout, "replace")
    sys.stderr = _text(_ERRORS, sys.stderr, "backslashreplace")


def _text(number: int, before: object, errors: str) -> TextIOWrapper:
    binary = BufferedWriter(_Stream(number, "w", closefd=False))
    if not isinstance(before, TextIOWrapper):
        return TextIOWrapper(binary, "utf-8", errors)
    return TextIOWrapper(
        binary, before.encoding, errors, line_buffering=before.line_buffering, write_through=before.write_through
    )
