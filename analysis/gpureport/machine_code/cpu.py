"""CPU instructions of a kernel in PoCL's code for one work-group size, classified by capstone's text. Pure."""

import io
import re
from collections import Counter
from collections.abc import Callable, Sequence

import capstone
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Symbol, SymbolTableSection

from gpureport.inputs import shipped_table
from gpureport.machine_code.code_object import DAMAGED
from gpureport.machine_code.instructions import Instruction, innermost, tally
from gpureport.records.measurement import MachineCode

Decoder = Callable[[int, str, str], Instruction | None]
"""Returns the instruction for an address, and a mnemonic and operands from capstone; ``None``: padding."""
_CLASSES = shipped_table("instructions", dict[str, dict[str, re.Pattern[str]]])
_TARGET = re.compile(r"(?:^|#)(0x[0-9a-f]+|\d+)$")


def _kind(table: str, name: str) -> str:
    """Return the class of the instruction with this *name* in a table."""
    return next((kind for kind, pattern in _CLASSES[table].items() if pattern.match(name)), "other")


def _control(address: int, kind: str, operands: str) -> Instruction | None:
    if kind in ("padding", "exit"):
        return Instruction(address, kind, falls=False) if kind == "exit" else None
    target = int(found[1], 0) if (found := _TARGET.search(operands)) else None
    if kind == "call":
        return Instruction(address, kind, callee=target)
    return Instruction(address, "branch", target=target, falls=kind == "branch")


_X86_MEMORY = re.compile(r"(\w+) ptr (?:\w+:)?\[([^\]]*)\](?:\{(1to\d+)\})?")
_X86_WIDTHS = {"byte": 1, "word": 2, "dword": 4, "qword": 8, "xmmword": 16, "ymmword": 32, "zmmword": 64}
_X86_VECTOR = re.compile(r"\b[xyz]mm\d+")
_X86_NOT_DATA = re.compile(r"\br(?:sp|bp|ip)\b")
_BROADCAST_OR_WIDEN = re.compile(r"v?p?broadcast|v?pmov[sz]x|vpmovu?s?[qdw][bwd]$")


def decode_x86(address: int, mnemonic: str, operands: str) -> Instruction | None:
    """Classify one x86-64 instruction in Intel's syntax.

    Addresses relative to ``rsp`` or ``rbp`` are on the stack, those relative to ``rip`` are constants. A broadcast
    reads one element.
    """
    *prefixes, name = mnemonic.split()
    if (control := _kind("x86 control", name)) != "other":
        return _control(address, control, operands)
    table = "x86 with vectors" if _X86_VECTOR.search(operands) else "x86 without vectors"
    kind = "other" if "lock" in prefixes else _kind(table, name)
    return Instruction(address, kind, *_x86_accesses(name, operands))


def _x86_accesses(name: str, operands: str) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    memory = _X86_MEMORY.search(operands)
    if memory is None or name in ("lea", "push", "pop") or _X86_NOT_DATA.search(memory[2]):
        return (), (), False
    width = (_X86_WIDTHS.get(memory[1], 0),)
    lanes = bool(_X86_VECTOR.search(memory[2]) or memory[3] or _BROADCAST_OR_WIDEN.match(name))
    if memory.start() > 0 or (first := _kind("x86 first operand", name)) == "read":
        return width, (), lanes
    return (() if first == "written" else width), width, lanes


_LANES = re.compile(r"\b[vz]\d+\.\d*[bhsdq]")
_REGISTER = re.compile(r"[bhsdqxw](?=\d|zr)")
_REGISTER_BYTES = {"b": 1, "h": 2, "s": 4, "d": 8, "q": 16, "x": 8, "w": 4}
_ARRANGEMENT = re.compile(r"[vz]\d+\.(\d*)([bhsdq])")
_ARM_MEMORY = re.compile(r"(.*)\[(.*)")
_ARM_STACK = re.compile(r"(?:sp|x29|fp)\b")
_ARM_NARROW = re.compile(r"(?:ldu?r|stu?r|ldtr|sttr|ldar|stlr|ldp)s?([bhw])$")


def decode_aarch64(address: int, mnemonic: str, operands: str) -> Instruction | None:
    """Classify one AArch64 instruction. Addresses relative to ``sp`` or the frame pointer ``x29`` are on the stack."""
    if (control := _kind("aarch64 control", mnemonic)) != "other":
        return _control(address, control, operands)
    memory, access = _ARM_MEMORY.match(operands), _kind("aarch64 accesses", mnemonic)
    if memory and access != "other":
        return _arm_access(address, access, mnemonic, *memory.groups())
    table = "aarch64 with vectors" if _LANES.search(operands) else "aarch64 without vectors"
    return Instruction(address, _kind(table, mnemonic))


def _arm_access(address: int, access: str, mnemonic: str, registers: str, place: str) -> Instruction:
    if _ARM_STACK.match(place):
        return Instruction(address, "other")
    # Behind a lane, its index is in brackets.
    widths, lanes = _widths(mnemonic, registers), bool(_LANES.search(registers)) and "]" not in registers
    loads, stores = (widths, ()) if access == "load" else ((), widths)
    return Instruction(address, "other", loads, stores, lanes)


