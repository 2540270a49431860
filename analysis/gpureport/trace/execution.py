"""Execution of work-groups in lock-step: each value is one array over all work-items of the executed groups.

Where work-items take different ways, blocks run with the lanes that reached them, in the program's order, so that ways
join again. At barriers, lanes wait until no block is left that could bring others.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from time import process_time
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.text import counted
from gpureport.trace.chains import Chains
from gpureport.trace.ir import Unsupported
from gpureport.trace.operations import FOLDS, Value, flat, is_shared, signed, unsigned
from gpureport.trace.program import (
    LOCAL,
    PRIVATE,
    TABLES,
    Access,
    Block,
    LocalArray,
    Parameter,
    Program,
    address,
    region_of,
)
from gpureport.workloads.model import Buffer, Dispatch

_MOST_BLOCKS = 3_000_000
"""Executions of blocks; more take longer than a few minutes."""
_MOST_S, _MANY_BLOCKS = 40.0, 100_000
"""Processor time of an execution of many blocks. Fewer take longer only with many work-items, and end."""
_EVERY = slice(None)
_SCALAR = frozenset("add int32 int32_mul int64 shift left_shift ternary address".split())
_MOST_BYTES = 4 << 30
"""Of private arrays of all work-items, or of local memory of all groups."""


class Recorder:
    """Sees each access while a kernel is executed; this one keeps nothing."""

    def accessed(self, access: Access, buffer: int, offsets: NDArray[np.int64], waves: NDArray[np.int64]) -> float:  # noqa: ARG002
        """See an access before it happens.

        Args:
            access: the instruction.
            buffer: number of the argument, or ``LOCAL``, ``PRIVATE`` or ``TABLES`` of :mod:`gpureport.trace.program`.
            offsets: bytes from the start of the buffer, of the group's local or the wave's private memory, in which one
                work-item's is after the other's; one for each active lane, also out of bounds.
            waves: the wave of each lane, counted over all executed groups.

        Returns:
            The share of the waves that missed the nearest cache; 0 if unknown.
        """
        return 0.0

    def synchronised(self, line: int, waves: NDArray[np.int64]) -> None:
        """See that the lanes of *waves* leave a barrier."""


@dataclass(frozen=True)
class Execution:
    """What an execution did."""

    issued: Mapping[str, float]
    """Instructions of lanes by class, also idle ones of executing waves; ``branch`` also counts those of waves whose
    lanes took different ways."""
    uniform: Mapping[str, float]
    """Those of integers, and branches, among them that have one result for all lanes."""
    work: NDArray[np.float64]
    """Instructions of each wave: a row for each group."""
    chain: Mapping[str, float]
    """Instructions by class of a work-item's longest chain of dependent ones; loads are ``hit`` and ``miss``."""


def local_arrays(program: Program, arguments: Sequence[Any]) -> tuple[LocalArray, ...]:
    """Return where arrays are in a group's local memory: declared ones, then those of *arguments*."""
    arrays = [*program.local_arrays]
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        if parameter.kind == "local":
            arrays.append(LocalArray(parameter.name, arrays[-1].next if arrays else 0, int(argument)))
    return tuple(arrays)


def execute(
    program: Program,
    arguments: Sequence[Any],
    shape: Dispatch,
    groups: Sequence[int],
    wave: int = 32,
    recorder: Recorder = Recorder(),  # noqa: B008
    chains: Chains | None = None,
    sub_group: int = 0,
) -> Execution:
    """Execute *groups* of a dispatch, numbered the first dimension first; buffers are changed in place.

    *arguments* are an array for each buffer, or what it repeats, a NumPy scalar for each scalar, bytes of local memory.
    *wave* is the number of lanes of a wave, *sub_group* that of work-items of a sub-group; 0: as many as the lanes of a
    wave. *recorder* sees each access. *chains* follow the longest chain; without them, the result has none.

    Raises:
        InputError: the kernel does not end, or needs too much memory.
    """
    with np.errstate(all="ignore"):
        machine = _Machine(program, arguments, shape, groups, wave, recorder, chains, sub_group or wave)
        try:
            return machine.run()
        finally:
            vars(machine).clear()  # its lanes refer to it: buffers must not wait for the garbage collector


