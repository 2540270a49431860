"""Expressions of kernel descriptions: sizes such as ``4 * n`` and NumPy results such as ``y + a * x``.

Nothing is compiled or executed as Python. Attributes, text, comprehensions, and all functions and arguments that this
module does not list are refused. Lists and tuples become arrays at once. The length of an expression, the elements of
every result, and the additions of a matrix product are limited. The limits are checked before a result is computed. No
function changes its arguments.
"""

import ast
import operator
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from itertools import islice
from math import ceil, floor, isfinite, log2, prod
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.text import quoted

_MOST_CHARACTERS = 1000
MOST_ELEMENTS = 2**27
"""Largest number of elements of a result."""
_MOST_ADDITIONS = 2**34
MOST_INTEGER = 2**63
"""Largest whole number of an expression."""

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
    tree = _parsed(text)
    known = {**_FUNCTIONS, **(functions or {})}
    _check_names(tree, names, known)
    try:
        with np.errstate(all="ignore"):
            return _value(tree, names, known)
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
    if value is None or np.ndim(value) != 0 or np.iscomplexobj(value) or not isfinite(float(value)):
        raise ExpressionError(f"{quoted(text)} is not a finite number")
    return float(value)


@cache
def _parsed(text: str) -> ast.expr:
    if len(text) > _MOST_CHARACTERS:
        raise ExpressionError(f"has {len(text)} characters; an expression may have {_MOST_CHARACTERS}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{quoted(text)} is not an expression") from None
    for node in ast.walk(tree.body):
        constant = isinstance(node, ast.Constant) and not isinstance(node.value, int | float | None)
        if constant or not isinstance(node, (*_PARTS, *_OPERATORS, ast.keyword, ast.expr_context)):
            what = "text" if constant else type(node).__name__.lower()
            raise ExpressionError(f"{quoted(text)} contains something that expressions do not support ({what})")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ExpressionError(f"{quoted(text)} calls something that is not the name of a function")
    return tree.body


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _check_names(tree: ast.expr, values: Mapping[str, Value], functions: Mapping[str, Function]) -> None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    for node in ast.walk(tree):
        known = functions if id(node) in called else values
        if isinstance(node, ast.Name) and node.id not in known:
            what = "function" if id(node) in called else "value"
            raise ExpressionError(
                f"there is no {what} {quoted(node.id)}; there are {', '.join(sorted(known)) or 'none'}"
            )
    for call in calls:
        name = _name(call)
        try:
            signature(functions[name]).bind(*call.args, **{str(each.arg): each.value for each in call.keywords})
        except TypeError:
            what = f"{quoted(name)} cannot have these arguments; write {_signature(name, functions[name])}"
            raise ExpressionError(what) from None


def known_functions() -> tuple[str, ...]:
    """Return the functions of all expressions, such as ``sum(array, axis=None)``."""
    return tuple(_signature(name, function) for name, function in _FUNCTIONS.items())


def _signature(name: str, function: Function) -> str:
    arguments = (str(each.replace(annotation=Parameter.empty)) for each in signature(function).parameters.values())
    return f"{name}({', '.join(arguments)})"


def _value(node: ast.AST, names: Mapping[str, Value], functions: Mapping[str, Function]) -> Any:  # noqa: ANN401
    return _limited(_PARTS[type(node)](node, lambda part: _value(part, names, functions), names, functions))


def _called(node: ast.Call, of: Function, _: object, functions: Mapping[str, Function]) -> Any:  # noqa: ANN401
    first, keywords = node.args[:1], {str(each.arg): of(each.value) for each in node.keywords}
    if _name(node) == "concatenate" and first and isinstance(first[0], ast.List | ast.Tuple):
        return functions["concatenate"]([*map(of, first[0].elts)], *map(of, node.args[1:]), **keywords)
    return functions[_name(node)](*map(of, node.args), **keywords)


def _compared(node: ast.Compare, of: Function, *_: object) -> Any:  # noqa: ANN401
    left, value = of(node.left), True
    for operation, part in zip(node.ops, node.comparators, strict=True):
        right = of(part)
        value, left = value and _OPERATORS[type(operation)](left, right), right
    return value


def _subscripted(node: ast.Subscript, of: Function, *_: object) -> Any:  # noqa: ANN401
    keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return _indexed(np.asarray(of(node.value)), tuple(map(of, keys)))


_PARTS: Mapping[type[ast.AST], Function] = {
    ast.Constant: lambda node, *_: node.value,
    ast.Name: lambda node, _, names, __: names[node.id],
    ast.UnaryOp: lambda node, of, *_: _OPERATORS[type(node.op)](of(node.operand)),
    ast.BinOp: lambda node, of, *_: _OPERATORS[type(node.op)](of(node.left), of(node.right)),
    ast.Compare: _compared,
    ast.IfExp: lambda node, of, *_: of(node.body if of(node.test) else node.orelse),
    ast.Call: _called,
    ast.Subscript: _subscripted,
    ast.Slice: lambda node, of, *_: slice(*(part and of(part) for part in (node.lower, node.upper, node.step))),
    **dict.fromkeys((ast.List, ast.Tuple), lambda node, of, *_: _stacked([*map(of, node.elts)])),
}
"""The parts of an expression, each with the function that evaluates it."""


def _limited(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, int) and abs(value) > MOST_INTEGER:
        raise ExpressionError("an integer exceeds 64 bits")
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
        raise ExpressionError("a list contains something that is not a number")
    return value


def _check_elements(count: float) -> None:
    if count > MOST_ELEMENTS:
        raise ExpressionError(f"a result would have more than {MOST_ELEMENTS} elements")


