"""Number formats of matrix elements: small integers as words of registers, and back."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Integers = NDArray[np.int64]

MOST = 2
"""Elements are integers from minus this to this: products and their sums are exact in every format."""


@dataclass(frozen=True)
class Format:
    """A number format of matrix elements.

    Attributes:
        name: the instruction class, as in ``Architecture.rates_per_cycle``.
        per_word: elements in a register.
        encoded: the bits of an element, for the integers from -:data:`MOST` to :data:`MOST`.
        integer_sums: whether sums are 32-bit integers; otherwise single-precision numbers.
    """

    name: str
    per_word: int
    encoded: tuple[int, ...]
    integer_sums: bool = False

    def words(self, elements: Integers) -> Words:
        """Return registers of *elements*; the last axis has those of one register, the lowest bits first."""
        bits = np.array(self.encoded, dtype=np.uint32)[elements + MOST]
        shifts = np.arange(self.per_word, dtype=np.uint32) * np.uint32(32 // self.per_word)
        return np.asarray(np.bitwise_or.reduce(bits << shifts, axis=-1), dtype=np.uint32)

    def elements(self, words: Words) -> Integers:
        """Return the elements of registers, along a new last axis."""
        width = 32 // self.per_word
        shifts = np.arange(self.per_word, dtype=np.uint32) * np.uint32(width)
        bits = words[..., None] >> shifts & np.uint32(2**width - 1)
        values = {code: value - MOST for value, code in enumerate(self.encoded)}
        decoded = np.vectorize(values.__getitem__, otypes=[np.int64])(bits)
        return np.asarray(decoded, dtype=np.int64)

    def sums(self, integers: Integers) -> Words:
        """Return registers of sums."""
        return integers.astype(np.int32 if self.integer_sums else np.float32).view(np.uint32)


def _bits(of: Callable[[np.float32], int]) -> tuple[int, ...]:
    return tuple(of(np.float32(value)) for value in range(-MOST, MOST + 1))


def _single(value: np.float32) -> int:
    return int(value.view(np.uint32))


FORMATS = (
    Format("matrix_fp16", 2, _bits(lambda value: int(np.float16(value).view(np.uint16)))),
    Format("matrix_bf16", 2, _bits(lambda value: _single(value) >> 16)),
    Format("matrix_tf32", 1, _bits(_single)),
    Format("matrix_int8", 4, tuple(value & 0xFF for value in range(-MOST, MOST + 1)), integer_sums=True),
    Format("matrix_fp8", 4, (0xC0, 0xB8, 0x00, 0x38, 0x40)),  # e4m3: 4 bits of exponent with a bias of 7
)
