"""A described kernel as a workload: sizes, data, demand, verification."""

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from keyword import iskeyword
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.kernel_files.description import RESERVED, ArgumentFields, KernelFields, range_of
from gpureport.kernel_files.expressions import ExpressionError, Value, evaluate, number, whole
from gpureport.records.keys import Metric, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.atomics.family import waiting_cycles
from gpureport.workloads.model import (
    Argument,
    Buffer,
    Demand,
    Dispatch,
    Features,
    Job,
    Limits,
    Local,
    Parameters,
    Stream,
    Sweep,
    Workload,
)

_PATTERN_BYTES = 2**22
"""Random data, which larger buffers repeat."""
_LEAST_BYTES = 2**16
_FAR = 16
"""Largest working set of a GPU's sweep, as a multiple of the last cache; half of it on a CPU and for a quick run."""
_MOST_SIZE = 2**40
_VERIFIED_BYTES = (2**11, 2**14, 2**17)
"""Approximate sizes of all buffers at which results are checked."""
_MULTIPLES = (1024, 64, 32)
"""Multiples of unguarded sizes, by the dimensions of the kernel: work-groups then need no rounding."""
_SHAPES: tuple[tuple[int, ...], ...] = ((256,), (32, 8), (32, 4, 2))
"""Work-group shape of sizes' sweeps, by the dimensions of the kernel."""
_SHAPES_3D = ((64, 1, 1), (256, 1, 1), (32, 4, 1), (64, 4, 1), (8, 8, 4), (16, 4, 4), (32, 4, 2), (32, 8, 4))
_TOLERANCES = {"f2": 1e-2, "f4": 1e-5, "f8": 1e-12}
_INSTRUCTIONS = 6.0
"""Assumed instructions of a work-item besides its accesses and declared operations: index, bound, end."""
_ACCESS_INSTRUCTIONS = 3.0
"""Assumed instructions of an access: address and the access itself."""
_ATOMIC_CYCLES = 20.0
_SHARED_VALUES = frozenset({"random", "zeros", "iota"})
"""Initial contents that do not depend on the size of the buffer."""


class FieldError(InputError):
    """A problem of one field of the description."""

    def __init__(self, field: str, message: str) -> None:
        """Describe a problem of the *field* at a dotted path."""
        super().__init__(field, message)
        self.field, self.message = field, message

    def __str__(self) -> str:
        """Field and problem."""
        return f"{self.field}: {self.message}"


