"""The command line: the only package that prints or exits."""

import errno
import os
import re
import sys
from collections.abc import Sequence
from io import BufferedWriter, FileIO, TextIOWrapper
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

from gpureport.errors import GpuReportError, InputError, InterruptionError, collect_rarely, limit_remark
from gpureport.system import is_console

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LONGEST = 1500
"""Characters of an error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on *arguments* (``sys.argv`` for ``None``) and return its exit code.

    0: success. 1: failure, or wrong results of a kernel. 2: wrong argument, file or field. 3: regression (``compare``).
    130: interrupted.
    """
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
        return code
    except GpuReportError as error:
        return _fail(str(error), error.exit_code)
    except MemoryError:
        return _fail(f"there is not enough memory{limit_remark()}", GpuReportError.exit_code)
    except ImportError as error:
        return _fail(f"a library cannot be loaded ({error}){limit_remark()}", GpuReportError.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        of_user = error.errno in (errno.ENAMETOOLONG, errno.EACCES)  # a name that the user gave
        code = InputError.exit_code if of_user else GpuReportError.exit_code
        return _fail(f"{where}{error.strerror or error}{limit_remark()}", code)
    except KeyboardInterrupt:
        return _fail("interrupted", InterruptionError.exit_code)


def _invoke(arguments: list[str]) -> int:
    import typer
    from typer.exceptions import TyperException

    from gpureport.cli.app import app
    from gpureport.text import requirement

    try:
        code = app(args=arguments, prog_name="gpureport", standalone_mode=False)
    except TyperException as error:
        if isinstance(error, typer.BadParameter) and error.message and (parameter := error.param):
            name = " / ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.display_name_raw
            return _fail(f"{name}: {requirement(error.message)}", error.exit_code)
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return _fail(f"{error.format_message().rstrip('.')}{hint}", error.exit_code)
    if code == InterruptionError.exit_code:
        raise KeyboardInterrupt  # typer replaced it by a silent exit
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int) -> int:
    from gpureport.text import shorten

    line = f"gpureport: {shorten(sentence, LONGEST)}"
    if sys.stderr.isatty():
        line = fill(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    sys.stderr.write(f"{line}\n")
    return code


class _Stream(FileIO):
    """A standard stream that discards all output after the first failed write, so that the command continues."""

    failure: OSError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return memoryview(data).nbytes


def run() -> int:
    """Run the command line and return its exit code; failures of the standard streams end no command.

    Closed streams are connected to the null device. Otherwise the next opened file would get their descriptor, and
    drivers would write messages into it. Characters outside the encoding of standard output are replaced.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free descriptor
    output, messages = (_Stream(number, "w", closefd=False) for number in (1, 2))
    encodings = [stream.encoding if stream else "utf-8" for stream in (sys.stdout, sys.stderr)]
    if not is_console(sys.stdout):
        sys.stdout = TextIOWrapper(BufferedWriter(output), encodings[0], "replace", line_buffering=True)
    if not is_console(sys.stderr):
        sys.stderr = TextIOWrapper(BufferedWriter(messages), encodings[1], "backslashreplace", line_buffering=True)
    os.environ["MPLBACKEND"] = "agg"  # that of a notebook is not installed here, and matplotlib would not load
    for name in ("COLUMNS", "LINES"):
        if not re.fullmatch("0*[1-9][0-9]{0,5}", os.environ.get(name, "")):
            os.environ.pop(name, None)  # rich would fail, or print nothing
    collect_rarely()
    code = main()
    sys.stdout.flush()
    if output.failure and not isinstance(output.failure, BrokenPipeError):
        code = _fail(f"standard output cannot be written ({output.failure.strerror})", code or GpuReportError.exit_code)
    return code
