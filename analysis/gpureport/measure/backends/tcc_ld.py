"""``ld`` for PoCL's kernels, implemented with tcc: ``python tcc_ld.py TCC`` and the arguments that PoCL passes to ld.

It runs once for every kernel, in an interpreter without site-packages, so it imports as little as possible.
"""

import os
import struct
import sys

_GNU_STACK = 0x6474E551
_GNU_RELRO = 0x6474E552
_READ_WRITE = 6


def deny_executable_stack(library: bytearray) -> None:
    """Replace the RELRO header of a 64-bit ELF file, in place, by one for a stack that is not executable.

    tcc writes no ``PT_GNU_STACK``, which means an executable stack; since 2.41 glibc loads no such library into a
    running process (its release notes, January 2025). Without RELRO, only a few tables remain writable.
    """
    (table,) = struct.unpack_from("<Q", library, 32)
    size, number = struct.unpack_from("<HH", library, 54)
    for header in range(table, table + size * number, size):
        if struct.unpack_from("<I", library, header) == (_GNU_RELRO,):
            struct.pack_into("<II", library, header, _GNU_STACK, _READ_WRITE)


def main(tcc: str, *arguments: str) -> int:
    """Link the one object among *arguments* into the one library, and return tcc's exit code."""
    (library,) = (name for name in arguments if name.endswith(".so"))
    (source,) = (name for name in arguments if name.endswith(".o"))
    status = os.spawnv(os.P_WAIT, tcc, [tcc, "-shared", "-nostdlib", "-o", library, source])  # noqa: S606
    if status == 0:
        with open(library, "r+b") as file:  # noqa: PTH123 - pathlib takes longer to import than this to run
            contents = bytearray(file.read())
            deny_executable_stack(contents)
            file.seek(0)
            file.write(contents)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
