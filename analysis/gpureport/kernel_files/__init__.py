"""Kernels of users: an OpenCL C file and its YAML description become workloads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from gpureport.errors import InputError
from gpureport.inputs import FileError, is_there, read_text
from gpureport.kernel_files.description import TYPES, KernelFields, VariantFields, steps_of, variants_of
from gpureport.kernel_files.formulas import FieldError, Formulas
from gpureport.kernel_files.inference import completed, named
from gpureport.kernel_files.signature import Signature, article, number_type, signatures
from gpureport.kernel_files.workload import KernelFileWorkload, family_of
from gpureport.spec.reading import Document, mistakes, read_file
from gpureport.text import quoted, suggestion
from gpureport.trace.compiler import INSTALLATION, preprocessed
from gpureport.workloads import all_workloads

__all__ = ["KernelFields", "KernelFileWorkload", "calibrating", "described", "load_kernels"]

_CALIBRATING = ("launch/groups", "memory/latency", "memory/read_private", "memory/read", "memory/copy", "memory/write")


def calibrating(kernels: Iterable[KernelFileWorkload]) -> tuple[str, ...]:
    """Return the names of the microbenchmarks that calibrate the predictions of *kernels*."""
    described = [kernel.fields for kernel in kernels]
    more = {"memory/ping_pong": any(each.swap for each in described)}
    more["instructions/rate"] = more["instructions/latency"] = any(each.operations for each in described)
    return (*_CALIBRATING, *(name for name, needed in more.items() if needed))


def load_kernels(
    files: Iterable[Path], given: Mapping[str, object] = MappingProxyType({})
) -> tuple[KernelFileWorkload, ...]:
    """Read sources and descriptions of kernels; each variant is a workload.

    Args:
        files: OpenCL C (``FILE.cl``, or ``FILE.cl:KERNEL`` if it contains several), or descriptions (YAML).
        given: fields of the description of sources.

    Raises:
        InputError: a file is missing or invalid; the message names file, line and field, and the correction.
    """
    found: list[KernelFileWorkload] = []
    for file in files:
        for workload in _load(file, given):
            if workload.name in {other.name for other in found}:
                raise InputError(f"{file}: name: {workload.name!r} is described twice; choose another name")
            found.append(workload)
    return tuple(found)


def described(
    fields: Mapping[str, object], folder: Path, arrays: Mapping[str, NDArray[np.generic]] | None = None
) -> tuple[KernelFileWorkload, ...]:
    """Return the workloads of a description in memory.

    Args:
        fields: as in a file.
        folder: of the files that it names.
        arrays: initial contents of buffers by name, in place of those of the description; repeated as necessary.

    Raises:
        InputError: a field is wrong.
    """
    plain = _plain(fields)
    try:
        valid = KernelFields.model_validate(plain)
    except ValidationError as error:
        where, message = next(mistakes(KernelFields, error, _paths(plain)))
        raise InputError(f"{'.'.join(map(str, where))}: {message}") from None
    given = {name: np.asarray(array) for name, array in (arrays or {}).items()}
    for name, array in given.items():
        if not array.size or array.dtype.kind not in "biuf":
            raise InputError(f"arrays: {name!r} needs at least one real number")
    found = tuple(_workloads(valid, folder, given))
    buffers = {name for each in found for name in each.formulas.every_buffer}
    for field, names in (("arrays", given), ("data", valid.data)):
        for name in set(names) - buffers:
            raise InputError(f"{field}: there is no buffer {name!r}; there are {', '.join(sorted(buffers)) or 'none'}")
    return found


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, each in parts:
        yield (*path, step)
        yield from _paths(each, (*path, step))


def _load(file: Path, given: Mapping[str, object]) -> Sequence[KernelFileWorkload]:
    name, _, kernel = file.name.partition(":")
    if kernel and not is_there(file):
        file, given = file.with_name(name), {**given, "kernel": kernel}
    if not is_there(file):
        raise InputError(f"{file}: there is no such file; give the source of a kernel (OpenCL C) or its description")
    if file.suffix in {".cl", ".c", ".h", ".ocl"}:
        return described({"source": file.name, **given}, file.parent)
    if given:
        raise InputError(f"{file}: is a description; options such as --size are for sources. Change the description")
    document = read_file(file, KernelFields)
    try:
        return list(_workloads(document.get(), file.parent, {}, document))
    except FieldError as error:
        raise FieldError(error.field, error.message, document) from None


def _workloads(
    fields: KernelFields,
    folder: Path,
    arrays: Mapping[str, NDArray[np.generic]],
    document: Document[KernelFields] | None = None,
) -> Iterator[KernelFileWorkload]:
    if not is_there(folder / fields.source):
        raise FieldError("source", f"there is no file {quoted(str(folder / fields.source))}")
    fields = named(fields, folder)
    family = family_of(fields)
    if family in {other.family for other in all_workloads()}:
        raise FieldError("name", f"{family!r} is a family of gpureport; choose another name")
    for name, each in variants_of(fields).items():
        title = f"{fields.name}, {name.replace('_', ' ')}" if fields.variants else fields.name
        own = completed(each, folder, arrays)
        declared = partial(_signature, own, fields.variants.get(name), name, folder)
        formulas, traced = Formulas(own, arrays, document=document), not each.arguments
        yield KernelFileWorkload(formulas, name, title, folder, declared, traced=traced)


def _signature(own: KernelFields, other: VariantFields | None, variant: str, folder: Path, options: str) -> Signature:
    """Return the kernel of a variant, as the source declares it with these build options.

    Raises:
        FieldError: it cannot be read, or does not declare the described kernels with their arguments.
    """
    path = folder / own.source
    try:
        text = preprocessed(read_text(path), folder, options)
    except FileError as error:
        raise FieldError("source", str(error)) from None
    prefix = f"variants.{variant}." if other else ""
    kernel = f"{prefix if other and other.kernel else ''}kernel"
    arguments = f"{prefix if other and other.arguments else ''}arguments"
    found = _checked(text, path.name, own, kernel, arguments)
    for i, each in enumerate(steps_of(own)):
        _checked(text, path.name, each, f"sequence.{i}.kernel", f"sequence.{i}.arguments")
    return found


def _found(text: str, source: str, kernel: str, field: str) -> Signature:
    """Return the *kernel* that a *field* names."""
    declared = signatures(text)
    if not declared:
        raise FieldError("source", f"{source} is not OpenCL C with a kernel; no function in it is marked `kernel`")
    named = [each for each in declared if each.name == kernel]
    if not named:
        names = [each.name for each in declared]
        raise FieldError(field, f"{source} contains no kernel {kernel!r}{suggestion(kernel, names)}")
    if any(each.parameters != named[0].parameters for each in named):
        lines = " and ".join(str(each.line) for each in named)
        raise FieldError(field, f"{source} declares {kernel!r} in lines {lines} with different arguments; {_EVALUATE}")
    return named[-1]


def _checked(text: str, source: str, fields: KernelFields, kernel: str, arguments: str) -> Signature:
    """Return the kernel of *fields*; *kernel* and *arguments* are the names of their fields.

    Raises:
        FieldError: the source does not declare it with these arguments.
    """
    signature = _found(text, source, fields.kernel, kernel)
    if signature.parameters is None:
        return signature
    where = f"{signature.name} ({source}:{signature.line})"
    if len(fields.arguments) != len(signature.parameters):
        names = ", ".join(each.name for each in signature.parameters)
        what = f"{len(fields.arguments)} are described, but {where} has {len(signature.parameters)}: {names}"
        raise FieldError(arguments, what)
    for i, (argument, parameter) in enumerate(zip(fields.arguments, signature.parameters, strict=True)):
        name, kind = parameter.name, parameter.kind
        if argument.name != name:
            what = f"argument {i + 1} of {where} is {name!r}, not {argument.name!r}"
            raise FieldError(f"{arguments}.{i}.name", what)
        if argument.kind != kind:
            problem = f"is {article(parameter.type)} in {where}, which cannot be described"
            if kind in _FIELDS:
                problem = f"is a {kind} in {where}; give {_FIELDS[kind]}"
            raise FieldError(f"{arguments}.{i}", problem)
        declared_type = number_type(parameter.type, text)
        if declared_type in TYPES and argument.type != declared_type:
            raise FieldError(f"{arguments}.{i}.type", f"is {declared_type} in {where}, not {argument.type}")
    return signature


_EVALUATE = f"this command installs a compiler that evaluates the conditions of the preprocessor: {INSTALLATION}"
_FIELDS = {"buffer": "'elements'", "scalar": "'value'", "local": "'local'"}
