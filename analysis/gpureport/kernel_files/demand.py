"""The demand of a described kernel: declared traffic and operations, completed by assumptions."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod

from gpureport.kernel_files.description import ArgumentFields
from gpureport.kernel_files.formulas import Formulas
from gpureport.kernel_files.signature import Signature
from gpureport.records.measurement import LoopCode, MachineCode
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.atomics import waiting_cycles
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import Demand, Parameters, Stream
from gpureport.workloads.tiling import Tiling


@dataclass(frozen=True)
class Traffic:
    """The memory traffic of one dispatch, as declared: streams, and the lines that accesses of a wave touch.

    Work-items access their own element of an array, neighbours along x neighbouring elements, unless an argument says
    otherwise.
    """

    formulas: Formulas
    parameters: Parameters
    device: Device

    @cached_property
    def wanted(self) -> tuple[int, ...]:
        """Work-items in each dimension, without those that only fill work-groups."""
        return self.formulas.wanted(self.parameters)

    @cached_property
    def gathered(self) -> float:
        """Number of accesses without order."""
        return sum(self._amount(each, "gather") for each in self.formulas.buffers)

    @property
    def beyond_caches(self) -> bool:
        """Whether an array that is accessed without order exceeds the last cache; else it stays there."""
        sizes, last = self.formulas.nbytes(self.parameters), grid.last_cache_bytes(self.device)
        return any(each.gather and sizes[each.name] > last for each in self.formulas.buffers)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The traffic of all buffers."""
        return tuple(stream for each in self.formulas.buffers for stream in self._streams(each))

    @cached_property
    def _counts(self) -> Mapping[tuple[str, bool], float]:
        """Accesses of all work-items, by buffer and whether they are stores."""
        found: dict[tuple[str, bool], float] = {}
        served = {(each.name, False): self._served(each) for each in self.formulas.buffers}
        for stream in self.streams:
            key = stream.buffer, stream.write
            found[key] = found.get(key, 0.0) + stream.elements * stream.passes * served.get(key, 1.0)
        return found

    @property
    def accesses(self) -> float:
        """Loads and stores of all work-items."""
        return sum(self._counts.values())

    @property
    def loads(self) -> tuple[float, ...]:
        """Loads of a work-item from each buffer that it reads."""
        atomic = {each.name for each in self.formulas.buffers if each.atomic}
        found = (count for (name, write), count in self._counts.items() if not write and name not in atomic)
        return tuple(count / prod(self.wanted) for count in found)

    @property
    def lines_per_access(self) -> float:
        """Lines that an access of a wave touches, relative to one of neighbouring elements; mean of all accesses."""
        if not self.accesses or not grid.coalesces(self.device):
            return 1.0
        lines = {each.name: self._lines(each) for each in self.formulas.buffers}
        return sum(count * lines[name] for (name, _), count in self._counts.items()) / self.accesses

    @property
    def line_conflicts(self) -> float:
        """Rows of a wave that start in the same banks of the first cache."""
        tilings = (self._tiling(each) for each in self.formulas.buffers if each.access == "read")
        return float(max((tiling.line_conflicts for tiling in tilings if tiling), default=1))

    @property
    def stores_per_sector(self) -> float:
        """Number of stores that together write one sector, the mean of all written arrays.

        If neighbouring work-items write a run apart, each store of a wave covers only their own elements.
        """
        written = {each.name: each for each in self.formulas.buffers if each.access != "read" and not each.atomic}
        if not (written and grid.coalesces(self.device)):
            return 1.0
        sector = grid.last_sector_bytes(self.device)
        nbytes = dict.fromkeys(written, 0.0)
        for stream in self.streams:
            if stream.write and stream.buffer in written:
                nbytes[stream.buffer] += stream.elements * stream.record_bytes
        stores = {name: max(1.0, min(self._run(each), sector / each.element_bytes)) for name, each in written.items()}
        return sum(nbytes[name] * stores[name] for name in written) / (sum(nbytes.values()) or 1.0)

    def _run(self, argument: ArgumentFields) -> float:
        return self._amount(argument, "run") if argument.run else 1.0

    @property
    def line_writes(self) -> float | None:
        """Lines that all waves write; ``None``: those that the streams cover."""
        written = ((each, self._tiling(each)) for each in self.formulas.buffers if each.access != "read")
        lines = [t.line_writes * self._lines_by_row(each, t) / t.lines for each, t in written if t]
        return sum(lines) if lines else None

    @property
    def waiting_cycles(self) -> float:
        """Clock cycles for which atomic operations on global memory wait for each other, on a GPU."""
        atomic = [each for each in self.formulas.buffers if each.atomic]
        return sum(
            waiting_cycles(self.device, self._amount(each, "atomic"), self.formulas.elements(each, self.parameters))
            for each in grid.chosen(self.device, cpu=[], gpu=atomic)
        )

    def _amount(self, argument: ArgumentFields, field: str) -> float:
        return self.formulas.amount_of(argument, field, self.parameters)

    def _served(self, argument: ArgumentFields) -> float:
        """Return how many work-items get their data from one load from the first cache."""
        shared = argument.uniform and grid.coalesces(self.device)
        return float(self.device.architecture.wave_size) if shared else 1.0

    def _streams(self, argument: ArgumentFields) -> tuple[Stream, ...]:
        record, used = argument.record_bytes, argument.accessed_bytes
        count = self.formulas.elements(argument, self.parameters) / argument.stride
        passes, outer = self._passes(argument)
        if argument.gather:
            passes = self._amount(argument, "gather") / count
            outer = passes * max(1.0, self._bytes_of_request / record)
        if argument.atomic:
            each = self._amount(argument, "atomic") / count
            written = Stream(argument.name, count, record, used, True, each, each)
            read = Stream(argument.name, count, record, used, False, each, each)
            # GPUs add in the cache, which returns nothing if no work-item uses the previous value.
            return grid.chosen(self.device, cpu=(read, written), gpu=(written,))
        own = passes if argument.access == "write" else 1.0
        written = Stream(argument.name, count, record, used, True, own, self._written(argument))
        if argument.access == "write":
            return (written,)
        served = self._served(argument)
        passes, rows = passes / served, self._other_rows(argument) / served
        read = Stream(argument.name, count, record, used, False, passes - rows, outer)
        # Independent loads from other rows; the work-group's other work-items bring their data.
        others = (Stream(argument.name, count, record, used, False, rows, 0.0),) if rows else ()
        return (read, *others, *((written,) if argument.access == "read_write" else ()))

    @property
    def _bytes_of_request(self) -> float:
        """Return the bytes that the cache of all compute units could deliver in the time of an access without order.

        Each moves a whole sector. A slice accepts one request in the time in which it writes a sector, and delivers
        more than a sector in that time.
        """
        sector, shared = grid.last_sector_bytes(self.device), self.device.shared_cache
        rate = self.device.architecture.sector_writes_per_cycle
        if shared is None or not (shared.slices and rate):
            return sector
        return max(sector, shared.bandwidth_bytes_per_cycle * self.device.compute_units / (shared.slices * rate))

    def _passes(self, argument: ArgumentFields) -> tuple[float, float]:
        passes = self._amount(argument, "passes") if argument.passes else 1.0
        outer = self._amount(argument, "outer_passes") if argument.outer_passes else min(1.0, passes)
        return passes * (argument.pattern.points if argument.pattern else 1), outer * self._halo(argument)

    def _other_rows(self, argument: ArgumentFields) -> float:
        if argument.pattern is None or argument.passes:
            return 0.0
        return float(argument.pattern.points - 2 * argument.pattern.radii[-1] - 1)

    def _halo(self, argument: ArgumentFields) -> float:
        """Return the bytes that work-groups load in whole sectors, relative to the array."""
        if argument.pattern is None or not grid.coalesces(self.device):
            return 1.0
        sector, size = grid.last_sector_bytes(self.device), argument.element_bytes
        x, *others = zip(self.formulas.local_size(self.parameters), reversed(argument.pattern.radii), strict=False)
        own = x[0] * size
        row = (ceil(own / sector) + 2 * ceil(x[1] * size / sector)) * sector / own
        return row + sum(2 * radius / side for side, radius in others)

    def _written(self, argument: ArgumentFields) -> float:
        tiling = self._tiling(argument)
        if tiling is None or not self._shifted(argument):
            return tiling.written if tiling else 1.0
        row = tiling.wave[0] * tiling.row_bytes
        return (row + grid.last_sector_bytes(self.device) - argument.element_bytes) / row

    def _tiling(self, argument: ArgumentFields) -> Tiling | None:
        """Return how waves cover the rows of an array; ``None``: in order, or not by rows."""
        local = self.formulas.local_size(self.parameters)
        otherwise = argument.gather or argument.atomic or argument.uniform or argument.run
        if len(local) == 1 or otherwise or not grid.coalesces(self.device):
            return None
        items, group = (self.wanted[0], prod(self.wanted[1:])), (local[0], prod(local[1:]))
        return Tiling(self.device, items, group, argument.record_bytes, 1)

    def _shifted(self, argument: ArgumentFields) -> bool:
        pitch = self.wanted[0] * argument.record_bytes
        return len(self.wanted) > 1 and pitch % grid.last_sector_bytes(self.device) != 0

    def _lines_by_row(self, argument: ArgumentFields, tiling: Tiling) -> float:
        """Return the lines that an access of a wave touches, the mean over the points of a stencil."""
        pattern = argument.pattern
        beside = 2 * pattern.radii[-1] / (pattern.points if pattern.shape == "cross" else 3) if pattern else 0.0
        return tiling.lines_per_access(1.0 if self._shifted(argument) else min(1.0, beside))

    def _lines(self, argument: ArgumentFields) -> float:
        lanes = self.device.architecture.wave_size
        if argument.gather:
            return lanes
        tiling, apart = self._tiling(argument), self._run(argument) * argument.record_bytes
        touched = self._lines_by_row(argument, tiling) if tiling else min(lanes, lanes * apart / self.device.line_bytes)
        return max(1.0, touched / max(1.0, lanes * argument.element_bytes / self.device.line_bytes))


