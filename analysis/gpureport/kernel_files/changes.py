"""Changes of a described kernel whose effect on its demand is known."""

from collections.abc import Iterator
from dataclasses import replace

from gpureport.kernel_files.description import ArgumentFields, KernelFields
from gpureport.kernel_files.formulas import Formulas
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand

_VECTOR_BYTES = 16
_TOGETHER = 4
"""Iterations of a loop whose loads a programmer combines."""


def changed_demands(
    formulas: Formulas, demand: Demand, device: Device, *, loops: bool
) -> Iterator[tuple[str, Formulas | Demand]]:
    """Yield changes, each with the description or the demand that results.

    Args:
        formulas: the description.
        demand: of one point.
        device: that runs it.
        loops: whether the source contains a loop.
    """
    fields = formulas.fields
    for position, argument in enumerate(fields.arguments):
        for what, update in _of_argument(argument):
            arguments = list(fields.arguments)
            arguments[position] = argument.model_copy(update=update)
            changed = fields.model_copy(update={"arguments": tuple(arguments)})
            yield what, Formulas(changed, formulas.arrays)
    if device.is_cpu:
        return
    if demand.waiting_cycles:
        yield "spread the atomic operations over several copies of the array", replace(demand, waiting_cycles=0.0)
    if loops and demand.memory_chain > max(_TOGETHER, demand.chain.get("barrier", 0.0)):
        rounds = demand.memory_chain / _TOGETHER
        what = f"issue the loads of {_TOGETHER} iterations before the first result is used"
        yield what, replace(demand, memory_chain=rounds)
    if _is_vectorisable(fields, demand, loops=loops):
        yield from _vectors(fields, demand)


def _of_argument(argument: ArgumentFields) -> Iterator[tuple[str, dict[str, object]]]:
    used, record = argument.used_bytes or argument.element_bytes, argument.element_bytes * argument.stride
    if argument.elements and argument.stride > 1 and used < record:
        elements = f"max(1, ({argument.elements}) // {argument.stride})"
        what = f"store the used {used} of {record} bytes of {argument.name} together (structure of arrays)"
        yield what, {"stride": 1, "used_bytes": None, "elements": elements} | _as_one(argument, used)
    if argument.run:
        yield f"let neighbouring work-items access neighbouring elements of {argument.name}", {"run": None}
    if argument.gather:
        yield (
            f"access {argument.name} in order (for example by sorting)",
            {"gather": None, "passes": f"({argument.gather}) / ({argument.elements})"},
        )


def _as_one(argument: ArgumentFields, used: int) -> dict[str, object]:
    """Return passes over elements that stand for records of *used* bytes."""
    return {"passes": f"({argument.passes or 1}) * {used / argument.element_bytes}"}


def _is_vectorisable(fields: KernelFields, demand: Demand, *, loops: bool) -> bool:
    """Return whether work-items could process several neighbouring elements each: streams in one dimension."""
    buffers = [each for each in fields.arguments if each.elements]
    others = any(each.pattern or each.gather or each.atomic or each.run or each.uniform for each in buffers)
    plain = not (loops or others or demand.local_memory_bytes or demand.chain.get("barrier"))
    return plain and len(fields.global_size) == 1 and all(each.stride == 1 for each in buffers)


def _vectors(fields: KernelFields, demand: Demand) -> Iterator[tuple[str, Demand]]:
    """Yield the demand if each work-item processes a vector of 16 bytes."""
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
    what = f"let each work-item load and store vectors of {lanes} elements"
    yield (
        what,
        replace(
            demand,
            work_items=items,
            idle_items=demand.idle_items // lanes,
            operations=operations,
            streams=streams,
            registers=registers,
        ),
    )
