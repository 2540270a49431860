"""Other processes that draw figures, make PDFs and read reports."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import forkserver
from typing import TypeVar

from gpureport.errors import collect_rarely

A = TypeVar("A")
R = TypeVar("R")

_MOST = 4
_DRAWING = ("gpureport.report.preloaded",)


def prepare() -> None:
    """Let the process that starts others import what draws figures, while this one does something else."""
    if _cores() > 1:
        with suppress(EOFError, OSError):  # as for :func:`started`
            _processes(_DRAWING)


def started(function: Callable[[A], R], argument: A, modules: tuple[str, ...] = _DRAWING) -> Callable[[], R]:
    """Begin *function* of *argument* in another process, and return what waits for its result.

    The function must belong to a module. If other processes cannot start or end early, this process does the work when
    the result is wanted. The other processes import *modules* before they start; all calls of a command give the same.
    """
    if _cores() == 1:
        return partial(function, argument)
    try:
        future = _processes(modules).submit(function, argument)
    except (BrokenProcessPool, EOFError, OSError):  # such as a limit of memory or of processes
        _processes.cache_clear()
        return partial(function, argument)

    def wait() -> R:
        try:
            return future.result()
        except (BrokenProcessPool, EOFError, OSError):
            _processes.cache_clear()
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


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let new processes import nothing from the working directory: they start with ``python -c``."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name, "")
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ[name] = before  # empty: not set


@cache
def _processes(modules: tuple[str, ...]) -> ProcessPoolExecutor:
    """Return the processes; they start when needed, from a clean process, because this one may have threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    with _safe_path():
        forkserver.ensure_running()
    return ProcessPoolExecutor(min(_MOST, _cores()), context, collect_rarely)
