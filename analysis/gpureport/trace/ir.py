"""A reader of the part of LLVM's assembly language that clang makes of OpenCL C (LLVM Language Reference Manual)."""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from gpureport.errors import InputError

Space = Literal["private", "global", "constant", "local", "generic"]
SPACES: tuple[Space, ...] = ("private", "global", "constant", "local", "generic")
"""By the number of the address space (SPIR)."""
_FLOATS: Mapping[str, DTypeLike] = {"half": np.float16, "float": np.float32, "double": np.float64}
_INTEGERS: Mapping[int, DTypeLike] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_TOKEN = re.compile(
    r'c?"[^"]*"|[%@]"[^"]*"|[%@][\w.$-]+|![\w.]*|#\d+|0x[HKLMR]?[0-9A-F]+|-?\d+(?:\.\d+)?(?:e[+-]\d+)?|[\w.$-]+|[^\s\w]'
)
_TYPE = re.compile(r"i\d+|half|float|double|ptr|void|metadata|target")
_NODE = re.compile(r"^(!\d+) = (?:distinct )?!(.*)$", re.M)
_KERNEL = re.compile(r"^define [^@\n]*\bspir_kernel\b[^@\n]*@([\w.$]+)\(([^\n]*) \{\n(.*?)^\}", re.M | re.S)


class Unsupported(InputError):  # noqa: N818
    """Something in a kernel that cannot be executed; the message has its line and its name."""


@dataclass(frozen=True)
class Type:
    """A scalar (``i32``, ``float``), ``ptr``, ``vector``, ``array``, ``struct`` or ``void``."""

    name: str
    count: int = 1  # of elements; of a pointer: its address space
    parts: "tuple[Type, ...]" = ()
    packed: bool = False

    @property
    def element(self) -> "Type":
        """The type of the elements of a vector or array; of others, the type itself."""
        return self.parts[0] if self.name in ("vector", "array") else self

    @property
    def width(self) -> int:
        """Elements of a vector; 1 for other types."""
        return self.count if self.name == "vector" else 1

    @cached_property
    def bits(self) -> int:
        """Bits of an integer; 0 for other types."""
        return int(self.name[1:]) if re.fullmatch(r"i\d+", self.name) else 0

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of its values; integers of odd widths have the next wider one."""
        if self.name in _FLOATS or self.name == "ptr":
            return np.dtype(_FLOATS.get(self.name, np.int64))
        if not 0 < self.bits <= 64:
            raise Unsupported(f"values of the type {self.name} are not supported")
        return np.dtype(np.bool_ if self.bits == 1 else _INTEGERS[max(8, 1 << (self.bits - 1).bit_length())])

    @cached_property
    def align(self) -> int:
        """Its alignment in bytes."""
        if self.name == "vector":
            return 1 << (self.count * self.element.nbytes - 1).bit_length()
        if self.parts:
            return 1 if self.packed else max(part.align for part in self.parts)
        return self.dtype.itemsize

    @cached_property
    def nbytes(self) -> int:
        """Bytes from one to the next in an array."""
        if self.name == "struct":
            return self.offset(len(self.parts))
        size = self.count * self.element.nbytes if self.parts else self.dtype.itemsize
        return _rounded(size, self.align) if self.name == "vector" else size

    def offset(self, index: int) -> int:
        """Return the byte offset of part *index* of a struct; after the last part: its size."""
        end = 0
        for part in self.parts[:index]:
            end = _rounded(end, 1 if self.packed else part.align) + part.nbytes
        following = self if index == len(self.parts) else self.parts[index]
        return _rounded(end, 1 if self.packed else following.align)


def _rounded(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


@dataclass(frozen=True)
class Name:
    """A value of the function: a parameter or the result of an instruction."""

    name: str


Operand = Any
"""A :class:`Name`, or a constant: a NumPy scalar or a tuple of constants."""


@dataclass
class Instruction:
    """One instruction, as its parts in their order."""

    opcode: str
    line: int = 0
    result: str = ""
    words: list[str] = field(default_factory=list)
    """Flags, predicates, the called function."""
    operands: list[Operand] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    """Of the operands."""
    bare: list[Type] = field(default_factory=list)
    """Types without an operand: of the result, of an allocation, of what ``getelementptr`` walks through."""
    labels: list[str] = field(default_factory=list)
    """Blocks to which a branch leads (``switch``: the default first), or from which a ``phi`` takes its values."""
    align: int = 0


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function: its attributes, and the type of a struct that is passed by value."""

    name: str
    type: Type
    attributes: frozenset[str]
    copied: Type | None