def element_of(arrays: Sequence[LocalArray], place: int, nbytes: int) -> tuple[str, str]:
    """Return the element of *nbytes* at a place, and how many there are: ``y[3]``, ``y has 3 elements``."""
    array = min(arrays, key=lambda each: max(each.offset - place, place - each.offset - each.nbytes))
    count = array.nbytes // nbytes
    return f"{array.name}[{(place - array.offset) // nbytes}]", f"{array.name} has {count} elements"


def number_of(shape: Dispatch, group: int, item: int) -> str:
    """Return the global number, or numbers, of a work-item of a group."""
    sizes = shape.local_size
    groups, within = np.unravel_index(group, shape.groups, "F"), np.unravel_index(item, sizes, "F")
    places = [int(group) * size + int(i) for group, size, i in zip(groups, sizes, within, strict=True)]
    return str(places[0] if len(places) == 1 else tuple(places))


class _Lanes:
    """Work-items that execute a block together."""

    def __init__(self, machine: "_Machine", chosen: NDArray[np.bool_]) -> None:
        self._machine, self.chosen = machine, chosen
        self.index = np.flatnonzero(chosen)
        self.size = self.index.size
        self.waves = machine.wave_of[self.index]
        self.own_waves = self.waves[np.flatnonzero(np.diff(self.waves, prepend=-1))]
        self.wave_count = self.own_waves.size

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        return self._machine.group_of[self.index]

    def within(self, other: "_Lanes") -> bool:
        """Return whether *other* contains these lanes."""
        return self is other or (self.size < other.size and bool(other.chosen[self.index].all()))


