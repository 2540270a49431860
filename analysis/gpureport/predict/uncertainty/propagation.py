"""Numbers that record how they were computed, of one point or of several at once, without changes to the model's code.

The model computes with :class:`Uncertain` as with any float. A :class:`Tape` records each operation. Going back over
the tape gives the derivative of a result by every fact at once (reverse-mode differentiation: Griewank and Walther,
Evaluating Derivatives, 2008, chapter 3; first-order error propagation: Taylor, An Introduction to Error Analysis, 1997,
chapter 3). The tape also shows how a result was computed (:mod:`gpureport.predict.arithmetic`).

A number may have a value for each of several points; the model then runs once for all of them. Where it decides and
the points disagree, it stops with :class:`Divided`, and runs again for each part (:mod:`gpureport.predict.together`).
:func:`where`, :func:`maximum` and :func:`minimum` decide for each point instead, which saves time.

An :class:`Uncertain` becomes a plain float, and its interval too small, wherever something converts it:

- ``float(x)`` and the functions of ``math`` and NumPy; ``min``, ``max`` and ``ceil`` accept it.
- Pydantic, whenever it validates a float: ``Model(field=x)``, ``Model.model_validate({"field": x})``, and the
  validation of dumped data. Build records from final results only.
- ``model.model_copy(update={"field": x})`` validates nothing and keeps it, and so does a nested model that is already
  an instance. Change devices in this way only.

``tests/test_uncertainty.py`` checks that devices keep their uncertain numbers on the way through the model.
"""

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.uncertainty import constant

T = TypeVar("T")
Floats = NDArray[np.float64]

Operation = Literal["given", "+", "-", "*", "/", "^", "ln", "exp", "clamp"]

Step = tuple[Operation, Any, Any]
"""How a number was computed: operation, left operand (name of a given number), right operand (0 if there is none).

The right operand of a clamped number is its derivatives by the facts, shape (facts, points)."""


class Tape:
    """What the numbers of a computation depend on. The first of them are the facts.

    Attributes:
        length: how many numbers it has.
        sigmas: standard deviations of the facts.
    """

    def __init__(self) -> None:
        self.length = 0
        self.sigmas: list[float] = []

    def fact(self, name: str, value: float, sigma: float) -> "Uncertain":
        """Return a number with standard deviation *sigma*. All facts must come before any other number."""
        self.sigmas.append(sigma)
        return self.given(name, value)

    def given(self, name: str, value: float) -> "Uncertain":
        """Return a number without uncertainty."""
        return Uncertain(value, self, ("given", name, 0.0))


class Divided(Exception):  # noqa: N818 - no error
    """The points disagree.

    Attributes:
        answers: one for each of them.
    """

    def __init__(self, answers: Sequence[Any]) -> None:
        """Keep the *answers*."""
        super().__init__("the points disagree")
        self.answers = answers


def agreed(answers: Sequence[T]) -> T:
    """Return the answer of all points.

    Raises:
        Divided: they disagree.
    """
    first = answers[0]
    if any(answer != first for answer in answers):
        raise Divided(answers)
    return first


class Each(np.ndarray[Any, Any]):
    """Truths, names or records, one for each point."""

    def __bool__(self) -> bool:
        """Return the truth of all points."""
        return bool(agreed(self.tolist()))

    def __getattr__(self, name: str) -> float:
        """Return a number of the record of each point."""
        values = [getattr(record, name) for record in self.tolist()]
        return values[0] if values.count(values[0]) == len(values) else Uncertain(np.array(values, float))


