"""Every workload there is, in the order in which they are measured: primitives first."""

from functools import cache

from gpureport.errors import InputError
from gpureport.workloads.model import Workload


@cache
def all_workloads() -> tuple[Workload, ...]:
    """Return all workloads; those of a family follow each other."""
    from gpureport.workloads import bit_transpose, game_of_life, launch, memory, particles

    return (
        launch.Groups(),
        memory.Copy(),
        memory.ReadPrivate(),
        memory.Read(),
        memory.Latency(),
        game_of_life.Bytes(),
        game_of_life.Packed64(),
        particles.Structs(),
        particles.Arrays(),
        bit_transpose.LocalMemory(),
        bit_transpose.Shuffle(),
    )


def select(names: tuple[str, ...]) -> tuple[Workload, ...]:
    """Return the workloads named by family or ``family/variant``; all of them for no names.

    Raises:
        InputError: a name fits none.
    """
    if not names:
        return all_workloads()
    known = {workload.family for workload in all_workloads()} | {workload.name for workload in all_workloads()}
    for name in names:
        if name not in known:
            raise InputError(f"no workload is called {name!r}; there are: {', '.join(sorted(known))}")
    return tuple(w for w in all_workloads() if w.family in names or w.name in names)
