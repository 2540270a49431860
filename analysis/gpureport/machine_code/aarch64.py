"""AArch64 instructions, classified by their text from capstone. Pure."""

import re

from gpureport.machine_code.instructions import Instruction

_LANES = re.compile(r"\b[vz]\d+\.\d*[bhsdq]")
_SCALAR_FP = re.compile(r"\b[hsd]\d+\b")
_REGISTER = re.compile(r"[bhsdqxw](?=\d|zr)")
_REGISTER_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "x": 8, "w": 4}
_ARRANGEMENT = re.compile(r"[vz]\d+\.(\d*)([bhsdq])")
_ATOMIC = re.compile(r"(?:ldadd|ldclr|ldset|ldeor|ld[su]max|ld[su]min|cas|swp|ldxr|ldaxr|stxr|stlxr|stadd|stclr|stset)")
_MOVING = re.compile(r"f?mov|dup|ext$|ins$|[su]mov|zip|uzp|trn|tbl|tbx|rev|mvni?$|bsl|bif|bit$|xtn|[su]xtl|[su]shll")
_KINDS = {
    "int": "add adds adc sub subs sbc neg mul madd msub mneg smull umull smulh umulh smaddl umaddl sdiv udiv",
    "logic": "and ands orr eor bic orn eon mvn lsl lsr asr ror ubfx sbfx ubfm sbfm bfi bfxil ubfiz sbfiz extr",
    "bit": "clz cls rbit rev rev16 rev32 cnt",
    "move": "mov movz movk movn adr adrp csel csinc csinv csneg cset sxtw uxtw sxth uxth sxtb uxtb",
    "compare": "cmp cmn tst ccmp ccmn",
}
_KIND = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def decode(address: int, mnemonic: str, operands: str) -> Instruction | None:
    """Classify one instruction. Addresses relative to ``sp`` or the frame pointer ``x29`` are on the stack."""
    if mnemonic in ("nop", "udf", "hint", "bti"):
        return None
    if mnemonic in ("ret", "br", "blr", "bl", "b") or mnemonic.startswith(("b.", "cbz", "cbnz", "tbz", "tbnz")):
        return _control(address, mnemonic, operands)
    if "[" in operands.partition("[")[1] and mnemonic.startswith(("ld", "st", "prf")):
        return _memory(address, mnemonic, operands)
    return Instruction(address, _kind(mnemonic, operands))


def _control(address: int, mnemonic: str, operands: str) -> Instruction:
    address_text = re.search(r"#(0x[0-9a-f]+|\d+)$", operands)
    target = int(address_text[1], 0) if address_text else None
    if mnemonic in ("bl", "blr"):
        return Instruction(address, "call", callee=target)
    if mnemonic == "ret":
        return Instruction(address, "exit", falls=False)
    return Instruction(address, "branch", target=target, falls=mnemonic not in ("b", "br"))


def _memory(address: int, mnemonic: str, operands: str) -> Instruction:
    registers, _, place = operands.partition("[")
    if _LANES.search(registers):  # a lane index is in brackets, too
        registers, _, place = operands.rpartition("[")
    if _ATOMIC.match(mnemonic):
        return Instruction(address, "atomic")
    if mnemonic.startswith("prf"):
        return Instruction(address, "other")
    kind = "load" if mnemonic.startswith("ld") else "store"
    if re.match(r"(?:sp|x29|fp)\b", place):
        return Instruction(address, "stack")
    widths = _widths(mnemonic, registers)
    lanes = bool(_LANES.search(registers)) and "]" not in registers
    if kind == "load":
        return Instruction(address, "move", loads=widths, lanes=lanes)
    return Instruction(address, "move", stores=widths, lanes=lanes)


def _widths(mnemonic: str, registers: str) -> tuple[int, ...]:
    """Return the bytes of each loaded or stored register; of one lane for SVE registers, whose length is unknown."""
    lists = _ARRANGEMENT.findall(registers)
    if lists:
        return tuple(int(number or 1) * _REGISTER_BYTES[kind] for number, kind in lists)
    names = _REGISTER.findall(registers)
    narrow = re.fullmatch(r"(?:ldu?r|stu?r|ldtr|sttr|ldar|stlr|ldp)s?([bhw])", mnemonic)
    return tuple(_REGISTER_BYTES[narrow[1] if narrow else name] for name in names)


def _kind(mnemonic: str, operands: str) -> str:
    if _LANES.search(operands):
        return "vector move" if _MOVING.match(mnemonic) else "vector arithmetic"
    if mnemonic.startswith(("fcvt", "scvtf", "ucvtf")):
        return "convert"
    if mnemonic.startswith("f") and mnemonic != "fmov" and _SCALAR_FP.search(operands):
        return "scalar fp"
    return _KIND.get(mnemonic, "move" if mnemonic == "fmov" else "other")
