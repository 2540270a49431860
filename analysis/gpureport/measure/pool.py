"""Buffers that the points of a sweep share by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.measure.backends.protocol import AllocationError, Backend, BufferId
from gpureport.units import format_bytes
from gpureport.workloads.model import Buffer, Limits

_GROWTH = 2  # a buffer that is too small is replaced by one at least this much larger: fewer copies of much data

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

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self._backend = backend
        self._limits = limits
        self._held: dict[str, _Held] = {}  # longest unused first

    def acquire(self, wanted: Sizes, contents: Contents) -> dict[str, BufferId]:
        """Return a buffer of at least the wanted size for each name.

        Raises:
            AllocationError: it is more than the limits allow, or there is no room even after giving back all that
                this point does not need.
        """
        self._check(wanted)
        return {name: self._ensure(name, wanted, contents) for name in wanted}

    def _check(self, wanted: Sizes) -> None:
        total, largest = sum(wanted.values()), max(wanted.values(), default=0)
        if total > self._limits.max_bytes:
            allowed = format_bytes(self._limits.max_bytes)
            raise AllocationError(f"needs {format_bytes(total)}; a run may use {allowed}")
        if largest > self._limits.max_buffer_bytes:
            allowed = format_bytes(self._limits.max_buffer_bytes)
            raise AllocationError(f"needs a buffer of {format_bytes(largest)}; the largest may have {allowed}")

    def _ensure(self, name: str, wanted: Sizes, contents: Contents) -> BufferId:
        held = self._held.pop(name, None)
        if held is not None and held.nbytes < wanted[name]:
            self._backend.free(held.identity)
        if held is None or held.nbytes < wanted[name]:
            best = max(wanted[name], _GROWTH * held.nbytes if held else 0)
            held = self._allocate(name, best, wanted, contents(name))
        self._held[name] = held
        return held.identity

    def _allocate(self, name: str, best: int, wanted: Sizes, contents: NDArray[np.generic] | None) -> _Held:
        rest = sum(nbytes for other, nbytes in wanted.items() if other != name)
        if best > self._limits.max_buffer_bytes or best + max(rest, self._total()) > self._limits.max_bytes:
            best = wanted[name]
        self._make_room(self._limits.max_bytes - best, wanted)
        try:
            return _Held(self._backend.allocate(Buffer(best, contents)), best)
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
