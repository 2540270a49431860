"""The arithmetic behind one predicted time, written so that a reader can follow it with a calculator.

The model runs on numbers that note each operation (:mod:`gpureport.predict.propagation`). The written
formulas contain what was computed, without factors of 1 and terms of 0.

Formulas name facts of the device by path (``memory.bandwidth``), the workload's demand by field (``work_items``,
``operations.fp32``), times of ceilings and combinations of ceilings by ``t(...)``, and other results by a letter.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from typing import TypeVar

from gpureport.predict.execution import THROUGHPUT_EXPONENT
from gpureport.predict.expressions import Expression, given
from gpureport.predict.gpu import ISOLATED_EXPONENT
from gpureport.predict.model import point_time
from gpureport.predict.propagation import Uncertain, note
from gpureport.predict.sensitivity import visit_facts
from gpureport.records.curves import PointKey
from gpureport.records.prediction import Arithmetic, ArithmeticStep
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Stream

D = TypeVar("D", Demand, Stream)

_MOST_NUMBERS = 10
"""Numbers in one line; longer lines are split."""


def arithmetic(device: Device, demand: Demand, point: PointKey) -> Arithmetic:
    """Return the steps, in order, by which ``model.point_time`` computes the time; the last step is the time."""
    answer = point_time(visit_facts(device, _given), _noted(demand))
    ceilings = {note(number): f"t({name})" for name, number in answer.ceilings_s.items()}
    classes = {*device.architecture.rates_per_cycle, *device.architecture.pipes}
    return Arithmetic(point=point.label, steps=tuple(_steps(note(answer.time_s), ceilings, classes)))


def _given(name: str, value: float) -> float:
    # A transition range varies by a factor of 1, which readers need not see.
    return Uncertain(value, note=given(value, "" if name.endswith("_transition") else name))


def _noted(record: D, prefix: str = "") -> D:
    changes: dict[str, object] = {}
    for field in fields(record):
        value, name = getattr(record, field.name), prefix + field.name
        if field.name == "streams":
            changes["streams"] = tuple(_noted(stream, f"{stream.buffer}.") for stream in value)
        elif isinstance(value, Mapping):
            changes[field.name] = {key: _given(f"{name}.{key}", entry) for key, entry in value.items()}
        elif field.name in ("work_items", "elements") or isinstance(value, float):
            changes[field.name] = _given(name, value)
    return replace(record, **changes)  # type: ignore[arg-type]


def _steps(time: Expression, ceilings: Mapping[Expression, str], classes: Collection[str]) -> Iterator[ArithmeticStep]:
    """Yield a step for each ceiling, each result that is used more than once, and each part of a long formula.

    Ceilings of *classes* (instruction classes and pipes) are compute times.
    """
    computing = {part for part, name in ceilings.items() if name[2:-1] in classes}
    order = _in_order(time)
    names = {part: name for part, name in ceilings.items() if part.operands and part in order}
    ratios = (part for part in order if part.operation == "/" and part.operands[0].name == "work_items")
    names |= {part: "work_groups" for part in ratios if not part.operands[1].operands}
    names |= _smooth_maxima(order, computing) | {time: "time"}
    names |= dict.fromkeys(_split(order, names), "")
    letters = iter("abcdefghijklmnopqrsuvwxyz")
    for part in order:
        if part in names:
            names[part] = names[part] or next(letters, f"n{order.index(part)}")
            yield ArithmeticStep(
                name=names[part],
                formula=part.written(names, values=False),
                numbers=part.written(names, values=True),
                value=part.value,
            )


def _smooth_maxima(order: list[Expression], computing: set[Expression]) -> dict[Expression, str]:
    """Name the smooth maxima: of instructions, of traffic, of both, and of an isolated wave's issue and waits."""
    names: dict[str, Expression] = {}
    for part in order:
        if part.is_norm(ISOLATED_EXPONENT):
            names.setdefault("t(isolated wave)", part)
        elif part.is_norm(THROUGHPUT_EXPONENT):
            parts = set(part.operands[:-1])
            name = "compute" if parts <= computing else "throughput" if parts & computing else "traffic"
            names.setdefault(f"t({name})", part)
    return {part: name for name, part in names.items()}


def _in_order(time: Expression) -> list[Expression]:
    found: dict[Expression, None] = {}

    def visit(part: Expression) -> None:
        if part not in found:
            for operand in part.operands:
                visit(operand)
            found[part] = None

    visit(time)
    return list(found)


def _split(order: list[Expression], names: Mapping[Expression, str]) -> Iterator[Expression]:
    """Yield the parts, besides those with *names*, that get their own line."""
    uses = Counter(operand for part in order for operand in part.operands)
    sizes: dict[Expression, int] = {}
    for part in order:
        size = sum(sizes[operand] for operand in part.operands) or 1
        for operand in sorted(part.operands, key=lambda operand: -sizes[operand]):
            if size > _MOST_NUMBERS and sizes[operand] > 1:
                size += 1 - sizes[operand]
                sizes[operand] = 1
                yield operand
        sizes[part] = 1 if part in names else size
        if uses[part] > 1 and sizes[part] > 2:
            sizes[part] = 1
            yield part
