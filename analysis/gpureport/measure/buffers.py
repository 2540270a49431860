"""Buffers that the points of a sweep share by name, and the random data in them."""

from collections.abc import Callable, Mapping
from functools import partialmethod
from typing import Any

import numpy as np

from gpureport.measure.backends.common import AllocationError, Backend, BufferId
from gpureport.units import format_bytes
from gpureport.workloads.model import Buffer, Limits

_LARGEST_DRAW_BYTES = 2**23

Sizes = Mapping[str, int]
"""Bytes by buffer name."""

Make = Callable[[str], Buffer]
"""Makes a buffer from its name; called only when it is initialised, because contents may be large."""


class BufferPool:
    """Allocates and enlarges buffers; frees those used longest ago when memory runs short."""

    allocations = 0
    """Number of allocations so far. While it stays the same, so do all buffers."""

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self._backend = backend
        self._limits = limits
        self._pooled: dict[str, tuple[BufferId, int]] = {}  # with their sizes; least recently used first

    def acquire(self, sizes: Sizes, make: Make) -> dict[str, BufferId]:
        """Return a buffer of at least the requested size for each name.

        Raises:
            AllocationError: the sizes exceed the limits, or memory is exhausted even after freeing all other buffers.
        """
        total, largest = sum(sizes.values()), max(sizes.values(), default=0)
        if total > self._limits.max_bytes:
            most = format_bytes(self._limits.max_bytes)
            raise AllocationError(f"needs {format_bytes(total)} of memory, but a run may use at most {most}")
        if largest > self._limits.max_buffer_bytes:
            most = format_bytes(self._limits.max_buffer_bytes)
            raise AllocationError(f"needs a buffer of {format_bytes(largest)}, but a buffer may have at most {most}")
        return {name: self._ensure(name, sizes, make) for name in sizes}

    def _ensure(self, name: str, sizes: Sizes, make: Make) -> BufferId:
        identity, nbytes = self._pooled.pop(name, (None, 0))
        if identity is not None and nbytes < sizes[name]:
            self._backend.free(identity)
        if identity is None or nbytes < sizes[name]:
            identity, nbytes = self._allocate(name, sizes, make), sizes[name]
        self._pooled[name] = identity, nbytes
        return identity

    def _allocate(self, name: str, sizes: Sizes, make: Make) -> BufferId:
        self.allocations += 1
        self._free_unused(self._limits.max_bytes - sizes[name], sizes)
        try:
            return self._backend.allocate(make(name))
        except AllocationError:
            self._free_unused(0, sizes)
            return self._backend.allocate(make(name))

    def _free_unused(self, most: float, sizes: Sizes) -> None:
        for name in [name for name in self._pooled if name not in sizes]:
            if sum(nbytes for _, nbytes in self._pooled.values()) <= most:
                return
            self._backend.free(self._pooled.pop(name)[0])


class RepeatedDraws(np.random.Generator):
    """A generator whose n-th draw of one method and size is one constant array for all generators with one *cache*.

    Drawing data again for each point would take longer than using them.
    """

    def __init__(self, seed: int, cache: dict[tuple[int, int, str, str], Any]) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed, self._cache, self._draws = seed, cache, 0

    def _draw(self, name: str, *arguments: object, **keywords: object) -> Any:  # noqa: ANN401 - as the method it replaces
        self._draws += 1
        # sizes and bounds: no workload passes an array
        key = self._seed, self._draws, name, repr((arguments, keywords))
        drawn = self._cache.get(key)
        if drawn is None:
            drawn = getattr(np.random.default_rng([self._seed, self._draws]), name)(*arguments, **keywords)
            if isinstance(drawn, np.ndarray):
                drawn.setflags(write=False)  # others get the same
            if getattr(drawn, "nbytes", 0) <= _LARGEST_DRAW_BYTES:
                self._cache[key] = drawn
        return drawn

    integers = partialmethod(_draw, "integers")
    random = partialmethod(_draw, "random")
    permutation = partialmethod(_draw, "permutation")
    uniform = partialmethod(_draw, "uniform")
    choice = partialmethod(_draw, "choice")
