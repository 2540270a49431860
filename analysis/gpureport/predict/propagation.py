"""Numbers that know how far they move when what they were computed from moves: error propagation to first order.

The model computes with :class:`Uncertain` as with any float, so that one pass gives a time and all of its
sensitivities. (Taylor, An Introduction to Error Analysis, 1997, chapter 3; forward-mode differentiation.)
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Uncertain(float):
    """A float with its deviations, shape (facts,): by how much one standard deviation of each fact moves it.

    Its value is computed just as that of floats. Functions that do not know it take it for a float; :func:`log` and
    :func:`exp` are to be used in place of those of ``math``.
    """

    __slots__ = ("deviations",)
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to the methods below
    deviations: Floats

    def __new__(cls, value: float, deviations: Floats) -> "Uncertain":
        """Make a number of its value and its deviations."""
        made = super().__new__(cls, value)
        made.deviations = deviations
        return made

    def __add__(self, other: float) -> "Uncertain":
        """Deviations add up."""
        value = float.__add__(self, other)
        return Uncertain(value, self.deviations + other.deviations if isinstance(other, Uncertain) else self.deviations)

    __radd__ = __add__

    def __neg__(self) -> "Uncertain":
        """Deviations change sign."""
        return Uncertain(-float(self), -self.deviations)

    def __sub__(self, other: float) -> "Uncertain":
        """Deviations subtract."""
        value = float.__sub__(self, other)
        return Uncertain(value, self.deviations - other.deviations if isinstance(other, Uncertain) else self.deviations)

    def __rsub__(self, other: float) -> "Uncertain":
        """*other* is plain."""
        return Uncertain(float.__rsub__(self, other), -self.deviations)

    def __mul__(self, other: float) -> "Uncertain":
        """Relative deviations add up."""
        moved = self.deviations * float(other)
        if isinstance(other, Uncertain):
            moved += other.deviations * float(self)
        return Uncertain(float.__mul__(self, other), moved)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> "Uncertain":
        """Relative deviations subtract."""
        value = float.__truediv__(self, other)
        moved = self.deviations
        if isinstance(other, Uncertain):
            moved = moved - other.deviations * value
        return Uncertain(value, moved / float(other))

    def __rtruediv__(self, other: float) -> "Uncertain":
        """*other* is plain."""
        value = float.__rtruediv__(self, other)
        return Uncertain(value, self.deviations * (-value / float(self)))

    def __pow__(self, exponent: float) -> "Uncertain":  # type: ignore[override]
        """Relative deviations are multiplied by the exponent, which is plain."""
        value = float(self) ** float(exponent)
        return Uncertain(value, self.deviations * (exponent * value / float(self)))


def log(x: float) -> float:
    """Return the natural logarithm of *x*, with its deviations if it has any."""
    return Uncertain(math.log(x), x.deviations / float(x)) if isinstance(x, Uncertain) else math.log(x)


def exp(x: float) -> float:
    """Return e to the power of *x*, with its deviations if it has any."""
    value = math.exp(x)
    return Uncertain(value, x.deviations * value) if isinstance(x, Uncertain) else value


def clamped(x: float, low: float, high: float) -> float:
    """Return *x*, or the limit that it is beyond.

    Near a limit the deviations are those of a whole step to both sides, not the slope's: a working set just short of
    a cliff is uncertain, too.
    """
    value = min(high, max(low, x))
    if not isinstance(x, Uncertain):
        return value
    ends = np.clip(float(x) + np.outer((-1.0, 1.0), x.deviations), low, high)
    return Uncertain(value, (ends[1] - ends[0]) / 2.0)


def deviations_of(x: float, facts: int) -> Floats:
    """Return how far one standard deviation of each of *facts* moves *x*: zeros for a plain number."""
    return x.deviations if isinstance(x, Uncertain) else np.zeros(facts)
