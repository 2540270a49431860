"""Numbers that record how they were computed, without changes to the model's code.

The model computes with :class:`Uncertain` as with any float. A :class:`Tape` records each operation. Going back over
the tape gives the derivative of a result by every fact at once (reverse-mode differentiation: Griewank and Walther,
Evaluating Derivatives, 2008, chapter 3; first-order error propagation: Taylor, An Introduction to Error Analysis, 1997,
chapter 3). The tape also shows how a result was computed (:mod:`gpureport.predict.arithmetic`).

An :class:`Uncertain` silently becomes a plain float, and its interval too small, wherever something converts it:

- ``float(x)`` and the functions of ``math`` and NumPy; ``min`` and ``max`` keep it.
- Pydantic, whenever it validates a float: ``Model(field=x)``, ``Model.model_validate({"field": x})``, and the
  validation of dumped data. Build records from final results only.
- ``model.model_copy(update={"field": x})`` validates nothing and keeps it, and so does a nested model that is already
  an instance. Change devices in this way only.

``tests/test_uncertainty.py`` checks that devices keep their uncertain numbers on the way through the model.
"""

import math
from typing import Literal

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.spec.uncertainty import constant

Operation = Literal["given", "+", "-", "*", "/", "^", "ln", "exp", "clamp"]

Step = tuple[Operation, float, float]
"""How a number was computed: operation, left operand, right operand (0 if the operation has fewer operands).

A plain tuple, because a prediction needs a million of them."""


class Tape:
    """The steps of a computation. The first steps are the facts.

    Attributes:
        steps: by index.
        names: of given numbers, by index.
        slopes: derivatives of clamped numbers by the facts, by index.
        sigmas: standard deviations of the facts.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.names: dict[int, str] = {}
        self.slopes: dict[int, list[float]] = {}
        self.sigmas: list[float] = []
        self._kept = 0

    def fact(self, name: str, value: float, sigma: float) -> "Uncertain":
        """Return a number with standard deviation *sigma*. All facts must come before any other step."""
        self.sigmas.append(sigma)
        return self.given(name, value)

    def given(self, name: str, value: float) -> "Uncertain":
        """Return a number without uncertainty."""
        self.names[len(self.steps)] = name
        return self.note(value, ("given", value, 0.0))

    def note(self, value: float, step: Step) -> "Uncertain":
        """Return the result of a step."""
        made = Uncertain(value)
        made.tape, made.index = self, len(self.steps)
        self.steps.append(step)
        return made

    def keep(self) -> None:
        """Mark the position to which :meth:`rewind` returns."""
        self._kept = len(self.steps)

    def rewind(self) -> None:
        """Delete the steps since :meth:`keep`."""
        del self.steps[self._kept :]


class Uncertain(float):
    """A float on a tape, with the value of the plain computation.

    Use :func:`log`, :func:`exp` and :func:`clamped` in place of the functions of ``math``.
    """

    __slots__ = ("index", "tape")
    __array_ufunc__ = None  # NumPy scalars use the methods below
    tape: Tape
    index: int

    def __add__(self, other: float) -> "Uncertain":
        return self.tape.note(float(self) + float(other), ("+", self, other))

    def __radd__(self, other: float) -> "Uncertain":
        # The initial 0 of a sum needs no step.
        return self.tape.note(float(other) + float(self), ("+", other, self)) if other else self

    def __neg__(self) -> "Uncertain":
        return self.tape.note(-float(self), ("-", 0.0, self))

    def __sub__(self, other: float) -> "Uncertain":
        return self.tape.note(float(self) - float(other), ("-", self, other))

    def __rsub__(self, other: float) -> "Uncertain":
        return self.tape.note(float(other) - float(self), ("-", other, self))

    def __mul__(self, other: float) -> "Uncertain":
        return self.tape.note(float(self) * float(other), ("*", self, other))

    def __rmul__(self, other: float) -> "Uncertain":
        return self.tape.note(float(other) * float(self), ("*", other, self))

    def __truediv__(self, other: float) -> "Uncertain":
        return self.tape.note(float(self) / float(other), ("/", self, other))

    def __rtruediv__(self, other: float) -> "Uncertain":
        return self.tape.note(float(other) / float(self), ("/", other, self))

    def __pow__(self, exponent: float) -> "Uncertain":  # type: ignore[override]
        # The exponent is a plain number other than 0.
        return self.tape.note(float(self) ** float(exponent), ("^", self, float(exponent)))

    @property
    def deviations(self) -> Floats:
        """Change of the number by one standard deviation of each fact, shape (facts,)."""
        steps, sigmas = self.tape.steps, self.tape.sigmas
        derivatives = [0.0] * max(self.index + 1, len(sigmas))
        derivatives[self.index] = 1.0
        for index in range(self.index, len(sigmas) - 1, -1):
            outer = derivatives[index]
            if outer == 0.0:
                continue
            operation, left, right = steps[index]
            if operation == "clamp":
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
    """Return the derivatives of a step's result by its operands *a* and *b*. Frequent operations come first."""
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


_REACH = constant(1.0)
"""A number that exceeds a limit by more than this, in units of the range, counts as certainly beyond."""


def clamped(x: float, low: float, high: float) -> float:
    """Return *x* limited to *low* … *high*.

    Its derivatives are differences over one standard deviation to both sides, not slopes. So a working set just below a
    cliff is uncertain, too.
    """
    value = float(min(high, max(low, x)))
    if type(x) is not Uncertain or abs(float(x) - value) > _REACH * (high - low):
        return value
    deviations, sigmas = x.deviations, np.array(x.tape.sigmas)
    moved = np.clip(float(x) + deviations, low, high) - np.clip(float(x) - deviations, low, high)
    slopes = np.divide(moved, 2.0 * sigmas, out=np.zeros(len(sigmas)), where=sigmas > 0.0)
    x.tape.slopes[len(x.tape.steps)] = slopes.tolist()
    return x.tape.note(value, ("clamp", x, 0.0))


def relative_deviations(x: float, facts: int) -> Floats:
    """Return the relative change of *x* by one standard deviation of each fact; *facts* zeros for a plain number."""
    return x.deviations / float(x) if isinstance(x, Uncertain) else np.zeros(facts)
