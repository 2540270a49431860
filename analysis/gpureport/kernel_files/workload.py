"""A kernel of the user as a workload: sizes, data, demand, verification."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.inputs import read_text
from gpureport.kernel_files.description import MOST_SIZE, MULTIPLES
from gpureport.kernel_files.formulas import Formulas, expected_results, function_place
from gpureport.records.curves import Axis, Metric
from gpureport.spec.models import Device, PresentDevice
from gpureport.text import shorten
from gpureport.trace.compiler import preprocessed
from gpureport.trace.program import Program
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Sweep, Workload

_MOST_TEXT = 72
"""Characters of a source line that reports show."""
_LEAST_BYTES = 2**16
_MOST_SKIPPED_BYTES = 2**18
_VERIFIED_BYTES = (2**11, 2**13, 2**16)
"""Approximate sizes of all buffers at which results are checked."""
_LARGE = 2.0**24, 2.0**22
"""Most bytes and units of work of the largest size at which they are checked."""
_MOST_CHECKED_BYTES = 2**31
_LONG, _MOST_INSTRUCTIONS = 2**12, 2**16
"""Instructions of a work-item with long loops, and at the largest size if these grow."""
_MOST_COMPUTED = 2**27
"""Elements of contents that are expressions."""
_SHAPES_3D = ((64, 1, 1), (256, 1, 1), (32, 4, 1), (64, 4, 1), (8, 8, 4), (16, 4, 4), (32, 4, 2), (32, 8, 4))
_TOLERANCES = {"f2": 1e-2, "f4": 1e-5, "f8": 1e-12}


_EXECUTED = "Its results at small sizes are compared with those of the kernel executed on the host."


class KernelFileWorkload(Workload):
    """A kernel of the user. Parameters of a point: its sizes, ``local_x``, ``local_y``, ``local_z``."""

    essential = True
    described = True

    def __init__(self, formulas: Formulas) -> None:
        """Describe a kernel.

        Raises:
            InputError: an expression is invalid, or sizes do not fit together.
        """
        self.formulas = formulas
        self.fields = fields = formulas.fields
        self.title, self.variant = fields.name, fields.kernel
        self.family = re.sub(r"[^a-z0-9]+", "_", fields.name.lower()).strip("_") or "kernel"
        self.verification_dispatches = len(formulas.steps)
        self.source = str(formulas.path)
        results = next((f"expect.{name}" for name in fields.expect or ()), "expect_from")
        self.place = str(formulas.error(results, fields.name)) if self.is_verified else ""
        self.metric = Metric(kind="rate", unit=fields.work.unit, label="rate")
        usual = (_TOLERANCES.get(each.dtype.str[1:], 0.0) for _, each in formulas.every_buffer.values())
        self.tolerance = max(usual, default=0.0) if fields.tolerance is None else fields.tolerance
        self._check()
        self.digest = self._digest()
        self.is_executable = not any(each.has_sub_groups for each in self._programs())
        self.description = self._description()
        per = "sequence" if fields.sequence else "dispatch"
        self.counted = f"{fields.work.amount} {fields.work.unit} per {per}."

    def _digest(self) -> str:
        """Return a hash of the fields, the source with its included files, the function of expected results, arrays."""
        path, options = self.formulas.path, self.build_options(self.verification()[0])
        text = preprocessed(read_text(path), path.parent, options)
        found = blake2b(f"{text}{self.fields!r}".encode(), digest_size=8)
        if self.fields.expect_from:
            found.update(function_place(self.fields.expect_from, self.formulas.folder)[0].read_bytes())
        for name, array in self.formulas.arrays.items():
            found.update(name.encode() + array.tobytes())
        return found.hexdigest()

    def _description(self) -> str:
        said = self.fields.description.strip().rstrip(".")
        scalars = [each for each in self.formulas.arguments if each.kind == "scalar" and each.text != each.name]
        values = ", ".join(f"{each.name} = {each.text}" for each in scalars)
        remarks = [f"{each.remark}." for each in self.formulas.steps if each.remark]
        sentences = [f"{said}." if said else "", f"Scalars: {values}." if values else "", *remarks]
        if not self.is_verified:
            sentences.append(_EXECUTED if self.is_executable else "Its results are not verified.")
        return " ".join(filter(None, sentences))

    def _programs(self) -> list[Program]:
        return [each.program(self.verification()[0]) for each in self.formulas.steps]

    def _local_memory_bytes(self, parameters: Parameters) -> int:
        return max(each.program(parameters).local_bytes(each.dispatch(parameters, {})) for each in self.formulas.steps)

    def _check(self) -> None:
        buffers = self.formulas.every_buffer
        for field, given in (("expect", self.fields.expect or ()), ("swap", self.fields.swap or ())):
            for name in given:
                if name not in buffers:
                    what = f"there is no buffer {name!r}; there are {', '.join(sorted(buffers)) or 'none'}"
                    raise self.formulas.error(f"{field}.{name}" if field == "expect" else field, what)
        for parameters in self.verification():
            for step in self.formulas.steps:
                step.dispatch(parameters, {})
            self.formulas.nbytes(parameters)
            self.formulas.work(parameters)
            self.build_options(parameters)
        for value in self.fields.swept_values.listed:
            if not self._computable(self.formulas.nbytes(self.fields.point(value))):
                what = f"contents that are computed have at most 2^27 elements; {value or 'the given size'} needs more"
                raise self.formulas.error(f"sizes.{self.fields.swept}".rstrip("."), what)
        if self.is_verified:
            parameters = self.verification()[0]
            self.expected(parameters, self.verification_job(parameters, np.random.default_rng(0)), 1)

    @property
    def is_verified(self) -> bool:
        """Whether the description contains expected results."""
        return self.fields.expect is not None or self.fields.expect_from is not None

    def _value_of(self, nbytes: float, shape: Sequence[int], *, odd: bool = False, work: float = inf) -> int:
        """Return the largest swept size whose buffers have at most *nbytes* together; at least the smallest one.

        *odd*: an odd multiple of the size's unit. *work*: the most units of work.

        Raises:
            InputError: the size is ``auto``, and no buffer grows with it.
        """
        unit, (first, _) = self.fields.multiple, self.formulas.ends

        def fits(count: int) -> bool:
            return unit * count < first or self._fits(self.fields.point(unit * count, shape), nbytes, work)

        high = 1
        while unit * high < MOST_SIZE and fits(2 * high):
            high *= 2
        low = high + bisect_left(range(high + 1, 2 * high), True, key=lambda count: not fits(count))
        value = unit * (low - (low % 2 == 0) if odd else low)
        if self.fields.swept_values.automatic and value > MOST_SIZE:
            raise self.formulas.error(f"sizes.{self.fields.swept}", "no buffer grows with it; write a range or a list")
        return value

    def _fits(self, parameters: Parameters, nbytes: float, work: float = inf) -> bool:
        sizes = self.formulas.nbytes(parameters)
        small = sum(sizes.values()) <= nbytes and self._computable(sizes)
        return small and (work == inf or self.formulas.work(parameters) <= work)

    def _shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, ...], ...]:
        written, dimensions = self.fields.shapes, len(self.fields.global_size)
        if written:
            return tuple(shape for shape in written if prod(shape) <= limits.max_work_group)
        if dimensions == 1:
            return tuple((size,) for size in grid.work_groups(device, limits))
        if dimensions == 2:
            return grid.shapes(device, limits)
        return tuple(shape for shape in _SHAPES_3D if prod(shape) <= limits.max_work_group)

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The swept size; and the work-group shapes at a size beyond the caches.

        Raises:
            InputError: the device supports none of the work-groups or sizes.
        """
        shape, shapes = self.fields.shape, self._shapes(device, limits)
        if prod(shape) > limits.max_work_group:
            if self.fields.shapes:
                largest = f"{limits.max_work_group} work-items of the largest work-group of {device.name}"
                raise self.formulas.error("work_groups", f"{' x '.join(map(str, shape))} exceeds the {largest}")
            shape = (limits.max_work_group, *(1 for _ in shape[1:]))
        values, listed = self._values(device, limits, shape), self.fields.swept_values.listed
        possible = list(self._possible((self.fields.point(value, shape) for value in values), limits))
        title = f"size {self.fields.swept}" if self.fields.swept else "the given size"
        coarse = 1 if listed else grid.coarse(limits)
        points = possible if listed else self._from_the_first_octave(possible, coarse)
        most_size = MOST_SIZE
        if (fewer := self._fewer(points, device)) != points:
            points, coarse, most_size = fewer, 1, fewer[-2:][0][self.fields.swept]
        constant = len(points) > 1 and len({self.nbytes(each) for each in points}) == 1
        axis = Axis(quantity="case", label=self.fields.swept) if constant else grid.WORKING_SET
        sizes = Sweep("size", axis, tuple(points), title, coarse)
        if not sizes.points:
            raise self.formulas.error("sizes", f"none fits into the memory of {device.name}")
        most = device.architecture.occupancy.most_local_bytes
        if most and (needed := self._local_memory_bytes(sizes.points[0])) > most:
            what = f"{needed} B of local memory are more than the {most:.0f} B of a compute unit of {device.name}"
            raise self.formulas.error("work_groups", what)
        found = (sizes, self._work_groups(device, limits, shapes, most_size)) if len(shapes) > 1 else (sizes,)
        return tuple(sweep for sweep in found if sweep.points)

    def _from_the_first_octave(self, points: Sequence[Parameters], coarse: int) -> Sequence[Parameters]:
        """Return *points* from the first one that is followed by another measured one of at most twice its work-items.

        Two such points show the time that does not depend on the work. Small sizes that are multiples of a number are
        further apart. Points above :data:`_MOST_SKIPPED_BYTES` are kept.
        """
        items = [prod(self.formulas.global_size(each)) for each in points]
        starts = (i for i, (one, other) in enumerate(zip(items, items[coarse:], strict=False)) if other <= 2 * one)
        start = next(starts, 0)
        skipped = sum(self.formulas.nbytes(points[start]).values()) if start else 0
        return points if skipped > _MOST_SKIPPED_BYTES else points[start:]

    def _fewer(self, points: Sequence[Parameters], device: Device) -> Sequence[Parameters]:
        """Return one of *points* per factor of two of the size, if they have long loops: executing takes long.

        If these grow, and no range is given, the first one at which a work-item has many instructions is the last.
        """
        swept, name, unit = self.fields.swept_values, self.fields.swept, self.fields.multiple
        if swept.listed or not points:
            return points
        first, grow = self._instructions(points[0], device), False
        with suppress(InputError):  # expressions may be invalid below the first size
            smaller = {**points[0], name: max(1, points[0][name] // 4 // unit) * unit}
            grow = first >= 2 * self._instructions(smaller, device)
        if not grow and first < _LONG:
            return points
        few = [points[0]]
        few.extend(each for each in points if each[name] >= 2 * few[-1][name])
        if not swept.automatic:
            return [*(few[:-1] or few[: len(points) - 1]), points[-1]]
        many = (i for i, each in enumerate(few) if grow and self._instructions(each, device) > _MOST_INSTRUCTIONS)
        return few[: next(many, len(few)) + 1]

    def _instructions(self, parameters: Parameters, device: Device) -> float:
        demand = self.demand(parameters, device)
        return demand.operations["instruction"] / (demand.work_items - demand.idle_items)

    def _values(self, device: Device, limits: Limits, shape: Sequence[int]) -> Iterable[int]:
        swept = self.fields.swept_values
        if swept.listed:
            return swept.listed
        if not swept.automatic:
            first, last = self.formulas.ends
            inner = grid.sizes(swept.low, swept.high, grid.multiple(self.fields.multiple))
            return sorted({first, last, *(value for value in inner if first < value < last)})
        most = grid.most_bytes(device, limits, "described", len(self.formulas.every_buffer))
        return sorted({self._value_of(size, shape) for size in grid.sizes(_LEAST_BYTES, most, round)})

    def _possible(self, points: Iterable[Parameters], limits: Limits) -> Iterable[Parameters]:
        """Yield the points whose data fit into the device's memory and can be computed.

        Of sizes that are rounded up to the same work-items, the first, unless all are listed or have the same.
        """
        points = list(points)
        launched = [(self.formulas.local_size(each), self.formulas.global_size(each)) for each in points]
        rounded, seen = len({*launched}) > 1 and not self.fields.swept_values.listed, set()
        for parameters, shape in zip(points, launched, strict=True):
            nbytes = self.formulas.nbytes(parameters)
            most, total = max(nbytes.values(), default=0), sum(nbytes.values())
            fits = total <= limits.max_bytes and most <= limits.max_buffer_bytes and self._computable(nbytes)
            if fits and not (rounded and shape in seen):
                seen.add(shape)
                yield parameters

    def _computable(self, nbytes: Mapping[str, int]) -> bool:
        """Return whether the buffers whose contents are expressions are small enough; *nbytes* are those of all."""
        computed = {name: each for name, (_, each) in self.formulas.every_buffer.items()}
        return all(
            nbytes[name] // each.dtype.itemsize <= _MOST_COMPUTED for name, each in computed.items() if each.is_sized
        )

    def _work_groups(self, device: Device, limits: Limits, shapes: Sequence[tuple[int, ...]], largest: int) -> Sweep:
        if listed := self.fields.swept_values.listed:
            value = listed[-1]
        else:
            most = min(grid.beyond_bytes(device), limits.max_bytes, limits.max_buffer_bytes)
            first, last = self.formulas.ends
            value = max(first, min(self._value_of(most, self.fields.shape), last, largest))
            least = MULTIPLES[0]
            value -= value % least if value > least and least % self.fields.multiple == 0 else 0
        points = []
        for point in (self.fields.point(value, shape) for shape in shapes):
            with suppress(InputError):  # work-items do not divide into its work-groups
                self.formulas.global_size(point)
                points.append(point)
        return grid.by_group_size(self._possible(points, limits), self._size_label(points[0]) if points else "")

    def _size_label(self, parameters: Parameters) -> str:
        swept = self.fields.swept
        return f"{swept} = {parameters[swept]}" if swept else "the given size"

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        """The size of one-dimensional work-groups; other shapes are in the order of the sweep."""
        shape = self.formulas.local_size(parameters)
        by_size = sweep.axis.quantity == "work_group" and len(shape) == 1
        return shape[0] if by_size else super().x(parameters, sweep)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        """The size, or the work-group."""
        if sweep.axis.quantity == "work_group":
            return " x ".join(map(str, self.formulas.local_size(parameters)))
        return self._size_label(parameters)

    def work(self, parameters: Parameters) -> float:
        """The units of work of one dispatch, the mean over a sequence."""
        return self.formulas.work(parameters) / len(self.formulas.steps)

    def work_items(self, parameters: Parameters) -> int:
        """In whole work-groups."""
        return prod(self.formulas.global_size(parameters))

    def nbytes(self, parameters: Parameters) -> int:
        """The size of all buffers."""
        return sum(self.formulas.nbytes(parameters).values())

    def demand(self, parameters: Parameters, device: Device, *, restrict: bool = False) -> Demand:
        """That of work-groups that are executed on the host; of a sequence, that of each kernel."""
        first, *others = (each.demand(parameters, device, restrict=restrict) for each in self.formulas.steps)
        return replace(first, later_dispatches=tuple(others))

    def changes(self, parameters: Parameters, device: Device) -> Iterable[tuple[str, Demand]]:
        """Return the demand with ``restrict``, if pointers lack it."""
        if any(not parameter.noalias for kernel in self._programs() for parameter in kernel.parameters):
            yield "declare all pointers restrict", self.demand(parameters, device, restrict=True)

    def source_line(self, line: int) -> str:
        """The line, without indent, which may be cut."""
        lines = read_text(self.formulas.path).splitlines()
        return shorten(lines[line - 1], _MOST_TEXT) if 0 < line <= len(lines) else ""

    def missing(self, present: PresentDevice) -> str | None:
        """Types and local memory that the device lacks."""
        types = {argument.dtype.str[1:] for step in self.formulas.steps for argument in step.arguments}
        for kind, extension in (("f8", "cl_khr_fp64"), ("f2", "cl_khr_fp16")):
            if kind in types and extension not in present.extensions:
                return f"the device does not support {extension}, which its arguments need"
        needed = self._local_memory_bytes(self.verification()[0])
        if needed > present.local_memory_bytes:
            return f"it needs {needed} bytes of local memory; the device has {present.local_memory_bytes}"
        return None

    def build_options(self, parameters: Parameters) -> str:
        """The description's options and macros."""
        return self.formulas.build_options(parameters)

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random data, or what the description says."""
        buffers, handles = {}, dict[str, str]()
        for name, (step, argument) in self.formulas.every_buffer.items():
            contents = step.contents(argument, parameters, rng)
            # The points of a sweep share buffers of one name, whose contents must then not depend on the size.
            sized = argument.is_sized and name not in step.arrays
            handles[name] = f"{name} {contents.nbytes}" if sized else name
            buffers[handles[name]] = Buffer(self.formulas.nbytes(parameters)[name], contents)
        dispatches = tuple(step.dispatch(parameters, handles) for step in self.formulas.steps)
        job, swap = Job(buffers, dispatches), self.fields.swap
        return job.ping_pong([handles[swap[0]]], [handles[swap[1]]]) if swap else job

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Return the job of a point of :meth:`verification`.

        Raises:
            InputError: results of such a size cannot be checked.
        """
        if (nbytes := sum(self.formulas.nbytes(parameters).values())) > _MOST_CHECKED_BYTES:
            what = f"the smallest needs {format_bytes(nbytes)}, at which results cannot be checked; add a smaller one"
            raise self.formulas.error("sizes", what)
        return self.job(parameters, rng)

    def verification(self) -> Sequence[Parameters]:
        """Small sizes, odd where the kernel allows it, and a large one."""
        shape, listed = self.fields.shape, self.fields.swept_values.listed
        if listed:
            others = listed[2:] if self.is_verified else ()
            large = [n for n in others if self._fits(self.fields.point(n, shape), *_LARGE)]
            values = [*listed[:2], *large[-1:]]
        else:
            first, last = self.formulas.ends
            odd = {self._value_of(nbytes, shape, odd=True) for nbytes in _VERIFIED_BYTES}
            if self.is_verified:
                odd.add(self._value_of(_LARGE[0], shape, odd=True, work=_LARGE[1]))
            values = sorted(value for value in odd if first <= value <= last) or [first]
        return tuple(self.fields.point(value, shape) for value in values)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Evaluate the description's expressions, call its function, or execute all work-groups on the host."""
        if self.is_verified:
            return expected_results(self.formulas, parameters, job)
        return self.formulas.executed_results(parameters, job, dispatches) if self.is_executable else {}
