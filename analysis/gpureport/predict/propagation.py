"""Numbers that know what they were computed from: error propagation to first order, without touching the model.

The model computes with :class:`Uncertain` as with any float. Each step is noted on a :class:`Tape`; going back over
it gives the derivative of a result by every fact at once (reverse-mode differentiation: Griewank and Walther,
Evaluating Derivatives, 2008, chapter 3; error propagation: Taylor, An Introduction to Error Analysis, 1997, chapter 3).
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_Step = tuple[tuple[int, float], ...]
"""From which earlier steps a number was computed, with its derivatives by them."""


class Tape:
    """The steps of a computation; the first are the facts that it started from."""

    def __init__(self) -> None:
        """Start with no facts."""
        self.steps: list[_Step] = []
        self.sigmas: list[float] = []
        self._kept = 0

    def fact(self, value: float, sigma: float) -> "Uncertain":
        """Return a number that is known to *sigma*, one standard deviation; before any other step."""
        self.sigmas.append(sigma)
        return self.note(value, ())

    def note(self, value: float, step: _Step) -> "Uncertain":
        """Return the result of a step."""
        made = Uncertain(value)
        made.tape, made.index = self, len(self.steps)
        self.steps.append(step)
        return made

    def keep(self) -> None:
        """Keep the steps up to here when rewinding."""
        self._kept = len(self.steps)

    def rewind(self) -> None:
        """Forget what was computed since :meth:`keep`."""
        del self.steps[self._kept :]


class Uncertain(float):
    """A float on a tape.

    Its value is computed just as that of floats. Functions that do not know it take it for a float; :func:`log`,
    :func:`exp` and :func:`clamped` are to be used in place of those of ``math``.
    """

    __slots__ = ("index", "tape")
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to the methods below
    tape: Tape
    index: int

    def __add__(self, other: float) -> "Uncertain":
        """Add."""
        step: _Step = ((self.index, 1.0), (other.index, 1.0)) if type(other) is Uncertain else ((self.index, 1.0),)
        return self.tape.note(float(self) + float(other), step)

    __radd__ = __add__

    def __neg__(self) -> "Uncertain":
        """Change the sign."""
        return self.tape.note(-float(self), ((self.index, -1.0),))

    def __sub__(self, other: float) -> "Uncertain":
        """Subtract."""
        step: _Step = ((self.index, 1.0), (other.index, -1.0)) if type(other) is Uncertain else ((self.index, 1.0),)
        return self.tape.note(float(self) - float(other), step)

    def __rsub__(self, other: float) -> "Uncertain":
        """Subtract from a plain number."""
        return self.tape.note(float(other) - float(self), ((self.index, -1.0),))

    def __mul__(self, other: float) -> "Uncertain":
        """Multiply."""
        a, b = float(self), float(other)
        step: _Step = ((self.index, b), (other.index, a)) if type(other) is Uncertain else ((self.index, b),)
        return self.tape.note(a * b, step)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> "Uncertain":
        """Divide."""
        a, b = float(self), float(other)
        value = a / b
        if type(other) is Uncertain:
            return self.tape.note(value, ((self.index, 1.0 / b), (other.index, -value / b)))
        return self.tape.note(value, ((self.index, 1.0 / b),))

    def __rtruediv__(self, other: float) -> "Uncertain":
        """Divide a plain number."""
        b = float(self)
        value = float(other) / b
        return self.tape.note(value, ((self.index, -value / b),))

    def __pow__(self, exponent: float) -> "Uncertain":  # type: ignore[override]
        """Raise to a plain power; 0 is not."""
        a, p = float(self), float(exponent)
        value = a**p
        return self.tape.note(value, ((self.index, p * value / a),))

    @property
    def deviations(self) -> Floats:
        """By how much one standard deviation of each fact moves the number, shape (facts,)."""
        steps = self.tape.steps
        derivatives = [0.0] * (self.index + 1)
        derivatives[self.index] = 1.0
        for index in range(self.index, -1, -1):
            outer = derivatives[index]
            if outer:
                for source, inner in steps[index]:
                    derivatives[source] += outer * inner
        sigmas = self.tape.sigmas
        found = derivatives[: len(sigmas)]
        return np.multiply(found + [0.0] * (len(sigmas) - len(found)), sigmas)


def log(x: float) -> float:
    """Return the natural logarithm of *x*, on its tape if it is on one."""
    return x.tape.note(math.log(x), ((x.index, 1.0 / float(x)),)) if type(x) is Uncertain else math.log(x)


def exp(x: float) -> float:
    """Return e to the power of *x*, on its tape if it is on one."""
    value = math.exp(x)
    return x.tape.note(value, ((x.index, value),)) if type(x) is Uncertain else value


_REACH = 1.0
"""A number further beyond its limits, in units of the range between them, is certain to be beyond."""


def clamped(x: float, low: float, high: float) -> float:
    """Return *x*, or the limit that it is beyond.

    Near a limit its derivatives are those of a whole standard deviation to both sides, not the slope's: a working set
    just short of a cliff is uncertain, too.
    """
    value = float(min(high, max(low, x)))
    if type(x) is not Uncertain or abs(x - value) > _REACH * (high - low):
        return value
    ends = [np.clip(float(x) + sign * x.deviations, low, high) for sign in (-1.0, 1.0)]
    slopes = (ends[1] - ends[0]) / (2.0 * np.array(x.tape.sigmas))
    return x.tape.note(value, tuple((int(i), float(slopes[i])) for i in np.flatnonzero(slopes)))


def relative_deviations(x: float, facts: int) -> Floats:
    """Return how far one standard deviation of each of *facts* moves *x*, relative; zeros for a plain number."""
    return x.deviations / float(x) if isinstance(x, Uncertain) else np.zeros(facts)
