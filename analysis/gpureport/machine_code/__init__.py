"""Instruction counts and resource usage of kernels, read from binaries of programs or PoCL's libraries. Pure."""

from functools import lru_cache

from gpureport.machine_code import code_object, cpu, ptx
from gpureport.machine_code.usage import Usage
from gpureport.records.measurement import MachineCode

__all__ = ["Usage", "code", "usage"]

_PTX = b".entry"


@lru_cache(maxsize=256)
def code(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions of one kernel of a program.

    Args:
        binary: PTX text, or an ELF file with CPU machine code.
        kernel: its name in the source.

    Returns:
        ``None`` if the binary has another format or no such kernel.
    """
    if _PTX in binary:
        return ptx.read(binary.decode("utf-8", "replace"), kernel)
    return cpu.read(binary, kernel)


@lru_cache(maxsize=256)
def usage(binary: bytes, kernel: str) -> Usage | None:
    """Return the registers and memory of one kernel from the binary of an AMD or Intel GPU, or ``None``."""
    return code_object.usage(binary, kernel)
