"""Instructions of a kernel, its control-flow graph and innermost loops. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gpureport.grouping import grouped

T = TypeVar("T", str, int)

VECTOR_BYTES = 16
"""Least bytes of an access of a vector register."""


@dataclass(frozen=True)
class Instruction:
    """One instruction."""

    address: int  # in the binary
    kind: str  # its class in counts
    loads: tuple[int, ...] = ()  # widths in bytes of its reads from memory, except from the stack and constants
    stores: tuple[int, ...] = ()  # widths in bytes of its writes to memory, except to the stack
    lanes: bool = False  # its access serves the lanes of a vector even if it is narrow: gather, broadcast, widening
    target: int | None = None  # address that it may branch to
    callee: int | None = None  # address of the function that it calls, if known
    falls: bool = True  # execution may continue with the next instruction

    @property
    def accesses(self) -> int:
        """Number of its reads and writes of data."""
        return len(self.loads) + len(self.stores)

    @property
    def vector_accesses(self) -> int:
        """Number of its accesses of vectors."""
        return sum(self.lanes or width >= VECTOR_BYTES for width in (*self.loads, *self.stores))


def tally(items: Iterable[T]) -> dict[T, int]:
    """Return the number of each item, in the order of the items."""
    return dict(sorted(Counter(items).items()))


def patterns(kinds: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Return the patterns of instruction names of a table, by class; an alternative is the beginning of a name."""
    return {kind: re.compile(names, re.VERBOSE) for kind, names in kinds.items()}


def kind_of(name: str, table: Mapping[str, re.Pattern[str]]) -> str:
    """Return the first class of a *table* whose pattern fits the beginning of an instruction's name."""
    return next((kind for kind, pattern in table.items() if pattern.match(name)), "other")


Graph = Mapping[int, frozenset[int]]
"""The instructions that may follow each one, by their indices."""


def innermost(code: Sequence[Instruction]) -> list[list[Instruction]]:
    """Return the instructions of each loop that contains no other loop.

    Loops are the strongly connected components of the control-flow graph. A component without the edges back to its
    entry splits into the loops inside it.
    """
    index = {instruction.address: number for number, instruction in enumerate(code)}
    graph = {}
    for number, one in enumerate(code):
        following = {number + 1} if one.falls and number + 1 < len(code) else set()
        graph[number] = frozenset(following | ({index[one.target]} if one.target in index else set()))
    return [[code[number] for number in sorted(loop)] for loop in _loops(graph)]


def _loops(graph: Graph) -> Iterator[frozenset[int]]:
    for part in _cycles(graph):
        entered = {to for node in graph if node not in part for to in graph[node] & part} or {min(part)}
        inside = {node: (graph[node] & part) - {min(entered)} for node in part}
        inner = list(_loops(inside))
        yield from inner or [part]


def _cycles(graph: Graph) -> list[frozenset[int]]:
    """Return the strongly connected components that contain a cycle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    place = {node: number for number, node in enumerate(graph)}
    edges = np.array([(place[node], place[to]) for node, following in graph.items() for to in following], int)
    if not len(edges):
        return []
    matrix = csr_array((np.ones(len(edges), int), edges.T), (len(graph), len(graph)))
    _, labels = connected_components(matrix, connection="strong")
    parts = map(frozenset, grouped(zip(labels.tolist(), graph, strict=True)).values())
    return [part for part in parts if len(part) > 1 or part <= graph[min(part)]]
