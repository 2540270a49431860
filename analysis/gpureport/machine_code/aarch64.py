"""AArch64 instructions, classified by their text from capstone. Pure."""

import re

from gpureport.machine_code.instructions import Instruction, control, kind_of, patterns

_SCALAR_FP = re.compile(r"\b[hsd]\d+\b")
_LANES = re.compile(r"\b[vz]\d+\.\d*[bhsdq]")
_REGISTER = re.compile(r"[bhsdqxw](?=\d|zr)")
_REGISTER_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "x": 8, "w": 4}
_TARGET = re.compile(r"#(0x[0-9a-f]+|\d+)$")
_ARRANGEMENT = re.compile(r"[vz]\d+\.(\d*)([bhsdq])")
_ATOMIC = re.compile(r"(?:ldadd|ldclr|ldset|ldeor|ld[su]max|ld[su]min|cas|swp|ldxr|ldaxr|stxr|stlxr|stadd|stclr|stset)")
_WITH_LANES = patterns(
    {
        "vector move": "f?mov|dup|ext$|ins$|[su]mov|zip|uzp|trn|tbl|tbx|rev|mvni?$|bsl|bif|bit$|xtn|[su]xtl|[su]shll",
        "vector arithmetic": "",
    }
)
_SCALAR = patterns(
    {
        "convert": "fcvt|[su]cvtf",
        "move": "(f?mov|mov[zkn]|adrp?|csel|csin[cv]|csneg|cset|[su]xt[whb])$",
        "int": "(adds?|adc|subs?|sbc|neg|mul|madd|msub|mneg|[su]mull|[su]mulh|[su]maddl|[su]div)$",
        "logic": "(ands?|orr|eor|bic|orn|eon|mvn|ls[lr]|asr|ror|[su]bfx|[su]bfm|bfi|bfxil|[su]bfiz|extr)$",
        "bit": "(clz|cls|rbit|rev(16|32)?|cnt)$",
        "compare": "(cmp|cmn|tst|ccmp|ccmn)$",
    }
)


def decode(address: int, mnemonic: str, operands: str) -> Instruction | None:
    """Classify one instruction. Addresses relative to ``sp`` or the frame pointer ``x29`` are on the stack."""
    if mnemonic in ("nop", "udf", "hint", "bti"):
        return None
    if mnemonic in ("ret", "br", "blr", "bl", "b") or mnemonic.startswith(("b.", "cbz", "cbnz", "tbz", "tbnz")):
        text = _TARGET.search(operands)
        kind = {"bl": "call", "blr": "call", "ret": "exit"}.get(mnemonic, "branch")
        return control(address, kind, int(text[1], 0) if text else None, falls=mnemonic not in ("ret", "b", "br"))
    if "[" in operands.partition("[")[1] and mnemonic.startswith(("ld", "st", "prf")):
        return _memory(address, mnemonic, operands)
    kind = kind_of(mnemonic, _WITH_LANES if _LANES.search(operands) else _SCALAR)
    of_floats = kind == "other" and mnemonic.startswith("f") and _SCALAR_FP.search(operands)
    return Instruction(address, "scalar fp" if of_floats else kind)


def _memory(address: int, mnemonic: str, operands: str) -> Instruction:
    registers, _, place = operands.partition("[")
    if _LANES.search(registers):  # a lane index is in brackets, too
        registers, _, place = operands.rpartition("[")
    if _ATOMIC.match(mnemonic):
        return Instruction(address, "atomic")
    if mnemonic.startswith("prf"):
        return Instruction(address, "other")
    if re.match(r"(?:sp|x29|fp)\b", place):
        return Instruction(address, "stack")
    widths, lanes = _widths(mnemonic, registers), bool(_LANES.search(registers)) and "]" not in registers
    loads, stores = (widths, ()) if mnemonic.startswith("ld") else ((), widths)
    return Instruction(address, "move", loads, stores, lanes)


def _widths(mnemonic: str, registers: str) -> tuple[int, ...]:
    """Return the bytes of each loaded or stored register; of one lane for SVE registers, whose length is unknown."""
    lists = _ARRANGEMENT.findall(registers)
    if lists:
        return tuple(int(number or 1) * _REGISTER_BYTES[kind] for number, kind in lists)
    names = _REGISTER.findall(registers)
    narrow = re.fullmatch(r"(?:ldu?r|stu?r|ldtr|sttr|ldar|stlr|ldp)s?([bhw])", mnemonic)
    return tuple(_REGISTER_BYTES[narrow[1] if narrow else name] for name in names)