def _broadcast(*shapes: tuple[int, ...], times: int = 1) -> int:
    """Return the elements of a result: those of the common shape of its operands, *times* a number.

    Raises:
        ExpressionError: they are too many.
        ValueError: the operands have no common shape.
    """
    count = prod(np.broadcast_shapes(*shapes)) * times
    _check_elements(count)
    return count


def _stacked(values: list[Any]) -> NDArray[np.generic]:
    _check_elements(sum(map(np.size, values)))
    return np.stack(values) if values else np.array([])


def _indexed(array: NDArray[np.generic], keys: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return ``array[keys]``; each key is ``None``, a slice, an index, or an array of indices or of booleans."""
    lengths, left, selected = iter(array.shape), 1, list[tuple[int, ...]]()
    for key in keys:
        if isinstance(key, slice):
            left *= len(range(next(lengths, 1))[key])
        elif np.asarray(key).dtype == np.bool_:
            selected.append((int(np.count_nonzero(key)),))
            deque(islice(lengths, np.ndim(key)), 0)
        elif key is not None:
            selected.append(np.shape(key))
            next(lengths, 1)
    _broadcast(*selected, times=left * prod(lengths))
    return array[keys]


def _unary(function: Function) -> Function:
    return lambda value, /: function(value)


def _binary(function: Function) -> Function:
    return lambda a, b, /: _common(function, a, b)


def _common(function: Function, *operands: Value) -> Any:  # noqa: ANN401
    _broadcast(*map(np.shape, operands))
    return function(*operands)


def _along(function: Function) -> Function:
    return lambda array, /, axis=None: function(array, axis=_axis(axis))


def _axis(axis: Any) -> Any:  # noqa: ANN401
    return tuple(map(index, axis)) if np.ndim(axis) else axis


def _power(a: Value, b: Value) -> Any:  # noqa: ANN401
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * log2(abs(a)) > 63:
        raise ExpressionError("an integer exceeds 64 bits")
    return _common(operator.pow, a, b)


def _shift(a: Value, b: Value) -> Any:  # noqa: ANN401
    if isinstance(b, int) and not 0 <= b < 64:
        raise ExpressionError("a shift must be by 0 to 63 bits")
    return _common(operator.lshift, a, b)


def _matmul(a: Value, b: Value, /) -> Any:  # noqa: ANN401
    one, other = np.shape(a), np.shape(b)
    if one and other:
        rows, columns = one[-2:-1], other[-1:] if len(other) > 1 else ()
        if _broadcast(one[:-2], other[:-2], times=prod(rows + columns)) * one[-1] > _MOST_ADDITIONS:
            raise ExpressionError("a matrix product is too large")
    return np.matmul(a, b)


_OPERATORS: Mapping[type[ast.AST], Function] = {
    **{
        kind: _binary(function)
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


def _arange(start: float, /, stop: float | None = None, step: float = 1) -> NDArray[np.generic]:
    first, end = (0, start) if stop is None else (start, stop)
    _check_elements((float(end) - float(first)) / float(step))
    return np.arange(first, end, step)


def _filled(value: float, lengths: tuple[int, ...]) -> NDArray[np.float64]:
    _broadcast(tuple(map(index, lengths)))
    return np.full(lengths, value)


def _repeated(function: Function, array: Value, count: int) -> Any:  # noqa: ANN401
    _broadcast(np.shape(array), times=index(count))
    return function(array, count)


def _concatenate(arrays: list[Any], axis: int | None) -> NDArray[np.generic]:
    if not isinstance(arrays, list):
        raise ExpressionError("concatenate needs a list of arrays, such as concatenate([x, y])")
    _check_elements(sum(map(np.size, arrays)))
    return np.concatenate(arrays, axis=axis)


def _histogram(array: Value, count: int, /) -> NDArray[np.int64]:
    bins, values = index(count), np.asarray(array, np.int64)
    _check_elements(bins)
    return np.bincount(values[values < bins], minlength=bins)


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


def _cast(kind: str) -> Function:
    return lambda value, /: np.asarray(value).astype(kind)


_FUNCTIONS: Mapping[str, Function] = {
    **{name: _unary(getattr(np, name)) for name in ("abs", "sqrt", "exp", "log", "sin", "cos")},
    **{name: _binary(getattr(np, name)) for name in ("minimum", "maximum")},
    **{name: _along(getattr(np, name)) for name in ("sum", "prod", "mean", "cumsum")},
    **{name: _cast(name) for name in ("float32", "float64", "int32", "int64", "uint32", "uint64", "uint8")},
    "sort": lambda array, /, axis=-1: np.sort(array, _axis(axis)),
    "roll": lambda array, shift, /, axis=None: np.roll(array, index(shift), axis),
    "transpose": lambda array, /, axes=None: np.transpose(array, _axis(axes)),
    "where": lambda condition, a, b, /: _common(np.where, condition, a, b),
    "concatenate": lambda arrays, /, axis=0: _concatenate(arrays, axis),
    "min": lambda value, /, *other: min(value, *other) if other else np.min(value),
    "max": lambda value, /, *other: max(value, *other) if other else np.max(value),
    "ceil": ceil,
    "floor": floor,
    "log2": log2,
    "arange": _arange,
    "zeros": lambda *length: _filled(0.0, length),
    "ones": lambda *length: _filled(1.0, length),
    "repeat": lambda array, count, /: _repeated(np.repeat, array, count),
    "tile": lambda array, count, /: _repeated(np.tile, array, count),
    "reshape": lambda array, /, *length: np.reshape(array, tuple(map(index, length))),
    "matmul": _matmul,
    "histogram": _histogram,
    "interior": _stencil,
    "segment_sum": _segment_sum,
}
