"""Noted computations, as simplified formulas."""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

_SIGNS = {"+": " + ", "-": " \N{MINUS SIGN} ", "*": " \N{MULTIPLICATION SIGN} ", "/": " / ", "^": "^"}
_NEUTRAL = {"+": 0.0, "-": 0.0, "*": 1.0, "/": 1.0, "^": 1.0}
"""The right operand that changes nothing."""
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3, "norm": 3}


@dataclass(frozen=True, eq=False)
class Expression:
    """A number and how it was computed; equal expressions are the same object.

    Operations are ``given`` (a number without operands, and without name if it is plain), ``+`` and ``*`` (two or more
    operands), ``-``, ``/``, ``^``, ``ln``, ``exp``, ``clamp`` (to the range 0 to 1), ``norm`` (the last operand is p).
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


_KNOWN: WeakValueDictionary[tuple[object, ...], Expression] = WeakValueDictionary()


def given(value: float, name: str = "") -> Expression:
    """Return a given number; 0 and 1 have no name."""
    name = "" if value in (0.0, 1.0) else name
    return _KNOWN.setdefault(("given", name, value), Expression("given", (), value, name))


def made(operation: str, operands: tuple[Expression, ...], value: float) -> Expression:
    """Return the result of an operation; factors of 1 and terms of 0 are left out."""
    if all(not operand.operands and not operand.name for operand in operands) or value == 0.0:
        return given(value)
    a, b = (*operands, operands[0])[:2]
    if operation == "/" and a is b:
        return given(1.0)
    if operation == "exp" and a.operation == "ln":
        return a.operands[0]
    if (other := _unchanged(operation, a, b)) is not None:
        return other
    if operation == "norm":
        *terms, p = (operand for operand in operands if operand.value)
        if len(terms) == 1:
            return terms[0]
        operands = (*terms, given(round(p.value, 9)))
    if operation in ("+", "*"):
        operands = (*_flat(operation, a), *_flat(operation, b))
    return _KNOWN.setdefault((operation, *operands), Expression(operation, operands, value))


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
