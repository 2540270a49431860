"""What vector operators of PyTorch move and compute, each in one kernel (``matrix_products`` has the others).

Kernels, work-groups and loops are those of PyTorch 2.1 (``aten/src/ATen/native/cuda``: ``CUDALoops.cuh``,
``PersistentSoftmax.cuh``, ``SoftMax.cu``, ``layer_norm_kernel.cu``, ``Indexing.cu``), and of 2.4 on AMD. Registers and
instructions are counted in its code for sm_60 and sm_80 (``libtorch_cuda.so`` of the wheel of torch 2.1.0), on the path
of a work-item whose inputs are no special case.

Parameters of a row: ``rows`` x ``columns`` elements of 4 bytes, or of 2 where ``type`` is fp16. An operand that is
broadcast has ``operand`` elements; the same ones are read again ``period`` elements of the result later.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil, inf, log2
from typing import NamedTuple

from gpureport.predict.model import execution
from gpureport.predict.residency import fraction_beyond
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import sourced
from gpureport.validate.software import TABLE, Row, stack_of
from gpureport.workloads.model import Demand, Stream

Operator = Callable[[Row, Device], Demand]


class MissingError(Exception):
    """A row lacks the number of this name, or it is 0."""


def number(row: Row, name: str, default: float = 0.0) -> float:
    """Return a number of *row*, or the *default*; a MissingError if that is 0."""
    if not (value := float(row.get(name, default))):
        raise MissingError(name)
    return value


class _Shape(NamedTuple):
    """Rows and columns of a row of the table, bytes of an element, and lanes of a wave."""

    rows: float
    columns: float
    nbytes: int
    wave: int

    @classmethod
    def of(cls, row: Row, device: Device) -> "_Shape":
        nbytes = 2 if row.get("type") == "fp16" else 4
        return cls(number(row, "rows"), number(row, "columns"), nbytes, device.architecture.wave_size)

    @property
    def elements(self) -> float:
        return self.rows * self.columns


def _out(count: float, nbytes: int) -> Stream:
    return Stream("out", count, nbytes, nbytes, write=True)


def elementwise(
    row: Row,
    device: Device,
    *,
    reads: int,
    fp32: float = 1.0,
    special: float = 0.0,
    total: float = 1.0,
    is_power: bool = False,
) -> Demand:
    """Return the demand of an operator on *reads* arrays: vectors of four elements, one for each work-item.

    Instructions for each element: of the pipe of multiply-adds, special functions, and all but loads and stores.
    """
    if "operand" in row:
        return _broadcast(row, device, total)
    shape = _Shape.of(row, device)
    vectors, nbytes, group = ceil(shape.elements / 4), 4 * shape.nbytes, 4 * shape.wave
    longer = shape.elements * (stack_of(device).longer_powers if is_power else 1.0)
    operations = {
        "memory": (reads + 1.0) * vectors,
        "fp32": fp32 * longer,
        "transcendental": special * shape.elements,
        "instruction": total * longer + 16.0 * vectors,
    }
    streams = (*(Stream(f"in{i}", vectors, nbytes, nbytes) for i in range(reads)), _out(vectors, nbytes))
    chain = {"int32": 8.0, "fp32": total}
    items = ceil(vectors / group) * group
    return Demand(items, (group,), streams, operations, chain, memory_chain=1.0, registers=28, shared=False)


def dropout(row: Row, device: Device) -> Demand:
    """Return the demand of dropout in training, which also writes a mask of bytes (``Dropout.cu``).

    Ten rounds of Philox, of two long multiplications each, make the random numbers of four elements (Salmon et al.,
    "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
    """
    demand, count = elementwise(row, device, reads=1), _Shape.of(row, device).elements
    random = {"int32_mul": 10.0 * count, "int32": 15.0 * count}
    operations = {**demand.operations, **random, "instruction": demand.operations["instruction"] + 30.0 * count}
    mask = Stream("mask", ceil(count / 4), 4, 4, write=True)
    return replace(demand, streams=(*demand.streams, mask), operations=operations, registers=40)


def _broadcast(row: Row, device: Device, total: float) -> Demand:
    """Return the demand with a broadcast operand, by ``elementwise_kernel``: two elements for each work-item.

    The load of the second one may not pass the store of the first one. Each dimension needs a division, by
    multiplication, and an offset in each array.
    """
    shape, operand, period = _Shape.of(row, device), number(row, "operand"), number(row, "period")
    count, nbytes = shape.elements, shape.nbytes
    dimensions = 1.0 if operand == 1 else 2.0 if operand == period else 3.0
    again = (count / operand - 1) * _lost(device, "device", 3.0 * nbytes * period)
    operations = {
        "memory": 3.0 * count,
        "int32": (3.0 * dimensions + 4.0) * count,
        "int32_mul": 5.0 * dimensions * count,
        "instruction": (10.0 * dimensions + 16.0 + total) * count,
    }
    second = Stream("operand", operand, nbytes, nbytes, passes=count / operand, memory_passes=1 + again)
    streams = (Stream("in", count, nbytes, nbytes), second, _out(count, nbytes))
    chain = {"int32_mul": 4.0 * dimensions, "int32": 6.0 * dimensions, "fp32": 2.0 * total}
    items = ceil(count / 256) * 128
    return Demand(items, (128,), streams, operations, chain, memory_chain=2.0, registers=19, shared=False)


def _lost(device: Device, scope: str, between: float) -> float:
    """Return the share of data that the caches of *scope* have lost after *between* bytes of other data."""
    caches = [cache for cache in device.caches if cache.scope == scope]
    last = caches[-1] if caches else None
    return fraction_beyond(between, last.capacity_bytes, last.transition("write_transition")) if last else 1.0


def _with_passes(
    device: Device, demand: Demand, shape: _Shape, vector: int, loads: float, between: tuple[float, ...] = ()
) -> Demand:
    """Return *demand* with what it reads of its rows and writes, in vectors.

    A pass over a row has *loads* dependent loads. There is a further pass for each of *between*, the rows that every
    resident work-group accesses since the last one: these displace its own row from caches.
    """
    groups, row_bytes = min(demand.groups, execution(device, demand).resident_groups), shape.nbytes * shape.columns
    count, nbytes, again, far = shape.elements / vector, vector * shape.nbytes, 0.0, 0.0
    for rows in between:
        near = _lost(device, "compute_unit", max(1.0, groups / device.compute_units) * rows * row_bytes)
        again += near
        far += near * _lost(device, "device", groups * rows * row_bytes)
    first = Stream("in", count, nbytes, nbytes, False, 1.0 + len(between), 1 + again, 1 + far)
    return replace(
        demand,
        streams=(first, _out(count, nbytes), *demand.streams),
        memory_chain=loads * (1 + far),
        cached_chain=loads * (again - far),
        nearest_chain=loads * (len(between) - again),
        shared=False,
    )


def softmax(row: Row, device: Device) -> Demand:
    """Return the demand of a softmax of each row; up to 1024 columns a wave, or a part of it, keeps a row or two."""
    shape = _Shape.of(row, device)
    if shape.columns > 1024:
        return _softmax_of_groups(shape, device)
    padded = 2 ** ceil(log2(shape.columns))
    lanes = min(padded, shape.wave)
    together, each, steps = 2 if padded <= 128 else 1, padded // lanes, 2.0 * log2(max(2, lanes))
    items = ceil(shape.rows / (128 // lanes) / together) * 128
    exponential, division, *_ = stack_of(device).functions
    fp32, kept = 3.0 + exponential + division, float(items * together * each)
    operations = {
        "memory": 2.0 * shape.elements,
        "fp32": fp32 * kept,
        "transcendental": 2.0 * kept,
        "shuffle": steps * together * items,
        "instruction": (fp32 + 6.0) * kept + (2.0 * steps * together + 30.0) * items,
    }
    chain = {"shuffle": steps, "fp32": steps + fp32 + 2.0 * each, "transcendental": 2.0}
    demand = Demand(items, (128,), (), operations, chain, registers=20 + each * together)
    return _with_passes(device, demand, shape, 1, 1.0)


def _softmax_of_groups(shape: _Shape, device: Device) -> Demand:
    """Return the demand of a softmax whose groups read a row three times: for the maximum, the sum, and the result.

    A group reads vectors, then what is left element by element; no loop is unrolled. In 2.1 it has an eighth to a
    quarter of a row's elements, and its first wave adds up what the others stored, each wave in one bank of local
    memory. In 2.4 it has 1024, shuffles, and keeps rows of whole vectors in local memory where they fit.
    """
    wave, vector, stack = shape.wave, 16 // shape.nbytes, stack_of(device)
    columns, elements, most = int(shape.columns), shape.elements, device.architecture.occupancy.most_local_bytes
    recent = stack.version >= (2, 4)
    group = 1024 if recent else max(wave, 2 ** ceil(log2(min(columns // vector, 1024) / 2)))
    waves, items = group // wave, int(shape.rows) * group
    kept = recent and not columns % vector and shape.nbytes * columns + 4 * waves <= (most or inf)
    whole = columns // (vector * group)
    rest = 0 if kept else columns - whole * vector * group
    loads = ceil(columns / vector / group) if kept else whole + ceil(rest / group)
    exponential, division, _, others, _ = stack.functions
    fp32, conflicts = 3.0 + 2.0 * exponential + division, wave * waves / device.architecture.latency_cycles["local"]
    reduced = {"shuffle": 2.0 * log2(wave)} if recent else {"local": 2.0 * (1 + waves + conflicts)}
    operations = {
        "memory": 4.0 * elements / vector,
        "fp32": fp32 * elements,
        "transcendental": 3.0 * elements,
        "barrier": 6.0 * items,
        **({"shuffle": reduced["shuffle"] * items} if recent else {"local": 4.0 * items}),
        "instruction": (fp32 + 13.0) * elements + 16.0 * shape.rows * rest + others * items,
    }
    chain = {"barrier": 6.0, **reduced, "fp32": (fp32 + 13.0) * loads + others}
    local = shape.nbytes * columns if kept else 4 * group
    demand = Demand(items, (group,), (), operations, chain, registers=32, local_memory_bytes=local)
    return _with_passes(device, demand, shape, vector, loads, () if kept else (1.0, 2.0))


def layer_norm(row: Row, device: Device) -> Demand:
    """Return the demand of a layer norm of each row, which a group of four waves reads twice.

    Each work-item combines means and squares of its vectors, waves combine theirs by shuffles, and the group through
    local memory. Weights are read word by word, four words apart, so that each of eight loads touches four lines. A
    branch follows each reciprocal, so that nearly all instructions of a wave wait for the one before.
    """
    shape = _Shape.of(row, device)
    group, vectors, steps = 4 * shape.wave, shape.elements / 4, log2(shape.wave)
    stack = stack_of(device)
    _, _, combined, _, others = stack.functions
    items, each = int(shape.rows) * group, ceil(shape.columns / 4 / group)
    operations = {
        "memory": (3.0 + 8 * 4) * vectors,
        "fp32": 10.0 * shape.elements + 12.0 * steps * items,
        "transcendental": shape.elements + steps * items,
        "shuffle": 3.0 * steps * items,
        "barrier": 5.0 * items,
        "instruction": 21.0 * shape.elements + (combined * steps + others) * items,
    }
    chain = {"shuffle": steps, "barrier": 5.0, "local": 5.0, "transcendental": 4.0 * each + steps + 4.0}
    chain["fp32"] = 84.0 * each + combined * steps + others
    weight = Stream("weight", shape.columns, shape.nbytes, shape.nbytes, passes=shape.rows)
    demand = Demand(
        items,
        (group,),
        (weight, replace(weight, buffer="bias")),
        operations,
        chain,
        registers=stack.layer_norm_registers,
        local_memory_bytes=48,
    )
    return _with_passes(device, demand, shape, 4, each, (2.0,))


def embedding(row: Row, device: Device) -> Demand:
    """Return the demand of copying a row of a table for each index, one element after another.

    ``indexSelectLargeIndex`` has at most eight groups of 128 for each compute unit. A work-item reads the index of each
    of its elements, whose row and column need a division.
    """
    shape = _Shape.of(row, device)
    count, nbytes = shape.elements, shape.nbytes
    items = min(ceil(count / 128), 8 * device.compute_units) * 128
    each = float(ceil(count / items))
    streams = (
        Stream("table", count, nbytes, nbytes),
        Stream("index", shape.rows, 8, 8, passes=shape.columns),
        _out(count, nbytes),
    )
    operations = {"memory": 3.0 * count, "int32": 20.0 * count, "int32_mul": 6.0 * count, "instruction": 40.0 * count}
    chain = {"int32": 25.0 * each, "transcendental": 3.0 * each}
    demand = Demand(items, (128,), streams, operations, chain, each, each, registers=20)
    return replace(demand, shared=False, phases_aligned=False)


OPERATORS: Mapping[str, Operator] = {
    **{name: partial(elementwise, **given) for name, given in TABLE.elementwise.items()},
    "dropout": dropout,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "embedding": embedding,
}
"""By the name in column ``operator``."""
ROWS_DEVIATION = sourced("validate.operators.ROWS_DEVIATION", float)
"""Relative standard deviation of operators on rows: what compilers make of their reductions is estimated."""
ESTIMATED = ("softmax", "layer_norm", "embedding")
"""Operators with this deviation."""