class Uncertain(float if TYPE_CHECKING else object):  # type: ignore[misc] # stands for a float everywhere
    """A number on a tape, or numbers of several points, with the values of the plain computation.

    Use the functions of this module in place of those of ``math``.

    Attributes:
        value: the number, or those of the points, shape (points,).
        tape: that it is on, if it depends on a given number.
        index: after those of all numbers that it depends on.
        step: how it was computed.
    """

    __slots__ = ("index", "step", "tape", "value")
    __array_ufunc__ = None  # NumPy scalars use the methods below

    def __init__(self, value: float | Floats, tape: Tape | None = None, step: Step = ("given", "", 0.0)) -> None:
        """Give it the next place on the *tape*."""
        self.value: Any = value
        self.tape, self.step = tape, step
        if tape is not None:
            self.index = tape.length
            tape.length += 1

    def __add__(self, other: float) -> "Uncertain":
        return _noted("+", self, other, self.value + plain(other))

    def __radd__(self, other: float) -> "Uncertain":
        # The initial 0 of a sum needs no step.
        return _noted("+", other, self, other + self.value) if other else self

    def __neg__(self) -> "Uncertain":
        return _noted("-", 0.0, self, -self.value)

    def __sub__(self, other: float) -> "Uncertain":
        return _noted("-", self, other, self.value - plain(other))

    def __rsub__(self, other: float) -> "Uncertain":
        return _noted("-", other, self, other - self.value)

    def __mul__(self, other: float) -> "Uncertain":
        return _noted("*", self, other, self.value * plain(other))

    def __rmul__(self, other: float) -> "Uncertain":
        return _noted("*", other, self, other * self.value)

    def __truediv__(self, other: float) -> "Uncertain":
        return _noted("/", self, other, self.value / plain(other))

    def __rtruediv__(self, other: float) -> "Uncertain":
        return _noted("/", other, self, other / self.value)

    def __pow__(self, exponent: float) -> "Uncertain":
        # The exponent depends on no fact, and is not 0.
        return _noted("^", self, exponent, self.value ** plain(exponent))

    def __ceil__(self) -> int:
        value = _applied(math.ceil, np.ceil, self)
        return Uncertain(value) if isinstance(value, np.ndarray) else value

    def __lt__(self, other: float) -> bool:
        return _each(self.value < plain(other))

    def __le__(self, other: float) -> bool:
        return _each(self.value <= plain(other))

    def __gt__(self, other: float) -> bool:
        return _each(self.value > plain(other))

    def __ge__(self, other: float) -> bool:
        return _each(self.value >= plain(other))

    def __eq__(self, other: object) -> bool:
        return _each(self.value == plain(other))

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def __float__(self) -> float:
        return float(agreed(self.value.tolist()) if isinstance(self.value, np.ndarray) else self.value)

    def __hash__(self) -> int:
        return hash(float(self))

    @property
    def deviations(self) -> Floats:
        """Change of the number by one standard deviation of each fact, shape (facts,) or (points, facts)."""
        sigmas = self.tape.sigmas if self.tape else []
        found = np.zeros((len(sigmas), np.size(self.value)))
        order, derivatives = [(-self.index, self)], {self.index: np.float64(1.0)}
        while order:
            _, number = heappop(order)
            derivative = derivatives.pop(number.index)
            operation, *operands = number.step
            if number.index < len(sigmas):
                found[number.index] += derivative
            elif operation == "clamp":
                found += derivative * operands[1]
            for operand, slope in zip(operands, _SLOPES[operation], strict=False):
                if type(operand) is Uncertain and operand.tape is not None:
                    part = derivative * slope(plain(operands[0]), plain(operands[1]))
                    if operand.index not in derivatives:
                        heappush(order, (-operand.index, operand))
                    derivatives[operand.index] = derivatives.get(operand.index, 0.0) + part
        changes = found.T * sigmas
        return changes if isinstance(self.value, np.ndarray) else changes[0]


def plain(x: Any) -> Any:  # noqa: ANN401 - a number, or numbers of several points
    """Return the values of *x*."""
    return x.value if type(x) is Uncertain else x


def _noted(operation: Operation, left: Any, right: Any, value: Any) -> Uncertain:  # noqa: ANN401
    tape = left.tape if type(left) is Uncertain else None
    if tape is None and type(right) is Uncertain:
        tape = right.tape
    return Uncertain(value, tape, (operation, left, right))


