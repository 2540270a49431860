"""The statements of a PTX kernel. Pure.

Instructions and their parts are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution/.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BEFORE = re.compile(r"[\s{}]*(?:([\w$]+)\s*:(?!:))?")
_INSTRUCTION = re.compile(r"(@!?\S+\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_VECTOR = re.compile(r"v([248])")
_TYPE = re.compile(r"(?:bf|tf|[usbf])(\d+)(x2)?")
_GROUP = re.compile(r"\{[^}]*\}")
_REGISTER = re.compile(r"%[A-Za-z]\w*(?:\.[xyz])?")
_SPACES = ("global", "shared", "local", "param", "const")

_CLASSES = {
    "logic": "and or xor not cnot lop3",
    "shift": "shl shr shf bfe bfi",
    "bit": "prmt popc clz brev bfind fns bmsk szext",
    "compare": "set setp selp slct testp",
    "move": "mov cvta isspacep mapa",
    "convert": "cvt",
    "special": "rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "branch": "bra brx",
    "call": "call",
    "exit": "ret exit trap",
    "barrier": "bar barrier",
    "fence": "membar fence",
    "shuffle": "shfl",
    "vote": "vote match activemask redux elect",
    "atomic": "atom red",
    "texture": "tex tld4 suld sust sured",
}
_CLASS = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
_ADD = frozenset(["add", "addc", "sub", "subc", "neg", "abs", "min", "max", "sad", "copysign"])
_MULTIPLY = frozenset(["mul", "mul24", "mad", "madc", "mad24", "fma", "dp4a", "dp2a"])
_DIVIDE = frozenset(["div", "rem"])


@dataclass(frozen=True)
class Statement:
    """A label, or an instruction."""

    label: str | None
    parts: tuple[str, ...]
    """The instruction split at its dots: ``("ld", "global", "v4", "u32")``; empty for a label."""
    operands: str
    guard: str = ""
    """Its predicate: ``@%p1``, ``@!%p1``."""

    @property
    def type(self) -> str:
        """The last type of the instruction: ``u32``; empty if it has none."""
        return next((part for part in reversed(self.parts[1:]) if _TYPE.fullmatch(part)), "")

    @property
    def space(self) -> str:
        """The state space; generic addresses, which OpenCL C 1.2 lacks, count as global ones."""
        return next((space for part in self.parts for space in _SPACES if part.split("::")[0] == space), "global")

    @property
    def width(self) -> int:
        """Bytes of a load or store."""
        typed = _TYPE.fullmatch(self.type)
        bits = int(typed[1]) * (2 if typed[2] else 1) if typed else 0
        return bits // 8 * next((int(v[1]) for part in self.parts if (v := _VECTOR.fullmatch(part))), 1)

    @property
    def kind(self) -> str:
        """The class of the instruction; ``label`` for a label."""
        if not self.parts:
            return "label"
        operation = self.parts[0]
        if operation in ("ld", "ldu", "st"):
            access = f"{self.space} {'store' if operation == 'st' else 'load'}"
            return {"param": "parameter", "const": "constant load"}.get(self.space, access)
        if operation in _ADD | _MULTIPLY | _DIVIDE:
            return _arithmetic(operation, self.type)
        return _CLASS.get(operation, "other")

    @property
    def registers(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The registers that it writes, and those that it reads."""
        first, _, others = _GROUP.sub(lambda match: match[0].replace(",", " "), self.operands).partition(",")
        named, read = _REGISTER.findall(first), _REGISTER.findall(others)
        if self.kind in ("branch", "barrier", "exit") or "[" in first:
            return (), (*named, *read)
        return tuple(named), tuple(read)


def statements(body: str) -> Iterator[Statement]:
    """Yield the labels and instructions between the braces of a kernel, in order."""
    for chunk in body.split(";"):
        while (before := _BEFORE.match(chunk)) and before.end():
            chunk = chunk[before.end() :]
            if before[1]:
                yield Statement(before[1], (), "")
        instruction = _INSTRUCTION.match(chunk)
        if instruction:
            yield Statement(None, tuple(instruction[2].split(".")), instruction[3], (instruction[1] or "").strip())


def _arithmetic(operation: str, kind: str) -> str:
    if "f" in kind:
        return "special" if operation in _DIVIDE else f"fp{re.sub(r'[^0-9].*', '', kind.lstrip('bf'))}"
    if operation in _DIVIDE:
        return "int divide"
    return "int multiply" if operation in _MULTIPLY else "int"
