"""The command line: the only package that prints or exits."""

import errno
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from gpureport.cli.streams import provide_streams
from gpureport.errors import GpuReportError, InputError
from gpureport.memory import limit_remark

INTERRUPTED = 130
_LONGEST_NAME = 120  # letters of a file's name that an error repeats


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on *arguments* (``sys.argv`` for ``None``) and return its exit code.

    0: done. 1: it was tried and failed, or a kernel gave wrong results. 2: an argument, a file or a field is wrong.
    130: interrupted.
    """
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except GpuReportError as error:
        return _complain(str(error), error.exit_code)
    except MemoryError:
        return _complain(f"there is not enough memory{limit_remark()}", GpuReportError.exit_code)
    except ImportError as error:
        return _complain(f"a library cannot be loaded ({error}){limit_remark()}", GpuReportError.exit_code)
    except OSError as error:
        where = f"{str(error.filename)[:_LONGEST_NAME]}: " if error.filename is not None else ""
        code = InputError.exit_code if error.errno == errno.ENAMETOOLONG else GpuReportError.exit_code
        return _complain(f"{where}{error.strerror or error}{limit_remark()}", code)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)


def _invoke(arguments: Sequence[str] | None) -> int:
    from typer.exceptions import TyperException

    from gpureport.cli.app import app

    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="gpureport", standalone_mode=False)
    except TyperException as error:
        return _complain(error.format_message().replace("Value error, ", ""), error.exit_code)
    if code == INTERRUPTED:
        raise KeyboardInterrupt  # typer had made a silent exit of it
    return code if isinstance(code, int) else 0


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"gpureport: {' '.join(sentence.split())}\n")
    return code


def run() -> NoReturn:
    """Run the command line and exit."""
    provide_streams()
    # Classes, records and reports stay: looking for garbage among them again and again takes a sixth of a command.
    gc.set_threshold(1_000_000, 20, 20)
    sys.exit(main())
