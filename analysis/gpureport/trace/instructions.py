"""Which instructions compilers make of LLVM's code: of each operation, of several together, of loops."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.uncertainty import sourced
from gpureport.trace.ir import Instruction, Operand, Type, walk

N = TypeVar("N")
Counts = Mapping[str, float]
"""Instructions by class (see ``records.ceilings.INSTRUCTION_CLASSES``); ``address``: of addresses only."""
_UNROLLED_SIZE = 150
"""Instructions of the iterations of a loop that compilers interleave at most: LLVM's limit (``PartialThreshold``). In
the PTX of public kernels, four of up to 37 instructions are interleaved, and two of 53."""
_UNROLLED_AGAIN = 128
"""Instructions of a loop, at most, of which ptxas 13 interleaves four times as many iterations: in public kernels, it
does so if the longer loop has up to 116, and not if it would have 190 or more; a power of two between these."""


def _by_name(counts: Mapping[str, N]) -> dict[str, N]:
    return {name: each for names, each in counts.items() for name in names.split()}


_INTEGERS = _by_name(sourced("trace.instructions._INTEGERS", dict[str, dict[str, tuple[float, float]]]))
"""Instructions by class for integers of at most 32 bits, and of 64; others take one for each 32 bits."""
_BY_CONSTANT = _by_name(sourced("trace.instructions._BY_CONSTANT", dict[str, dict[str, tuple[float, float]]]))
"""The same of divisions by constants, and in single and double precision."""
_BY_SAME = _by_name(sourced("trace.instructions._BY_SAME", dict[str, dict[str, tuple[float, float]]]))
"""The same of divisions by what no iteration of a loop changes: its reciprocal is computed before."""
_SIMPLE = _by_name(sourced("trace.instructions._SIMPLE", dict[str, dict[str, tuple[float, float]]]))
"""Instructions by class of comparisons and other simple functions of single and double precision."""
_EXPANDED = _by_name(sourced("trace.instructions._EXPANDED", dict[str, tuple[float, float]]))
"""Instructions of accurate functions of single and double precision; of *others* too."""
_CONVERTING = frozenset(
    "fptosi fptoui sitofp uitofp fptrunc fpext floor ceil trunc rint round nearbyint roundeven".split()
)
_FREE = frozenset(
    "bitcast addrspacecast ptrtoint inttoptr freeze fneg fabs shufflevector extractvalue insertvalue alloca phi".split()
)


def counts(instruction: Instruction, *, by_same: bool = False) -> Counts:
    """Return the instructions that one element needs in one lane, by class; *by_same*: see :func:`divided_again`."""
    called, name, of = instruction.called, instruction.plain, instruction.of.element
    kind = instruction.types[name == "select"].element
    if name in ("zext", "sext") and kind.bits == 1:
        return {"int32": 1.0}
    if name in _FREE or kind.bits == 1:
        return {}
    if name in ("extractelement", "insertelement"):
        return {"int32": 1.0 / instruction.types[0].width} if kind.bits in (8, 16) else {}
    if name.startswith("convert") or (name in _CONVERTING and "f" in (of.dtype.kind, kind.dtype.kind)):
        signed = name == "sitofp" or instruction.codes[-1:] in ("c", "s")
        return _converted(of, kind, signed=signed) if of != kind or not name.startswith("convert") else {}
    last, fast = instruction.operands[-1], called.endswith(name) and called != name
    words = 1.0 if kind.dtype.itemsize <= 4 else 2.0
    by_constant = len(instruction.operands) > 1 and not isinstance(last, str)
    if by_constant and name in ("shl", "lshr", "ashr"):
        return {"left_shift" if name == "shl" else "shift": float(np.mean(np.asarray(last) % 32 != 0) * words)}
    if name == "icmp" and kind.bits < 32:
        return {"int32": 2.0}  # registers have 32 bits: those above are set first
    known = (_BY_CONSTANT if by_constant else _BY_SAME if by_same and not fast else {}).get(name)
    if of.dtype.kind == "f" and name != "select":
        known = known or _SIMPLE.get(name)
    else:
        known = known or _INTEGERS.get(name, {"int32": (1.0, 2.0)})
    if known is None:
        count = instruction.types[0].width if name in OF_VECTORS else 1
        return _of_floats(name, of, count, fast=fast or "afn" in instruction.words)
    pipes = {"fp32": "fp16"} if of.name == "half" else {}
    return {pipes.get(kind, kind): pair[words > 1] for kind, pair in known.items() if pair[words > 1]}


def _converted(of: Type, kind: Type, *, signed: bool) -> Counts:
    """Return the instructions that convert a *kind* of number; bytes are taken out of a register first."""
    whole = kind.bits == 32 or (0 < kind.bits < 32 and not signed)
    return {"from_int32" if whole and of.name == "float" else "conversion": 1.0}


FAST = sourced("trace.instructions.FAST", float)
"""Instructions of native functions, which scale small numbers."""
OF_VECTORS = frozenset(("dot", "length", "distance", "normalize"))
"""Functions whose instructions for all elements follow each other."""


def _of_floats(name: str, of: Type, count: int, *, fast: bool) -> Counts:
    """Return the instructions of arithmetic and of functions, of *count* elements together."""
    pipe = {"half": "fp16", "double": "fp64"}.get(of.name, "fp32")
    single, double = _EXPANDED.get(name, _EXPANDED["others"])
    if single == 1 or pipe == "fp64":
        return {pipe: double * count}
    return {"transcendental": 1.0, "fp32": (FAST if fast else single) * count - 1}


_BRANCHING = _by_name(sourced("trace.instructions._BRANCHING", dict[str, float]))
"""Functions of single precision whose code has branches: time of four at once / of one."""


def branches(line: Instruction) -> bool:
    """Return whether the code of an operation has branches, so that a work-item does nothing else meanwhile."""
    name, nbytes = line.plain, line.of.element.dtype.itemsize if line.result and line.of.name != "ptr" else 0
    if "afn" in line.words or line.called.startswith(("native_", "half_", "fast_")):
        return False
    divides = name in ("udiv", "urem", "sdiv", "srem") and isinstance(line.operands[-1], str)
    of_double = nbytes == 8 and (divides or _EXPANDED.get(name, (0, 0))[1] > 1)
    return of_double or name in _BRANCHING


_VARYING = re.compile(r"get_(local|global)_(linear_)?id|sub_group|work_group|atom|vload")


def varying(lines: Sequence[Instruction]) -> set[str]:
    """Return the values of a function that may differ between the work-items of a group, as compilers see."""
    made = [line for line in lines if line.result]
    found = {line.result for line in made if line.opcode == "load" or _VARYING.search(line.called)}
    ways, size = [line for line in lines if line.opcode in ("br", "switch")], -1
    while size != (size := len(found)):
        joined = "phi" if any(found.intersection(line.names) for line in ways) else ""
        found |= {line.result for line in made if line.opcode == joined or found.intersection(line.names)}
    return found


_LOGIC, _SUMS = ("and", "or", "xor", "bitselect"), ("add", "sub")
_FACTORS: Mapping[str, Counts] = {"mul": {"int32_mul": 1.0}, "shl": {"shift": 1.0}}
_ABSORBED: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(_LOGIC, _LOGIC),
    **dict.fromkeys(_SUMS, (*_SUMS, *_FACTORS, "zext", "sext")),
    **dict.fromkeys((*_FACTORS, "zext", "sext"), ()),
}
"""Operations whose results others use within the same instruction, of three words at most."""


def complements(lines: Iterable[Instruction]) -> dict[str, str]:
    """Return values whose complement is another value, with that one: to logic of three words, both are one word."""
    first, found = dict[object, str](), dict[str, str]()
    for line in lines:
        if line.opcode == "xor" and line.names[0] and not line.names[1]:
            constant = _words(line, line.operands[1])
            base = first.setdefault((line.names[0], constant), line.result) if constant else line.names[0]
            found[line.result] = found.get(base, base)
    return found


def merged(lines: Sequence[Instruction], uses: Mapping[str, int], same: Mapping[str, str]) -> dict[str, Counts]:
    """Return the instructions of operations that are one: logic of three words, and sums of them or of a product.

    So are real sums of a product, if the order of operations is free. *uses* are those of all results in the kernel,
    *same* as of :func:`complements`.
    """
    products = {line.result for line in lines if line.opcode == "fmul" and "reassoc" in line.words}
    made: dict[str, tuple[str, frozenset[object]]] = {}
    found: dict[str, Counts] = {}
    for line in lines:
        if line.opcode == "icmp" and line.words[-1] in ("eq", "ne") and not line.names[1]:
            tested, _ = made.get(line.names[0], ("", None))
            if tested in _LOGIC and not np.any(line.operands[1]):
                found[line.result] = {}  # logic also gives whether its result is zero
        if line.opcode in ("fadd", "fsub") and "reassoc" in line.words:
            found.update([(name, {}) for name in line.names if name in products and uses[name] == 1][:1])
        widths = (32, 64) if line.plain in _LOGIC else (32,)
        if line.plain not in _ABSORBED or line.of.element.bits not in widths:
            continue
        words = [_words(line, same.get(str(value), value)) for value in line.operands]
        for place, name in 2 * [*enumerate(line.names)]:  # the second fits if the first did, or the other way round
            inner, those = made.get(name, ("", frozenset()))
            others = those.union(*words[:place], *words[place + 1 :])
            if inner in _ABSORBED[line.plain] and uses[name] == 1 and len(others) <= 3:
                words[place], found[name] = those, {}
                if inner in _FACTORS:
                    found[line.result] = _FACTORS[inner]
        made[line.result] = line.plain, frozenset().union(*words)
    return found | {name: {} for name in _selecting(lines)}


def _selecting(lines: Sequence[Instruction]) -> set[str]:
    """Return the results of ``a & ~x`` in sums that also have ``b & x``: both are one instruction of three words."""
    inverted = {line.result: line.names[0] for line in lines if line.opcode == "xor" and np.all(line.operands[1] == -1)}
    sums = {name for line in lines if line.opcode == "add" for name in line.names}
    ands = [line for line in lines if line.opcode == "and" and line.result in sums]
    chosen = {name for line in ands for name in line.names}
    return {line.result for line in ands if any(inverted.get(name) in chosen for name in line.names)}


def used_elements(lines: Sequence[Instruction]) -> dict[str, int]:
    """Return how many elements of each vector are used: compilers do not compute the others."""
    made = (line for line in lines if line.result and line.opcode not in ("extractelement", "getelementptr"))
    vectors = [line for line in made if line.width > 1 and not (line.called and line.of.width == 1)]
    used = {line.result: np.zeros(line.width, np.bool_) for line in vectors}
    size = -1
    while size != (size := sum(int(each.sum()) for each in used.values())):
        for line in reversed(lines):
            for place, name in enumerate(line.names):
                if name in used:
                    used[name] |= _used_in(line, place, used)
    return {name: int(each.sum()) for name, each in used.items()}


def _used_in(line: Instruction, place: int, used: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return which elements of a vector an instruction uses as the operand at this *place*."""
    own, width = used.get(line.result), used[line.names[place]].size
    every, last = np.arange(width), line.operands[-1]
    if line.opcode == "extractelement" and not isinstance(last, str):
        return np.equal(every, last)
    if own is None or line.plain in ("normalize", "cross"):
        return every >= 0
    if line.opcode == "insertelement" and not isinstance(last, str):
        return own & np.not_equal(every, last)
    if line.opcode == "shufflevector":
        return np.isin(every + place * width, last[:, 0][own])
    return own if own.size == width and line.opcode != "bitcast" else every >= 0


