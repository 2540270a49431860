"""What the source of a kernel determines: arguments, sizes of buffers, work-items."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from keyword import iskeyword
from math import gcd, lcm, prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.inputs import read_text
from gpureport.kernel_files.description import RESERVED, ArgumentFields, KernelFields, Swept, WorkFields, steps_of
from gpureport.kernel_files.expressions import whole
from gpureport.kernel_files.formulas import Argument, Formulas
from gpureport.spec.reading import Document
from gpureport.text import listed, suggestion
from gpureport.trace.compiler import preprocessed
from gpureport.trace.execution import Recorder, execute, local_arrays
from gpureport.trace.program import LOCAL, Access, Parameter, Program

_FIELDS = {"buffer": ("elements", "values", "buffer"), "scalar": ("value",), "local": ("local",)}
_BASE = 1024
_LARGEST_BASE = 2**24
_FEW = 40
"""Work-groups of which all are executed: more than in one dimension at the sizes below."""
_FACTORS = (1, 2, 4, 8, 16)
"""Sizes at which buffers are measured, as multiples of the smallest one."""
_MANY, _FEWEST = 2.0**24, 4
"""Instructions at a size that is the largest one, unless it is among the first few: executing takes long."""
_MOST_ITEMS_OF_ALL, _MOST_OF_ALL = 2**18, 2.0**26
"""Work-items and instructions of a dispatch at the only size, which is executed as a whole: its last element may be
that of any work-group."""
_WAVE = 32
_MOST_ITEMS = 2**17  # of a work-group; executing many more takes minutes and gigabytes
_LOCAL_BYTES, _FEW_BYTES = 2**18, 2**7
_MOST_DEGREE = 3
_MOST_ROUNDS = 5
"""Executions until the sizes of buffers that other buffers index are known."""
_DRAWS = 7
"""Of real numbers, if they determine what is executed."""


def completed(document: Document[KernelFields], folder: Path, arrays: Mapping[str, NDArray[np.generic]]) -> Formulas:
    """Return a kernel and those after it in its sequence, with what their source in *folder* determines.

    Raises:
        InputError: a field is wrong, or something is missing that the source does not determine; the message says what
            to give.
    """
    fields, shared, steps = document.get(), dict[str, Any](), list[Formulas]()
    for number, own in enumerate(steps_of(fields)):
        prefix = f"sequence.{number - 1}." if number else ""
        formulas = Formulas(own.model_copy(update=shared), document, folder.absolute(), arrays, prefix)
        steps.append(_Kernel(formulas).completed())
        shared = {"sizes": steps[0].fields.sizes, "multiple_of": steps[0].fields.multiple}
    first, *later = steps
    if any(len(step.fields.global_size) != len(first.fields.global_size) for step in later):
        raise first.error("sequence", "all kernels need the same number of dimensions in global_size")
    work = fields.work if fields.work.amount else _work_of(first)
    found = first.fields.model_copy(update={"work": work, "name": fields.name or first.fields.kernel.replace("_", " ")})
    return replace(first, fields=found, later=tuple(later))


def _work_of(formulas: Formulas) -> WorkFields:
    """Return the usual work: the work-items, or of a fixed grid the swept size."""
    fields, swept = formulas.fields, formulas.fields.swept_values
    sizes = swept.listed or (_LARGEST_BASE, 2 * _LARGEST_BASE)
    items = [formulas.wanted(fields.point(size)) for size in {sizes[0], sizes[-1]}]
    if len(items) == 2 and items[0] == items[1]:
        return WorkFields(amount=fields.swept, unit=fields.swept)
    parts = (each if each.isidentifier() else f"({each})" for each in fields.global_size)
    return WorkFields(amount=" * ".join(parts), unit="work-items")


class _Kernel:
    """A kernel while its description is completed."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas, self.path, point = formulas, formulas.path, formulas.fields.point(_BASE)
        self._change(kernel=self._name([*formulas.module(point).kernels]))
        self.program = self.formulas.program(point)
        self.body = _body_of(self.path, formulas.build_options(point), self.fields.kernel)
        self.where = f"{self.fields.kernel} ({self.path.name}:{self.program.line})"
        self.given = {each.name: each for each in self.fields.arguments}
        self.depends: bool | None = None
        """Whether the contents of buffers of real numbers determine what is executed."""

    @property
    def fields(self) -> KernelFields:
        return self.formulas.fields

    def _change(self, **fields: object) -> None:
        self.formulas = replace(self.formulas, fields=self.fields.model_copy(update=fields))

    def _error(self, path: str, message: str) -> InputError:
        return self.formulas.error(path, f"{self.where} {message}")

    def _name(self, known: Sequence[str]) -> str:
        kernel, source = self.fields.kernel, self.path.name
        if kernel in known or (not kernel and len(known) == 1):
            return kernel or known[0]
        if kernel or not known:
            what = f"no kernel {kernel!r}{suggestion(kernel, known)}" if known else "no kernel"
            if kernel and re.search(rf"kernel\b[^;{{(]*\b{re.escape(kernel)}\b", read_text(self.path)):
                what = f"{kernel} only under a condition of the preprocessor that is false; define its macros with -D"
            raise self.formulas.error("kernel" if known else "source", f"{source} contains {what}")
        what = f"contains the kernels {', '.join(known)}; choose one, such as {source}:{known[0]}"
        raise self.formulas.error("kernel", f"{source} {what}")

    def completed(self) -> Formulas:
        """Return the kernel with all of its arguments."""
        self._check_arguments()
        given = self.fields.sizes
        arguments = tuple(self._argument(number, each) for number, each in enumerate(self.program.parameters))
        self._determine_work(arguments)
        self._check_work_groups()
        self.formulas = replace(self.formulas, arguments=arguments)
        buffers = {number: each.text for number, each in enumerate(arguments) if each.kind == "buffer"}
        unused = {None, *buffers}.isdisjoint(each.region for each in self.program.accesses)
        if unused and not (buffers and all(buffers.values())):
            why = "it uses no data of a buffer, or its behaviour is undefined (an endless loop, a division by zero)"
            raise self._error("source", f"is without effect, and compilers remove all of its code: {why}")
        measured = tuple(self._measured())
        self.formulas = replace(self.formulas, arguments=measured)
        swept, texts = self.fields.swept, [*self.fields.global_size, *(each.text for each in self.formulas.buffers)]
        if not given and swept and not any(re.search(rf"\b{swept}\b", text) for text in texts):
            what = f"has no buffer or work-items that depend on {swept}; give it as a number, and sweep another size"
            raise self._error("sizes", f"{what}, such as --size {swept}=1 --size n=auto --global n")
        return self.formulas

    def _check_arguments(self) -> None:
        kinds = {each.name: each.kind for each in self.program.parameters}
        for number, each in enumerate(self.fields.arguments):
            path = f"arguments.{number}"
            if each.name not in kinds:
                what = f"has no argument {each.name!r}; it has {', '.join(kinds)}"
                raise self._error(f"{path}.name", what)
            if each.name in [other.name for other in self.fields.arguments[:number]]:
                raise self.formulas.error(f"{path}.name", f"{each.name!r} is given twice")
            fields = _FIELDS[kind := kinds[each.name]]
            if wrong := next((name for name in each.model_fields_set if name not in ("name", *fields)), None):
                what = f"{each.name} is {'local memory' if kind == 'local' else f'a {kind}'} in {self.where}"
                remedy = ", which has no contents" if wrong == "values" else f"; give {fields[0]}"
                raise self.formulas.error(f"{path}.{wrong}", what + remedy)

    def _argument(self, number: int, parameter: Parameter) -> Argument:
        """Return an argument; its expression is empty if executions determine it."""
        given, names = self.given.get(parameter.name, ArgumentFields(name=parameter.name)), [*self.given]
        text = given.elements or given.value or given.local or ""
        if parameter.kind == "scalar" and not text:
            text = f"{parameter.name}{'_' * iskeyword(parameter.name)}" if parameter.dtype.kind in "iu" else "1.0"
        dtype = parameter.dtype if parameter.lanes else self._dtype(number)
        return Argument(
            **vars(replace(parameter, dtype=dtype, lanes={0: 1, 3: 4}.get(parameter.lanes, parameter.lanes))),
            text=text,
            values=given.values,
            buffer_name=given.buffer or parameter.name,
            path=f"arguments.{names.index(parameter.name) if parameter.name in names else parameter.name}",
        )

    def _dtype(self, number: int) -> np.dtype[Any]:
        """Return the type of the numbers in structures that are accessed, of real ones if there are any."""
        found = [each.dtype for each in self.program.accesses if each.region == number]
        usual = self.program.parameters[number].dtype
        return max(found, key=lambda each: (each.kind == "f", each.itemsize), default=usual)

    # sizes and work-items
    def _determine_work(self, arguments: Sequence[Argument]) -> None:
        """Determine sizes, work-items and work-groups; ask at once for all that is missing."""
        fields, scalars = self.fields, {each.name: each.text for each in arguments if each.kind == "scalar"}
        sizes, missing = self._sizes(arguments)
        guards = {axis: scalars[name] for axis, name in reversed([*_guards(self.body)]) if name in scalars}
        dimensions = 1 + max(map(int, re.findall(_GLOBAL_ID.replace("global", r"\w+"), self.body)), default=0)
        items = fields.global_size or tuple(guards.get(axis, "") for axis in range(dimensions))
        if asked := [*self._asked(arguments, sizes, missing, items)]:
            paths, parts, examples = zip(*asked, strict=True)
            raise self._error(paths[0], f"needs {listed(parts)}, such as {' '.join(examples)}")
        self._change(sizes=sizes, global_size=items)
        self._change(guarded=fields.guarded or guards.keys() >= {*range(len(items))})
        if fields.work_groups == "auto":
            required = self.program.work_group[: len(items)]
            self._change(work_groups=(required,) if required else self._dividing())

    def _asked(
        self, arguments: Sequence[Argument], sizes: Mapping[str, Any], missing: Sequence[str], items: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield what nothing determines: its field, its name, and options that may give it."""
        scalars = {each.text for each in arguments if each.kind == "scalar"}
        bounding = [name for name in (*sizes, *missing) if name not in scalars or self._bounds(name)]
        swept = next((name for name in bounding if isinstance(sizes.get(name), Swept)), "")
        first = swept or next(iter(bounding), "n")
        others = swept or ("16" if self.fields.sizes else first)
        values = {name: others if name in bounding else "1" for name in missing}
        values |= {name: "1" for name in sizes if not bounding} | ({} if bounding else {"n": "auto"})
        if first in values and not self.fields.sizes:
            values[first] = "auto"
        given = " ".join(f"--size {name}={value}" for name, value in values.items())
        if missing:
            yield "sizes", f"values of {listed(missing)}", given
        if not all(items) or (not self.fields.global_size and "get_global_size" in self.body):
            new = f"{given} " if values and not missing else ""
            yield "global_size", "its number of work-items", f"{new}--global {','.join([first] * len(items))}"
        local = self.program.local_arrays or any(each.kind == "local" for each in arguments)
        if self.fields.work_groups == "auto" and not self.program.work_group and local:
            usual = ("256", "16,16", "8,8,4")[len(items) - 1]
            yield "work_groups", "its work-group, because it uses local memory", f"--local {usual}"

    def _bounds(self, name: str) -> bool:
        """Whether a value may limit work-items, loops or indices: it is compared, assigned, or within an index."""
        return re.search(rf"(?<![-+*/])[<>=]\s*{name}\b|\[[^\]]*\b{name}\b", self.body) is not None

    def _sizes(self, arguments: Sequence[Argument]) -> tuple[Mapping[str, Any], list[str]]:
        """Return the sizes, and integers without a value; a single one is swept if no size is given."""
        scalars = (each for each in arguments if each.kind == "scalar" and each.dtype.kind in "iu")
        integers = [each.text for each in scalars if each.name not in self.given or not self.given[each.name].value]
        if len(integers) == 1 and not self.fields.sizes:
            return {integers[0]: Swept(automatic=True)}, []
        return self.fields.sizes, [name for name in integers if name not in self.fields.sizes]

    def _dividing(self) -> Literal["auto"] | tuple[tuple[int, ...], ...]:
        """Return that work-groups are searched, or one that divides a fixed number of work-items."""
        items, usual = self.formulas.wanted(self.fields.point(_LARGEST_BASE)), self.fields.shape
        shape = tuple(map(gcd, items, usual))
        return "auto" if self.fields.guarded or shape == usual else (shape,)

    def _check_work_groups(self) -> None:
        """Refuse work-groups with other dimensions than the work-items, or other ones than the kernel requires."""
        dimensions, shapes = len(self.fields.global_size), self.fields.shapes
        if wrong := next((shape for shape in shapes if len(shape) != dimensions), None):
            what = f"{list(wrong)} has {len(wrong)} dimensions, and global_size has {dimensions}"
            raise self.formulas.error("work_groups", what)
        if large := next((shape for shape in shapes if prod(shape) > _MOST_ITEMS), None):
            raise self.formulas.error("work_groups", f"{list(large)} has more than {_MOST_ITEMS} work-items")
        required = self.program.work_group[:dimensions]
        if required and shapes != (required,):
            only = list(required) if dimensions > 1 else required[0]
            what = f"has reqd_work_group_size {' x '.join(map(str, required))}; write {only}, or nothing"
            raise self._error("work_groups", what)

    # sizes of buffers
    def _measured(self) -> Iterator[Argument]:
        """Yield the arguments with the elements that the kernel touches, as expressions of the swept size."""
        arguments, swept = self.formulas.arguments, self.fields.swept
        given = all(each.text for each in arguments)
        values = [self._smallest()] if given else self._values()
        takes_all = self.fields.guarded and self.fields.multiple == 1 and bool(self._items(values[0] + 1))
        between = [value + 1 for value in values] if len(values) > 1 and takes_all else []
        found, odd = ([*self._of_sizes(each, ask=not given)] for each in (values, between))
        if line := next((each.divergent for each in (*found, *odd) if each.divergent), 0):
            remark = "some work-items of a group do not reach this barrier, and its behaviour is undefined"
            self.formulas = replace(self.formulas, remark=f"{self.path.name}:{line}: {remark}")
        if found[0].before:  # at larger sizes, indices of 32 bits may exceed their type
            raise InputError(found[0].before)
        for number, argument in enumerate(arguments):
            counts, more = (self._elements(number, each) for each in (found, odd))
            if argument.text:
                yield argument
                continue
            text = _enough(swept, values[: len(counts)], counts, between[: len(more)], more)
            if text is None:
                what = f"accesses {argument.name} up to an index that is no polynomial of {swept}"
                raise self._error("arguments", f"{what}; write a description that gives its elements")
            yield replace(argument, text=self._by_work_item(text) if argument.kind == "local" else text)

    def _of_sizes(self, values: Sequence[int], *, ask: bool) -> Iterator["_Extents"]:
        """Yield what executions at sizes touch, up to the first one that is long; *ask* for contents of indices."""
        for number, value in enumerate(values, 1):
            yield (found := self._touched(self.fields.point(value), ask=ask))
            if sum(found.issued.values()) > _MANY and number >= _FEWEST:
                return

    def _items(self, value: int) -> tuple[int, ...]:
        """Return the work-items at a size; none if expressions are invalid there."""
        with suppress(InputError):
            return self.formulas.wanted(self.fields.point(value))
        return ()

    def _elements(self, number: int, found: "Sequence[_Extents]") -> list[int]:
        """Return the elements that executions touch of a buffer, or of two that dispatches exchange."""
        names, swap = [each.name for each in self.formulas.arguments], self.fields.swap or ()
        numbers = [names.index(each) for each in swap] if names[number] in swap else [number]
        nbytes = self.formulas.arguments[number].element_bytes
        return [-(-max(1, *(each.ends.get(n, 1) for n in numbers)) // nbytes) for each in found]

    def _by_work_item(self, text: str) -> str:
        """Return a number of elements in local memory as a multiple of the work-items of a group, if it is one."""
        local = self.formulas.local_size(self.fields.point(0))
        if not text.isdecimal() or int(text) % prod(local):
            return text
        factor = int(text) // prod(local)
        return " * ".join([*([str(factor)] if factor > 1 else []), *RESERVED[: len(local)]])

    def _values(self) -> list[int]:
        """Return sizes with several work-groups in each dimension that grows; of a fixed grid, above or below it."""
        swept = self.fields.swept_values
        largest = swept.listed[-1] if swept.listed else swept.high  # far below a fixed grid: loops may be long
        if len(swept.listed) == 1:
            return [*swept.listed]
        formulas, base = self.formulas, self.fields.multiple_of or 1

        def is_small() -> bool:
            items, more = self._items(base), self._items(2 * base)
            if items == more and all(items):
                return not items or base < (2 * prod(items) if 2 * largest > prod(items) else largest / _FACTORS[-1])
            sizes = zip(items, more, formulas.local_size(self.fields.point(base)), strict=False)
            return not items or any(not n or n < min(other, 2 * size) for n, other, size in sizes)

        while is_small() and base < _LARGEST_BASE:
            base *= 2
        return [base * factor for factor in _FACTORS]

    def _smallest(self) -> int:
        """Return a small size that the description allows."""
        swept = self.fields.swept_values
        if swept.listed:
            return swept.listed[0]
        first, last = self.formulas.ends
        return min(max(first, self._values()[0]), last)

    def _touched(self, parameters: Mapping[str, int], *, ask: bool) -> "_Extents":
        """Execute work-groups at corners and within, until buffers that index others are large enough."""
        given = {*self.formulas.arrays, *(a.name for a in self.fields.arguments if "values" in a.model_fields_set)}
        reals = {each.name for each in self.formulas.buffers if each.dtype.kind == "f"}
        extents = self._repeated(parameters, self._executed(parameters), given)
        if self.depends is None and not reals:
            self.depends = False
        elif self.depends is None:
            without = self._executed(parameters, extents, given - reals)
            try:
                drawn = self._executed(parameters, extents, given | reals)
            except InputError as error:
                what = f"with random numbers in {listed(sorted(reals))}; give their contents, such as --data"
                raise InputError(f"{error} ({what} '{min(reals)}=0')") from None
            self.depends = (without.ends, without.issued) != (drawn.ends, drawn.issued)
        if self.depends:
            given |= reals
            extents = self._repeated(parameters, extents, given, _DRAWS)
        read = {each.region for each in self.program.accesses if not each.write or each.atomic}
        names = [a.name for number, a in enumerate(self.formulas.arguments) if number in read and a.dtype.kind in "iu"]
        names = [name for name in names if ask and name not in given]
        if limits := self._limits(parameters, extents, given, names):
            examples = " ".join(f"--data '{name}=random(0,{limit})'" for name, (_, limit) in limits.items())
            indices = [name for name, (is_index, _) in limits.items() if is_index]
            others = [name for name in limits if name not in indices]
            does = [f"uses the integers in {listed(indices)} as indices"] if indices else []
            does += [f"decides by the integers in {listed(others)} what it executes"] if others else []
            raise self._error("arguments", f"{' and '.join(does)}; give their contents, such as {examples}")
        return extents

    def _repeated(
        self, parameters: Mapping[str, int], extents: "_Extents", given: Collection[str], draws: int = 1
    ) -> "_Extents":
        """Execute with contents of the *given* buffers, drawn several times, until sizes of buffers are known."""
        for _ in range(_MOST_ROUNDS if given else 0):
            before, issued = extents, 0.0
            for draw in range(draws):
                found = self._executed(parameters, before, given, draw=draw)
                extents = found.together(extents) if draw else found
                issued += sum(found.issued.values())
                if issued > _MANY:
                    break
            if extents.ends == before.ends:
                break
        return extents

    def _limits(
        self, parameters: Mapping[str, int], extents: "_Extents", given: Collection[str], names: Sequence[str]
    ) -> dict[str, tuple[bool, object]]:
        """Return the buffers on whose contents depends what is executed, if all *names* have some.

        Each has whether it depends on them what is accessed, and what numbers may be below.
        """

        def outcome(without: str = "") -> "_Extents":
            return self._executed(parameters, extents, given, {*names} - {without})

        usual, found = outcome() if names else extents, dict[str, tuple[bool, object]]()
        for name in names:
            other = outcome(name)
            indexed = other.moved(usual)
            alike = (other.ends, other.issued) == (usual.ends, usual.issued)
            if alike and (not indexed or self._is_possible(parameters, extents, {*given, name})):
                continue
            flags = not indexed and next(a.dtype.itemsize == 1 for a in self.formulas.buffers if a.name == name)
            local = [usual.elements[number] for number in indexed & usual.elements.keys()]
            found[name] = bool(indexed), min(local, default=2 if flags else self.fields.swept or 1000)
        return found

    def _is_possible(self, parameters: Mapping[str, int], extents: "_Extents", given: Collection[str]) -> bool:
        """Return whether a kernel accesses only its arrays in local memory if buffers have the *given* contents."""
        with suppress(InputError):
            return bool(self._executed(parameters, extents, given))
        return False

    def _executed(
        self,
        parameters: Mapping[str, int],
        known: "_Extents | None" = None,
        given: Collection[str] = (),
        changed: Collection[str] = (),
        draw: int = 0,
    ) -> "_Extents":
        """Execute work-groups with buffers of the *known* sizes.

        Those that are *given* have their contents, by one *draw* of :class:`_Extremes`; *changed* ones have small
        integers; all others are zero.
        """
        ends = known.ends if known else {}
        sized = (self._sized(each, ends.get(n, _FEW_BYTES)) for n, each in enumerate(self.formulas.arguments))
        few = (replace(a, values=f"arange({a.lanes} * ({a.text})) % 3") if a.name in changed else a for a in sized)
        formulas = replace(self.formulas, arguments=tuple(few))
        shape, program = formulas.dispatch(parameters, {}), formulas.program(parameters)
        host = shape.on_host(formulas.host_buffers(parameters, {*given, *changed}, _Extremes(draw)))
        extents = _Extents(program, prod(shape.local_size), host)
        groups, total = _corners(shape.groups), prod(shape.groups)
        extents.issued = execute(program, host, shape, groups, _WAVE, extents).issued
        is_small = prod(shape.global_size) <= _MOST_ITEMS_OF_ALL and len(self.fields.swept_values.listed) == 1
        if is_small and sum(extents.issued.values()) / len(groups) * total <= _MOST_OF_ALL:
            execute(program, host, shape, range(total), _WAVE, extents)
        return extents

    def _sized(self, argument: Argument, nbytes: int) -> Argument:
        """Return an argument of which *nbytes* are accessed, as far as is known; of local memory enough."""
        most = _LOCAL_BYTES if argument.kind == "local" else nbytes
        return replace(argument, text=argument.text or str(-(-most // argument.element_bytes)))


@dataclass
class _Extents(Recorder):
    """Records the end of what each argument's accesses touch, bytes by its number."""

    program: Program
    items: int  # of a group
    arguments: Sequence[Any]
    ends: dict[int, int] = field(default_factory=dict)
    """Also of declared arrays in local memory, by numbers below 0, whose *elements* are known."""
    elements: dict[int, int] = field(default_factory=dict)
    places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """How often an access accesses an argument, by the numbers of both, and the sum of its offsets."""
    issued: Mapping[str, float] = field(default_factory=dict)
    before: str = ""
    """Problem of an access before the first element of a buffer."""
    divergent: int = 0  # line of a barrier that only some work-items of a group reach

    def accessed(
        self,
        access: Access,
        buffer: int,
        offsets: NDArray[np.int64],
        waves: NDArray[np.int64],  # noqa: ARG002
    ) -> float:
        """Record an access of all lanes."""
        if buffer >= 0:
            size = access.dtype.itemsize
            self._check_index(access, buffer, int(offsets.min(initial=0)) // size, int(offsets.max(initial=0)) // size)
            self._record(access, buffer, offsets)
        elif buffer == LOCAL:
            numbers = [*range(-len(self.program.local_arrays), 0)]
            numbers += [number for number, each in enumerate(self.program.parameters) if each.kind == "local"]
            for number, each in zip(numbers, local_arrays(self.program, self.arguments), strict=True):
                inside = offsets[(offsets >= each.offset) & (offsets < each.offset + each.nbytes)]
                if inside.size:
                    self._record(access, number, inside - each.offset)
                if number < 0:
                    self.elements[number] = each.nbytes // access.dtype.itemsize
        return 0.0

    def synchronised(self, line: int, waves: NDArray[np.int64]) -> None:
        """Record a barrier that lanes of *waves* leave, unless they are whole groups."""
        lanes = np.bincount(waves // -(-self.items // _WAVE))
        self.divergent = self.divergent if np.isin(lanes, (0, self.items)).all() else line

    def _check_index(self, access: Access, buffer: int, lowest: int, highest: int) -> None:
        """Refuse what a negative number is without its sign; record an element before the first one."""
        accesses = f"{self.program.file}:{access.line}: accesses {self.program.parameters[buffer].name}"
        if 2**31 <= highest < 2**32 or highest >= 2**48:
            raise InputError(f"{accesses}[{highest}]; is the index negative?")
        if lowest < 0:
            self.before = f"{accesses}[{lowest}], which is before its first element"

    def together(self, other: "_Extents") -> "_Extents":
        """Return what either execution touches."""
        ends = {number: max(self.ends.get(number, 0), other.ends.get(number, 0)) for number in self.ends | other.ends}
        before, divergent = self.before or other.before, self.divergent or other.divergent
        return replace(self, ends=ends, before=before, divergent=divergent)

    def moved(self, other: "_Extents") -> set[int]:
        """Return the arguments of which as many accesses are elsewhere."""
        both = ((key[1], each, other.places.get(key)) for key, each in self.places.items())
        return {number for number, (lanes, total), known in both if known and known[0] == lanes and known[1] != total}

    def _record(self, access: Access, number: int, offsets: NDArray[np.int64]) -> None:
        self.ends[number] = max(self.ends.get(number, 0), int(offsets.max(initial=0)) + access.nbytes)
        lanes, total = self.places.get((access.number, number), (0, 0))
        self.places[access.number, number] = lanes + offsets.size, total + int(offsets.sum())


class _Extremes(np.random.Generator):
    """Draws only the smallest and the largest integer, so that few draws reach both ends of a buffer.

    All real numbers of a buffer are one, with another place in their range in each draw but the first, so that all
    work-items take the same way.
    """

    def __init__(self, draw: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._draw, self._buffers = draw, count()

    def integers(self, low: Any, high: Any, size: Any, dtype: Any = np.int64) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return both in turn."""
        return np.where(np.arange(size) % 2, low, high - 1).astype(dtype)

    def uniform(self, low: Any, high: Any, size: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return numbers at random in the first draw, else one."""
        if not self._draw:
            return super().uniform(low, high, size)
        places = np.random.default_rng(next(self._buffers)).permutation(_DRAWS - 1)
        return np.full(size, low + (high - low) * (places[self._draw - 1] + 0.5) / (_DRAWS - 1))


# the source as text
_GLOBAL_ID = r"\bget_global_id\s*\(\s*([012])\s*\)"


def _body_of(path: Path, options: str, kernel: str) -> str:
    """Return the code of a *kernel* up to the next one; all of the file if it does not declare it."""
    code = preprocessed(read_text(path), path.parent, options)
    declared = re.search(rf"\b(?:__)?kernel\b[^;{{}}]*?\b{re.escape(kernel)}\s*\([^;{{}}]*\{{", code)
    return re.split(r"\b(?:__)?kernel\b", code[declared.end() :])[0] if declared else code


def _guards(body: str) -> Iterator[tuple[int, str]]:
    """Yield the dimensions whose index is compared with a name, and the name."""
    for match in re.finditer(rf"(?:\b(\w+)\s*=\s*(?:\(\w+\)\s*)?)?{_GLOBAL_ID}", body):
        same = _GLOBAL_ID.replace("([012])", match[2])
        index = rf"(?:\b{match[1]}\b|{same})" if match[1] else same
        compared = rf"{index}\s*(?:<|>=)\s*\(?\s*(\w+)|\b(\w+)\s*\)?\s*(?:>|<=)\s*{index}"
        for other in re.finditer(compared, body):
            yield int(match[2]), other[1] or other[2]


def _corners(groups: Sequence[int]) -> list[int]:
    """Return the numbers of the work-groups at the corners of a range, and of one in its middle; of a few, all."""
    if prod(groups) <= _FEW:
        return [*range(prod(groups))]
    places = [*product(*({0, count - 1} for count in groups)), tuple(count // 2 for count in groups)]
    return sorted({int(np.ravel_multi_index(place, groups, order="F")) for place in places})


def _enough(name: str, xs: Sequence[int], ys: Sequence[int], odd: Sequence[int], more: Sequence[int]) -> str | None:
    """Return an expression with the values *ys* at *xs*, or *more* at *odd* sizes, that is enough at the others."""
    every = [*zip((*xs, *odd), (*ys, *more), strict=True)]
    texts = [text for of in ((xs, ys), (odd, more)) if of[0] and (text := _polynomial(name, *of))]
    for text in [*texts, f"max({', '.join(texts)})"] if texts else ():
        if all(whole(text, {name: x}) >= y for x, y in every):
            return text
    return _bound(name, *zip(*every, strict=True))


def _polynomial(name: str, xs: Sequence[int], ys: Sequence[int]) -> str | None:
    """Return the expression of lowest degree with these values; ``None`` if they need a higher degree than 3."""
    for degree in range(min(_MOST_DEGREE + 1, max(1, len(xs) - 1))):
        found = _through(xs[: degree + 1], [*map(Fraction, ys[: degree + 1])])
        if all(sum(c * x**i for i, c in enumerate(found)) == y for x, y in zip(xs, ys, strict=True)):
            return _text(name, found)
    is_last = {y == max(ys) for x, y in zip(xs, ys, strict=True) if 4 * x >= max(xs)}
    return str(max(ys)) if is_last == {True} else None


def _bound(name: str, xs: Sequence[int], ys: Sequence[int]) -> str | None:
    """Return a multiple of a power of the size, plus the largest remainder, that is at most twice the values.

    If the values do not grow any more at the largest sizes, return the largest one.
    """
    for degree in range(1, _MOST_DEGREE + 1):
        factor = round(ys[-1] / xs[-1] ** degree)
        powers = [factor * x**degree for x in xs]
        if factor and all(2 * y > power for y, power in zip(ys, powers, strict=True)):
            rest = max(0, *(y - power for y, power in zip(ys, powers, strict=True)))
            return _text(name, [Fraction(rest), *[Fraction(0)] * (degree - 1), Fraction(factor)])
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
