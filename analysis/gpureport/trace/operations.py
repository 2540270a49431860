"""What LLVM's instructions and OpenCL's built-in functions compute, with NumPy.

Integers are signed arrays; unsigned operations view them.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from gpureport.trace.ir import Instruction, Type, Unsupported
from gpureport.workloads.instructions import fma

Value = Any
"""An array over work-items, or a NumPy scalar that all share; of a vector, an array with a row for each element, whose
only column all share, or which has a column for each work-item."""
Function = Callable[..., Value]


def _numpy(pairs: str) -> dict[str, Function]:
    """Return functions of NumPy by name, from words such as ``fabs=abs`` and ``sin``."""
    return {ours: getattr(np, theirs or ours) for ours, _, theirs in (word.partition("=") for word in pairs.split())}


def is_shared(value: Value) -> bool:
    """Return whether all work-items share a value."""
    return not value.ndim or (value.ndim == 2 and value.shape[1] == 1)


def flat(row: Value) -> Value:
    """Return the row of a vector that all share as a scalar, and other rows as they are."""
    return row[0] if row.shape == (1,) else row


def unsigned(value: Value) -> Value:
    """Return the bits of an integer as an unsigned one."""
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def signed(value: Value) -> Value:
    """Return the bits of an integer as a signed one."""
    return value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "u" else value


def _on_unsigned(function: Function) -> Function:
    return lambda *values: signed(function(*map(unsigned, values)))


# instructions
_BINARY: Mapping[str, Function] = {
    **_numpy("add sub=subtract mul=multiply and=bitwise_and or=bitwise_or xor=bitwise_xor shl=left_shift"),
    **_numpy("ashr=right_shift srem=fmod fadd=add fsub=subtract fmul=multiply fdiv=divide frem=fmod fneg=negative"),
    "sdiv": lambda a, b: (a - np.fmod(a, b)) // b,
    "lshr": _on_unsigned(np.right_shift),
    "udiv": _on_unsigned(np.floor_divide),
    "urem": _on_unsigned(np.remainder),
}
_ORDERED = _numpy("eq=equal ne=not_equal gt=greater ge=greater_equal lt=less le=less_equal")
_CONTRARY: Mapping[str, str] = {"ueq": "one", "ugt": "ole", "uge": "olt", "ult": "oge", "ule": "ogt", "uno": "ord"}
_PREDICATES: dict[str, Function] = {
    **{f"o{name}": function for name, function in _ORDERED.items()},
    "one": lambda a, b: (a < b) | (a > b),
    "une": np.not_equal,
    "ord": lambda a, b: (a == a) & (b == b),
}
_PREDICATES |= {name: lambda a, b, of=_PREDICATES[other]: ~of(a, b) for name, other in _CONTRARY.items()}


def chosen(condition: Value, a: Value, b: Value) -> Value:
    """Return *a* where *condition* holds, else *b*."""
    return np.where(condition, a, b) if condition.ndim else a if condition else b


def _element(vector: Value, index: Value) -> Value:
    if not index.ndim:
        return flat(vector[int(index) % len(vector)])
    whole = np.broadcast_to(vector, (len(vector), index.size))
    return whole[index % len(vector), np.arange(index.size)]


_REARRANGING: Mapping[str, Function] = {
    "select": chosen,
    "freeze": lambda a: a,
    "ptrtoint": lambda a: a,
    "inttoptr": lambda a: a,
    "extractelement": _element,
    "insertelement": lambda vector, part, index: np.where(np.arange(len(vector))[:, None] == index, part, vector),
    "shufflevector": lambda a, b, picked: np.concatenate(np.broadcast_arrays(a, b))[picked[:, 0]],
}


def _bits(source: Type, target: Type) -> Function:
    """Return the function of ``bitcast``."""
    if source.element.bits == 1 and source != target:
        raise Unsupported("vectors of conditions as numbers are not supported")

    def cast(value: Value) -> Value:
        rows = np.ascontiguousarray(np.atleast_2d(value).T).view(target.element.dtype).T
        return rows if target.name == "vector" else flat(rows[0])

    return cast


def _converted(opcode: str, source: Type, target: Type) -> Function:
    """Return the function of a conversion such as ``zext`` or ``sitofp``."""
    wanted = target.dtype
    whole = np.dtype(f"u{wanted.itemsize}") if wanted.kind == "i" else wanted
    if opcode == "trunc" and target.bits == 1:
        return lambda a: (a & 1).astype(np.bool_)
    if opcode == "sext" and source.bits == 1:
        return lambda a: -a.astype(wanted)
    if opcode in ("zext", "uitofp"):
        return lambda a: signed(unsigned(_cut(a, source)).astype(whole))
    if opcode == "fptoui":
        return lambda a: signed(a.astype(whole))
    return lambda a: _narrowed(a.astype(wanted), target)


def _is_odd(of: Type) -> bool:
    return of.bits not in (0, 1, 8, 16, 32, 64)


def _cut(value: Value, of: Type) -> Value:
    return value & value.dtype.type((1 << of.bits) - 1) if _is_odd(of) else value


def _narrowed(value: Value, of: Type) -> Value:
    """Return an integer of an odd width with the bits above it equal to its sign."""
    if not _is_odd(of):
        return value
    spare = value.dtype.type(8 * of.dtype.itemsize - of.bits)
    return (value << spare) >> spare


def _arithmetic(opcode: str, of: Type) -> Function:
    function = _BINARY[opcode]
    if not _is_odd(of):
        return function
    if opcode in ("udiv", "urem", "lshr"):
        return lambda a, b: _narrowed(function(_cut(a, of), _cut(b, of)), of)
    return lambda *values: _narrowed(function(*values), of)


def function_of(line: Instruction) -> Function:
    """Return the function of an instruction or a call that depends on its operands only."""
    if line.opcode == "call":
        return _of_call(line)
    opcode, source = line.opcode, line.types[0]
    if opcode in _REARRANGING:
        return _REARRANGING[opcode]
    if opcode == "bitcast":
        return _bits(source, line.of)
    if opcode == "fcmp":
        return _PREDICATES[line.words[-1]]
    if opcode == "icmp":
        plain = _ORDERED[line.words[-1][-2:]]
        return _on_unsigned(plain) if line.words[-1][0] == "u" else plain
    if opcode in _BINARY:
        return _arithmetic(opcode, line.of.element)
    if "to" in line.words:
        return _converted(opcode, source.element, line.of.element)
    raise Unsupported(f"{opcode} is not supported")


# integers
def _leading_zeros(a: Value) -> Value:
    size, bits = 8 * a.dtype.itemsize, unsigned(a)
    for step in range(size.bit_length() - 1):
        bits = bits | (bits >> bits.dtype.type(1 << step))
    return (size - np.bitwise_count(bits).astype(np.int64)).astype(a.dtype)


def _trailing_zeros(a: Value) -> Value:
    bits = unsigned(a)
    return np.bitwise_count(~bits & (bits - bits.dtype.type(1))).astype(a.dtype)


def _funnel(a: Value, b: Value, distance: Value, *, left: bool = True) -> Value:
    """Return a half of the bits of *a* and *b* together, after a shift to the left or right."""
    one = unsigned(distance).dtype.type
    size, high, low = one(8 * a.dtype.itemsize), unsigned(a), unsigned(b)
    shift, last = unsigned(distance) % size, size - one(1)
    if left:
        return signed((high << shift) | ((low >> one(1)) >> (last - shift)))
    return signed((low >> shift) | ((high << one(1)) << (last - shift)))


def _product_high(a: Value, b: Value) -> Value:
    """Return the upper half of the product of signed or unsigned integers."""
    wide = "O" if a.dtype.itemsize == 8 else f"{a.dtype.kind}8"
    product = np.asarray(a).astype(wide) * np.asarray(b).astype(wide)
    return np.asarray(product >> 8 * a.dtype.itemsize).astype(a.dtype)[()]


def _saturated(function: Function) -> Function:
    """Return *function* of integers, limited to their range."""

    def limited(*values: Value) -> Value:
        limits = np.iinfo(values[0].dtype)
        wide = np.int64 if limits.bits * (len(values) - 1) < 64 else np.object_
        exact = function(*(np.asarray(value).astype(wide) for value in values))
        return np.clip(exact, limits.min, limits.max).astype(limits.dtype)[()]

    return limited


def _reversed(a: Value) -> Value:
    rows = np.ascontiguousarray(a.byteswap()).reshape(-1).view(np.uint8)
    return np.packbits(np.unpackbits(rows, bitorder="little")).view(a.dtype).reshape(a.shape)[()]


def _looked_up(table: Value, a: Value, b: Value, c: Value) -> Value:
    """Return the bits of a *table* of eight that each three bits of *a*, *b* and *c* select, those of *a* first."""
    selected = ((a ^ ~-(i >> 2)) & (b ^ ~-(i >> 1 & 1)) & (c ^ ~-(i & 1)) for i in range(8) if int(table) >> i & 1)
    return reduce(np.bitwise_or, selected, a.dtype.type(0))


def _product_sum(a: Value, b: Value, c: Value) -> Value:
    return a * b + c


_INTEGER: Mapping[str, Function] = {
    **_numpy("abs max=maximum min=minimum mul24=multiply"),
    "abs_diff": lambda a, b: np.where(a > b, a - b, b - a),
    "clamp": lambda a, low, high: np.minimum(np.maximum(a, low), high),
    "popcount": lambda a: np.bitwise_count(unsigned(a)).astype(a.dtype),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "rotate": lambda a, b: _funnel(a, a, b),
    "mul_hi": _product_high,
    "mad_hi": lambda a, b, c: _product_high(a, b) + c,
    "mad24": _product_sum,
    "add_sat": _saturated(np.add),
    "sub_sat": _saturated(np.subtract),
    "mad_sat": _saturated(_product_sum),
    "hadd": lambda a, b: (a >> 1) + (b >> 1) + (a & b & 1),
    "rhadd": lambda a, b: (a >> 1) + (b >> 1) + ((a | b) & 1),
    "bitselect": lambda a, b, c: a ^ (c & (b ^ a)),
    "bit_reverse": _reversed,
    "lop3": _looked_up,
}
_OF_BOTH_SIGNS: Mapping[str, Function] = {
    **{name.replace("_", "."): _INTEGER[name] for name in ("max", "min", "add_sat", "sub_sat")},
    "cmp": lambda a, b: (a > b).astype(np.int8) - (a < b).astype(np.int8),
}
_INTRINSICS: Mapping[str, Function] = {
    **{f"s{name}": function for name, function in _OF_BOTH_SIGNS.items()},
    **{f"u{name}": _on_unsigned(function) for name, function in _OF_BOTH_SIGNS.items()},
    "abs": lambda a, _: np.abs(a),
    "ctpop": _INTEGER["popcount"],
    "ctlz": lambda a, _: _leading_zeros(a),
    "cttz": lambda a, _: _trailing_zeros(a),
    "fshl": _funnel,
    "fshr": lambda a, b, c: _funnel(a, b, c, left=False),
    "bswap": lambda a: a.byteswap(),
    "bitreverse": _reversed,
}


# floating-point numbers
def _as(function: Function) -> Function:
    """Return *function* with results of the type of its first argument."""
    return lambda *values: function(*values).astype(values[0].dtype)


def _rounded(a: Value) -> Value:
    whole = np.trunc(a)
    return np.copysign(whole + (np.abs(a - whole) >= 0.5) * np.copysign(1, a), a)


def _remainder(a: Value, b: Value) -> Value:
    """Return what is left of *a* after the nearest multiple of *b*, of two the even one; all steps are exact."""
    unit = np.abs(b)
    rest = np.fmod(np.abs(a), 2 * unit)
    less = rest - unit
    nearest = np.where(2 * rest > unit, np.where(2 * less >= unit, less - unit, less), rest)
    return nearest * np.copysign(1, a)


def _smooth_step(a: Value, b: Value, x: Value) -> Value:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def _fraction(a: Value) -> tuple[Value, Value]:
    below = np.floor(a)
    return np.minimum(a - below, np.nextafter(a.dtype.type(1), a.dtype.type(0))), below


TWO_RESULTS: Mapping[str, Function] = {
    **_numpy("modf frexp"),
    "fract": _fraction,
    "sincos": lambda a: (np.sin(a), np.cos(a)),
}
"""Functions that return one result, and store the other at an address."""
_FLOATING: Mapping[str, Function] = {
    **_numpy(
        "sin cos tan sinh cosh tanh asin=arcsin acos=arccos atan=arctan asinh=arcsinh acosh=arccosh atanh=arctanh"
    ),
    **_numpy(
        "exp exp2 expm1 log log2 log10 log1p sqrt cbrt floor ceil trunc rint roundeven=rint nearbyint=rint fabs=abs"
    ),
    **_numpy("fmin fmax minnum=fmin maxnum=fmax minimum maximum fmod hypot copysign nextafter ldexp atan2=arctan2"),
    **_numpy("divide pow=power powr=power canonicalize=positive"),
    "sinpi": _as(lambda a: np.sin(np.pi * a.astype(np.float64))),
    "cospi": _as(lambda a: np.cos(np.pi * a.astype(np.float64))),
    "erf": _as(np.vectorize(math.erf, [np.float64])),
    "erfc": _as(np.vectorize(math.erfc, [np.float64])),
    "exp10": _as(lambda a: np.power(10.0, a)),
    "rsqrt": _as(lambda a: 1 / np.sqrt(a)),
    "recip": _as(lambda a: 1 / a),
    "pown": _as(np.power),
    "rootn": _as(lambda a, n: np.where((a < 0) & (n % 2 != 0), -np.power(-a, 1 / n), np.power(a, 1 / n))),
    "powi": _as(np.power),
    "round": _as(_rounded),
    "fma": fma,
    "fmuladd": _product_sum,
    "mad": _product_sum,
    "remainder": _as(_remainder),
    "fdim": lambda a, b: np.where(a > b, a - b, np.where(a <= b, a.dtype.type(0), a + b)),
    "degrees": _as(np.degrees),
    "radians": _as(np.radians),
    "sign": _as(lambda a: np.where(a == 0, a, np.nan_to_num(np.sign(a)))),
    "mix": lambda a, b, t: a + (b - a) * t,
    "step": _as(lambda edge, a: np.where(a < edge, 0, 1)),
    "smoothstep": _as(_smooth_step),
}
_NAMES = "isequal=oeq isnotequal=une isgreater=ogt isgreaterequal=oge isless=olt islessequal=ole islessgreater=one"
TESTS: Mapping[str, Function] = {
    **_numpy("isnan isinf isfinite signbit"),
    **{name: _PREDICATES[code] for name, _, code in (word.partition("=") for word in _NAMES.split())},
    "isnormal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "isordered": _PREDICATES["ord"],
    "isunordered": _PREDICATES["uno"],
}


# vectors
def _over(function: Function, a: Value) -> Value:
    """Return what *function* makes of the elements of a vector, one after the other."""
    return flat(reduce(function, a)) if a.ndim == 2 else a


def _length(a: Value) -> Value:
    return np.sqrt(_over(np.add, a * a))


def _cross(a: Value, b: Value) -> Value:
    i, j = [1, 2, 0, 3][: len(a)], [2, 0, 1, 3][: len(a)]
    return a[i] * b[j] - a[j] * b[i]


_VECTOR: Mapping[str, Function] = {
    "dot": lambda a, b: _over(np.add, a * b),
    "length": _length,
    "distance": lambda a, b: _length(a - b),
    "normalize": lambda a: a / np.maximum(_length(a), np.finfo(a.dtype).tiny),
    "cross": _cross,
    "any": lambda a: (_over(np.bitwise_or, a) < 0).astype(np.int32),
    "all": lambda a: (_over(np.bitwise_and, a) < 0).astype(np.int32),
}
FOLDS = _numpy("add mul=multiply min=minimum max=maximum and=bitwise_and or=bitwise_or xor=bitwise_xor")
"""What reductions and atomic operations apply."""
_REDUCTIONS: Mapping[str, Function] = {**_BINARY, **_INTRINSICS, **_numpy("fmax fmin")}


# calls
def _of_call(line: Instruction) -> Function:
    name, plain, of = line.called, line.plain, line.of.element
    of_vector = any(kind.name == "vector" for kind in line.types)
    if plain.startswith("vector.reduce."):
        fold = _REDUCTIONS[plain.split(".")[2]]
        return lambda *values: reduce(fold, (*values[:-1], _over(fold, values[-1])))
    if plain in _VECTOR:
        return _VECTOR[plain]
    if name == "select":
        return lambda a, b, c: chosen(c < 0 if of_vector else c != 0, b, a)
    if plain in TESTS:
        true = of.dtype.type(-1 if of_vector else 1)
        return lambda *values: TESTS[plain](*values) * true
    if name.startswith("llvm."):
        found = _INTRINSICS.get(plain) or _FLOATING.get(plain)
    elif name.startswith("convert_"):
        found = _conversion(name, of.dtype)
    else:
        found = (_INTEGER if plain in _INTEGER else _FLOATING).get(plain)
    if found is None:
        raise Unsupported(f"{name} is not supported: it is a rare built-in function, or calls itself")
    return _on_unsigned(found) if re.match(r"(Dv\d+_)?[htjm]", line.codes) else found


def _conversion(name: str, dtype: np.dtype[Any]) -> Function:
    """Return the function of ``convert_uchar4_sat_rte`` and its relatives."""
    wanted = np.dtype(dtype.str.replace("i", "u")) if name.startswith("convert_u") else dtype
    rounding = {"rte": np.rint, "rtp": np.ceil, "rtn": np.floor}.get(name[-3:], np.trunc)

    def convert(a: Value) -> Value:
        if wanted.kind == "f":
            return a.astype(wanted)
        a = rounding(a) if a.dtype.kind == "f" else a
        return signed(_limited(a, wanted) if "_sat" in name else a.astype(wanted))

    return convert


def _limited(a: Value, wanted: np.dtype[Any]) -> Value:
    """Return numbers as integers, limited to their range."""
    limits = np.iinfo(wanted)
    if a.dtype.kind != "f":
        own = np.iinfo(a.dtype)
        return np.clip(a, max(limits.min, own.min), min(limits.max, own.max)).astype(wanted)
    number = np.nan_to_num(a.astype(np.float64))
    inside = np.clip(number, float(limits.min), float(limits.max)).astype(wanted)
    return np.where(number >= float(limits.max), wanted.type(limits.max), inside)
