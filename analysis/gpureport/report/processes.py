"""Other processes that draw figures and make PDFs."""

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")

_MOST = 4
_PRELOADED = ("gpureport.report.figures.picture", "matplotlib.backends.backend_svg", "seaborn")


def in_parallel(function: Callable[[A], R], arguments: Iterable[A], fewest: int = 2) -> list[R]:
    """Return the *function* of each of *arguments*, computed in other processes if there are *fewest* or more.

    The function must belong to a module. If other processes cannot start or end early, this process does the work.
    """
    arguments = list(arguments)
    if len(arguments) < fewest or _cores() == 1:
        return list(map(function, arguments))
    try:
        return list(_processes().map(function, arguments))
    except (BrokenProcessPool, OSError):  # such as a limit of memory or of processes
        _processes.cache_clear()
        return list(map(function, arguments))


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@cache
def _processes() -> ProcessPoolExecutor:
    """Return the processes; they start when needed, from a clean process, because this one may have threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return ProcessPoolExecutor(min(_MOST, _cores()), context)
