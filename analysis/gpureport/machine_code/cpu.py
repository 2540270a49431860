"""CPU instructions of a kernel, in the code that PoCL generates for one work-group size. Pure."""

from collections import Counter
from collections.abc import Sequence

import capstone

from gpureport.machine_code import aarch64, elf, loops, x86
from gpureport.machine_code.instructions import Decoder, Instruction, tally
from gpureport.records.measurement import MachineCode

_DECODERS: dict[str, tuple[str, tuple[int, int], Decoder]] = {
    "EM_X86_64": ("x86-64", (capstone.CS_ARCH_X86, capstone.CS_MODE_64), x86.decode),
    "EM_AARCH64": ("AArch64", (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN), aarch64.decode),
}
"""Instruction sets: name, arguments of capstone, and how its texts are read."""
_SCALAR = ("scalar fp", "int", "logic", "bit")
_VECTOR_MAJORITY = 0.5
_UNKNOWN = "a function"
_SYMBOLS = ("_pocl_kernel_{}_workgroup", "_pocl_kernel_{}", "{}")


def read(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions that run a work-group of one kernel, including those of functions in the library.

    A loop is a vector loop if most of its accesses have 16 bytes or more. In a loop without accesses, the share of
    vector arithmetic decides.

    Returns:
        ``None`` if *binary*, an ELF file, has no such function or is for an unknown instruction set.
    """
    library = elf.library(binary)
    if library is None or library.machine not in _DECODERS:
        return None
    names = (symbol.format(kernel) for symbol in _SYMBOLS)
    start = next((name for name in names if name in library.functions), None)
    if start is None:
        return None
    return count(_DECODERS[library.machine][0], *_reachable(library, start))


def _reachable(library: elf.Library, start: str) -> tuple[list[Instruction], tuple[str, ...]]:
    """Return the instructions of a function and its callees, and the names of callees outside the library."""
    _, arguments, decode = _DECODERS[library.machine]
    disassembler = capstone.Cs(*arguments)
    bodies: dict[str, list[Instruction]] = {}
    external: dict[str, None] = {}
    pending = [start]
    while pending:
        name = pending.pop()
        if name not in library.functions:
            external[name] = None
        elif name not in bodies:
            function = library.functions[name]
            lines = disassembler.disasm_lite(function.code, function.address)
            bodies[name] = [found for at, _, *text in lines if (found := decode(at, *text))]
            callees = {instruction.callee: None for instruction in bodies[name] if instruction.kind == "call"}
            pending += [library.callees.get(callee, _UNKNOWN) if callee else _UNKNOWN for callee in callees]
    return [instruction for body in bodies.values() for instruction in body], tuple(external)


def count(form: str, code: list[Instruction], calls: tuple[str, ...] = ()) -> MachineCode:
    """Count instructions of the instruction set *form*; *calls* are called functions outside the library."""
    inner = loops.innermost(code)
    shares = [share for loop in inner if (share := _vector_share(loop)) is not None]
    overall = _vector_share([instruction for loop in inner or [code] for instruction in loop])
    return MachineCode(
        form=form,
        counts=tally(instruction.kind for instruction in code),
        global_loads=tally(width for instruction in code for width in instruction.loads),
        global_stores=tally(width for instruction in code for width in instruction.stores),
        loops=bool(inner),
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
    vector, scalar = kinds["vector arithmetic"], sum(kinds[kind] for kind in _SCALAR)
    return vector / (vector + scalar) if vector + scalar else None
