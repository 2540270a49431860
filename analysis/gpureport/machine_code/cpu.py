"""What a processor executes of a kernel: the code that PoCL makes for a size of work-group. Pure."""

from collections import Counter
from collections.abc import Sequence

from gpureport.machine_code import aarch64, elf, loops, x86
from gpureport.machine_code.instructions import Decoder, Instruction, disassemble
from gpureport.records.measurement import MachineCode

_DECODERS: dict[str, tuple[str, Decoder]] = {
    "EM_X86_64": ("x86-64", x86.decode),
    "EM_AARCH64": ("AArch64", aarch64.decode),
}
_SCALAR = ("scalar fp", "int", "logic", "bit")
_MOST = 0.5
_UNKNOWN = "a function"
_SYMBOLS = ("_pocl_kernel_{}_workgroup", "_pocl_kernel_{}", "{}")


def read(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions that run a work-group of one kernel, those of functions in the library included.

    A loop whose accesses are mostly of 16 bytes and more is a vector loop; of a loop that accesses nothing, the
    arithmetic decides.

    Args:
        binary: a shared library or object file (ELF).
        kernel: its name in the source.

    Returns:
        ``None`` if it has no such function, or is for a processor that is not known here.
    """
    library = elf.library(binary)
    if library is None or library.machine not in _DECODERS:
        return None
    names = (symbol.format(kernel) for symbol in _SYMBOLS)
    start = next((name for name in names if name in library.functions), None)
    if start is None:
        return None
    form, decode = _DECODERS[library.machine]
    bodies, outside = _reached(library, start, decode)
    return count(form, [instruction for body in bodies for instruction in body], outside)


def _reached(library: elf.Library, start: str, decode: Decoder) -> tuple[list[list[Instruction]], tuple[str, ...]]:
    """Return the instructions of a function and of those that it calls, and the names of called ones outside."""
    reached: dict[str, list[Instruction]] = {}
    outside: dict[str, None] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in library.functions:
            outside[name] = None
        elif name not in reached:
            function = library.functions[name]
            printed = disassemble(library.machine, function.code, function.address)
            reached[name] = [made for one in printed if (made := decode(*one))]
            called = {one.callee: None for one in reached[name] if one.kind == "call"}
            waiting += [library.callees.get(callee, _UNKNOWN) if callee else _UNKNOWN for callee in called]
    return list(reached.values()), tuple(outside)


def count(form: str, code: list[Instruction], calls: tuple[str, ...] = ()) -> MachineCode:
    """Count instructions; *form* is what they are called, *calls* are functions whose code is elsewhere."""
    inner = loops.innermost(code)
    shares = [share for loop in inner if (share := _vector_share(loop)) is not None]
    overall = _vector_share([instruction for loop in inner or [code] for instruction in loop])
    return MachineCode(
        form=form,
        counts=dict(sorted(Counter(instruction.kind for instruction in code).items())),
        global_loads=_widths([width for instruction in code for width in instruction.loads]),
        global_stores=_widths([width for instruction in code for width in instruction.stores]),
        loops=bool(inner),
        calls=calls,
        vectorised=None if overall is None else overall >= _MOST,
        vector_loops=sum(share >= _MOST for share in shares),
        scalar_loops=sum(share < _MOST for share in shares),
    )


def _vector_share(code: Sequence[Instruction]) -> float | None:
    """Return which part of the accesses, or else of the arithmetic, is a vector's; ``None`` if there is neither."""
    accesses = sum(instruction.accesses for instruction in code)
    if accesses:
        return sum(instruction.vector_accesses for instruction in code) / accesses
    kinds = Counter(instruction.kind for instruction in code)
    vector, scalar = kinds["vector arithmetic"], sum(kinds[kind] for kind in _SCALAR)
    return vector / (vector + scalar) if vector + scalar else None


def _widths(widths: Sequence[int]) -> dict[int, int]:
    return dict(sorted(Counter(widths).items()))