def _widths(mnemonic: str, registers: str) -> tuple[int, ...]:
    """Return the bytes of each loaded or stored register; of one lane for SVE registers, whose length is unknown."""
    lists = _ARRANGEMENT.findall(registers)
    if lists:
        return tuple(int(number or 1) * _REGISTER_BYTES[kind] for number, kind in lists)
    names = _REGISTER.findall(registers)
    narrow = _ARM_NARROW.match(mnemonic)
    return tuple(_REGISTER_BYTES[narrow[1] if narrow else name] for name in names)


_STUB_BYTES = 16
_RESERVED_BYTES = {"EM_X86_64": 16, "EM_AARCH64": 32}  # before the first stub
_Functions = dict[str, tuple[int, bytes]]
"""Addresses and machine code of defined functions, by name."""


def _functions(file: ELFFile) -> _Functions:
    return {
        symbol.name: (symbol["st_value"], _contents(file, symbol))
        for table in file.iter_sections()
        if isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int) and symbol["st_size"]
    }


def _contents(file: ELFFile, symbol: Symbol) -> bytes:
    section = file.get_section(symbol["st_shndx"])
    start = symbol["st_value"] - section["sh_addr"]
    return section.data()[start : start + symbol["st_size"]]


def _stubs(file: ELFFile) -> dict[int, str]:
    relocations, stubs = file.get_section_by_name(".rela.plt"), file.get_section_by_name(".plt.sec")
    reserved = 0
    if stubs is None:
        stubs, reserved = file.get_section_by_name(".plt"), _RESERVED_BYTES.get(file["e_machine"], 0)
    if stubs is None or not isinstance(relocations, RelocationSection):
        return {}
    symbols = file.get_section(relocations["sh_link"])
    if not isinstance(symbols, SymbolTableSection):
        return {}
    return {
        stubs["sh_addr"] + reserved + _STUB_BYTES * index: symbols.get_symbol(relocation["r_info_sym"]).name
        for index, relocation in enumerate(relocations.iter_relocations())
    }


_DECODERS: dict[str, tuple[str, tuple[int, int], Decoder]] = {
    "EM_X86_64": ("x86-64", (capstone.CS_ARCH_X86, capstone.CS_MODE_64), decode_x86),
    "EM_AARCH64": ("AArch64", (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN), decode_aarch64),
}
"""Instruction sets: name, arguments of capstone, and how its texts are read."""
_VECTOR_MAJORITY = 0.5
_UNKNOWN = "a function"
_SYMBOLS = ("_pocl_kernel_{}_workgroup", "_pocl_kernel_{}", "{}")


def read(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions that run a work-group of one kernel, including those of functions in the library.

    A loop is a vector loop if most of its accesses have 16 bytes or more. In a loop without accesses, the share of
    vector arithmetic decides. ``None`` if *binary*, an ELF file, has no such function or is for an unknown instruction
    set.
    """
    try:
        file = ELFFile(io.BytesIO(binary))
        machine, functions, stubs = file["e_machine"], _functions(file), _stubs(file)
    except DAMAGED:
        return None
    start = next((name for each in _SYMBOLS if (name := each.format(kernel)) in functions), None)
    if start is None or machine not in _DECODERS:
        return None
    return count(_DECODERS[machine][0], *_reachable(machine, functions, stubs, start))


def _reachable(
    machine: str, functions: _Functions, stubs: dict[int, str], start: str
) -> tuple[list[Instruction], tuple[str, ...]]:
    _, arguments, decode = _DECODERS[machine]
    called = stubs | {address: name for name, (address, _) in functions.items()}
    disassembler = capstone.Cs(*arguments)
    bodies: dict[str, list[Instruction]] = {}
    external: dict[str, None] = {}
    pending = [start]
    while pending:
        name = pending.pop()
        if name not in functions:
            external[name] = None
        elif name not in bodies:
            address, code = functions[name]
            lines = disassembler.disasm_lite(code, address)
            bodies[name] = [found for at, _, *text in lines if (found := decode(at, *text))]
            callees = {instruction.callee: None for instruction in bodies[name] if instruction.kind == "call"}
            pending += [called.get(callee, _UNKNOWN) if callee else _UNKNOWN for callee in callees]
    return [instruction for body in bodies.values() for instruction in body], tuple(external)


def count(form: str, code: list[Instruction], calls: tuple[str, ...] = ()) -> MachineCode:
    """Count instructions of the instruction set *form*; *calls* are called functions outside the library."""
    inner = innermost(code)
    shares = [share for loop in inner if (share := _vector_share(loop)) is not None]
    overall = _vector_share([instruction for loop in inner or [code] for instruction in loop])
    return MachineCode(
        form=form,
        counts=tally(instruction.kind for instruction in code),
        global_loads=tally(width for instruction in code for width in instruction.loads),
        global_stores=tally(width for instruction in code for width in instruction.stores),
        calls=calls,
        vectorised=None if overall is None else overall >= _VECTOR_MAJORITY,
        vector_loops=sum(share >= _VECTOR_MAJORITY for share in shares),
        scalar_loops=sum(share < _VECTOR_MAJORITY for share in shares),
    )


def _vector_share(code: Sequence[Instruction]) -> float | None:
    """Return the share of vector accesses, or of vector arithmetic if there are none; ``None`` without either."""
    accesses = sum(instruction.accesses for instruction in code)
    if accesses:
        return sum(instruction.vector_accesses for instruction in code) / accesses
    kinds = Counter(instruction.kind for instruction in code)
    vector, scalar = kinds["vector arithmetic"], kinds["scalar"]
    return vector / (vector + scalar) if vector + scalar else None