@dataclass(frozen=True)
class Function:
    """A kernel; :meth:`Reader.blocks` reads its body."""

    name: str
    parameters: tuple[Parameter, ...]
    body: str
    notes: Mapping[str, str]
    """Its metadata, such as ``kernel_arg_name``."""


@dataclass(frozen=True)
class Variable:
    """A variable of the program."""

    name: str
    type: Type
    space: Space
    text: str


class Reader:
    """Reads a module. *addresses* of its variables must be known before functions and values are read.

    ``line`` is the source line of what was last read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.addresses: dict[str, int] = {}
        self.line = 0
        self._definitions = dict(re.findall(r"^(%\S+) = type (.*)$", text, re.M))
        self._nodes: dict[str, str] = dict(_NODE.findall(text))
        self._kernels = {name: (head, body) for name, head, body in _KERNEL.findall(text)}
        self._tokens: list[str] = []

    def _start(self, text: str) -> "Reader":
        self._tokens = [*reversed(_TOKEN.findall(text))]
        return self

    @property
    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _take(self, count: int = 1) -> str:
        for _ in range(count - 1):
            self._tokens.pop()
        return self._tokens.pop()

    def _accept(self, *wanted: str) -> bool:
        return self._next in wanted and bool(self._take())

    def _group(self) -> None:
        """Leave a group in parentheses behind."""
        depth = 0
        while True:
            word = self._take()
            depth += (word == "(") - (word == ")")
            if not depth:
                return

    def _attributes(self) -> list[str]:
        """Leave flags and attributes behind."""
        found = []
        while re.match(r"[a-z]", self._next) and not (_TYPE.fullmatch(self._next) or self._next in _CONSTANTS):
            found.append(self._take())
            if found[-1] == "align" and self._next != "(":
                found.append(self._take())
            elif self._next == "(":
                self._group()
        return found

    def _starts_type(self) -> bool:
        word, after = self._next, "".join(self._tokens[-3:-1][::-1])
        if word in ("<", "["):
            return bool(re.match(r"\d+x", after)) or after.startswith("{")
        return bool(_TYPE.fullmatch(word)) or word == "{" or word in self._definitions

    def _type(self) -> Type:
        word = self._take()
        if word == "ptr":
            return Type("ptr", int(self._space()))
        if word == "target":
            raise Unsupported("images, samplers and events are not supported")
        if word in self._definitions:
            return Reader._nested(self, self._definitions[word])
        if word == "{" or self._next == "{":
            packed = self._accept("{")
            parts = []
            while not self._accept("}"):
                parts.append(self._type())
                self._accept(",")
            self._accept(*(">" if packed else ""))
            return Type("struct", 1, tuple(parts), packed)
        if word in ("<", "["):
            count, _, element, _ = int(self._take()), self._take(), self._type(), self._take()
            return Type("vector" if word == "<" else "array", count, (element,))
        return Type(word)

    def _nested(self, text: str) -> Type:
        outer = self._tokens
        kind = self._start(text)._type()
        self._tokens = outer
        return kind

    def _space(self) -> str:
        return (self._take(2), self._take(), self._take())[1] if self._next == "addrspace" else "0"

    def _value(self, of: Type) -> Operand:
        word = self._take()
        if word.startswith("%"):
            return Name(word)
        if word.startswith("@"):
            return np.int64(self.addresses.get(word, 0))
        if word == "splat":
            return (self._take(), (self._value(self._type()),) * of.count, self._take())[1]
        if word in ("undef", "poison", "zeroinitializer", "null"):
            return zero(of)
        if word in ("<", "[", "{"):
            return self._parts(word)
        if word.startswith('c"'):
            return tuple(np.int8(code - 256 if code > 127 else code) for code in _characters(word[2:-1]))
        return self._expression(word) if word in _EXPRESSIONS else _number(word, of)

    def _parts(self, opening: str) -> Operand:
        nested = opening == "<" and self._accept("{")
        parts = []
        while not self._accept("]", "}", ">"):
            parts.append(self._value(self._type()))
            self._accept(",")
        self._accept(*(">" if nested else ""))
        return tuple(parts)

    def _expression(self, operation: str) -> Operand:
        while self._take() != "(":
            pass
        bare, values = [], []
        while not self._accept(")"):
            kind = self._type()
            if self._next in (",", ")"):
                bare.append(kind)
            else:
                values.append(self._value(kind))
            self._accept(",", "to")
        if operation == "getelementptr":
            return np.int64(values[0] + walk(bare[0], values[1:])[0])
        if operation in ("addrspacecast", "inttoptr", "ptrtoint", "bitcast"):
            return values[0]
        raise Unsupported(f"constants that need {operation} are not supported")

    def variables(self, body: str) -> Iterator[Variable]:
        """Yield the variables of the program that *body* names."""
        for name, rest in re.findall(r"^(@\S+) = (.*)$", self.text, re.M):
            if name not in body:
                continue
            head, kind, after = re.split(r"\b(constant|global)\b", rest, maxsplit=1)
            space = re.search(r"addrspace\((\d)\)", head)
            del kind
            yield Variable(name, self._start(after)._type(), SPACES[int(space[1]) if space else 0], after)

    def initial(self, variable: Variable) -> bytes:
        """Return the bytes of a variable."""
        kind = self._start(variable.text)._type()
        return data(kind, zero(kind) if self._next in ("", ",") else self._value(kind))

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels, in the order of the file."""
        return tuple(self._kernels)

    def function(self, name: str) -> Function:
        """Return a kernel."""
        head, body = self._kernels[name]
        notes = dict(re.findall(r"!(\w+) (!\d+)", head))
        self.line = int(self._fields(notes["dbg"])["line"])
        return Function(name, tuple(self._start(head)._parameters()), body, notes)

    def _parameters(self) -> Iterator[Parameter]:
        while not self._accept(")"):
            kind, copied, words = self._type(), None, set()
            while not self._next.startswith("%"):
                words.add(self._take())
                if words >= {"byval"} and copied is None:
                    copied = (self._take(), self._type(), self._take())[1]
                elif self._next == "(":
                    self._group()
            yield Parameter(self._take(), kind, frozenset(words), copied)
            self._accept(",")

    def note(self, node: str) -> list[str]:
        """Return the strings and numbers of a metadata node such as ``!{!"float*", i32 1}``."""
        return [text or number for text, number in re.findall(r'!"([^"]*)"|i32 (\d+)', self._nodes.get(node, ""))]

    def _line(self, node: str) -> int:
        """Return the line of a debug location; 0: not known."""
        fields = self._fields(node)
        while not int(fields["line"]) and "inlinedAt" in fields:
            fields = self._fields(fields["inlinedAt"])
        return int(fields["line"])

    def _fields(self, node: str) -> dict[str, str]:
        return dict(re.findall(r'(\w+): ("[^"]*"|[^,)]+)', self._nodes[node]))

    def blocks(self, function: Function) -> dict[str, list[Instruction]]:
        """Return the instructions of each block of *function*, in its order; the first block is the entry."""
        label = f"%{len(function.parameters)}"
        found: dict[str, list[Instruction]] = {}
        for line in re.sub(
            r"\[\n(.*?)\n  \]", lambda cases: f"[{cases[1]}]".replace("\n", " "), function.body, flags=re.S
        ).split("\n"):
            heading = re.match(r'("[^"]*"|[\w.$-]+):', line)
            if heading:
                label = f"%{heading[1]}"
            elif line.strip() and "#dbg_" not in line:
                found.setdefault(label, []).append(self._instruction(line))
        return found

    def _instruction(self, text: str) -> Instruction:
        debug = re.search(r"!dbg (!\d+)", text)
        self._start(text)
        result = self._take() if self._tokens[-2:-1] == ["="] else ""
        self._accept("=")
        self.line = (self._line(debug[1]) if debug else 0) or self.line
        each = Instruction(self._take(), 0 if text.endswith("!part") else self.line, result)
        while each.opcode in ("tail", "musttail", "notail"):
            each.opcode = self._take()
        while self._next and self._next[0] not in "!#":
            self._part(each)
        return each

    def _part(self, each: Instruction) -> None:
        """Read the next part of an instruction."""
        word = self._next
        if word == "label":
            each.labels.append(self._take(2))
        elif word == "[" and each.opcode == "phi":
            self._take()
            self._operand(each, each.bare[0] if each.bare else each.types[0])
            each.labels.append(self._take(2))
            self._take()
        elif each.opcode in ("call", "invoke") and each.bare and word[0] in "@%":
            each.words.append(self._take())
            self._arguments(each)
        elif word == "asm":
            raise Unsupported("inline assembly is not supported")
        elif self._starts_type():
            kind = self._type()
            self._attributes()
            self._operand(each, kind) if self._is_value(each) else each.bare.append(kind)
        elif word == "align":
            each.align = int(self._take(2))
        elif word in (",", "(", ")", "[", "]"):
            self._group() if word == "(" else self._take()
        elif re.match(r"[a-z]", word) and word not in _CONSTANTS:
            each.words.append(self._take())
        else:
            self._operand(each, each.types[-1] if each.types else Type("i32"))

    def _is_value(self, each: Instruction) -> bool:
        called = each.opcode == "call" and not each.bare
        return not called and self._next not in ("", ",", "(") and each.opcode != "phi" and self._next[0] not in "!#"

    def _operand(self, each: Instruction, kind: Type) -> None:
        each.types.append(kind)
        each.operands.append(self._value(kind))

    def _arguments(self, each: Instruction) -> None:
        self._take()
        while not self._accept(")"):
            kind = self._type()
            if kind.name == "metadata":
                self._take()
            else:
                self._attributes()
                self._operand(each, kind)
            self._accept(",")


