"""CPU instructions, reduced to their memory accesses, access widths and control flow."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

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


def control(address: int, kind: str, target: int | None, *, falls: bool) -> Instruction:
    """Return a call of *target*, a branch to it, or an exit."""
    if kind == "call":
        return Instruction(address, kind, callee=target)
    return Instruction(address, kind, target=target if kind == "branch" else None, falls=falls)


Decoder = Callable[[int, str, str], Instruction | None]
"""Returns the instruction for an address, and a mnemonic and operands from capstone; ``None``: padding."""
