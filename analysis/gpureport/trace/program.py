"""A kernel as blocks of operations on arrays over work-items, made from LLVM's code."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from gpureport.trace import ir, operations
from gpureport.trace.compiler import Module
from gpureport.trace.ir import Instruction, Name, Space, Type, Unsupported
from gpureport.trace.operations import Counts, Value

SPAN, MIDDLE = 1 << 40, 1 << 39
"""Bytes between the addresses of two regions; each begins in the middle, so that what is before it belongs to it."""
LOCAL, PRIVATE, TABLES = 1 << 20, (1 << 20) + 1, (1 << 20) + 2
"""Regions of memory; others are the numbers of arguments."""
_APART = 128
"""Arrays in local memory are apart, so that accesses beyond their ends do not hit the next."""


def address(region: int) -> np.int64:
    """Return the first address of a region."""
    return np.int64((region + 1) * SPAN + MIDDLE)


@dataclass(frozen=True)
class Access:
    """One load, store or atomic instruction."""

    number: int
    line: int
    space: Space
    write: bool
    atomic: bool
    nbytes: int
    """Of one work-item."""
    region: int | None
    """The memory that it accesses, if that is known before."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    kind: Literal["buffer", "scalar", "local"]
    space: Space
    dtype: np.dtype[Any]
    """Of a scalar, or of the elements of a buffer; bytes if they are structs."""
    noalias: bool
    """Whether it is the only pointer to its data (``restrict``), or read-only by its address space."""


@dataclass(frozen=True)
class LocalArray:
    """An array in local memory."""

    name: str
    offset: int
    nbytes: int


@dataclass
class Operation:
    """One instruction. *function* takes the machine first if it depends on more than its operands."""

    function: Callable[..., Value]
    operands: tuple[int, ...]
    result: int
    kind: str
    """Its main instruction class; ``load``, ``store``, ``atomic``; empty: it costs nothing."""
    machine: bool = False
    access: Access | None = None


