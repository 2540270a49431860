"""Resource usage of kernels in the program binaries of AMD and Intel GPUs. Pure.

AMD: the metadata of a code object of version 3 or later, MessagePack in a note, with ``.wavefront_size`` and the
register counts of each kernel (https://llvm.org/docs/AMDGPUUsage.html#code-object-v3-metadata). Intel: the ``.ze_info``
section of a zebin, YAML, with ``simd_size`` and the spilled bytes of a hardware thread
(https://github.com/intel/intel-graphics-compiler, IGC/ZEBinWriter/zebin/spec/zeinfo.md).
"""

import io
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

import msgpack
from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from gpureport.inputs import FileError, parse_yaml
from gpureport.records.measurement import Usage

DAMAGED = (ELFError, ConstructError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""Errors of pyelftools about damaged files."""
_FILE = re.compile(b"\x7fELF")
_AMD_METADATA = ("AMDGPU", "32")  # owner and type of the note
_REGISTER_BYTES = 4
_REPORTED_BY = "code object"


@lru_cache(maxsize=256)
def usage(binary: bytes, kernel: str) -> Usage | None:
    """Return the resource usage of one kernel, by its name in the source, from the binary of an AMD or Intel GPU.

    *binary* is an ELF file, or several concatenated ones (a bundle). ``None`` if it is neither AMD's nor Intel's, or
    has no such kernel.
    """
    for file in _FILE.finditer(binary):
        with suppress(*DAMAGED, msgpack.UnpackException, FileError):
            for section in ELFFile(io.BytesIO(binary[file.start() :])).iter_sections():
                for note in section.iter_notes() if isinstance(section, NoteSection) else ():
                    if (note["n_name"], str(note["n_type"])) == _AMD_METADATA:
                        document = msgpack.unpackb(note["n_descdata"], strict_map_key=False)
                        if found := _entry(document, "amdhsa.kernels", ".name", kernel):
                            return _amd(found)
                if section.name == ".ze_info":
                    document = parse_yaml(section.data().decode(), section.name).data
                    if found := _entry(document, "kernels", "name", kernel):
                        return _intel(found.get("execution_env", {}))
    return None


def _entry(document: object, kernels: str, name: str, kernel: str) -> Mapping[str, object] | None:
    listed = document.get(kernels, ()) if isinstance(document, Mapping) else ()
    return next((entry for entry in listed if isinstance(entry, Mapping) and entry.get(name) == kernel), None)


def _amd(kernel: Mapping[str, object]) -> Usage:
    spilled = _number(kernel, ".vgpr_spill_count")
    return Usage(
        reported_by=_REPORTED_BY,
        registers_per_work_item=_number(kernel, ".vgpr_count"),
        local_memory_bytes=_number(kernel, ".group_segment_fixed_size"),
        private_bytes=_number(kernel, ".private_segment_fixed_size"),
        spill_bytes=None if spilled is None else _REGISTER_BYTES * spilled,
        wave_size=_number(kernel, ".wavefront_size"),
    )


def _intel(environment: object) -> Usage:
    fields = environment if isinstance(environment, Mapping) else {}
    lanes = _number(fields, "simd_size") or 1
    return Usage(
        reported_by=_REPORTED_BY,
        local_memory_bytes=_number(fields, "slm_size") or 0,
        spill_bytes=(_number(fields, "spill_size") or 0) // lanes,
        wave_size=lanes,
    )


def _number(entry: Mapping[str, object], name: str) -> int | None:
    value = entry.get(name)
    return value if type(value) is int and 0 <= value < 1 << 32 else None
