"""A reader of the part of LLVM's assembly language that clang makes of OpenCL C (LLVM Language Reference Manual)."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike

from gpureport.errors import InputError

Space = Literal["private", "global", "constant", "local", "generic"]
SPACES: tuple[Space, ...] = get_args(Space)
"""By the number of the address space (SPIR)."""
_DTYPES: Mapping[str, DTypeLike] = {"half": "f2", "float": "f4", "double": "f8", "ptr": "i8", "i1": "?"}
_TOKEN = re.compile(
    r'c?"[^"]*"|[%@]"[^"]*"|[%@][\w.$-]+|![\w.]*|#\d+|0x[HKLMR]?[0-9A-Fa-f]+|-?\d+(?:\.\d+)?(?:e[+-]\d+)?'
    r"|[a-z_]+\((?:[^()]|\([^()]*\))*\)|[\w.$-]+|[^\s\w]"
)
"""Words with parentheses right after them, such as ``addrspace(1)``, are one."""
_TYPE = re.compile(r"i\d+|half|float|double|ptr|void|metadata|target\(.*")
_KERNEL = re.compile(r'^define [^@\n]*\bspir_kernel\b[^@\n]*@"?([^"\n(]+)"?\(([^\n]*) \{\n(.*?)^\}', re.M | re.S)
_VARIABLE = re.compile(r"^(@\S+) = .*?(?:addrspace\((\d)\) )?(?:constant|global) (.*)$", re.M)
_CASES = re.compile(r"\[\n(.*?)\n  \]", re.S)
_SAME = ("addrspacecast", "inttoptr", "ptrtoint", "bitcast")
_EMPTY = ("undef", "poison", "zeroinitializer", "null")
_PTX = {
    r"lop3\.b32 \$0, \$1, \$2, \$3, (0x\w+);": r"@lop3(i32 \1, ",
    r"shf\.l\.wrap\.b32 \$0, \$1, \$1, \$2;": "@rotate(",
    r"shfl\.sync\.bfly\.b32 \$0, \$1, \$2, 31, 0xffffffff;": "@sub_group_shuffle_xor(",
    r"{ .reg .pred p; setp\.ne\.s32 p, \$1, 0; vote\.sync\.ballot\.b32 \$0, p, 0xffffffff; }": "@sub_group_ballot(",
}
"""Calls that do what NVIDIA's assembly in kernels does."""
_CONSTANTS = frozenset({*_SAME, *_EMPTY, *"getelementptr sub add true false splat asm".split()})


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
        if self.name not in _DTYPES and not 0 < self.bits <= 64:
            raise Unsupported(f"values of the type {self.name} are not supported")
        return np.dtype(_DTYPES.get(self.name) or f"i{max(1, (1 << (self.bits - 1).bit_length()) // 8)}")

    @cached_property
    def align(self) -> int:
        """Its alignment in bytes."""
        if self.name == "vector" or not self.parts:
            return self.nbytes
        return 1 if self.packed else max(part.align for part in self.parts)

    @cached_property
    def nbytes(self) -> int:
        """Bytes from one to the next in an array."""
        if not self.parts:
            return self.dtype.itemsize
        size = self.offset(len(self.parts) if self.name == "struct" else self.count)
        return 1 << (size - 1).bit_length() if self.name == "vector" else size

    def offset(self, index: int) -> int:
        """Return the byte offset of a part or element; after the last part of a struct: its size."""
        if self.name != "struct":
            return index * self.element.nbytes
        end = 0
        for part in (*self.parts[:index], None):
            align = 1 if self.packed else (part or (*self.parts, self)[index]).align
            end = -(-end // align) * align + (part.nbytes if part else 0)
        return end


Operand = Any
"""The name of a value, as text, or a constant: a NumPy scalar, or an array with a row for each element of a vector."""


@dataclass
class Instruction:
    """One instruction, as its parts in their order."""

    opcode: str
    line: int = 0
    result: str = ""
    words: list[str] = field(default_factory=list)
    """Flags and predicates."""
    operands: list[Operand] = field(default_factory=list)
    types: list[Type] = field(default_factory=list)
    """Of the operands."""
    bare: list[Type] = field(default_factory=list)
    """Types without an operand: of the result, of an allocation, of what ``getelementptr`` walks through."""
    labels: list[str] = field(default_factory=list)
    """Blocks to which a branch leads (``switch``: the default first), or from which a ``phi`` takes its values."""
    align: int = 0
    called: str = ""
    """The function's name; *codes*: of the types of its parameters, if the name is mangled (Itanium C++ ABI)."""
    codes: str = ""

    @property
    def plain(self) -> str:
        """The called function without the marks of its types and precision; otherwise the opcode."""
        name = re.sub(r"(\.[vipf\d]+[\dif]*)+$", "", self.called.removeprefix("llvm."))
        return re.sub(r"^(native|half|fast)_", "", name) or self.opcode

    @property
    def names(self) -> list[str]:
        """Of the operands; empty for constants."""
        return [value if isinstance(value, str) else "" for value in self.operands]

    @property
    def of(self) -> Type:
        """The type that it is about: that of its result, or of its first operand."""
        return (self.bare or self.types)[0]

    @property
    def width(self) -> int:
        """Elements of the result, or of the first operand if that has more."""
        if self.opcode in ("select", "shufflevector"):
            return self.types[-1].width
        return max(kind.width for kind in (*self.bare[:1], *self.types[:1]))


class Words:
    """The words of a piece of code, read in turn; *module* knows its types and the addresses of variables."""

    def __init__(self, module: "Module", text: str) -> None:
        self._module = module
        self._rest: list[str] = _TOKEN.findall(text)[::-1]

    @property
    def _next(self) -> str:
        return self._rest[-1] if self._rest else ""

    def _take(self, count: int = 1) -> str:
        del self._rest[len(self._rest) - count + 1 :]
        return self._rest.pop()

    def _accept(self, *wanted: str) -> bool:
        return self._next in wanted and bool(self._take())

    def _attributes(self) -> Iterator[str]:
        while re.match(r"[a-z]", self._next) and not (_TYPE.fullmatch(self._next) or self._next in _CONSTANTS):
            word = self._take()
            yield f"align {self._take()}" if word == "align" else word

    def typed(self) -> Iterator[tuple[Type, set[str], Operand]]:
        """Read the types of a list up to its end, such as parameters, each with attributes and value, or ``None``."""
        while not self._accept(")"):
            kind, attributes = self.type(), {*self._attributes()}
            yield kind, attributes, None if self._next in (",", ")") else self._value(kind)
            self._accept(",", "to")

    def _starts_type(self) -> bool:
        word, after = self._next, "".join(self._rest[-3:-1][::-1])
        if word in ("<", "["):
            return bool(re.match(r"\d+x", after)) or after.startswith("{")
        return bool(_TYPE.fullmatch(word)) or word == "{" or word in self._module.definitions

    def type(self) -> Type:
        """Read a type."""
        word = self._take()
        if word == "ptr":
            return Type("ptr", int(self._take()[10:-1]) if self._next.startswith("addrspace(") else 0)
        if word.startswith("target("):
            raise Unsupported("images, samplers and events are not supported")
        if word in self._module.definitions:
            return Words(self._module, self._module.definitions[word]).type()
        if word == "{" or self._next == "{":
            packed, parts = self._accept("{"), []
            while not self._accept("}"):
                parts.append(self.type())
                self._accept(",")
            self._accept(*(">" if packed else ""))
            return Type("struct", 1, tuple(parts), packed)
        if word in ("<", "["):
            count, _, element, _ = int(self._take()), self._take(), self.type(), self._take()
            return Type("vector" if word == "<" else "array", count, (element,))
        return Type(word)

    def _value(self, of: Type) -> Operand:
        if self._next[0] in "%!":
            return self._take()
        listed = np.frombuffer(self.constant(of), of.element.dtype)
        return listed[: of.count, None] if of.parts else listed[0]

    def constant(self, of: Type) -> bytes:
        """Read a constant; return its bytes in memory."""
        word = self._take()
        if word in _EMPTY:
            return bytes(of.nbytes)
        if word == "splat":
            _, one, _ = self._take(), self.constant(self.type()), self._take()
            return (one * of.count).ljust(of.nbytes, b"\0")
        if word in ("<", "[", "{"):
            return self._parts(of, packed=word == "<" and self._accept("{"))
        if word.startswith('c"'):
            return _unescaped(word[2:-1])
        if word.startswith("@"):
            return _bytes(self._module.addresses.get(word, 0), of)
        return _bytes(self._expression(word), of) if word in _CONSTANTS - {"true", "false"} else _number(word, of)

    def _parts(self, of: Type, *, packed: bool) -> bytes:
        whole, number = bytearray(of.nbytes), 0
        while not self._accept("]", "}", ">"):
            kind = self.type()
            whole[of.offset(number) : of.offset(number) + kind.nbytes] = self.constant(kind)
            number += 1
            self._accept(",")
        self._accept(*(">" if packed else ""))
        return bytes(whole)

    def _expression(self, operation: str) -> int:
        while self._take() != "(":
            pass
        listed = [*self.typed()]
        if operation != "getelementptr" and operation not in _SAME:
            raise Unsupported(f"constants that need {operation} are not supported")
        base, *indices = (value for _, _, value in listed if value is not None)
        return int(base) + (walk(listed[0][0], indices)[0] if operation == "getelementptr" else 0)

    def instruction(self) -> Instruction:
        """Read an instruction."""
        result = self._take() if self._rest[-2:-1] == ["="] else ""
        self._accept("=")
        each = Instruction(self._take(), result=result)
        while each.opcode in ("tail", "musttail", "notail"):
            each.opcode = self._take()
        while self._next and self._next[0] not in "!#":
            self._part(each)
        return each

    def _part(self, each: Instruction) -> None:
        word = self._next
        if word == "label":
            each.labels.append(self._take(2))
        elif word == "[" and each.opcode == "phi":
            self._take()
            self._operand(each, each.of)
            each.labels.append(self._take(2))
            self._take()
        elif each.opcode == "call" and each.bare and word[0] in "@%":
            each.called, each.codes = _demangled(self._take()[1:])
            self._take()
            for kind, words, value in self.typed():
                each.types.append(kind)
                each.operands.append(value)
                known = [int(word.removeprefix("align ")) for word in words if word.startswith("align ")]
                each.align = min(filter(None, (each.align, *known)), default=0)
        elif word == "asm":
            raise Unsupported("inline assembly is not supported")
        elif self._starts_type():
            kind = self.type()
            deque(self._attributes(), 0)
            is_bare = each.opcode == "phi" or (each.opcode == "call" and not each.bare)
            is_bare = is_bare or self._next in ("", ",", "(") or self._next[0] in "!#"
            each.bare.append(kind) if is_bare else self._operand(each, kind)
        elif word == "align":
            each.align = int(self._take(2))
        elif word in (",", "(", ")", "[", "]"):  # in parentheses: the types of a function's arguments
            deque(self.typed(), 0) if self._accept("(") else self._take()
        elif re.match(r"[a-z]", word) and word not in _CONSTANTS:
            each.words.append(self._take())
        else:
            self._operand(each, each.types[-1])

    def _operand(self, each: Instruction, kind: Type) -> None:
        each.types.append(kind)
        each.operands.append(self._value(kind))


class Module:
    """The code of a compiled file. *addresses* of its variables must be known before instructions are read.

    ``line`` is the source line of what was last read. ``unrolled`` has code of kernels with private arrays for GPUs.
    """

    def __init__(self, path: Path, text: str) -> None:
        for assembly, call in _PTX.items():
            text = re.sub(rf'asm (?:sideeffect )?"{assembly}", "[^"]*"\(', call, text)
        self.path, self.text, self.line, self._file, self._head = path, text, 0, "", 0
        self._lines: dict[str, int] = {}
        self.addresses: dict[str, int] = {}
        self.unrolled: Mapping[str, Module] = {}
        self.definitions = dict(re.findall(r"^(%\S+) = type (.*)$", text, re.M))
        self._nodes: dict[str, str] = dict(re.findall(r"^(!\d+) = (?:distinct )?!(.*)$", text, re.M))
        self.kernels = {_unescaped(name).decode(): found for name, *found in _KERNEL.findall(text)}
        """The parameters with all after them, and the instructions, by name in the order of the file."""

    def variables(self, body: str) -> Iterator[tuple[str, Space, Type, Words]]:
        """Yield name, address space and type of the variables of the program that *body* names, and their contents."""
        for name, space, rest in _VARIABLE.findall(self.text):
            if name in body:
                words = Words(self, rest)
                yield name, SPACES[int(space or 0)], words.type(), words

    def notes(self, kernel: str) -> dict[str, list[str]]:
        """Return the strings and numbers of a kernel's metadata, such as ``!{!"float*", i32 1}``, by its name."""
        nodes = dict(re.findall(r"!(\w+) (!\d+)", self.kernels[kernel][0]))
        fields = self._fields(nodes["dbg"])
        self._file, self._head, self._lines = fields["file"], int(fields["scopeLine"]), {}
        self.line = self._line(nodes["dbg"])
        parts = {key: re.findall(r'!"([^"]*)"|i32 (\d+)', self._nodes[node]) for key, node in nodes.items()}
        return {key: [_unescaped(text).decode() or number for text, number in found] for key, found in parts.items()}

    def _fields(self, node: str) -> dict[str, str]:
        return dict(re.findall(r'(\w+): ("[^"]*"|[^,)]+)', self._nodes[node]))

    def _line(self, node: str) -> int:
        """Return the line of a debug location in the kernel's file, not in an included one; 0: not known.

        Clang calls the code of a kernel from a function of its own, at the line of its brace.
        """
        fields = own = self._fields(node)
        while "inlinedAt" in fields and not (
            int(fields["line"]) and self._fields(fields["scope"])["file"] == self._file
        ):
            fields = self._fields(fields["inlinedAt"])
        line = int(fields["line"])
        return 0 if fields is not own and line == self._head else line

    def blocks(self, kernel: str, first: str) -> dict[str, list[Instruction]]:
        """Return the instructions of each block of a kernel, in its order; the entry has the name *first*."""
        label, found = first, dict[str, list[Instruction]]()
        body = _CASES.sub(lambda cases: f"[{cases[1]}]".replace("\n", " "), self.kernels[kernel][1])
        for text in body.split("\n"):
            heading = re.match(r'("[^"]*"|[\w.$-]+):', text)
            if heading:
                label = f"%{heading[1]}"
            elif text.strip() and "#dbg_" not in text:
                found.setdefault(label, []).append(self._instruction(text))
        return found

    def _instruction(self, text: str) -> Instruction:
        """Read an instruction; a merged one, which has no line, gets the last one of its operands and branches."""
        debug = re.search(r"!dbg (!\d+)", text)
        line = self._line(debug[1]) if debug else 0
        self.line = line or self.line
        each = Words(self, text).instruction()
        last = line or max((self._lines.get(name, 0) for name in (*each.names, *each.labels)), default=0)
        self._lines |= dict.fromkeys(each.labels if each.operands and not each.result else [each.result], last)
        self._lines[""] = 0
        self.line = (debug and last) or self.line
        each.line = 0 if text.endswith("!part") else self.line
        return each


def walk(source: Type, indices: list[Operand]) -> tuple[int, list[tuple[str, int]]]:
    """Return the fixed bytes of ``getelementptr``, and its variable indices with the bytes of their elements."""
    fixed, terms, kind = 0, [], Type("array", 0, (source,))
    for index in indices:
        if isinstance(index, str):
            terms.append((index, kind.element.nbytes))
        else:
            fixed += kind.offset(int(index))
        kind = kind.parts[int(index)] if kind.name == "struct" else kind.element
    return fixed, terms


def _demangled(name: str) -> tuple[str, str]:
    found = re.match(r"_Z(\d+)", name)
    end = found.end() + int(found[1]) if found else len(name)
    return (name[found.end() : end], name[end:]) if found else (name, "")


def _unescaped(text: str) -> bytes:
    code = text.replace(r"\\", r"\5C").encode()  # LLVM escapes a backslash by another one
    return re.sub(rb"\\(..)", lambda byte: bytes.fromhex(byte[1].decode()), code)


def _bytes(number: int, of: Type) -> bytes:
    size = of.dtype.itemsize
    return (number % (1 << 8 * size)).to_bytes(size, "little")


def _number(word: str, of: Type) -> bytes:
    if of.dtype.kind != "f":
        return _bytes(word == "true" if of.bits == 1 else int(word, 0), of)
    if word.startswith("0xH"):
        return _bytes(int(word[3:], 16), of)
    packed = int(word, 16).to_bytes(8, "little") if word.startswith("0x") else np.float64(word).tobytes()
    return np.frombuffer(packed, np.float64).astype(of.dtype).tobytes()
