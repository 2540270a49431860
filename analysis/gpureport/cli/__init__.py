"""The command line: the only room that prints or exits."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from gpureport.errors import GpuReportError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on *arguments* (``sys.argv`` for ``None``) and return its exit code.

    0: done. 1: it was tried and failed, or a kernel gave wrong results. 2: an argument, a file or a field is wrong.
    """
    from typer.exceptions import Abort, TyperException

    from gpureport.cli.app import app

    try:
        result = app(args=None if arguments is None else list(arguments), prog_name="gpureport", standalone_mode=False)
    except GpuReportError as error:
        return _complain(str(error), error.exit_code)
    except TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    except (Abort, KeyboardInterrupt):
        return _complain("interrupted; what was measured before is in the report", 130)
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing more must be written to it, not even at exit.
        sys.stdout = None
        return 0
    return result if isinstance(result, int) else 0


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"gpureport: {sentence}\n")
    return code


def run() -> NoReturn:
    """Run the command line and exit."""
    sys.exit(main())
