"""Functions and notes of ELF files. Pure: bytes in, records out."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

MAGIC = b"\x7fELF"
_BROKEN = (ELFError, ValueError, TypeError, KeyError, AttributeError)  # what pyelftools raises for damaged files


@dataclass(frozen=True)
class Function:
    """A function's machine code.

    Attributes:
        machine: ELF's name of the instruction set, e.g. ``EM_X86_64``.
        address: of its first byte.
    """

    machine: str
    address: int
    code: bytes


def function(binary: bytes, names: tuple[str, ...]) -> Function | None:
    """Return the code of the first of *names* that the ELF file defines; ``None`` if there is none."""
    try:
        file = ELFFile(io.BytesIO(binary))
        defined = _functions(file)
        symbol = next((defined[name] for name in names if name in defined), None)
        if symbol is None:
            return None
        address, size, section = symbol
        start = address - file.get_section(section)["sh_addr"]
        return Function(file["e_machine"], address, file.get_section(section).data()[start : start + size])
    except _BROKEN:
        return None


def _functions(file: ELFFile) -> dict[str, tuple[int, int, int]]:
    """Return address, size and section of each function that is defined."""
    return {
        symbol.name: (symbol["st_value"], symbol["st_size"], symbol["st_shndx"])
        for section in file.iter_sections()
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(symbol["st_shndx"], int) and symbol["st_size"]
    }


def section(binary: bytes, name: str) -> bytes:
    """Return the contents of the ELF file's section of that name; nothing if there is none."""
    try:
        found = ELFFile(io.BytesIO(binary)).get_section_by_name(name)
        return found.data() if found else b""
    except _BROKEN:
        return b""


def notes(binary: bytes, owner: str, kind: int) -> Iterator[bytes]:
    """Yield the contents of the ELF file's notes of one owner and type."""
    try:
        file = ELFFile(io.BytesIO(binary))
        for section in file.iter_sections():
            if isinstance(section, NoteSection):
                for note in section.iter_notes():
                    if note["n_name"] == owner and str(note["n_type"]) == str(kind):
                        yield note["n_descdata"]
    except _BROKEN:
        return