_INSTRUCTIONS = 6.0
"""Assumed instructions of a work-item besides its accesses and declared operations: index, bound, end."""
_ADDRESS_INSTRUCTIONS = 2.0
"""Assumed instructions of an access besides the access itself: its address."""
_OVERLAPPING_CYCLES = 16.0
"""Length of chains that out-of-order execution of a CPU overlaps (assumed)."""
_UNROLLED = 4
"""Iterations of a loop with an unknown number that compilers combine (assumed)."""
_ATOMIC_CYCLES = 20.0
"""Cycles of an atomic operation on a CPU, whose work-groups wait for each of their own."""


_CLASSES: Mapping[str, str] = {
    "fp32": "fp32",
    "fp64": "fp64",
    "fp16": "fp16",
    "int": "int32",
    "logic": "int32",
    "shift": "int32",
    "bit": "int32",
    "compare": "int32",
    "int multiply": "int32_mul",
    "shared load": "local",
    "shared store": "local",
    "shuffle": "shuffle",
    "vote": "ballot",
    "special": "transcendental",
    "barrier": "barrier",
}
"""Instruction classes of the model, by those of PTX."""


def _compiled_operations(code: MachineCode | None, loads: float) -> dict[str, float]:
    """Return the operations of a work-item by class, from its compiled code.

    A loop has as many iterations as its *loads* need. Empty if the code is not that of single work-items (PTX), calls
    functions, or has nested loops or loops without loads, so that counts are unknown.
    """
    if code is None or code.form != "PTX" or code.calls or (code.loops and not (code.loop and code.loop.outside)):
        return {}
    parts = [(code.counts, 1.0)]
    if code.loop:
        parts = [(code.loop.outside, 1.0), (code.loop.counts, _iterations(code.loop, loads))]
    return _summed(
        (_CLASSES[kind], count * times) for counts, times in parts for kind, count in counts.items() if kind in _CLASSES
    )


