"""A kernel whose sizes and data are expressions, evaluated at the parameters of a point, and its host execution."""

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import cycle, islice, product
from keyword import iskeyword
from math import ceil, prod
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import GpuReportError, InputError
from gpureport.inputs import read_text
from gpureport.isolation import arrays_of, isolated
from gpureport.kernel_files.description import RESERVED, KernelFields
from gpureport.kernel_files.expressions import MOST_INTEGER, ExpressionError, Value, evaluate, number, whole
from gpureport.spec.models import Device
from gpureport.spec.reading import Document
from gpureport.text import quoted, shorten
from gpureport.trace.compiler import compile_file
from gpureport.trace.demand import dispatch_demand, emitted_as, placed
from gpureport.trace.execution import execute
from gpureport.trace.ir import Module
from gpureport.trace.program import Parameter, Program, program
from gpureport.workloads.model import Argument as Passed
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Local, Parameters

N = TypeVar("N", int, float)
_ANY_SIZE = re.compile(r"random|zeros|iota|[-+]?[\d.]+")
_ANY_SIZE_OF_REAL = re.compile(rf"{_ANY_SIZE.pattern}|random\([-+\d.,e ]*\)")
"""Initial contents that do not depend on the size of the buffer, also of real numbers."""
_PATTERN_BYTES = 2**22
"""Random data, which larger buffers repeat."""
_MOST_FILLED = 256 << 20
"""Bytes of larger random data on the host, at multiples of which the same follow; a multiple of the pattern."""
_MOST_AMOUNT = 1e24
"""More than any device does in a year."""
_MOST_S, _MOST_BYTES = 300.0, 2**34
"""Limits of a function that computes expected results."""


@cache
def module_of(path: Path, text: str, options: str, *, restrict: bool = False) -> Module:  # noqa: ARG001 - a key
    """Return a compiled file that contains *text*, with options and errors of :func:`.compile_file`."""
    return compile_file(path, options, restrict=restrict)


@dataclass(frozen=True)
class Argument(Parameter):
    """An argument of a kernel: its parameter with the numbers in an element, 4 for ``float3``, and what is passed."""

    text: str
    """Expression of the number of elements, or of a scalar's value."""
    values: str
    """Initial contents of a buffer."""
    buffer_name: str
    """Name of the buffer, which kernels of a sequence share."""
    path: str
    """Of its fields in the description."""

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize * self.lanes

    @property
    def is_sized(self) -> bool:
        """Whether the initial contents depend on the size of the buffer."""
        same = _ANY_SIZE_OF_REAL if self.dtype.kind == "f" else _ANY_SIZE
        return not same.fullmatch(self.values)

    @property
    def field(self) -> str:
        """Path of the field with its expression."""
        return f"{self.path}.{ {'buffer': 'elements', 'scalar': 'value', 'local': 'local'}[self.kind] }"


