"""The Game of Life in NumPy: the rule, with dead or wrapped borders, and conversion of cells to and from storage."""

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.bool_]
"""A board of shape (height, width)."""


def generations(cells: Cells, count: int, *, wrapped: bool) -> Cells:
    """Advance a board by *count* generations; if *wrapped*, opposite borders touch, otherwise cells beyond are dead."""
    height, width = cells.shape
    for _ in range(count):
        padded = np.pad(cells.astype(np.uint8), 1, mode="wrap" if wrapped else "constant")
        around = (padded[y : y + height, x : x + width] for y in range(3) for x in range(3) if (x, y) != (1, 1))
        neighbours = np.sum(list(around), axis=0, dtype=np.uint8)
        cells = (neighbours == 3) | ((neighbours == 2) & cells)
    return cells


def random_cells(rng: np.random.Generator, nbytes: int, bits: int) -> NDArray[np.uint8]:
    """Return *nbytes* of stored cells with *bits* bits each, half of them alive."""
    if bits == 1:
        return rng.integers(0, 256, nbytes, dtype=np.uint8)
    stored = np.zeros((nbytes * 8 // bits, bits // 8), dtype=np.uint8)
    stored[:, 0] = rng.integers(0, 2, len(stored), dtype=np.uint8)
    return stored.ravel()


def cells_of(stored: NDArray[np.uint8], width: int, bits: int) -> Cells:
    """Return the cells of a stored board.

    Args:
        stored: its bytes, shape (height, bytes per row). The lowest bit of a cell is 1 if it is alive; the westernmost
            cell comes first, in the lowest bits of a word.
        width: cells per row; the remaining bytes of a row are padding.
        bits: per cell: 1, 8 or 32.
    """
    raw = np.ascontiguousarray(stored)
    spread = np.unpackbits(raw, axis=1, bitorder="little") if bits == 1 else raw[:, :: bits // 8] & 1
    return spread[:, :width].astype(np.bool_)


def stored_of(cells: Cells, row_bytes: int, bits: int) -> NDArray[np.uint8]:
    """Return the bytes of a board for :func:`cells_of`, shape (height, *row_bytes*), padded with zeros."""
    height, width = cells.shape
    spread = np.zeros((height, row_bytes * 8 // bits), dtype=np.uint8)
    spread[:, :width] = cells
    if bits == 1:
        return np.packbits(spread, axis=1, bitorder="little")
    stored = np.zeros((height, row_bytes), dtype=np.uint8)
    stored[:, :: bits // 8] = spread
    return stored
