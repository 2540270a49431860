"""Faults of a kernel, found while its work-groups are executed one after another; the first one raises.

The code keeps each variable in memory, so that no faulty access disappears. Each work-item is a wave of its own. The
work-items of a group run in phases, which barriers separate.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import InputError
from gpureport.trace.compiler import compile_file
from gpureport.trace.execution import Recorder, element_of, execute, local_arrays, number_of
from gpureport.trace.program import LOCAL, PRIVATE, Access, LocalArray, Program, program
from gpureport.workloads.model import Dispatch, Job, Parameters, Workload

Numbers = NDArray[np.int64]
_MOST_ACCESSES = 1 << 19
"""Of all groups of a dispatch, those of a group at once; more take longer than a quarter of a minute."""
_SUB_GROUP = 32
"""Work-items of a sub-group. Those of one may wait for each other at barriers of their own."""
_ITEMS = 1 << 20
"""More than the work-items of a group."""


def check(workload: Workload, parameters: Parameters, job: Job) -> Mapping[str, NDArray[Any]]:
    """Execute the dispatches of a job, and return the contents of its buffers; none if some groups would take too long.

    Raises:
        InputError: an access is out of bounds, reads local or private memory without a value, or does not wait for that
            of another work-item; or a barrier is not reached by all. The message has file, line and work-item.
    """
    module = compile_file(Path(workload.source), workload.build_options(parameters), variables=True)
    contents = {name: buffer.filled() for name, buffer in job.buffers.items()}
    whole = True
    for each in islice(cycle(job.dispatches), workload.verification_dispatches):
        kernel = program(module, each.kernel)
        arguments = each.on_host(contents)
        names = zip(kernel.parameters, each.arguments, strict=True)
        buffers = {
            number: _Memory([LocalArray(parameter.name, 0, contents[name].nbytes)], known=True)
            for number, (parameter, name) in enumerate(names)
            if isinstance(name, str)
        }
        faults = _Faults(kernel, each, buffers)
        count = prod(each.groups)
        for group in dict.fromkeys((0, count - 1, *range(count))):
            if faults.accesses > _MOST_ACCESSES:
                whole = False
                break
            faults.begin(group, local_arrays(kernel, arguments))
            execute(kernel, arguments, each, [group], 1, faults, sub_group=_SUB_GROUP)
    return contents if whole else {}


class _Memory:
    """The bytes of some arrays: which have a value, and which work-items accessed them last, as phase * 2^20 + item."""

    def __init__(self, arrays: Sequence[LocalArray], copies: int = 1, *, known: bool = False) -> None:
        self.arrays, self.nbytes = arrays, max((each.offset + each.nbytes for each in arrays), default=0)
        size = self.nbytes * copies
        self.known = np.full(size, known)
        self.writer, self.least, self.most = (np.full(size, -1, np.int64) for _ in range(3))

    def outside(self, offsets: Numbers, nbytes: int) -> NDArray[np.bool_]:
        """Return which accesses of *nbytes* are not within one array."""
        within = ((a.offset <= offsets) & (offsets + nbytes <= a.offset + a.nbytes) for a in self.arrays)
        found: NDArray[np.bool_] = np.logical_or.reduce([np.zeros(offsets.shape, np.bool_), *within])
        return ~found

    def rivals(self, cells: Numbers, stamps: Numbers, begin: int, *, write: bool) -> Numbers:
        """Note accesses to bytes; return for each another one since *begin*, of which one writes, or -1."""

        def others(before: Numbers) -> Numbers:
            return np.where((before >= begin) & (before != stamps), before, -1)

        found = others(self.writer[cells])
        if write:
            found = np.maximum.reduce([found, others(self.least[cells]), others(self.most[cells])])
            self.writer[cells] = stamps
            return np.maximum(found, others(self.writer[cells]))  # of several stores at once, one remains
        self.least[cells[self.least[cells] < begin]] = np.iinfo(np.int64).max
        np.minimum.at(self.least, cells, stamps)
        np.maximum.at(self.most, cells, stamps)
        return found


class _Faults(Recorder):
    """A recorder of work-groups that are executed one after another; it raises an InputError at the first fault."""

    def __init__(self, kernel: Program, shape: Dispatch, buffers: dict[int, _Memory]) -> None:
        self.kernel, self.shape, self.memories = kernel, shape, buffers
        self.file, self.items = Path(kernel.file).name, prod(shape.local_size)
        self.group = self.phase = self.accesses = 0

    def begin(self, group: int, local: Sequence[LocalArray]) -> None:
        """Begin a work-group, whose local and private memory has no values."""
        self.group, self.phase, self.variables = group, self.phase + 1, set[tuple[int, int]]()
        private = LocalArray("", 0, self.kernel.private_bytes)
        self.memories |= {LOCAL: _Memory(local), PRIVATE: _Memory([private], self.items)}

    def accessed(self, access: Access, buffer: int, offsets: Numbers, waves: Numbers) -> float:
        memory, private = self.memories.get(buffer), buffer == PRIVATE
        self.accesses += 1
        variable = int(offsets[0]), access.nbytes
        if memory is None or not access.line or (private and variable in self.variables and not offsets.strides[0]):
            return 0.0  # a constant of the program, part of a store, or a variable that all work-items have set
        does = "stores" if access.write else "loads"
        for i in np.flatnonzero(memory.outside(offsets, access.nbytes))[:1]:
            element, count = element_of(memory.arrays, int(offsets[i]), access.nbytes)
            self._refuse(access, f"work-item {self._item(waves[i])} {does} {element}, and {count}")
        cells = np.add.outer(offsets + waves * memory.nbytes * private, np.arange(access.nbytes)).ravel()
        items = waves.repeat(access.nbytes)
        if not access.write or access.atomic:
            known = memory.known[cells].reshape(-1, access.nbytes).any(axis=1)  # structures have gaps
            for i in np.flatnonzero(~known)[:1]:
                what = "a private variable" if private else element_of(memory.arrays, int(offsets[i]), access.nbytes)[0]
                self._refuse(access, f"work-item {self._item(waves[i])} loads {what}, which has no value")
        memory.known[cells] |= access.write
        if private and access.write and not offsets.strides[0] and waves.size == self.items:
            self.variables.add(variable)
        if not private:
            self._refuse_rivals(access, memory, cells, items)
        return 0.0

    def _refuse_rivals(self, access: Access, memory: _Memory, cells: Numbers, items: Numbers) -> None:
        begin = self.phase * _ITEMS
        plain = access.write and not access.atomic  # atomic operations may meet each other, as loads do
        rivals = memory.rivals(cells, begin + items, begin, write=plain)
        together = self.kernel.has_sub_group_barriers & (items // _SUB_GROUP == (rivals - begin) // _SUB_GROUP)
        for i in np.flatnonzero((rivals >= 0) & ~together)[:1]:
            pair = " and ".join(map(self._item, sorted((int(items[i]), int(rivals[i]) - begin))))
            element, _ = element_of(memory.arrays, int(cells[i]), access.nbytes)
            what = f"access {element} without a barrier in between, and one of them stores it"
            self._refuse(access, f"work-items {pair} {what}")

    def synchronised(self, line: int, waves: Numbers) -> None:
        for item in np.setdiff1d(np.arange(self.items), waves)[:1]:
            what = f"work-item {self._item(item)} does not reach this barrier, unlike others of its group"
            raise InputError(f"{self.file}:{line}: {what}")
        self.phase += 1

    def _item(self, item: int) -> str:
        return number_of(self.shape, self.group, item)

    def _refuse(self, access: Access, what: str) -> NoReturn:
        raise InputError(f"{self.file}:{access.line}: {what}")
