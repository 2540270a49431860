"""Instructions of a kernel, its control-flow graph and innermost loops. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", str, int)

VECTOR_BYTES = 16
"""Least bytes of an access of a vector register."""


class Instruction(NamedTuple):
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


def innermost(code: Sequence[Instruction]) -> list[list[Instruction]]:
    """Return the instructions of each loop that contains no other loop.

    Loops are the strongly connected components of the control-flow graph. A component without the edges back to its
    entry splits into the loops inside it.
    """
    index = {instruction.address: number for number, instruction in enumerate(code)}
    next_ones = [(number, number + 1) for number, one in enumerate(code[:-1]) if one.falls]
    branches = [(number, index[one.target]) for number, one in enumerate(code) if one.target in index]
    edges = np.array([*next_ones, *branches], int).reshape(-1, 2).T
    return [[code[number] for number in loop] for loop in _loops(edges, len(code))]


def _loops(edges: NDArray[np.int_], count: int) -> Iterator[NDArray[np.int_]]:
    """Yield the nodes of each innermost loop of a graph of *count* nodes; *edges*: a row of starts, and one of ends."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(csr_array((np.ones(edges.shape[1]), edges), (count, count)), connection="strong")
    starts, ends = part[edges]
    for loop in np.unique(starts[starts == ends]):
        inside = edges[:, (starts == loop) & (ends == loop)]
        entered = edges[1, (starts != loop) & (ends == loop)]
        entry = entered.min() if entered.size else inside.min()
        inner = [*_loops(inside[:, inside[1] != entry], count)]
        yield from inner or [np.flatnonzero(part == loop)]
