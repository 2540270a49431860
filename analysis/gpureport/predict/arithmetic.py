"""How the model comes to one number, written so that it can be followed with a pencil.

The model itself is run, on numbers that note what is done with them (:mod:`gpureport.predict.uncertainty.propagation`);
what is written is what was computed, less what makes no difference.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from typing import TypeVar

from gpureport.predict.expressions import Expression, Reader
from gpureport.predict.model import ISOLATED_EXPONENT, THROUGHPUT_EXPONENT, point_time
from gpureport.predict.occupancy import Resources
from gpureport.predict.uncertainty.propagation import Tape, Uncertain
from gpureport.predict.uncertainty.sensitivity import uncertain
from gpureport.records.keys import PointKey
from gpureport.records.prediction import Arithmetic, Sum
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Stream

D = TypeVar("D", Demand, Stream)

_LONGEST = 10
"""Numbers in one line; longer ones are broken up."""


def arithmetic(device: Device, demand: Demand, resources: Resources, point: PointKey) -> Arithmetic:
    """Return the sums, in order, by which the model gets the time of one point; the last one is the time.

    Args:
        device: as the model is asked about it, as are the next two.
        demand: of the point.
        resources: of one work-item and work-group.
        point: which one it is.
    """
    noted, _, tape = uncertain(device)
    answer = point_time(noted, _named(tape, demand), resources)
    if not isinstance(answer.time_s, Uncertain):
        raise TypeError("a time that no fact of the device has a part in")
    reader = Reader(tape)
    ceilings = {
        reader.read(number): f"t({name})" for name, number in answer.ceilings_s.items() if isinstance(number, Uncertain)
    }
    classes = {*device.architecture.rates_per_cycle, *device.architecture.pipes}
    return Arithmetic(point=point.label, sums=tuple(_sums(reader.read(answer.time_s), ceilings, classes)))


def _named(tape: Tape, record: D, prefix: str = "") -> D:
    """Return a demand (or a stream) whose figures are on the tape, by the names of their fields."""
    changes: dict[str, object] = {}
    for field in fields(record):
        value, name = getattr(record, field.name), prefix + field.name
        if field.name == "streams":
            changes["streams"] = tuple(_named(tape, stream, f"{stream.buffer}.") for stream in value)
        elif isinstance(value, Mapping):
            changes[field.name] = {key: tape.given(f"{name}.{key}", entry) for key, entry in value.items()}
        elif field.name in ("work_items", "elements") or isinstance(value, float):
            changes[field.name] = tape.given(name, value)
    return replace(record, **changes)  # type: ignore[arg-type]


def _sums(time: Expression, ceilings: Mapping[Expression, str], classes: Collection[str]) -> Iterator[Sum]:
    """Yield a sum for each ceiling, for what is used more than once, and for parts of what is too long for a line.

    Args:
        time: of the point.
        ceilings: and their names.
        classes: of instructions, and pipes, whose ceilings are times of computing.
    """
    computing = {part for part, name in ceilings.items() if name[2:-1] in classes}
    order = _in_order(time)
    names = {part: name for part, name in ceilings.items() if part.operands and part in order}
    names |= {part: "groups" for part in order if part.is_ratio_of("work_items")}
    names |= _norms(order, computing) | {time: "time"}
    names |= dict.fromkeys(_broken_up(order, names), "")
    letters = iter("abcdefghijklmnopqrsuvwxyz")
    for part in order:
        if part in names:
            names[part] = names[part] or next(letters, f"n{order.index(part)}")
            yield Sum(
                name=names[part],
                formula=part.written(names, values=False),
                numbers=part.written(names, values=True),
                value=part.value,
            )


def _norms(order: list[Expression], computing: set[Expression]) -> dict[Expression, str]:
    """Name the soft corners: of instructions, of traffic, of both, and of a lone wave's instructions and waits."""
    names: dict[str, Expression] = {}
    for part in order:
        if part.is_norm(ISOLATED_EXPONENT):
            names.setdefault("lone wave", part)
        elif part.is_norm(THROUGHPUT_EXPONENT):
            parts = set(part.operands[:-1])
            name = "instructions" if parts <= computing else "throughput" if parts & computing else "traffic"
            names.setdefault(name, part)
    return {part: name for name, part in names.items()}


def _in_order(time: Expression) -> list[Expression]:
    """Return all parts of *time*, each after those that it consists of."""
    found: dict[Expression, None] = {}

    def visit(part: Expression) -> None:
        if part not in found:
            for operand in part.operands:
                visit(operand)
            found[part] = None

    visit(time)
    return list(found)


def _broken_up(order: list[Expression], names: Mapping[Expression, str]) -> Iterator[Expression]:
    """Yield the parts that get a line of their own, besides those that have *names*."""
    uses = Counter(operand for part in order for operand in part.operands)
    sizes: dict[Expression, int] = {}
    for part in order:
        size = sum(sizes[operand] for operand in part.operands) or 1
        for operand in sorted(part.operands, key=lambda operand: -sizes[operand]):
            if size > _LONGEST and sizes[operand] > 1:
                size += 1 - sizes[operand]
                sizes[operand] = 1
                yield operand
        sizes[part] = 1 if part in names else size
        if uses[part] > 1 and sizes[part] > 2:
            sizes[part] = 1
            yield part
