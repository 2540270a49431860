"""Execution of work-groups in lock-step: each value is one array over all work-items of the executed groups.

Where work-items take different ways, blocks run with the lanes that reached them, in the program's order, so that ways
join again. At barriers, lanes wait until no block is left that could bring others.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from math import prod
from time import process_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.text import counted
from gpureport.trace.chains import Chains
from gpureport.trace.ir import Unsupported
from gpureport.trace.operations import FOLDS, Value, signed, unsigned
from gpureport.trace.program import (
    LOCAL,
    PRIVATE,
    TABLES,
    Access,
    Block,
    Layout,
    LocalArray,
    Program,
    address,
    next_local,
    region_of,
)

_MOST_BLOCKS = 3_000_000
"""Executions of blocks; more take longer than a few minutes."""
_MOST_S, _MANY_BLOCKS = 60.0, 100_000
"""Processor time of an execution of many blocks. Fewer take longer only with many work-items, and end."""
_SCALAR = frozenset("add int32 int32_mul int64 shift ternary address".split())
_MOST_BYTES = 4 << 30
"""Of private arrays of all work-items, or of local memory of all groups."""


class Recorder(Protocol):
    """What sees each access while a kernel is executed."""

    def accessed(self, access: Access, buffer: int, offsets: NDArray[np.int64], waves: NDArray[np.int64]) -> float:
        """See an access before it happens.

        Args:
            access: the instruction.
            buffer: number of the argument, or ``LOCAL``, ``PRIVATE`` or ``TABLES`` of :mod:`gpureport.trace.program`.
            offsets: bytes from the start of the buffer, of the group's local or the work-item's private memory, one for
                each active lane; also out of bounds.
            waves: the wave of each lane, counted over all executed groups.

        Returns:
            The share of the waves that missed the nearest cache; 0 if unknown.
        """

    def synchronised(self, line: int, waves: NDArray[np.int64]) -> None:
        """See that the lanes of *waves* leave a barrier."""


@dataclass(frozen=True)
class NDRange:
    """The work-items of a dispatch, in one to three dimensions."""

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    offset: tuple[int, ...] = ()

    @property
    def groups(self) -> tuple[int, ...]:
        """Work-groups in each dimension."""
        return tuple(-(-items // local) for items, local in zip(self.global_size, self.local_size, strict=True))


@dataclass(frozen=True)
class Execution:
    """What an execution did."""

    items: int
    operations: Mapping[str, float]
    """Executed instructions of lanes by class."""
    issued: Mapping[str, float]
    """The same with the idle lanes of waves; ``branch`` also counts those of waves whose lanes took different ways."""
    uniform: Mapping[str, float]
    """Those of integers, and branches, among them that have one result for all lanes."""
    chain: Mapping[str, float]
    """Instructions by class of a work-item's longest chain of dependent ones; loads are ``hit`` and ``miss``."""


def local_arrays(program: Program, arguments: Sequence[Any]) -> tuple[LocalArray, ...]:
    """Return where arrays are in a group's local memory: declared ones, then those of *arguments*."""
    arrays = [*program.local_arrays]
    end = next_local(arrays[-1].offset, arrays[-1].nbytes) if arrays else 0
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        if parameter.kind == "local":
            arrays.append(LocalArray(parameter.name, end, int(argument)))
            end = next_local(end, int(argument))
    return tuple(arrays)


def execute(
    program: Program,
    arguments: Sequence[Any],
    shape: NDRange,
    groups: Sequence[int],
    wave: int = 32,
    recorder: Recorder | None = None,
    latencies: Mapping[str, float] | None = None,
    sub_group: int = 0,
) -> Execution:
    """Execute *groups* of a dispatch; buffers are changed in place.

    Args:
        program: the kernel.
        arguments: a contiguous array for each buffer, a NumPy scalar for each scalar or struct, bytes of local memory.
        shape: the dispatch.
        groups: numbers of the work-groups, the first dimension first.
        wave: lanes of a wave.
        recorder: sees each access.
        latencies: cycles by instruction class, ``hit``, ``miss``, ``barrier``, ``atomic``; without, there is no chain.
        sub_group: work-items of a sub-group; 0: as many as the lanes of a wave.

    Raises:
        InputError: the kernel does not end, needs too much memory, or does not fit the arguments.
    """
    with np.errstate(all="ignore"):
        machine = _Machine(program, arguments, shape, groups, wave, recorder, latencies, sub_group or wave)
        try:
            return machine.run()
        finally:
            vars(machine).clear()  # its lanes refer to it: buffers must not wait for the garbage collector


