"""Compiled code against the model: bytes of global memory that a work-item loads and stores, and instructions. Pure.

Only PTX is compared, because its instructions are those of a single work-item. The assembler ptxas changes them: it
merges bitwise operations into instructions with three inputs, expands divisions, and turns address arithmetic into
multiply-adds. Therefore arithmetic classes are compared as one sum, and only a difference beyond :data:`FACTOR` counts.

Counts are static: they include the instructions of all branches. A kernel with more global accesses than the model
counts has alternative or guarded branches, and its instructions are not compared. Nor are those of code with loops.

The model counts some instructions in no class: indices, addresses, bounds, branches. Arithmetic of compiled code agrees
with the classes, with or without these.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gpureport.predict.traffic import requested_bytes
from gpureport.records.curves import PointKey
from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation, MachineCode, Measurement
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads.model import Demand, Workload

TOLERANCE = 0.05
"""Largest relative difference that counts as agreement."""

FACTOR = 2.0
"""Ratio beyond which counts differ. On an H200, kernels whose accesses agree have 0.7 to 1.9 times the arithmetic
instructions of the model, except one with integer divisions (0.5) and one with eight loads (2.2)."""
_ACCESSES = "global access"
_ARITHMETIC = "arithmetic"
_SAME_ACCESSES = 1.25
"""Ratio of global accesses, compiled to modelled, beyond which the counts of branches are not comparable."""

_PARTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    _ARITHMETIC: (
        frozenset({"fp32", "int", "int multiply", "int divide", "logic", "shift", "bit", "compare"}),
        frozenset({"fp32", "fp32_three", "int32", "int32_mul", "add", "ternary", "shift"}),
    ),
    _ACCESSES: (frozenset({"global load", "global store"}), frozenset({"memory"})),
    "local access": (frozenset({"shared load", "shared store"}), frozenset({"local"})),
    "exchange": (frozenset({"shuffle", "vote"}), frozenset({"shuffle", "ballot"})),
    "barrier": (frozenset({"barrier"}), frozenset({"barrier"})),
}
"""Instruction classes of compiled code and of the model, by the name of their sum."""
_BY_WORK_ITEM = "PTX"
_Range = tuple[int, int]


def code_evidence(workload: Workload, device: Device, measurements: Sequence[Measurement]) -> tuple[CodeEvidence, ...]:
    """Compare compiled code with the model's count, once for each kernel with known code and set of build options.

    The model's count is that of the largest point with those options, where borders matter least. Points with several
    kernels are left out, because the model has only their sum.
    """
    found: dict[tuple[str, str], CodeEvidence] = {}
    for measurement in measurements:
        known = {
            (c.kernel, c.options): (c, c.code)
            for c in measurement.compilation
            if c.code is not None and (c.kernel, c.options) not in found
        }
        points = sorted((p.point for p in measurement.points if p.samples_s), key=lambda p: p.work_items, reverse=True)
        for key, point in _first_runs(workload, points, set(known)):
            found[key] = _compared(workload.name, *known[key], point, workload.demand(point.parameters, device))
    return tuple(found.values())


def _first_runs(
    workload: Workload, points: Sequence[PointKey], left: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], PointKey]]:
    """Yield each pair of kernel and build options that is *left* with the first of *points* that ran it."""
    for point in points:
        if not left:
            return
        options = f"{workload.build_options(point.parameters)} ".lstrip()
        found = [key for key in left if f"{key[1]} ".startswith(options)]  # device and back end may add options
        job = workload.job(point.parameters, np.random.default_rng(0)) if found else None
        kernels = {dispatch.kernel for dispatch in job.dispatches} if job else set()
        for key in [key for key in found if kernels == {key[0]}]:
            left.remove(key)
            yield key, point


def _compared(name: str, compilation: Compilation, code: MachineCode, point: PointKey, demand: Demand) -> CodeEvidence:
    busy = demand.work_items - demand.idle_items
    # Bytes between registers and the first cache.
    loads, stores = (requested_bytes([s for s in demand.streams if s.write == write]) / busy for write in (False, True))
    reason = _incomparable(code, demand)
    loaded, stored = (None, None) if reason else (code.loaded_bytes, code.stored_bytes)
    instructions = instruction_counts(code, demand)
    different = differences(instructions, unclassified(demand))
    agreements = {None} if loaded is None or stored is None else {_agrees(loaded, loads), _agrees(stored, stores)}
    return CodeEvidence(
        workload=name,
        kernel=compilation.kernel,
        options=compilation.options,
        point=point.label,
        form=code.form,
        loads_bytes_least=loaded and loaded[0],
        loads_bytes_compiled=loaded and loaded[1],
        loads_bytes_model=loads,
        stores_bytes_least=stored and stored[0],
        stores_bytes_compiled=stored and stored[1],
        stores_bytes_model=stores,
        vectorised=code.vectorised,
        spill_bytes=compilation.spill_bytes,
        agrees=False if False in agreements else None if None in agreements else True,
        remark=" ".join((*_remarks(compilation, code, reason, (loaded, loads), (stored, stores)), *(different or ()))),
        instructions_compiled={name: compiled for name, (compiled, _) in instructions.items()},
        instructions_model={name: model for name, (_, model) in instructions.items()},
        instructions_agree=None if different is None else not different,
    )


def _agrees(compiled: _Range, model: float) -> bool | None:
    """Return whether the model's bytes, a mean over work-items, are between the least and the most of a work-item.

    ``None`` if a guard may skip all accesses and the model counts less than the most: then the code shows neither.
    """
    least, most = compiled
    if not least * (1 - TOLERANCE) <= model <= most * (1 + TOLERANCE):
        return False
    return None if least == 0 and model < most * (1 - TOLERANCE) else True


def _incomparable(code: MachineCode, demand: Demand) -> str | None:
    """Say why static counts are not the bytes of a work-item, or return ``None``."""
    if code.form != _BY_WORK_ITEM:
        return "Code for a CPU runs several work-items at once, so its accesses are not those of one work-item."
    if code.calls:
        return f"It calls {', '.join(code.calls)}, whose accesses are not counted."
    if code.counts.get("atomic"):
        return "It has atomic operations, whose bytes are not counted."
    if not demand.streams:
        return "The model counts no accesses."
    loops = code.loaded_bytes is None or code.stored_bytes is None
    return "Its loops repeat accesses, which static counts do not show." if loops else None


def _remarks(
    compilation: Compilation,
    code: MachineCode,
    reason: str | None,
    loads: tuple[_Range | None, float],
    stores: tuple[_Range | None, float],
) -> Iterator[str]:
    if reason:
        yield reason
    yield from _difference("loads", *loads)
    yield from _difference("stores", *stores)
    if code.vectorised is not None:
        how = "mostly vector instructions" if code.vectorised else "mostly scalar instructions"
        numbers = f"{code.vector_loops} with vectors, {code.scalar_loops} with scalars"
        loops = f"The innermost loops are {how}: {numbers}."
        yield loops if code.loops else f"The code has no loop and is {how}."
    if compilation.spill_bytes:
        yield f"Registers spill {format_bytes(compilation.spill_bytes)} per work-item, which the model does not count."


def _difference(verb: str, compiled: _Range | None, model: float) -> Iterator[str]:
    if compiled is None:
        return
    agrees = _agrees(compiled, model)
    if agrees is None:
        yield f"A work-item {verb} up to {compiled[1]:g} B, depending on branches; the model counts {model:.4g} B."
    if agrees is False:
        text = " to ".join(dict.fromkeys(f"{end:g}" for end in compiled))
        yield f"A work-item {verb} {text} B as compiled, {model:.4g} B in the model."


def instruction_counts(code: MachineCode, demand: Demand) -> dict[str, tuple[int, float]]:
    """Return compiled instructions and the model's operations per work-item, for each class that the model counts.

    The result is empty for code with loops or calls, and for CPUs.
    """
    if code.form != _BY_WORK_ITEM or code.loops or code.calls:
        return {}
    items = demand.work_items - demand.idle_items
    found = {
        name: (
            sum(count for kind, count in code.counts.items() if kind in compiled),
            sum(count for kind, count in demand.operations.items() if kind in model) / items,
        )
        for name, (compiled, model) in _PARTS.items()
    }
    return {name: counts for name, counts in found.items() if counts[1]}


def unclassified(demand: Demand) -> float:
    """Return the instructions of a work-item that the model counts in no class."""
    classes = sum(count for kind, count in demand.operations.items() if kind != "instruction")
    return max(0.0, demand.operations.get("instruction", 0.0) - classes) / (demand.work_items - demand.idle_items)


def differences(counts: Mapping[str, tuple[int, float]], others: float) -> tuple[str, ...] | None:
    """Return a sentence for each class whose counts differ by more than :data:`FACTOR`; ``None``: not comparable.

    *others* is the model's number of instructions in no class, any of which may be arithmetic.
    """
    if not counts or (_ACCESSES in counts and _differ(*counts[_ACCESSES], 0.0, _SAME_ACCESSES)):
        return None
    more = {_ARITHMETIC: others}
    return tuple(
        f"A work-item has {compiled} {name} instructions in PTX (before the assembler); the model counts {model:.4g}"
        f"{f', and {more[name]:.4g} for indices, addresses and branches' if more.get(name) else ''}."
        for name, (compiled, model) in counts.items()
        if _differ(compiled, model, more.get(name, 0.0), FACTOR)
    )


def _differ(compiled: int, model: float, others: float, factor: float) -> bool:
    return not model / factor <= compiled <= (model + others) * factor
