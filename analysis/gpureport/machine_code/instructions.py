"""A processor's instructions, reduced to what the evidence needs: what is accessed, how wide, what follows what."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import capstone

VECTOR_BYTES = 16
"""An access of at least so many bytes is one of a vector register."""


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        kind: its class, as counts name it.
        loads: widths in bytes of what it reads from memory, other than from the stack and constants.
        stores: widths in bytes of what it writes to memory, other than to the stack.
        lanes: its access, however narrow, serves the lanes of a vector: gathered, spread, widened.
        target: where it may branch to.
        callee: where the function that it calls begins, if that is known.
        falls: whether control may also go on to the next instruction.
    """

    address: int
    kind: str
    loads: tuple[int, ...] = ()
    stores: tuple[int, ...] = ()
    lanes: bool = False
    target: int | None = None
    callee: int | None = None
    falls: bool = True

    @property
    def accesses(self) -> int:
        """How often it reads or writes data."""
        return len(self.loads) + len(self.stores)

    @property
    def vector_accesses(self) -> int:
        """How many of them are a vector's."""
        return sum(self.lanes or width >= VECTOR_BYTES for width in (*self.loads, *self.stores))


Decoder = Callable[[int, str, str], Instruction | None]
"""Makes an instruction of address, mnemonic and operands as capstone prints them; ``None``: padding."""


def disassemble(machine: str, code: bytes, address: int) -> Iterator[tuple[int, str, str]]:
    """Yield address, mnemonic and operands of each instruction.

    Args:
        machine: ELF's name of the instruction set.
        code: to be disassembled.
        address: of its first byte.
    """
    kinds = {
        "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN),
    }
    decoder = capstone.Cs(*kinds[machine])
    for place, _, mnemonic, operands in decoder.disasm_lite(code, address):
        yield place, mnemonic, operands
