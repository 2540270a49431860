"""x86-64 instructions, classified by their text from capstone (Intel syntax). Pure."""

import re

from gpureport.machine_code.instructions import Instruction

_MEMORY = re.compile(r"(\w+) ptr (?:\w+:)?\[([^\]]*)\](?:\{(1to\d+)\})?")
_WIDTHS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}
_VECTOR = re.compile(r"\b[xyz]mm\d+")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_SCALAR_FP = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|min|max|rcp|rsqrt|u?comi|cmp\w*|round|rndscale|fn?m(?:add|sub)\d+)s[sd]"
)
_MOVING = re.compile(
    r"v?p?(?:mov|lddqu|broadcast|shuf|perm|unpck|pack|insr?|insert|extr|extract|blend|align|gather|scatter|slldq|srldq|"
    r"sldq|maskmov|compress|expand|zero|movnt)"
)
_BROADCAST_OR_WIDEN = re.compile(r"v?p?broadcast|v?pmov[sz]x|vpmovu?s?[qdw][bwd]$")
_READS_FIRST = re.compile(r"cmp|test|bt$|call|jmp|push|i?mul|i?div|v?u?comis|fld|fild|prefetch")
_WRITES_FIRST = re.compile(
    r"v?p?mov|set|v?p?extr|v?p?scatter|v?p?compress|v?p?maskmov|vcvtps2ph|fst|fist|pop|stmxcsr|vstmxcsr"
)
_INTEGER = re.compile(r"(?:add|adc|sub|sbb|inc|dec|neg|i?mul|i?div|mulx)$")
_BITS = re.compile(
    r"(?:and|andn|or|xor|not|sh[lr]|sa[lr]|ro[lr]|sh[lr]d|sh[lr]x|sarx|rorx|bt|bts|btr|btc|bextr|bls\w+|bzhi)$"
)


def decode(address: int, mnemonic: str, operands: str) -> Instruction | None:
    """Classify one instruction.

    Addresses relative to ``rsp`` or ``rbp`` are on the stack, those relative to ``rip`` are constants. A broadcast
    reads one element.
    """
    name = mnemonic.rpartition(" ")[2]
    if name.startswith(("nop", "endbr", "int3", "ud2")):
        return None
    if name.startswith("j") or name in ("call", "ret"):
        return _control(address, name, operands)
    kind = "atomic" if "lock" in mnemonic else _kind(name, operands)
    loads, stores, lanes = _accesses(name, operands)
    return Instruction(address, kind, loads, stores, lanes)


def _control(address: int, name: str, operands: str) -> Instruction:
    target = int(operands, 0) if _NUMBER.fullmatch(operands) else None
    if name == "call":
        return Instruction(address, "call", callee=target)
    if name == "ret":
        return Instruction(address, "exit", falls=False)
    return Instruction(address, "branch", target=target, falls=name != "jmp")


def _kind(name: str, operands: str) -> str:
    if _VECTOR.search(operands):
        if _SCALAR_FP.match(name):
            return "scalar fp"
        if "cvt" in name:
            return "convert"
        return "vector move" if _MOVING.match(name) else "vector arithmetic"
    if name in ("push", "pop"):
        return "stack"
    return _general(name)


def _general(name: str) -> str:
    if _INTEGER.match(name):
        return "int"
    if _BITS.match(name):
        return "logic"
    if name in ("popcnt", "lzcnt", "tzcnt", "bsf", "bsr", "pdep", "pext", "bswap"):
        return "bit"
    if name.startswith(("mov", "lea", "cmov", "xchg", "cdq", "cqo", "vzero")):
        return "move"
    return "compare" if name.startswith(("cmp", "test", "set")) else "other"


def _accesses(name: str, operands: str) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Return the widths of loads and of stores, and whether a narrow access serves all lanes of a vector."""
    memory = _MEMORY.search(operands)
    if memory is None or name in ("lea", "push", "pop") or re.search(r"\br(?:sp|bp|ip)\b", memory[2]):
        return (), (), False
    width = (_WIDTHS.get(memory[1], 0),)
    lanes = bool(_VECTOR.search(memory[2]) or memory[3] or _BROADCAST_OR_WIDEN.match(name))
    if memory.start() > 0 or _READS_FIRST.match(name):
        return width, (), lanes
    return (() if _WRITES_FIRST.match(name) else width), width, lanes
