"""Kernels of users: OpenCL C, and what it does not determine, become workloads."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.inputs import Steps, is_there, read_text
from gpureport.kernel_files.description import KernelFields
from gpureport.kernel_files.inference import completed
from gpureport.kernel_files.workload import KernelFileWorkload
from gpureport.spec.reading import Document, Problem, Severity, read_file, valid
from gpureport.spec.values import steps_of
from gpureport.text import quoted
from gpureport.workloads import all_workloads

__all__ = ["KernelFields", "KernelFileWorkload", "calibrating", "described", "load_kernels"]

_CALIBRATING = (
    *("launch/groups", "memory/latency", "memory/read_private", "memory/read", "memory/copy", "memory/write"),
    *("instructions/rate", "instructions/latency"),
)

_OPTIONS = {"sizes": "--size", "global_size": "--global", "work_groups": "--local", "build_options": "-D"}


@dataclass
class _Given(Document[KernelFields]):
    """Fields of Python, or the options of a command, in place of a file."""

    names: Sequence[str] | None = None
    """Of the arguments with contents; ``None``: the fields are not options."""

    def problem(self, path: str | Steps, message: str, severity: Severity = "error") -> Problem:
        """Return a problem of a field, or of the option that gives it."""
        steps = steps_of(path) if isinstance(path, str) else [*map(str, path)]
        first, *rest = steps or [""]
        if self.names is None:
            return Problem("", None, ".".join(steps), message, severity)
        option = " ".join([_OPTIONS.get(first, first), *(rest[:1] if first == "sizes" else ())])
        if first == "arguments" and rest:
            given = self.names[int(rest[0])] if rest[0].isdigit() else rest[0]
            option = f"{ {'value': '--size', 'elements': 'buffer'}.get(rest[-1], '--data') } {given}"
        return Problem("", None, option, message, severity)


def calibrating(kernels: Iterable[KernelFileWorkload]) -> tuple[str, ...]:
    """Return the names of the microbenchmarks that calibrate the predictions of *kernels*."""
    return (*_CALIBRATING, *(["memory/ping_pong"] if any(kernel.fields.swap for kernel in kernels) else []))


def load_kernels(
    files: Iterable[Path], given: Mapping[str, object] = MappingProxyType({})
) -> tuple[KernelFileWorkload, ...]:
    """Read sources and descriptions of kernels; each is a workload.

    Args:
        files: OpenCL C (``FILE.cl``, or ``FILE.cl:KERNEL`` if it contains several), or descriptions (YAML).
        given: fields of the description of sources.

    Raises:
        InputError: a file is missing or invalid; the message names file, line and field, and the correction.
    """
    found: list[KernelFileWorkload] = []
    for file in files:
        found.append(_load(file, given))
        if found[-1].name in {other.name for other in found[:-1]}:
            raise InputError(f"{file}: name: {found[-1].name!r} is described twice; choose another name")
    return tuple(found)


def described(
    fields: Mapping[str, object],
    folder: Path,
    arrays: Mapping[str, NDArray[np.generic]] | None = None,
    document: Document[KernelFields] | None = None,
) -> KernelFileWorkload:
    """Return the workload of a description in memory.

    Args:
        fields: as in a file.
        folder: of the files that it names.
        arrays: initial contents of buffers by name, in place of those of the description; repeated as necessary.
        document: names fields in messages, and receives the contents.

    Raises:
        InputError: a field is wrong.
    """
    text = json.dumps(dict(fields), default=lambda each: each.tolist() if hasattr(each, "tolist") else str(each))
    plain, document = json.loads(text), document or _Given(Path())
    document.lines = dict.fromkeys(_paths(plain), 0)
    document.contents = valid(document, KernelFields, plain)
    given = {name: np.array(array) for name, array in (arrays or {}).items()}
    for name, array in given.items():
        if not array.size or array.dtype.kind not in "biuf":
            raise InputError(f"arrays: {name!r} needs at least one real number")
    found = _workload(document, folder, given)
    buffers = found.formulas.every_buffer
    for name in given.keys() - buffers.keys():
        raise InputError(f"arrays: there is no buffer {name!r}; there are {', '.join(sorted(buffers)) or 'none'}")
    return found


def _paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, each in parts:
        yield (*path, step)
        yield from _paths(each, (*path, step))


def _load(file: Path, given: Mapping[str, Any]) -> KernelFileWorkload:
    name, _, kernel = file.name.partition(":")
    if kernel and not is_there(file):
        file, given = file.with_name(name), {**given, "kernel": kernel}
    if not is_there(file):
        raise InputError(f"{file}: there is no such file; give the source of a kernel (OpenCL C) or its description")
    if file.suffix not in {".yaml", ".yml", ".json"}:
        names = [each["name"] for each in given.get("arguments", ())]
        return described({"source": file.name, **given}, file.parent, document=_Given(file, names=names))
    if given:
        raise InputError(f"{file}: is a description; options such as --size are for sources. Change the description")
    return _workload(read_file(file, KernelFields), file.parent, {})


def _workload(
    document: Document[KernelFields], folder: Path, arrays: Mapping[str, NDArray[np.generic]]
) -> KernelFileWorkload:
    fields = document.get()
    source = folder / fields.source
    if not source.is_file() or "\0" in read_text(source):
        what = "no text in UTF-8: it has NUL bytes, as UTF-16 has" if source.is_file() else "a folder or device"
        remedy = "give the source of a kernel (FILE.cl), or its description (FILE.yaml)"
        there, name = is_there(source), quoted(str(source))
        raise document.error("source", f"{name} is {what}; {remedy}" if there else f"there is no file {name}")
    formulas = completed(document, folder, arrays)
    found = KernelFileWorkload(formulas)
    if found.family in {other.family for other in all_workloads()}:
        raise document.error("name", f"{found.family!r} is a family of gpureport; choose another name")
    used = [each for each in fields.sizes.values() if isinstance(each, str)]
    used += [each.text for step in formulas.steps for each in step.arguments]
    words = {*re.findall(r"\w+", f"{used} {fields.model_dump(exclude={'name', 'description', 'sizes'})}")}
    if not fields.expect_from and (unused := {*fields.sizes} - words):  # functions receive all sizes
        name, known = min(unused), ", ".join(sorted(words.intersection(fields.sizes)))
        raise document.error(f"sizes.{name}", f"nothing uses {name}; other sizes are: {known or 'none'}")
    return found
