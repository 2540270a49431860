"""Other processes that draw figures, make PDFs and read reports.

One process imports what all need and forks the others; each serves a socket (:mod:`gpureport.report.worker`). They end
when this process closes the sockets, also because it was killed.
"""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import cache, partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from socket import socketpair
from threading import Thread
from typing import Any, TypeVar

from gpureport.errors import GpuReportError
from gpureport.files import scratch_folder_until_exit

A = TypeVar("A")
R = TypeVar("R")
_Tasks = SimpleQueue[tuple["Future[Any]", Callable[[Any], Any], Any]]

_MOST = 4
_DRAWING = ("gpureport.report.preloaded",)


def prepare() -> None:
    """Let the process that starts others import what draws figures, while this one does something else."""
    if _cores() > 1:
        _processes(_DRAWING)


def started(function: Callable[[A], R], argument: A, modules: tuple[str, ...] = _DRAWING) -> Callable[[], R]:
    """Begin *function* of *argument* in another process, and return what waits for its result.

    The function must belong to a module. If other processes cannot start or end early, this process does the work when
    the result is wanted. The other processes import *modules* before they start; all calls of a command give the same.
    """
    tasks = _processes(modules) if _cores() > 1 else None
    if tasks is None:
        return partial(function, argument)
    future = Future[R]()
    tasks.put((future, function, argument))

    def wait() -> R:
        try:
            return future.result()
        except (EOFError, OSError):  # such as a limit of memory or of processes
            return function(argument)

    return wait


def in_parallel(
    function: Callable[[A], R], arguments: Iterable[A], fewest: int = 2, modules: tuple[str, ...] = _DRAWING
) -> list[R]:
    """Return the *function* of each of *arguments*, computed in other processes if there are *fewest* or more."""
    arguments = list(arguments)
    if len(arguments) < fewest:
        return list(map(function, arguments))
    return [wait() for wait in [started(function, argument, modules) for argument in arguments]]


def _cores() -> int:
    return len(os.sched_getaffinity(0))


@cache
def _processes(modules: tuple[str, ...]) -> _Tasks | None:
    """Start processes, with temporary files in a folder of ours; return their tasks, ``None`` if they cannot start."""
    tasks: _Tasks = SimpleQueue()
    with ExitStack() as theirs:
        try:
            folder, pairs = scratch_folder_until_exit(), [socketpair() for _ in range(min(_MOST, _cores()))]
            descriptors = [theirs.enter_context(their).fileno() for _, their in pairs]
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", "gpureport.report.worker", ",".join(map(str, descriptors)), *modules],
                env={**os.environ, "TMPDIR": str(folder)},
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the terminal is for this process
            )
        except (OSError, GpuReportError):
            return None
    atexit.register(_end, process)
    for ours, _ in pairs:
        Thread(target=_serve, args=(Connection(ours.detach()), tasks), daemon=True).start()
    return tasks


def _serve(connection: Connection, tasks: _Tasks) -> None:
    """Let the process at the other end of a *connection* do the *tasks*."""
    while True:
        future, function, argument = tasks.get()
        try:
            connection.send((function, argument))
            problem, result = connection.recv()
        except BaseException as error:  # noqa: BLE001 - such as the end of the process
            problem, result = error, None
        if problem:
            future.set_exception(problem)
        else:
            future.set_result(result)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
