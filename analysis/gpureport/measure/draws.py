"""Random data shared by the points of a sweep: drawing it again for each point would take longer than using it."""

from collections.abc import Callable
from typing import Any

import numpy as np

_LARGEST_BYTES = 2**23
_Key = tuple[int, str, str]


class Draws:
    """Makes generators that return equal data: the n-th draw of one method and size is the same array, drawn once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._cache: dict[_Key, Any] = {}

    def generator(self) -> np.random.Generator:
        """Return a generator that starts with the first draw."""
        return _Generator(self._seed, self._cache)


def _cached(name: str) -> Callable[..., Any]:
    def draw(self: "_Generator", *arguments: object, **keywords: object) -> Any:  # noqa: ANN401 - as the method it replaces
        return self.cached(name, arguments, keywords)

    return draw


class _Generator(np.random.Generator):
    def __init__(self, seed: int, cache: dict[_Key, Any]) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed, self._cache, self._draws = seed, cache, 0

    integers = _cached("integers")
    random = _cached("random")
    permutation = _cached("permutation")
    uniform = _cached("uniform")
    choice = _cached("choice")

    def cached(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Any:  # noqa: ANN401
        """Return a draw from a generator of its own, so that it does not depend on earlier draws."""
        self._draws += 1
        key = self._draws, name, repr((arguments, keywords))  # sizes and bounds; no workload passes an array
        drawn = self._cache.get(key)
        if drawn is None:
            drawn = getattr(np.random.default_rng([self._seed, self._draws]), name)(*arguments, **keywords)
            if getattr(drawn, "nbytes", 0) <= _LARGEST_BYTES:
                self._cache[key] = drawn
        return drawn.copy() if isinstance(drawn, np.ndarray) else drawn  # workloads modify what they drew
