"""Instruction counts from PTX text, which NVIDIA's OpenCL returns as a program's binary. Pure.

Instructions and their parts are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution/. PTX is
virtual: ptxas translates it to the device's own instructions, for example a 64-bit addition to two. Memory instructions
keep their widths.
"""

import re
from collections.abc import Iterator, Sequence

from gpureport.machine_code import paths
from gpureport.machine_code.instructions import Instruction, tally
from gpureport.machine_code.ptx_loops import main_loop
from gpureport.machine_code.ptx_statements import Statement, statements
from gpureport.records.measurement import MachineCode

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*", re.DOTALL | re.MULTILINE)
_BODY = re.compile(r"\.(?:entry|func)\b[^{;]*?([A-Za-z_$%][\w$]*)\s*\([^)]*\)[^{;]*\{")
_CALLED = re.compile(r"(?:\([^)]*\)\s*,\s*)?([\w$%]+)")


def read(text: str, kernel: str) -> MachineCode | None:
    """Count the instructions of one kernel.

    Args:
        text: a PTX module with any number of kernels and functions.
        kernel: name of its ``.entry``. Functions that it calls are listed, not counted.

    Returns:
        ``None`` if the module has no such kernel.
    """
    body = _body(_NOISE.sub("", text), kernel)
    if body is None:
        return None
    every = list(statements(body))
    code = [s for s in every if s.parts]
    calls = tuple(dict.fromkeys(_called(s) for s in code if s.parts[0] == "call"))
    flow = list(_instructions(every))
    moved = None if calls or any(s.parts[0] == "brx" for s in code) else paths.moved(flow)
    return MachineCode(
        form="PTX",
        counts=tally(s.kind for s in code),
        global_loads=tally(s.width for s in code if s.kind == "global load"),
        global_stores=tally(s.width for s in code if s.kind == "global store"),
        loops=any(one.target is not None and one.target < one.address for one in flow),
        loop=None if calls else main_loop(every, flow),
        calls=calls,
        loaded_bytes=moved.loads if moved else None,
        stored_bytes=moved.stores if moved else None,
    )


def _body(text: str, kernel: str) -> str | None:
    """Return the text between the braces of a kernel's definition."""
    found = (match for match in _BODY.finditer(text) if match[1] == kernel and match[0].startswith(".entry"))
    match = next(found, None)
    if match is None:
        return None
    depth = 1
    for brace in re.finditer(r"[{}]", text[match.end() :]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[match.end() : match.end() + brace.start()]
    return text[match.end() :]


def _instructions(every: Sequence[Statement]) -> Iterator[Instruction]:
    """Yield two instructions a statement: a branch around it if it is predicated, and its access or branch."""
    labels = {s.label: 2 * index for index, s in enumerate(every) if s.label}
    for index, statement in enumerate(every):
        kind, address = statement.kind, 2 * index
        branches, named = kind == "branch", re.findall(r"[\w$]+", statement.operands)
        yield Instruction(address, "guard", target=address + 2 if statement.guard and not branches else None)
        yield Instruction(
            address + 1,
            kind,
            loads=(statement.width,) if kind == "global load" else (),
            stores=(statement.width,) if kind == "global store" else (),
            target=next((labels[name] for name in named if branches and name in labels), None),
            falls=kind != "exit" and (not branches or bool(statement.guard)),
        )
    yield Instruction(2 * len(every), "end", falls=False)


def _called(statement: Statement) -> str:
    match = _CALLED.match(statement.operands)
    return match[1] if match else statement.operands
