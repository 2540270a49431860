"""What a compiler's log, its binary and the runtime say of a kernel, as data. Pure."""

import re
from collections.abc import Mapping

from gpureport import machine_code
from gpureport.machine_code import Usage
from gpureport.records.measurement import Compilation
from gpureport.workloads.model import Dispatch, Local

MAX_LOG_CHARACTERS = 8000
"""What a report keeps of a log."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame")
_SPILLED = re.compile(r"(\d+) bytes spill stores")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_TEMPORARY = re.compile(r"(?<![^\s'\"])[^\s'\"]*tempfile_\w+\.cl")
_FOLDER = re.compile(r"(?<![\w.])/(?:[^\s:'\"/]+/)+")
_ERROR = re.compile(r"\b(?:error|undefined|unresolved)\b", re.IGNORECASE)


def usage(log: str) -> dict[str, Usage]:
    """Read the ptxas lines that NVIDIA's ``-cl-nv-verbose`` puts into the build log.

    Returns:
        By kernel; empty for a log of another compiler.
    """
    parts = _ENTRY.split(log)[1:]
    return {name: _ptxas(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _ptxas(text: str) -> Usage:
    # A function that the kernel calls has properties of its own, in front of the kernel's: the last count.
    shared = _SHARED.search(text)
    return Usage(
        reported_by="ptxas",
        registers=_last(_REGISTERS, text),
        local_memory_bytes=sum(int(part) for part in shared.groups(default="0")) if shared else 0,
        private_bytes=_last(_STACK, text),
        spill_bytes=_last(_SPILLED, text),
    )


def _last(pattern: re.Pattern[str], text: str) -> int | None:
    counts = pattern.findall(text)
    return int(counts[-1]) if counts else None


def compilation(
    dispatch: Dispatch, options: str, log: str, facts: Mapping[str, int | None], binary: bytes = b""
) -> Compilation:
    """Put together what log, binary and runtime say of a dispatch's kernel, believing them in that order.

    Args:
        dispatch: its local-memory arguments are added to what the kernel itself declares.
        options: build options.
        log: of the build.
        facts: answers to ``clGetKernelWorkGroupInfo`` and ``clGetKernelSubGroupInfo`` by query, named without
            ``CL_KERNEL_`` and the latter without ``_FOR_NDRANGE``.
        binary: the program's, or the library that the kernel runs as; empty: not known.
    """
    arguments = sum(argument.nbytes for argument in dispatch.arguments if isinstance(argument, Local))
    told = usage(log).get(dispatch.kernel) or machine_code.usage(binary, dispatch.kernel) or Usage("runtime")
    fixed = told.local_memory_bytes
    if fixed is None:
        fixed = max(0, (facts.get("LOCAL_MEM_SIZE") or 0) - arguments)
    return Compilation(
        kernel=dispatch.kernel,
        options=options,
        log=log,
        registers_per_work_item=told.registers,
        local_memory_bytes=fixed + arguments,
        private_bytes=facts.get("PRIVATE_MEM_SIZE") if told.private_bytes is None else told.private_bytes,
        spill_bytes=told.spill_bytes,
        wave_size=told.wave_size or facts.get("MAX_SUB_GROUP_SIZE") or facts.get("PREFERRED_WORK_GROUP_SIZE_MULTIPLE"),
        max_work_group=facts.get("WORK_GROUP_SIZE"),
        reported_by=told.reported_by,
        code=machine_code.code(binary, dispatch.kernel),
    )


def tidy(log: str, source: str) -> str:
    """Return *log* without folders of this machine and NULs, and no longer than a report should carry.

    Args:
        log: as the runtime gave it.
        source: name of the file that was built, put in place of a runtime's temporary one.
    """
    named = _TEMPORARY.sub(source, log.replace("\0", "")[: 2 * MAX_LOG_CHARACTERS])
    return _FOLDER.sub("", named).strip()[:MAX_LOG_CHARACTERS]


def first_error(log: str) -> str:
    """Return the line of *log* that says what is wrong (the first line if none does)."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wrong = next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "the log is empty")
    return wrong.removeprefix("error: ")
