"""Functions and notes of ELF files. Pure: bytes in, records out."""

import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import NoteSection, Symbol, SymbolTableSection

_DAMAGED = (ELFError, ValueError, TypeError, KeyError, AttributeError)  # pyelftools raises these for damaged files

_STUB_BYTES = 16
_RESERVED_BYTES = {"EM_X86_64": 16, "EM_AARCH64": 32}  # before the first stub


@dataclass(frozen=True)
class Function:
    """A function's machine code, and the address of its first byte."""

    address: int
    code: bytes


@dataclass(frozen=True)
class Library:
    """The functions of an ELF file."""

    machine: str  # ELF's name of the instruction set, e.g. ``EM_X86_64``
    functions: dict[str, Function]  # defined functions, by name
    callees: dict[int, str]  # names of functions by call target: their own address, or that of their stub


def library(binary: bytes) -> Library | None:
    """Return the functions of an ELF file; ``None`` if it is damaged or not an ELF file."""
    try:
        file = ELFFile(io.BytesIO(binary))
        functions = _functions(file)
        by_address = {function.address: name for name, function in functions.items()}
        return Library(file["e_machine"], functions, _stubs(file) | by_address)
    except _DAMAGED:
        return None


def _functions(file: ELFFile) -> dict[str, Function]:
    return {
        symbol.name: Function(symbol["st_value"], _contents(file, symbol))
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


def section(binary: bytes, name: str) -> bytes:
    """Return the contents of the ELF file's section called *name*; empty if there is none."""
    try:
        found = ELFFile(io.BytesIO(binary)).get_section_by_name(name)
        return found.data() if found else b""
    except _DAMAGED:
        return b""


def notes(binary: bytes, owner: str, kind: int) -> Iterator[bytes]:
    """Yield the contents of the ELF file's notes with this *owner* and type."""
    with suppress(*_DAMAGED):
        for section in ELFFile(io.BytesIO(binary)).iter_sections():
            for note in section.iter_notes() if isinstance(section, NoteSection) else ():
                if note["n_name"] == owner and str(note["n_type"]) == str(kind):
                    yield note["n_descdata"]
