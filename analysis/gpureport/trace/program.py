"""A kernel as blocks of operations on arrays over work-items, made from LLVM's code."""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from gpureport.errors import InputError
from gpureport.spec.uncertainty import sourced
from gpureport.text import listed
from gpureport.trace import instructions, operations
from gpureport.trace.instructions import Counts
from gpureport.trace.ir import SPACES, Instruction, Module, Operand, Space, Type, Unsupported, Words, walk
from gpureport.trace.operations import Function, Value
from gpureport.workloads.model import Dispatch, Local

LOCAL, PRIVATE, TABLES = -1, -2, -3
"""Regions of memory: that of groups, that of work-items, and constants; others are the numbers of arguments."""
_SPAN, _FIRST = 1 << 40, -TABLES + 1
"""Bytes between the addresses of two regions, and the spans before the first argument; the lowest has no region."""
TAKEN = sourced("trace.program.TAKEN", float)
"""Issue slots of a branch back to the start of a loop, on GPUs: the wave waits for its next instructions."""
_OPAQUE = re.compile("image|sampler|event|queue|pipe")
_APART = 128
"""Arrays in local memory are apart, so that accesses beyond their ends do not hit the next."""
PRIVATE_UNIT = 16
"""Private arrays begin at a multiple of so many bytes."""


