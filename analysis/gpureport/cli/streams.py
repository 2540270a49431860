"""Standard output and standard error that may be closed, full, or read by nobody any more."""

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

from gpureport.errors import GpuReportError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ERRORS = 2


class _Stream(FileIO):
    """A standard stream that takes the rest in silence once it cannot be written, so that the command goes on."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some bytes.

        Raises:
            GpuReportError: results cannot be written, although somebody wants them. Messages are not worth a failure.
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
    """Put streams in place that end no command, whatever becomes of them.

    Closed ones lead nowhere: else the next file that is opened would take their number, and drivers would write to it.
    Characters that the encoding of standard output lacks are replaced.
    """
    for number in range(_ERRORS + 1):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest number that is free
    sys.stdout = _text(1, sys.stdout, "replace")
    sys.stderr = _text(_ERRORS, sys.stderr, "backslashreplace")


def _text(number: int, before: object, errors: str) -> TextIOWrapper:
    binary = BufferedWriter(_Stream(number, "w", closefd=False))
    if not isinstance(before, TextIOWrapper):
        return TextIOWrapper(binary, "utf-8", errors)
    return TextIOWrapper(
        binary, before.encoding, errors, line_buffering=before.line_buffering, write_through=before.write_through
    )