@dataclass(eq=False)
class Formulas:
    """A kernel whose sizes are expressions.

    All methods raise an :class:`InputError` if one is invalid. *document* is the description, *folder* that of the
    files that it names; *arrays* replace the initial contents of buffers, by name; *prefix* is that of the kernel's
    fields in the description.
    """

    fields: KernelFields
    document: Document[KernelFields]
    folder: Path
    arrays: Mapping[str, NDArray[np.generic]]
    prefix: str = ""
    arguments: tuple[Argument, ...] = ()
    later: "tuple[Formulas, ...]" = ()
    """Kernels of a sequence that follow."""
    remark: str = ""  # what is suspicious in the source

    def error(self, path: str, message: str) -> InputError:
        """Return a problem of a field of this kernel."""
        return self.document.error(self.prefix + path, message)

    @property
    def path(self) -> Path:
        """The source."""
        return self.folder / self.fields.source

    @contextmanager
    def of_field(self, path: str) -> Iterator[None]:
        """Raise problems of expressions as those of a field."""
        try:
            yield
        except ExpressionError as error:
            raise self.error(path, str(error)) from None

    @property
    def steps(self) -> "tuple[Formulas, ...]":
        """The kernel, and those after it in the sequence."""
        return (self, *self.later)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last value of a range."""
        swept, unit = self.fields.swept_values, self.fields.multiple
        first, last = ceil(swept.low / unit) * unit, swept.high // unit * unit
        if first > last:
            what = f"{swept.low}..{swept.high} contains no multiple of {unit}; write a wider range, or multiple_of"
            raise self.error(f"sizes.{self.fields.swept}", what)
        return first, last

    @cached_property
    def buffers(self) -> tuple[Argument, ...]:
        """The arguments in global memory."""
        return tuple(argument for argument in self.arguments if argument.kind == "buffer")

    @cached_property
    def every_buffer(self) -> Mapping[str, "tuple[Formulas, Argument]"]:
        """The buffers of all kernels by name, each with its first kernel and its argument there."""
        found: dict[str, tuple[Formulas, Argument]] = {}
        for step in self.steps:
            for each in step.buffers:
                found.setdefault(each.buffer_name, (step, each))
        return found

    def names(self, parameters: Parameters) -> Mapping[str, Value]:
        """Return the sizes of a point and its work-group's dimensions, for expressions."""
        known: dict[str, Value] = {**dict.fromkeys(RESERVED, 1), **parameters}
        for name, value in self.fields.sizes.items():
            if name not in known:
                with self.of_field(f"sizes.{name}"):
                    known[name] = whole(str(value), known)
        return known

    def _value(
        self, evaluated: Callable[[str, Mapping[str, Value]], N], text: str, path: str, parameters: Parameters
    ) -> N:
        names = self.names(parameters)
        with self.of_field(path):
            return evaluated(text, names)

    def count(self, argument: Argument, parameters: Parameters) -> int:
        """Return the elements of a buffer or in local memory."""
        count = self._value(whole, argument.text, argument.field, parameters)
        if not count and argument.kind == "buffer":
            raise self.error(argument.field, "is 0; a buffer needs at least one element")
        return max(1, count)

    def check_elements(self, argument: Argument, parameters: Parameters, accessed: int, line: int) -> None:
        """Refuse a buffer that has fewer elements at a point than those up to the last one that a line *accessed*."""
        if (count := self.count(argument, parameters)) < accessed:
            at = f" at {self.fields.swept} = {parameters[self.fields.swept]}" if self.fields.swept else ""
            what = f"is {count}{at}, and {self.path.name}:{line} accesses {argument.name}[{accessed - 1}]"
            raise self.error(argument.field, f"{what}; give its elements in a description")

    def nbytes(self, parameters: Parameters) -> dict[str, int]:
        """Return the bytes of each buffer of all kernels."""
        found = dict[str, int]()
        for step in self.steps:
            for each in step.buffers:
                size = step.count(each, parameters) * each.element_bytes
                found[each.buffer_name] = max(size, found.get(each.buffer_name, size))
        return found

    def wanted(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the work-items in each dimension, as described."""
        texts = enumerate(self.fields.global_size)
        return tuple(self._value(whole, text, f"global_size.{i}", parameters) for i, text in texts)

    def global_size(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the work-items in each dimension, in whole work-groups."""
        wanted, local = self.wanted(parameters), self.local_size(parameters)
        if not 0 < prod(wanted) < MOST_INTEGER:
            sizes = {*re.findall(r"[A-Za-z_]\w*", " ".join(map(str, self.fields.global_size)))} if 0 in wanted else ()
            zero = next((f"sizes.{name}" for name, size in parameters.items() if size == 0 and name in sizes), None)
            what = f"{'makes' if zero else 'is'} {prod(wanted):.3g} work-items; it must be from 1 to 2^63"
            raise self.error(zero or "global_size", what)
        if not self.fields.guarded and any(items % size for items, size in zip(wanted, local, strict=True)):
            shape, items = " x ".join(map(str, local)), " x ".join(map(str, wanted))
            raise self.error(
                "global_size",
                f"{items} work-items do not divide into work-groups of {shape}; change one of them, or write "
                "`guarded: true` in a description if the kernel ignores work-items beyond global_size",
            )
        return tuple(ceil(items / size) * size for items, size in zip(wanted, local, strict=True))

    def local_size(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the work-group's dimensions."""
        return tuple(parameters[name] for name in RESERVED[: len(self.fields.global_size)])

    def build_options(self, parameters: Parameters) -> str:
        """Return the build options with the macros."""
        macros = (
            f"-D{name}={self._value(number, text, f'defines.{name}', parameters):.17g}"
            for name, text in self.fields.defines.items()
        )
        return " ".join(filter(None, (self.fields.build_options, *macros)))

    def work(self, parameters: Parameters) -> float:
        """Return the units of work of one dispatch."""
        amount = self._value(number, self.fields.work.amount, "work.amount", parameters)
        if not 1 / _MOST_AMOUNT <= amount <= _MOST_AMOUNT:
            right = "be positive" if amount < 1 else f"be at most {_MOST_AMOUNT:g}"
            raise self.error("work.amount", f"is {amount:g}; it must {right}")
        return amount

    def value(self, argument: Argument, parameters: Parameters, handles: Mapping[str, str]) -> Passed:
        """Return what is passed; *handles* are the names of buffers in the job."""
        if argument.kind == "local":
            return Local(self.count(argument, parameters) * argument.element_bytes)
        if argument.kind == "buffer":
            return handles.get(argument.buffer_name, argument.buffer_name)
        value = self._value(number, argument.text, argument.field, parameters)
        lanes = _converted(np.full(argument.lanes, value), argument.dtype)
        if argument.dtype.kind != "f" and float(lanes[0]) != value:
            raise self.error(argument.field, f"{value:g} is not a value of type {argument.dtype}")
        scalar: np.generic = (lanes if len(lanes) == 1 else lanes.view(np.dtype((np.void, lanes.nbytes))))[0]
        return scalar

    def dispatch(self, parameters: Parameters, handles: Mapping[str, str]) -> Dispatch:
        """Return the dispatch at a point; *handles* as of :meth:`value`."""
        arguments = tuple(self.value(each, parameters, handles) for each in self.arguments)
        return Dispatch(self.fields.kernel, self.global_size(parameters), self.local_size(parameters), arguments)

    def module(self, parameters: Parameters, *, restrict: bool = False) -> Module:
        """Return the source as it is compiled at a point; *restrict* and errors as of :func:`.compile_file`."""
        return module_of(self.path, read_text(self.path), self.build_options(parameters), restrict=restrict)

    def program(self, parameters: Parameters) -> Program:
        """Return the compiled kernel."""
        return program(self.module(parameters), self.fields.kernel)

    def contents(self, argument: Argument, parameters: Parameters, rng: np.random.Generator) -> NDArray[np.generic]:
        """Return the initial contents of a buffer, which may be a beginning that it repeats."""
        count, dtype = self.count(argument, parameters) * argument.lanes, argument.dtype
        part = min(count, _PATTERN_BYTES // dtype.itemsize)
        drawn = count if argument.is_sized else part
        if argument.name in self.arrays:
            return _converted(np.resize(self.arrays[argument.name].ravel(), count), dtype)
        if argument.values == "random" and dtype.kind != "f":
            return rng.integers(0, 256, part * dtype.itemsize, dtype=np.uint8).view(dtype)
        if argument.values == "iota":
            return np.arange(count).astype(dtype)

        def random(low: float, high: float) -> NDArray[np.generic]:
            if dtype.kind == "f":
                return rng.uniform(low, high, drawn).astype(dtype)
            return rng.integers(int(low), int(high), drawn).astype(dtype)

        with self.of_field(path := f"{argument.path}.values"):
            text = {"random": "random(-1, 1)", "zeros": "0"}.get(argument.values, argument.values)
            found = np.asarray(evaluate(text, self.names(parameters), {"random": random}))
        if found.size not in (1, drawn):
            what = f"{found.size} values for {count} numbers; write an expression that gives one value or {count}"
            raise self.error(path, what)
        return _converted(np.full(part, found.ravel()[0]) if found.size == 1 else found.ravel(), dtype)

    def host_buffers(
        self,
        parameters: Parameters,
        computed: Collection[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> dict[str, Buffer]:
        """Return the kernel's buffers on the host, by name; those without *computed* contents are zero.

        By default all are computed, because they may determine what a kernel does. Of random data, the places at
        distances of 256 MiB are one.
        """
        found, rng = dict[str, Buffer](), rng or np.random.default_rng(0)
        for argument in self.buffers:
            count, size = self.count(argument, parameters) * argument.lanes, argument.dtype.itemsize
            own = argument.values != "zeros" or argument.name in self.arrays
            own = argument.name in computed if computed is not None else own
            try:
                zeros = np.zeros(count, argument.dtype)  # pages that no work-item touches take no memory
            except (MemoryError, ValueError):
                raise self.error(argument.field, f"is {count}, more than fit into memory; give fewer") from None
            contents = self.contents(argument, parameters, rng) if own else zeros
            if contents.size < count:
                contents = np.resize(contents, min(count, _MOST_FILLED // size))
            found[argument.buffer_name] = max(
                Buffer(count * size, contents),
                found.get(argument.buffer_name, Buffer(0)),
                key=lambda each: each.nbytes,
            )
        return found

    def executed_results(self, parameters: Parameters, job: Job, dispatches: int) -> dict[str, NDArray[np.generic]]:
        """Return the contents of all buffers after *dispatches* of a job, all of whose work-groups are executed."""
        buffers, module = {name: each.filled() for name, each in job.buffers.items()}, self.module(parameters)
        for each in islice(cycle(job.dispatches), dispatches):
            execute(program(module, each.kernel), each.on_host(buffers), each, range(prod(each.groups)))
        return buffers

    def demand(self, parameters: Parameters, device: Device, *, restrict: bool = False) -> Demand:
        """Return the demand of a dispatch on a device, from the execution of some of its work-groups.

        A run asks several times for each point: demands are kept, also by the classes of instructions, because
        calibrated rates may change what compilers emit.
        """
        architecture, module = device.architecture, self.module(parameters, restrict=restrict)
        unrolled, joins = architecture.unrolled_iterations, not architecture.groups_as_loops
        kernel = program(module, self.fields.kernel, unrolled, joins=joins)
        shape = self.dispatch(parameters, {})
        placement = placed(device, kernel, shape)
        listed = architecture.rates_per_cycle, architecture.latency_cycles
        classes = [(*each, *emitted_as(architecture, each).values()) for each in listed]
        known, key = _DEMANDS.setdefault(self, {}), (kernel, placement, *classes, *parameters.items())
        if key not in known:
            arguments = shape.on_host(self.host_buffers(parameters))
            demand = dispatch_demand(kernel, arguments, shape, device, placement)
            for argument, access in product(self.buffers, demand.accesses):
                if access.buffer == argument.name:
                    self.check_elements(argument, parameters, -(-access.end // argument.element_bytes), access.line)
            known[key] = replace(
                demand,
                ping_pong=self.fields.swap is not None,
                idle_items=prod(shape.global_size) - prod(self.wanted(parameters)),
            )
        return known[key]


_DEMANDS = WeakKeyDictionary[Formulas, dict[tuple[Hashable, ...], Demand]]()
"""Of dispatches of each kernel."""


def _converted(values: NDArray[np.generic], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def expected_results(formulas: Formulas, parameters: Parameters, job: Job) -> Mapping[str, NDArray[np.generic]]:
    """Return the contents of buffers after one dispatch of each kernel, by their names in the job.

    Expressions are evaluated; a function is imported from its file and called.
    """
    fields = formulas.fields
    known: dict[str, Any] = dict(formulas.names(parameters))
    buffers, handles = dict[str, Argument](), dict[str, str]()
    for step, dispatch in zip(formulas.steps, job.dispatches, strict=False):
        for argument, value in zip(step.arguments, dispatch.arguments, strict=True):
            name = argument.buffer_name
            if isinstance(value, np.generic) and step is formulas:
                known[name] = np.frombuffer(value, argument.dtype) if argument.lanes > 1 else value
            elif isinstance(value, str) and name not in buffers:
                filled = job.buffers[value].filled()
                known[name] = filled.reshape(-1, argument.lanes) if argument.lanes > 1 else filled
                buffers[name], handles[name] = argument, value
    known |= {f"{name}_": value for name, value in known.items() if iskeyword(name)}
    found = _called(formulas, fields.expect_from, known) if fields.expect_from else _evaluated(formulas, known)
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
    for where, expressions, into in (("let", fields.let, names), ("expect", fields.expect or {}, found)):
        for name, text in expressions.items():
            with formulas.of_field(f"{where}.{name}"):
                into[name] = evaluate(text, names)
    return found


def function_place(reference: str, folder: Path) -> tuple[Path, str]:
    """Return the file and the name of a function that is given as ``module:function``."""
    file, _, function = reference.partition(":")
    return folder / (file if file.endswith(".py") else f"{file}.py"), function


def _called(formulas: Formulas, reference: str, known: Mapping[str, Any]) -> dict[str, Any]:
    path, function = function_place(reference, formulas.folder)
    if not (path.is_file() and function):
        raise formulas.error("expect_from", f"{quoted(reference)} cannot be imported; write module:function")
    what = shorten(reference)
    try:
        return dict(isolated(what, arrays_of, _MOST_S, _MOST_BYTES, what, path, function, known))
    except GpuReportError as error:
        raise formulas.error("expect_from", shorten(str(error), len(what) + 200)) from None