def _each(truths: Any) -> bool:  # noqa: ANN401 - a truth, or those of several points
    return cast("bool", truths.view(Each)) if isinstance(truths, np.ndarray) else bool(truths)


def _applied(one: Callable[[Any], Any], several: Callable[[Any], Any], x: float) -> Any:  # noqa: ANN401
    value = plain(x)
    return several(value) if isinstance(value, np.ndarray) else one(value)


_SLOPES: dict[Operation, tuple[Callable[[Any, Any], Any], ...]] = {
    "given": (),
    "clamp": (),
    "*": (lambda _, b: b, lambda a, _: a),
    "/": (lambda _, b: 1.0 / b, lambda a, b: -a / b**2),
    "+": (lambda *_: 1.0, lambda *_: 1.0),
    "-": (lambda *_: 1.0, lambda *_: -1.0),
    "^": (lambda a, b: b * a ** (b - 1.0),),
    "ln": (lambda a, _: 1.0 / a,),
    "exp": (lambda a, _: np.exp(a),),
}
"""Derivatives of a step's result by its operands a and b."""


def log(x: float) -> float:
    """Return the natural logarithm of *x*, on its tape if it is on one."""
    return _noted("ln", x, 0.0, _applied(math.log, np.log, x)) if type(x) is Uncertain else math.log(x)


def exp(x: float) -> float:
    """Return e to the power of *x*, on its tape if it is on one."""
    return _noted("exp", x, 0.0, _applied(math.exp, np.exp, x)) if type(x) is Uncertain else math.exp(x)


def where(condition: bool, this: T, that: T) -> T:
    """Return *this* for points that meet the *condition*, *that* for the others: numbers, or names."""
    if not isinstance(condition, Each) or len(set(condition.tolist())) == 1:
        return this if condition else that
    chosen: Any = np.where(condition, plain(this), plain(that))
    if chosen.dtype.kind not in "fi":
        return chosen.view(Each)
    of_this = np.asarray(condition, dtype=float)
    left, right = _noted("*", this, of_this, 0.0), _noted("*", that, 1.0 - of_this, 0.0)
    return _noted("+", left, right, chosen.astype(float))


def maximum(first: float, *others: float) -> float:
    """Return the largest number, of each point."""
    for other in others:
        first = where(other > first, other, first)
    return first


def minimum(first: float, *others: float) -> float:
    """Return the smallest number, of each point."""
    for other in others:
        first = where(other < first, other, first)
    return first


_REACH = constant(1.0)
"""A number that exceeds a limit by more than this, in units of the range, counts as certainly beyond."""


def clamped(x: float, low: float, high: float) -> float:
    """Return *x* limited to *low* … *high*.

    Its derivatives are differences over one standard deviation to both sides, not slopes. So a working set just below a
    cliff is uncertain, too.
    """
    if type(x) is not Uncertain:
        return float(min(high, max(low, x)))
    value = np.clip(x.value, low, high)
    certain = np.abs(x.value - value) > _REACH * (high - low)
    if x.tape is None or np.all(certain):
        return Uncertain(value) if isinstance(value, np.ndarray) else float(value)
    deviations, sigmas = np.atleast_2d(x.deviations), np.array(x.tape.sigmas)
    moved = np.clip(x.value + deviations.T, low, high) - np.clip(x.value - deviations.T, low, high)
    slopes = np.divide(moved.T, 2.0 * sigmas, out=np.zeros(deviations.shape), where=sigmas > 0.0).T
    return _noted("clamp", x, np.where(certain, 0.0, slopes), value)


def relative_deviations(x: float, facts: int) -> Floats:
    """Return the relative change of *x* by one standard deviation of each fact; *facts* zeros for a plain number.

    The shape is (facts,), or (points, facts) of several points.
    """
    if type(x) is not Uncertain or x.tape is None:
        return np.zeros((*np.shape(plain(x)), facts))
    changes: Floats = x.deviations.T / x.value
    return changes.T
