"""Expressions of kernel descriptions: sizes such as ``4 * n`` and NumPy results such as ``y + a * x``.

simpleeval walks the syntax tree; nothing is compiled or executed as Python. Attributes, text, comprehensions and all
functions that are not listed here are refused. Limits of length, of the elements of every result, and of the additions
of a matrix product bound time and memory.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from math import ceil, floor, isfinite, log2, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpleeval import EvalWithCompoundTypes

from gpureport.text import quoted

_MOST_CHARACTERS = 1000
MOST_ELEMENTS = 2**27
"""Largest number of elements of an intermediate result."""
_MOST_ADDITIONS = 2**34
_MOST_INTEGER = 2**63

Value = int | float | NDArray[np.generic] | np.generic
Function = Callable[..., Any]

_ALLOWED = (
    *(ast.Expression, ast.Expr, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Load),
    *(ast.Name, ast.Constant, ast.Subscript, ast.Slice, ast.Tuple, ast.List),
    *(ast.operator, ast.unaryop, ast.cmpop),
)


class ExpressionError(ValueError):
    """An expression that is invalid; the message is the end of a sentence."""


def evaluate(text: str, names: Mapping[str, Value], functions: Mapping[str, Function] | None = None) -> Any:  # noqa: ANN401
    """Evaluate an expression of numbers and arrays.

    Args:
        text: the expression.
        names: values of the names that it may contain.
        functions: additional functions, by name.

    Raises:
        ExpressionError: it is not an expression, contains something that is not supported, or exceeds a limit.
    """
    tree = _parsed(text)
    known = {**_FUNCTIONS, **(functions or {})}
    _check_names(tree, names, known)
    evaluator: Any = EvalWithCompoundTypes(operators=_OPERATORS, functions=known, names=dict(names))
    try:
        with np.errstate(all="ignore"):
            return _limited(evaluator.eval(text, previously_parsed=tree))
    except ExpressionError:
        raise
    except ZeroDivisionError:
        raise ExpressionError(f"{quoted(text)} divides by zero") from None
    except Exception as error:  # noqa: BLE001 - NumPy raises many kinds
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ExpressionError(f"{quoted(text)} cannot be computed: {reason}") from None


def whole(text: str, names: Mapping[str, Value]) -> int:
    """Evaluate an expression whose value is a whole number of at least zero.

    Raises:
        ExpressionError: as :func:`evaluate`, or the value is another one.
    """
    value = number(text, names)
    if value < 0:
        raise ExpressionError(f"{quoted(text)} is {value:g}; it must not be negative")
    if not value.is_integer():
        raise ExpressionError(f"{quoted(text)} is {value:g}, not a whole number; use // to divide without remainder")
    return int(value)


def number(text: str, names: Mapping[str, Value]) -> float:
    """Evaluate an expression whose value is a finite number.

    Raises:
        ExpressionError: as :func:`evaluate`, or the value is not a finite number.
    """
    value = evaluate(text, names)
    if isinstance(value, tuple) or np.ndim(value) != 0 or not isfinite(float(value)):
        raise ExpressionError(f"{quoted(text)} is not a finite number")
    return float(value)


@cache
def _parsed(text: str) -> ast.Expr:
    if len(text) > _MOST_CHARACTERS:
        raise ExpressionError(f"has {len(text)} characters; an expression may have {_MOST_CHARACTERS}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{quoted(text)} is not an expression") from None
    for node in ast.walk(tree):
        constant = isinstance(node, ast.Constant) and not isinstance(node.value, int | float | None)
        if constant or not isinstance(node, _ALLOWED):
            what = "text" if constant else type(node).__name__.lower()
            raise ExpressionError(f"{quoted(text)} contains something that expressions do not support ({what})")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ExpressionError(f"{quoted(text)} calls something that is not the name of a function")
    return ast.Expr(tree.body)


def _names(tree: ast.AST) -> list[tuple[str, bool]]:
    """Return the names in a tree, each with whether it is called."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [(node.id, id(node) in called) for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _check_names(tree: ast.Expr, values: Mapping[str, Value], functions: Mapping[str, Function]) -> None:
    for name, called in _names(tree):
        known = functions if called else values
        if name not in known:
            what = "function" if called else "value"
            raise ExpressionError(f"there is no {what} {quoted(name)}; there are {', '.join(sorted(known)) or 'none'}")


def _limited(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, int) and abs(value) > _MOST_INTEGER:
        raise ExpressionError("an integer exceeds 64 bits")
    return value


def _check_elements(count: float) -> None:
    if count > MOST_ELEMENTS:
        raise ExpressionError(f"a result would have more than {MOST_ELEMENTS} elements")


