"""Computations recorded on a tape, as simplified formulas."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose

from gpureport.predict.uncertainty.propagation import Uncertain

_SIGNS = {"+": " + ", "-": " \N{MINUS SIGN} ", "*": " \N{MULTIPLICATION SIGN} ", "/": " / ", "^": "^"}
_NEUTRAL = {"+": 0.0, "-": 0.0, "*": 1.0, "/": 1.0, "^": 1.0}
"""The right operand that changes nothing."""
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3, "norm": 3}


@dataclass(frozen=True, eq=False)
class Expression:
    """A number and how it was computed; equal expressions are the same object.

    Attributes:
        operation: ``given``, ``+`` and ``*`` (two or more operands), ``-``, ``/``, ``^``, ``ln``, ``exp``, ``clamp``
            (to the range 0 to 1), ``norm`` (the last operand is p).
        operands: of the operation; none for a given number.
        value: the number.
        name: of a given number; a plain number has none.
    """

    operation: str
    operands: tuple["Expression", ...]
    value: float
    name: str = ""

    def is_norm(self, p: float) -> bool:
        """Return whether this is the p-norm with exponent *p*."""
        return self.operation == "norm" and self.operands[-1].value == p

    def written(self, names: Mapping["Expression", str], *, values: bool) -> str:
        """Write the formula with names, or with *values* in their place; *names* are those of intermediate results."""
        if self.operation == "given":
            return _given(self, values=values)

        def part(operand: Expression, precedence: int) -> str:
            if operand in names or not operand.operands:
                return number(operand.value) if values else names.get(operand) or _given(operand, values=False)
            text = operand.written(names, values=values)
            return f"({text})" if _PRECEDENCE.get(operand.operation, 4) < precedence else text

        if self.operation == "norm":
            p = part(self.operands[-1], 4)
            terms = (f"{part(operand, 4)}^{p}" for operand in self.operands[:-1])
            return f"({' + '.join(terms)})^(1 / {p})"
        if len(self.operands) == 1:
            return f"{self.operation}({part(self.operands[0], 0)})"
        precedence = _PRECEDENCE[self.operation]
        first, *others = self.operands
        inner = precedence + (self.operation in "-/^")
        left = part(first, precedence + (self.operation == "^"))
        return _SIGNS[self.operation].join([left, *(part(other, inner) for other in others)])


def _given(leaf: Expression, *, values: bool) -> str:
    return number(leaf.value) if values or not leaf.name else leaf.name


def number(value: float) -> str:
    """Write a number with seven digits, because differences cancel: ``132``, ``1.98e9``, ``4.35e-6``."""
    if float(value).is_integer() and abs(value) < 1e7:
        return str(int(value))
    mantissa, _, exponent = f"{value:.7g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


class Reader:
    """Reads the numbers of one tape."""

    def __init__(self) -> None:
        self._read: dict[int, Expression] = {}
        self._made: dict[tuple[object, ...], Expression] = {}

    def read(self, x: float) -> Expression:
        """Return how *x* was computed; factors of 1 and terms of 0 are left out."""
        if not isinstance(x, Uncertain):
            return self._leaf(float(x))
        if x.index not in self._read:
            operation, left, right = x.step
            if operation == "given":
                # A transition range varies by a factor of 1, which readers need not see.
                made = self._leaf(float(x), "" if left.endswith("_transition") else left)
            else:
                operands = (left,) if operation in ("ln", "exp", "clamp") else (left, right)
                made = self._simple(operation, tuple(self.read(operand) for operand in operands), float(x))
            self._read[x.index] = made
        return self._read[x.index]

    def _leaf(self, value: float, name: str = "") -> Expression:
        name = "" if value in (0.0, 1.0) else name
        return self._made.setdefault(("given", name, value), Expression("given", (), value, name))

    def _node(self, operation: str, operands: tuple[Expression, ...], value: float) -> Expression:
        return self._made.setdefault((operation, *operands), Expression(operation, operands, value))

    def _simple(self, operation: str, operands: tuple[Expression, ...], value: float) -> Expression:
        if all(not operand.operands and not operand.name for operand in operands) or value == 0.0:
            return self._leaf(value)
        a, b = (*operands, operands[0])[:2]
        if operation == "/" and a is b:
            return self._leaf(1.0)
        if operation == "exp" and a.operation == "ln":
            return a.operands[0]
        if (other := _unchanged(operation, a, b)) is not None:
            return other
        if operation == "*" and (norm := _norm(a, b)):
            return self._node("norm", (*norm, self._leaf(round(1.0 / b.operands[1].value, 9))), value)
        if operation in ("+", "*"):
            operands = (*_flat(operation, a), *_flat(operation, b))
        return self._node(operation, operands, value)


def _unchanged(operation: str, a: Expression, b: Expression) -> Expression | None:
    if operation in _NEUTRAL and _plain(b, _NEUTRAL[operation]):
        return a
    if operation == "^":
        return a if _plain(a, 1.0) else None
    for one, other in ((a, b), (b, a)) if operation in ("+", "*") else ():
        if _plain(one, _NEUTRAL[operation]):
            return other
        if operation == "+" and other.operation == "-" and other.operands[1] is one:
            return other.operands[0]
    return None


def _plain(x: Expression, value: float) -> bool:
    return not x.operands and not x.name and x.value == value


def _flat(operation: str, x: Expression) -> tuple[Expression, ...]:
    return x.operands if x.operation == operation else (x,)


def _norm(largest: Expression, root: Expression) -> tuple[Expression, ...] | None:
    """Return the operands of a p-norm that was computed as largest x ((x / largest)^p + ... + 1)^(1/p)."""
    if root.operation != "^":
        return None
    p = 1.0 / root.operands[1].value
    found = []
    for term in _flat("+", root.operands[0]):
        if _plain(term, 1.0):
            found.append(largest)
        elif term.operation == "^" and isclose(term.operands[1].value, p) and term.operands[0].operation == "/":
            above, below = term.operands[0].operands
            if below is not largest:
                return None
            found.append(above)
        else:
            return None
    return tuple(found) if isclose(sum((x.value / largest.value) ** p for x in found) ** (1 / p), root.value) else None
