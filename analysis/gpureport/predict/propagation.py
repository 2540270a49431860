"""Numbers that know by how much each fact of the device moves them, of one point or of several at once.

The model computes with :class:`Uncertain` as with any float. Each operation also gives the change of its result by one
standard deviation of every fact (forward-mode differentiation: Griewank and Walther, Evaluating Derivatives, 2008,
chapter 3; first-order error propagation: Taylor, An Introduction to Error Analysis, 1997, chapter 3). Numbers of one
point may also note how they were computed (:mod:`gpureport.predict.arithmetic`).

A number may have a value for each of several points; the model then runs once for all of them. Where it decides and
the points disagree, it stops with :class:`Divided`, and runs again for each part (:func:`for_all`). :func:`where`,
:func:`maximum` and :func:`minimum` decide for each point instead, which saves time.

An :class:`Uncertain` becomes a plain float, and its interval too small, wherever something converts it:

- ``float(x)`` and the functions of ``math`` and NumPy; ``min``, ``max`` and ``ceil`` accept it.
- Pydantic, whenever it validates a float: ``Model(field=x)``, ``Model.model_validate({"field": x})``, and the
  validation of dumped data. Build records from final results only.
- ``model.model_copy(update={"field": x})`` validates nothing and keeps it, and so does a nested model that is already
  an instance. Change devices in this way only.

``tests/test_uncertainty.py`` checks that devices keep their uncertain numbers on the way through the model.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.grouping import grouped
from gpureport.predict.expressions import Expression, given, made
from gpureport.records.prediction import Occupancy
from gpureport.spec.uncertainty import constant

T = TypeVar("T")
R = TypeVar("R")
Floats = NDArray[np.float64]


class Divided(Exception):  # noqa: N818 - no error
    """The points disagree; its argument is a sequence of their answers."""


def agreed(answers: Sequence[T]) -> T:
    """Return the answer of all points; :class:`Divided` if they disagree."""
    first = answers[0]
    if any(answer != first for answer in answers):
        raise Divided(answers)
    return first


class Each(np.ndarray[Any, Any]):
    """Truths, names or records, one for each point."""

    def __bool__(self) -> bool:
        return bool(agreed(self.tolist()))

    def __getattr__(self, name: str) -> float:
        """Return a number of the record of each point."""
        values = [getattr(record, name) for record in self.tolist()]
        return values[0] if values.count(values[0]) == len(values) else Uncertain(np.array(values, float))


class Uncertain(float if TYPE_CHECKING else object):  # type: ignore[misc] # stands for a float everywhere
    """A number that facts move, or numbers of several points, with the values of the plain computation.

    Use the functions of this module in place of those of ``math``.

    Attributes:
        value: the number, or those of the points, shape (points,).
        moved: its change by one standard deviation of each fact, shape (facts, 1) or (facts, points); 0: by none.
        note: how it was computed; ``None`` if no operand has a note.
    """

    __slots__ = ("moved", "note", "value")
    __array_ufunc__ = None  # NumPy scalars use the methods below

    def __init__(self, value: float | Floats, moved: float | Floats = 0.0, note: Expression | None = None) -> None:
        self.value: Any = value
        self.moved: Any = moved
        self.note = note

    def __add__(self, other: float) -> "Uncertain":
        return _noted(self.value + plain(other), self.moved + _moved(other), "+", self, other)

    def __radd__(self, other: float) -> "Uncertain":
        return _noted(other + self.value, self.moved, "+", other, self)

    def __neg__(self) -> "Uncertain":
        return _noted(-self.value, -self.moved, "-", 0.0, self)

    def __sub__(self, other: float) -> "Uncertain":
        return _noted(self.value - plain(other), self.moved - _moved(other), "-", self, other)

    def __rsub__(self, other: float) -> "Uncertain":
        return _noted(other - self.value, -self.moved, "-", other, self)

    def __mul__(self, other: float) -> "Uncertain":
        factor = plain(other)
        return _noted(self.value * factor, self.moved * factor + _moved(other) * self.value, "*", self, other)

    def __rmul__(self, other: float) -> "Uncertain":
        return _noted(other * self.value, self.moved * other, "*", other, self)

    def __truediv__(self, other: float) -> "Uncertain":
        below, value = plain(other), self.value / plain(other)
        return _noted(value, (self.moved - value * _moved(other)) / below, "/", self, other)

    def __rtruediv__(self, other: float) -> "Uncertain":
        value = other / self.value
        return _noted(value, self.moved * (-value / self.value), "/", other, self)

    def __pow__(self, exponent: float) -> "Uncertain":
        power = plain(exponent)  # depends on no fact, and is not 0
        return _noted(self.value**power, self.moved * (power * self.value ** (power - 1.0)), "^", self, exponent)

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


def plain(x: Any) -> Any:  # noqa: ANN401 - a number, or numbers of several points
    """Return the values of *x*."""
    return x.value if type(x) is Uncertain else x


def _moved(x: Any) -> Any:  # noqa: ANN401
    return x.moved if type(x) is Uncertain else 0.0


def note(x: float) -> Expression:
    """Return how *x* was computed."""
    return x.note if type(x) is Uncertain and x.note else given(float(x))


def _noted(value: Any, moved: Any, operation: str, *operands: Any) -> Uncertain:  # noqa: ANN401
    for each in operands:
        if type(each) is Uncertain and each.note:
            return Uncertain(value, moved, made(operation, tuple(map(note, operands)), float(value)))
    return Uncertain(value, moved)


def as_norm(x: float, operands: Iterable[float], p: float) -> float:
    """Return *x*, noted as the p-norm of *operands*."""
    return _noted(x.value, x.moved, "norm", *operands, p) if type(x) is Uncertain and x.note else x


def _each(truths: Any) -> bool:  # noqa: ANN401 - a truth, or those of several points
    return cast("bool", truths.view(Each)) if isinstance(truths, np.ndarray) else bool(truths)


def _applied(one: Callable[[Any], Any], several: Callable[[Any], Any], x: float) -> Any:  # noqa: ANN401
    value = plain(x)
    return several(value) if isinstance(value, np.ndarray) else one(value)


def log(x: float) -> float:
    """Return the natural logarithm of *x*."""
    if type(x) is not Uncertain:
        return math.log(x)
    return _noted(_applied(math.log, np.log, x), x.moved / x.value, "ln", x)


def exp(x: float) -> float:
    """Return e to the power of *x*."""
    if type(x) is not Uncertain:
        return math.exp(x)
    value = _applied(math.exp, np.exp, x)
    return _noted(value, x.moved * value, "exp", x)


def where(condition: bool, this: T, that: T) -> T:
    """Return *this* for points that meet the *condition*, *that* for the others: numbers, or names."""
    if not isinstance(condition, Each) or len(set(condition.tolist())) == 1:
        return this if condition else that
    chosen: Any = np.where(condition, plain(this), plain(that))
    if chosen.dtype.kind not in "fi":
        return chosen.view(Each)
    return Uncertain(chosen.astype(float), np.where(condition, _moved(this), _moved(that)))


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
    if np.all(certain) or (np.ndim(x.moved) == 0 and not x.note):
        return Uncertain(value) if isinstance(value, np.ndarray) else float(value)
    step = np.clip(x.value + x.moved, low, high) - np.clip(x.value - x.moved, low, high)
    return _noted(value, np.where(certain, 0.0, step / 2.0), "clamp", x)


def relative_deviations(x: float, facts: int) -> Floats:
    """Return the relative change of *x* by one standard deviation of each fact; *facts* zeros for a plain number.

    The shape is (facts,), or (points, facts) of several points.
    """
    value = plain(x)
    changes: Floats = np.broadcast_to(_moved(x) / value, (facts, np.size(value))).T
    return changes if np.ndim(value) else changes[0]


def for_all(points: Sequence[T], run: Callable[[Sequence[T]], Iterable[R]]) -> list[R]:
    """Return the results that *run* gives for *points*, together or, where they disagree, in parts."""
    try:
        return list(run(points))
    except Divided as divided:
        parts = grouped(zip(divided.args[0], range(len(points)), strict=True)).values()
    found = {
        place: result
        for part in parts
        for place, result in zip(part, for_all([points[place] for place in part], run), strict=True)
    }
    return [found[place] for place in range(len(points))]


def together(values: Sequence[Any]) -> Any:  # noqa: ANN401 - of any type
    """Return one value for all points, with arrays where numbers differ; :class:`.Divided` if anything else does."""
    first = values[0]
    kind: Any = type(first)
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        columns = zip(*map(attrgetter(*names), values), strict=True)
        return kind(*map(together, columns))
    if isinstance(first, Mapping):
        agreed(list(map(tuple, values)))
        return {name: together([value[name] for value in values]) for name in first}
    if isinstance(first, tuple):
        agreed(list(map(len, values)))
        return tuple(map(together, zip(*values, strict=True)))
    if values.count(first) == len(values):
        return first
    if isinstance(first, Occupancy):
        objects = np.empty(len(values), object)
        objects[:] = values
        return objects.view(Each)
    if all(type(value) in (int, float) for value in values):
        return Uncertain(np.array(values, float))
    raise Divided(values)


def apart(value: Any, count: int) -> list[Any]:  # noqa: ANN401 - of any type
    """Return the *value* of each of *count* points."""
    values = plain(value)
    return values.tolist() if isinstance(values, np.ndarray) else [values] * count


def named(name: str, number: float) -> dict[str, float]:
    """Return *number* by *name*; if the points have several names, NaN for points with another one."""
    if not isinstance(name, Each):
        return {name: number}
    return {each: where(name == each, number, math.nan) for each in dict.fromkeys(name.tolist())}
