"""Bytes that the ways through a function move: those of the way that moves least, and most. Pure.

Of two copies of an access, one for whole and one for guarded work, a way through the code takes one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpureport.machine_code import loops
from gpureport.machine_code.instructions import Instruction

Range = tuple[int, int]
"""Least and most."""


@dataclass(frozen=True)
class Moved:
    """Bytes of one run of a function.

    Attributes:
        loads: read by ways that access anything.
        stores: written by them.
        idle: whether there is a way that accesses nothing: that of work-items beyond the end of the data.
    """

    loads: Range
    stores: Range
    idle: bool = False


_END = Moved((0, 0), (0, 0), idle=True)


def moved(code: Sequence[Instruction]) -> Moved | None:
    """Return the bytes of *code*; ``None`` if it has no way to its end, or if a loop accesses memory.

    Each range spans all ways: that a branch depends on the one before it is not known here.
    """
    blocks, following = loops.flow(code)
    if not blocks:
        return Moved((0, 0), (0, 0), idle=True)
    parts = {start: frozenset({start}) for start in blocks}
    for cycle in loops.cycles(following):
        if any(one.accesses for start in cycle for one in blocks[start]):
            return None
        parts |= dict.fromkeys(cycle, cycle)
    after = {part: {parts[to] for start in part for to in following[start]} - {part} for part in parts.values()}
    done: dict[frozenset[int], Moved | None] = {}
    for part in loops.last_first(after, parts[0]):
        ends = [_END] if any(not following[start] for start in part) else []
        rest = _any_of([*(done[to] for to in after[part]), *ends])
        done[part] = _behind([one for start in part for one in blocks[start]], rest)
    return done[parts[0]]


def _any_of(ways: Iterable[Moved | None]) -> Moved | None:
    found = [way for way in ways if way]
    busy = [way for way in found if way != _END] or found
    if not busy:
        return None
    loads, stores = ([getattr(way, name) for way in busy] for name in ("loads", "stores"))
    return Moved(_span(loads), _span(stores), idle=any(way.idle for way in found))


def _span(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _behind(block: Sequence[Instruction], rest: Moved | None) -> Moved | None:
    """Return what is moved by *block* and then the *rest*, of which the idle way, too, now accesses something."""
    if rest is None or not any(one.accesses for one in block):
        return rest
    loads, stores = (sum(sum(getattr(one, name)) for one in block) for name in ("loads", "stores"))
    least = (0, 0) if rest.idle else (rest.loads[0], rest.stores[0])
    return Moved((loads + least[0], loads + rest.loads[1]), (stores + least[1], stores + rest.stores[1]))
