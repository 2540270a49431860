"""Expressions of kernel descriptions: sizes such as ``4 * n`` and NumPy results such as ``y + a * x``.

Python and NumPy evaluate them after a check of their syntax. They contain numbers, operators, indices, lists, and names
and functions that are listed; no attributes, text or comprehensions, and no arguments that a function would change.
Memory is limited.
"""

import ast
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache, partial
from inspect import Parameter, signature
from math import ceil, floor, isfinite, log2
from operator import index
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.system import limited_growth
from gpureport.text import quoted

_MOST_CHARACTERS = 1000
_MOST_BYTES = 2**33
MOST_INTEGER = 2**63
"""Largest whole number of an expression."""
_SYNTAX = (
    *(ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword),
    *(ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.USub, ast.UAdd, ast.Invert, ast.operator),
    *(ast.Eq, ast.NotEq, ast.Gt, ast.Lt, ast.GtE, ast.LtE),
)

Value = int | float | NDArray[np.generic] | np.generic
Function = Callable[..., Any]


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
    calls, used, code = _compiled(text)
    known = {**_FUNCTIONS, **(functions or {})}
    _check_names("value", used, names)
    _check_names("function", [name for name, _ in calls], known)
    for name, call in calls:
        _check_arguments(name, call, known[name])
    own = {_of_function(name): known[name] for name, _ in calls}
    large = calls or any(np.ndim(names[name]) for name in used)
    try:
        with np.errstate(all="ignore"), limited_growth(_MOST_BYTES) if large else nullcontext():
            return _of_machine(eval(code, {"__builtins__": {}, **_OWN, **own, **names}))  # noqa: S307 - checked
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
    if value > MOST_INTEGER:
        raise ExpressionError(f"{quoted(text)} is {value:g}, which exceeds 64 bits")
    return int(value)


def number(text: str, names: Mapping[str, Value]) -> float:
    """Evaluate an expression whose value is a finite number.

    Raises:
        ExpressionError: as :func:`evaluate`, or the value is not a finite number, or the expression has ``^``: a power
            in ranges of sizes, an exclusive or in other expressions, which no amount needs.
    """
    if "^" in text:
        raise ExpressionError(f"{quoted(text)} has ^, which is no power in expressions; write **")
    value = evaluate(text, names)
    try:
        if np.ndim(value) == 0 and isfinite(value):
            return float(value)
    except (TypeError, OverflowError):
        pass
    raise ExpressionError(f"{quoted(text)} is not a finite number")