class _Memory:
    """Bytes, and views of them by type."""

    def __init__(self, data: NDArray[np.uint8], *, repeats: bool = False) -> None:
        self.data, self.repeats = data, repeats
        self.views: dict[np.dtype[Any], NDArray[Any]] = {}

    def view(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        if dtype not in self.views:
            self.views[dtype] = self.data[: self.data.size // dtype.itemsize * dtype.itemsize].view(dtype)
        return self.views[dtype]

    def _index(self, access: Access, offsets: Value) -> tuple[NDArray[Any], Value]:
        """Return the memory as elements, and their numbers, those of vectors in rows."""
        dtype = access.dtype if access.aligned else np.dtype(np.uint8)
        index, count = offsets >> (dtype.itemsize.bit_length() - 1), access.nbytes // dtype.itemsize
        rows = access.vector or not access.aligned
        return self.view(dtype), index + np.arange(count).reshape(-1, 1) if rows else index

    def gathered(self, access: Access, offsets: Value) -> Value:
        view, index = self._index(access, offsets)
        found = (view if view.size else np.zeros(1, view.dtype)).take(index, mode="clip")
        if access.aligned:
            return found
        rows = np.ascontiguousarray(found.T).view(access.dtype).T
        return rows if access.vector else flat(rows[0])

    def scatter(self, access: Access, offsets: Value, value: Value) -> None:
        view, index = self._index(access, np.atleast_1d(offsets))
        value = value.astype(access.dtype, copy=False)
        if not is_shared(value) and index.shape[-1] == 1:
            value = value[..., -1:]  # of several stores at one address, the last one remains
        if not access.aligned:
            shape = (access.nbytes // access.dtype.itemsize, index.shape[1])
            value = np.ascontiguousarray(np.broadcast_to(value, shape).T).view(np.uint8).T
        rows = np.atleast_2d(index)
        inside = (rows[0] >= 0) & (rows[-1] < view.size)
        if not inside.all():
            value, index = np.broadcast_to(value, index.shape)[..., inside], index[..., inside]
        view[index] = value


@dataclass(eq=False)
class _Machine:
    program: Program
    arguments: Sequence[Any]
    shape: Dispatch
    groups: Sequence[int]
    wave: int
    recorder: Recorder
    chains: Chains | None
    sub_group: int

    def __post_init__(self) -> None:
        program, slots = self.program, self.program.slots
        self._items()
        self.known = WeakValueDictionary[bytes, _Lanes]()
        self.lanes = self.all = self.lanes_of(np.ones(self.items, np.bool_))
        self.now: list[Value] = [*self._memory(), *[None] * (slots - len(self.arguments))]
        self.value: list[Value] = [None] * slots
        self.layout: list[_Lanes | None] = [None] * slots
        self.seen: dict[int, tuple[int, float]] = {}
        for slot, constant in program.constants.items():
            self.now[slot] = constant
        self.issued = [0] * len(program.blocks)
        self.instructions = [sum(block.counts.values()) for block in program.blocks]
        self.work = np.zeros(int(self.wave_of[-1]) + 1)
        self.uniform = [_scalar_counts(block) for block in program.blocks]
        self.split = 0
        self.pending: dict[int, _Lanes] = {0: self.all}
        self.waiting: dict[int, _Lanes] = {}
        self.steps = [
            [(partial(op.function, self) if op.machine else op.function, op.operands, op.result) for op in ops]
            for ops in (block.operations for block in program.blocks)
        ]

    def lanes_of(self, chosen: NDArray[np.bool_]) -> _Lanes:
        """Return the lanes of the *chosen* work-items: the same object for the same ones."""
        key = chosen.tobytes()
        found = self.known.get(key) or _Lanes(self, chosen)
        self.known[key] = found
        return found

    def _items(self) -> None:
        local, counts = ((*each, 1, 1)[:3] for each in (self.shape.local_size, self.shape.groups))
        size, number = prod(local), len(self.groups)
        self.items, self.group_size = size * number, size
        linear, group = np.tile(np.arange(size), number), np.repeat(np.asarray(self.groups, np.int64), size)
        self.linear, self.group_of = linear, np.repeat(np.arange(number), size)
        self.wave_of = self.group_of * -(-size // self.wave) + linear // self.wave
        sub_groups = -(-size // self.sub_group)
        self.sub_group_of = self.group_of * sub_groups + linear // self.sub_group
        self.lane_of = linear % self.sub_group
        within, of_group = np.unravel_index(linear, local, "F"), np.unravel_index(group, counts, "F")
        sizes = [n * count for n, count in zip(local, counts, strict=True)]
        x, y, z = of_all = [g * n + i for g, n, i in zip(of_group, local, within, strict=True)]
        self.ids = dict[str, list[Value]]()
        ids: dict[str, Sequence[Any]] = {
            "get_local_id": within,
            "get_group_id": of_group,
            "get_global_id": of_all,
            "get_local_size": local,
            "get_num_groups": counts,
            "get_global_size": sizes,
            "get_global_offset": [0, 0, 0],
            "get_work_dim": [len(self.shape.global_size)],
            "get_local_linear_id": [linear],
            "get_group_linear_id": [group],
            "get_global_linear_id": [(z * sizes[1] + y) * sizes[0] + x],
            "get_sub_group_local_id": [self.lane_of],
            "get_sub_group_id": [linear // self.sub_group],
            "get_sub_group_size": [np.minimum(self.sub_group, size - linear + self.lane_of)],
            "get_max_sub_group_size": [self.sub_group],
            "get_num_sub_groups": [sub_groups],
        }
        for name, values in ids.items():
            kind = np.int32 if "sub_group" in name or name == "get_work_dim" else np.int64
            found = [np.atleast_1d(each).astype(kind) for each in values]
            self.ids[name] = [each[0] if (each == each[0]).all() else each for each in found]

    def identity(self, name: str, dimension: Value = np.int32(0)) -> Value:  # noqa: B008
        """Return a number that the language's functions of work-items give."""
        if dimension.ndim:
            return np.choose(np.minimum(unsigned(dimension), 3), [self.identity(name, np.int32(d)) for d in range(4)])
        found = self.ids[name.replace("enqueued_", "")]
        beyond = np.int64(name.endswith(("size", "groups")))
        value: Value = found[int(dimension)] if int(dimension) < len(found) else beyond
        return value[self.lanes.index] if value.ndim and self.lanes is not self.all else value

    def _memory(self) -> list[Value]:
        """Prepare the memory, and return the values and addresses that the parameters have."""
        program, arguments = self.program, self.arguments
        self.arrays = arrays = local_arrays(program, arguments)
        self.local_bytes = -(-max([array.offset + array.nbytes for array in arrays], default=0) // 64) * 64
        self.inside = np.zeros(self.local_bytes + 2, np.bool_)
        """Of each byte of local memory, and those before and after it: whether it belongs to an array."""
        for array in arrays:
            self.inside[array.offset + 1 : array.offset + array.nbytes + 1] = True
        groups, of = len(self.groups), f"of {counted(len(self.groups), 'work-group')}"
        self.memories: dict[int, _Memory] = {
            TABLES: _Memory(np.frombuffer(program.tables, np.uint8).copy()),
            LOCAL: self._empty(f"local memory {of}", groups * self.local_bytes),
            PRIVATE: self._empty(f"private arrays {of}", self.items * program.private_bytes),
        }
        own = iter(arrays[len(program.local_arrays) :])
        values: list[Value] = []
        for number, (parameter, argument) in enumerate(zip(program.parameters, arguments, strict=True)):
            if parameter.kind == "local":
                values.append(address(LOCAL) + np.int64(next(own).offset))
            elif parameter.kind == "scalar":
                values.append(_argument(argument, parameter))
            else:
                whole = argument if isinstance(argument, Buffer) else Buffer(argument.nbytes, argument)
                data = np.asarray(whole.contents).reshape(-1).view(np.uint8)
                self.memories[number] = _Memory(data, repeats=data.size < whole.nbytes)
                values.append(address(number))
        return values

    def _empty(self, what: str, nbytes: int) -> _Memory:
        if nbytes > _MOST_BYTES:
            message = f"{what} would take {nbytes / 2**30:.0f} GiB; at most {_MOST_BYTES >> 30} GiB are possible"
            raise InputError(f"{self.program.file}: {self.program.name}: {message}")
        return _Memory(np.zeros(nbytes, np.uint8))

    def _places(self, access: Access, at: Value) -> list[tuple[_Memory, Value, Any]]:
        """Return the memory of each region that lanes access, with the offsets into it, and these lanes."""
        if access.region is not None:
            return [self._place(access, access.region, _EVERY, at)]
        regions = np.atleast_1d(region_of(at))
        if (regions == regions[0]).all():
            return [self._place(access, int(regions[0]), _EVERY, at)]
        if access.atomic:
            what = "one atomic operation on several buffers is not supported"
            raise Unsupported(f"{self.program.file}:{access.line}: {what}")
        return [self._place(access, int(each), np.flatnonzero(regions == each), at) for each in np.unique(regions)]

    def _place(self, access: Access, region: int, where: Any, at: Value) -> tuple[_Memory, Value, Any]:
        """Tell the recorder, and return the memory with the offsets into it."""
        memory, lanes = self.memories.get(region), self.lanes
        if memory is None:
            what = "access through a pointer that points to no buffer; does an unsigned number fall below 0?"
            raise InputError(f"{self.program.file}:{access.line}: {what}")
        offsets = (at[where] if at.ndim else at) - address(region)
        waves = lanes.waves[where]
        each = offsets if offsets.ndim else np.ndarray(waves.shape, np.int64, np.asarray(offsets), 0, (0,))
        if region == LOCAL and not (inside := self.inside.take(each + 1, mode="clip")).all():
            self._refuse(access, where, each, int(inside.argmin()))
        if region == PRIVATE and self.wave > 1:
            each = each + self.linear[lanes.index[where]] % self.wave * self.program.private_bytes
        self.seen[access.number] = region, self.recorder.accessed(access, region, each, waves)
        if memory.repeats:
            offsets = offsets % memory.data.size
        if region == PRIVATE:
            offsets = offsets + lanes.index[where] * self.program.private_bytes
        elif region == LOCAL and self.group_size != self.items:
            offsets = offsets + lanes.groups[where] * self.local_bytes
        return memory, offsets, where

    def _refuse(self, access: Access, where: Any, offsets: NDArray[np.int64], number: int) -> NoReturn:
        """Raise that the lane of this number accesses local memory outside of its arrays."""
        lane = self.lanes.index[where][number]
        item = number_of(self.shape, self.groups[self.group_of[lane]], self.linear[lane])
        element, count = element_of(self.arrays, int(offsets[number]), access.dtype.itemsize)
        what = f"work-item {item} {'stores' if access.write else 'loads'} {element}, and {count}"
        raise InputError(f"{self.program.file}:{access.line}: {what}")

    def load(self, access: Access, at: Value) -> Value:
        """Return what is at an address; the nearest element of the buffer, if it is outside."""
        whole: Value = None
        for memory, offsets, where in self._places(access, at):
            found = memory.gathered(access, offsets)
            if where is _EVERY:
                return found
            whole = np.zeros((*found.shape[:-1], self.lanes.size), found.dtype) if whole is None else whole
            whole[..., where] = found
        return whole

    def store(self, access: Access, at: Value, value: Value) -> None:
        """Store a value at an address, unless it is outside its buffer."""
        for memory, offsets, where in self._places(access, at):
            memory.scatter(access, offsets, value if is_shared(value) else value[..., where])

    def atomic(self, access: Access, name: str, operands: Sequence[Value], expected: Access | None) -> Value:
        """Let lanes change memory one after the other, and return what each found there.

        With an *expected* value at an address, return instead whether it was found there, and store what was found.
        """
        at, *values = (np.broadcast_to(operand, self.lanes.size) for operand in operands)
        ((memory, offsets, _),) = self._places(access, at)
        view = memory.view(access.dtype)
        if expected:
            values[0] = np.broadcast_to(self.load(expected, operands[1]), self.lanes.size)
        values = [value.view(view.dtype) for value in values[:2] if value.dtype.itemsize == view.dtype.itemsize]
        old = np.zeros(self.lanes.size, view.dtype)
        turns = _exchanges if name.startswith(("cmpxchg", "compare")) else _turns
        for turn, index in turns(offsets // view.dtype.itemsize, view, *values):
            old[turn] = found = view[index]
            view[index] = _changed(name, found, [value[turn] for value in values])
        if expected is None:
            return signed(old)
        self.store(expected, operands[1], signed(old))
        return old == values[0]

    def exchange(self, name: str, operands: Sequence[Value], words: int, *, is_unsigned: bool) -> Value:
        """Exchange *words* between the work-items of a sub-group; *name* as after ``sub_group_``."""
        lanes, width = self.lanes, self.sub_group
        row, column = self.sub_group_of[lanes.index], self.lane_of[lanes.index]
        value = np.broadcast_to(operands[0], lanes.size)
        if name in _VOTES:
            name, value = _VOTES[name], (value != 0).astype(np.int32)
        if name.startswith("reduce"):
            return _reduced(name, unsigned(value) if is_unsigned else value, row).view(value.dtype)
        shape = int(row[-1]) + 1, max(128, width) if name == "ballot" else width
        table, present = np.zeros(shape, value.dtype), np.zeros(shape, np.bool_)
        table[row, column], present[row, column] = value, True
        if name == "ballot":
            votes = np.packbits(table[:, :128] != 0, axis=1, bitorder="little").view(np.int32)[row].T
            return votes if words > 1 else votes[0]
        if name == "broadcast_first":
            return table[row, present.argmax(axis=1)[row]]
        distance = operands[1].astype(np.int64)
        ways = {"shuffle_xor": column ^ distance, "shuffle_up": column - distance, "shuffle_down": column + distance}
        source = ways.get(name, distance)
        return table[row, np.where((source >= 0) & (source < width), source, column)]

    def _read(self, slot: int, lanes: _Lanes) -> Value:
        layout, value = self.layout[slot], self.value[slot]
        if layout is lanes or layout is None or is_shared(value):
            return value
        return value[..., lanes.index if layout is self.all else lanes.chosen[layout.index]]

    def _write(self, slot: int, value: Value, lanes: _Lanes) -> None:
        layout, old = self.layout[slot], self.value[slot]
        self.layout[slot], self.value[slot] = lanes, value
        if layout is None or layout.within(lanes):
            return
        self.layout[slot] = both = self.lanes_of(layout.chosen | lanes.chosen)
        if not (is_shared(old) and is_shared(value) and ((old == value) | (old != old) & (value != value)).all()):
            whole = np.empty((*value.shape[:-1], self.items), value.dtype)
            whole[..., layout.index] = old
            whole[..., lanes.index] = value
            self.value[slot] = whole[..., both.index]

    def run(self) -> Execution:
        blocks, pending, order = self.program.blocks, self.pending, self.program.order
        steps, begin = 0, process_time()
        while pending or self.waiting:
            if not pending:
                for number, lanes in self.waiting.items():
                    self.recorder.synchronised(blocks[number].line, lanes.waves)
                pending.update(self.waiting)
                self.waiting.clear()
            number = min(pending, key=order.__getitem__)
            self._step(number, pending.pop(number))
            steps += 1
            if steps >= _MOST_BLOCKS or (steps > _MANY_BLOCKS and process_time() - begin > _MOST_S):
                place, what = f"{self.program.file}:{blocks[number].line}", "an endless loop, or too large a size"
                raise InputError(f"{place}: {self.program.name} did not end after {steps:,} steps: {what}")
        return self._result()

    def _step(self, number: int, lanes: _Lanes) -> None:
        block, now = self.program.blocks[number], self.now
        self.lanes, first = lanes, not self.issued[number]
        self.issued[number] += lanes.wave_count
        self.work[lanes.own_waves] += self.instructions[number]
        for slot in block.inputs:
            now[slot] = self._read(slot, lanes)
        for function, operands, result in self.steps[number]:
            value = function(*[now[slot] for slot in operands])
            if result >= 0:
                now[result] = value
        if self.uniform[number]:
            self.uniform[number] = [each for each in self.uniform[number] if _is_uniform(now[each[0]], first=first)]
        if self.chains:
            if block.waits:
                self.chains.barrier()
            self.chains.block(number, self.seen)
        for slot in block.outputs:
            self._write(slot, now[slot], lanes)
        if block.targets:
            self._leave(number, block, lanes)

    def _leave(self, number: int, block: Block, lanes: _Lanes) -> None:
        if block.condition < 0:
            self._go(number, block.targets[0], lanes)
            return
        ways = _ways(block, self.now[block.condition])
        parts = [lanes if len(ways) == 1 else self._part(lanes, chosen) for _, chosen in ways]
        split = sum(part.wave_count for part in parts) - lanes.wave_count
        self.split += split
        if self.chains:
            self.chains.branch(number, block, split=split > 0)
        for (target, chosen), part in zip(ways, parts, strict=True):
            self._go(number, target, part, None if part is lanes else chosen)

    def _part(self, lanes: _Lanes, chosen: NDArray[np.bool_]) -> _Lanes:
        part = np.zeros(self.items, np.bool_)
        part[lanes.index] = chosen
        return self.lanes_of(part)

    def _go(self, number: int, target: int, lanes: _Lanes, chosen: Value = None) -> None:
        """Let lanes continue with a block; those that are *chosen* of all that leave the last one."""
        block = self.program.blocks[target]
        if self.chains:
            self.chains.entered(number, target, block)
        for slot, sources in block.phis:
            value = self.now[sources[number]]
            self._write(slot, value if chosen is None or is_shared(value) else value[..., chosen], lanes)
        queue = self.waiting if block.waits else self.pending
        queue[target] = self.lanes_of(queue[target].chosen | lanes.chosen) if target in queue else lanes

    def _result(self) -> Execution:
        chain = self.chains.longest() if self.chains else {}
        issued = defaultdict[str, float](float, {"branch": self.split * self.wave} if self.split else {})
        uniform = defaultdict[str, float](float)
        for block, waves, found in zip(self.program.blocks, self.issued, self.uniform, strict=True):
            scalar = sum((Counter(counts) for _, counts in found), Counter[str]())
            for kind, count in block.counts.items():
                issued[kind] += count * waves * self.wave
                uniform[kind] += min(count, scalar[kind]) * waves * self.wave
        return Execution(issued, uniform, self.work.reshape(len(self.groups), -1), chain)


def _scalar_counts(block: Block) -> list[tuple[int, Mapping[str, float]]]:
    """Return the instructions that a scalar unit can execute, by class, with the slots of their results."""
    counts = [(op.result, {kind: op.counts[kind] for kind in _SCALAR & op.counts.keys()}) for op in block.operations]
    counts.append((block.condition, {"branch": block.counts.get("branch", 0.0)}))
    return [each for each in counts if each[0] >= 0 and each[1]]


def _is_uniform(value: Value, *, first: bool) -> bool:
    """Return whether all lanes share a value; after the first time, have equal ones: others may have left a loop."""
    ndim = getattr(value, "ndim", 2)
    return not ndim or (ndim == 1 and not first and bool((value == value[0]).all()))


def _argument(argument: Any, parameter: Parameter) -> Value:
    if isinstance(argument, np.void):
        rows = np.frombuffer(argument, parameter.dtype.str.replace("u", "i"))[:, None]
        return rows[:3] if parameter.lanes == 3 else rows
    return signed(np.asarray(argument).reshape(-1)[0].astype(parameter.dtype))


def _ways(block: Block, value: Value) -> list[tuple[int, Value]]:
    """Return the blocks with which lanes continue, and which lanes do so."""
    cases = zip(block.targets[1:], block.cases, strict=True)
    if not value.ndim:
        return [(next((target for target, case in cases if value == case), block.targets[0]), None)]
    following = np.full(value.shape, block.targets[0])
    for target, case in cases:
        following[value == case] = target
    ways = ((target, following == target) for target in dict.fromkeys(block.targets))
    return [(target, chosen) for target, chosen in ways if chosen.any()]


def _turns(index: NDArray[np.int64], view: Value, *_: Value) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield lanes with their elements of *view*: each lane after those before it that have the same element."""
    order = _by_element(index, view)
    rank = np.arange(order.size) - np.searchsorted(index[order], index[order])
    for lanes in np.split(order[np.argsort(rank, kind="stable")], np.cumsum(np.bincount(rank))[:-1]):
        yield lanes, index[lanes]


def _exchanges(
    index: NDArray[np.int64], view: Value, expected: Value, *_: Value
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the same for exchanges on a condition: those that fail, which are many, at once before one that holds."""
    order = _by_element(index, view)
    while order.size:
        holds = expected[order] == view[index[order]]
        before = np.cumsum(holds) - holds
        now = before == before[np.searchsorted(index[order], index[order])]
        yield order[now & ~holds], index[order[now & ~holds]]
        yield order[now & holds], index[order[now & holds]]
        order = order[~now]


def _by_element(index: NDArray[np.int64], view: Value) -> NDArray[np.int64]:
    order: NDArray[np.int64] = np.argsort(index, kind="stable")
    found: NDArray[np.int64] = order[(index[order] >= 0) & (index[order] < view.size)]
    return found


_VOTES = {"all": "reduce_min", "any": "reduce_max"}


def _changed(name: str, old: Value, values: Sequence[Value]) -> Value:
    """Return what an atomic operation leaves in memory."""
    if name.startswith(("cmpxchg", "compare")):
        return np.where(old == values[0], values[1], old)
    if name in ("inc", "dec"):
        return old + old.dtype.type(1) if name == "inc" else old - old.dtype.type(1)
    if name == "load":
        return old
    function = np.subtract if name == "sub" else FOLDS.get(name)
    return function(old, values[0]) if function else values[0]


def _reduced(name: str, value: Value, row: Value) -> Value:
    """Return what lanes of the same row have together."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    fold: Any = FOLDS[name.rpartition("_")[2]]
    return fold.reduceat(value, starts, dtype=value.dtype).repeat(np.diff(starts, append=row.size))
