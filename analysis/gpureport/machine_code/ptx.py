"""Instruction counts from PTX text, which NVIDIA's OpenCL returns as a program's binary. Pure.

Instructions and their parts are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution/. PTX is
virtual: ptxas translates it to the device's own instructions, for example a 64-bit addition to two. Memory instructions
keep their widths.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpureport.machine_code import paths
from gpureport.machine_code.instructions import Instruction, tally
from gpureport.records.measurement import MachineCode

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.DOTALL | re.MULTILINE)
_BODY = re.compile(r"\.(?:entry|func)\b[^{;]*?([A-Za-z_$%][\w$]*)\s*\([^)]*\)[^{;]*\{")
_BEFORE = re.compile(r"[\s{}]*(?:([\w$]+)\s*:(?!:))?")
_INSTRUCTION = re.compile(r"(@!?\S+\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_CALLED = re.compile(r"(?:\([^)]*\)\s*,\s*)?([\w$%]+)")
_VECTOR = re.compile(r"v([248])")
_TYPE = re.compile(r"(?:bf|tf|[usbf])(\d+)(x2)?")
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
class _Statement:
    label: str | None
    parts: tuple[str, ...]
    """The instruction split at its dots: ``("ld", "global", "v4", "u32")``; empty for a label."""
    operands: str
    guarded: bool = False
    """Whether it has a predicate."""

    @property
    def type(self) -> str:
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


def read(text: str, kernel: str) -> MachineCode | None:
    """Count the instructions of one kernel.

    Args:
        text: a PTX module with any number of kernels and functions.
        kernel: name of its ``.entry``. Functions that it calls are listed, not counted.

    Returns:
        ``None`` if the module has no such kernel.
    """
    body = _body(_NOISE.sub("", text), kernel)
    if body is None:
        return None
    statements = list(_statements(body))
    code = [s for s in statements if s.parts]
    calls = tuple(dict.fromkeys(_called(s) for s in code if s.parts[0] == "call"))
    flow = list(_instructions(statements))
    moved = None if calls or any(s.parts[0] == "brx" for s in code) else paths.moved(flow)
    return MachineCode(
        form="PTX",
        counts=tally(map(_kind, code)),
        global_loads=tally(s.width for s in code if _kind(s) == "global load"),
        global_stores=tally(s.width for s in code if _kind(s) == "global store"),
        loops=any(one.target is not None and one.target < one.address for one in flow),
        calls=calls,
        loaded_bytes=moved.loads if moved else None,
        stored_bytes=moved.stores if moved else None,
    )


def _body(text: str, kernel: str) -> str | None:
    """Return the text between the braces of a kernel's definition."""
    found = (match for match in _BODY.finditer(text) if match[1] == kernel and match[0].startswith(".entry"))
    match = next(found, None)
    if match is None:
        return None
    depth = 1
    for brace in re.finditer(r"[{}]", text[match.end() :]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[match.end() : match.end() + brace.start()]
    return text[match.end() :]


def _statements(body: str) -> Iterator[_Statement]:
    for chunk in body.split(";"):
        while (before := _BEFORE.match(chunk)) and before.end():
            chunk = chunk[before.end() :]
            if before[1]:
                yield _Statement(before[1], (), "")
        instruction = _INSTRUCTION.match(chunk)
        if instruction:
            yield _Statement(None, tuple(instruction[2].split(".")), instruction[3], bool(instruction[1]))


def _kind(statement: _Statement) -> str:
    operation = statement.parts[0]
    if operation in ("ld", "ldu", "st"):
        access = f"{statement.space} {'store' if operation == 'st' else 'load'}"
        return {"param": "parameter", "const": "constant load"}.get(statement.space, access)
    if operation in _ADD | _MULTIPLY | _DIVIDE:
        return _arithmetic(operation, statement.type)
    return _CLASS.get(operation, "other")


def _arithmetic(operation: str, kind: str) -> str:
    if "f" in kind:
        return "special" if operation in _DIVIDE else f"fp{re.sub(r'[^0-9].*', '', kind.lstrip('bf'))}"
    if operation in _DIVIDE:
        return "int divide"
    return "int multiply" if operation in _MULTIPLY else "int"


def _instructions(statements: list[_Statement]) -> Iterator[Instruction]:
    """Yield two instructions a statement: a branch around it if it is predicated, and its access or branch."""
    labels = {s.label: 2 * index for index, s in enumerate(statements) if s.label}
    for index, statement in enumerate(statements):
        kind, address = _kind(statement) if statement.parts else "label", 2 * index
        branches, named = kind == "branch", re.findall(r"[\w$]+", statement.operands)
        yield Instruction(address, "guard", target=address + 2 if statement.guarded and not branches else None)
        yield Instruction(
            address + 1,
            kind,
            loads=(statement.width,) if kind == "global load" else (),
            stores=(statement.width,) if kind == "global store" else (),
            target=next((labels[name] for name in named if branches and name in labels), None),
            falls=kind != "exit" and (not branches or statement.guarded),
        )
    yield Instruction(2 * len(statements), "end", falls=False)


def _called(statement: _Statement) -> str:
    match = _CALLED.match(statement.operands)
    return match[1] if match else statement.operands