class KernelFileWorkload(Workload):
    """One variant of a described kernel. The parameters of a point are its sizes and ``local_x``, ``local_y`` …"""

    essential = True

    def __init__(self, fields: KernelFields, family: str, variant: str, folder: Path) -> None:
        """Use a description whose files are relative to *folder*.

        Raises:
            FieldError: an expression is invalid, or sizes do not fit together.
        """
        self.fields, self.family, self.variant, self.folder = fields, family, variant, folder.absolute()
        self.source = str(self.folder / fields.source)
        self.title = fields.name if variant == fields.kernel else f"{fields.name}, {variant.replace('_', ' ')}"
        self.metric = Metric(kind="rate", unit=fields.work.unit, label="rate")
        self.verification_dispatches = 1
        self.tolerance = self._tolerance()
        self.description = self._description()
        self._check()

    def _tolerance(self) -> float:
        if self.fields.tolerance is not None:
            return self.fields.tolerance
        return max((_TOLERANCES.get(each.dtype.str[1:], 0.0) for each in self.buffers), default=0.0)

    def _description(self) -> str:
        fields = self.fields
        traffic = "Memory traffic is declared in its description."
        operations = "Operations are declared." if fields.operations else "Operations are assumed from the accesses."
        checked = "" if self.is_verified else " Its results are not verified."
        said = f"{fields.description.strip().rstrip('.')}. " if fields.description.strip() else ""
        counted = f"{fields.work.amount} {fields.work.unit} per dispatch."
        return f"{said}{traffic} {operations}{checked} Counted: {counted}"

    def _check(self) -> None:
        """Compare the names of arguments and buffers, and evaluate everything at the verified sizes."""
        fields, names = self.fields, [argument.name for argument in self.fields.arguments]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise FieldError(f"arguments.{position}.name", f"{name!r} is the name of two arguments")
        buffers = {argument.name for argument in self.buffers}
        for field, given in (("expect", fields.expect or ()), ("swap", fields.swap or ())):
            for name in given:
                if name not in buffers:
                    what = f"there is no buffer {name!r}; there are {', '.join(sorted(buffers)) or 'none'}"
                    raise FieldError(f"{field}.{name}" if field == "expect" else field, what)
        dimensions = len(fields.global_size)
        for shape in self._written_shapes():
            if len(shape) != dimensions:
                what = f"{list(shape)} has {len(shape)} dimensions, and global_size has {dimensions}"
                raise FieldError("work_groups", what)
        for parameters in self.verification():
            self._check_point(parameters)

    def _check_point(self, parameters: Parameters) -> None:
        fields = self.fields
        self.global_size(parameters)
        self.work(parameters)
        self._counts("operations", fields.operations, parameters)
        self._counts("chain", fields.chain, parameters)
        for position, argument in enumerate(fields.arguments):
            self._evaluated_argument(position, argument, parameters)
        self.local_memory_bytes(parameters)
        self.build_options(parameters)
        job = self.job(parameters, np.random.default_rng(0))
        self.expected(parameters, job, 1)

    @property
    def is_verified(self) -> bool:
        """Whether the description contains expected results."""
        return self.fields.expect is not None or self.fields.expect_from is not None

    @cached_property
    def buffers(self) -> tuple[ArgumentFields, ...]:
        """The arguments in global memory."""
        return tuple(argument for argument in self.fields.arguments if argument.elements is not None)

    # Sizes

    def names(self, parameters: Parameters) -> dict[str, Value]:
        """Return the sizes of a point and its work-group's dimensions, for expressions."""
        known: dict[str, Value] = dict.fromkeys(RESERVED, 1)
        known |= parameters
        for name, value in self.fields.sizes.items():
            if name not in known:
                known[name] = self._whole(f"sizes.{name}", str(value), known)
        return known

    def _whole(self, field: str, text: str, names: Mapping[str, Value]) -> int:
        try:
            return whole(text, names)
        except ExpressionError as error:
            raise FieldError(field, str(error)) from None

    def _number(self, field: str, text: str, names: Mapping[str, Value]) -> float:
        try:
            return number(text, names)
        except ExpressionError as error:
            raise FieldError(field, str(error)) from None

    def _counts(self, field: str, counts: Mapping[Any, str], parameters: Parameters) -> dict[str, float]:
        names = self.names(parameters)
        return {name: self._number(f"{field}.{name}", text, names) for name, text in counts.items()}

    def elements(self, argument: ArgumentFields, names: Mapping[str, Value]) -> int:
        """Return the elements of a buffer."""
        field = f"arguments.{self.fields.arguments.index(argument)}.elements"
        count = self._whole(field, argument.elements or "0", names)
        if count == 0:
            raise FieldError(field, "is 0; a buffer needs at least one element")
        return count

    def nbytes(self, parameters: Parameters) -> dict[str, int]:
        """Return the bytes of each buffer."""
        names = self.names(parameters)
        return {each.name: self.elements(each, names) * each.element_bytes for each in self.buffers}

    def global_size(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the work-items in each dimension, in whole work-groups."""
        names, local = self.names(parameters), self.local_size(parameters)
        wanted = [self._whole(f"global_size.{i}", each, names) for i, each in enumerate(self.fields.global_size)]
        if not all(wanted):
            raise FieldError("global_size", "a dimension has no work-items")
        if not self.fields.guarded and any(items % size for items, size in zip(wanted, local, strict=True)):
            shape, items = " x ".join(map(str, local)), " x ".join(map(str, wanted))
            raise FieldError(
                "global_size",
                f"{items} work-items do not divide into work-groups of {shape}; change the sizes or work_groups, or "
                "write `guarded: true` if the kernel ignores work-items beyond global_size",
            )
        return tuple(ceil(items / size) * size for items, size in zip(wanted, local, strict=True))

    def local_size(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the work-group's dimensions."""
        return tuple(parameters[name] for name in RESERVED[: len(self.fields.global_size)])

    def work(self, parameters: Parameters) -> float:
        """Return the units of work of one dispatch."""
        amount = self._number("work.amount", self.fields.work.amount, self.names(parameters))
        if amount <= 0:
            raise FieldError("work.amount", f"is {amount:g}; it must be positive")
        return amount

    def local_memory_bytes(self, parameters: Parameters) -> int:
        """Return the local memory of a work-group, from arguments and as declared."""
        names = self.names(parameters)
        passed = (
            self._whole(f"arguments.{i}.local", each.local, names) * each.element_bytes
            for i, each in enumerate(self.fields.arguments)
            if each.local is not None
        )
        return sum(passed) + self._whole("local_memory_bytes", self.fields.local_memory_bytes, names)

    def _multiple(self) -> int:
        if self.fields.multiple_of:
            return self.fields.multiple_of
        return 1 if self.fields.guarded else _MULTIPLES[len(self.fields.global_size) - 1]

    def _with(self, value: int | None, shape: Sequence[int]) -> dict[str, int]:
        """Return the parameters of a point."""
        sizes = {self.fields.swept: value} if self.fields.swept and value is not None else {}
        fixed = {name: int(text) for name, text in self.fields.sizes.items() if isinstance(text, str) and text.isdigit()}
        return {**sizes, **fixed, **dict(zip(RESERVED, shape, strict=False))}

    def _value_of(self, nbytes: float, shape: Sequence[int], *, odd: bool = False) -> int:
        """Return the largest swept size whose buffers have at most *nbytes* together; at least the smallest one.

        *odd*: an odd multiple of the size's unit.
        """
        unit = self._multiple()

        def fits(count: int) -> bool:
            return sum(self.nbytes(self._with(unit * count, shape)).values()) <= nbytes

        high = 1
        while unit * high < _MOST_SIZE and fits(2 * high):
            high *= 2
        low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return unit * (low - (low % 2 == 0) if odd else low)

    # Sweeps

    def _written_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the work-group shapes of the description; none if they are searched."""
        written = self.fields.work_groups
        if written == "auto":
            return ()
        if isinstance(written, int):
            return ((written,),)
        shapes: list[tuple[int, ...]] = []
        for each in written:
            assert not isinstance(each, str)  # noqa: S101 - only 'auto' is text
            if isinstance(each, tuple):
                shapes.append(each)
        numbers = tuple(each for each in written if isinstance(each, int))
        if not numbers:
            return tuple(shapes)
        return tuple((each,) for each in numbers) if len(self.fields.global_size) == 1 else (numbers,)

    def _shape(self) -> tuple[int, ...]:
        """Return the work-group shape of the sweep over sizes."""
        return next(iter(self._written_shapes()), _SHAPES[len(self.fields.global_size) - 1])

    def _shapes(self, device: Device, limits: Limits) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the search for the best one."""
        written, dimensions = self._written_shapes(), len(self.fields.global_size)
        if written:
            return tuple(shape for shape in written if prod(shape) <= limits.max_work_group)
        if dimensions == 1:
            return tuple((size,) for size in grid.work_groups(device, limits))
        if dimensions == 2:  # noqa: PLR2004
            return grid.shapes(limits, device.kind)
        return tuple(shape for shape in _SHAPES_3D if prod(shape) <= limits.max_work_group)

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The swept size; and the work-group shapes at a size beyond the caches."""
        shape = self._shape()
        if prod(shape) > limits.max_work_group and not self._written_shapes():
            shape = (limits.max_work_group, *(1 for _ in shape[1:]))
        values = self._values(device, limits, shape)
        points = [self._with(value, shape) for value in values]
        title = f"size {self.fields.swept}" if self.fields.swept else "the given size"
        sizes = Sweep("size", grid.WORKING_SET, tuple(self._possible(points, limits)), title, grid.coarse(limits))
        shapes = self._shapes(device, limits)
        found = (sizes, self._work_groups(device, limits, shapes)) if len(shapes) > 1 else (sizes,)
        return tuple(sweep for sweep in found if sweep.points)

    def _values(self, device: Device, limits: Limits, shape: Sequence[int]) -> Iterable[int | None]:
        """Return the values of the swept size; a single ``None`` if all sizes are fixed."""
        written = self.fields.sizes[self.fields.swept] if self.fields.swept else None
        if written is None or isinstance(written, tuple):
            return written or (None,)
        if ends := range_of(written):
            return grid.sizes(*ends, grid.multiple(self._multiple()))
        far = _FAR // 2 if limits.quick or device.is_cpu else _FAR
        most = min(far * grid.last_cache_bytes(device), limits.max_bytes)
        return sorted({self._value_of(size, shape) for size in grid.sizes(_LEAST_BYTES, most, round)})

    def _possible(self, points: Iterable[Parameters], limits: Limits) -> Iterable[Parameters]:
        """Yield the points that fit into the device's memory; of equal work-groups and work-items the first."""
        seen = set()
        for parameters in points:
            sizes = self.nbytes(parameters).values()
            shape = self.local_size(parameters), self.global_size(parameters)
            if shape not in seen and sum(sizes) <= limits.max_bytes and max(sizes, default=0) <= limits.max_buffer_bytes:
                seen.add(shape)
                yield parameters

    def _work_groups(self, device: Device, limits: Limits, shapes: Sequence[tuple[int, ...]]) -> Sweep:
        """Return the search for a work-group shape, in the order of the shapes."""
        value, written = None, self.fields.sizes.get(self.fields.swept or "")
        if isinstance(written, tuple):
            value = max(written)
        elif written is not None:
            ends = range_of(written)
            most = min(4 * grid.last_cache_bytes(device), limits.max_bytes, limits.max_buffer_bytes)
            value = min(self._value_of(most, self._shape()), ends[1] if ends else _MOST_SIZE)
            least = prod(_MULTIPLES[:1])
            value -= value % least if value > least and least % self._multiple() == 0 else 0
        points = [point for shape in shapes if self._divides(point := self._with(value, shape))]
        label = f"work-group size at {self._size_label(points[0])}" if points else ""
        axis = grid.by_group_size((), "").axis
        return Sweep("work_group", axis, tuple(self._possible(points, limits)), label)

    def _divides(self, parameters: Parameters) -> bool:
        try:
            self.global_size(parameters)
        except FieldError:
            return False
        return True

    def _size_label(self, parameters: Parameters) -> str:
        swept = self.fields.swept
        return f"{swept} = {parameters[swept]}" if swept else "the given size"

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """The working set is the size of all buffers."""
        nbytes, shape = sum(self.nbytes(parameters).values()), self.local_size(parameters)
        of_groups = sweep.axis.quantity == "work_group"
        x = None if not of_groups else float(shape[0]) if len(shape) == 1 else float(sweep.points.index(parameters))
        return grid.key(
            parameters,
            " x ".join(map(str, shape)) if of_groups else self._size_label(parameters),
            work=self.work(parameters),
            items=prod(self.global_size(parameters)),
            nbytes=nbytes,
            x=x,
        )

    # Demand

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """The declared accesses; instructions besides declared operations are assumed from them."""
        fields, names = self.fields, self.names(parameters)
        local, items = self.local_size(parameters), prod(self.global_size(parameters))
        wanted = prod(self._whole("global_size", each, names) for each in fields.global_size)
        streams = [s for each in self.buffers for s in self._streams(each, names, parameters, device)]
        accesses = sum(stream.elements * stream.passes for stream in streams)
        scattered = sum(self._number("gather", each.gather, names) for each in self.buffers if each.gather)
        operations = self._counts("operations", fields.operations, parameters)
        issued = sum(operations.values())
        lanes = device.architecture.wave_size
        return Demand(
            work_items=items,
            work_group=local,
            streams=tuple(streams),
            operations={
                **operations,
                "memory": accesses,
                "instruction": _INSTRUCTIONS * items + _ACCESS_INSTRUCTIONS * accesses + issued,
            },
            chain={"int32": 8.0, **self._counts("chain", fields.chain, parameters)}
            | self._atomic_chain(names, items, local, device),
            memory_chain=self._memory_chain(names, scattered),
            registers=fields.registers or 32,
            local_memory_bytes=self.local_memory_bytes(parameters),
            lines_per_access=1 + (lanes - 1) * scattered / accesses if accesses else 1.0,
            reused="kernel" if scattered else "dispatch",
            ping_pong=fields.swap is not None,
            in_step=not any(each.atomic for each in self.buffers),
            idle_items=items - wanted,
        )

    def _memory_chain(self, names: Mapping[str, Value], scattered: float) -> float:
        if self.fields.memory_chain is not None:
            return self._number("memory_chain", self.fields.memory_chain, names)
        reads = any(each.access != "write" for each in self.buffers)
        return (2.0 if scattered else 1.0) if reads else 0.0

    def _streams(
        self, argument: ArgumentFields, names: Mapping[str, Value], parameters: Parameters, device: Device
    ) -> Iterable[Stream]:
        """Yield the traffic of one buffer, as declared."""
        record = argument.element_bytes * argument.stride
        used = min(record, argument.used_bytes or argument.element_bytes)
        count = self.elements(argument, names) / argument.stride
        passes, outer = self._passes(argument, names, parameters, device)
        if argument.gather or argument.atomic:
            each = self._number("gather", argument.gather or argument.atomic or "0", names) / count
            sector = device.caches[-1].sector_bytes if device.caches else device.memory.access_bytes
            # Each access without order moves a whole sector.
            passes, outer = each, each * max(1.0, sector / record) if argument.gather else each
        if argument.access != "write" or argument.atomic:
            yield Stream(argument.name, count, record, used, passes=passes, outer_passes=outer)
        if argument.access != "read" or argument.atomic:
            own = passes if argument.access == "write" or argument.atomic else 1.0
            yield Stream(argument.name, count, record, used, True, own, outer if argument.atomic else 1.0)

    def _passes(
        self, argument: ArgumentFields, names: Mapping[str, Value], parameters: Parameters, device: Device
    ) -> tuple[float, float]:
        """Return how often an array passes into registers, and beyond the first cache."""
        passes = self._number("passes", argument.passes, names) if argument.passes else 1.0
        outer = self._number("outer_passes", argument.outer_passes, names) if argument.outer_passes else min(1.0, passes)
        pattern = argument.pattern
        if pattern is None or not pattern.stencil:
            return passes, outer
        wide = [2 * radius + 1 for radius in pattern.stencil]
        points = prod(wide) if pattern.shape == "box" else 1 + sum(each - 1 for each in wide)
        sides = zip(reversed(self.local_size(parameters)), pattern.stencil, strict=False)
        halo = 0.0 if device.is_cpu else sum(2 * radius / side for side, radius in sides)
        return passes * points, outer * (1 + halo)

    def _atomic_chain(
        self, names: Mapping[str, Value], items: int, local: Sequence[int], device: Device
    ) -> dict[str, float]:
        """Return the waiting for other atomic operations, as a chain of operations with a known latency."""
        cycles = 0.0
        for argument in (each for each in self.buffers if each.atomic):
            sent = self._number("atomic", argument.atomic or "0", names)
            if device.is_cpu:
                cycles += sent / (items / prod(local)) * _ATOMIC_CYCLES
            else:
                cycles += waiting_cycles(device, sent, self.elements(argument, names))
        return {"int32": 8.0 + cycles / device.architecture.latency_cycles["int32"]} if cycles else {}

    # Launches

    def missing(self, features: Features) -> str | None:
        """Types and local memory that the device lacks."""
        types = {argument.dtype.str[1:] for argument in self.fields.arguments}
        for kind, extension in (("f8", "cl_khr_fp64"), ("f2", "cl_khr_fp16")):
            if kind in types and extension not in features.extensions:
                return f"the device does not support {extension}, which its arguments need"
        needed = self.local_memory_bytes(self.verification()[0])
        if needed > features.local_memory_bytes:
            return f"it needs {needed} bytes of local memory; the device has {features.local_memory_bytes}"
        return None

    def build_options(self, parameters: Parameters) -> str:
        """The description's options and macros."""
        names = self.names(parameters)
        macros = (
            f"-D{name}={self._number(f'defines.{name}', text, names):.17g}" for name, text in self.fields.defines.items()
        )
        return " ".join(filter(None, (self.fields.build_options, *macros)))

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random data, or what the description says."""
        names = self.names(parameters)
        buffers, handles = {}, {}
        for position, argument in enumerate(self.fields.arguments):
            if argument.elements is not None:
                contents = self._contents(position, argument, names, rng)
                # The points of a sweep share buffers of one name, whose contents must then not depend on the size.
                sized = argument.values not in _SHARED_VALUES
                handles[argument.name] = f"{argument.name} {contents.nbytes}" if sized else argument.name
                nbytes = self.elements(argument, names) * argument.element_bytes
                buffers[handles[argument.name]] = Buffer(nbytes, contents)
        arguments = tuple(self._evaluated_argument(i, a, parameters, handles) for i, a in enumerate(self.fields.arguments))
        dispatch = Dispatch(self.fields.kernel, self.global_size(parameters), self.local_size(parameters), arguments)
        dispatches: tuple[Dispatch, ...] = (dispatch,)
        if self.fields.swap:
            one, other = (handles[name] for name in self.fields.swap)
            exchanged = {one: other, other: one}
            back = tuple(exchanged.get(each, each) if isinstance(each, str) else each for each in arguments)
            dispatches = (dispatch, replace(dispatch, arguments=back))
        return Job(buffers, dispatches)

    def _evaluated_argument(
        self, position: int, argument: ArgumentFields, parameters: Parameters, handles: Mapping[str, str] | None = None
    ) -> Argument:
        names = self.names(parameters)
        if argument.local is not None:
            return Local(max(1, self._whole(f"arguments.{position}.local", argument.local, names)) * argument.element_bytes)
        if argument.value is None:
            return (handles or {}).get(argument.name, argument.name)
        value = self._number(f"arguments.{position}.value", argument.value, names)
        converted = np.float64(value).astype(argument.dtype)
        if argument.dtype.kind != "f" and float(converted) != value:
            raise FieldError(f"arguments.{position}.value", f"{value:g} is not a value of type {argument.type}")
        return converted

    def _contents(
        self, position: int, argument: ArgumentFields, names: Mapping[str, Value], rng: np.random.Generator
    ) -> NDArray[np.generic]:
        """Return the initial contents, which may be a beginning that the buffer repeats."""
        count, dtype = self.elements(argument, names) * argument.lanes, argument.dtype
        part = min(count, _PATTERN_BYTES // dtype.itemsize)
        if argument.values == "random":
            if dtype.kind == "f":
                return rng.uniform(-1.0, 1.0, part).astype(dtype)
            return rng.integers(0, np.iinfo(dtype).max, part, dtype=dtype, endpoint=True)
        if argument.values == "zeros":
            return np.zeros(part, dtype)
        if argument.values == "iota":
            return np.arange(count).astype(dtype)

        def random(low: float, high: float) -> NDArray[np.generic]:
            if dtype.kind == "f":
                return rng.uniform(low, high, count).astype(dtype)
            return rng.integers(int(low), int(high), count).astype(dtype)

        try:
            found = np.asarray(evaluate(argument.values, names, {"random": random}))
        except ExpressionError as error:
            raise FieldError(f"arguments.{position}.values", str(error)) from None
        if found.size not in (1, count):
            what = f"{found.size} values for {count} numbers; write an expression that gives one value or {count}"
            raise FieldError(f"arguments.{position}.values", what)
        return np.full(part, found.ravel()[0]).astype(dtype) if found.size == 1 else found.ravel().astype(dtype)

    # Verification

    def verification(self) -> Sequence[Parameters]:
        """Small sizes, odd where the kernel allows it."""
        shape, written = self._shape(), self.fields.sizes.get(self.fields.swept or "")
        if written is None:
            return (self._with(None, shape),)
        if isinstance(written, tuple):
            return tuple(self._with(value, shape) for value in sorted(written)[:2])
        values = {self._value_of(nbytes, shape, odd=True) for nbytes in _VERIFIED_BYTES}
        ends = range_of(written)
        allowed = sorted(value for value in values if not ends or ends[0] <= value <= ends[1]) or [ends[0] if ends else 1]
        return tuple(self._with(value, shape) for value in allowed)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Evaluate the description's expressions, or call its function."""
        if not self.is_verified:
            return {}
        names, handles = self.names(parameters), dict(zip(self._names(), job.dispatches[0].arguments, strict=True))
        known: dict[str, Any] = {**names, **{n: v for n, v in handles.items() if isinstance(v, np.generic)}}
        for argument in self.buffers:
            filled = job.buffers[str(handles[argument.name])].filled()
            known[argument.name] = filled.reshape(-1, argument.lanes) if argument.lanes > 1 else filled
        known |= {f"{name}_": value for name, value in known.items() if iskeyword(name)}
        found = self._called(known) if self.fields.expect_from else self._evaluated(known)
        results = {}
        for name, values in found.items():
            argument = next(each for each in self.buffers if each.name == name)
            handle = str(handles[name])
            right = np.broadcast_to(values, known[name].shape) if np.ndim(values) == 0 else np.asarray(values)
            if right.size != known[name].size:
                what = f"has {right.size} values, but the buffer has {known[name].size}"
                raise FieldError(f"expect.{name}" if self.fields.expect else "expect_from", what)
            results[handle] = right.ravel().astype(argument.dtype)
        return results

    def _names(self) -> list[str]:
        return [argument.name for argument in self.fields.arguments]

    def _evaluated(self, known: Mapping[str, Value]) -> dict[str, Any]:
        found = {}
        for name, text in (self.fields.expect or {}).items():
            try:
                found[name] = evaluate(text, known)
            except ExpressionError as error:
                raise FieldError(f"expect.{name}", str(error)) from None
        return found

    def _called(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Call the function of ``expect_from``."""
        file, _, function = (self.fields.expect_from or "").partition(":")
        path = self.folder / file
        spec = importlib.util.spec_from_file_location(path.stem, path) if path.is_file() and function else None
        if spec is None or spec.loader is None:
            raise FieldError("expect_from", f"{file!r} cannot be imported; write file.py:function")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            found = getattr(module, function)(**known)
            return dict(found)
        except Exception as error:  # the user's code
            raise FieldError("expect_from", f"{file}:{function} failed: {error}") from None
