"""Other processes that draw figures, make PDFs, predict and read reports."""

import atexit
import os
import pickle
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from gpureport.errors import GpuReportError
from gpureport.files import scratch_folder_until_exit
from gpureport.isolation import process_of, skip_output
from gpureport.system import kill, usable_cores

A = TypeVar("A")
R = TypeVar("R")
_Tasks = SimpleQueue[tuple["Future[Any]", Callable[[Any], Any], Any]]

MOST = 4
"""Number of other processes, if there are as many cores."""
_STARTING = Lock()  # else two threads of a user's program could start all processes twice


def started(function: Callable[[A], R], argument: A) -> Callable[[], R]:
    """Begin *function* of *argument* in another process, and return what waits for its result.

    The function must belong to a module. If other processes cannot start or end early, this process does the work when
    the result is wanted.
    """
    if len(usable_cores()) == 1:
        return partial(function, argument)
    answer: Future[tuple[Exception | None, R]] = Future()
    try:
        with _STARTING:
            tasks = _tasks()
        tasks.put((answer, function, argument))
    except GpuReportError:  # no temporary files can be written
        return partial(function, argument)

    def wait() -> R:
        try:
            problem, value = answer.result()
        except (EOFError, OSError):  # such as a limit of memory or of processes
            return function(argument)
        if problem:
            raise problem
        return value

    return wait


def prepare(*, pdf: bool) -> None:
    """Let other processes import what draws figures and makes PDFs, while this one does something else."""
    for _ in range(MOST):
        started(_import_libraries, pdf)


def _import_libraries(pdf: bool) -> None:
    import_module("seaborn")
    if pdf:
        import_module("gpureport.report.pdf").pdf_problem()  # imports WeasyPrint where it can


def in_parallel(function: Callable[[A], R], arguments: Iterable[A], fewest: int = 2) -> list[R]:
    """Return the *function* of each of *arguments*, computed in other processes if there are *fewest* or more."""
    arguments = list(arguments)
    if len(arguments) < fewest:
        return list(map(function, arguments))
    return [wait() for wait in [started(function, argument) for argument in arguments]]


@cache
def _tasks() -> _Tasks:
    """Return the tasks of threads that end with the program; each has a process of its own."""
    tasks: _Tasks = SimpleQueue()
    folder = scratch_folder_until_exit()  # a thread might create it while the program ends
    for _ in range(min(MOST, len(usable_cores()))):
        Thread(target=_work, args=(tasks, folder), daemon=True).start()
    return tasks


def _work(tasks: _Tasks, folder: Path) -> None:
    process = None
    while True:
        answer, function, argument = tasks.get()
        try:
            process = process or _process(folder)
            answer.set_result(_answer(process, function, argument))
        except Exception as error:  # noqa: BLE001 - whoever waits for the answer gets it
            answer.set_exception(error)


def _answer(process: "subprocess.Popen[bytes]", function: Callable[[A], R], argument: A) -> tuple[Exception | None, R]:
    assert process.stdin and process.stdout  # noqa: S101, PT018 - pipes
    process.stdin.write(pickle.dumps(partial(function, argument)))
    process.stdin.flush()
    answer: tuple[Exception | None, R] = pickle.load(process.stdout)  # noqa: S301 - of our own process
    return answer


def _process(folder: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "TMPDIR": str(folder)}
    process = process_of("gpureport.isolation", subprocess.DEVNULL, environment)
    atexit.register(_end, process)  # before its folder is removed
    assert process.stdout  # noqa: S101 - a pipe
    skip_output(process.stdout)
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    kill(process)
    process.wait()
