"""A first description of a kernel, drafted from its source."""

import re
from collections.abc import Iterator
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path

from gpureport.errors import InputError
from gpureport.inputs import is_there, read_text
from gpureport.kernel_files.description import SCALARS, is_type
from gpureport.kernel_files.signature import Parameter, Signature, number_type, signatures

_INTEGERS = frozenset(name for name in SCALARS if name not in ("half", "float", "double"))
_CHECK = "  # CHECK"
_SMALL = 256
"""Assumed elements of a buffer in constant memory."""


def draft(path: Path) -> str:
    """Return the YAML description of the first kernel of an OpenCL C file that can be described.

    ``# CHECK`` marks guesses. Comments name the other kernels.

    Raises:
        InputError: the file is missing, contains no kernel, or none that can be described.
    """
    if not is_there(path):
        raise InputError(f"{path}: there is no such file; give an OpenCL C file")
    text = read_text(path)
    found = signatures(text)
    if not found:
        raise InputError(f"{path}: is not OpenCL C with a kernel; no function in it is marked `kernel`")
    problems = {each: _problem(each, text) for each in found}
    first = next((each for each in found if not problems[each]), None)
    if first is None:
        raise InputError(f"{path}:{found[0].line}: {found[0].name}: {problems[found[0]]}")
    what = "describe it in a file of its own, or under `sequence` if it follows this one"
    others = (
        f"# {path.name}:{each.line} also contains {each.name}: {problem or what}"
        for each, problem in problems.items()
        if each != first
    )
    return "\n".join([*_lines(path, first, text), *others, ""])


def _problem(kernel: Signature, text: str) -> str:
    """Say why a kernel cannot be described; empty if it can."""
    if kernel.parameters is None:
        return "its parameters cannot be read as C, for example because of macros; write the description by hand"
    for each in kernel.parameters:
        if each.kind == "other":
            return f"{each.name!r} is {_article(each.type)}; descriptions have only buffers, numbers and local memory"
        if each.type in ("size_t", "bool"):
            return f"{each.name!r} is {_article(each.type)}, which OpenCL C does not allow as an argument"
        if each.kind == "scalar" and _is_structure(each.type, text):
            return f"{each.name!r} is a structure by value; a description needs a buffer, or numbers"
    if not any(each.kind == "buffer" for each in kernel.parameters):
        return "has no buffer, so its results cannot be described"
    return ""


def _article(name: str) -> str:
    return f"an {name}" if name.startswith("image") else f"a {name or 'pointer to pointers or functions'}"


def _is_structure(name: str, text: str) -> bool:
    return name.startswith("struct ") or re.search(rf"\}}\s*{name}\s*;", text) is not None


def _lines(path: Path, kernel: Signature, text: str) -> Iterator[str]:
    parameters = [_with_number_type(each, text) for each in kernel.parameters or ()]
    scalars = [each.name for each in parameters if each.kind == "scalar" and each.type in _INTEGERS]
    sizes = [_size(name) for name in scalars] or ["n"]
    sizes.sort(key=lambda name: name != "n")
    dimensions = min(kernel.dimensions, 3)
    axes = sizes[:dimensions] if len(sizes) >= dimensions else [sizes[0]] * dimensions
    count = " * ".join(axes)
    yield f"name: {kernel.name.replace('_', ' ')}"
    yield f"source: {path.name}"
    yield f"kernel: {kernel.name}"
    fixed = "".join(f", {name}: {sizes[0] if name in axes else 1}" for name in sizes[1:])
    yield f"sizes: {{{sizes[0]}: auto{fixed}}}{_CHECK if fixed or sizes[0] != 'n' else ''}"
    yield "arguments:"
    for parameter, written in zip(parameters, kernel.parameters or (), strict=True):
        yield f"  - {{{_argument(parameter, count)}}}{_remark(parameter, written)}"
    yield f"global_size: [{', '.join(axes)}]{_CHECK}"
    if kernel.work_group:
        shape = kernel.work_group[:dimensions]
        yield f"work_groups: {list(shape) if dimensions > 1 else shape[0]}"
    elif kernel.declares_local:
        yield "work_groups: auto  # CHECK: the shape, if the arrays in local memory require one"
    if kernel.declares_local:
        yield "local_memory_bytes: 0  # CHECK: bytes of the arrays in local memory that the kernel declares"
    yield "guarded: false  # CHECK: true if the kernel ignores work-items beyond global_size"
    yield f"work: {{amount: {count}, unit: elements}}{_CHECK}"
    for buffer in [p.name for p in parameters if p.kind == "buffer" and not p.constant][:1]:
        yield f'# expect: {{{buffer}: "a NumPy expression of the initial contents"}}'


def _size(name: str) -> str:
    """Return the name of a size, which expressions must be able to contain."""
    return f"{name}_" if iskeyword(name) else name


def _with_number_type(parameter: Parameter, text: str) -> Parameter:
    """Return a parameter with the type behind a macro or ``typedef``; a vector of three is stored as one of four."""
    name = number_type(parameter.type, text)
    return replace(parameter, type=f"{name[:-1]}4" if is_type(f"{name[:-1]}4") and name.endswith("3") else name)


def _argument(parameter: Parameter, count: str) -> str:
    known = is_type(parameter.type)
    start = f"name: {parameter.name}, type: {parameter.type if known else 'float'}"
    if parameter.kind == "local":
        return f"{start}, local: local_x"
    if parameter.kind == "scalar":
        return f"{start}, value: {_size(parameter.name) if parameter.type in _INTEGERS else 1.0}"
    elements = f"elements: {_SMALL if parameter.small else count}"
    if not known:
        elements = f"elements: 4 * {_SMALL if parameter.small else count}, stride: 4"
    return f"{start}, {elements}, access: {'read' if parameter.constant else 'read_write'}"


def _remark(parameter: Parameter, written: Parameter) -> str:
    """Return a comment on what the draft guesses of an argument; empty if nothing."""
    if not is_type(parameter.type):
        stride = " and stride" if parameter.kind == "buffer" else ""
        return f"{_CHECK}: type{stride} of {written.type}"
    if parameter.kind == "scalar" and parameter.type == written.type in _INTEGERS:
        return ""
    if parameter.type != written.type:
        return f"{_CHECK}: declared as {written.type}"
    return f"{_CHECK}: constant memory is small" if parameter.small else _CHECK