class _Lanes:
    """Work-items that execute a block together: positions in ascending order; *parent* contains them."""

    def __init__(self, machine: "_Machine", index: NDArray[np.int64], parent: "_Lanes | None") -> None:
        self.machine, self.index = machine, index
        self.parent = parent.root if parent and parent.depth > 64 else parent
        self.depth: int = self.parent.depth + 1 if self.parent else 0
        self.root: _Lanes = self.parent.root if self.parent else self
        self.size = index.size

    @cached_property
    def waves(self) -> NDArray[np.int64]:
        return self.machine.wave_of[self.index]

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        return self.machine.group_of[self.index]

    @cached_property
    def wave_count(self) -> int:
        return int(np.count_nonzero(np.diff(self.waves))) + 1

    def part(self, mask: NDArray[np.bool_]) -> "_Lanes":
        return _Lanes(self.machine, self.index[mask], self)

    def within(self, other: "_Lanes") -> bool:
        """Whether *other* contains these lanes, as an ancestor."""
        each: _Lanes | None = self
        while each is not None and each.depth > other.depth:
            each = each.parent
        return each is other

    def common(self, other: "_Lanes") -> "_Lanes":
        """Return the nearest ancestor of both."""
        a, b = self, other
        while a is not b:
            if a.depth >= b.depth and a.parent:
                a = a.parent
            elif b.parent:
                b = b.parent
        return a

    def joined(self, other: "_Lanes") -> "_Lanes":
        """Return these and other lanes; if they are all of an ancestor, then this ancestor."""
        above: _Lanes | None = self.common(other)
        size = self.size + other.size
        while above is not None and above.size < size:
            above = above.parent
        if above is not None and above.size == size:
            return above
        return _Lanes(self.machine, np.sort(np.concatenate([self.index, other.index])), above)


