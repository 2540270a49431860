"""A first description of a kernel, drafted from its source."""

import re
from collections.abc import Sequence
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import is_there, read_text
from gpureport.kernel_files.description import SCALARS, TYPES
from gpureport.kernel_files.preprocessing import EVALUATE, is_conditional, preprocessed
from gpureport.kernel_files.signature import Parameter, Signature, article, number_type, signatures

_INTEGERS = frozenset(name for name in SCALARS if name not in ("half", "float", "double"))


def draft(path: Path, kernel: str = "") -> str:
    """Return the YAML description of a *kernel* of an OpenCL C file, or of the first one that can be described.

    ``# CHECK`` marks guesses. Comments name the other kernels.

    Raises:
        InputError: the file is missing, contains no such kernel, or none that can be described.
    """
    if not is_there(path):
        raise InputError(f"{path}: there is no such file; give an OpenCL C file")
    text = preprocessed(read_text(path), path.parent)
    found = signatures(text)
    if not found:
        raise InputError(f"{path}: is not OpenCL C with a kernel; no function in it is marked `kernel`")
    problems = {each: _problem(each, text) for each in found}
    wanted = [each for each in found if kernel in ("", each.name)]
    if not wanted:
        raise InputError(f"{path}: contains no kernel {kernel!r}; it has {', '.join(each.name for each in found)}")
    first = next((each for each in wanted if not problems[each]), None)
    if first is None:
        raise InputError(f"{path}:{wanted[0].line}: {wanted[0].name}: {problems[wanted[0]]}")
    return _written(path, first, text, [(each, problem) for each, problem in problems.items() if each != first])


def _problem(kernel: Signature, text: str) -> str:
    if kernel.parameters is None:
        return "its parameters cannot be read as C, for example because of macros; write the description by hand"
    for each in kernel.parameters:
        if each.kind == "other":
            return f"{each.name!r} is {article(each.type)}; descriptions have only buffers, numbers and local memory"
        if each.type in ("size_t", "bool"):
            return f"{each.name!r} is {article(each.type)}, which OpenCL C does not allow as an argument"
        if each.kind == "scalar" and _is_structure(each.type, text):
            return f"{each.name!r} is a structure by value; a description needs a buffer, or numbers"
    if not any(each.kind == "buffer" for each in kernel.parameters):
        return "has no buffer, so its results cannot be described"
    return ""


def _is_structure(name: str, text: str) -> bool:
    return name.startswith("struct ") or re.search(rf"\}}\s*{name}\s*;", text) is not None


def _written(path: Path, kernel: Signature, text: str, others: Sequence[tuple[Signature, str]]) -> str:
    from jinja2 import Environment, FileSystemLoader

    parameters = [(_with_number_type(each, text), each) for each in kernel.parameters or ()]
    scalars = [each.name for each, _ in parameters if each.kind == "scalar" and each.type in _INTEGERS]
    sizes = [_size(name) for name in scalars] or ["n"]
    sizes.sort(key=lambda name: name != "n")
    dimensions = min(kernel.dimensions, 3)
    axes = sizes[:dimensions] if len(sizes) >= dimensions else [sizes[0]] * dimensions
    pages = Environment(  # noqa: S701 - YAML
        loader=FileSystemLoader(data_dir("templates")), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    pages.tests |= {"number_type": TYPES.__contains__, "integer_type": _INTEGERS.__contains__}
    pages.filters["size"] = _size
    page = pages.get_template("kernel.yaml.j2")
    unknown = EVALUATE if is_conditional(text) else ""
    known = {"source": path.name, "kernel": kernel, "sizes": sizes, "axes": axes, "parameters": parameters}
    return page.render(**known, others=others, unknown=unknown)


def _size(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name


def _with_number_type(parameter: Parameter, text: str) -> Parameter:
    """Return a parameter with the type behind a macro or ``typedef``; a vector of three is stored as one of four."""
    name = number_type(parameter.type, text)
    return replace(parameter, type=f"{name[:-1]}4" if f"{name[:-1]}4" in TYPES and name.endswith("3") else name)
