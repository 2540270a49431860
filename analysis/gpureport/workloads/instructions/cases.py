"""The operations that are measured: what one step of a chain is, on the device and in NumPy."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Step = Callable[[tuple[Words, ...], tuple[Words, ...], int], tuple[Words, ...]]
"""From the words of a chain, oldest first, four operands, and the step's number, to the words after that step."""
Draw = Callable[[np.random.Generator, int], Words]
"""Draws :data:`TABLE` words for work-items that handle so many at once."""

TABLE = 1024
"""Words that chains start from, as many operands."""
_ROWS, _BANKS = TABLE // 32, 32

_KIN = {"add": "int32", "ternary": "int32", "shift": "int32", "ballot": "shuffle", "fp32_three": "fp32"}
"""The class that stands in where an architecture does not list one."""


@dataclass(frozen=True)
class Case:
    """One operation.

    Attributes:
        name: the instruction class, as in ``Architecture.rates_per_cycle`` and ``latency_cycles``.
        states: words of a chain.
        step: what it computes.
        initial: draws the words that chains start from.
        operands: draws the operands.
        besides: operations of other classes that a step needs, by class.
        wide: whether a CPU handles a vector of work in each work-item.
        group: whether work-items need company: whole work-groups also on a CPU.
        result_mask: the bits of a word that do not depend on the device.
    """

    name: str
    states: int
    step: Step
    initial: Draw
    operands: Draw
    besides: Mapping[str, float] = field(default_factory=dict)
    wide: bool = True
    group: bool = False
    result_mask: int = 0xFFFFFFFF

    def classes(self, listed: Collection[str]) -> dict[str, float]:
        """Return the operations of one step by class; a class that is not *listed* by the one nearest to it."""
        wanted = {self.name: 1.0, **self.besides}
        return {listed_class(name, listed): count for name, count in wanted.items()}


def listed_class(name: str, listed: Collection[str]) -> str:
    """Return instruction class *name*, or the one that stands in if it is not *listed*."""
    return name if name in listed else _KIN.get(name, name)


def fma(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a * b + c, rounded once.

    The product of two singles is exact in double precision. The sum is rounded to odd there (Boldo and Melquiond,
    Emulation of a FMA and Correctly Rounded Sums, IEEE Transactions on Computers 57(4), 2008), so that the second
    rounding, to single precision, cannot go wrong.
    """
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    bits = total.view(np.uint64)
    # Towards the exact value: away from zero if what was lost has the sum's sign, else towards it.
    step = np.where((error > 0) == (total > 0), np.uint64(1), np.uint64(2**64 - 1))
    odd = np.where((error != 0) & (bits & np.uint64(1) == 0), bits + step, bits)
    return odd.view(np.float64).astype(np.float32)


def _real(words: Words) -> NDArray[np.float32]:
    return words.view(np.float32)


def _fma(a: Words, b: Words, c: Words) -> Words:
    return fma(_real(a), _real(b), _real(c)).view(np.uint32)


def _turned(value: Words, by: Words) -> Words:
    """Rotate to the right."""
    right = by & np.uint32(31)
    left = -right & np.uint32(31)
    return np.asarray(value >> right | value << left, dtype=np.uint32)


def _votes(lanes: Words) -> Words:
    """Return to every lane one bit for each of eight lanes: whether its word is not zero."""
    bits = (lanes.reshape(-1, 8) != 0).astype(np.uint32) << np.arange(8, dtype=np.uint32)
    return np.repeat(np.sum(bits, axis=1, dtype=np.uint32), 8)


def _any_words(rng: np.random.Generator, lanes: int) -> Words:  # noqa: ARG001 - drawn like the others
    return rng.integers(0, 2**32, size=TABLE, dtype=np.uint32)


def _starts(rng: np.random.Generator, lanes: int) -> Words:
    """Numbers from which x * x + b stays bounded.

    Compilers may or may not fuse the operators of vectors; with whole numbers that makes no difference.
    """
    return _words(rng.uniform(-0.6, 0.2, TABLE) if lanes == 1 else rng.integers(-1, 2, TABLE))


def _addends(rng: np.random.Generator, lanes: int) -> Words:
    """The b for them."""
    return _words(rng.uniform(-0.6, 0.2, TABLE) if lanes == 1 else rng.integers(-2, 0, TABLE))


def _whole_reals(rng: np.random.Generator, lanes: int) -> Words:  # noqa: ARG001
    """Small whole numbers of both signs: millions of products add up exactly."""
    return _words(rng.integers(1, 4, TABLE) * rng.choice([-1, 1], TABLE))


def _words(numbers: NDArray[np.float64] | NDArray[np.int64]) -> Words:
    return numbers.astype(np.float32).view(np.uint32)


def _eight_masks(rng: np.random.Generator, lanes: int) -> Words:  # noqa: ARG001
    """Eight bits for each of eight lanes, the same for every eight: sub-groups of any size see the same."""
    return np.tile(rng.integers(1, 2**8, size=8, dtype=np.uint32), TABLE // 8)


def _neighbours(rng: np.random.Generator, lanes: int) -> Words:  # noqa: ARG001
    """Neighbouring words of the table: each lane of a wave its own bank."""
    return np.arange(TABLE, dtype=np.uint32)


def _rows_in_a_cycle(rng: np.random.Generator, lanes: int) -> Words:  # noqa: ARG001
    """For each word of the table the number of one in the same bank: a random cycle through all rows."""
    following = np.empty((_ROWS, _BANKS), dtype=np.uint32)
    for bank in range(_BANKS):
        order = rng.permutation(_ROWS).astype(np.uint32)
        following[order, bank] = np.roll(order, -1) * _BANKS + bank
    return following.ravel()


def _selected(words: tuple[Words, ...], operands: tuple[Words, ...], step: int) -> tuple[Words, ...]:
    clear, full = operands[2 * (step % 2)], operands[2 * (step % 2) + 1]
    return (words[0] & full | ~words[0] & clear,)


ARITHMETIC = (
    Case("fp32", 1, lambda x, k, _: (_fma(x[0], x[0], k[0]),), _starts, _addends),
    Case("fp32_three", 3, lambda x, *_: (_fma(x[1], x[2], x[0]), x[1], x[2]), _whole_reals, _whole_reals),
    Case("add", 2, lambda x, *_: (x[1], x[0] + x[1]), _any_words, _any_words),
    Case("int32_mul", 1, lambda x, k, _: (x[0] * x[0] + k[0],), _any_words, _any_words),
    Case("ternary", 1, _selected, _any_words, _any_words),
    Case("shift", 2, lambda x, *_: (x[1], _turned(x[0], x[1])), _any_words, _any_words),
    Case("local", 1, lambda x, table, _: (table[0][x[0]],), _neighbours, _rows_in_a_cycle, wide=False),
    Case("barrier", 1, lambda x, *_: x, _any_words, _any_words, wide=False, group=True),
)
"""What every device has."""

EXCHANGES = (
    Case(
        "shuffle",
        1,
        lambda x, *_: (x[0].reshape(-1, 2, 4)[:, ::-1].ravel(),),
        _any_words,
        _any_words,
        wide=False,
        group=True,
    ),
    Case(
        "ballot",
        1,
        lambda x, k, _: (_votes(x[0] & k[0]),),
        _eight_masks,
        _eight_masks,
        besides={"int32": 1.0},
        wide=False,
        group=True,
        result_mask=0xFF,
    ),
)
"""What takes lanes of a sub-group."""