def divided_again(blocks: Mapping[str, Sequence[Instruction]]) -> set[str]:
    """Return the results of divisions in loops by what is computed, or given, before the loop."""
    order = {label: number for number, label in enumerate(blocks)}
    made = {line.result: order[label] for label, lines in blocks.items() for line in lines}
    ends = ((order[to], order[label]) for label, lines in blocks.items() for line in lines[-1:] for to in line.labels)
    loops = [(first, last) for first, last in ends if first <= last]
    found = set[str]()
    for label, lines in blocks.items():
        first = max((first for first, last in loops if first <= order[label] <= last), default=-1)
        found |= {line.result for line in lines if line.plain in _BY_SAME and made.get(line.names[-1], -1) < first}
    return found


_PURE = _FREE.difference(("phi", "alloca")).union(
    _ABSORBED, "icmp fcmp select trunc getelementptr lshr ashr extractelement".split()
)


def repeated(lines: Iterable[Instruction]) -> set[str]:
    """Return the results that earlier lines of a block have already: compilers compute them once."""
    first, same = dict[object, str](), dict[str, str]()
    for line in (each for each in lines if each.opcode in _PURE):
        values = [same.get(v, v) if isinstance(v, str) else v.tobytes() for v in line.operands]
        same[line.result] = first.setdefault((line.opcode, *line.words, *line.bare, *values), line.result)
    return {name for name, earlier in same.items() if earlier != name}


