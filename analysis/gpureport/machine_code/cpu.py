"""What a processor executes of a kernel: the code that PoCL makes for a size of work-group. Pure."""

from collections import Counter
from collections.abc import Sequence

from gpureport.machine_code import aarch64, elf, loops, x86
from gpureport.machine_code.instructions import Decoder, Instruction, disassemble
from gpureport.records import MachineCode

_DECODERS: dict[str, tuple[str, Decoder]] = {
    "EM_X86_64": ("x86-64", x86.decode),
    "EM_AARCH64": ("AArch64", aarch64.decode),
}
_SCALAR = ("scalar fp", "int", "logic", "bit")
_MOST = 0.5
_SYMBOLS = ("_pocl_kernel_{}_workgroup", "_pocl_kernel_{}", "{}")


def read(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions that run a work-group of one kernel.

    A loop whose accesses are mostly of 16 bytes and more is a vector loop; of a loop that accesses nothing, the
    arithmetic decides.

    Args:
        binary: a shared library or object file (ELF).
        kernel: its name in the source.

    Returns:
        ``None`` if it has no such function, or is for a processor that is not known here.
    """
    function = elf.function(binary, tuple(symbol.format(kernel) for symbol in _SYMBOLS))
    if function is None or function.machine not in _DECODERS:
        return None
    form, decode = _DECODERS[function.machine]
    printed = disassemble(function.machine, function.code, function.address)
    return count(form, [made for one in printed if (made := decode(*one))])


def count(form: str, code: list[Instruction]) -> MachineCode:
    """Count a function's instructions; *form* is what they are called."""
    inner = loops.innermost(code)
    shares = [share for loop in inner if (share := _vector_share(loop)) is not None]
    overall = _vector_share([instruction for loop in inner or [code] for instruction in loop])
    return MachineCode(
        form=form,
        counts=dict(sorted(Counter(instruction.kind for instruction in code).items())),
        global_loads=_widths([width for instruction in code for width in instruction.loads]),
        global_stores=_widths([width for instruction in code for width in instruction.stores]),
        loops=bool(inner),
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