def _two(function: Function) -> Function:
    """Limit the elements of the result of an operator with two operands."""

    def limited(a: Value, b: Value) -> Any:  # noqa: ANN401
        _check_elements(prod(np.broadcast_shapes(np.shape(a), np.shape(b))))
        return _limited(function(a, b))

    return limited


def _power(a: Value, b: Value) -> Any:  # noqa: ANN401
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * log2(abs(a)) > 63:
        raise ExpressionError("an integer exceeds 64 bits")
    return _two(operator.pow)(a, b)


def _shift(a: Value, b: Value) -> Any:  # noqa: ANN401
    if isinstance(b, int) and not 0 <= b < 64:
        raise ExpressionError("a shift must be by 0 to 63 bits")
    return _two(operator.lshift)(a, b)


def _matmul(a: Value, b: Value) -> Any:  # noqa: ANN401
    if np.ndim(a) and np.ndim(b):
        _check_elements(np.size(a) / np.shape(a)[-1] * np.size(b) / np.shape(b)[0])
        if np.size(a) * np.size(b) / np.shape(b)[0] > _MOST_ADDITIONS:
            raise ExpressionError("a matrix product is too large")
    return np.matmul(a, b)


_OPERATORS: Mapping[type[ast.AST], Function] = {
    **{
        kind: _two(function)
        for kind, function in {
            ast.Add: operator.add,
            ast.Sub: operator.sub,
            ast.Mult: operator.mul,
            ast.Div: operator.truediv,
            ast.FloorDiv: operator.floordiv,
            ast.Mod: operator.mod,
            ast.RShift: operator.rshift,
            ast.BitXor: operator.xor,
            ast.BitOr: operator.or_,
            ast.BitAnd: operator.and_,
            ast.Eq: operator.eq,
            ast.NotEq: operator.ne,
            ast.Gt: operator.gt,
            ast.Lt: operator.lt,
            ast.GtE: operator.ge,
            ast.LtE: operator.le,
        }.items()
    },
    ast.Pow: _power,
    ast.LShift: _shift,
    ast.MatMult: _matmul,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


def _arange(*bounds: int) -> NDArray[np.int64]:
    _check_elements(max(map(abs, bounds)))
    return np.arange(*bounds)


def _filled(value: float) -> Function:
    def fill(*shape: int) -> NDArray[np.float64]:
        _check_elements(prod(shape))
        return np.full(shape, value)

    return fill


def _repeat(array: NDArray[np.generic], count: int) -> NDArray[np.generic]:
    _check_elements(np.size(array) * count)
    return np.repeat(array, count)


def _tile(array: NDArray[np.generic], count: int) -> NDArray[np.generic]:
    _check_elements(np.size(array) * count)
    return np.tile(array, count)


def _reshape(array: NDArray[np.generic], *shape: int) -> NDArray[np.generic]:
    return np.reshape(array, shape)


def _histogram(array: NDArray[np.generic], count: int) -> NDArray[np.int64]:
    _check_elements(count)
    return np.bincount(np.asarray(array, np.int64), minlength=count)[:count]


def _stencil(interior: NDArray[np.generic], around: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return *around* with its interior replaced."""
    result = np.array(around)
    margin = tuple(slice((o - i) // 2, (o + i) // 2) for o, i in zip(around.shape, interior.shape, strict=True))
    result[margin] = interior
    return result


def _cast(kind: str) -> Function:
    return lambda value: np.asarray(value).astype(kind)


def _segment_sum(array: NDArray[np.generic], starts: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the sums of the parts ``array[starts[i]:starts[i + 1]]``; empty parts give zero."""
    sums = np.concatenate([[0], np.cumsum(np.asarray(array), dtype=np.float64)])
    ends = np.asarray(starts, np.int64)
    return np.asarray(sums[ends[1:]] - sums[ends[:-1]])


_FUNCTIONS: Mapping[str, Function] = {
    **{name: getattr(np, name) for name in ("abs", "sqrt", "exp", "log", "sin", "cos", "minimum", "maximum", "where")},
    **{
        name: getattr(np, name)
        for name in ("sum", "prod", "mean", "cumsum", "roll", "sort", "transpose", "concatenate")
    },
    **{name: _cast(name) for name in ("float32", "float64", "int32", "int64", "uint32", "uint64", "uint8")},
    "min": min,
    "max": max,
    "ceil": ceil,
    "floor": floor,
    "log2": log2,
    "arange": _arange,
    "zeros": _filled(0.0),
    "ones": _filled(1.0),
    "repeat": _repeat,
    "tile": _tile,
    "reshape": _reshape,
    "matmul": _matmul,
    "histogram": _histogram,
    "interior": _stencil,
    "segment_sum": _segment_sum,
}