@cache
def _compiled(text: str) -> tuple[list[tuple[str, ast.Call]], list[str], CodeType]:
    """Return the functions that an expression calls, with the calls, the names of its values, and its code."""
    if len(text) > _MOST_CHARACTERS:
        raise ExpressionError(f"has {len(text)} characters; an expression may have {_MOST_CHARACTERS}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        nodes = [*ast.walk(tree.body)]
        _check_syntax(text, nodes)
        calls = [
            (node.func.id, node) for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        called = {id(call.func) for _, call in calls}
        used = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
        _arrays(tree)
        code = compile(ast.fix_missing_locations(tree), "expression", "eval")
    except (SyntaxError, RecursionError, MemoryError):
        raise ExpressionError(f"{quoted(text)} is not an expression") from None
    return calls, used, code


def _check_syntax(text: str, nodes: list[ast.AST]) -> None:
    for node in nodes:
        constant = isinstance(node, ast.Constant) and not isinstance(node.value, int | float | None)
        if constant or not isinstance(node, _SYNTAX):
            what = type(node.value if isinstance(node, ast.Constant) else node).__name__.lower()
            raise ExpressionError(f"{quoted(text)} contains something that expressions do not support ({what})")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ExpressionError(f"{quoted(text)} calls something that is not the name of a function")


def _arrays(node: ast.AST, *, kept: bool = False) -> ast.AST:
    """Make arrays of lists, limit powers and shifts, and tell functions from values of the same name.

    A list that is *kept* is a key or an argument of ``concatenate``: its parts may have different lengths.
    """
    joining = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "concatenate"
    for name, value in ast.iter_fields(node):
        inside = partial(_arrays, kept=name == "slice" or (joining and name == "args"))
        if isinstance(value, ast.AST | list):
            setattr(node, name, [*map(inside, value)] if isinstance(value, list) else inside(value))
    if isinstance(node, ast.List | ast.Tuple) and not kept:
        return _call("array", node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
        return _call("power" if isinstance(node.op, ast.Pow) else "shift", node.left, node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        node.func = _call(node.func.id).func
    return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(_of_function(name), ast.Load()), [*arguments], [])


def _of_function(name: str) -> str:
    return f"{name}()"


def _check_names(what: str, used: list[str], known: Mapping[str, Any]) -> None:
    if unknown := next((name for name in used if name not in known), None):
        raise ExpressionError(f"there is no {what} {quoted(unknown)}; there are {', '.join(sorted(known)) or 'none'}")


def _check_arguments(name: str, call: ast.Call, function: Function) -> None:
    try:
        signature(function).bind(*call.args, **{str(each.arg): each.value for each in call.keywords})
    except TypeError:
        what = f"{quoted(name)} cannot have these arguments; write {_signature(name, function)}"
        raise ExpressionError(what) from None


def _signature(name: str, function: Function) -> str:
    arguments = (str(each.replace(annotation=Parameter.empty)) for each in signature(function).parameters.values())
    return f"{name}({', '.join(arguments)})"


def _unary(function: Function) -> Function:
    return lambda value, /: function(value)


def _binary(function: Function) -> Function:
    return lambda a, b, /: function(a, b)


def _along(function: Function) -> Function:
    return lambda array, /, axis=None: function(array, axis=tuple(map(index, axis)) if np.ndim(axis) else axis)


def _cast(kind: str) -> Function:
    return lambda value, /: np.asarray(value).astype(kind)


def _power(a: Any, b: Any) -> Any:  # noqa: ANN401
    _check_bits(b * log2(abs(a)) if isinstance(a, int) and isinstance(b, int) and a else 0)
    return _of_machine(a) ** _of_machine(b)


def _shift(a: Any, b: Any) -> Any:  # noqa: ANN401
    _check_bits(b if isinstance(a, int) and isinstance(b, int) else 0)
    return a << b


def _of_machine(value: Any) -> Any:  # noqa: ANN401
    """Refuse arrays of Python's integers, which NumPy makes of those beyond 64 bits."""
    _check_bits(64 if np.asarray(value).dtype == object else 0)
    return value


def _check_bits(count: float) -> None:
    if count > 63:
        raise ExpressionError("an integer exceeds 64 bits")


def _array(values: Any) -> NDArray[np.generic]:  # noqa: ANN401
    found = np.asarray(values)
    if found.dtype.kind not in "biufc":
        raise ExpressionError("a list contains something that is not a number")
    return found


def _histogram(array: Value, count: int, /) -> NDArray[np.int64]:
    values = np.asarray(array, np.int64)
    return np.bincount(values[values < index(count)], minlength=index(count))


def _stencil(interior: NDArray[np.generic], around: NDArray[np.generic], /) -> NDArray[np.generic]:
    result = np.array(around)
    if np.ndim(interior) != result.ndim:
        raise ExpressionError("the arrays of interior need the same number of dimensions")
    lengths = zip(result.shape, np.shape(interior), strict=True)
    margin = tuple(slice((outer - inner) // 2, (outer + inner) // 2) for outer, inner in lengths)
    result[margin] = interior
    return result


def _segment_sum(array: NDArray[np.generic], starts: NDArray[np.generic], /) -> NDArray[np.generic]:
    """Return the sums of the parts ``array[starts[i]:starts[i + 1]]``; empty parts give zero."""
    sums = np.concatenate([[0], np.cumsum(np.asarray(array), dtype=np.float64)])
    ends = np.asarray(starts, np.int64)
    return np.asarray(sums[ends[1:]] - sums[ends[:-1]])


_OWN: Mapping[str, Function] = {"array()": _array, "power()": _power, "shift()": _shift}
"""What lists, ``**`` and ``<<`` become."""
_FUNCTIONS: Mapping[str, Function] = {
    **{name: _unary(getattr(np, name)) for name in ("abs", "sqrt", "exp", "log", "sin", "cos")},
    **{name: _binary(getattr(np, name)) for name in ("minimum", "maximum")},
    **{name: _along(getattr(np, name)) for name in ("sum", "prod", "mean", "cumsum")},
    **{name: _cast(name) for name in ("float32", "float64", "int32", "int64", "uint32", "uint64", "uint8")},
    "sort": lambda array, /, axis=-1: np.sort(array, axis),
    "roll": lambda array, shift, /, axis=None: np.roll(array, index(shift), axis),
    "transpose": lambda array, /, axes=None: np.transpose(array, axes),
    "where": lambda condition, a, b, /: np.where(condition, a, b),
    "concatenate": lambda arrays, /, axis=0: np.concatenate(arrays, axis),
    "min": lambda value, /, *other: min(value, *other) if other else np.min(value),
    "max": lambda value, /, *other: max(value, *other) if other else np.max(value),
    "ceil": ceil,
    "floor": floor,
    "log2": log2,
    "arange": lambda start, /, stop=None, step=1: np.arange(start, stop, step),
    "zeros": lambda *length: np.zeros(tuple(map(index, length))),
    "ones": lambda *length: np.ones(tuple(map(index, length))),
    "repeat": lambda array, count, /: np.repeat(array, index(count)),
    "tile": lambda array, count, /: np.tile(array, index(count)),
    "reshape": lambda array, /, *length: np.reshape(array, tuple(map(index, length))),
    "matmul": lambda a, b, /: np.matmul(a, b),
    "histogram": _histogram,
    "interior": _stencil,
    "segment_sum": _segment_sum,
}
