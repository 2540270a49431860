"""What the source of a kernel determines of its description: arguments, sizes of buffers, work-items."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product, starmap
from keyword import iskeyword
from math import lcm, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.inputs import read_text
from gpureport.kernel_files.description import (
    RESERVED,
    SCALARS,
    TYPES,
    ArgumentFields,
    KernelFields,
    Swept,
    WorkFields,
    shapes_of,
)
from gpureport.kernel_files.execution import host_arguments, program_of
from gpureport.kernel_files.expressions import ExpressionError, evaluate, whole
from gpureport.kernel_files.formulas import SHARED_VALUES, FieldError, Formulas
from gpureport.kernel_files.signature import GLOBAL_ID, signatures
from gpureport.text import listed
from gpureport.trace.compiler import preprocessed
from gpureport.trace.execution import NDRange, execute, local_arrays
from gpureport.trace.program import Access, Parameter, Program

_USUAL = ((256,), (16, 16), (8, 8, 4))
_BASE = 1024
_LARGEST_BASE = 2**24
_FEW = 16
_FACTORS = (1, 2, 4, 8, 16)
"""Sizes at which buffers are measured, as multiples of the smallest one."""
_LOCAL_BYTES = 2**15
_MOST_DEGREE = 3
_MOST_ROUNDS = 5
"""Executions until the sizes of buffers that other buffers index are known."""


def named(fields: KernelFields, folder: Path) -> KernelFields:
    """Return a description with the name of its kernel.

    Raises:
        FieldError: the source contains several kernels, and none is selected.
    """
    if fields.kernel and fields.name:
        return fields
    kernel = fields.kernel
    if not kernel:
        text = preprocessed(read_text(folder / fields.source), folder, fields.build_options)
        found = list(dict.fromkeys(each.name for each in signatures(text)))
        if len(found) != 1:
            what = f"contains the kernels {', '.join(found)}; choose one, such as --kernel {found[0]}" if found else ""
            raise FieldError("kernel", f"{fields.source} {what or 'contains no kernel'}")
        kernel = found[0]
    return fields.model_copy(update={"kernel": kernel, "name": fields.name or kernel.replace("_", " ")})


def completed(fields: KernelFields, folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> KernelFields:
    """Return a description with what its source determines; *arrays* are contents of buffers.

    Raises:
        FieldError: something is missing that the source does not determine; the message says what to give.
        GpuReportError: the compiler of the extra ``trace`` is not installed.
    """
    if not fields.arguments:
        fields = _Kernel(fields, folder, arrays).completed()
    if fields.work.amount:
        return fields
    amount = " * ".join(f"({each})" for each in fields.global_size)
    return fields.model_copy(update={"work": WorkFields(amount=amount, unit="work-items")})


class _Kernel:
    """A kernel while its description is completed."""

    def __init__(self, fields: KernelFields, folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        path = folder / fields.source
        self.fields, self.folder, self.arrays = fields, folder, arrays
        text = preprocessed(read_text(path), folder, fields.build_options)
        signature = next((each for each in reversed(signatures(text)) if each.name == fields.kernel), None)
        self.where = f"{path.name}:{signature.line}: {fields.kernel}" if signature else fields.kernel
        self.body, self.dimensions = (signature.body, signature.dimensions) if signature else (text, 1)

    def completed(self) -> KernelFields:
        """Return the whole description."""
        shape, swept = next(iter(shapes_of(self.fields)), ()), self.fields.swept
        point = {**dict(zip(RESERVED, (*shape, 1, 1), strict=False)), **({swept: _BASE} if swept else {})}
        options = Formulas(self.fields, self.arrays).build_options(point)
        self.program = program_of(self.folder / self.fields.source, options, self.fields.kernel)
        self._change(sizes=self._sizes())
        arguments = tuple(starmap(self._argument, enumerate(self.program.parameters)))
        buffers = {None, *(number for number, each in enumerate(self.program.parameters) if each.kind == "buffer")}
        if buffers.isdisjoint(each.region for each in self.program.accesses):
            raise self._error("arguments", "uses no data of a buffer, so compilers remove all of its code")
        self._change(arguments=arguments, **self._work_items())
        Formulas(self.fields, self.arrays).check_work_groups()
        return self.fields.model_copy(update={"arguments": tuple(self._measured())})

    def _change(self, **fields: object) -> None:
        self.fields = self.fields.model_copy(update=fields)

    def _error(self, field_name: str, message: str) -> FieldError:
        return FieldError(field_name, f"{self.where} {message}")

    # scalars and types
    def _sizes(self) -> Mapping[str, Any]:
        integers = [p for p in self.program.parameters if p.kind == "scalar" and p.dtype.kind in "iu"]
        sizes = dict(self.fields.sizes)
        if not sizes and len(integers) == 1:
            sizes[_readable(integers[0].name)] = Swept(automatic=True)
        if missing := [p.name for p in integers if _readable(p.name) not in sizes]:
            swept = next((name for name, value in sizes.items() if isinstance(value, Swept)), None)
            example = [f"--size {missing[0]}={swept or ('16' if sizes else 'auto')}"]
            example += [f"--size {name}={missing[0]}" for name in missing[1:2] if not sizes]
            what = f"needs {listed(missing)}; give each as a number or an expression of other sizes, such as"
            raise self._error("sizes", f"{what} {' '.join(example)}")
        return sizes

    def _argument(self, number: int, parameter: Parameter) -> ArgumentFields:
        if parameter.dtype.kind == "V" and parameter.kind == "scalar":
            raise self._error("arguments", f"has a structure by value, {parameter.name}, which is not supported")
        known = {"name": parameter.name, "type": self._type(number, parameter)}
        if parameter.kind == "scalar":
            value = _readable(parameter.name) if parameter.dtype.kind in "iu" else "1.0"
            return ArgumentFields.model_validate({**known, "value": value})
        if parameter.kind == "local":
            return ArgumentFields.model_validate({**known, "local": f"{_LOCAL_BYTES} // {parameter.dtype.itemsize}"})
        values = self.fields.data.get(parameter.name, "random")
        return ArgumentFields.model_validate({**known, "elements": "1", "values": values})

    def _type(self, number: int, parameter: Parameter) -> str:
        """Return the declared type; of structures, that of the real numbers in them."""
        name = f"{parameter.type[:-1]}4" if parameter.type.endswith("3") else parameter.type
        if name in TYPES:
            return name
        fields = [each.dtype for each in self.program.accesses if each.region == number and each.dtype.kind == "f"]
        found = max(fields, key=lambda each: each.itemsize, default=parameter.dtype)
        return next(each for each, kind in SCALARS.items() if np.dtype(kind) == found)

    # work-items
    def _work_items(self) -> dict[str, object]:
        fields, guards = self.fields, dict(reversed(list(self._guards())))
        given = fields.global_size or tuple(guards.get(axis, "") for axis in range(self.dimensions))
        if not all(given) or (not fields.global_size and "get_global_size" in self.body):
            example = ",".join([fields.swept or next(iter(fields.sizes), str(_BASE))] * self.dimensions)
            raise self._error(
                "global_size", f"does not determine its work-items; give them, such as --global {example}"
            )
        required, groups = self.program.work_group[: len(given)], fields.work_groups
        local = self.program.local_bytes or any(each.kind == "local" for each in self.program.parameters)
        if groups == "auto" and not required and local:
            example = ",".join(map(str, _USUAL[len(given) - 1]))
            raise self._error("work_groups", f"uses local memory; give its work-group, such as --local {example}")
        return {
            "global_size": given,
            "work_groups": (required,) if required else groups,
            "guarded": fields.guarded or all(axis in guards for axis in range(len(given))),
        }

    def _guards(self) -> Iterator[tuple[int, str]]:
        """Yield dimensions whose index is compared with a size."""
        for match in re.finditer(rf"(?:\b(\w+)\s*=\s*(?:\(\w+\)\s*)?)?{GLOBAL_ID}", self.body):
            index = rf"(?:\b{match[1]}\b|{GLOBAL_ID.replace('([012])', match[2])})" if match[1] else re.escape(match[0])
            compared = rf"{index}\s*(?:<|>=)\s*\(?\s*(\w+)|\b(\w+)\s*\)?\s*(?:>|<=)\s*{index}"
            for other in re.finditer(compared, self.body):
                if (name := _readable(other[1] or other[2])) in self.fields.sizes:
                    yield int(match[2]), name

    # sizes of buffers
    def _measured(self) -> Iterator[ArgumentFields]:
        """Yield the arguments with the elements that the kernel touches, as expressions of the swept size."""
        swept, values = self.fields.swept, self._values()
        between = [value + 1 for value in values] if len(values) > 1 and self._takes(values[0] + 1) else []
        found, odd = ([self._touched(self._point(value)) for value in each] for each in (values, between))
        for number, argument in enumerate(self.fields.arguments):
            if argument.kind == "scalar":
                yield argument
                continue
            counts, more = (self._elements(number, each) for each in (found, odd))
            text = _enough(swept, values, counts, between, more)
            if text is None:
                what = (
                    f"accesses {argument.name} up to an element that is no polynomial of {swept}; write a description "
                    "with arguments and their elements"
                )
                raise self._error("arguments", what)
            if argument.kind == "local":
                yield argument.model_copy(update={"local": self._by_work_item(text)})
            else:
                yield argument.model_copy(update={"elements": text, "access": found[0].access(number)})

    def _takes(self, value: int) -> bool:
        """Return whether the swept size may have this value, no multiple of a work-group."""
        try:
            Formulas(self.fields, self.arrays).wanted(self._point(value))
        except FieldError:
            return False
        return self.fields.guarded and self.fields.multiple_of is None

    def _elements(self, number: int, found: "Sequence[_Extents]") -> list[int]:
        """Return the elements of a buffer that executions touch."""
        numbers, nbytes = self._swapped(number), self.fields.arguments[number].element_bytes
        return [-(-max(1, *(each.ends.get(n, 1) for n in numbers)) // nbytes) for each in found]

    def _by_work_item(self, text: str) -> str:
        """Return a number of elements in local memory as a multiple of the work-items of a group, if it is one."""
        local = Formulas(self.fields, {}).local_size(self._point(0))
        if not text.isdecimal() or int(text) % prod(local):
            return text
        return " * ".join([str(int(text) // prod(local)), *RESERVED[: len(local)]])

    def _point(self, value: int) -> dict[str, int]:
        shape = next(iter(shapes_of(self.fields)), _USUAL[len(self.fields.global_size) - 1])
        return {**({self.fields.swept: value} if self.fields.swept else {}), **dict(zip(RESERVED, shape, strict=False))}

    def _values(self) -> list[int]:
        """Return sizes with several work-groups in each dimension; of a fixed grid, larger than its work-items."""
        swept = self.fields.swept_values
        if swept is None or len(swept.listed) == 1:
            return [*swept.listed] if swept else [0]
        formulas, base = Formulas(self.fields, self.arrays), self.fields.multiple_of or 1

        def is_small() -> bool:
            try:
                items, more = (formulas.wanted(self._point(factor * base)) for factor in (1, 2))
            except FieldError:
                return True
            groups = [n // size for n, size in zip(items, formulas.local_size(self._point(base)), strict=True)]
            return base < 2 * prod(items) if items == more and all(items) else min(groups) < 2

        while is_small() and base < _LARGEST_BASE:
            base *= 2
        return [base * factor for factor in _FACTORS]

    def _swapped(self, number: int) -> Sequence[int]:
        """Return the numbers of the buffers that dispatches exchange if one of them has this number, else only this."""
        names, swap = [each.name for each in self.fields.arguments], self.fields.swap or ()
        return [names.index(each) for each in swap] if names[number] in swap else [number]

    def _touched(self, parameters: Mapping[str, int]) -> "_Extents":
        """Execute work-groups at corners and within, until buffers that index others are large enough."""
        extents = self._executed(parameters)
        for _ in range(_MOST_ROUNDS if self.fields.data or self.arrays else 0):
            before, extents = extents, self._executed(parameters, extents)
            if extents.ends == before.ends:
                break
        names = [self.fields.arguments[number].name for number in self._indices(extents)]
        usual = self._executed(parameters, extents) if names else extents
        for name in names:
            if self._executed(parameters, extents, name).outcome != usual.outcome:
                what = f"uses the integers in {name} as indices; give its contents, such as"
                raise self._error("data", f"{what} --data {name}=random(0,{self.fields.swept or 1000})")
        return extents

    def _indices(self, extents: "_Extents") -> Iterator[int]:
        """Yield the buffers of integers that are read and have no given contents."""
        for number, argument in enumerate(self.fields.arguments):
            given = argument.name in self.arrays or argument.name in self.fields.data
            if argument.kind == "buffer" and argument.dtype.kind in "iu" and number in extents.read and not given:
                yield number

    def _executed(
        self, parameters: Mapping[str, int], known: "_Extents | None" = None, changed: str = ""
    ) -> "_Extents":
        """Execute work-groups with buffers of the *known* sizes; the buffer *changed* contains small integers."""
        arguments, lengths = [], dict[int, int]()
        for number, each in enumerate(self.fields.arguments):
            elements = -(-known.ends.get(number, 0) // each.element_bytes) if known else 1
            if known and each.name in self.fields.data:
                elements = max(elements, self._length(each, parameters))
                lengths[number] = elements * each.element_bytes
            arguments.append(each.model_copy(update={"elements": str(max(1, elements))}) if each.elements else each)
        formulas = Formulas(self.fields.model_copy(update={"arguments": tuple(arguments)}), self.arrays)
        shape = NDRange(formulas.global_size(parameters), formulas.local_size(parameters))
        computed = {*self.fields.data, *self.arrays} if known else ()
        host = [
            (np.arange(array.size) % 3).astype(array.dtype) if each.name == changed else array
            for array, each in zip(host_arguments(formulas, parameters, computed, _Extremes()), arguments, strict=True)
        ]
        extents = _Extents(self.program, host)
        done = execute(self.program, host, shape, _corners(shape.groups), 32, extents)
        extents.operations = dict(done.operations)
        extents.ends |= {number: max(length, extents.ends.get(number, 0)) for number, length in lengths.items()}
        return extents

    def _length(self, argument: ArgumentFields, parameters: Mapping[str, int]) -> int:
        """Return the elements of given data; 1 of those of any length."""
        names = Formulas(self.fields, {}).names(parameters)
        if argument.values in SHARED_VALUES:
            return 1
        try:
            found = evaluate(argument.values, names, {"random": lambda low, high: low + 0 * high})
        except ExpressionError as error:
            raise FieldError("data", f"{argument.name}: {error}") from None
        return int(np.size(found)) // argument.lanes


@dataclass
class _Extents:
    """Records the end of what each argument's accesses touch, bytes by its number, and which are read and written."""

    program: Program
    arguments: Sequence[Any]
    ends: dict[int, int] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    operations: Mapping[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> tuple[object, ...]:
        """What depends on the contents of buffers only if these decide which data are accessed."""
        return self.ends, self.operations

    def access(self, number: int) -> str:
        """Return how an argument is accessed."""
        return ("read_write" if number in self.read else "write") if number in self.written else "read"

    def accessed(
        self,
        access: Access,
        buffer: int,
        offsets: NDArray[np.int64],
        waves: NDArray[np.int64],  # noqa: ARG002
    ) -> float:
        """Record an access of all lanes."""
        if buffer == -1:
            self._record_local(offsets, access.nbytes)
        elif buffer >= 0:
            self._check_index(access, buffer, int(offsets.max(initial=0)) // access.dtype.itemsize)
            self._record(buffer, int(offsets.max(initial=0)) + access.nbytes)
            self.written |= {buffer} if access.write else set()
            self.read |= set() if access.write and not access.atomic else {buffer}
        return 0.0

    def synchronised(self, line: int, waves: NDArray[np.int64]) -> None:
        """Ignore a barrier."""

    def _check_index(self, access: Access, buffer: int, index: int) -> None:
        """Refuse what a negative number of 32 bits is without its sign."""
        if 2**31 <= index < 2**32:
            place, name = f"{self.program.file}:{access.line}", self.program.parameters[buffer].name
            raise InputError(f"{place}: accesses {name}[{index}]; is the index negative?")

    def _record(self, number: int, end: int) -> None:
        self.ends[number] = max(self.ends.get(number, 0), end)

    def _record_local(self, offsets: NDArray[np.int64], nbytes: int) -> None:
        numbers = [number for number, each in enumerate(self.program.parameters) if each.kind == "local"]
        own = local_arrays(self.program, self.arguments)[len(self.program.local_arrays) :]
        for number, each in zip(numbers, own, strict=True):
            inside = offsets[(offsets >= each.offset) & (offsets < each.offset + each.nbytes)]
            if inside.size:
                self._record(number, int(inside.max()) - each.offset + nbytes)


class _Extremes(np.random.Generator):
    """Draws only the smallest and the largest integer, so that few draws reach both ends of a buffer."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, low: Any, high: Any, size: Any, **_: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return both in turn."""
        return np.where(np.arange(size) % 2, low, high - 1)


def _corners(groups: Sequence[int]) -> list[int]:
    """Return the numbers of the work-groups at the corners of a range, and of one in its middle; of a few, all."""
    if prod(groups) <= _FEW:
        return [*range(prod(groups))]
    steps = [prod(groups[:axis]) for axis in range(len(groups))]
    places = [*product(*({0, count - 1} for count in groups)), tuple(count // 2 for count in groups)]
    return sorted({sum(at * step for at, step in zip(place, steps, strict=True)) for place in places})


def _enough(name: str, xs: Sequence[int], ys: Sequence[int], odd: Sequence[int], more: Sequence[int]) -> str | None:
    """Return an expression with the values *ys* at *xs*, or larger ones if others do not have *more* at *odd* sizes."""
    text = _polynomial(name, xs, ys)
    if text is None or all(whole(text, {name: x}) >= y for x, y in zip(odd, more, strict=True)):
        return text
    other = _polynomial(name, odd, more) or text
    enough = all(whole(other, {name: x}) >= y for x, y in zip(xs, ys, strict=True))
    return other if enough else f"max({text}, {other})"


def _polynomial(name: str, xs: Sequence[int], ys: Sequence[int]) -> str | None:
    """Return the expression of lowest degree with these values; ``None`` if they need a higher degree than 3."""
    for degree in range(min(_MOST_DEGREE + 1, max(1, len(xs) - 1))):
        found = _through(xs[: degree + 1], [*map(Fraction, ys[: degree + 1])])
        if all(sum(c * x**i for i, c in enumerate(found)) == y for x, y in zip(xs, ys, strict=True)):
            return _text(name, found)
    return None


def _through(xs: Sequence[int], ys: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of the polynomial through these points, the constant first: y + (x - first) * rest."""
    if not xs:
        return []
    (first, *others), (y, *values) = xs, ys
    rest = _through(others, [(value - y) / Fraction(x - first) for x, value in zip(others, values, strict=True)])
    return [a - first * b for a, b in zip([y, *rest], [*rest, Fraction(0)], strict=True)]


def _text(name: str, coefficients: Sequence[Fraction]) -> str:
    common = lcm(*(each.denominator for each in coefficients))
    parts = []
    for power, each in reversed([*enumerate(coefficients)]):
        if factor := int(each * common):
            names = " * ".join([name] * power)
            parts.append({1: "", -1: "-"}.get(factor, f"{factor} * ") + names if names else str(factor))
    total = " + ".join(parts).replace("+ -", "- ") or "0"
    rounded = total if common == 1 else f"-(-({total}) // {common})"
    return rounded if min(coefficients) >= 0 else f"max(1, {rounded})"


def _readable(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name
