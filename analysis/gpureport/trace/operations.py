"""What LLVM's instructions and OpenCL's built-in functions compute, with NumPy, and their instruction classes.

Integers are signed arrays; unsigned operations view them. All functions take arrays and scalars alike, and elements of
vectors one by one.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpureport.trace.ir import Instruction, Name, Type, Unsupported

Value = Any
"""An array over work-items, a NumPy scalar that all share, or a tuple of these: the elements of a vector or struct."""
Function = Callable[..., Value]
Counts = Mapping[str, float]
"""Instructions by class (see ``records.ceilings.INSTRUCTION_CLASSES``); ``address``: of addresses only."""

_UNSIGNED = {np.dtype(f"i{size}"): np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_SIGNED = {there: here for here, there in _UNSIGNED.items()}


def unsigned(value: Value) -> Value:
    """Return the bits of an integer as an unsigned one."""
    return value.view(_UNSIGNED.get(value.dtype, value.dtype))


def signed(value: Value) -> Value:
    """Return the bits of an integer as a signed one."""
    return value.view(_SIGNED.get(value.dtype, value.dtype))


def _on_unsigned(function: Function) -> Function:
    return lambda *values: signed(function(*map(unsigned, values)))


def _divided(a: Value, b: Value) -> Value:
    return (a - np.fmod(a, b)) // b


BINARY: Mapping[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "ashr": np.right_shift,
    "lshr": _on_unsigned(np.right_shift),
    "sdiv": _divided,
    "srem": np.fmod,
    "udiv": _on_unsigned(np.floor_divide),
    "urem": _on_unsigned(np.remainder),
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "frem": np.fmod,
    "fneg": np.negative,
}
_ORDERED: Mapping[str, Function] = {
    "eq": np.equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def _unordered(a: Value, b: Value) -> Value:
    return np.isnan(a) | np.isnan(b)


def comparison(opcode: str, predicate: str) -> Function:
    """Return the function of ``icmp`` or ``fcmp``."""
    if predicate in ("eq", "ne"):
        return np.equal if predicate == "eq" else np.not_equal
    kind, how = predicate[0], predicate[1:]
    if opcode == "icmp":
        plain = _ORDERED[how]
        return plain if kind == "s" else lambda a, b: plain(unsigned(a), unsigned(b))
    if predicate in ("ord", "uno"):
        return _unordered if predicate == "uno" else lambda a, b: ~_unordered(a, b)
    if predicate == "one":
        return lambda a, b: (a < b) | (a > b)
    if kind == "o":
        return _ORDERED[how]
    opposite: Mapping[str, Function] = {
        "eq": lambda a, b: (a < b) | (a > b),
        "gt": np.less_equal,
        "ge": np.less,
        "lt": np.greater_equal,
        "le": np.greater,
    }
    return np.not_equal if how == "ne" else lambda a, b: ~opposite[how](a, b)


def converted(opcode: str, source: Type, target: Type) -> Function:
    """Return the function of a conversion such as ``zext`` or ``sitofp``."""
    wanted = target.dtype
    whole = _UNSIGNED.get(wanted, wanted)
    if opcode == "trunc" and target.bits == 1:
        return lambda a: (a & 1).astype(np.bool_)
    if opcode == "sext" and source.bits == 1:
        return lambda a: -a.astype(wanted)
    if opcode in ("zext", "uitofp"):
        return lambda a: signed(_cut(unsigned(a), source).astype(whole))
    if opcode == "fptoui":
        return lambda a: signed(np.asarray(a).astype(whole)) if a.ndim else a.astype(whole).view(wanted)
    return lambda a: narrowed(a.astype(wanted), target)


def _cut(value: Value, of: Type) -> Value:
    return value if of.bits in (0, 1, 8, 16, 32, 64) else value & value.dtype.type((1 << of.bits) - 1)


def narrowed(value: Value, of: Type) -> Value:
    """Return an integer of an odd width with the bits above it equal to its sign."""
    spare = 8 * of.dtype.itemsize - of.bits
    if not of.bits or of.bits == 1 or not spare:
        return value
    distance = value.dtype.type(spare)
    return (value << distance) >> distance


def narrowing(opcode: str, of: Type) -> Function:
    """Return the function of an arithmetic instruction for integers of any width."""
    function = BINARY[opcode]
    if of.bits in (0, 1, 8, 16, 32, 64):
        return function
    if opcode in ("udiv", "urem", "lshr"):
        return lambda a, b: narrowed(function(_cut(a, of), _cut(b, of)), of)
    return lambda *values: narrowed(function(*values), of)


def elementwise(function: Function) -> Function:
    """Return *function* for each element of vectors."""

    def each(*values: Value) -> Value:
        count = next(len(value) for value in values if isinstance(value, tuple))
        parts = [value if isinstance(value, tuple) else (value,) * count for value in values]
        return tuple(map(function, *parts))

    return each


def chosen(condition: Value, a: Value, b: Value) -> Value:
    """Return *a* where *condition* holds, else *b*."""
    if isinstance(condition, tuple):
        return tuple(map(chosen, condition, a, b))
    if not condition.ndim:
        return a if condition else b
    return (
        tuple(chosen(condition, x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, tuple)
        else np.where(condition, a, b)
    )


# integers
def _leading_zeros(a: Value) -> Value:
    size = 8 * a.dtype.itemsize
    bits = unsigned(a)
    for distance in (1, 2, 4, 8, 16, 32):
        if distance < size:
            bits = bits | (bits >> bits.dtype.type(distance))
    return (size - np.bitwise_count(bits).astype(np.int64)).astype(a.dtype)


def _trailing_zeros(a: Value) -> Value:
    bits = unsigned(a)
    return np.bitwise_count(~bits & (bits - bits.dtype.type(1))).astype(a.dtype)


def _funnel_left(a: Value, b: Value, distance: Value) -> Value:
    """Return the upper half of the bits of *a* and *b* together, shifted to the left."""
    one = unsigned(distance).dtype.type
    size = one(8 * a.dtype.itemsize)
    shift = unsigned(distance) % size
    return signed((unsigned(a) << shift) | ((unsigned(b) >> one(1)) >> (size - one(1) - shift)))


def _funnel_right(a: Value, b: Value, distance: Value) -> Value:
    one = unsigned(distance).dtype.type
    size = one(8 * a.dtype.itemsize)
    shift = unsigned(distance) % size
    return signed((unsigned(b) >> shift) | ((unsigned(a) << one(1)) << (size - one(1) - shift)))


def _product_high(a: Value, b: Value) -> Value:
    """Return the upper half of the product of signed or unsigned integers."""
    size = 8 * a.dtype.itemsize
    if size < 64:
        wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}").type
        return ((a.astype(wide) * b.astype(wide)) >> wide(size)).astype(a.dtype)
    x, y, low, half = a.view(np.uint64), b.view(np.uint64), np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "u":
        return high
    return high.view(np.int64) - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


def _saturated(function: Function) -> Function:
    """Return *function* of integers, limited to their range."""

    def limited(*values: Value) -> Value:
        kind = values[0].dtype
        wide = np.int64 if kind.itemsize * (len(values) - 1) < 8 else np.object_
        exact = function(*(np.asarray(value).astype(wide) for value in values))
        return np.clip(exact, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)[()]

    return limited


def _average(up: int) -> Function:
    return lambda a, b: (a >> 1) + (b >> 1) + ((a | b if up else a & b) & 1)


def _reversed_bits(a: Value) -> Value:
    size, bits = 8 * a.dtype.itemsize, unsigned(a)
    result = np.zeros_like(bits)
    for position in range(size):
        result |= ((bits >> bits.dtype.type(position)) & bits.dtype.type(1)) << bits.dtype.type(size - 1 - position)
    return signed(result)


def _overflowing(opcode: str) -> Function:
    """Return the function of ``llvm.uadd.with.overflow`` and its relatives."""
    plain, is_signed = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[opcode[1:]], opcode[0] == "s"

    def both(a: Value, b: Value) -> Value:
        x, y = (a, b) if is_signed else (unsigned(a), unsigned(b))
        result, limits = plain(x, y), np.iinfo(x.dtype)
        if opcode[1:] == "mul":
            high = _product_high(x, y)
            return signed(result), high != (result >> (x.dtype.itemsize * 8 - 1) if is_signed else 0)
        near = plain(x.astype(object), y.astype(object))
        return signed(result), np.asarray((near > limits.max) | (near < limits.min)).astype(np.bool_)

    return both


# floating-point numbers
def _as(function: Function) -> Function:
    """Return *function* with results of the type of its first argument."""
    return lambda *values: function(*values).astype(values[0].dtype)


def _fused(a: Value, b: Value, c: Value) -> Value:
    return (a.astype(np.float64) * b + c).astype(a.dtype)


def _half_turns(name: str) -> Function:
    return _as(lambda a: getattr(np, name)(np.pi * a.astype(np.float64)))


def _in_half_turns(name: str) -> Function:
    return _as(lambda *values: getattr(np, name)(*values) / np.pi)


def _special(name: str) -> Function:
    def call(*values: Value) -> Value:
        from scipy import special

        return getattr(special, name)(*values).astype(values[0].dtype)

    return call


def _rounded_away(a: Value) -> Value:
    return np.copysign(np.floor(np.abs(a) + a.dtype.type(0.5)), a)


def _root(a: Value, n: Value) -> Value:
    odd = np.copysign(np.abs(a) ** (1.0 / n), a)
    return np.where(n % 2 == 0, a ** (1.0 / n), odd)


def _smooth_step(a: Value, b: Value, x: Value) -> Value:
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


def _of_magnitude(larger: bool) -> Function:
    def pick(a: Value, b: Value) -> Value:
        x, y = (np.abs(a), np.abs(b)) if larger else (np.abs(b), np.abs(a))
        return np.where(x > y, a, np.where(y > x, b, np.fmax(a, b) if larger else np.fmin(a, b)))

    return pick


def fraction(a: Value) -> tuple[Value, Value]:
    """Return the results of ``fract``: the fraction, and the integer below."""
    below = np.floor(a)
    return np.minimum(a - below, np.nextafter(a.dtype.type(1), a.dtype.type(0))), below


def parts(a: Value) -> tuple[Value, Value]:
    """Return the results of ``modf``: the fraction and the integer towards 0, both with the sign of *a*."""
    whole = np.trunc(a)
    return np.copysign(np.where(np.isinf(a), 0, a - whole).astype(a.dtype), a), whole


TWO_RESULTS: Mapping[str, Function] = {
    "fract": fraction,
    "modf": parts,
    "sincos": lambda a: (np.sin(a), np.cos(a)),
    "frexp": lambda a: (np.frexp(a)[0].astype(a.dtype), np.frexp(a)[1].astype(np.int32)),
}
"""Functions that return one result, and store the other at an address."""
_FLOATING: Mapping[str, Function] = {
    **{
        name: getattr(np, name)
        for name in "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt".split()
    },
    **{
        name: getattr(np, name)
        for name in "floor ceil trunc rint fmin fmax fmod hypot copysign nextafter ldexp".split()
    },
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan sinh cosh tanh".split()},
    **{f"{name}pi": _half_turns(name) for name in ("sin", "cos", "tan")},
    **{f"a{name}pi": _in_half_turns(f"arc{name}") for name in ("sin", "cos", "tan")},
    **{
        name: _special(other)
        for name, other in {"erf": "erf", "erfc": "erfc", "tgamma": "gamma", "lgamma": "gammaln"}.items()
    },
    "atan2": np.arctan2,
    "atan2pi": _in_half_turns("arctan2"),
    "exp10": _as(lambda a: np.power(10.0, a)),
    "rsqrt": _as(lambda a: 1 / np.sqrt(a)),
    "recip": _as(lambda a: 1 / a),
    "divide": np.divide,
    "pow": np.power,
    "powr": np.power,
    "pown": _as(np.power),
    "powi": _as(np.power),
    "rootn": _as(_root),
    "round": _rounded_away,
    "roundeven": np.rint,
    "nearbyint": np.rint,
    "fabs": np.abs,
    "fma": _fused,
    "fmuladd": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "maxnum": np.fmax,
    "minnum": np.fmin,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "maxmag": _of_magnitude(larger=True),
    "minmag": _of_magnitude(larger=False),
    "remainder": _as(lambda a, b: a - b * np.rint(a / b)),
    "fdim": lambda a, b: np.where(a > b, a - b, np.where(a <= b, a.dtype.type(0), a + b)),
    "degrees": _as(np.degrees),
    "radians": _as(np.radians),
    "sign": _as(lambda a: np.where(np.isnan(a), 0, np.sign(a))),
    "mix": lambda a, b, t: a + (b - a) * t,
    "step": _as(lambda edge, a: np.where(a < edge, 0, 1)),
    "smoothstep": _as(_smooth_step),
    "logb": _as(lambda a: np.floor(np.log2(np.abs(a)))),
    "ilogb": lambda a: (np.frexp(a)[1] - 1).astype(np.int32),
    "canonicalize": lambda a: a,
}
_INTEGER: Mapping[str, Function] = {
    "abs": lambda a: np.abs(a) if a.dtype.kind != "u" else a,
    "abs_diff": lambda a, b: np.where(a > b, a - b, b - a),
    "max": np.maximum,
    "min": np.minimum,
    "clamp": lambda a, low, high: np.minimum(np.maximum(a, low), high),
    "popcount": lambda a: np.bitwise_count(a.view(_UNSIGNED.get(a.dtype, a.dtype))).astype(a.dtype),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "rotate": lambda a, b: _funnel_left(a, a, b),
    "mul_hi": _product_high,
    "mad_hi": lambda a, b, c: _product_high(a, b) + c,
    "mul24": np.multiply,
    "mad24": lambda a, b, c: a * b + c,
    "add_sat": _saturated(np.add),
    "sub_sat": _saturated(np.subtract),
    "mad_sat": _saturated(lambda a, b, c: a * b + c),
    "hadd": _average(0),
    "rhadd": _average(1),
    "upsample": lambda a, b: (
        (a.astype(f"i{2 * a.dtype.itemsize}") << (8 * a.dtype.itemsize))
        | unsigned(b).astype(f"i{2 * a.dtype.itemsize}")
    ),
    "bitselect": lambda a, b, c: a ^ (c & (b ^ a)),
    "bit_reverse": _reversed_bits,
}
_INTRINSICS: Mapping[str, Function] = {
    "smax": np.maximum,
    "smin": np.minimum,
    "umax": _on_unsigned(np.maximum),
    "umin": _on_unsigned(np.minimum),
    "abs": lambda a, _: np.abs(a),
    "ctpop": _INTEGER["popcount"],
    "ctlz": lambda a, _: _leading_zeros(a),
    "cttz": lambda a, _: _trailing_zeros(a),
    "fshl": _funnel_left,
    "fshr": _funnel_right,
    "bswap": lambda a: a.byteswap(),
    "bitreverse": _reversed_bits,
    "sadd.sat": _saturated(np.add),
    "ssub.sat": _saturated(np.subtract),
    "uadd.sat": _on_unsigned(_saturated(np.add)),
    "usub.sat": lambda a, b: signed(
        np.where(unsigned(a) > unsigned(b), unsigned(a) - unsigned(b), unsigned(a).dtype.type(0))
    ),
    "scmp": lambda a, b: (a > b).astype(np.int8) - (a < b).astype(np.int8),
    "ucmp": lambda a, b: (unsigned(a) > unsigned(b)).astype(np.int8) - (unsigned(a) < unsigned(b)).astype(np.int8),
    **{f"{kind}{name}.with.overflow": _overflowing(f"{kind}{name}") for kind in "su" for name in ("add", "sub", "mul")},
}
_TESTS: Mapping[str, Function] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isnormal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "signbit": np.signbit,
    "isequal": np.equal,
    "isnotequal": np.not_equal,
    "isgreater": np.greater,
    "isgreaterequal": np.greater_equal,
    "isless": np.less,
    "islessequal": np.less_equal,
    "islessgreater": lambda a, b: (a < b) | (a > b),
    "isordered": lambda a, b: ~_unordered(a, b),
    "isunordered": _unordered,
}


def _dot(a: Value, b: Value) -> Value:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=a[0].dtype.type(0)) if isinstance(a, tuple) else a * b


def _length(a: Value) -> Value:
    return np.sqrt(_dot(a, a))


def _minus(a: Value, b: Value) -> Value:
    return tuple(x - y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a - b


def _normalized(a: Value) -> Value:
    if not isinstance(a, tuple):
        return np.sign(a)
    length = np.maximum(_length(a), np.finfo(a[0].dtype).tiny)
    return tuple(x / length for x in a)


def _cross(a: Value, b: Value) -> Value:
    whole = tuple(a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1)))
    return whole if len(a) == 3 else (*whole, a[0].dtype.type(0))


_VECTOR: Mapping[str, Function] = {
    "dot": _dot,
    "length": _length,
    "distance": lambda a, b: _length(_minus(a, b)),
    "normalize": _normalized,
    "cross": _cross,
    "any": lambda a: (np.bitwise_or.reduce(np.broadcast_arrays(*_listed(a))) < 0).astype(np.int32),
    "all": lambda a: (np.bitwise_and.reduce(np.broadcast_arrays(*_listed(a))) < 0).astype(np.int32),
}
_REDUCTIONS: Mapping[str, Function] = {
    "add": np.add,
    "mul": np.multiply,
    "fadd": np.add,
    "fmul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "smax": np.maximum,
    "smin": np.minimum,
    "umax": _INTRINSICS["umax"],
    "umin": _INTRINSICS["umin"],
    "fmax": np.fmax,
    "fmin": np.fmin,
}


def _listed(a: Value) -> Value:
    return a if isinstance(a, tuple) else (a,)


def _reduction(name: str) -> Function:
    def reduce(*values: Value) -> Value:
        *start, vector = values
        return functools.reduce(_REDUCTIONS[name], (*start, *vector))

    return reduce


def _conversion(name: str, of: Type) -> Function:
    """Return the function of ``convert_uchar4_sat_rte`` and its relatives."""
    target = re.match(r"convert_(u?)([a-z]+)\d*", name)
    if target is None:
        raise Unsupported(f"{name} is not supported")
    wanted = of.element.dtype if not target[1] else _UNSIGNED[of.element.dtype]
    how = name[-3:] if name.endswith(("_rte", "_rtz", "_rtp", "_rtn")) else ""
    rounding = {"rte": np.rint, "rtz": np.trunc, "rtp": np.ceil, "rtn": np.floor}.get(how)

    def convert(a: Value) -> Value:
        if a.dtype.kind == "f" and wanted.kind != "f":
            a = rounding(a) if rounding else np.trunc(a)
        if "_sat" not in name or wanted.kind == "f":
            return signed(a.astype(wanted))
        limits = np.iinfo(wanted)
        if a.dtype.kind == "f":
            inside = np.clip(np.nan_to_num(a.astype(np.float64)), float(limits.min), float(limits.max))
            whole = inside.astype(wanted)
            return signed(np.where(inside >= float(limits.max), wanted.type(limits.max), whole).astype(wanted))
        least, most = max(limits.min, np.iinfo(a.dtype).min), min(limits.max, np.iinfo(a.dtype).max)
        return signed(np.clip(a, a.dtype.type(least), a.dtype.type(most)).astype(wanted))

    return convert


def demangled(name: str) -> tuple[str, str]:
    """Return a function's plain name and, if it is mangled, the codes of its parameters' types (Itanium C++ ABI)."""
    found = re.match(r"_Z(\d+)", name)
    if not found:
        return name, ""
    end = found.end() + int(found[1])
    return name[found.end() : end], name[end:]


def pure(instruction: Instruction, called: str) -> Function | None:
    """Return the function of a call that depends on its arguments only; ``None`` if there is no such function."""
    name, codes = demangled(called)
    of = instruction.bare[0]
    if name.startswith("llvm.vector.reduce."):
        return _reduction(name.split(".")[3])
    if name.startswith("llvm."):
        plain = re.sub(r"(\.[vipf\d]+[\dif]*)+$", "", name.removeprefix("llvm."))
        found = _INTRINSICS.get(plain) or _FLOATING.get(plain)
        return _mapped(found, instruction) if found else None
    if name.startswith("convert_"):
        function = _conversion(name, of)
        return _mapped(_viewed(function, codes), instruction)
    plain = re.sub(r"^(native|half|fast)_", "", name)
    if plain in _VECTOR:
        return _VECTOR[plain]
    if name == "select":
        vector = "Dv" in codes
        return _mapped(lambda a, b, c: chosen(c < 0 if vector else c != 0, b, a), instruction)
    if plain in _TESTS:
        true = np.int32(1) if of.width == 1 else of.element.dtype.type(-1)
        return _mapped(lambda *values: _TESTS[plain](*values) * true, instruction)
    found = (_INTEGER if plain in _INTEGER else _FLOATING).get(plain)
    return _mapped(_viewed(found, codes), instruction) if found else None


def _viewed(function: Function, codes: str) -> Function:
    """Return *function*, applied to unsigned integers if the codes of its parameters say so."""
    return _on_unsigned(function) if re.match(r"(Dv\d+_)?[htjm]", codes) else function


def _mapped(function: Function, instruction: Instruction) -> Function:
    return elementwise(function) if any(kind.name == "vector" for kind in instruction.types) else function


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


# counts
_MULTIPLY_64 = {"int32_mul": 3.0, "int32": 1.0}
_DIVISION = {"int32": 10.0, "int32_mul": 4.0, "conversion": 2.0, "transcendental": 1.0}
_INTEGERS: Mapping[str, tuple[Counts, Counts]] = {
    **dict.fromkeys(("add", "sub"), ({"add": 1.0}, {"int64": 1.0})),
    **dict.fromkeys(("and", "or", "xor", "bitselect"), ({"ternary": 1.0}, {"ternary": 2.0})),
    **dict.fromkeys(("shl", "lshr", "ashr", "rotate", "fshl", "fshr"), ({"shift": 1.0}, {"shift": 4.0})),
    **dict.fromkeys(("sdiv", "udiv", "srem", "urem"), (_DIVISION, {**_DIVISION, "int32": 30.0})),
    **dict.fromkeys(("mul", "mul24", "mad24"), ({"int32_mul": 1.0}, _MULTIPLY_64)),
    **dict.fromkeys(("mul_hi", "mad_hi", "mad_sat"), ({"int32_mul": 3.0}, {"int32_mul": 8.0})),
    **dict.fromkeys(("popcount", "clz", "ctz", "ctpop", "ctlz", "cttz"), ({"int32": 4.0}, {"int32": 8.0})),
    **dict.fromkeys(("trunc", "zext"), ({}, {})),
    "sext": ({"int32": 1.0}, {}),
}
"""Instructions for integers of at most 32 bits, and of 64; others take one for each 32 bits."""
_EXPANDED: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("sin", "cos", "tan", "atan", "sinh"), (31, 36)),
    **dict.fromkeys(("exp", "exp2", "exp10"), (6, 20)),
    **dict.fromkeys(("log", "log2", "log10"), (30, 51)),
    **dict.fromkeys(("pow", "powr", "pown", "rootn"), (100, 151)),
    **dict.fromkeys(("sqrt", "rsqrt", "length", "distance", "normalize"), (4.6, 12)),
    **dict.fromkeys(("divide", "recip", "fdiv"), (8, 13)),
    **dict.fromkeys(("fmod", "frem", "remainder"), (10, 10)),
    **dict.fromkeys(("tanh", "hypot", "cbrt"), (20, 41)),
    "sincos": (45, 50),
}
"""Instructions of accurate functions of single and double precision; measured on an H200: issue slots of a wave."""
_OTHERS = (25, 40)
_SIMPLE = frozenset(
    "fadd fsub fmul fma fmuladd mad fmin fmax maxnum minnum maximum minimum fabs copysign step mix clamp dot cross "
    "sign degrees radians canonicalize ldexp fract modf smoothstep fdim".split()
)
_CONVERTING = frozenset(
    "fptosi fptoui sitofp uitofp fptrunc fpext floor ceil trunc rint round nearbyint roundeven".split()
)
_FREE = frozenset(
    "bitcast addrspacecast ptrtoint inttoptr freeze fneg extractelement insertelement shufflevector extractvalue "
    "insertvalue alloca phi".split()
)


def plain_name(called: str) -> str:
    """Return the name of a function without the marks of its types and precision."""
    name = re.sub(r"(\.[vipf\d]+[\dif]*)+$", "", demangled(called)[0].removeprefix("llvm."))
    return re.sub(r"^(native|half|fast)_", "", name)


def counts(instruction: Instruction, called: str = "") -> Counts:
    """Return the instructions that one element needs in one lane, by class."""
    name, of = plain_name(called) if called else instruction.opcode, (instruction.bare or instruction.types)[0].element
    kind = instruction.types[0].element
    if name in _FREE or kind.bits == 1:
        return {}
    if name.startswith("convert") or (name in _CONVERTING and "f" in (of.dtype.kind, kind.dtype.kind)):
        return {"conversion": 1.0} if of != kind or not name.startswith("convert") else {}
    words = 1.0 if kind.dtype.itemsize <= 4 else 2.0
    if of.dtype.kind != "f" or name in ("select", "fcmp") or name in _TESTS:
        if name.endswith(("div", "rem")) and not isinstance(instruction.operands[1], Name):
            return {"int32_mul": 2.0 * words, "shift": 1.0}
        return _INTEGERS[name][words > 1] if name in _INTEGERS else {"int32": words}
    return _of_floats(name, of, fast="native_" in called or "half_" in called)


def _of_floats(name: str, of: Type, *, fast: bool) -> Counts:
    pipe = {"half": "fp16", "double": "fp64"}.get(of.name, "fp32")
    if name in _SIMPLE:
        return {pipe: 1.0}
    if fast:
        return {"transcendental": 1.0, "fp32": 1.0}
    single, double = _EXPANDED.get(name, _OTHERS)
    return {"fp64": double} if pipe == "fp64" else {"transcendental": 1.0, "fp32": single - 1}
