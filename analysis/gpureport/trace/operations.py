"""What LLVM's instructions and OpenCL's built-in functions compute, with NumPy.

Integers are signed arrays; unsigned operations view them. All functions take arrays and scalars alike, and elements of
vectors one by one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from gpureport.trace.ir import Instruction, Type, Unsupported
from gpureport.workloads.instructions import fma

Value = Any
"""An array over work-items, a NumPy scalar that all share, or a tuple of these: the elements of a vector or struct."""
Function = Callable[..., Value]


def _numpy(pairs: str) -> dict[str, Function]:
    """Return functions of NumPy by name, from words such as ``fabs=abs`` and ``sin``."""
    return {ours: getattr(np, theirs or ours) for ours, _, theirs in (word.partition("=") for word in pairs.split())}


def unsigned(value: Value) -> Value:
    """Return the bits of an integer as an unsigned one."""
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def signed(value: Value) -> Value:
    """Return the bits of an integer as a signed one."""
    return value.view(f"i{value.dtype.itemsize}") if value.dtype.kind == "u" else value


def _on_unsigned(function: Function) -> Function:
    return lambda *values: signed(function(*map(unsigned, values)))


def _divided(a: Value, b: Value) -> Value:
    return (a - np.fmod(a, b)) // b


BINARY: Mapping[str, Function] = {
    **_numpy("add sub=subtract mul=multiply and=bitwise_and or=bitwise_or xor=bitwise_xor shl=left_shift"),
    **_numpy("ashr=right_shift srem=fmod fadd=add fsub=subtract fmul=multiply fdiv=divide frem=fmod fneg=negative"),
    "sdiv": _divided,
    "lshr": _on_unsigned(np.right_shift),
    "udiv": _on_unsigned(np.floor_divide),
    "urem": _on_unsigned(np.remainder),
}
_ORDERED = _numpy("eq=equal ne=not_equal gt=greater ge=greater_equal lt=less le=less_equal")


def _unordered(a: Value, b: Value) -> Value:
    return np.isnan(a) | np.isnan(b)


def _differs(a: Value, b: Value) -> Value:
    return (a < b) | (a > b)


_PREDICATES: Mapping[str, Function] = {
    **{f"o{name}": function for name, function in _ORDERED.items()},
    **{f"u{name}": lambda a, b, name=name: _ORDERED[name](a, b) | _unordered(a, b) for name in _ORDERED},
    "one": _differs,
    "une": np.not_equal,
    "ord": lambda a, b: ~_unordered(a, b),
    "uno": _unordered,
}


def comparison(opcode: str, predicate: str) -> Function:
    """Return the function of ``icmp`` or ``fcmp``."""
    if opcode == "fcmp":
        return _PREDICATES[predicate]
    plain = _ORDERED[predicate[-2:]]
    return (lambda a, b: plain(unsigned(a), unsigned(b))) if predicate[0] == "u" else plain


def converted(opcode: str, source: Type, target: Type) -> Function:
    """Return the function of a conversion such as ``zext`` or ``sitofp``."""
    wanted = target.dtype
    whole = np.dtype(f"u{wanted.itemsize}") if wanted.kind == "i" else wanted
    odd = _is_odd(source)
    if opcode == "trunc" and target.bits == 1:
        return lambda a: (a & 1).astype(np.bool_)
    if opcode == "sext" and source.bits == 1:
        return lambda a: -a.astype(wanted)
    if opcode in ("zext", "uitofp"):
        return lambda a: signed((_cut(unsigned(a), source) if odd else unsigned(a)).astype(whole))
    if opcode == "fptoui":
        return lambda a: signed(a.astype(whole))
    return (lambda a: narrowed(a.astype(wanted), target)) if _is_odd(target) else lambda a: a.astype(wanted)


def _is_odd(of: Type) -> bool:
    return of.bits not in (0, 1, 8, 16, 32, 64)


def _cut(value: Value, of: Type) -> Value:
    return value & value.dtype.type((1 << of.bits) - 1) if _is_odd(of) else value


def narrowed(value: Value, of: Type) -> Value:
    """Return an integer of an odd width with the bits above it equal to its sign."""
    spare = value.dtype.type(8 * of.dtype.itemsize - of.bits)
    return (value << spare) >> spare if _is_odd(of) else value


def arithmetic(opcode: str, of: Type) -> Function:
    """Return the function of an arithmetic instruction."""
    function = BINARY[opcode]
    if not _is_odd(of):
        return function
    if opcode in ("udiv", "urem", "lshr"):
        return lambda a, b: narrowed(function(_cut(a, of), _cut(b, of)), of)
    return lambda *values: narrowed(function(*values), of)


def elementwise(function: Function) -> Function:
    """Return *function* for each element of vectors."""

    def each(*values: Value) -> Value:
        count = next(len(value) for value in values if isinstance(value, tuple))
        return tuple(map(function, *(value if isinstance(value, tuple) else (value,) * count for value in values)))

    return each


def chosen(condition: Value, a: Value, b: Value) -> Value:
    """Return *a* where *condition* holds, else *b*."""
    if isinstance(condition, tuple):
        return tuple(map(chosen, condition, a, b))
    if not condition.ndim:
        return a if condition else b
    return (
        tuple(chosen(condition, *pair) for pair in zip(a, b, strict=True))
        if isinstance(a, tuple)
        else np.where(condition, a, b)
    )


# integers
def _leading_zeros(a: Value) -> Value:
    size, bits = 8 * a.dtype.itemsize, unsigned(a)
    for step in range(size.bit_length() - 1):
        bits = bits | (bits >> bits.dtype.type(1 << step))
    return (size - np.bitwise_count(bits).astype(np.int64)).astype(a.dtype)


def _trailing_zeros(a: Value) -> Value:
    bits = unsigned(a)
    return np.bitwise_count(~bits & (bits - bits.dtype.type(1))).astype(a.dtype)


def _funnel(a: Value, b: Value, distance: Value, *, left: bool) -> Value:
    """Return a half of the bits of *a* and *b* together, after a shift to the left or right."""
    one = unsigned(distance).dtype.type
    size, high, low = one(8 * a.dtype.itemsize), unsigned(a), unsigned(b)
    shift, last = unsigned(distance) % size, size - one(1)
    if left:
        return signed((high << shift) | ((low >> one(1)) >> (last - shift)))
    return signed((low >> shift) | ((high << one(1)) << (last - shift)))


def _product_high(a: Value, b: Value) -> Value:
    """Return the upper half of the product of signed or unsigned integers."""
    size = 8 * a.dtype.itemsize
    if size < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}").type
        return ((a.astype(wide) * b.astype(wide)) >> wide(size)).astype(a.dtype)
    x, y, low, half = a.view(np.uint64), b.view(np.uint64), np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    high = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    return high if a.dtype.kind == "u" else high.view(np.int64) - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _saturated(function: Function) -> Function:
    """Return *function* of integers, limited to their range."""

    def limited(*values: Value) -> Value:
        kind = values[0].dtype
        wide = np.int64 if kind.itemsize * (len(values) - 1) < 8 else np.object_
        exact = function(*(np.asarray(value).astype(wide) for value in values))
        return np.clip(exact, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)[()]

    return limited


def _average(a: Value, b: Value, *, up: bool) -> Value:
    return (a >> 1) + (b >> 1) + ((a | b if up else a & b) & 1)


def _reversed_bits(a: Value) -> Value:
    bits, one = unsigned(a), unsigned(a).dtype.type
    size = 8 * a.dtype.itemsize
    parts = [((bits >> one(place)) & one(1)) << one(size - 1 - place) for place in range(size)]
    return signed(reduce(np.bitwise_or, parts))


def _overflowing(name: str) -> Function:
    """Return the function of ``llvm.uadd.with.overflow`` and its relatives."""
    function, view = BINARY[name[1:]], unsigned if name[0] == "u" else signed

    def both(a: Value, b: Value) -> Value:
        x, y = view(a), view(b)
        exact, limits = function(np.asarray(x).astype(np.object_), np.asarray(y).astype(np.object_)), np.iinfo(x.dtype)
        return signed(function(x, y)), np.asarray((exact > limits.max) | (exact < limits.min)).astype(np.bool_)[()]

    return both


def _joined(a: Value, b: Value) -> Value:
    wide = np.dtype(f"i{2 * a.dtype.itemsize}")
    return (a.astype(wide) << wide.type(8 * a.dtype.itemsize)) | unsigned(b).astype(wide)


_INTEGER: Mapping[str, Function] = {
    **_numpy("abs max=maximum min=minimum mul24=multiply"),
    "abs_diff": lambda a, b: np.where(a > b, a - b, b - a),
    "clamp": lambda a, low, high: np.minimum(np.maximum(a, low), high),
    "popcount": lambda a: np.bitwise_count(unsigned(a)).astype(a.dtype),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "rotate": lambda a, b: _funnel(a, a, b, left=True),
    "mul_hi": _product_high,
    "mad_hi": lambda a, b, c: _product_high(a, b) + c,
    "mad24": lambda a, b, c: a * b + c,
    "add_sat": _saturated(np.add),
    "sub_sat": _saturated(np.subtract),
    "mad_sat": _saturated(lambda a, b, c: a * b + c),
    "hadd": lambda a, b: _average(a, b, up=False),
    "rhadd": lambda a, b: _average(a, b, up=True),
    "upsample": _joined,
    "bitselect": lambda a, b, c: a ^ (c & (b ^ a)),
    "bit_reverse": _reversed_bits,
}
_INTRINSICS: Mapping[str, Function] = {
    **_numpy("smax=maximum smin=minimum"),
    "umax": _on_unsigned(np.maximum),
    "umin": _on_unsigned(np.minimum),
    "abs": lambda a, _: np.abs(a),
    "ctpop": _INTEGER["popcount"],
    "ctlz": lambda a, _: _leading_zeros(a),
    "cttz": lambda a, _: _trailing_zeros(a),
    "fshl": lambda a, b, c: _funnel(a, b, c, left=True),
    "fshr": lambda a, b, c: _funnel(a, b, c, left=False),
    "bswap": lambda a: a.byteswap(),
    "bitreverse": _reversed_bits,
    "sadd.sat": _saturated(np.add),
    "ssub.sat": _saturated(np.subtract),
    "uadd.sat": _on_unsigned(_saturated(np.add)),
    "usub.sat": _on_unsigned(_saturated(np.subtract)),
    "scmp": lambda a, b: (a > b).astype(np.int8) - (a < b).astype(np.int8),
    "ucmp": lambda a, b: (unsigned(a) > unsigned(b)).astype(np.int8) - (unsigned(a) < unsigned(b)).astype(np.int8),
    **{f"{kind}{name}.with.overflow": _overflowing(f"{kind}{name}") for kind in "su" for name in ("add", "sub", "mul")},
}


# floating-point numbers
def _as(function: Function) -> Function:
    """Return *function* with results of the type of its first argument."""
    return lambda *values: function(*values).astype(values[0].dtype)


def _half_turns(name: str) -> Function:
    return _as(lambda a: getattr(np, name)(np.pi * a.astype(np.float64)))


def _in_half_turns(name: str) -> Function:
    return _as(lambda *values: getattr(np, name)(*values) / np.pi)


def _special(name: str) -> Function:
    def call(a: Value) -> Value:
        from scipy import special

        return getattr(special, name)(a)

    return _as(call)


def _product_sum(a: Value, b: Value, c: Value) -> Value:
    return a * b + c


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


def _of_magnitude(a: Value, b: Value, *, larger: bool) -> Value:
    x, y = (np.abs(a), np.abs(b)) if larger else (np.abs(b), np.abs(a))
    return np.where(x > y, a, np.where(y > x, b, np.fmax(a, b) if larger else np.fmin(a, b)))


def _root(a: Value, n: Value) -> Value:
    return np.where(n % 2 == 0, a ** (1.0 / n), np.copysign(np.abs(a) ** (1.0 / n), a))


def _fraction(a: Value) -> tuple[Value, Value]:
    below = np.floor(a)
    return np.minimum(a - below, np.nextafter(a.dtype.type(1), a.dtype.type(0))), below


def _parts(a: Value) -> tuple[Value, Value]:
    whole = np.trunc(a)
    return np.copysign(np.where(np.isinf(a), 0, a - whole).astype(a.dtype), a), whole


TWO_RESULTS: Mapping[str, Function] = {
    "fract": _fraction,
    "modf": _parts,
    "sincos": lambda a: (np.sin(a), np.cos(a)),
    "frexp": lambda a: (np.frexp(a)[0], np.frexp(a)[1].astype(np.int32)),
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
    **{f"{name}pi": _half_turns(name) for name in ("sin", "cos", "tan")},
    **{f"{name}pi": _in_half_turns(f"arc{name[1:]}") for name in ("asin", "acos", "atan", "atan2")},
    **{
        name: _special(other)
        for name, other in {"erf": "erf", "erfc": "erfc", "tgamma": "gamma", "lgamma": "gammaln"}.items()
    },
    "exp10": _as(lambda a: np.power(10.0, a)),
    "rsqrt": _as(lambda a: 1 / np.sqrt(a)),
    "recip": _as(lambda a: 1 / a),
    "pown": _as(np.power),
    "powi": _as(np.power),
    "rootn": _as(_root),
    "round": _as(_rounded),
    "fma": fma,
    "fmuladd": _product_sum,
    "mad": _product_sum,
    "maxmag": lambda a, b: _of_magnitude(a, b, larger=True),
    "minmag": lambda a, b: _of_magnitude(a, b, larger=False),
    "remainder": _as(_remainder),
    "fdim": lambda a, b: np.where(a > b, a - b, np.where(a <= b, a.dtype.type(0), a + b)),
    "degrees": _as(np.degrees),
    "radians": _as(np.radians),
    "sign": _as(lambda a: np.where(a == 0, a, np.nan_to_num(np.sign(a)))),
    "mix": lambda a, b, t: a + (b - a) * t,
    "step": _as(lambda edge, a: np.where(a < edge, 0, 1)),
    "smoothstep": _as(_smooth_step),
    "logb": _as(lambda a: np.floor(np.log2(np.abs(a)))),
    "ilogb": lambda a: (np.frexp(a)[1] - 1).astype(np.int32),
}
_NAMES = "isequal=oeq isnotequal=une isgreater=ogt isgreaterequal=oge isless=olt islessequal=ole islessgreater=one"
TESTS: Mapping[str, Function] = {
    **_numpy("isnan isinf isfinite signbit"),
    **{name: _PREDICATES[code] for name, _, code in (word.partition("=") for word in _NAMES.split())},
    "isnormal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "isordered": _PREDICATES["ord"],
    "isunordered": _unordered,
}


# vectors
def _listed(a: Value) -> tuple[Value, ...]:
    return a if isinstance(a, tuple) else (a,)


def _dot(a: Value, b: Value) -> Value:
    return reduce(np.add, (x * y for x, y in zip(_listed(a), _listed(b), strict=True)))


def _length(a: Value) -> Value:
    return np.sqrt(_dot(a, a))


def _normalized(a: Value) -> Value:
    length = np.maximum(_length(a), np.finfo(_listed(a)[0].dtype).tiny)
    return tuple(x / length for x in a) if isinstance(a, tuple) else a / length


def _cross(a: Value, b: Value) -> Value:
    whole = tuple(a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1)))
    return whole if len(a) == 3 else (*whole, a[0].dtype.type(0))


_VECTOR: Mapping[str, Function] = {
    "dot": _dot,
    "length": _length,
    "distance": lambda a, b: _length(tuple(x - y for x, y in zip(_listed(a), _listed(b), strict=True))),
    "normalize": _normalized,
    "cross": _cross,
    "any": lambda a: (reduce(np.bitwise_or, _listed(a)) < 0).astype(np.int32),
    "all": lambda a: (reduce(np.bitwise_and, _listed(a)) < 0).astype(np.int32),
}
FOLDS = _numpy("add mul=multiply min=minimum max=maximum and=bitwise_and or=bitwise_or xor=bitwise_xor")
"""What reductions and atomic operations apply."""
_REDUCTIONS: Mapping[str, Function] = {**BINARY, **_INTRINSICS, **_numpy("fmax fmin")}


# calls
def demangled(name: str) -> tuple[str, str]:
    """Return a function's plain name and, if it is mangled, the codes of its parameters' types (Itanium C++ ABI)."""
    found = re.match(r"_Z(\d+)", name)
    end = found.end() + int(found[1]) if found else len(name)
    return (name[found.end() : end], name[end:]) if found else (name, "")


def plain_name(called: str) -> str:
    """Return the name of a function without the marks of its types and precision."""
    name = re.sub(r"(\.[vipf\d]+[\dif]*)+$", "", demangled(called)[0].removeprefix("llvm."))
    return re.sub(r"^(native|half|fast)_", "", name)


def pure(line: Instruction, called: str) -> Function | None:
    """Return the function of a call that depends on its arguments only; ``None`` if there is no such function."""
    (name, codes), plain, of = demangled(called), plain_name(called), line.bare[0]
    of_vector = any(kind.name == "vector" for kind in line.types)
    if plain.startswith("vector.reduce."):
        return lambda *values: reduce(_REDUCTIONS[plain.split(".")[2]], (*values[:-1], *values[-1]))
    if plain in _VECTOR:
        return _VECTOR[plain]
    found: Function | None
    if name.startswith("llvm."):
        found = _INTRINSICS.get(plain) or _FLOATING.get(plain)
    elif name == "select":
        found = lambda a, b, c: chosen(c < 0 if of_vector else c != 0, b, a)  # noqa: E731
    elif plain in TESTS:
        true = of.element.dtype.type(-1 if of_vector else 1)
        found = lambda *values: TESTS[plain](*values) * true  # noqa: E731
    else:
        found = (
            _conversion(name, of)
            if name.startswith("convert_")
            else (_INTEGER if plain in _INTEGER else _FLOATING).get(plain)
        )
        found = _on_unsigned(found) if found and re.match(r"(Dv\d+_)?[htjm]", codes) else found
    return elementwise(found) if found and of_vector else found


def _conversion(name: str, of: Type) -> Function:
    """Return the function of ``convert_uchar4_sat_rte`` and its relatives."""
    wanted = np.dtype(of.element.dtype.str.replace("i", "u")) if name.startswith("convert_u") else of.element.dtype
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
        return np.clip(a, a.dtype.type(max(limits.min, own.min)), a.dtype.type(min(limits.max, own.max))).astype(wanted)
    number = np.nan_to_num(a.astype(np.float64))
    inside = np.clip(number, float(limits.min), float(limits.max)).astype(wanted)
    return np.where(number >= float(limits.max), wanted.type(limits.max), inside)


# parts of vectors and structs
REARRANGING = frozenset(
    "extractelement insertelement shufflevector extractvalue insertvalue select bitcast freeze".split()
)
ATOMICS = frozenset(
    "add sub inc dec min max and or xor xchg exchange cmpxchg load store init compare_exchange_strong "
    "compare_exchange_weak".split()
)


def rearranging(line: Instruction, source: Type, target: Type) -> Function:
    """Return the function of an instruction that computes nothing; numbers are no operands of it any more."""
    if line.opcode in _PARTS:
        return _PARTS[line.opcode]
    if line.opcode == "bitcast":
        return _bits(source, target)
    fixed = {"shufflevector": 2, "extractvalue": 1, "insertvalue": 2}[line.opcode]
    (*_, last), path = line.operands, [int(number) for number in line.operands[fixed:] if not isinstance(number, tuple)]
    del line.operands[fixed:]
    if line.opcode == "shufflevector":
        return lambda a, b: tuple((*a, *b)[pick] for pick in last)
    return (lambda a: _at(a, path)) if fixed == 1 else (lambda a, b: _with(a, path, b))


def _at(value: Value, path: Sequence[int]) -> Value:
    return _at(value[path[0]], path[1:]) if path else value


def _with(value: Value, path: Sequence[int], part: Value) -> Value:
    if not path:
        return part
    return tuple(_with(old, path[1:], part) if number == path[0] else old for number, old in enumerate(value))


def _element(vector: Value, index: Value) -> Value:
    if not index.ndim:
        return vector[int(index) % len(vector)]
    return np.choose(index % len(vector), np.broadcast_arrays(*vector, index)[:-1])


def _inserted(vector: Value, part: Value, index: Value) -> Value:
    if not index.ndim:
        return tuple(part if number == index else old for number, old in enumerate(vector))
    return tuple(np.where(index == number, part, old) for number, old in enumerate(vector))


_PARTS: Mapping[str, Function] = {
    "select": chosen,
    "freeze": lambda a: a,
    "extractelement": _element,
    "insertelement": _inserted,
}


def _bits(source: Type, target: Type) -> Function:
    """Return the function of ``bitcast``."""
    if source.element.bits == 1 and source != target:
        raise Unsupported("vectors of conditions as numbers are not supported")

    def cast(value: Value) -> Value:
        listed = np.broadcast_arrays(*value) if isinstance(value, tuple) else [value]
        packed = np.ascontiguousarray(np.stack(listed, axis=-1)).view(target.element.dtype)
        columns = tuple(packed[..., number][()] for number in range(packed.shape[-1]))
        return columns if target.name == "vector" else columns[0]

    plain = lambda a: a.view(target.element.dtype)  # noqa: E731
    return plain if "vector" not in (source.name, target.name) else cast