_EXPRESSIONS = frozenset("getelementptr inttoptr ptrtoint addrspacecast bitcast sub add".split())
_CONSTANTS = frozenset({*_EXPRESSIONS, *"undef poison zeroinitializer null true false splat asm".split()})


def walk(source: Type, indices: list[Operand]) -> tuple[int, list[tuple[Name, int]]]:
    """Return the fixed bytes of ``getelementptr``, and its variable indices with the bytes of their elements."""
    fixed, terms, kind = 0, [], Type("array", 0, (source,))
    for index in indices:
        if kind.name == "struct":
            fixed += kind.offset(int(index))
            kind = kind.parts[int(index)]
            continue
        kind = kind.element
        if isinstance(index, Name):
            terms.append((index, kind.nbytes))
        else:
            fixed += int(index) * kind.nbytes
    return fixed, terms


def zero(of: Type) -> Operand:
    """Return the zero of a type."""
    if of.name in ("vector", "array"):
        return (zero(of.element),) * of.count
    return tuple(map(zero, of.parts)) if of.name == "struct" else of.dtype.type(0)


def data(of: Type, value: Operand) -> bytes:
    """Return the bytes of a constant in memory."""
    if of.name in ("vector", "array"):
        return b"".join(data(of.element, part) for part in value).ljust(of.nbytes, b"\0")
    if of.name != "struct":
        return bytes(value.tobytes())
    whole = bytearray(of.nbytes)
    for number, (part, inner) in enumerate(zip(of.parts, value, strict=True)):
        whole[of.offset(number) : of.offset(number) + part.nbytes] = data(part, inner)
    return bytes(whole)


def _characters(text: str) -> Iterator[int]:
    for escaped, plain in re.findall(r"\\([0-9A-F]{2})|(.)", text, re.S):
        yield int(escaped, 16) if escaped else ord(plain)


def _number(word: str, of: Type) -> Operand:
    if word in ("true", "false"):
        return np.bool_(word == "true")
    if word.startswith("0x"):
        packed = struct.pack("<H", int(word[3:], 16)) if word[2] == "H" else struct.pack("<Q", int(word[2:], 16))
        return of.dtype.type(np.frombuffer(packed, np.float16 if word[2] == "H" else np.float64)[0])
    return of.dtype.type(float(word) if of.name in _FLOATS else _wrapped(int(word), of))


def _wrapped(number: int, of: Type) -> int:
    return number if of.bits == 1 else (number + (1 << of.bits - 1)) % (1 << of.bits) - (1 << of.bits - 1)
