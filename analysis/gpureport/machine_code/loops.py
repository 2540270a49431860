"""The innermost loops of a function. Pure."""

from collections.abc import Iterator, Mapping

from gpureport.machine_code.instructions import Instruction

_Graph = Mapping[int, frozenset[int]]
"""Which nodes may follow which."""


def innermost(code: list[Instruction]) -> list[list[Instruction]]:
    """Return the instructions of each loop that contains no other.

    Loops are the strongly connected parts of the graph of instructions; without the way back to where it is entered,
    a part falls into the loops inside it.
    """
    return [[code[node] for node in sorted(loop)] for loop in _loops(_graph(code))]


def _graph(code: list[Instruction]) -> _Graph:
    index = {instruction.address: node for node, instruction in enumerate(code)}
    following = [{node + 1} if one.falls and node + 1 < len(code) else set() for node, one in enumerate(code)]
    jumps = [{index[one.target]} if one.target in index else set() for one in code]
    return {node: frozenset(following[node] | jumps[node]) for node in range(len(code))}


def _loops(graph: _Graph) -> Iterator[frozenset[int]]:
    for part in _cycles(graph):
        entered = {to for node in graph if node not in part for to in graph[node] & part} or {min(part)}
        inside = {node: (graph[node] & part) - {min(entered)} for node in part}
        inner = list(_loops(inside))
        yield from inner or [part]


def _cycles(graph: _Graph) -> Iterator[frozenset[int]]:
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


def _search(start: int, graph: Mapping[int, frozenset[int] | set[int]], seen: set[int]) -> Iterator[int]:
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
