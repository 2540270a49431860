"""Values by key, and lists in parts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key in *pairs* of key and value, in their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def in_figures(items: Sequence[V], most: int) -> Iterator[tuple[V, ...]]:
    """Yield *items* in parts of at most *most*, as even as possible."""
    parts = -(-len(items) // most)
    for part in range(parts):
        yield tuple(items[part * len(items) // parts : (part + 1) * len(items) // parts])
