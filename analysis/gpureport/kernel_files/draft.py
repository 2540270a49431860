"""A first description of a kernel, drafted from its source."""

from collections.abc import Iterator
from pathlib import Path

from gpureport.errors import InputError
from gpureport.inputs import is_there, read_text
from gpureport.kernel_files.description import SCALARS, is_type
from gpureport.kernel_files.signature import Parameter, Signature, signatures

_INTEGERS = frozenset(name for name in SCALARS if name not in ("half", "float", "double"))
_CHECK = "  # CHECK"


def draft(path: Path) -> str:
    """Return the YAML description of the first kernel of an OpenCL C file. ``# CHECK`` marks guesses.

    Raises:
        InputError: the file is missing, contains no kernel, or declares arguments that cannot be described.
    """
    if not is_there(path):
        raise InputError(f"{path}: there is no such file; give an OpenCL C file")
    found = signatures(read_text(path))
    if not found:
        raise InputError(f"{path}: is not OpenCL C with a kernel; no function in it is marked `kernel`")
    first, *others = found
    return "\n".join(
        [*_lines(path, first), *(f"# {path.name}:{each.line} also has {each.name}" for each in others), ""]
    )


def _lines(path: Path, kernel: Signature) -> Iterator[str]:
    where = f"{path}:{kernel.line}: {kernel.name}"
    if kernel.parameters is None:
        raise InputError(f"{where}: its parameters cannot be read as C; write the description by hand")
    if not kernel.parameters:
        raise InputError(f"{where}: has no arguments, so its results cannot be described")
    for parameter in kernel.parameters:
        known = parameter.kind == "buffer" or is_type(parameter.type)
        if parameter.kind == "other" or not known:
            raise InputError(f"{where}: {parameter.name!r} is neither a buffer, local memory nor a number")
    sizes = [each.name for each in kernel.parameters if each.kind == "scalar" and each.type in _INTEGERS] or ["n"]
    sizes.sort(key=lambda name: name != "n")
    dimensions = min(kernel.dimensions, 3)
    axes = sizes[:dimensions] if len(sizes) >= dimensions else [sizes[0]] * dimensions
    count = " * ".join(axes)
    yield f"name: {kernel.name.replace('_', ' ')}"
    yield f"source: {path.name}"
    yield f"kernel: {kernel.name}"
    fixed = "".join(f", {name}: {sizes[0] if name in axes else 1}" for name in sizes[1:])
    yield f"sizes: {{{sizes[0]}: auto{fixed}}}{_CHECK if fixed else ''}"
    yield "arguments:"
    for parameter in kernel.parameters:
        yield f"  - {{{_argument(parameter, count)}}}{_remark(parameter)}"
    yield f"global_size: [{', '.join(axes)}]{_CHECK}"
    yield "guarded: false  # CHECK: true if the kernel ignores work-items beyond global_size"
    yield f"work: {{amount: {count}, unit: elements}}{_CHECK}"
    written = next((p.name for p in kernel.parameters if p.kind == "buffer" and not p.constant), None)
    if written:
        yield f'# expect: {{{written}: "a NumPy expression of the initial contents"}}'


def _argument(parameter: Parameter, count: str) -> str:
    start = f"name: {parameter.name}, type: {parameter.type}"
    if parameter.kind == "local":
        return f"{start}, local: local_x"
    if parameter.kind == "buffer":
        access = "read" if parameter.constant else "read_write"
        if not is_type(parameter.type):
            return f"name: {parameter.name}, type: float, elements: 4 * {count}, stride: 4, access: {access}"
        return f"{start}, elements: {count}, access: {access}"
    return f"{start}, value: {parameter.name if parameter.type in _INTEGERS else 1.0}"


def _remark(parameter: Parameter) -> str:
    """Return a comment on what the draft guesses of an argument; empty if nothing."""
    if parameter.kind == "buffer" and not is_type(parameter.type):
        return f"{_CHECK}: numbers and stride of {parameter.type}"
    return "" if parameter.kind == "scalar" and parameter.type in _INTEGERS else _CHECK
