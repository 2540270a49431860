"""All workloads: each module of this package that defines ``WORKLOADS`` contributes them."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from gpureport.errors import InputError
from gpureport.text import nearest, quoted
from gpureport.workloads.model import Workload

POWER = "power"
"""Selects, among names of workloads, that power is read while some of them run."""


@cache
def all_workloads() -> tuple[Workload, ...]:
    """Return all workloads in the order of measurement: microbenchmarks first, then families by name."""
    modules = (import_module(module.name) for module in walk_packages(__path__, f"{__name__}."))
    workloads: list[Workload] = [w for module in modules for w in getattr(module, "WORKLOADS", ())]
    return tuple(sorted(workloads, key=lambda workload: not workload.microbenchmark))


@cache
def applications() -> tuple[str, ...]:
    """Return the families of applications; the others have microbenchmarks, which explain these."""
    explaining = {workload.family for workload in all_workloads() if workload.microbenchmark}
    return tuple(dict.fromkeys(w.family for w in all_workloads() if w.family not in explaining))


def select(names: tuple[str, ...], *, quick: bool = False) -> tuple[Workload, ...]:
    """Return the workloads named by family or ``family/variant``; for no names all (*quick*: the essential ones).

    Raises:
        InputError: a name is unknown.
    """
    if not names:
        return tuple(workload for workload in all_workloads() if workload.essential or not quick)
    known = {name for workload in all_workloads() for name in (workload.family, workload.name)}
    for name in names:
        if name not in {*known, POWER}:
            full = {workload.variant: workload.name for workload in all_workloads()} | {each: each for each in known}
            similar, families = nearest(name, full), sorted({workload.family for workload in all_workloads()})
            hint = f"did you mean {full[similar]!r}?" if similar else f"there are: {', '.join(families)}"
            raise InputError(f"no workload is called {quoted(name)}; {hint}")
    return tuple(w for w in all_workloads() if w.family in names or w.name in names)
