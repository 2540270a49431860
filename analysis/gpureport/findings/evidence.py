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
from typing import Literal

import numpy as np

from gpureport.predict.traffic import requested_bytes
from gpureport.records.curves import PointKey
from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation, MachineCode, Measurement
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Workload

TOLERANCE = 0.05
"""Largest relative difference that counts as agreement."""

FACTOR = 2.0
"""Ratio beyond which counts differ. On an H200, kernels whose accesses agree have 0.7 to 1.9 times the arithmetic
instructions of the model, except one with integer divisions (0.5) and one with eight loads (2.2)."""
_ACCESSES = "global access"
ARITHMETIC = "arithmetic"
_SAME_ACCESSES = 1.25
"""Ratio of global accesses, compiled to modelled, beyond which the counts of branches are not comparable."""

_PARTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    ARITHMETIC: (
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
Incomparable = Literal["processor", "calls", "atomic", "no accesses", "loops"]
"""Why static counts are not the bytes of a work-item."""
_Ends = tuple[float | None, float | None]


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
    comparable = incomparable(code, accesses=bool(demand.streams)) is None
    loaded: _Ends = (comparable and code.loaded_bytes) or (None, None)
    stored: _Ends = (comparable and code.stored_bytes) or (None, None)
    agreements = {moves_as_modelled(*loaded, loads), moves_as_modelled(*stored, stores)}
    instructions = instruction_counts(code, demand)
    different = differing(instructions, others := unclassified(demand))
    return CodeEvidence(
        workload=name,
        kernel=compilation.kernel,
        options=compilation.options,
        point=point.label,
        form=code.form,
        loads_bytes_least=loaded[0],
        loads_bytes_compiled=loaded[1],
        loads_bytes_model=loads,
        stores_bytes_least=stored[0],
        stores_bytes_compiled=stored[1],
        stores_bytes_model=stores,
        vectorised=code.vectorised,
        spill_bytes=compilation.spill_bytes,
        agrees=False if False in agreements else None if None in agreements else True,
        instructions_compiled={name: compiled for name, (compiled, _) in instructions.items()},
        instructions_model={name: model for name, (_, model) in instructions.items()},
        instructions_agree=None if different is None else not different,
        unclassified=others,
    )


def incomparable(code: MachineCode, *, accesses: bool) -> Incomparable | None:
    """Return why static counts are not the bytes of a work-item; *accesses*: whether the model counts any."""
    if code.form != _BY_WORK_ITEM:
        return "processor"
    if code.calls or code.counts.get("atomic"):
        return "calls" if code.calls else "atomic"
    if not accesses:
        return "no accesses"
    return "loops" if code.loaded_bytes is None or code.stored_bytes is None else None


def moves_as_modelled(least: float | None, most: float | None, model: float) -> bool | None:
    """Return whether the model's bytes, a mean over work-items, are between the *least* and the *most* of a work-item.

    ``None``: these are unknown, or a guard may skip all accesses and the model counts less than the most.
    """
    if least is None or most is None:
        return None
    if not least * (1 - TOLERANCE) <= model <= most * (1 + TOLERANCE):
        return False
    return None if least == 0 and model < most * (1 - TOLERANCE) else True


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


def differing(counts: Mapping[str, tuple[int, float]], others: float) -> tuple[str, ...] | None:
    """Return the classes whose counts differ by more than :data:`FACTOR`; ``None``: not comparable.

    *others* is the model's number of instructions in no class, any of which may be arithmetic.
    """
    if not counts or (_ACCESSES in counts and _differ(*counts[_ACCESSES], 0.0, _SAME_ACCESSES)):
        return None
    others_of = {ARITHMETIC: others}
    return tuple(name for name, each in counts.items() if _differ(*each, others_of.get(name, 0.0), FACTOR))


def _differ(compiled: int, model: float, others: float, factor: float) -> bool:
    return not model / factor <= compiled <= (model + others) * factor