def _words(line: Instruction, value: Operand) -> frozenset[object]:
    """Return the word that an operation reads; a constant and its complement are one, and zero is none."""
    if isinstance(value, str) or line.plain not in _LOGIC:
        return frozenset({value if isinstance(value, str) else line.result})
    bits = tuple(min(int(each), ~int(each)) for each in np.ravel(value))
    return frozenset({bits} if any(each != -1 for each in bits) else ())


WIDEST = 16
"""Bytes of the widest access of a work-item of a GPU; wider ones are several instructions."""


def joined(lines: Sequence[Instruction]) -> list[Instruction]:
    """Return a block in which loads of neighbouring members are one load of a vector, with what is between them.

    As LLVM's LoadStoreVectorizer does for GPUs: the alignment of the first member shows that all are in one vector.
    """
    replaced: dict[str, list[Instruction]] = {}
    for loads in _neighbours(lines):
        (_, first), start = loads[0], min(offset for offset, _ in loads)
        count = 1 << ((max(offset for offset, _ in loads) - start) // first.of.nbytes).bit_length()
        whole, at = (f"{first.result}.{what}" for what in ("whole", "at"))
        vector, pointer = Type("vector", count, (first.of,)), first.types[0]
        place = [first.operands[0], np.int64(start - loads[0][0])]
        found = [
            Instruction("getelementptr", first.line, at, [], place, [pointer, Type("i64")], [Type("i8")]),
            Instruction("load", first.line, whole, [], [at], [pointer], [vector], align=vector.nbytes),
        ]
        for offset, load in loads:
            part = [whole, np.int64((offset - start) // first.of.nbytes)]
            found.append(Instruction("extractelement", load.line, load.result, [], part, [vector, Type("i64")]))
            replaced[load.result], found = found, []
    return [each for line in lines for each in replaced.get(line.result, (line,))]


def _neighbours(lines: Sequence[Instruction]) -> Iterator[list[tuple[int, Instruction]]]:
    """Yield loads, with their offsets in bytes, that are within one aligned vector and have no store between them."""
    places: dict[str, tuple[object, int]] = {}
    groups = defaultdict[object, list[tuple[int, Instruction]]](list)
    stores = 0
    for line in lines:
        pointer = str(line.operands[0]) if line.operands else ""
        base, offset = places.get(pointer, (pointer, 0))
        if line.opcode == "getelementptr":
            fixed, terms = walk(line.bare[0], line.operands[1:])
            places[line.result] = ((base, *terms) if terms else base, offset + fixed)
        elif line.opcode == "load" and line.types[0].count and line.of.name not in ("vector", "ptr"):
            groups[base, line.of, stores].append((offset, line))
        stores += line.opcode == "store" or (line.opcode == "call" and any(each.name == "ptr" for each in line.types))
    for loads in groups.values():
        while loads:
            start, least = min((offset, -line.align) for offset, line in loads)
            starts = range(start, start + max(1, min(WIDEST, -least)), loads[0][1].of.nbytes)
            inside = [each for each in loads if each[0] in starts]
            if len({offset for offset, _ in inside}) > 1:
                yield inside
            loads = [each for each in loads if each[0] not in starts]


_AFFINE = frozenset("add sub mul shl sext zext trunc getelementptr icmp".split())


def counting(label: str, lines: Sequence[Instruction]) -> tuple[set[str], bool]:
    """Return what counts the iterations of a loop and moves its addresses, once for all interleaved iterations.

    Also return whether the code fixes all steps, and no address depends on an unsigned index that may wrap around.
    """
    made = {line.result: line for line in lines if line.result}
    fixed: dict[str, bool] = {}  # for what is counted: whether the code fixes the step
    for line in lines:
        inside = {*line.names} & made.keys()
        step = _step(label, line, made)
        if step is not None:
            fixed[line.result] = not step
        elif line.opcode in _AFFINE and inside and fixed.keys() >= inside:
            fixed[line.result] = line.opcode == "icmp" or all(fixed[name] for name in inside)
    ends = [made[name] for line in lines[-1:] if label in line.labels for name in line.names if name in made]
    if not any(each.result in fixed for each in ends) or any(_may_wrap(each, made) for each in ends):
        return set(), False
    once = {name for name in fixed if fixed[name] and made[name].opcode != "phi"}
    return once, all(fixed.values()) and not any(_wraps(label, line, made) for line in lines if line.opcode == "zext")


def _wraps(label: str, line: Instruction, made: Mapping[str, Instruction]) -> bool:
    """Return whether what a ``zext`` widens may wrap around between two iterations."""
    value = made.get(line.names[0]) if "nneg" not in line.words else None
    if value and value.opcode == "phi" and label in value.labels:
        value = made.get(value.names[value.labels.index(label)])
    return value is not None and value.opcode in _AFFINE and "nuw" not in value.words


def _may_wrap(condition: Instruction, made: Mapping[str, Instruction]) -> bool:
    """Return whether a loop might never end, because its counter has fewer bits than its limit and starts again.

    Compilers cannot know how often it is executed: nvcc 13 unrolls ``int i < n``, not ``uint i < n`` of a ``ulong n``.
    """
    wider = (made[name] for name in condition.names if name in made and made[name].opcode == "zext")
    return any("nneg" not in each.words and "nuw" not in made[each.names[0]].words for each in wider)


def _step(label: str, line: Instruction, made: Mapping[str, Instruction]) -> set[str] | None:
    """Return the names, if any, of what each iteration adds to a value; ``None``: that is not the same, or not known.

    A step that the code does not fix must not wrap around: nvcc 13 unrolls such loops only if counters are signed.
    """
    if line.opcode != "phi" or label not in line.labels:
        return None
    added = made.get(line.names[line.labels.index(label)])
    if added is None or added.opcode not in ("add", "getelementptr") or line.result not in added.names:
        return None
    step = {*added.names} - {line.result, ""}
    return step if not step or ("nsw" in added.words and not step & made.keys()) else None


def interleaved(size: float, own: float, most: int) -> int:
    """Return how many iterations of a loop that ends compilers interleave: at most *most*.

    *size* is the number of operations of an iteration, *own* that of its instructions without those that count
    iterations. If *own* is infinite, only the first compiler interleaves.
    """
    first = next((count for count in (min(most, 4), 2) if count <= most and count * size <= _UNROLLED_SIZE), 1)
    return most if first == 4 and most * own <= _UNROLLED_AGAIN else first


_TOGETHER = sourced("trace.instructions._TOGETHER", float)
"""Registers in which compilers keep values of interleaved iterations of a loop; two are always executed at once."""


def overlapping(lines: Sequence[Instruction], once: Collection[str], count: int) -> int:
    """Return how many of *count* interleaved iterations are executed at once: more would need too many registers.

    Values of an iteration need registers from their instruction to their last use, but for *once*, see
    :func:`counting`.
    """
    values = [line for line in lines if line.opcode != "phi" and line.result not in once]
    made = {line.result: line for line in values}
    last = {name: number for number, line in enumerate(values) for name in line.names if name in made}
    words, most = 0, 1
    for number, line in enumerate(values):
        words -= sum(_registers(made[name]) for name in {*line.names} & made.keys() if last[name] == number)
        words += _registers(line) if line.result in last else 0
        most = max(most, words)
    return min(count, 1 << max(1, int(_TOGETHER / most).bit_length() - 1))


def _registers(line: Instruction) -> int:
    """Return the words of a result; conditions have registers of their own, and parts of vectors those of the whole."""
    of = line.types[1] if line.opcode == "select" else line.of
    parts = ("extractelement", "insertelement", "shufflevector")
    return 0 if of.element.bits == 1 or line.opcode in parts else line.width * max(1, of.element.dtype.itemsize // 4)
