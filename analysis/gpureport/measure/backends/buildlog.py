"""Compiler log, binary and runtime queries of a kernel, as data. Pure."""

import re
from collections.abc import Mapping

from gpureport import machine_code
from gpureport.machine_code import Usage
from gpureport.records.measurement import Compilation
from gpureport.workloads.model import Dispatch, Local

MAX_LOG_CHARACTERS = 8000
"""Longest log in a report."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_COUNTS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "private_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_bytes": re.compile(r"(\d+) bytes spill stores"),
}
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_TEMPORARY = re.compile(r"(?<![^\s'\"])[^\s'\"]*tempfile_\w+\.cl")
_FOLDER = re.compile(r"(?<![\w.])/(?:[^\s:'\"/]+/)+")
_ERROR = re.compile(r"\b(?:error|undefined|unresolved)\b", re.IGNORECASE)


def usage(log: str) -> dict[str, Usage]:
    """Return each kernel's resource usage from NVIDIA's log (``-cl-nv-verbose``); empty for other compilers' logs."""
    parts = _ENTRY.split(log)[1:]
    return {name: _ptxas(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _ptxas(text: str) -> Usage:
    # The log lists the functions that a kernel calls before the kernel itself: the last count is the kernel's.
    found = {name: pattern.findall(text) for name, pattern in _COUNTS.items()}
    shared = _SHARED.search(text)
    return Usage(
        reported_by="ptxas",
        local_memory_bytes=sum(map(int, shared.groups(default="0"))) if shared else 0,
        **{name: int(counts[-1]) if counts else None for name, counts in found.items()},
    )


def compilation(
    dispatch: Dispatch, options: str, log: str, facts: Mapping[str, int | None], binary: bytes = b""
) -> Compilation:
    """Combine log, binary and runtime queries of a dispatch's kernel; the earlier source takes precedence.

    *facts* are results of ``clGetKernelWorkGroupInfo`` and ``clGetKernelSubGroupInfo`` by query, without ``CL_KERNEL_``
    and ``_FOR_NDRANGE`` in its name. *binary* is that of the program, or the library that contains the kernel; empty:
    not known. Local-memory arguments of the *dispatch* are added to what the kernel itself declares.
    """
    arguments = sum(argument.nbytes for argument in dispatch.arguments if isinstance(argument, Local))
    reported = usage(log).get(dispatch.kernel) or machine_code.usage(binary, dispatch.kernel) or Usage("runtime")
    fixed = reported.local_memory_bytes
    if fixed is None:
        fixed = max(0, (facts.get("LOCAL_MEM_SIZE") or 0) - arguments)
    return Compilation(
        kernel=dispatch.kernel,
        options=options,
        log=log,
        registers_per_work_item=reported.registers,
        local_memory_bytes=fixed + arguments,
        private_bytes=facts.get("PRIVATE_MEM_SIZE") if reported.private_bytes is None else reported.private_bytes,
        spill_bytes=reported.spill_bytes,
        wave_size=(
            reported.wave_size
            or facts.get("MAX_SUB_GROUP_SIZE")
            or facts.get("PREFERRED_WORK_GROUP_SIZE_MULTIPLE")
            or None
        ),
        max_work_group=facts.get("WORK_GROUP_SIZE") or None,
        reported_by=reported.reported_by,
        code=machine_code.code(binary, dispatch.kernel),
    )


def tidy(log: str, source: str) -> str:
    """Return *log* without folders of this machine and NULs, at most :data:`MAX_LOG_CHARACTERS` long.

    *source*, the file that was built, replaces the name of the runtime's temporary file.
    """
    without_temporary = _TEMPORARY.sub(source, log.replace("\0", "")[: 2 * MAX_LOG_CHARACTERS])
    return _FOLDER.sub("", without_temporary).strip()[:MAX_LOG_CHARACTERS]


def first_error(log: str) -> str:
    """Return the first line of *log* with an error (the first line if there is none)."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["the log is empty"]
    return next((line for line in lines if _ERROR.search(line)), lines[0]).removeprefix("error: ")
