"""The longest chain of dependent instructions of a work-item, found while blocks are executed.

Instructions of a block start when their operands are ready. Those of the next block start after them, because waves
issue in order: loads of a block wait for the loads whose values the block before has used. Compilers interleave a few
iterations of a loop: only after them, the next ones wait for all that was started. Cores that reorder instructions
predict branches and addresses: there, instructions wait for their operands, for barriers, and until they are among the
next ones.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from gpureport.spec.uncertainty import sourced
from gpureport.trace.instructions import Counts
from gpureport.trace.program import LOCAL, PRIVATE, Access, Block, Operation, Program

Link = tuple[float, Counts, Any]
"""A link of a chain: when its result is ready, its instructions, and the link for which it waited."""
_START: Link = (0.0, {}, None)
REORDERED = sourced("trace.chains.REORDERED", int)
"""Instructions that a core of a CPU reorders."""
TOGETHER = sourced("trace.chains.TOGETHER", float)
"""Latency of a branch of all lanes of a wave / of one whose lanes go different ways, and meet again."""


class Chains:
    """The latest links.

    *latencies* are cycles by class, of a ``hit``, ``miss``, ``barrier`` and ``atomic`` too. *reordered*: instructions
    that a core reorders; with 0, all wait for the blocks before.
    """

    def __init__(self, program: Program, latencies: Mapping[str, float], reordered: int = 0) -> None:
        self._latencies, self._parameters, self._reordered = latencies, program.parameters, reordered
        self._passed, self._before = 0.0, deque[tuple[float, Link]]()
        self._links = [_START] * program.slots
        self._begin = self._latest = self._issued = _START
        self._fences: dict[int, Link] = {}
        self._apart = frozenset[int]().union(*(block.apart for block in program.blocks))
        self._iterations: Counter[int] = Counter()
        self._steps = [[self._step(op) for op in block.operations if op.operands] for block in program.blocks]
        self._instructions = [sum(block.counts.values()) for block in program.blocks]

    def _step(self, op: Operation) -> tuple[tuple[int, ...], int, Counts, float, Access | None, bool]:
        """Return an operation's part of a chain; the elements of functions with branches follow each other."""
        branches = op.branches and not self._reordered
        counts = {kind: count for kind, count in op.counts.items() if kind not in ("memory", "local")}
        if branches:
            counts = {kind: count * op.width for kind, count in counts.items()}
        return op.operands, op.result, counts, self._cycles(counts), op.access, branches

    def _cycles(self, counts: Counts) -> float:
        usual = self._latencies.get("int32", 0.0)
        return sum(count * self._latencies.get(kind, usual) for kind, count in counts.items())

    def block(self, number: int, seen: Mapping[int, tuple[int, float]]) -> None:
        """Follow a block; *seen*: region and share of misses of the accesses by number."""
        if self._reordered:
            self._slide(number)
        links, begin = self._links, self._begin
        self._issued = begin
        for operands, result, counts, cycles, access, branches in self._steps[number]:
            before = begin
            for slot in operands:
                if links[slot][0] > before[0]:
                    before = links[slot]
            if access is None and counts and before[0] > self._issued[0]:
                self._issued = before
            if access is not None:
                before, more = self._access(access, *seen[access.number], before, is_used=result >= 0)
                counts = {**counts, **more}
                cycles = self._cycles(counts)
            link = (before[0] + cycles, counts, before) if counts else before
            if branches:
                self._begin = begin = link
            if result >= 0:
                links[result] = link
            if link[0] > self._latest[0]:
                self._latest = link

    def _slide(self, number: int) -> None:
        """Let a block wait for what ended before the instructions that may be reordered with it."""
        self._before.append((self._passed, self._latest))
        self._passed += self._instructions[number]
        while self._before and self._before[0][0] < self._passed - self._reordered:
            self._begin = max(self._begin, self._before.popleft()[1], key=_ready)

    def _access(
        self, access: Access, region: int, missed: float, before: Link, *, is_used: bool
    ) -> tuple[Link, Counts]:
        """Return what an access waits for, and its own part of the chain."""
        if region < PRIVATE or access.space == "constant":
            return before, {}
        if access.write and not access.atomic:
            self._fences[region] = max(before, self._fences.get(region, _START), key=_ready)
            return before, {}
        for other, fence in self._fences.items():
            passes = other == region and access.number in self._apart
            if fence[0] > before[0] and not passes and self._aliases(other, region):
                before = fence
        if region == LOCAL or not is_used:
            return before, {"local": 1.0} if is_used else {}
        return before, {"atomic": 1.0} if access.atomic else {"hit": 1 - missed, "miss": missed}

    def _aliases(self, one: int, other: int) -> bool:
        """Return whether accesses to two regions keep their order: as compilers must assume, or as cores see."""
        if one == other or min(one, other) < 0 or self._reordered:
            return one == other
        return not (self._parameters[one].noalias or self._parameters[other].noalias)

    def barrier(self) -> None:
        """Let all that follows wait for all before."""
        counts = {"barrier": 1.0}
        self._begin = self._latest = (self._latest[0] + self._cycles(counts), counts, self._latest)

    def branch(self, number: int, block: Block, *, split: bool) -> None:
        """Let all that follows a block wait for its condition, and for the branch, which is issued last."""
        if self._reordered:
            return
        self._begin = max(self._begin, self._links[block.condition], key=_ready)
        if "branch" in self._latencies and (self._iterations[number] + 1) % block.interleaved == 0:
            before, counts = max(self._begin, self._issued, key=_ready), {"branch": 1.0 if split else TOGETHER}
            self._begin = (before[0] + self._cycles(counts), counts, before)

    def entered(self, before: int, number: int, block: Block) -> None:
        """Follow the way from block *before* into another, which may be the next iteration of a loop."""
        self._iterations[number] += number <= before
        if not self._reordered and (number > before or self._iterations[number] % block.overlapping == 0):
            self._begin = max(self._begin, self._issued if number > before else self._latest, key=_ready)
        values = [(slot, self._links[sources[before]]) for slot, sources in block.phis]
        for slot, link in values:
            self._links[slot] = link

    def longest(self) -> Mapping[str, float]:
        """Return the instructions of the longest chain by class."""
        found: Counter[str] = Counter()
        link: Any = self._latest
        while link is not None:
            found.update(link[1])
            link = link[2]
        return found


def _ready(link: Link) -> float:
    return link[0]
