"""Small ELF files, written by hand: sections, a symbol table of functions, notes."""

import struct

X86_64, AARCH64, AMDGPU, INTEL_GT = 62, 183, 224, 205
TEXT_ADDRESS, STUBS_ADDRESS = 0x1000, 0x800
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOTE = 1, 2, 3, 4, 7


def note(owner: bytes, kind: int, contents: bytes) -> bytes:
    """Return one note."""
    name = owner + b"\0"
    return struct.pack("<III", len(name), len(contents), kind) + _padded(name) + _padded(contents)


def elf(machine: int, functions: dict[str, bytes] | None = None, **sections: bytes) -> bytes:
    """Return a 64-bit little-endian ELF file.

    Args:
        machine: its ``e_machine``.
        functions: machine code by symbol, laid one after the other into ``.text``; the procedure linkage table has a
            stub of 16 bytes for each, in the same order, after another 16.
        sections: contents of further sections, by name without the dot; ``note`` becomes a note section.
    """
    names, symbols, text = b"\0", struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0), b""
    for name, code in (functions or {}).items():
        symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, TEXT_ADDRESS + len(text), len(code))
        names += name.encode() + b"\0"
        text += code
    numbers = range(1, 1 + len(functions or {}))
    relocations = b"".join(struct.pack("<QQq", 0, number << 32 | 7, 0) for number in numbers)
    listed = [
        (".text", _PROGBITS, TEXT_ADDRESS, 0, 0, text),
        (".symtab", _SYMTAB, 0, 3, 24, symbols),
        (".strtab", _STRTAB, 0, 0, 0, names),
        (".rela.plt", _RELA, 0, 2, 24, relocations),
        (".plt", _PROGBITS, STUBS_ADDRESS, 0, 0, bytes(16 + 16 * len(numbers))),
        *((f".{name}", _NOTE if name == "note" else _PROGBITS, 0, 0, 0, data) for name, data in sections.items()),
    ]
    header_names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in listed) + b".shstrtab\0"
    listed.append((".shstrtab", _STRTAB, 0, 0, 0, header_names))
    body, headers = b"", bytes(64)
    for name, kind, address, link, size, data in listed:
        place = header_names.index(b"\0" + name.encode() + b"\0") + 1
        headers += struct.pack("<IIQQQQIIQQ", place, kind, 0, address, 64 + len(body), len(data), link, 0, 4, size)
        body += _padded(data)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    count = len(listed) + 1
    table = 64 + len(body)
    return (
        identity
        + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, table, 0, 64, 0, 0, 64, count, count - 1)
        + body
        + headers
    )


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