def _listed(counts: Mapping[str, float], listed: Collection[str]) -> dict[str, float]:
    """Return *counts* by the classes that an architecture has *listed*; those without a known rate stay as they are."""
    return _summed((listed_class(name, listed), count) for name, count in counts.items())


def _summed(counts: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, count in counts:
        found[name] = found.get(name, 0.0) + count
    return found


def _iterations(loop: LoopCode, loads: float) -> float:
    """Return the iterations of a compiled loop in which a work-item has *loads* altogether."""
    if loop.iterations is not None:
        return float(loop.iterations)
    return max(0.0, loads - loop.outside.get("global load", 0)) / loop.loads


def demand_of(
    formulas: Formulas, parameters: Parameters, device: Device, code: MachineCode | None, signature: Signature
) -> Demand:
    """Return the demand of one dispatch.

    Accesses are the declared ones. Operations are declared, or those of a work-item in its compiled *code*. The latter
    contains instructions for indices, addresses and bounds; otherwise they are assumed, besides declared operations.
    Compilers for CPUs are assumed not to vectorise kernels whose source, of this *signature*, has loops or several
    conditions. One condition, such as a guard, becomes a mask.
    """
    fields, traffic = formulas.fields, Traffic(formulas, parameters, device)
    local, items, wanted = formulas.local_size(parameters), prod(formulas.global_size(parameters)), prod(traffic.wanted)
    operations = formulas.counts("operations", parameters)
    around = _INSTRUCTIONS * items + _ADDRESS_INSTRUCTIONS * traffic.accesses
    if not operations and (compiled := _compiled_operations(code, sum(traffic.loads))):
        operations, around = {name: count * wanted for name, count in compiled.items()}, 0.0
    chain = {"int32": 8.0, **formulas.counts("chain", parameters)}
    if device.architecture.groups_as_loops:
        if _waits_in_turn(chain, device):
            chain = {name: count * prod(local) for name, count in chain.items()}
        chain["int32"] += _atomic_chain(formulas, parameters, items / prod(local), device)
    if in_local := formulas.amount("local_atomics", parameters):
        operations["local"] = operations.get("local", 0.0) + in_local
    rates = device.architecture.rates_per_cycle
    return Demand(
        work_items=items,
        work_group=local,
        streams=traffic.streams,
        operations={
            **_listed(operations, rates),
            "memory": traffic.accesses,
            "instruction": around + traffic.accesses + sum(operations.values()),
        },
        chain=_listed(chain, device.architecture.latency_cycles),
        memory_chain=_memory_chain(formulas, traffic, code, loops=signature.loops),
        registers=fields.registers or 32,
        local_memory_bytes=formulas.local_memory_bytes(parameters),
        lines_per_access=traffic.lines_per_access,
        line_conflicts=traffic.line_conflicts,
        line_writes=traffic.line_writes,
        stores_per_sector=traffic.stores_per_sector,
        waiting_cycles=traffic.waiting_cycles,
        reused="kernel" if traffic.beyond_caches else "dispatch",
        ping_pong=fields.swap is not None,
        branches=signature.loops or signature.conditions or (code is not None and code.vectorised is False),
        phases_aligned=not any(each.atomic for each in formulas.buffers),
        idle_items=items - wanted,
    )


def _waits_in_turn(chain: Mapping[str, float], device: Device) -> bool:
    """Return whether a core waits for the chain of each work-item of a group, one after the other.

    Shorter chains between two barriers overlap with those of the next work-items.
    """
    latencies = device.architecture.latency_cycles
    cycles = sum(count * latencies.get(name, 0.0) for name, count in chain.items() if name != "barrier")
    return cycles / (1 + chain.get("barrier", 0.0)) > _OVERLAPPING_CYCLES


def _memory_chain(formulas: Formulas, traffic: Traffic, code: MachineCode | None, *, loops: bool) -> float:
    """Return the rounds of loads of a work-item, each of which waits for the one before.

    Waves issue in order, so that an iteration of a loop waits for its loads before the next one starts. As declared;
    of the loop in the compiled *code*; else assumed from the loads of each array, in *loops* of which compilers combine
    :data:`_UNROLLED` iterations.
    """
    if formulas.fields.memory_chain is not None:
        return formulas.amount("memory_chain", traffic.parameters)
    if not traffic.loads:
        return 0.0
    if code is not None and code.loop is not None:
        first = 1.0 if code.loop.outside.get("global load") else 0.0
        return first + code.loop.rounds * max(1.0, _iterations(code.loop, sum(traffic.loads)))
    return (2.0 if traffic.gathered else 1.0) * (max(1.0, max(traffic.loads) / _UNROLLED) if loops else 1.0)


def _atomic_chain(formulas: Formulas, parameters: Parameters, groups: float, device: Device) -> float:
    """Return the time of a work-group's atomic operations on a CPU, as the length of a chain of integer operations."""
    sent = sum(formulas.amount_of(each, "atomic", parameters) for each in formulas.buffers)
    every = formulas.amount("local_atomics", parameters) + sent
    return every / groups * _ATOMIC_CYCLES / device.architecture.latency_cycles["int32"]
