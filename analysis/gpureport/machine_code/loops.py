"""Control-flow graph of a function, and its innermost loops. Pure."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from gpureport.machine_code.instructions import Instruction

Blocks = Mapping[int, Sequence[Instruction]]
"""Basic blocks by the index of their first instruction."""
Graph = Mapping[int, frozenset[int]]
"""Successors of each block."""
_Node = TypeVar("_Node", bound=Hashable)


def innermost(code: list[Instruction]) -> list[list[Instruction]]:
    """Return the instructions of each loop that contains no other loop.

    Loops are the strongly connected components of the control-flow graph. A component without the edges back to its
    entry splits into the loops inside it.
    """
    blocks, following = flow(code)
    return [[one for start in sorted(loop) for one in blocks[start]] for loop in _loops(following)]


def flow(code: Sequence[Instruction]) -> tuple[Blocks, Graph]:
    """Return the basic blocks of a function, which starts with block 0, and their successors."""
    index = {instruction.address: number for number, instruction in enumerate(code)}
    blocks = _blocks(code, index)
    return blocks, _graph(blocks, index)


def _blocks(code: Sequence[Instruction], index: Mapping[int, int]) -> Blocks:
    targets = {index[one.target] for one in code if one.target is not None and one.target in index}
    ends = {number + 1 for number, one in enumerate(code) if one.target is not None or not one.falls}
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
    """Yield the strongly connected components that contain a cycle (Kosaraju's algorithm)."""
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
    """Yield the nodes of an acyclic graph that *start* reaches, each after all its successors."""
    return _search(start, graph, set())


def _search(start: _Node, graph: Mapping[_Node, Collection[_Node]], seen: set[_Node]) -> Iterator[_Node]:
    """Yield the nodes that *start* reaches, except those *seen*, in post-order of a depth-first search."""
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
