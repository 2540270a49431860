"""The demand of a described kernel: declared accesses and operations, completed by assumptions."""

from collections.abc import Iterable, Mapping
from math import prod

from gpureport.kernel_files.description import ArgumentFields
from gpureport.kernel_files.expressions import Value
from gpureport.kernel_files.formulas import Formulas
from gpureport.records.measurement import MachineCode
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.atomics.family import waiting_cycles
from gpureport.workloads.model import Demand, Parameters, Stream

_INSTRUCTIONS = 6.0
"""Assumed instructions of a work-item besides its accesses and declared operations: index, bound, end."""
_ACCESS_INSTRUCTIONS = 3.0
"""Assumed instructions of an access: address and the access itself."""
_OVERLAPPING_CYCLES = 16.0
"""Length of chains that out-of-order execution of a CPU overlaps (assumed)."""
_ATOMIC_CYCLES = 20.0
"""Cycles of an atomic operation on a CPU, whose work-groups wait for each of their own."""


_CLASSES: Mapping[str, str] = {
    "fp32": "fp32",
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
    "barrier": "barrier",
}
"""Instruction classes of the model, by those of PTX."""


def _compiled_operations(code: MachineCode | None) -> dict[str, float]:
    """Return the operations of a work-item by class, from its compiled code.

    Empty if the code is not that of single work-items (PTX), or has loops or calls, so that counts are unknown.
    """
    found: dict[str, float] = {}
    if code is not None and code.form == "PTX" and not code.loops and not code.calls:
        for kind, count in code.counts.items():
            if kind in _CLASSES:
                found[_CLASSES[kind]] = found.get(_CLASSES[kind], 0.0) + count
    return found


def demand_of(
    formulas: Formulas, parameters: Parameters, device: Device, code: MachineCode | None, *, loops: bool
) -> Demand:
    """Return the demand of one dispatch.

    Accesses are the declared ones. Operations are declared, or those of a work-item in its compiled *code*; otherwise
    only the instructions around accesses are assumed. Compilers for CPUs are assumed not to vectorise kernels with
    *loops* or guards.
    """
    fields, names = formulas.fields, formulas.names(parameters)
    local, items = formulas.local_size(parameters), prod(formulas.global_size(parameters))
    wanted = prod(formulas.whole("global_size", each, names) for each in fields.global_size)
    streams = [s for each in formulas.buffers for s in _streams(formulas, each, names, parameters, device)]
    accesses = sum(stream.elements * stream.passes for stream in streams)
    scattered = sum(formulas.number("gather", each.gather, names) for each in formulas.buffers if each.gather)
    operations = formulas.counts("operations", fields.operations, parameters)
    operations = operations or {name: count * wanted for name, count in _compiled_operations(code).items()}
    branches = loops or fields.guarded or (code is not None and code.vectorised is False)
    chain = {"int32": 8.0, **formulas.counts("chain", fields.chain, parameters)}
    if device.is_cpu and _waits_in_turn(chain, device):
        chain = {name: count * prod(local) for name, count in chain.items()}
    in_local = formulas.number("local_atomics", fields.local_atomics, names)
    if in_local:
        operations["local"] = operations.get("local", 0.0) + in_local
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
        chain={**chain, "int32": chain["int32"] + _atomic_chain(formulas, names, items / prod(local), device)},
        memory_chain=_memory_chain(formulas, names, scattered),
        registers=fields.registers or 32,
        local_memory_bytes=formulas.local_memory_bytes(parameters),
        lines_per_access=1 + (lanes - 1) * scattered / accesses if accesses else 1.0,
        reused="kernel" if scattered else "dispatch",
        ping_pong=fields.swap is not None,
        branches=branches,
        in_step=not any(each.atomic for each in formulas.buffers),
        idle_items=items - wanted,
    )


def _waits_in_turn(chain: Mapping[str, float], device: Device) -> bool:
    """Return whether a core waits for the chain of each work-item of a group, one after the other.

    Shorter chains between two barriers overlap with those of the next work-items.
    """
    latencies = device.architecture.latency_cycles
    cycles = sum(count * latencies.get(name, 0.0) for name, count in chain.items() if name != "barrier")
    return cycles / (1 + chain.get("barrier", 0.0)) > _OVERLAPPING_CYCLES


def _memory_chain(formulas: Formulas, names: Mapping[str, Value], scattered: float) -> float:
    if formulas.fields.memory_chain is not None:
        return formulas.number("memory_chain", formulas.fields.memory_chain, names)
    reads = any(each.access != "write" for each in formulas.buffers)
    return (2.0 if scattered else 1.0) if reads else 0.0


def _streams(
    formulas: Formulas, argument: ArgumentFields, names: Mapping[str, Value], parameters: Parameters, device: Device
) -> Iterable[Stream]:
    """Yield the traffic of one buffer, as declared."""
    record = argument.element_bytes * argument.stride
    used = min(record, argument.used_bytes or argument.element_bytes)
    count = formulas.elements(argument, names) / argument.stride
    passes, outer = _passes(formulas, argument, names, parameters, device)
    if argument.gather or argument.atomic:
        each = formulas.number("gather", argument.gather or argument.atomic or "0", names) / count
        # Each access without order moves a whole sector.
        passes, outer = each, each * max(1.0, grid.last_sector_bytes(device) / record) if argument.gather else each
    if argument.access != "write" or argument.atomic:
        yield Stream(argument.name, count, record, used, passes=passes, outer_passes=outer)
    if argument.access != "read" or argument.atomic:
        own = passes if argument.access == "write" or argument.atomic else 1.0
        yield Stream(argument.name, count, record, used, True, own, outer if argument.atomic else 1.0)


def _passes(
    formulas: Formulas, argument: ArgumentFields, names: Mapping[str, Value], parameters: Parameters, device: Device
) -> tuple[float, float]:
    """Return how often an array passes into registers, and beyond the first cache."""
    passes = formulas.number("passes", argument.passes, names) if argument.passes else 1.0
    outer = formulas.number("outer_passes", argument.outer_passes, names) if argument.outer_passes else min(1.0, passes)
    pattern = argument.pattern
    if pattern is None or not pattern.stencil:
        return passes, outer
    wide = [2 * radius + 1 for radius in pattern.stencil]
    points = prod(wide) if pattern.shape == "box" else 1 + sum(each - 1 for each in wide)
    sides = zip(reversed(formulas.local_size(parameters)), pattern.stencil, strict=False)
    halo = 0.0 if device.is_cpu else sum(2 * radius / side for side, radius in sides)
    return passes * points, outer * (1 + halo)


def _atomic_chain(formulas: Formulas, names: Mapping[str, Value], groups: float, device: Device) -> float:
    """Return the waiting for other atomic operations, as the length of a chain of integer operations."""
    in_local = formulas.number("local_atomics", formulas.fields.local_atomics, names)
    cycles = in_local / groups * _ATOMIC_CYCLES if device.is_cpu else 0.0
    for argument in (each for each in formulas.buffers if each.atomic):
        sent = formulas.number("atomic", argument.atomic or "0", names)
        elements = formulas.elements(argument, names)
        cycles += sent / groups * _ATOMIC_CYCLES if device.is_cpu else waiting_cycles(device, sent, elements)
    return cycles / device.architecture.latency_cycles["int32"]
