"""Control-flow graph of a function, and its innermost loops. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from gpureport.machine_code.instructions import Instruction

Blocks = Mapping[int, Sequence[Instruction]]
"""Basic blocks by the index of their first instruction."""
Graph = Mapping[int, frozenset[int]]
"""Successors of each block."""


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


def cycles(graph: Graph) -> list[frozenset[int]]:
    """Return the strongly connected components that contain a cycle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    place = {node: number for number, node in enumerate(graph)}
    edges = np.array([(place[node], place[to]) for node, following in graph.items() for to in following], int)
    if not len(edges):
        return []
    matrix = csr_array((np.ones(len(edges), int), edges.T), (len(graph), len(graph)))
    _, labels = connected_components(matrix, connection="strong")
    parts: dict[int, set[int]] = {}
    for node, label in zip(graph, labels.tolist(), strict=True):
        parts.setdefault(label, set()).add(node)
    return [frozenset(part) for part in parts.values() if len(part) > 1 or part <= graph[min(part)]]