@dataclass
class Block:
    """Operations without a branch between them."""

    label: str
    waits: bool = False
    """Whether work-items wait here for the rest of their group."""
    line: int = 0
    phis: list[tuple[int, dict[int, int]]] = field(default_factory=list)
    """Slots, with the slots from which they take their values by the number of the block before."""
    operations: list[Operation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    targets: tuple[int, ...] = ()
    """Blocks that follow: one, or two after a condition (if true, if not), or those of *cases* after the default."""
    condition: int = -1
    cases: tuple[Any, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    """Slots that other blocks read."""


@dataclass
class Program:
    """A kernel, ready to be executed."""

    name: str
    file: str
    parameters: tuple[Parameter, ...] = ()
    accesses: tuple[Access, ...] = ()
    blocks: list[Block] = field(default_factory=list)
    constants: dict[int, Value] = field(default_factory=dict)
    slots: int = 0
    local_arrays: tuple[LocalArray, ...] = ()
    tables: bytes = b""
    private_bytes: int = 0
    work_group: tuple[int, ...] = ()
    """The work-group size that the kernel requires."""
    digest: str = ""
    """Of the code from which it was made."""

    @property
    def local_bytes(self) -> int:
        """Bytes of declared local memory."""
        return sum(array.nbytes for array in self.local_arrays)


def programs(module: Module) -> tuple[str, ...]:
    """Return the names of a module's kernels, in the order of the file."""
    return module.reader.kernels()


def program(module: Module, name: str) -> Program:
    """Return the kernel *name* of a module.

    Raises:
        Unsupported: it uses what cannot be executed; the message has file, line and its name.
    """
    return _Builder(module, name).built


class _Builder:
    def __init__(self, module: Module, name: str) -> None:
        self.reader = module.reader
        self.built = Program(name, str(module.path), digest=blake2b(module.text.encode()).hexdigest())
        self.slot_of: dict[str, int] = {}
        self.roots: dict[str, int] = {}
        self.accesses: list[Access] = []
        try:
            self.function = self.reader.function(name)
            self._place_variables()
            self._parameters()
            self._blocks()
        except Unsupported as error:
            raise Unsupported(f"{module.path}:{self.reader.line}: {error}") from error
        except (LookupError, ValueError) as error:
            raise Unsupported(f"{module.path}:{self.reader.line}: this is not supported ({error!r})") from error
        self.built.accesses, self.built.slots = tuple(self.accesses), len(self.slot_of)
        _connect(self.built)

    # memory
    def _place_variables(self) -> None:
        tables, arrays, end = bytearray(), [], 0
        for variable in self.reader.variables():
            if variable.space == "local":
                if f"{variable.name}" in self.function.body:
                    arrays.append(LocalArray(variable.name.split(".")[-1], end, variable.type.nbytes))
                    self.reader.addresses[variable.name] = int(address(LOCAL)) + end
                    end = next_local(end, variable.type.nbytes)
            else:
                tables += bytes(-len(tables) % 64)
                self.reader.addresses[variable.name] = int(address(TABLES)) + len(tables)
                tables += self.reader.initial(variable)
        self.built.local_arrays, self.built.tables = tuple(arrays), bytes(tables)

    def _parameters(self) -> None:
        notes = {key: self.reader.note(node) for key, node in self.function.notes.items()}
        self.built.work_group = tuple(map(int, notes.get("reqd_work_group_size", ())))
        found = []
        for number, each in enumerate(self.function.parameters):
            self.slot(Name(each.name))
            name, text = (notes[f"kernel_arg_{key}"][number] for key in ("name", "base_type"))
            space = ir.SPACES[each.type.count] if each.type.name == "ptr" and not each.copied else "private"
            kind: Literal["buffer", "scalar", "local"] = "scalar" if space == "private" else "buffer"
            dtype = np.dtype(f"V{each.copied.nbytes}") if each.copied else _dtype(text, each.type)
            noalias = "noalias" in each.attributes or space == "constant" or kind == "scalar"
            found.append(Parameter(name, "local" if space == "local" else kind, space, dtype, noalias))
            self.roots[each.name] = LOCAL if space == "local" else number
        self.built.parameters = tuple(found)

    def slot(self, operand: Any, of: Type | None = None) -> int:
        """Return the slot of a value or constant."""
        if isinstance(operand, Name):
            return self.slot_of.setdefault(operand.name, len(self.slot_of))
        number = self.slot_of.setdefault(f"{of}{operand!r}{getattr(operand, 'dtype', '')}", len(self.slot_of))
        self.built.constants[number] = operand
        return number

    def root(self, operand: Any) -> int | None:
        """Return the region of a pointer, if it is known."""
        return (
            self.roots.get(operand.name)
            if isinstance(operand, Name)
            else (int(operand) // SPAN - 1 if operand else None)
        )

    # blocks
    def _blocks(self) -> None:
        text = self.reader.blocks(self.function)
        pieces = [piece for label, lines in text.items() for piece in _pieces(label, lines)]
        numbers = {label: number for number, (label, _) in enumerate(pieces)}
        ends = {label.partition("+")[0]: number for label, number in numbers.items()}
        for number, (label, lines) in enumerate(pieces):
            block = Block(label, waits="+" in label, line=lines[0].line if lines else 0)
            self.built.blocks.append(block)
            self._fill(block, lines, numbers, ends)
            if number + 1 < len(pieces) and "+" in pieces[number + 1][0] and not _ends(lines):
                block.targets = (number + 1,)
            _discount(block, lines, self.slot_of)

    def _fill(
        self, block: Block, lines: Sequence[Instruction], numbers: Mapping[str, int], ends: Mapping[str, int]
    ) -> None:
        for line in lines:
            self.reader.line = line.line
            if line.opcode == "phi":
                sources = {
                    ends[label]: self.slot(value, line.bare[0])
                    for label, value in zip(line.labels, line.operands, strict=True)
                }
                block.phis.append((self.slot(Name(line.result)), sources))
            elif line.opcode in ("br", "switch"):
                block.targets = tuple(numbers[label] for label in line.labels)
                block.condition = self.slot(line.operands[0], line.types[0]) if line.operands else -1
                block.cases = tuple(line.operands[1:])
            elif line.opcode not in ("ret", "unreachable"):
                for operation, counts in self._operations(line):
                    block.operations.append(operation)
                    block.counts.update(counts)

    def _operations(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        called = line.words[-1][1:] if line.opcode == "call" else ""
        method = getattr(self, f"_{line.opcode}", None)
        if called:
            yield from self._call(line, called)
        elif method:
            yield from method(line)
        else:
            counts = operations.counts(line)
            yield self._operation(line, _function(line), _main(counts)), counts

    def _operation(self, line: Instruction, function: Callable[..., Value], kind: str, **more: Any) -> Operation:
        operands = tuple(self.slot(value, of) for value, of in zip(line.operands, line.types, strict=True))
        return Operation(function, operands, self.slot(Name(line.result)) if line.result else -1, kind, **more)

    def _access(self, line: Instruction, pointer: int, nbytes: int, *, write: bool, atomic: bool = False) -> Access:
        root = self.root(line.operands[pointer])
        space = ir.SPACES[line.types[pointer].count]
        if root is not None and root < LOCAL and space == "private":
            space = "constant"
        access = Access(len(self.accesses), line.line, space, write, atomic, nbytes, root)
        self.accesses.append(access)
        return access

    def _getelementptr(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        fixed, terms = ir.walk(line.bare[0], line.operands[1:])
        base = line.operands[0]
        if (region := self.root(base)) is not None:
            self.roots[line.result] = region
        operands = tuple(self.slot(value) for value in (base, *(name for name, _ in terms)))
        if isinstance(base, tuple) or line.types[0].name == "vector":
            raise Unsupported("vectors of pointers are not supported")
        function = _moved(np.int64(fixed), [np.int64(size) for _, size in terms])
        yield Operation(function, operands, self.slot(Name(line.result)), "address"), {"address": 1}

    def _addrspacecast(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        if (region := self.root(line.operands[0])) is not None:
            self.roots[line.result] = region
        yield self._operation(line, lambda a: a, ""), {}

    _freeze = _bitcast_pointer = _addrspacecast

    def _alloca(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        count = int(line.operands[0]) if line.operands else 1
        at = address(PRIVATE) + np.int64(self.built.private_bytes)
        self.built.private_bytes += -(-count * line.bare[0].nbytes // 16) * 16
        self.roots[line.result] = PRIVATE
        yield Operation(lambda: at, (), self.slot(Name(line.result)), ""), {}

    def _load(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        layout = _layout(line.bare[0], line.align)
        access = self._access(line, 0, layout.nbytes, write=False)
        function = lambda machine, at: machine.load(access, layout, at)  # noqa: E731
        yield self._operation(line, function, "load", machine=True, access=access), _memory_counts(access)

    def _store(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        layout = _layout(line.types[0], line.align)
        access = self._access(line, 1, layout.nbytes, write=True)
        function = lambda machine, value, at: machine.store(access, layout, at, value)  # noqa: E731
        yield self._operation(line, function, "store", machine=True, access=access), _memory_counts(access)

    def _atomicrmw(self, line: Instruction) -> Iterator[tuple[Operation, Counts]]:
        raise Unsupported(f"atomicrmw {line.words[0]} is not supported")

    # calls
    def _call(self, line: Instruction, called: str) -> Iterator[tuple[Operation, Counts]]:
        name, codes = operations.demangled(called)
        if name in _NOTHING or name.startswith(
            ("llvm.lifetime", "llvm.assume", "llvm.experimental", "llvm.dbg", "printf")
        ):
            return
        if name in ("barrier", "work_group_barrier"):
            yield Operation(lambda: None, (), -1, ""), {"barrier": 1}
            return
        for pattern, method in _CALLS.items():
            if re.match(pattern, name):
                yield from getattr(self, method)(line, name, codes)
                return
        function = operations.pure(line, called)
        if function is None:
            raise Unsupported(f"{name} is not supported")
        counts = operations.counts(line, called)
        yield self._operation(line, function, _main(counts)), counts

    def _identity(self, line: Instruction, name: str, _: str) -> Iterator[tuple[Operation, Counts]]:
        yield self._operation(line, lambda machine, *d: machine.identity(name, *d), "", machine=True), {}

    def _exchange(self, line: Instruction, name: str, codes: str) -> Iterator[tuple[Operation, Counts]]:
        plain = re.sub(r"^(intel_)?(sub|work)_group_(non_uniform_|clustered_)?", "", name)
        rows = "group" if name.startswith("work") else "wave"
        kind = "ballot" if re.match("ballot|any|all|elect|inverse", plain) else "shuffle"
        is_unsigned = codes[:1] in "htjm"
        function = lambda machine, *values: machine.exchange(plain, rows, values, is_unsigned)  # noqa: E731
        steps = 5 if re.match("reduce|scan", plain) else 1
        yield self._operation(line, function, kind, machine=True), {kind: steps}

    def _vector_access(self, line: Instruction, name: str, _: str) -> Iterator[tuple[Operation, Counts]]:
        """``vload3``, ``vstore_half4_rte`` and their relatives."""
        write, half = name.startswith("vstore"), "_half" in name
        of = line.types[0] if write else line.bare[0]
        stored = Type("half") if half else of.element
        layout = Layout(
            of.width, stored.dtype, of.width * stored.dtype.itemsize, aligned=True, vector=of.name == "vector"
        )
        step = np.int64(
            (4 if "a_half3" in name or ("a_half" in name and of.width == 3) else of.width) * stored.dtype.itemsize
        )
        pointer = 2 if write else 1
        access = self._access(line, pointer, layout.nbytes, write=write)
        wanted = of.element.dtype

        def run(machine: Any, *operands: Value) -> Value:
            at = operands[pointer] + operands[pointer - 1].astype(np.int64) * step
            if write:
                return machine.store(access, layout, at, _cast(operands[0], stored.dtype))
            return _cast(machine.load(access, layout, at), wanted)

        yield (
            self._operation(line, run, "store" if write else "load", machine=True, access=access),
            _memory_counts(access),
        )

    def _two_results(self, line: Instruction, name: str, _: str) -> Iterator[tuple[Operation, Counts]]:
        layout = _layout(line.bare[0], 0)
        access = self._access(line, 1, layout.nbytes, write=True)
        both = operations.TWO_RESULTS[re.sub("^(native|half)_", "", name)]

        def run(machine: Any, value: Value, at: Value) -> Value:
            pairs = [both(part) for part in (value if isinstance(value, tuple) else (value,))]
            first, second = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
            whole = Layout(
                layout.count, second[0].dtype, layout.count * second[0].dtype.itemsize, aligned=True, vector=True
            )
            machine.store(access, whole, at, second)
            return first if isinstance(value, tuple) else first[0]

        counts = operations.counts(line, name)
        yield self._operation(line, run, _main(counts), machine=True, access=access), counts

    def _atomic(self, line: Instruction, name: str, codes: str) -> Iterator[tuple[Operation, Counts]]:
        plain = re.sub(r"^atom(ic)?_(fetch_)?|_explicit$", "", name)
        if plain not in _ATOMICS:
            raise Unsupported(f"{name} is not supported")
        of = line.bare[0] if line.bare[0].name not in ("void", "i1") else line.types[-1]
        of = next((kind for kind in line.types[1:2] if plain in ("store", "init")), of)
        if plain in ("compare_exchange_strong", "compare_exchange_weak"):
            of = line.types[2]
        is_unsigned = bool(re.search(r"[tjm](j|m|12memory|$)", codes)) and of.element.dtype.kind == "i"
        access = self._access(line, 0, of.dtype.itemsize, write=plain != "load", atomic=True)
        function = lambda machine, *values: machine.atomic(access, plain, of.dtype, is_unsigned, values)  # noqa: E731
        yield self._operation(line, function, "atomic", machine=True, access=access), _memory_counts(access)

    def _block_copy(self, line: Instruction, name: str, _: str) -> Iterator[tuple[Operation, Counts]]:
        """``llvm.memcpy`` and ``llvm.memset``."""
        if isinstance(line.operands[2], Name):
            raise Unsupported("copies of variable length are not supported")
        size = int(line.operands[2])
        layout = Layout(size, np.dtype(np.int8), size, aligned=True, vector=True)
        line.operands, line.types = line.operands[:2], line.types[:2]
        target = self._access(line, 0, size, write=True)
        if name.startswith("llvm.memset"):
            function = lambda machine, at, value: machine.store(target, layout, at, (value,) * size)  # noqa: E731
            yield self._operation(line, function, "store", machine=True, access=target), _memory_counts(target)
            return
        source = self._access(line, 1, size, write=False)
        copy = lambda machine, at, there: machine.store(target, layout, at, machine.load(source, layout, there))  # noqa: E731
        counts = Counter(_memory_counts(target)) + Counter(_memory_counts(source))
        yield self._operation(line, copy, "load", machine=True, access=source), counts


_NOTHING = frozenset(
    "mem_fence read_mem_fence write_mem_fence atomic_work_item_fence sub_group_barrier prefetch".split()
)
_CALLS = {
    r"get_": "_identity",
    r"(intel_)?sub_group_|work_group_(all|any|broadcast|reduce|scan)": "_exchange",
    r"vloada?(\d|_half)|vstorea?(\d|_half)": "_vector_access",
    r"((native|half)_)?(fract|modf|sincos|frexp)$": "_two_results",
    r"atom": "_atomic",
    r"llvm\.mem(cpy|move|set)": "_block_copy",
}
_ATOMICS = frozenset(
    "add sub inc dec min max and or xor xchg exchange cmpxchg load store init compare_exchange_strong "
    "compare_exchange_weak".split()
)
_COLLECTIVE = re.compile(r"(work_group_)?barrier$|work_group_(all|any|broadcast|reduce|scan)")


@dataclass(frozen=True)
class Layout:
    """How a value lies in memory."""

    count: int
    dtype: np.dtype[Any]
    nbytes: int
    aligned: bool
    """Whether each element is at a multiple of its size."""
    vector: bool


def _layout(of: Type, align: int) -> Layout:
    if of.name not in ("vector",) and of.parts:
        raise Unsupported("loads and stores of whole structs are not supported")
    dtype = np.dtype(np.int8) if of.element.bits == 1 else of.element.dtype
    return Layout(of.width, dtype, of.width * dtype.itemsize, not 0 < align < dtype.itemsize, of.name == "vector")


def _cast(value: Value, dtype: np.dtype[Any]) -> Value:
    return tuple(part.astype(dtype) for part in value) if isinstance(value, tuple) else value.astype(dtype)


def next_local(offset: int, nbytes: int) -> int:
    """Return where the next array in local memory may begin."""
    return -(-(offset + nbytes) // _APART) * _APART + _APART


def _dtype(text: str, of: Type) -> np.dtype[Any]:
    """Return the NumPy type of ``uint``, ``float*`` or ``unsigned int *``."""
    if of.name != "ptr":
        return operations.unsigned(np.zeros(1, of.element.dtype)).dtype if text[0] == "u" else of.element.dtype
    found = re.match(r"u?(char|short|int|long|half|float|double)\b", text)
    if not found:
        return np.dtype(np.uint8)
    names = {"char": "i1", "short": "i2", "int": "i4", "long": "i8", "half": "f2", "float": "f4", "double": "f8"}
    return np.dtype(names[found[1]].replace("i", "u" if text[0] == "u" else "i"))


def _pieces(label: str, lines: Sequence[Instruction]) -> Iterator[tuple[str, list[Instruction]]]:
    """Split a block where work-items wait: after barriers, and before functions of whole groups."""
    part: list[Instruction] = []
    number = 0
    for line in lines:
        name = operations.demangled(line.words[-1][1:])[0] if line.opcode == "call" else ""
        if _COLLECTIVE.match(name):
            yield f"{label}+{number}" if number else label, part
            number, part = number + 1, []
        part.append(line)
    yield f"{label}+{number}" if number else label, part


def _ends(lines: Sequence[Instruction]) -> bool:
    return bool(lines) and lines[-1].opcode in ("br", "switch", "ret", "unreachable")


def _function(line: Instruction) -> Callable[..., Value]:
    of = (line.bare or line.types)[0]
    kind = line.types[0] if line.types else of
    if line.opcode in (
        "extractelement",
        "insertelement",
        "shufflevector",
        "extractvalue",
        "insertvalue",
        "select",
        "bitcast",
    ):
        return _rearranged(line, of, kind)
    if line.opcode in ("icmp", "fcmp"):
        function = operations.comparison(line.opcode, line.words[-1])
    elif line.opcode in ("ptrtoint", "inttoptr"):
        return lambda a: a
    elif line.opcode in operations.BINARY:
        function = operations.narrowing(line.opcode, of.element)
    elif "to" in line.words:
        function = operations.converted(line.opcode, kind.element, of.element)
    else:
        raise Unsupported(f"{line.opcode} is not supported")
    return operations.elementwise(function) if kind.name == "vector" else function


def _rearranged(line: Instruction, of: Type, kind: Type) -> Callable[..., Value]:
    if line.opcode == "select":
        return operations.chosen
    if line.opcode == "bitcast":
        return _bits(kind, of)
    if line.opcode == "shufflevector":
        picks = [int(pick) for pick in line.operands.pop()]
        line.types.pop()
        return lambda a, b: tuple((*a, *b)[pick] for pick in picks)
    if line.opcode == "extractvalue":
        path = [int(number) for number in line.operands[1:]]
        del line.operands[1:], line.types[1:]
        return lambda a: _at(a, path)
    if line.opcode == "insertvalue":
        path = [int(number) for number in line.operands[2:]]
        del line.operands[2:], line.types[2:]
        return lambda a, b: _with(a, path, b)
    return _element if line.opcode == "extractelement" else _inserted


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


def _bits(source: Type, target: Type) -> Callable[..., Value]:
    """Return the function of ``bitcast``."""
    if source.width == target.width:
        view = lambda a: a.view(target.element.dtype)  # noqa: E731
        return (
            operations.elementwise(view)
            if source.name == "vector" and source.width > 1
            else lambda a: _single(a, view, target)
        )

    def cast(value: Value) -> Value:
        listed = np.broadcast_arrays(*value) if isinstance(value, tuple) else [value]
        packed = np.ascontiguousarray(np.stack(listed, axis=-1)).view(target.element.dtype)
        columns = tuple(packed[..., number][()] for number in range(packed.shape[-1]))
        return columns if target.name == "vector" else columns[0]

    return cast


def _single(value: Value, view: Callable[[Value], Value], target: Type) -> Value:
    plain = view(value[0] if isinstance(value, tuple) else value)
    return (plain,) if target.name == "vector" else plain


def _moved(fixed: np.int64, sizes: Sequence[np.int64]) -> Callable[..., Value]:
    """Return the function of ``getelementptr``."""
    if len(sizes) == 1 and not fixed:
        (only,) = sizes
        return lambda base, index: base + index.astype(np.int64, copy=False) * only

    def move(base: Value, *indices: Value) -> Value:
        for index, size in zip(indices, sizes, strict=True):
            base = base + index.astype(np.int64, copy=False) * size
        return base + fixed if fixed else base

    return move


def _main(counts: Counts) -> str:
    """Return the class whose latency an operation has: that of which it needs most."""
    return max(counts, key=lambda name: counts[name]) if counts else ""


def _memory_counts(access: Access) -> dict[str, float]:
    """Return the counted 4-byte accesses; private arrays and arguments are registers or cached."""
    words = max(1.0, access.nbytes / 4)
    if access.space == "local" or access.region == LOCAL:
        return {"local": words}
    return (
        {}
        if access.region is not None
        and access.region != TABLES
        and access.space in ("private", "constant")
        and access.region >= LOCAL
        else {"memory": words}
    )


def _discount(block: Block, lines: Sequence[Instruction], slot_of: Mapping[str, int]) -> None:
    """Count once what one instruction does: logic of three inputs, and a product with its sum."""
    uses = Counter(value.name for line in lines for value in line.operands if isinstance(value, Name))
    makers = {line.result: line for line in lines if line.opcode in ("and", "or", "xor", "mul")}
    del slot_of
    merged: set[str] = set()
    for line in lines:
        kinds = {
            "and": ("and", "or", "xor"),
            "or": ("and", "or", "xor"),
            "xor": ("and", "or", "xor"),
            "add": ("mul",),
        }.get(line.opcode, ())
        if line.types and line.types[0].element.bits == 32:
            for value in line.operands:
                maker = makers.get(value.name) if isinstance(value, Name) else None
                if maker and maker.opcode in kinds and uses[value.name] == 1 and value.name not in merged:
                    merged.add(line.result)
                    block.counts["add" if line.opcode == "add" else "ternary"] -= line.types[0].width
                    break


def _connect(built: Program) -> None:
    """Find which slots each block takes from others, and which it leaves to them."""
    given = {*built.constants, *range(len(built.parameters)), -1}
    writers = [{*(op.result for op in block.operations)} for block in built.blocks]
    for number, block in enumerate(built.blocks):
        read = {slot for op in block.operations for slot in op.operands} | {block.condition}
        read |= {
            sources[number] for target in block.targets for _, sources in built.blocks[target].phis if number in sources
        }
        block.inputs = tuple(sorted(read - writers[number] - given))
    needed = {slot for block in built.blocks for slot in block.inputs}
    for number, block in enumerate(built.blocks):
        block.outputs = tuple(sorted((needed & writers[number]) - {-1}))
