"""The command line: the only package that prints or exits."""

import errno
import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import fill
from typing import NoReturn

from gpureport.cli.streams import provide_streams
from gpureport.errors import GpuReportError, InputError, InterruptionError
from gpureport.memory import collect_rarely, limit_remark

_LONGEST_NAME = 120  # characters of a file name in an error message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on *arguments* (``sys.argv`` for ``None``) and return its exit code.

    0: success. 1: failure, or wrong results of a kernel. 2: wrong argument, file or field. 3: regression (``compare``).
    130: interrupted.
    """
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
        return code
    except GpuReportError as error:
        return _fail(str(error), error.exit_code)
    except MemoryError:
        return _fail(f"there is not enough memory{limit_remark()}", GpuReportError.exit_code)
    except ImportError as error:
        return _fail(f"a library cannot be loaded ({error}){limit_remark()}", GpuReportError.exit_code)
    except OSError as error:
        where = f"{str(error.filename)[:_LONGEST_NAME]}: " if error.filename is not None else ""
        code = InputError.exit_code if error.errno == errno.ENAMETOOLONG else GpuReportError.exit_code
        return _fail(f"{where}{error.strerror or error}{limit_remark()}", code)
    except KeyboardInterrupt:
        return _fail("interrupted", InterruptionError.exit_code)


def _invoke(arguments: Sequence[str] | None) -> int:
    from typer.exceptions import TyperException

    from gpureport.cli.app import app
    from gpureport.text import requirement

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=given, prog_name="gpureport", standalone_mode=False)
    except TyperException as error:
        subject, _, problem = error.format_message().partition(": ")
        if subject.startswith("No such command "):
            name = subject.removeprefix("No such command ").rstrip(".")
            subject = f"there is no command {name}; gpureport --help lists the commands"
            subject += "; put a TEXT of several words in quotes" if "--known" in given else ""
        elif subject.startswith("Got unexpected extra argument"):
            subject = f"too many arguments: {subject.partition('(')[2].rpartition('(')[2].rstrip(').')}"
        elif subject.startswith("Missing argument "):
            name = subject.split("'")[1]
            subject = f"the argument {name} is missing; add it (--help shows examples)"
        elif subject.startswith("Invalid value for "):
            subject, problem = subject.removeprefix("Invalid value for ").replace("'", ""), requirement(problem)
        return _fail(": ".join(filter(None, (subject, problem))), error.exit_code)
    if code == InterruptionError.exit_code:
        raise KeyboardInterrupt  # typer replaced it by a silent exit
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int) -> int:
    line = f"gpureport: {' '.join(sentence.split())}"
    if sys.stderr.isatty():
        line = fill(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    sys.stderr.write(f"{line}\n")
    return code


def run() -> NoReturn:
    """Run the command line and exit."""
    provide_streams()
    collect_rarely()
    sys.exit(main())
