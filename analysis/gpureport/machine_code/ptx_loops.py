"""The main loop of a PTX kernel: its instructions, its dependent loads, and its number of iterations. Pure."""

import re
from collections.abc import Sequence
from math import ceil

from gpureport.machine_code import loops
from gpureport.machine_code.instructions import Instruction, tally
from gpureport.machine_code.ptx_statements import Statement
from gpureport.records.measurement import LoopCode

_LOAD = "global load"
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")


def main_loop(every: Sequence[Statement], code: Sequence[Instruction]) -> LoopCode | None:
    """Return the innermost loop with the most loads from global memory; ``None`` if no loop loads.

    A compiler that unrolls a loop adds a second one for the remaining iterations, with fewer loads.

    Args:
        every: the statements of a kernel.
        code: the same statements as instructions, statement i at addresses 2 i and 2 i + 1.
    """
    inner = [sorted({one.address // 2 for one in loop}) for loop in loops.innermost(list(code))]
    bodies = [[every[index] for index in loop] for loop in inner]
    body = max(bodies, key=_loads, default=[])
    if not _loads(body):
        return None
    _, following = loops.flow(code)
    single = len(inner) == len(loops.cycles(following)) and all(map(_loads, bodies))
    repeated = {index for loop in inner for index in loop}
    rest = [statement for index, statement in enumerate(every) if index not in repeated]
    return LoopCode(
        counts=tally(each.kind for each in body if each.parts),
        loads=_loads(body),
        rounds=_rounds(body),
        iterations=_iterations(body, every),
        outside=tally(each.kind for each in rest if each.parts) if single else {},
    )


def _loads(body: Sequence[Statement]) -> int:
    return sum(each.kind == _LOAD for each in body)


def _rounds(body: Sequence[Statement]) -> int:
    """Return the length of the longest chain of loads in one pass over *body*, each at an address of the one before."""
    depths: dict[str, int] = {}
    for each in body:
        written, read = each.registers
        depth = max((depths.get(register, 0) for register in read), default=0) + (each.kind == _LOAD)
        depths |= dict.fromkeys(written, depth)
    return max(depths.values(), default=0)


def _iterations(body: Sequence[Statement], every: Sequence[Statement]) -> int | None:
    """Return the number of iterations if a counter starts, grows and ends at constants; else ``None``.

    The counter is compared after it was increased, at the end of an iteration.
    """
    last = body[-1]
    tested = last.guard.lstrip("@!") if last.kind == "branch" else ""
    test = next((each for each in body if each.parts[:1] == ("setp",) and tested in each.registers[0]), None)
    step = test and next((each for each in body if each.parts[:1] == ("add",) and _same(each, test)), None)
    if test is None or step is None:
        return None
    end, by = _number(test), _number(step)
    names = {*step.registers[0], *step.registers[1]}
    starts = [
        each for each in every if each.parts[:1] == ("mov",) and names & {*each.registers[0]} and each not in body
    ]
    start = _number(starts[0]) if len(starts) == 1 else None
    if end is None or by is None or start is None or by == 0:
        return None
    count = (end - start) / by
    return ceil(count) if count >= 1 else None


def _same(step: Statement, test: Statement) -> bool:
    """Return whether *test* compares what *step* increases."""
    return bool({*step.registers[0]} & {*test.registers[1]}) and _number(step) is not None


def _number(statement: Statement) -> int | None:
    """Return the last operand, if it is a whole number."""
    text = statement.operands.rpartition(",")[2].strip()
    return int(text.rstrip("U"), 0) if _NUMBER.fullmatch(text) else None
