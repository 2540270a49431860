"""Work in a process of its own, within limits of time and memory: if it hangs or crashes, only this process ends.

``python -m gpureport.isolation`` reads pickled functions without arguments from standard input. For each it writes a
pickled pair to standard output: an error or ``None``, and the result. What else it prints goes to standard error.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar, cast

from gpureport.errors import GpuReportError, InputError, collect_rarely, limit_remark
from gpureport.system import NEW_GROUP, end_with_parent, kill, limited_growth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

R = TypeVar("R")
P = ParamSpec("P")

_LONGEST_REASON = 300
_CRASHES = 0xC0000000  # exit codes of Windows
_BEGIN = b"\0gpureport\n"


def isolated(
    what: str, function: Callable[P, R], most_s: float, most_bytes: int, /, *arguments: P.args, **named: P.kwargs
) -> R:
    """Return *function* of *arguments*, which another process computes; what it prints is discarded.

    Function, arguments and result are pickled; the function belongs to a module of this package. Messages begin with
    *what* it computes.

    Raises:
        InputError: it takes longer than *most_s* seconds, or more than *most_bytes* of memory.
        GpuReportError: it raised this error, or its process ended.
    """
    request = pickle.dumps(partial(_limited, what, most_bytes, partial(function, *arguments, **named)))
    with process_of("gpureport.isolation", stderr=subprocess.PIPE) as process:
        try:
            answer, printed = process.communicate(request, most_s)
        except subprocess.TimeoutExpired:
            raise InputError(f"{what} takes longer than {most_s:g} s") from None
        finally:
            kill(process)
    if not (answer := answer.partition(_BEGIN)[2]):
        raise GpuReportError(f"the process of {what} {ending(process.returncode, printed)}{limit_remark()}")
    error, result = pickle.loads(answer)  # noqa: S301 - of our own process
    if error:
        raise error
    return cast("R", result)


def _limited(what: str, most_bytes: int, work: Callable[[], R]) -> R:
    """Return the result of *work*; every error becomes an InputError or GpuReportError, which pickle can restore."""
    try:
        with limited_growth(most_bytes):
            return work()
    except GpuReportError as error:
        kind = InputError if isinstance(error, InputError) else GpuReportError
        raise kind(str(error)) from None  # other classes may have more arguments
    except MemoryError:
        raise InputError(f"{what} takes more than {most_bytes >> 20} MiB of memory") from None
    except Exception as error:  # noqa: BLE001 - whatever it raised
        raise GpuReportError(f"the process of {what} failed: {type(error).__name__}: {error}") from None


def arrays_of(what: str, file: Path, function: str, arguments: Mapping[str, Any]) -> "dict[str, NDArray[np.generic]]":
    """Return the arrays that a *function* of a user's Python file returns, by name; called in a process of its own.

    Raises:
        InputError: it raises anything, or returns something else; the message begins with *what* it is.
    """
    import numpy as np

    try:
        found = run_path(str(file))[function](**arguments)
        if not isinstance(found, Mapping):
            raise InputError(f"{what} returned {type(found).__name__}; it must return a dict of arrays by buffer")
        arrays = {str(name): np.asarray(values) for name, values in found.items()}
    except InputError:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's code
        raise InputError(f"{what} failed: {type(error).__name__}: {error}".rstrip(": ")) from None
    if wrong := next((name for name, values in arrays.items() if values.dtype.kind not in "biufc"), None):
        raise InputError(f"{what} returned something for {wrong!r} that is not an array of numbers")
    return arrays


def ending(code: int | None, printed: bytes) -> str:
    """Return how a process ended, by its exit *code* of ``subprocess``, and the last line that it *printed*."""
    if code is None:
        how = "closed its connection"
    elif code >= _CRASHES:
        how = f"crashed (0x{code:X})"
    elif code < 0:
        names = {each.value: each.name for each in signal.Signals}
        how = f"crashed ({names.get(-code, f'signal {-code}')})"
    else:
        how = f"ended with exit code {code}"
    last = printed.decode(errors="replace").strip().rpartition("\n")[2]
    return f"{how}: {last[:_LONGEST_REASON]}" if last else how


def process_of(module: str, stderr: int, environment: Mapping[str, str] = os.environ) -> "subprocess.Popen[bytes]":
    """Start a process of a module, which calls :func:`channel`; an interrupt of the terminal does not reach it."""
    return subprocess.Popen(  # noqa: S603 - our own module
        (sys.executable, "-P", "-m", module, str(os.getpid())),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        creationflags=NEW_GROUP,
    )


def channel() -> tuple[BinaryIO, BinaryIO]:
    """Return pipes from and to the process that started this one, which ends with it; prints go to standard error."""
    end_with_parent(int(sys.argv[1]))
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    replies.write(_BEGIN)
    replies.flush()
    return requests, replies


def skip_output(replies: IO[bytes]) -> None:
    """Read what a process printed before it called :func:`channel`; the next bytes of its *replies* are a message."""
    while (line := replies.readline()) and not line.endswith(_BEGIN):
        pass


def _serve() -> None:
    collect_rarely()
    requests, results = channel()
    while True:
        work = pickle.load(requests)  # noqa: S301 - of the process that started this one
        try:
            answer = pickle.dumps((None, work()))
        except Exception as error:  # noqa: BLE001 - the other process raises it
            answer = pickle.dumps((error, None))
        results.write(answer)
        results.flush()


if __name__ == "__main__":
    with suppress(EOFError, OSError):
        _serve()
