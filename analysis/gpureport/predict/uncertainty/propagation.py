"""Numbers that know what they were computed from, without the model's knowing.

The model computes with :class:`Uncertain` as with any float. Each step is noted on a :class:`Tape`. Going back over it
gives the derivative of a result by every fact at once (reverse-mode differentiation: Griewank and Walther, Evaluating
Derivatives, 2008, chapter 3; error propagation to first order: Taylor, An Introduction to Error Analysis, 1997,
chapter 3). Reading it tells how a result came about (:mod:`gpureport.predict.arithmetic`).
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Operation = Literal["given", "+", "-", "*", "/", "^", "ln", "exp", "clamped"]

Step = tuple[Operation, float, float]
"""How a number was computed: from *left* and *right*; functions of one have no *right*, what is given neither.

A plain tuple: a prediction takes a million of them."""


class Tape:
    """The steps of a computation; the first are the facts that it started from.

    Attributes:
        steps: by index.
        names: of what was given, by index.
        slopes: of what was clamped, by index: its derivatives by the facts.
        sigmas: of the facts.
    """

    def __init__(self) -> None:
        """Start with no facts."""
        self.steps: list[Step] = []
        self.names: dict[int, str] = {}
        self.slopes: dict[int, list[float]] = {}
        self.sigmas: list[float] = []
        self._kept = 0

    def fact(self, name: str, value: float, sigma: float) -> "Uncertain":
        """Return a number that is known to *sigma*, one standard deviation; before any other step."""
        self.sigmas.append(sigma)
        return self.given(name, value)

    def given(self, name: str, value: float) -> "Uncertain":
        """Return a number that is known."""
        self.names[len(self.steps)] = name
        return self.note(value, ("given", value, 0.0))

    def note(self, value: float, step: Step) -> "Uncertain":
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
        return self.tape.note(float(self) + float(other), ("+", self, other))

    def __radd__(self, other: float) -> "Uncertain":
        """Add to a plain number; to the 0 that a sum starts with is no step."""
        return self.tape.note(float(other) + float(self), ("+", other, self)) if other else self

    def __neg__(self) -> "Uncertain":
        """Change the sign."""
        return self.tape.note(-float(self), ("-", 0.0, self))

    def __sub__(self, other: float) -> "Uncertain":
        """Subtract."""
        return self.tape.note(float(self) - float(other), ("-", self, other))

    def __rsub__(self, other: float) -> "Uncertain":
        """Subtract from a plain number."""
        return self.tape.note(float(other) - float(self), ("-", other, self))

    def __mul__(self, other: float) -> "Uncertain":
        """Multiply."""
        return self.tape.note(float(self) * float(other), ("*", self, other))

    def __rmul__(self, other: float) -> "Uncertain":
        """Multiply a plain number."""
        return self.tape.note(float(other) * float(self), ("*", other, self))

    def __truediv__(self, other: float) -> "Uncertain":
        """Divide."""
        return self.tape.note(float(self) / float(other), ("/", self, other))

    def __rtruediv__(self, other: float) -> "Uncertain":
        """Divide a plain number."""
        return self.tape.note(float(other) / float(self), ("/", other, self))

    def __pow__(self, exponent: float) -> "Uncertain":  # type: ignore[override]
        """Raise to a plain power; 0 is not."""
        return self.tape.note(float(self) ** float(exponent), ("^", self, float(exponent)))

    @property
    def deviations(self) -> Floats:
        """By how much one standard deviation of each fact moves the number, shape (facts,)."""
        steps, sigmas = self.tape.steps, self.tape.sigmas
        derivatives = [0.0] * max(self.index + 1, len(sigmas))
        derivatives[self.index] = 1.0
        for index in range(self.index, len(sigmas) - 1, -1):
            outer = derivatives[index]
            if outer == 0.0:
                continue
            operation, left, right = steps[index]
            if operation == "clamped":
                for number, slope in enumerate(self.tape.slopes[index]):
                    derivatives[number] += outer * slope
                continue
            by_left, by_right = _derivatives(operation, float(left), float(right))
            if type(left) is Uncertain:
                derivatives[left.index] += outer * by_left
            if type(right) is Uncertain:
                derivatives[right.index] += outer * by_right
        return np.multiply(derivatives[: len(sigmas)], sigmas)


def _derivatives(operation: Operation, a: float, b: float) -> tuple[float, float]:
    """Return the derivatives of a step's result by *a* and *b*, which it was computed from; most frequent first."""
    if operation == "*":
        return b, a
    if operation == "/":
        return 1.0 / b, -a / b**2
    if operation == "+":
        return 1.0, 1.0
    if operation == "ln":
        return 1.0 / a, 0.0
    if operation == "^":
        return b * a ** (b - 1.0), 0.0
    if operation == "-":
        return 1.0, -1.0
    return (math.exp(a), 0.0) if operation == "exp" else (0.0, 0.0)


def log(x: float) -> float:
    """Return the natural logarithm of *x*, on its tape if it is on one."""
    value = math.log(x)
    return x.tape.note(value, ("ln", x, 0.0)) if type(x) is Uncertain else value


def exp(x: float) -> float:
    """Return e to the power of *x*, on its tape if it is on one."""
    value = math.exp(x)
    return x.tape.note(value, ("exp", x, 0.0)) if type(x) is Uncertain else value


_REACH = 1.0
"""A number further beyond its limits, in units of the range between them, is certain to be beyond."""


def clamped(x: float, low: float, high: float) -> float:
    """Return *x*, or the limit that it is beyond.

    Near a limit its derivatives are those of a whole standard deviation to both sides, not the slope's: a working set
    just short of a cliff is uncertain, too.
    """
    value = float(min(high, max(low, x)))
    if type(x) is not Uncertain or abs(float(x) - value) > _REACH * (high - low):
        return value
    deviations, sigmas = x.deviations, np.array(x.tape.sigmas)
    moved = np.clip(float(x) + deviations, low, high) - np.clip(float(x) - deviations, low, high)
    slopes = np.divide(moved, 2.0 * sigmas, out=np.zeros(len(sigmas)), where=sigmas > 0.0)
    x.tape.slopes[len(x.tape.steps)] = slopes.tolist()
    return x.tape.note(value, ("clamped", x, 0.0))


def relative_deviations(x: float, facts: int) -> Floats:
    """Return how far one standard deviation of each of *facts* moves *x*, relative; zeros for a plain number."""
    return x.deviations / float(x) if isinstance(x, Uncertain) else np.zeros(facts)
