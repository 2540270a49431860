"""Data of a described kernel: arguments, initial contents, and expected results."""

import importlib.util
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.kernel_files.description import ArgumentFields
from gpureport.kernel_files.expressions import Value, evaluate
from gpureport.kernel_files.formulas import Formulas
from gpureport.workloads.model import Argument, Job, Local, Parameters

SHARED_VALUES = frozenset({"random", "zeros", "iota"})
"""Initial contents that do not depend on the size of the buffer."""
_PATTERN_BYTES = 2**22
"""Random data, which larger buffers repeat."""


def argument_value(
    formulas: Formulas, argument: ArgumentFields, parameters: Parameters, handles: Mapping[str, str]
) -> Argument:
    """Return a kernel argument; *handles* are the names of buffers in the job."""
    if argument.local is not None:
        elements = formulas.whole(formulas.place(argument, "local"), parameters)
        return Local(max(1, elements) * argument.element_bytes)
    if argument.value is None:
        return handles.get(argument.buffer_name, argument.buffer_name)
    field = formulas.place(argument, "value")
    value = formulas.number(field, parameters)
    lanes = _converted(np.full(argument.lanes, value), argument.dtype)
    if argument.dtype.kind != "f" and float(lanes[0]) != value:
        raise formulas.error(field, f"{value:g} is not a value of type {argument.type}")
    scalar: np.generic = (lanes if len(lanes) == 1 else lanes.view(np.dtype((np.void, lanes.nbytes))))[0]
    return scalar


def initial_contents(
    formulas: Formulas, argument: ArgumentFields, parameters: Parameters, rng: np.random.Generator
) -> NDArray[np.generic]:
    """Return the initial contents, which may be a beginning that the buffer repeats."""
    count, dtype = formulas.elements(argument, parameters) * argument.lanes, argument.dtype
    part = min(count, _PATTERN_BYTES // dtype.itemsize)
    if argument.name in formulas.arrays:
        return _converted(np.resize(formulas.arrays[argument.name].ravel(), count), dtype)
    if argument.values == "random":
        if dtype.kind == "f":
            return rng.uniform(-1.0, 1.0, part).astype(dtype)
        return rng.integers(0, 256, part * dtype.itemsize, dtype=np.uint8).view(dtype)
    if argument.values == "zeros":
        return np.zeros(part, dtype)
    if argument.values == "iota":
        return np.arange(count).astype(dtype)

    def random(low: float, high: float) -> NDArray[np.generic]:
        if dtype.kind == "f":
            return rng.uniform(low, high, count).astype(dtype)
        return rng.integers(int(low), int(high), count).astype(dtype)

    field = formulas.place(argument, "values")
    with formulas.of_field(field):
        found = np.asarray(evaluate(argument.values, formulas.names(parameters), {"random": random}))
    if found.size not in (1, count):
        what = f"{found.size} values for {count} numbers; write an expression that gives one value or {count}"
        raise formulas.error(field, what)
    return _converted(np.full(part, found.ravel()[0]) if found.size == 1 else found.ravel(), dtype)


def _converted(values: NDArray[np.generic], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    """Return *values* in another type, without warnings of NumPy about those that it does not have."""
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def expected_results(
    formulas: Formulas, folder: Path, parameters: Parameters, job: Job
) -> Mapping[str, NDArray[np.generic]]:
    """Return the contents of buffers after one dispatch of each kernel, by their names in the job.

    Expressions are evaluated; a function is imported from its file in *folder* and called.
    """
    fields = formulas.fields
    known: dict[str, Any] = dict(formulas.names(parameters))
    buffers, handles = dict[str, ArgumentFields](), dict[str, str]()
    for step, dispatch in zip(formulas.steps, job.dispatches, strict=False):
        for argument, value in zip(step.fields.arguments, dispatch.arguments, strict=True):
            name = argument.buffer_name
            if isinstance(value, np.generic) and step is formulas:
                known[name] = np.frombuffer(value, argument.dtype) if argument.lanes > 1 else value
            elif isinstance(value, str) and name not in buffers:
                filled = job.buffers[value].filled()
                known[name] = filled.reshape(-1, argument.lanes) if argument.lanes > 1 else filled
                buffers[name], handles[name] = argument, value
    known |= {f"{name}_": value for name, value in known.items() if iskeyword(name)}
    found = _called(formulas, fields.expect_from, folder, known) if fields.expect_from else _evaluated(formulas, known)
    results = {}
    for name, values in found.items():
        if name not in buffers:
            what = f"returns {name!r}, which is not a buffer; the buffers are {', '.join(buffers) or 'none'}"
            raise formulas.error("expect_from", what)
        right = np.broadcast_to(values, known[name].shape) if np.ndim(values) == 0 else np.asarray(values)
        what = "" if right.dtype.kind in "biuf" else "has values that are not real numbers"
        if right.size != known[name].size:
            what = f"has {right.size} values, but the buffer has {known[name].size}"
        if what:
            raise formulas.error(f"expect.{name}" if fields.expect else "expect_from", what)
        results[handles[name]] = _converted(right.ravel(), buffers[name].dtype)
    return results


def _evaluated(formulas: Formulas, known: Mapping[str, Value]) -> dict[str, Any]:
    fields, names, found = formulas.fields, dict(known), dict[str, Any]()
    for field, expressions, into in (("let", fields.let, names), ("expect", fields.expect or {}, found)):
        for name, text in expressions.items():
            with formulas.of_field(f"{field}.{name}"):
                into[name] = evaluate(text, names)
    return found


def _called(formulas: Formulas, reference: str, folder: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Call the function of ``expect_from``."""
    file, _, function = reference.partition(":")
    path = folder / (file if file.endswith(".py") else f"{file}.py")
    spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() and function else None
    if spec is None or spec.loader is None:
        raise formulas.error("expect_from", f"{file!r} cannot be imported; write module:function")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, function)(**known)
    except Exception as error:  # noqa: BLE001 - the user's code
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise formulas.error("expect_from", f"{file}:{function} failed: {' '.join(what.split())}") from None
    if not isinstance(found, Mapping):
        what = f"{file}:{function} returned {type(found).__name__}; it must return a dict of arrays by buffer"
        raise formulas.error("expect_from", what)
    return dict(found)
