"""Buffers shared by name between the points of a sweep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.measure.backends.protocol import AllocationError, Backend, BufferId
from gpureport.units import format_bytes
from gpureport.workloads.model import Buffer, Limits, Place

_GROWTH = 2  # a buffer that is too small is replaced by one at least this much larger, to initialise fewer buffers

Sizes = Mapping[str, int]
"""Bytes by buffer name."""

Contents = Callable[[str], NDArray[np.generic] | None]
"""Makes the contents of a buffer from its name; called only when a buffer is initialised, because they may be large."""


@dataclass(frozen=True)
class _Pooled:
    identity: BufferId
    nbytes: int


class BufferPool:
    """Allocates and enlarges buffers; frees those used longest ago when memory runs short."""

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self._backend = backend
        self._limits = limits
        self._pooled: dict[str, _Pooled] = {}  # least recently used first
        self._places: dict[str, Place] = {}

    def acquire(
        self, sizes: Sizes, contents: Contents, places: Mapping[str, Place] | None = None
    ) -> dict[str, BufferId]:
        """Return a buffer of at least the requested size for each name, in the device's memory or the other *places*.

        Raises:
            AllocationError: the sizes exceed the limits, or memory is exhausted even after freeing all other buffers.
        """
        self._check(sizes)
        self._places.update(places or {})
        return {name: self._ensure(name, sizes, contents) for name in sizes}

    def _check(self, sizes: Sizes) -> None:
        total, largest = sum(sizes.values()), max(sizes.values(), default=0)
        if total > self._limits.max_bytes:
            most = format_bytes(self._limits.max_bytes)
            raise AllocationError(f"needs {format_bytes(total)} of memory, but a run may use at most {most}")
        if largest > self._limits.max_buffer_bytes:
            most = format_bytes(self._limits.max_buffer_bytes)
            raise AllocationError(f"needs a buffer of {format_bytes(largest)}, but a buffer may have at most {most}")

    def _ensure(self, name: str, sizes: Sizes, contents: Contents) -> BufferId:
        pooled = self._pooled.pop(name, None)
        if pooled is not None and pooled.nbytes < sizes[name]:
            self._backend.free(pooled.identity)
        if pooled is None or pooled.nbytes < sizes[name]:
            best = max(sizes[name], _GROWTH * pooled.nbytes if pooled else 0)
            pooled = self._allocate(name, best, sizes, contents(name))
        self._pooled[name] = pooled
        return pooled.identity

    def _allocate(self, name: str, best: int, sizes: Sizes, contents: NDArray[np.generic] | None) -> _Pooled:
        rest = sum(nbytes for other, nbytes in sizes.items() if other != name)
        if best > self._limits.max_buffer_bytes or best + max(rest, self._total()) > self._limits.max_bytes:
            best = sizes[name]
        self._free_unused(self._limits.max_bytes - best, sizes)
        place = self._places.get(name, "device")
        try:
            return _Pooled(self._backend.allocate(Buffer(best, contents, place)), best)
        except AllocationError:
            self._free_unused(0, sizes)
            return _Pooled(self._backend.allocate(Buffer(sizes[name], contents, place)), sizes[name])

    def _free_unused(self, most: float, sizes: Sizes) -> None:
        for name in [name for name in self._pooled if name not in sizes]:
            if self._total() <= most:
                return
            self._backend.free(self._pooled.pop(name).identity)

    def _total(self) -> int:
        return sum(pooled.nbytes for pooled in self._pooled.values())
