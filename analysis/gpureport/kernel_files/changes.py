"""Changes of a described kernel whose effect on its demand is known."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpureport.kernel_files.description import ArgumentFields, KernelFields
from gpureport.kernel_files.formulas import Formulas
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Demand

_VECTOR_BYTES = 16
_TOGETHER = 4
"""Iterations of a loop whose loads a programmer combines."""


def changed_demands(
    formulas: Formulas, demand: Demand, device: Device, *, loops: bool
) -> Iterator[tuple[str, Formulas | Demand]]:
    """Yield changes of a point's *demand*, each with the description or the demand that results.

    *loops*: whether the source contains a loop.
    """
    fields = formulas.fields

    def changed(updates: Mapping[str, Mapping[str, object]]) -> Formulas:
        arguments = tuple(each.model_copy(update=updates.get(each.name, {})) for each in fields.arguments)
        updated = fields.model_copy(update={"arguments": arguments})
        return Formulas(updated, formulas.arrays, document=formulas.document)

    together = {each.name: _stored_together(each) for each in fields.arguments if _is_record(each)}
    for argument in fields.arguments:
        if argument.name in together:
            used = f"the used {argument.accessed_bytes} of {argument.record_bytes} bytes of {argument.name}"
            what = f"store {used} together (structure of arrays)"
            yield what, changed({argument.name: together[argument.name]})
        for what, update in _in_order(argument, grid.last_sector_bytes(device)):
            yield what, changed({argument.name: update})
    if len(together) > 1:
        names = " and ".join([", ".join([*together][:-1]), [*together][-1]])
        yield f"store the used bytes of {names} together (structure of arrays)", changed(together)
    if device.architecture.groups_as_loops:
        return
    if demand.waiting_cycles:
        yield "spread the atomic operations over several copies of the array", replace(demand, waiting_cycles=0.0)
    if loops and demand.memory_chain > max(_TOGETHER, demand.chain.get("barrier", 0.0)):
        rounds = demand.memory_chain / _TOGETHER
        what = f"issue the loads of {_TOGETHER} iterations before the first result is used"
        yield what, replace(demand, memory_chain=rounds)
    if _is_vectorisable(fields, demand, loops=loops):
        yield from _vectors(fields, demand)


def _is_record(argument: ArgumentFields) -> bool:
    return argument.kind == "buffer" and argument.accessed_bytes < argument.record_bytes


def _stored_together(argument: ArgumentFields) -> dict[str, object]:
    """Return the fields of an array of the used bytes only. Work-items access at most as much at a time as before."""
    used, size = argument.accessed_bytes, argument.element_bytes
    return {
        "stride": 1,
        "used_bytes": None,
        "elements": f"max(1, ({argument.elements}) // {argument.stride} * {used} // {size})",
        "passes": f"({argument.passes or 1}) * {max(1.0, size / used)}",
    }


def _in_order(argument: ArgumentFields, sector_bytes: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield changes of the order of accesses; the fewest bytes that they move are whole sectors."""
    if argument.run:
        yield f"let neighbouring work-items access neighbouring elements of {argument.name}", {"run": None}
    if argument.gather:
        passes = f"({argument.gather}) * {argument.stride} / ({argument.elements})"
        sectors = max(1.0, sector_bytes / argument.record_bytes)
        update: dict[str, object] = {"gather": None, "passes": passes, "outer_passes": f"min(1, {passes} * {sectors})"}
        yield f"access {argument.name} in order (for example by sorting)", update


def _is_vectorisable(fields: KernelFields, demand: Demand, *, loops: bool) -> bool:
    """Return whether work-items could process several neighbouring elements each: streams in one dimension."""
    buffers = [each for each in fields.arguments if each.elements]
    others = any(each.pattern or each.gather or each.atomic or each.run or each.uniform for each in buffers)
    plain = not (loops or others or demand.local_memory_bytes or demand.chain.get("barrier"))
    return plain and len(fields.global_size) == 1 and all(each.stride == 1 for each in buffers)


def _vectors(fields: KernelFields, demand: Demand) -> Iterator[tuple[str, Demand]]:
    widest = max(each.element_bytes for each in fields.arguments if each.elements)
    lanes = _VECTOR_BYTES // widest
    if lanes <= 1:
        return
    items = max(1, demand.work_items // lanes)
    shared = ("memory", "instruction")
    operations = {name: n / lanes if name in shared else n for name, n in demand.operations.items()}
    streams = tuple(
        replace(s, elements=s.elements / lanes, record_bytes=s.record_bytes * lanes, used_bytes=s.used_bytes * lanes)
        for s in demand.streams
    )
    registers = demand.registers + lanes * widest // 4 * len(streams)
    wide = replace(demand, work_items=items, operations=operations, streams=streams, registers=registers)
    what = f"let each work-item load and store vectors of {lanes} elements"
    yield what, replace(wide, idle_items=demand.idle_items // lanes)
