"""How control flows through a function, and its innermost loops. Pure."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from gpureport.machine_code.instructions import Instruction

Blocks = Mapping[int, Sequence[Instruction]]
"""Stretches that control enters at their first and leaves at their last instruction, by their place."""
Graph = Mapping[int, frozenset[int]]
"""Which blocks may follow which."""
_Node = TypeVar("_Node", bound=Hashable)


def innermost(code: list[Instruction]) -> list[list[Instruction]]:
    """Return the instructions of each loop that contains no other.

    Loops are the strongly connected parts of the graph of basic blocks; without the way back to where it is entered,
    a part falls into the loops inside it.
    """
    blocks, following = flow(code)
    return [[one for start in sorted(loop) for one in blocks[start]] for loop in _loops(following)]


def flow(code: Sequence[Instruction]) -> tuple[Blocks, Graph]:
    """Return the blocks of a function, which begins at block 0, and which may follow which."""
    index = {instruction.address: place for place, instruction in enumerate(code)}
    blocks = _blocks(code, index)
    return blocks, _graph(blocks, index)


def _blocks(code: Sequence[Instruction], index: Mapping[int, int]) -> Blocks:
    targets = {index[one.target] for one in code if one.target is not None and one.target in index}
    ends = {place + 1 for place, one in enumerate(code) if one.target is not None or not one.falls}
    starts = sorted(targets | ends | {0, len(code)})
    return {start: code[start:end] for start, end in pairwise(starts)}


def _graph(blocks: Blocks, index: Mapping[int, int]) -> Graph:
    following = {}
    for start, block in blocks.items():
        last, after = block[-1], start + len(block)
        jump = {index[last.target]} if last.target is not None and last.target in index else set()
        following[start] = frozenset(jump | ({after} & blocks.keys() if last.falls else set()))
    return following


def _loops(graph: Graph) -> Iterator[frozenset[int]]:
    for part in cycles(graph):
        entered = {to for node in graph if node not in part for to in graph[node] & part} or {min(part)}
        inside = {node: (graph[node] & part) - {min(entered)} for node in part}
        inner = list(_loops(inside))
        yield from inner or [part]


def cycles(graph: Graph) -> Iterator[frozenset[int]]:
    """Yield the strongly connected parts in which something leads back (Kosaraju's two searches)."""
    into: dict[int, set[int]] = {node: set() for node in graph}
    for node, following in graph.items():
        for to in following:
            into[to].add(node)
    seen: set[int] = set()
    ended = [node for start in graph for node in _search(start, graph, seen)]
    seen.clear()
    for start in reversed(ended):
        part = frozenset(_search(start, into, seen))
        if len(part) > 1 or any(node in graph[node] for node in part):
            yield part


def last_first(graph: Mapping[_Node, Collection[_Node]], start: _Node) -> Iterator[_Node]:
    """Yield what can be reached from *start* in a graph without cycles, each node behind all that may follow it."""
    return _search(start, graph, set())


def _search(start: _Node, graph: Mapping[_Node, Collection[_Node]], seen: set[_Node]) -> Iterator[_Node]:
    """Yield what can be reached from *start* and was not *seen*, in the order in which a depth-first search ends."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(graph[start]))]
    while path:
        node, following = path[-1]
        fresh = next((to for to in following if to not in seen), None)
        if fresh is None:
            path.pop()
            yield node
        else:
            seen.add(fresh)
            path.append((fresh, iter(graph[fresh])))
