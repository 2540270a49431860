"""Buffers that the points of a sweep share by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.measure.backend import AllocationError, Backend, BufferId
from gpureport.workloads.model import Buffer

_GROWTH = 4  # a buffer that is too small is replaced by one this much larger, so that a sweep copies little

Sizes = Mapping[str, int]
"""Bytes by buffer name."""

Contents = Callable[[str], NDArray[np.generic] | None]
"""Makes the contents of the buffer of a name: only when it must be filled, since contents may be large."""


@dataclass(frozen=True)
class _Held:
    identity: BufferId
    nbytes: int


class BufferPool:
    """Allocates, enlarges and, when memory runs short, gives back what was used longest ago."""

    def __init__(self, backend: Backend, points: Iterable[Sizes], max_bytes: float) -> None:
        """Make an empty pool for *points*, which never holds more than *max_bytes*."""
        self._backend = backend
        self._max_bytes = max_bytes
        self._held: dict[str, _Held] = {}  # longest unused first
        self._largest: dict[str, int] = {}
        for sizes in points:
            for name, nbytes in sizes.items():
                self._largest[name] = max(nbytes, self._largest.get(name, 0))

    def acquire(self, wanted: Sizes, contents: Contents) -> dict[str, BufferId]:
        """Return a buffer of at least the wanted size for each name.

        Raises:
            AllocationError: there is no room, even after giving back what this point does not need.
        """
        return {name: self._ensure(name, wanted, contents) for name in wanted}

    def _ensure(self, name: str, wanted: Sizes, contents: Contents) -> BufferId:
        held = self._held.pop(name, None)
        if held is not None and held.nbytes < wanted[name]:
            self._backend.free(held.identity)
        if held is None or held.nbytes < wanted[name]:
            grown = max(wanted[name], _GROWTH * held.nbytes if held else 0)
            held = self._allocate(name, min(grown, self._largest[name]), wanted, contents(name))
        self._held[name] = held
        return held.identity

    def _allocate(self, name: str, nbytes: int, wanted: Sizes, contents: NDArray[np.generic] | None) -> _Held:
        if self._total() + nbytes > self._max_bytes:
            nbytes = wanted[name]
        self._make_room(self._max_bytes - nbytes, wanted)
        try:
            return _Held(self._backend.allocate(Buffer(nbytes, contents)), nbytes)
        except AllocationError:
            self._make_room(0, wanted)
            return _Held(self._backend.allocate(Buffer(wanted[name], contents)), wanted[name])

    def _make_room(self, most: float, wanted: Sizes) -> None:
        for name in [name for name in self._held if name not in wanted]:
            if self._total() <= most:
                return
            self._backend.free(self._held.pop(name).identity)

    def _total(self) -> int:
        return sum(held.nbytes for held in self._held.values())
