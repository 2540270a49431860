"""x86-64 instructions, classified by their text from capstone (Intel syntax). Pure."""

import re

from gpureport.machine_code.instructions import Instruction, control, kind_of, patterns

_MEMORY = re.compile(r"(\w+) ptr (?:\w+:)?\[([^\]]*)\](?:\{(1to\d+)\})?")
_WIDTHS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}
_VECTOR = re.compile(r"\b[xyz]mm\d+")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_WITH_VECTORS = patterns(
    {
        "scalar fp": r"v?(add|sub|mul|div|sqrt|min|max|rcp|rsqrt|u?comi|cmp\w*|round|rndscale|fn?m(add|sub)\d+)s[sd]",
        "convert": r".*cvt",
        "vector move": r"""v?p?(mov|lddqu|broadcast|shuf|perm|unpck|pack|insr?|insert|extr|extract|blend|align|gather|
            scatter|slldq|srldq|sldq|maskmov|compress|expand|zero|movnt)""",
        "vector arithmetic": "",
    }
)
_WITHOUT = patterns(
    {
        "stack": "(push|pop)$",
        "int": "(add|adc|sub|sbb|inc|dec|neg|i?mul|i?div|mulx)$",
        "logic": r"(and|andn|or|xor|not|(sh|sa|ro)[lr]|sh[lr]d|sh[lr]x|sarx|rorx|bt[src]?|bextr|bls\w+|bzhi)$",
        "bit": "(popcnt|lzcnt|tzcnt|bsf|bsr|pdep|pext|bswap)$",
        "move": "mov|lea|cmov|xchg|cdq|cqo|vzero",
        "compare": "cmp|test|set",
    }
)
_BROADCAST_OR_WIDEN = re.compile(r"v?p?broadcast|v?pmov[sz]x|vpmovu?s?[qdw][bwd]$")
_READS_FIRST = re.compile(r"cmp|test|bt$|call|jmp|push|i?mul|i?div|v?u?comis|fld|fild|prefetch")
_WRITES_FIRST = re.compile(
    r"v?p?mov|set|v?p?extr|v?p?scatter|v?p?compress|v?p?maskmov|vcvtps2ph|fst|fist|pop|stmxcsr|vstmxcsr"
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
        target = int(operands, 0) if _NUMBER.fullmatch(operands) else None
        kind = {"call": "call", "ret": "exit"}.get(name, "branch")
        return control(address, kind, target, falls=name not in ("ret", "jmp"))
    table = _WITH_VECTORS if _VECTOR.search(operands) else _WITHOUT
    kind = "atomic" if "lock" in mnemonic else kind_of(name, table)
    return Instruction(address, kind, *_accesses(name, operands))


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
