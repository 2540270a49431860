"""Instruction counts and resource usage of kernels, read from binaries of programs or PoCL's libraries. Pure."""

from functools import lru_cache

from gpureport.machine_code import ptx
from gpureport.machine_code.code_object import usage
from gpureport.records.measurement import MachineCode

__all__ = ["code", "usage"]


@lru_cache(maxsize=256)
def code(binary: bytes, kernel: str) -> MachineCode | None:
    """Count the instructions of one kernel in PTX text, or in an ELF file with CPU machine code.

    ``None`` if the binary has another format or no such kernel.
    """
    if b".entry" in binary:
        return ptx.read(binary.decode("utf-8", "replace"), kernel)
    from gpureport.machine_code import cpu  # loads a disassembler

    return cpu.read(binary, kernel)
