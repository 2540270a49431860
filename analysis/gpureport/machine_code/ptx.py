"""Accesses and control flow from PTX text, which NVIDIA's OpenCL returns as a program's binary. Pure.

Instructions and their parts are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution/. PTX is
virtual: ptxas translates it to the device's own instructions. Memory instructions keep their widths.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpureport.machine_code.instructions import kind_of, patterns, tally
from gpureport.records.measurement import MachineCode

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.DOTALL | re.MULTILINE)
_BODY = re.compile(r"\.(entry|func)\b[^{;]*?([A-Za-z_$%][\w$]*)\s*\([^)]*\)[^{;]*\{")
_BRACE = re.compile(r"[{}]")
_BEFORE = re.compile(r"[\s{}]*(?:([\w$]+)\s*:(?!:))?")
_INSTRUCTION = re.compile(r"(?:@!?\S+\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERAND = re.compile(r"(?:\([^)]*\)|\{[^}]*\}|[^,(){}]+)+")
_VECTOR = re.compile(r"v([248])")
_TYPE = re.compile(r"(?:bf|tf|[usbf])(\d+)(x2)?")
_SPACE = re.compile("(global|shared|local|param|const)(?:::|$)")

_KINDS = patterns({"branch": "br[ax]$", "call": "call$", "exit": "(ret|exit|trap)$", "atomic": "(atom|red)$"})


@dataclass(frozen=True)
class Statement:
    """A label, or an instruction."""

    label: str | None
    parts: tuple[str, ...]
    """The instruction split at its dots: ``("ld", "global", "v4", "u32")``; empty for a label."""
    operands: tuple[str, ...]

    @property
    def space(self) -> str:
        """The state space; generic addresses, which OpenCL C 1.2 lacks, count as global ones."""
        return next((found[1] for part in self.parts if (found := _SPACE.match(part))), "global")

    @property
    def width(self) -> int:
        """Bytes of a load or store, from the last type of the instruction."""
        typed = next((found for part in reversed(self.parts[1:]) if (found := _TYPE.fullmatch(part))), None)
        bits = int(typed[1]) * (2 if typed[2] else 1) if typed else 0
        return bits // 8 * next((int(v[1]) for part in self.parts if (v := _VECTOR.fullmatch(part))), 1)

    @property
    def kind(self) -> str:
        """The class of the instruction; ``label`` for a label."""
        if not self.parts:
            return "label"
        operation = self.parts[0]
        if operation in ("ld", "ldu", "st") and self.space == "global":
            return f"global {'store' if operation == 'st' else 'load'}"
        return kind_of(operation, _KINDS)


def _statements(body: str) -> Iterator[Statement]:
    for chunk in body.split(";"):
        while (before := _BEFORE.match(chunk)) and before.end():
            chunk = chunk[before.end() :]
            if before[1]:
                yield Statement(before[1], (), ())
        if instruction := _INSTRUCTION.match(chunk):
            operands = tuple(filter(None, map(str.strip, _OPERAND.findall(instruction[2]))))
            yield Statement(None, tuple(instruction[1].split(".")), operands)


def read(text: str, kernel: str) -> MachineCode | None:
    """Count the instructions of the ``.entry`` *kernel* of a PTX module; ``None`` if it has no such entry.

    Functions that the kernel calls are listed, not counted.
    """
    body = _body(_NOISE.sub("", text), kernel)
    if body is None:
        return None
    every = list(_statements(body))
    code = [s for s in every if s.parts]
    called = (s.operands for s in code if s.parts[0] == "call")
    calls = tuple(dict.fromkeys(next((each for each in of if each[0] != "("), "") for of in called))
    labels = {s.label: index for index, s in enumerate(every) if s.label}
    jumps = ((index, name) for index, s in enumerate(every) if s.kind == "branch" for name in s.operands)
    return MachineCode(
        form="PTX",
        counts=tally(s.kind for s in code),
        global_loads=tally(s.width for s in code if s.kind == "global load"),
        global_stores=tally(s.width for s in code if s.kind == "global store"),
        loops=any(labels.get(name, index) < index for index, name in jumps),
        calls=calls,
    )


def _body(text: str, kernel: str) -> str | None:
    found = next((match for match in _BODY.finditer(text) if match.groups() == ("entry", kernel)), None)
    if found is None:
        return None
    rest, depth = text[found.end() :], 1
    for brace in _BRACE.finditer(rest):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return rest[: brace.start()]
    return rest