class _Memory:
    """Bytes, and views of them by type."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self.views: dict[np.dtype[Any], NDArray[Any]] = {}

    def view(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        if dtype not in self.views:
            self.views[dtype] = self.data[: self.data.size // dtype.itemsize * dtype.itemsize].view(dtype)
        return self.views[dtype]


class _Machine:
    def __init__(
        self,
        program: Program,
        arguments: Sequence[Any],
        shape: NDRange,
        groups: Sequence[int],
        wave: int,
        recorder: Recorder | None,
        latencies: Mapping[str, float] | None,
        sub_group: int,
    ) -> None:
        self.program, self.shape, self.wave, self.recorder = program, shape, wave, recorder
        self.sub_group = sub_group
        self._items(groups)
        self.all = _Lanes(self, np.arange(self.items), None)
        self.lanes = self.all
        slots = program.slots
        self.now: list[Value] = [*self._memory(arguments), *[None] * (slots - len(arguments))]
        self.value: list[Value] = [None] * slots
        self.layout: list[_Lanes | None] = [None] * slots
        self.valid: list[_Lanes | None] = [None] * slots
        self.chains = Chains(program, latencies) if latencies is not None else None
        self.seen: dict[int, tuple[int, float]] = {}
        for slot, constant in program.constants.items():
            self.now[slot] = constant
        self.executed = [0] * len(program.blocks)
        self.issued = [0] * len(program.blocks)
        self.uniform: dict[int, Mapping[str, float]] = {}
        self.split = 0
        self.functions = [
            [partial(op.function, self) if op.machine else op.function for op in block.operations]
            for block in program.blocks
        ]

    # work-items
    def _items(self, groups: Sequence[int]) -> None:
        local = (*self.shape.local_size, 1, 1)[:3]
        counts = (*self.shape.groups, 1, 1)[:3]
        offsets = (*self.shape.offset, 0, 0, 0)[:3]
        size = prod(local)
        self.items = size * len(groups)
        linear = np.tile(np.arange(size), len(groups))
        group = np.repeat(np.asarray(groups, np.int64), size)
        self.group_of = np.repeat(np.arange(len(groups)), size)
        self.wave_of = self.group_of * -(-size // self.wave) + linear // self.wave
        self.sub_group_of = self.group_of * -(-size // self.sub_group) + linear // self.sub_group
        self.lane_of = linear % self.sub_group
        self.group_size, self.linear = size, linear
        where = [
            (linear, group),
            (linear // local[0], group // counts[0]),
            (linear // (local[0] * local[1]), group // (counts[0] * counts[1])),
        ]
        self.ids: dict[str, list[Value]] = {
            "get_local_id": [_uniform(i % n) for (i, _), n in zip(where, local, strict=True)],
            "get_group_id": [_uniform(g % n) for (_, g), n in zip(where, counts, strict=True)],
            "get_local_size": [np.int64(n) for n in local],
            "get_enqueued_local_size": [np.int64(n) for n in local],
            "get_num_groups": [np.int64(n) for n in counts],
            "get_global_size": [np.int64(n * c) for n, c in zip(local, counts, strict=True)],
            "get_global_offset": [np.int64(n) for n in offsets],
            "get_work_dim": [np.int32(len(self.shape.global_size))],
            "get_local_linear_id": [_uniform(linear)],
            "get_sub_group_local_id": [_uniform(self.lane_of.astype(np.int32))],
            "get_sub_group_id": [_uniform((linear // self.sub_group).astype(np.int32))],
            "get_sub_group_size": [_uniform(np.minimum(self.sub_group, size - linear + self.lane_of).astype(np.int32))],
            "get_max_sub_group_size": [np.int32(self.sub_group)],
            "get_num_sub_groups": [np.int32(-(-size // self.sub_group))],
            "get_enqueued_num_sub_groups": [np.int32(-(-size // self.sub_group))],
        }
        ids = zip(self.ids["get_group_id"], self.ids["get_local_id"], local, offsets, strict=False)
        self.ids["get_global_id"] = [g * np.int64(n) + i + np.int64(o) for g, i, n, o in ids]
        sizes = self.ids["get_global_size"]
        x, y, z = (i - np.int64(o) for i, o in zip(self.ids["get_global_id"], offsets, strict=True))
        self.ids["get_global_linear_id"] = [(z * sizes[1] + y) * sizes[0] + x]
        self.ids["get_group_linear_id"] = [_uniform(group)]

    def identity(self, name: str, dimension: Value = np.int32(0)) -> Value:  # noqa: B008
        """Return a number that the language's functions of work-items give."""
        if dimension.ndim:
            return np.choose(np.minimum(unsigned(dimension), 3), [self.identity(name, np.int32(d)) for d in range(4)])
        found = self.ids[name]
        beyond = np.int64(name.endswith(("size", "groups")))
        value: Value = found[int(dimension)] if int(dimension) < len(found) else beyond
        return value[self.lanes.index] if value.ndim and self.lanes is not self.all else value

    # memory
    def _memory(self, arguments: Sequence[Any]) -> list[Value]:
        """Prepare the memory, and return the values and addresses that the parameters have."""
        program = self.program
        if len(arguments) != len(program.parameters):
            raise InputError(f"{program.name} takes {len(program.parameters)} arguments, not {len(arguments)}")
        arrays = local_arrays(program, arguments)
        self.local_bytes = -(-max([array.offset + array.nbytes for array in arrays], default=0) // 64) * 64
        self._limit("local memory", self.items // self.group_size * self.local_bytes)
        self._limit("private arrays", self.items * program.private_bytes)
        self.memories: dict[int, _Memory] = {TABLES: _Memory(np.frombuffer(program.tables, np.uint8).copy())}
        self.memories[LOCAL] = _Memory(np.zeros(self.items // self.group_size * self.local_bytes, np.uint8))
        self.memories[PRIVATE] = _Memory(np.zeros(self.items * program.private_bytes, np.uint8))
        own = iter(arrays[len(program.local_arrays) :])
        values: list[Value] = []
        for number, (parameter, argument) in enumerate(zip(program.parameters, arguments, strict=True)):
            if parameter.kind == "local":
                values.append(address(LOCAL) + np.int64(next(own).offset))
            elif parameter.kind == "scalar" and parameter.dtype.kind != "V":
                values.append(_scalar(argument, parameter.dtype))
            else:
                data = np.asarray(argument)
                self.memories[number] = _Memory(data.reshape(-1).view(np.uint8))
                values.append(address(number))
        return values

    def _limit(self, what: str, nbytes: int) -> None:
        if nbytes > _MOST_BYTES:
            groups, gib = counted(self.items // self.group_size, "work-group"), nbytes / 2**30
            most = f"at most {_MOST_BYTES >> 30} GiB are possible"
            message = f"the {what} of {groups} would take {gib:.0f} GiB; {most}"
            raise InputError(f"{self.program.file}: {self.program.name}: {message}")

    def _offsets(self, access: Access, at: Value) -> list[tuple[int, Value, NDArray[np.int64] | None]]:
        """Return regions with the offsets into them, and the lanes that access them if not all access one."""
        if access.region is not None:
            return [(access.region, at - address(access.region), None)]
        regions = region_of(at)
        first = int(regions.flat[0])
        if not at.ndim or (regions == first).all():
            return [(first, at - address(first), None)]
        parts = [(int(region), np.flatnonzero(regions == region)) for region in np.unique(regions)]
        return [(region, at[where] - address(region), where) for region, where in parts]

    def _place(
        self, access: Access, region: int, offsets: Value, where: NDArray[np.int64] | None
    ) -> tuple[_Memory, Value]:
        """Tell the recorder, and return the memory with the offsets into it."""
        memory = self.memories.get(region)
        if memory is None:
            raise InputError(f"{self.program.file}:{access.line}: access through a pointer that points to no buffer")
        lanes, missed = self.lanes, 0.0
        if self.recorder is not None:
            waves = lanes.waves if where is None else lanes.waves[where]
            each = offsets if offsets.ndim else np.broadcast_to(offsets, waves.shape)
            missed = self.recorder.accessed(access, region, each, waves)
        self.seen[access.number] = region, missed
        if region == PRIVATE:
            index = lanes.index if where is None else lanes.index[where]
            return memory, offsets + index * np.int64(self.program.private_bytes)
        if region == LOCAL and self.group_size != self.items:
            groups = lanes.groups if where is None else lanes.groups[where]
            return memory, offsets + groups * np.int64(self.local_bytes)
        return memory, offsets

    def load(self, access: Access, layout: Layout, at: Value) -> Value:
        """Return what is at an address; the nearest element of the buffer, if it is outside."""
        parts = self._offsets(access, at)
        if len(parts) == 1:
            ((region, offsets, where),) = parts
            found = _gathered(*self._place(access, region, offsets, where), layout)
        else:
            found = [np.zeros(self.lanes.size, layout.dtype) for _ in range(layout.count)]
            for region, offsets, where in parts:
                for whole, piece in zip(
                    found, _gathered(*self._place(access, region, offsets, where), layout), strict=True
                ):
                    whole[where] = piece
        return tuple(found) if layout.vector else found[0]

    def store(self, access: Access, layout: Layout, at: Value, value: Value) -> None:
        """Store a value at an address, unless it is outside its buffer."""
        values = value if layout.vector else (value,)
        for region, offsets, where in self._offsets(access, at):
            mine = values if where is None else [part[where] if part.ndim else part for part in values]
            _scatter(*self._place(access, region, offsets, where), layout, mine)

    def atomic(
        self,
        access: Access,
        name: str,
        dtype: np.dtype[Any],
        is_unsigned: bool,
        operands: Sequence[Value],
        expected: Access | None,
    ) -> Value:
        """Let lanes change memory one after the other, and return what each found there.

        With an *expected* value at an address, return instead whether it was found there, and store what was found.
        """
        at, *values = (np.broadcast_to(operand, self.lanes.size) for operand in operands)
        (region, offsets, _), *others = self._offsets(access, at)
        if others:
            what = "one atomic operation on several buffers is not supported"
            raise Unsupported(f"{self.program.file}:{access.line}: {what}")
        memory, offsets = self._place(access, region, np.asarray(offsets), None)
        view = memory.view(np.dtype(dtype.str.replace("i", "u")) if is_unsigned else dtype)
        index = offsets // dtype.itemsize
        inside = (index >= 0) & (index < view.size)
        layout, pointer = Layout(1, dtype, vector=False), values[0] if expected else None
        if expected:
            values[0] = np.broadcast_to(self.load(expected, layout, pointer), self.lanes.size)
        old = np.zeros(self.lanes.size, view.dtype)
        order = np.argsort(index, kind="stable")
        starts = np.r_[True, np.diff(index[order]) != 0]
        rank = np.arange(order.size) - np.maximum.accumulate(np.where(starts, np.arange(order.size), 0))
        rank[~inside[order]] = -1
        by_turn = np.argsort(rank, kind="stable")
        bounds = np.searchsorted(rank[by_turn], np.arange(rank.max(initial=-1) + 2))
        for begin, end in pairwise(bounds):
            turn = order[by_turn[begin:end]]
            old[turn] = found = view[index[turn]]
            view[index[turn]] = _changed(
                name, found, [value[turn].view(view.dtype) if value.dtype == dtype else value[turn] for value in values]
            )
        old = old.view(dtype)
        if expected is None:
            return old
        self.store(expected, layout, pointer, old)
        return old == values[0]

    # exchange
    def exchange(self, name: str, operands: Sequence[Value], *, of_group: bool, is_unsigned: bool) -> Value:
        """Exchange values between the work-items of a sub-group or work-group; *name* as after ``sub_group_``."""
        lanes = self.lanes
        row = lanes.groups if of_group else self.sub_group_of[lanes.index]
        column = (self.linear if of_group else self.lane_of)[lanes.index]
        shape = (int(row[-1]) + 1, self.group_size if of_group else self.sub_group)
        value = np.broadcast_to(operands[0], lanes.size)
        if name in ("ballot", "all", "any"):
            return _vote(name, value != 0, row, column, shape)
        if name.startswith(("reduce", "scan")):
            return _folded(name, unsigned(value) if is_unsigned else value, row, column, shape).view(value.dtype)
        table, present = np.zeros(shape, value.dtype), np.zeros(shape, np.bool_)
        table[row, column], present[row, column] = value, True
        if name == "broadcast_first":
            return table[row, present.argmax(axis=1)[row]]
        source = _source(name, column, operands[1:], (*self.shape.local_size, 1))
        return table[row, np.where((source >= 0) & (source < shape[1]), source, column)]

    # state
    def _read(self, slot: int, lanes: _Lanes) -> Value:
        layout, value = self.layout[slot], self.value[slot]
        if layout is lanes or layout is None or (not isinstance(value, tuple) and not value.ndim):
            return value
        return _each(value, lambda part: self._expanded(part, layout)[lanes.index] if part.ndim else part)

    def _expanded(self, part: Value, layout: _Lanes) -> Value:
        if layout is self.all:
            return part
        whole = np.zeros(self.items, part.dtype)
        whole[layout.index] = part
        return whole

    def _write(self, slot: int, value: Value, lanes: _Lanes) -> None:
        valid = self.valid[slot]
        if valid is None or valid.within(lanes):
            self.value[slot], self.layout[slot], self.valid[slot] = value, lanes, lanes
            return
        layout = self.layout[slot] or self.all
        self.value[slot] = self._merged(self.value[slot], layout, value, lanes)
        self.layout[slot], self.valid[slot] = self.all, valid.common(lanes)

    def _merged(self, old: Value, layout: _Lanes, new: Value, lanes: _Lanes) -> Value:
        if isinstance(new, tuple):
            return tuple(self._merged(a, layout, b, lanes) for a, b in zip(old, new, strict=True))
        if not old.ndim and not new.ndim and (old == new or (old != old and new != new)):
            return new
        whole = np.full(self.items, old) if not old.ndim else self._expanded(old, layout)
        whole = whole.copy() if whole is old else whole
        whole[lanes.index] = new
        return whole

    # control
    def run(self) -> Execution:
        blocks = self.program.blocks
        pending: dict[int, _Lanes] = {0: self.all}
        waiting: dict[int, _Lanes] = {}
        steps, begin = 0, process_time()
        while pending or waiting:
            if not pending:
                self._released(waiting)
                pending, waiting = waiting, {}
            number = min(pending)
            self._step(number, pending.pop(number), pending, waiting)
            steps += 1
            if steps >= _MOST_BLOCKS or (steps > _MANY_BLOCKS and process_time() - begin > _MOST_S):
                place = f"{self.program.file}:{blocks[number].line}"
                raise InputError(
                    f"{place}: {self.program.name} did not end after {steps:,} steps; is there an endless loop?"
                )
        return self._result()

    def _released(self, waiting: Mapping[int, _Lanes]) -> None:
        for number, lanes in waiting.items():
            if self.recorder is not None:
                self.recorder.synchronised(self.program.blocks[number].line, lanes.waves)

    def _step(self, number: int, lanes: _Lanes, pending: dict[int, _Lanes], waiting: dict[int, _Lanes]) -> None:
        block, now = self.program.blocks[number], self.now
        self.lanes = lanes
        self.executed[number] += lanes.size
        self.issued[number] += lanes.wave_count
        for slot in block.inputs:
            now[slot] = self._read(slot, lanes)
        for op, function in zip(block.operations, self.functions[number], strict=True):
            value = function(*[now[slot] for slot in op.operands])
            if op.result >= 0:
                now[op.result] = value
        if number not in self.uniform:
            self.uniform[number] = self._uniform(block)
        if self.chains:
            if block.waits:
                self.chains.barrier()
            self.chains.block(number, self.seen)
        for slot in block.outputs:
            self._write(slot, now[slot], lanes)
        self._leave(number, block, lanes, pending, waiting)

    def _uniform(self, block: Block) -> Mapping[str, float]:
        """Return the integer instructions of a block, just executed, whose results all lanes share."""
        found = Counter[str]({"branch": block.condition >= 0 and not self.now[block.condition].ndim})
        for op in block.operations:
            if op.result >= 0 and not getattr(self.now[op.result], "ndim", 1):
                found.update({kind: count for kind, count in op.counts.items() if kind in _SCALAR})
        return found

    def _leave(
        self, number: int, block: Block, lanes: _Lanes, pending: dict[int, _Lanes], waiting: dict[int, _Lanes]
    ) -> None:
        if not block.targets:
            return
        if block.condition < 0:
            self._go(number, block.targets[0], lanes, None, pending, waiting)
            return
        value = self.now[block.condition]
        ways = [(target, chosen) for target, chosen in self._ways(block, value) if np.any(chosen)]
        parts = [lanes if chosen.all() else lanes.part(chosen) for _, chosen in ways]
        split = sum(part.wave_count for part in parts) - lanes.wave_count if len(parts) > 1 else 0
        self.split += split
        if self.chains:
            self.chains.branch(block.condition, split=split > 0)
        for (target, chosen), part in zip(ways, parts, strict=True):
            self._go(number, target, part, None if part is lanes else chosen, pending, waiting)

    def _ways(self, block: Block, value: Value) -> list[tuple[int, Value]]:
        if not block.cases:
            return [(block.targets[0], value), (block.targets[1], ~value)]
        cases = [(target, value == case) for target, case in zip(block.targets[1:], block.cases, strict=True)]
        rest = ~np.any([chosen for _, chosen in cases], axis=0)
        together: dict[int, Value] = {block.targets[0]: rest}
        for target, chosen in cases:
            together[target] = together[target] | chosen if target in together else chosen
        return [*together.items()]

    def _go(
        self,
        number: int,
        target: int,
        lanes: _Lanes,
        chosen: Value,
        pending: dict[int, _Lanes],
        waiting: dict[int, _Lanes],
    ) -> None:
        block = self.program.blocks[target]
        if self.chains:
            self.chains.entered(number, target, block)
        for slot, sources in block.phis:
            value = self.now[sources[number]]
            self._write(
                slot, value if chosen is None else _each(value, lambda part: part[chosen] if part.ndim else part), lanes
            )
        queue = waiting if block.waits else pending
        queue[target] = queue[target].joined(lanes) if target in queue else lanes

    def _result(self) -> Execution:
        chain = self.chains.longest() if self.chains else {}
        operations = defaultdict[str, float](float)
        issued = defaultdict[str, float](float, {"branch": self.split * self.wave} if self.split else {})
        for block, lanes, waves in zip(self.program.blocks, self.executed, self.issued, strict=True):
            for kind, count in block.counts.items():
                operations[kind] += count * lanes
                issued[kind] += count * waves * self.wave
        uniform = defaultdict[str, float](float)
        for number, counts in self.uniform.items():
            for kind, count in counts.items():
                uniform[kind] += count * self.issued[number] * self.wave
        return Execution(self.items, operations, issued, uniform, chain)


def _each(value: Value, function: Any) -> Value:
    return tuple(_each(part, function) for part in value) if isinstance(value, tuple) else function(value)


def _uniform(values: Value) -> Value:
    """Return the one value that all work-items have, or their values."""
    return values[0] if (values == values[0]).all() else values


def _scalar(argument: Any, dtype: np.dtype[Any]) -> Value:
    if isinstance(argument, np.void):
        return tuple(np.frombuffer(argument, dtype.str.replace("u", "i")))
    return signed(np.asarray(argument).reshape(-1)[0].astype(dtype))


def _indices(memory: _Memory, offsets: Value, layout: Layout) -> tuple[NDArray[Any], Value]:
    size = layout.dtype.itemsize
    return memory.view(layout.dtype), offsets >> np.int64(size.bit_length() - 1) if size > 1 else offsets


def _gathered(memory: _Memory, offsets: Value, layout: Layout) -> list[Value]:
    if not layout.aligned:
        data = memory.data
        at = np.asarray(offsets)[..., None] + np.arange(layout.nbytes)
        packed = data.take(at, mode="clip").view(layout.dtype)
        return [packed[..., number][()] for number in range(layout.count)]
    view, index = _indices(memory, offsets, layout)
    if not view.size:
        return [layout.dtype.type(0)] * layout.count
    return [view.take(index + number if number else index, mode="clip") for number in range(layout.count)]


def _scatter(memory: _Memory, offsets: Value, layout: Layout, values: Sequence[Value]) -> None:
    if not layout.aligned:
        offsets = np.atleast_1d(offsets)
        listed = [np.broadcast_to(value, offsets.shape).astype(layout.dtype) for value in values]
        packed = np.stack(listed, axis=-1).view(np.uint8)
        values, layout = (
            tuple(packed.T),
            Layout(layout.nbytes, np.dtype(np.uint8), vector=True),
        )
    view, index = _indices(memory, offsets, layout)
    index = np.atleast_1d(index)
    inside = None
    if index.size and (index.min() < 0 or index.max() > view.size - layout.count):
        inside = (index >= 0) & (index <= view.size - layout.count)
        index = index[inside]
    for number, value in enumerate(values):
        if value.dtype != layout.dtype:
            value = value.astype(layout.dtype)
        if value.ndim and index.size != value.size:
            value = value[inside] if inside is not None and inside.size == value.size else value[-1:]
        view[index + number if number else index] = value


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


def _source(name: str, column: Value, operands: Sequence[Value], local: Sequence[int]) -> Value:
    """Return the lanes from which lanes take a value."""
    distance = operands[0].astype(np.int64)
    if name == "shuffle_xor":
        return column ^ distance
    if name in ("shuffle_up", "shuffle_down"):
        return column + (distance if name == "shuffle_down" else -distance)
    steps = (local[0], local[0] * local[1])
    return distance + sum(index * step for index, step in zip(operands[1:], steps, strict=False))


def _vote(name: str, votes: Value, row: Value, column: Value, shape: tuple[int, int]) -> Value:
    table = np.full((shape[0], max(128, shape[1])), name == "all")
    table[row, column] = votes
    if name != "ballot":
        result: Value = table.all(axis=1) if name == "all" else table.any(axis=1)
        return result[row].astype(np.int32)
    words = np.packbits(table[:, :128], axis=1, bitorder="little").view(np.int32)
    return tuple(words[row, number] for number in range(4))


def _neutral(name: str, dtype: np.dtype[Any]) -> Value:
    if name in ("min", "max"):
        limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        return limits.max if name == "min" else limits.min
    return np.array({"mul": 1, "and": -1}.get(name, 0)).astype(dtype)


def _folded(name: str, value: Value, row: Value, column: Value, shape: tuple[int, int]) -> Value:
    """Return reductions and scans of rows; absent lanes do not count."""
    operation = name.rpartition("_")[2]
    fold: Any = FOLDS[operation]
    neutral = _neutral(operation, value.dtype)
    table = np.full(shape, neutral, value.dtype)
    table[row, column] = value
    if name.startswith("reduce"):
        return fold.reduce(table, axis=1, dtype=value.dtype)[row]
    if "exclusive" in name:
        table = np.insert(table, 0, neutral, axis=1)
    return fold.accumulate(table, axis=1, dtype=value.dtype)[row, column]
