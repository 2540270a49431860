"""Every workload there is: a module of this room that has ``WORKLOADS`` contributes them, and nothing else does."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from gpureport.errors import InputError
from gpureport.text import quoted
from gpureport.workloads.model import Workload


@cache
def all_workloads() -> tuple[Workload, ...]:
    """Return all workloads in the order in which they are measured: primitives first, then families by name."""
    modules = (import_module(module.name) for module in walk_packages(__path__, f"{__name__}."))
    workloads: list[Workload] = [w for module in modules for w in getattr(module, "WORKLOADS", ())]
    return tuple(sorted(workloads, key=lambda workload: not workload.primitive))


def select(names: tuple[str, ...], *, quick: bool = False) -> tuple[Workload, ...]:
    """Return the workloads named by family or ``family/variant``; for no names all, or the essential ones if *quick*.

    Raises:
        InputError: a name fits none.
    """
    if not names:
        return tuple(workload for workload in all_workloads() if workload.essential or not quick)
    known = {workload.family for workload in all_workloads()} | {workload.name for workload in all_workloads()}
    for name in names:
        if name not in known:
            family = name.partition("/")[0]
            near = sorted(n for n in known if n.startswith(f"{family}/")) or sorted(w.family for w in all_workloads())
            raise InputError(f"no workload is called {quoted(name)}; there are: {', '.join(dict.fromkeys(near))}")
    return tuple(w for w in all_workloads() if w.family in names or w.name in names)