def address(region: int) -> np.int64:
    """Return the first address of a region, in the middle of its span: what is before it belongs to it."""
    return np.int64((region + _FIRST) * _SPAN + _SPAN // 2)


def region_of(at: Value) -> Value:
    """Return the region of an address."""
    return at // _SPAN - _FIRST


@dataclass(frozen=True)
class Access:
    """One load, store or atomic instruction; *nbytes* of one work-item."""

    number: int
    line: int
    space: Space
    """``constant``: tables of the program, and structs that are passed by value."""
    write: bool
    atomic: bool
    nbytes: int
    region: int | None
    """The argument's number or another region that it accesses; ``None``: known only when it is executed."""
    dtype: np.dtype[Any]
    """Of its elements."""
    vector: bool = False
    align: int = 0
    """The address is a multiple of so many bytes, as compilers know; 0: of the access."""
    part: int = 0
    """Bytes before this one of several accesses that the instruction needs."""
    same: bool = False
    """Whether compilers see that all work-items of a group use one address."""

    @property
    def aligned(self) -> bool:
        """Whether each element is at a multiple of its size."""
        return not 0 < self.align < self.dtype.itemsize


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    kind: Literal["buffer", "scalar", "local"]
    dtype: np.dtype[Any]
    """Of a scalar, or of the elements of a buffer; bytes if they are structs."""
    lanes: int
    """Numbers of a scalar or element, such as 3 of ``float3``; 0 of structs."""
    noalias: bool
    """Whether nothing else points to its data (``restrict``, constant and local memory)."""


@dataclass(frozen=True)
class LocalArray:
    """An array in local memory."""

    name: str
    offset: int
    nbytes: int

    @property
    def next(self) -> int:
        """Where the next array may begin."""
        return -(-(self.offset + self.nbytes) // _APART) * _APART + _APART


@dataclass(frozen=True)
class Operation:
    """One instruction. *function* takes the machine first if it depends on more than its operands."""

    function: Function
    operands: tuple[int, ...]
    """Slots of values; also *result*, which is -1 without one."""
    result: int
    counts: Counts
    """Instructions of one of *width* elements, by class."""
    width: int = 1
    branches: bool = False
    """Whether it is a function whose code has branches."""
    machine: bool = False
    access: Access | None = None


@dataclass
class Block:
    """Operations without a branch between them."""

    waits: bool
    """Whether work-items wait here for the rest of their group."""
    line: int
    phis: list[tuple[int, dict[int, int]]] = field(default_factory=list)
    """Slots, with the slots from which they take their values by the number of the block before."""
    operations: list[Operation] = field(default_factory=list)
    counts: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    targets: tuple[int, ...] = ()
    """Blocks that follow: the usual one, then those for the *cases* of the condition."""
    condition: int = -1
    cases: tuple[Any, ...] = ()
    interleaved: int = 1
    """Iterations of the loop that begins here which compilers interleave; *overlapping*: which are executed at once."""
    overlapping: int = 1
    apart: Set[int] = frozenset()
    """Numbers of accesses that compilers see to differ from the stores of other iterations in their buffer."""
    inputs: tuple[int, ...] = ()
    """Slots that other blocks write; *outputs*: those that others read."""
    outputs: tuple[int, ...] = ()


@dataclass(eq=False)
class Program:
    """A kernel, ready to be executed."""

    name: str
    file: str
    line: int
    parameters: tuple[Parameter, ...] = ()
    accesses: list[Access] = field(default_factory=list)
    blocks: tuple[Block, ...] = ()
    constants: dict[int, Value] = field(default_factory=dict)
    slots: int = 0
    local_arrays: tuple[LocalArray, ...] = ()
    tables: bytes = b""
    private_places: list[int] = field(default_factory=list)
    """The places of each 16 bytes of private arrays, counted in 16 bytes; arrays that live at different times share."""
    work_group: tuple[int, ...] = ()
    """The work-group size that the kernel requires."""
    has_sub_groups: bool = False
    """Whether its results may depend on the width of sub-groups."""
    has_sub_group_barriers: bool = False

    @cached_property
    def order(self) -> list[int]:
        """The ranks of the blocks, of which the first ones are executed first: what leaves a loop waits for its end."""
        ranks = [(number, 0, number) for number in range(len(self.blocks))]
        before = defaultdict[int, set[int]](set)
        for number, block in enumerate(self.blocks):
            for target in block.targets:
                before[target].add(number)
        for last, block in enumerate(self.blocks):
            for first in (target for target in block.targets if target <= last):
                inside, found = {first}, {last}
                while found - inside:
                    inside |= found
                    found = set().union(*(before[number] for number in found if number != first))
                for number in {*range(first, last)} - inside:
                    ranks[number] = max(ranks[number], (last, 1, number))
        places = {rank: place for place, rank in enumerate(sorted(ranks))}
        return [places[rank] for rank in ranks]

    @property
    def private_bytes(self) -> int:
        """Bytes of all private arrays of a work-item."""
        return PRIVATE_UNIT * len(self.private_places)

    @property
    def placed_bytes(self) -> int:
        """Bytes of private memory of a work-item in which compilers place them."""
        return PRIVATE_UNIT * (1 + max(self.private_places, default=-1))

    def local_bytes(self, dispatch: Dispatch) -> int:
        """Return the bytes of local memory of a work-group: declared, and passed as arguments."""
        passed = (each.nbytes for each in dispatch.arguments if isinstance(each, Local))
        return sum((array.nbytes for array in self.local_arrays), sum(passed))

    @cached_property
    def interleaved(self) -> dict[int, int]:
        """How many executions of an access follow each other at once; a store to global memory keeps loads apart."""
        found = dict[int, int]()
        for block in self.blocks:
            accesses = [each.access for each in block.operations if each.access]
            if not any(each.write and each.region != LOCAL for each in accesses):
                found |= {each.number: block.overlapping for each in accesses}
        return found


@cache
def program(module: Module, name: str, unrolled: int = 4, *, joins: bool = False) -> Program:
    """Return the kernel *name* of a module; compilers interleave at most *unrolled* iterations of loops.

    *joins*: they also make one load of those of neighbouring members, and unroll loops that use private arrays, as for
    GPUs.

    Raises:
        Unsupported: it uses what cannot be executed; the message has file, line and its name.
        InputError: there is no such kernel.
    """
    if name not in module.kernels:
        raise InputError(f"{module.path}: it has no kernel {name!r}; it has {', '.join(module.kernels) or 'none'}")
    module = module.unrolled.get(name, module) if joins else module
    try:
        return _Builder(module, name, unrolled, joins=joins).built
    except Unsupported as error:
        raise Unsupported(f"{module.path}:{module.line}: {error}") from error
    except (LookupError, ValueError) as error:
        raise Unsupported(f"{module.path}:{module.line}: this is not supported ({error!r})") from error


class _Builder:
    def __init__(self, module: Module, name: str, unrolled: int, *, joins: bool) -> None:
        self.module, self.unrolled, self.joins = module, unrolled, joins
        self.notes = module.notes(name)
        self.built = Program(name, str(module.path), module.line)
        self.slot_of: dict[Any, int] = {}
        self.roots: dict[str, int] = {}
        self.made: dict[str, Operation] = {}
        self.merged: Mapping[str, Counts] = {}
        self.varying: set[str] = set()
        self.uses: Mapping[str, int] = {}
        self.of_three: set[str] = set()
        self.used_elements: Mapping[str, int] = {}
        self.repeated: set[str] = set()
        self.divided_again: set[str] = set()
        self.lives: dict[str, range] = {}
        self.placed: list[tuple[int, int, range]] = []
        self._place_variables()
        self.built.parameters = tuple(self._parameters())
        self.built.blocks = tuple(self._blocks())
        self.built.slots = len(self.slot_of)
        _connect(self.built)

    def _place_variables(self) -> None:
        tables, arrays = bytearray(), list[LocalArray]()
        for name, space, of, contents in self.module.variables(self.module.kernels[self.built.name][1]):
            if space != "local":
                tables += bytes(-len(tables) % 64)
                self.module.addresses[name] = int(address(TABLES)) + len(tables)
                tables += contents.constant(of)
            else:
                arrays.append(LocalArray(name.split(".")[-1], arrays[-1].next if arrays else 0, of.nbytes))
                self.module.addresses[name] = int(address(LOCAL)) + arrays[-1].offset
        self.built.local_arrays, self.built.tables = tuple(arrays), bytes(tables)

    def _parameters(self) -> Iterator[Parameter]:
        self.built.work_group = tuple(map(int, self.notes.get("reqd_work_group_size", ())))
        read = Words(self.module, self.module.kernels[self.built.name][0]).typed()
        names, texts = (self.notes.get(f"kernel_arg_{key}", []) for key in ("name", "base_type"))
        if opaque := [name for name, text in zip(names, texts, strict=True) if _OPAQUE.match(text)]:
            raise Unsupported(f"images, samplers and events are not supported: {listed(opaque)}")
        for number, (of, attributes, value) in enumerate(read):
            self.slot(value)
            name, text = names[number], texts[number]
            if any(each.startswith("byval(") for each in attributes):
                raise Unsupported(f"a structure by value, {name}, is not supported")
            space = SPACES[of.count] if of.name == "ptr" else "private"
            kinds: Mapping[Space, Literal["scalar", "local"]] = {"private": "scalar", "local": "local"}
            self.roots[value] = LOCAL if space == "local" else number
            noalias = "noalias" in attributes or space != "global"
            yield Parameter(name, kinds.get(space, "buffer"), *_numbers(text, of), noalias)

    def slot(self, operand: Operand) -> int:
        if isinstance(operand, str):
            return self.slot_of.setdefault(operand, len(self.slot_of))
        number = self.slot_of.setdefault((operand.dtype, operand.shape, operand.tobytes()), len(self.slot_of))
        self.built.constants[number] = operand
        return number

    def _root(self, pointer: Operand) -> int | None:
        if isinstance(pointer, str):
            return self.roots.get(pointer)
        return int(region_of(pointer)) if pointer else None

    def _blocks(self) -> Iterator[Block]:
        text = self.module.blocks(self.built.name, f"%{len(self.built.parameters)}")
        pieces = [(label, part) for label, lines in text.items() for part in _pieces(lines)]
        pieces = [(label, instructions.joined(lines)) for label, lines in pieces] if self.joins else pieces
        self.varying = instructions.varying([line for _, lines in pieces for line in lines])
        self.used_elements = instructions.used_elements([line for _, lines in pieces for line in lines])
        self.uses = Counter(name for _, lines in pieces for line in lines for name in line.names)
        ends_of = [each for _, lines in pieces for each in lines if each.called.startswith("llvm.lifetime")]
        for number, name in enumerate(each.names[-1] for each in ends_of):
            self.lives[name] = range(self.lives.get(name, range(number, 0)).start, number)
        self.of_three = {line.result for _, lines in pieces for line in lines if _is_of_three(line)}
        same = instructions.complements(line for _, lines in pieces for line in lines)
        self.repeated = {name for lines in text.values() for name in instructions.repeated(lines)}
        self.divided_again = instructions.divided_again(text)
        starts = {label: number for number, (label, _) in reversed([*enumerate(pieces)])}
        ends = {label: number for number, (label, _) in enumerate(pieces)}
        for number, (label, lines) in enumerate(pieces):
            block = Block(waits=number > starts[label], line=lines[0].line if lines else 0)
            block.targets = (number + 1,) if number < ends[label] else ()
            once, steady = instructions.counting(label, lines)
            self.merged = instructions.merged([each for each in lines if each.result not in once], self.uses, same)
            for line in lines:
                self.module.line = line.line
                self._add(block, line, starts, ends)
            if once:
                size = sum(each.width for each in block.operations if each.counts)
                own = sum(block.counts.values()) - sum(sum(self.made[name].counts.values()) for name in once)
                block.interleaved = instructions.interleaved(size, own if steady else np.inf, self.unrolled)
                block.overlapping = instructions.overlapping(lines, once, block.interleaved)
                block.apart = _apart(block, {self.made[name].result for name in once})
            for name in once:
                _count(block, self.made[name], 1 / block.interleaved - 1)
            if block.condition >= 0:
                again = any(target <= number for target in block.targets)
                block.counts["branch"] += (TAKEN if again and self.joins else 1) / block.interleaved
            yield block

    def _add(self, block: Block, line: Instruction, starts: Mapping[str, int], ends: Mapping[str, int]) -> None:
        if line.opcode == "phi":
            sources = zip(line.labels, line.operands, strict=True)
            block.phis.append((self.slot(line.result), {ends[label]: self.slot(value) for label, value in sources}))
        elif line.opcode in ("br", "switch"):
            block.targets = tuple(starts[label] for label in line.labels)
            block.condition = self.slot(line.operands[0]) if line.operands else -1
            block.cases = tuple(line.operands[1:]) if line.opcode == "switch" else _IF[: len(line.operands)]
        elif line.opcode not in ("ret", "unreachable") and (found := self._operation(line)):
            block.operations.append(found)
            self.made[line.result] = found
            _count(block, found)

    def _operation(self, line: Instruction) -> Operation | None:
        what = f"{line.opcode} {line.called}"
        self.built.has_sub_groups |= "sub_group_" in what
        self.built.has_sub_group_barriers |= line.called == "sub_group_barrier"
        if _NOTHING.match(line.called):
            return None
        if _BARRIER.match(line.called):
            return Operation(lambda: None, (), -1, {"barrier": 1.0})
        for pattern, method in _SPECIAL.items():
            if re.match(pattern, what):
                return method(self, line)
        counts = self.merged.get(line.result)
        if counts is None:
            counts = instructions.counts(line, by_same=line.result in self.divided_again)
        branches, width = instructions.branches(line), self._width(line)
        return self._made(line, operations.function_of(line), counts, width=width, branches=branches)

    def _width(self, line: Instruction) -> int:
        """Return the number of elements of an instruction, of vectors those that are used."""
        if line.plain in instructions.OF_VECTORS:
            return 1
        return self.used_elements.get(line.result, line.width)

    def _made(self, line: Instruction, function: Function, counts: Counts, **more: Any) -> Operation:
        operands, counts = tuple(map(self.slot, line.operands)), {} if line.result in self.repeated else counts
        return Operation(function, operands, self.slot(line.result) if line.result else -1, counts, **more)

    def _access(self, line: Instruction, pointer: int, of: Type, *, write: bool = False, **more: Any) -> Access:
        region, space = self._root(line.operands[pointer]), SPACES[line.types[pointer].count]
        if region is not None and region >= 0:
            space = "constant" if space in ("private", "constant") else "global"
        if of.name in ("array", "struct"):
            raise Unsupported("loads and stores of whole structs are not supported")
        dtype = more.pop("dtype", np.dtype(np.int8) if of.element.bits == 1 else of.element.dtype)
        own = {"atomic": False, "vector": of.name == "vector", "align": line.align} | more
        nbytes = of.width * dtype.itemsize
        access = Access(
            len(self.built.accesses), line.line, space, write, nbytes=nbytes, region=region, dtype=dtype, **own
        )
        self.built.accesses.append(access)
        return access

    def _accessing(self, line: Instruction, access: Access, function: Function) -> Operation:
        words = max(1.0, access.nbytes / 4)
        counts = {} if access.space == "constant" and access.region != TABLES else {"memory": words}
        counts = {"local": words} if access.space == "local" else counts
        return self._made(line, function, counts, machine=True, access=access)

    def _getelementptr(self, line: Instruction) -> Operation:
        fixed, terms = walk(line.bare[0], line.operands[1:])
        if line.types[0].name == "vector":
            raise Unsupported("vectors of pointers are not supported")
        if line.types[0].name == "ptr" and (region := self._root(line.operands[0])) is not None:
            self.roots[line.result] = region
        line.operands[1:] = [name for name, _ in terms]
        function = _moved(np.int64(fixed), [np.int64(size) for _, size in terms])
        return self._made(line, function, {"address": 1.0} if terms else {})

    def _alloca(self, line: Instruction) -> Operation:
        at, places = address(PRIVATE) + np.int64(self.built.private_bytes), self.built.private_places
        size, life = -(-line.bare[0].nbytes // PRIVATE_UNIT), self.lives.get(line.result) or range(sys.maxsize)
        first = 0
        for begin, end, other in sorted(self.placed, key=lambda each: each[0]):
            if begin < first + size and max(life.start, other.start) < min(life.stop, other.stop):
                first = max(first, end)
        self.placed.append((first, first + size, life))
        places.extend(range(first, first + size))
        self.roots[line.result] = PRIVATE
        return Operation(lambda: at, (), self.slot(line.result), {})

    def _load(self, line: Instruction) -> Operation:
        access = self._access(line, 0, line.bare[0])
        return self._accessing(line, access, lambda machine, at: machine.load(access, at))

    def _store(self, line: Instruction) -> Operation:
        of, three = line.types[0], line.names[0] in self.of_three
        access = self._access(line, 1, Type("vector", 3, of.parts) if three else of, write=True)
        return self._accessing(
            line, access, lambda machine, value, at: machine.store(access, at, value[:3] if three else value)
        )

    def _identity(self, line: Instruction) -> Operation:
        return self._made(line, lambda machine, *dimension: machine.identity(line.called, *dimension), {}, machine=True)

    def _exchange(self, line: Instruction) -> Operation:
        plain, is_unsigned = re.sub(r"^(intel_)?sub_group_(non_uniform_)?", "", line.called), line.codes[:1] in "htjm"
        if not _EXCHANGES.match(plain):
            raise Unsupported(f"{line.called} is not supported")
        counts = {"ballot": 1.0} if plain in ("ballot", "all", "any") else {"shuffle": 1.0}
        return self._made(
            line,
            lambda machine, *values: machine.exchange(plain, values, line.of.width, is_unsigned=is_unsigned),
            {"shuffle": 5.0} if plain.startswith("reduce") else counts,
            machine=True,
        )

    def _vector_access(self, line: Instruction) -> Operation:
        """``vload3``, ``vstore_half4_rte`` and their relatives."""
        name, write = line.called, line.called.startswith("vstore")
        of = line.types[0] if write else line.bare[0]
        dtype = np.dtype(np.float16) if "_half" in name else of.element.dtype
        step = np.int64((4 if "a_half3" in name else of.width) * dtype.itemsize)
        align = 0 if name.startswith(("vloada", "vstorea")) else dtype.itemsize
        access = self._access(line, 1 + write, of, write=write, dtype=dtype, align=align)

        def run(machine: Any, *operands: Value) -> Value:
            at = operands[1 + write] + operands[write].astype(np.int64) * step
            if write:
                return machine.store(access, at, operands[0])
            return machine.load(access, at).astype(of.element.dtype)

        return self._accessing(line, access, run)

    def _two_results(self, line: Instruction) -> Operation:
        """Functions that store their second result."""
        exponent = {"dtype": np.dtype(np.int32)} if line.called == "frexp" else {}
        access = self._access(line, 1, line.bare[0], write=True, **exponent)
        both = operations.TWO_RESULTS[line.plain]

        def run(machine: Any, value: Value, at: Value) -> Value:
            first, second = both(value)
            machine.store(access, at, second)
            return first

        counts, branches = instructions.counts(line), instructions.branches(line)
        return self._made(line, run, counts, width=line.width, branches=branches, machine=True, access=access)

    def _atomic(self, line: Instruction) -> Operation:
        plain = re.sub(r"^atom(ic)?_(fetch_)?|_explicit$", "", line.called)
        if plain not in _ATOMICS:
            raise Unsupported(f"{line.called} is not supported")
        stored = {"compare": 2, "store": 1, "init": 1}.get(plain.split("_")[0])
        of = line.types[stored] if stored else line.bare[0]
        is_unsigned = of.dtype.kind == "i" and re.search(r"[jm](?=[jm]|12memory|$)", line.codes)
        dtype = np.dtype(of.dtype.str.replace("i", "u")) if is_unsigned else of.dtype
        alike = line.names[0] not in self.varying
        access = self._access(line, 0, of, write=plain != "load", atomic=True, dtype=dtype, same=alike)
        expected = self._access(line, 1, of) if plain.startswith("compare") else None
        function = lambda machine, *values: machine.atomic(access, plain, values, expected)  # noqa: E731
        return self._accessing(
            line if expected or self.uses[line.result] else replace(line, result=""), access, function
        )

    def _copy(self, line: Instruction) -> Operation:
        """``llvm.memcpy`` and ``llvm.memset``."""
        if isinstance(line.operands[2], str):
            raise Unsupported("copies of variable length are not supported")
        of = Type("vector", int(line.operands[2]), (Type("i8"),))
        line.operands = line.operands[:2]
        target = self._access(line, 0, of, write=True)
        if line.called.startswith("llvm.memset"):
            return self._accessing(line, target, lambda machine, at, byte: machine.store(target, at, byte))
        source = self._access(line, 1, of)
        return self._accessing(
            line, target, lambda machine, to, at: machine.store(target, to, machine.load(source, at))
        )


_IF = (np.bool_(False),)
"""The cases of a condition: if it does not hold, work-items continue with the second block."""
_NOTHING = re.compile(
    r"((read|write)_)?mem_fence|atomic_work_item_fence|sub_group_barrier|prefetch|printf"
    r"|llvm\.(lifetime|assume|experimental|dbg|prefetch)"
)
_EXCHANGES = re.compile(r"(ballot|all|any|broadcast(_first)?|shuffle(_xor|_up|_down)?|reduce_[a-z]+)$")
_ATOMICS = frozenset(
    "add sub inc dec min max and or xor xchg exchange cmpxchg load store init compare_exchange_strong "
    "compare_exchange_weak".split()
)
_SPECIAL: Mapping[str, Callable[[_Builder, Instruction], Operation]] = {
    r"load ": _Builder._load,
    r"store ": _Builder._store,
    r"alloca ": _Builder._alloca,
    r"getelementptr |addrspacecast ": _Builder._getelementptr,
    r"call get_": _Builder._identity,
    r"call (intel_)?sub_group_": _Builder._exchange,
    r"call (vloada?(\d|_half)|vstorea?(\d|_half))": _Builder._vector_access,
    r"call ((native|half)_)?(fract|sincos|modf|frexp)$": _Builder._two_results,
    r"call atom": _Builder._atomic,
    r"call llvm\.mem(cpy|move|set)": _Builder._copy,
}
"""Instructions that depend on more than their operands, by opcode and called function."""
_BARRIER = re.compile(r"(work_group_)?barrier$")


_NAMES = {"char": "i1", "short": "i2", "int": "i4", "long": "i8", "half": "f2", "float": "f4", "double": "f8"}
_NUMBERS = re.compile(rf"(u?)({'|'.join(_NAMES)})\b(?: __attribute__\(\(ext_vector_type\((\d+))?")


def _numbers(text: str, of: Type) -> tuple[np.dtype[Any], int]:
    """Return the NumPy type of the numbers of ``uint`` or ``float4*``, and how many there are."""
    if not (found := _NUMBERS.match(text)):
        return np.dtype(np.uint8) if of.name == "ptr" else of.element.dtype, 0
    dtype = np.dtype(_NAMES[found[2]])
    return np.dtype(f"u{dtype.itemsize}") if found[1] else dtype, int(found[3] or 1)


def _pieces(lines: Sequence[Instruction]) -> list[list[Instruction]]:
    """Split a block where work-items wait."""
    parts: list[list[Instruction]] = [[]]
    for line in lines:
        if _BARRIER.match(line.called):
            parts.append([])
        parts[-1].append(line)
    return parts


def _is_of_three(line: Instruction) -> bool:
    """Return whether a vector of three elements becomes one of four, of which stores write three."""
    return line.opcode == "shufflevector" and line.types[0].width == 3 and line.width == 4


def _moved(fixed: np.int64, sizes: Sequence[np.int64]) -> Function:
    """Return the function of ``getelementptr``."""

    def move(base: Value, *indices: Value) -> Value:
        for index, size in zip(indices, sizes, strict=True):
            base = base + index.astype(np.int64, copy=False) * size
        return base + fixed if fixed else base

    return move


def _count(block: Block, operation: Operation, share: float = 1.0) -> None:
    for kind, count in operation.counts.items():
        block.counts[kind] += count * operation.width * share


def _apart(block: Block, moving: Set[int]) -> set[int]:
    """Return accesses to buffers in which a loop stores only at their address, which is *moving*."""
    accesses = [(each.access, each.operands[-1]) for each in block.operations if each.access]

    def stored(region: int | None) -> set[int]:
        return {at for access, at in accesses if access.write and access.region in (region, None)}

    return {access.number for access, at in accesses if at in moving and stored(access.region) == {at}}


def _connect(built: Program) -> None:
    """Find which slots each block takes from others, and which it leaves to them."""
    given = {*built.constants, *range(len(built.parameters)), -1}
    written = [{op.result for op in block.operations} - {-1} for block in built.blocks]
    for number, block in enumerate(built.blocks):
        read = {block.condition, *(slot for op in block.operations for slot in op.operands)}
        for target in block.targets:
            read |= {sources[number] for _, sources in built.blocks[target].phis}
        block.inputs = tuple(read - written[number] - given)
    needed = {slot for block in built.blocks for slot in block.inputs}
    for number, block in enumerate(built.blocks):
        block.outputs = tuple(needed & written[number])
