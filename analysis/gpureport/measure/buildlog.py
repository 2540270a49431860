"""What a compiler's log says, as data. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpureport.records import Compilation
from gpureport.workloads.model import Dispatch, Local

MAX_LOG_CHARACTERS = 8000
"""What a report keeps of a log."""

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+(\d+))? bytes smem")
_TEMPORARY = re.compile(r"(?<![^\s'\"])[^\s'\"]*tempfile_\w+\.cl")
_FOLDER = re.compile(r"(?<![\w.])/(?:[^\s:'\"/]+/)+")
_ERROR = re.compile(r"\b(?:error|undefined|unresolved)\b", re.IGNORECASE)


@dataclass(frozen=True)
class KernelUsage:
    """What ptxas reports of one kernel: registers and bytes of a work-item, local memory of a group."""

    registers: int | None = None
    local_memory_bytes: int = 0
    private_bytes: int | None = None


def usage(log: str) -> dict[str, KernelUsage]:
    """Read the ptxas lines that NVIDIA's ``-cl-nv-verbose`` puts into the build log.

    Returns:
        By kernel; empty for a log of another compiler.
    """
    parts = _ENTRY.split(log)[1:]
    return {name: _kernel_usage(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _kernel_usage(text: str) -> KernelUsage:
    # A function that the kernel calls has properties of its own, in front of the kernel's: the last count.
    registers = _REGISTERS.findall(text)
    stacks = _STACK.findall(text)
    shared = _SHARED.search(text)
    return KernelUsage(
        registers=int(registers[-1]) if registers else None,
        local_memory_bytes=sum(int(part) for part in shared.groups(default="0")) if shared else 0,
        private_bytes=int(stacks[-1]) if stacks else None,
    )


def compilation(dispatch: Dispatch, options: str, log: str, facts: Mapping[str, int | None]) -> Compilation:
    """Put together what log and runtime say of a dispatch's kernel.

    Args:
        dispatch: its local-memory arguments are added to what the kernel itself declares.
        options: build options.
        log: of the build.
        facts: answers to ``clGetKernelWorkGroupInfo`` by query, named without ``CL_KERNEL_``.
    """
    told = usage(log).get(dispatch.kernel)
    arguments = sum(argument.nbytes for argument in dispatch.arguments if isinstance(argument, Local))
    if told is None:
        told = KernelUsage(None, max(0, (facts.get("LOCAL_MEM_SIZE") or 0) - arguments))
    return Compilation(
        kernel=dispatch.kernel,
        options=options,
        log=log,
        registers_per_work_item=told.registers,
        local_memory_bytes=told.local_memory_bytes + arguments,
        private_bytes=facts.get("PRIVATE_MEM_SIZE") if told.private_bytes is None else told.private_bytes,
        wave_width=facts.get("PREFERRED_WORK_GROUP_SIZE_MULTIPLE"),
        max_work_group=facts.get("WORK_GROUP_SIZE"),
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
