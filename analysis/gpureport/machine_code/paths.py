"""Least and most bytes that an execution path through a function moves. Pure.

Compilers often emit an access twice, for full and for guarded work. A path takes one of the two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from gpureport.machine_code import loops
from gpureport.machine_code.instructions import Instruction

Range = tuple[int, int]
"""Least and most."""


@dataclass(frozen=True)
class Moved:
    """Bytes that one execution of a function moves."""

    loads: Range  # bytes read on paths with accesses
    stores: Range  # bytes written on the same paths
    idle: bool = False  # there is a path without accesses: that of work-items beyond the end of the data


_END = Moved((0, 0), (0, 0), idle=True)


def moved(code: Sequence[Instruction]) -> Moved | None:
    """Return the bytes of *code*; ``None`` if no path reaches its end, or if a loop accesses memory.

    Each range covers all paths: dependences between branches are unknown.
    """
    blocks, following = loops.flow(code)
    if not blocks:
        return _END
    parts = {start: frozenset({start}) for start in blocks}
    for cycle in loops.cycles(following):
        if any(one.accesses for start in cycle for one in blocks[start]):
            return None
        parts |= dict.fromkeys(cycle, cycle)
    after = {part: {parts[to] for start in part for to in following[start]} - {part} for part in parts.values()}
    done: dict[frozenset[int], Moved | None] = {}
    for part in TopologicalSorter(after).static_order():  # each after its successors
        ends = [_END] if any(not following[start] for start in part) else []
        rest = _union([*(done[to] for to in after[part]), *ends])
        done[part] = _prepended([one for start in part for one in blocks[start]], rest)
    return done[parts[0]]


def _union(paths: Iterable[Moved | None]) -> Moved | None:
    found = [path for path in paths if path]
    busy = [path for path in found if path != _END] or found
    if not busy:
        return None
    loads, stores = ([getattr(path, name) for path in busy] for name in ("loads", "stores"))
    return Moved(_span(loads), _span(stores), idle=any(path.idle for path in found))


def _span(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _prepended(block: Sequence[Instruction], rest: Moved | None) -> Moved | None:
    """Return the bytes of *block* followed by *rest*; its idle path then has the accesses of the block."""
    if rest is None or not any(one.accesses for one in block):
        return rest
    loads, stores = (sum(sum(getattr(one, name)) for one in block) for name in ("loads", "stores"))
    least = (0, 0) if rest.idle else (rest.loads[0], rest.stores[0])
    return Moved((loads + least[0], loads + rest.loads[1]), (stores + least[1], stores + rest.stores[1]))
