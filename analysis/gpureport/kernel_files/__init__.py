"""Kernels of users: an OpenCL C file and its YAML description become workloads."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.errors import InputError
from gpureport.inputs import is_there, read_text
from gpureport.kernel_files.description import KernelFields, variants_of
from gpureport.kernel_files.workload import FieldError, KernelFileWorkload
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
        raise InputError(f"{file}: is the source of a kernel; give its YAML description (`gpureport kernel --new` drafts it)")
    document = read_file(file, KernelFields)
    fields = document.get()
    _check_source(document, fields, file)
    family = re.sub(r"[^a-z0-9]+", "_", fields.name.lower()).strip("_") or "kernel"
    try:
        return [KernelFileWorkload(each, family, name, file.parent) for name, each in variants_of(fields).items()]
    except FieldError as error:
        raise InputError(str(document.problem(error.field, error.message, "error"))) from None


def _check_source(document: Document[KernelFields], fields: KernelFields, file: Path) -> None:
    """Raise if the source cannot be read or does not contain the kernels."""
    path = file.parent / fields.source
    if not is_there(path):
        raise InputError(str(document.problem("source", f"there is no file {quoted(str(path))}", "error")))
    text = read_text(path)
    names = {"kernel": fields.kernel} | {f"variants.{k}.kernel": v.kernel for k, v in fields.variants.items() if v.kernel}
    for field, name in names.items():
        if not re.search(rf"\bkernel\b[^;{{}}]*\b{name}\s*\(", text):
            what = f"{fields.source} contains no kernel {name!r}"
            raise InputError(str(document.problem(field, what, "error")))
