"""Kernels of users: an OpenCL C file and its YAML description become workloads."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.errors import InputError
from gpureport.inputs import is_there, read_text
from gpureport.kernel_files.description import ArgumentFields, KernelFields, is_type, variants_of
from gpureport.kernel_files.formulas import FieldError
from gpureport.kernel_files.signature import Signature, signatures
from gpureport.kernel_files.workload import KernelFileWorkload
from gpureport.spec.mistakes import suggestion
from gpureport.spec.reading import Document, read_file
from gpureport.text import quoted
from gpureport.workloads import all_workloads

__all__ = ["KernelFields", "KernelFileWorkload", "calibrating", "load_kernels"]

_CALIBRATING = ("launch/groups", "memory/latency", "memory/read_private", "memory/read", "memory/copy", "memory/write")


def calibrating(kernels: Iterable[KernelFileWorkload]) -> tuple[str, ...]:
    """Return the names of the microbenchmarks that calibrate the predictions of *kernels*."""
    described = [kernel.fields for kernel in kernels]
    more = {"memory/ping_pong": any(each.swap for each in described)}
    more["instructions/rate"] = more["instructions/latency"] = any(each.operations for each in described)
    return (*_CALIBRATING, *(name for name, needed in more.items() if needed))


def load_kernels(files: Iterable[Path]) -> tuple[KernelFileWorkload, ...]:
    """Read descriptions of kernels; each variant is a workload.

    Raises:
        InputError: a file is missing or invalid; the message names file, line and field, and the correction.
    """
    found: list[KernelFileWorkload] = []
    for file in files:
        for workload in _load(file):
            if workload.family in {other.family for other in all_workloads()}:
                raise InputError(f"{file}: name: {workload.family!r} is a family of gpureport; choose another name")
            if workload.name in {other.name for other in found}:
                raise InputError(f"{file}: name: {workload.name!r} is described twice; choose another name")
            found.append(workload)
    return tuple(found)


def _load(file: Path) -> Sequence[KernelFileWorkload]:
    if not is_there(file):
        raise InputError(f"{file}: there is no such file; give the YAML description of a kernel")
    if file.suffix in {".cl", ".c"}:
        raise InputError(
            f"{file}: is the source of a kernel; give its YAML description (`gpureport kernel --new` drafts it)"
        )
    document = read_file(file, KernelFields)
    fields = document.get()
    _check_source(document, fields, file)
    family = re.sub(r"[^a-z0-9]+", "_", fields.name.lower()).strip("_") or "kernel"
    try:
        return [KernelFileWorkload(each, family, name, file.parent) for name, each in variants_of(fields).items()]
    except FieldError as error:
        raise InputError(str(document.problem(error.field, error.message, "error"))) from None


def _check_source(document: Document[KernelFields], fields: KernelFields, file: Path) -> None:
    """Raise if the source cannot be read, or does not declare the described kernels with their arguments."""
    path = file.parent / fields.source
    if not is_there(path):
        raise InputError(str(document.problem("source", f"there is no file {quoted(str(path))}", "error")))
    declared = {each.name: each for each in signatures(read_text(path))}
    if not declared:
        what = f"{path.name} is not OpenCL C with a kernel; no function in it is marked `kernel`"
        raise InputError(str(document.problem("source", what, "error")))
    described = [("", fields.kernel, fields.arguments)]
    for name, other in fields.variants.items():
        described.append((f"variants.{name}.", other.kernel or fields.kernel, other.arguments or fields.arguments))
    for prefix, kernel, arguments in described:
        if kernel not in declared:
            if fields.variants and not prefix and all(each.kernel for each in fields.variants.values()):
                continue
            what = f"{path.name} contains no kernel {kernel!r}{suggestion(kernel, declared)}"
            raise InputError(str(document.problem(f"{prefix}kernel", what, "error")))
        own = f"{prefix}arguments" if prefix and f"{prefix}arguments" in _dotted(document) else "arguments"
        if problem := _mismatch(declared[kernel], path.name, arguments, own):
            raise InputError(str(document.problem(*problem, "error")))


def _dotted(document: Document[KernelFields]) -> set[str]:
    return {".".join(map(str, steps)) for steps in document.lines}


def _mismatch(
    kernel: Signature, source: str, arguments: Sequence[ArgumentFields], field: str
) -> tuple[str, str] | None:
    """Return field and message of the first argument that the kernel does not declare so; ``None``: all fit."""
    if kernel.parameters is None:
        return None
    where = f"{kernel.name} ({source}:{kernel.line})"
    if len(arguments) != len(kernel.parameters):
        names = ", ".join(each.name for each in kernel.parameters)
        return field, f"{len(arguments)} are described, but {where} has {len(kernel.parameters)}: {names}"
    for position, (argument, parameter) in enumerate(zip(arguments, kernel.parameters, strict=True)):
        place = f"{field}.{position}"
        if argument.name != parameter.name:
            return f"{place}.name", f"argument {position + 1} of {where} is {parameter.name!r}, not {argument.name!r}"
        kind = "buffer" if argument.elements is not None else "scalar" if argument.value is not None else "local"
        if kind != parameter.kind:
            return place, f"is a {parameter.kind} in {where}; give {_FIELDS.get(parameter.kind, 'another kernel')}"
        if is_type(parameter.type) and argument.type != parameter.type:
            return f"{place}.type", f"is {parameter.type} in {where}, not {argument.type}"
    return None


_FIELDS = {"buffer": "'elements'", "scalar": "'value'", "local": "'local'"}
