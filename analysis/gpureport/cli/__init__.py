"""The command line: the only package that prints or exits."""

import errno
import os
import sys
from collections.abc import Sequence
from io import BufferedWriter, FileIO, TextIOWrapper
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, NoReturn

from gpureport.errors import GpuReportError, InputError, InterruptionError, collect_rarely, limit_remark

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ERRORS = 2  # descriptor of standard error


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
        code = InputError.exit_code if error.errno == errno.ENAMETOOLONG else GpuReportError.exit_code
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
    except typer.BadParameter as error:
        parameter = error.param
        assert parameter  # noqa: S101 - of a command
        name = " / ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.display_name_raw
        if error.message:
            return _fail(f"{name}: {requirement(error.message)}", error.exit_code)
        return _fail(
            f"the {parameter.param_type_name} {name} is missing; add it (--help shows examples)", error.exit_code
        )
    except TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context else ""
        return _fail(f"{error.format_message().rstrip('.')}{hint}", error.exit_code)
    if code == InterruptionError.exit_code:
        raise KeyboardInterrupt  # typer replaced it by a silent exit
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int) -> int:
    from gpureport.cli.console import message

    line = f"gpureport: {message(sentence)}"
    if sys.stderr.isatty():
        line = fill(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    sys.stderr.write(f"{line}\n")
    return code


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


def _text(number: int, before: object, errors: str) -> TextIOWrapper:
    binary = BufferedWriter(_Stream(number, "w", closefd=False))
    if not isinstance(before, TextIOWrapper):
        return TextIOWrapper(binary, "utf-8", errors)
    return TextIOWrapper(
        binary, before.encoding, errors, line_buffering=before.line_buffering, write_through=before.write_through
    )


def run() -> NoReturn:
    """Run the command line and exit; failures of the standard streams end no command.

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
    collect_rarely()
    sys.exit(main())
