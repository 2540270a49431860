"""Accesses of global memory from PTX text, which NVIDIA's OpenCL returns as a program's binary. Pure.

Instructions and their parts are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution/. PTX is
virtual: ptxas translates it to the device's own instructions. Memory instructions keep their widths.
"""

import re
from collections.abc import Sequence

from gpureport.machine_code.instructions import tally
from gpureport.records.measurement import MachineCode

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.DOTALL | re.MULTILINE)
_BODY = re.compile(r"\.(entry|func)\b[^{;]*?([A-Za-z_$%][\w$]*)\s*\([^)]*\)[^{;]*\{")
_ACCESS = re.compile(r"(?<![\w.%$])(ldu?|st)\.([\w.:]+)\s")
_VECTOR = re.compile(r"v([248])")
_TYPE = re.compile(r"(?:bf|tf|[usbf])(\d+)(x2)?")
_SPACE = re.compile("(global|shared|local|param|const)(?:::|$)")


def read(text: str, kernel: str) -> MachineCode | None:
    """Count the accesses of the ``.entry`` *kernel* of a PTX module; ``None`` if it has no such entry.

    Those of functions that the kernel calls are not counted. Generic addresses, which OpenCL C 1.2 lacks, count as
    global ones.
    """
    _, *parts = _BODY.split(_NOISE.sub("", text))
    functions = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    body = next((rest for kind, name, rest in functions if (kind, name) == ("entry", kernel)), None)
    if body is None:
        return None
    every = [(operation == "st", parts.split(".")) for operation, parts in _ACCESS.findall(body)]
    spaces = [next((found[1] for part in parts if (found := _SPACE.match(part))), "global") for _, parts in every]
    of_global = [(is_store, _width(p)) for (is_store, p), space in zip(every, spaces, strict=True) if space == "global"]
    loads, stores = ([width for is_store, width in of_global if is_store is stores] for stores in (False, True))
    counts = {"global load": len(loads), "global store": len(stores)}
    return MachineCode(form="PTX", counts=counts, global_loads=tally(loads), global_stores=tally(stores))


def _width(parts: Sequence[str]) -> int:
    """Return the bytes of a load or store, from the last type of the instruction."""
    typed = next((found for part in reversed(parts) if (found := _TYPE.fullmatch(part))), None)
    bits = int(typed[1]) * (2 if typed[2] else 1) if typed else 0
    return bits // 8 * next((int(v[1]) for part in parts if (v := _VECTOR.fullmatch(part))), 1)
