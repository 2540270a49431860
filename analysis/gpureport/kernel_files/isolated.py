"""A function of the user's, called in a process of its own, which may end or crash: this file is its program."""

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


class CallError(Exception):
    """The function gives no arrays; the message is the end of a sentence."""


def arrays_of(file: Path, function: str, arguments: Mapping[str, Any]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays that a *function* of a Python file returns, by name; what it prints goes to standard error.

    Raises:
        CallError: it raises something, ends its process, or returns something else.
    """
    command = [sys.executable, "-P", __file__, str(file), function]
    done = subprocess.run(command, input=pickle.dumps(dict(arguments)), stdout=subprocess.PIPE, check=False)  # noqa: S603
    if done.returncode or not done.stdout:
        raise CallError(f"ended its process ({done.returncode})")
    found = pickle.loads(done.stdout)  # noqa: S301 - our own program's
    if isinstance(found, str):
        raise CallError(found)
    return dict(found)


def _called(file: str, function: str, arguments: Mapping[str, Any]) -> dict[str, NDArray[np.generic]] | str:
    """Return the arrays, or what went wrong."""
    try:
        found = run_path(file)[function](**arguments)
        if not isinstance(found, Mapping):
            return f"returned {type(found).__name__}; it must return a dict of arrays by buffer"
        arrays = {str(name): np.asarray(values) for name, values in found.items()}
    except BaseException as error:  # noqa: BLE001 - the user's code
        return f"failed: {type(error).__name__}: {error}".rstrip(": ")
    wrong = next((name for name, values in arrays.items() if values.dtype.kind not in "biufc"), None)
    return arrays if wrong is None else f"returned something for {wrong!r} that is not an array of numbers"


def _main(file: str, function: str) -> None:
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    answer = os.dup(1)
    os.dup2(2, 1)
    found = _called(file, function, pickle.loads(sys.stdin.buffer.read()))  # noqa: S301 - our own
    with os.fdopen(answer, "wb") as stream:
        stream.write(pickle.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # whatever the user's code has started


if __name__ == "__main__":
    _main(*sys.argv[1:])
