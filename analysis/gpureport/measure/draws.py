"""Random data that the points of a sweep share: drawing it anew for each of them takes longer than using it."""

from collections.abc import Callable
from typing import Any

import numpy as np

_LARGEST_BYTES = 2**23
_Key = tuple[int, str, str]


class Draws:
    """Makes generators that draw alike: the n-th draw of one kind and size is the same array, made once."""

    def __init__(self, seed: int) -> None:
        """Start without any."""
        self._seed = seed
        self._kept: dict[_Key, Any] = {}

    def generator(self) -> np.random.Generator:
        """Return a generator at its first draw."""
        return _Generator(self._seed, self._kept)


def _again(name: str) -> Callable[..., Any]:
    def draw(self: "_Generator", *arguments: object, **named: object) -> Any:  # noqa: ANN401 - as the method it replaces
        return self.kept(name, arguments, named)

    return draw


class _Generator(np.random.Generator):
    def __init__(self, seed: int, kept: dict[_Key, Any]) -> None:
        super().__init__(np.random.PCG64(seed))
        self._seed, self._kept, self._draws = seed, kept, 0

    integers = _again("integers")
    random = _again("random")
    permutation = _again("permutation")
    uniform = _again("uniform")
    choice = _again("choice")

    def kept(self, name: str, arguments: tuple[object, ...], named: dict[str, object]) -> Any:  # noqa: ANN401
        """Return the draw, made by a generator of its own, so that it does not depend on those before."""
        self._draws += 1
        key = self._draws, name, repr((arguments, named))  # sizes and bounds: no workload draws from an array
        drawn = self._kept.get(key)
        if drawn is None:
            drawn = getattr(np.random.default_rng([self._seed, self._draws]), name)(*arguments, **named)
            if getattr(drawn, "nbytes", 0) <= _LARGEST_BYTES:
                self._kept[key] = drawn
        return drawn.copy() if isinstance(drawn, np.ndarray) else drawn  # workloads change what they drew
