"""The demand of a described kernel: declared accesses and operations, completed by assumptions."""

from collections.abc import Collection, Iterable, Mapping
from math import prod

from gpureport.kernel_files.formulas import Formulas
from gpureport.kernel_files.signature import Signature
from gpureport.kernel_files.traffic import Traffic
from gpureport.records.measurement import LoopCode, MachineCode
from gpureport.spec.models import Device
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import Demand, Parameters

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
