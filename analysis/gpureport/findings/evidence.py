"""Compiled code against the model: bytes of global memory that a work-item loads and stores. Pure."""

from collections.abc import Iterator, Sequence

import numpy as np

from gpureport.findings.instruction_counts import differences, instruction_counts
from gpureport.records.finding import CodeEvidence
from gpureport.records.keys import PointKey
from gpureport.records.measurement import Compilation, MachineCode, Measurement
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads.model import Demand, Workload

TOLERANCE = 0.05
"""Largest relative difference that still agrees."""

_BY_WORK_ITEM = "PTX"  # the form of code in which an instruction is one of a single work-item
_Range = tuple[int, int]


def code_evidence(workload: Workload, device: Device, measurements: Sequence[Measurement]) -> tuple[CodeEvidence, ...]:
    """Set what was compiled beside what the model counts, once for each kernel and set of build options.

    The model is asked about the largest point that ran with those options: borders weigh least there.

    Args:
        workload: whose measurements they are.
        device: that the model is asked about.
        measurements: its sweeps, as measured.

    Returns:
        One record for each kernel whose code is known; none for points that take turns between different kernels,
        of which the model knows only the sum.
    """
    found: dict[tuple[str, str], CodeEvidence] = {}
    for measurement in measurements:
        wanted = {
            (c.kernel, c.options): (c, c.code)
            for c in measurement.compilation
            if c.code is not None and (c.kernel, c.options) not in found
        }
        points = sorted((p.point for p in measurement.points if p.samples_s), key=lambda p: p.work_items, reverse=True)
        for key, point in _runs(workload, points, set(wanted)):
            found[key] = _compared(workload.name, *wanted[key], point, workload.demand(point.parameters, device))
    return tuple(found.values())


def _runs(
    workload: Workload, points: Sequence[PointKey], wanted: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], PointKey]]:
    """Yield each of the *wanted* pairs of kernel and build options with the first of *points* that ran it."""
    for point in points:
        if not wanted:
            return
        options = workload.build_options(point.parameters)
        found = [key for key in wanted if _built_with(options, key[1])]
        kernels = _kernels(workload, point) if found else set()
        for key in [key for key in found if kernels == {key[0]}]:
            wanted.remove(key)
            yield key, point


def _kernels(workload: Workload, point: PointKey) -> set[str]:
    job = workload.job(point.parameters, np.random.default_rng(0))
    return {dispatch.kernel for dispatch in job.dispatches}


def _built_with(options: str, all_options: str) -> bool:
    """Say whether a point's options begin *all_options*, to which the device and the back end may have added."""
    return f"{all_options} ".startswith(f"{options} ".lstrip())


def _compared(name: str, compilation: Compilation, code: MachineCode, point: PointKey, demand: Demand) -> CodeEvidence:
    loads, stores = (_per_item(demand, write=write) for write in (False, True))
    reason = _incomparable(code, demand)
    loaded, stored = (None, None) if reason else (code.loaded_bytes, code.stored_bytes)
    instructions = instruction_counts(code, demand)
    different = differences(instructions)
    answers = {None} if loaded is None or stored is None else {_holds(loaded, loads), _holds(stored, stores)}
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
        agrees=False if False in answers else None if None in answers else True,
        remark=" ".join((*_remarks(compilation, code, reason, (loaded, loads), (stored, stores)), *(different or ()))),
        instructions_compiled={name: compiled for name, (compiled, _) in instructions.items()},
        instructions_model={name: model for name, (_, model) in instructions.items()},
        instructions_agree=None if different is None else not different,
    )


def _per_item(demand: Demand, *, write: bool) -> float:
    """Return the bytes that the model has a work-item move between registers and the first cache.

    Those that only fill work-groups up do not count: neither do the ways through the code that access nothing.
    """
    streams = (stream for stream in demand.streams if stream.write == write)
    return sum(s.elements * s.used_bytes * s.passes for s in streams) / (demand.work_items - demand.idle_items)


def _holds(compiled: _Range, model: float) -> bool | None:
    """Say whether the model's bytes, a mean over all work-items, lie between the least and the most that one moves.

    ``None`` if the model counts less than the most and a guard hides all of it: then nothing shows that it counts
    enough.
    """
    least, most = compiled
    if not least * (1 - TOLERANCE) <= model <= most * (1 + TOLERANCE):
        return False
    return None if least == 0 and model < most * (1 - TOLERANCE) else True


def _incomparable(code: MachineCode, demand: Demand) -> str | None:
    """Say why static counts do not tell the bytes of a work-item, or return ``None``."""
    if code.form != _BY_WORK_ITEM:
        return "A processor's code serves several work-items at once: its accesses are not those of one."
    if code.calls:
        return f"It calls {', '.join(code.calls)}, whose accesses are not counted."
    if code.counts.get("atomic"):
        return "It has atomic operations, whose bytes are not counted."
    if not demand.streams:
        return "The model counts no accesses: work of another kind takes the time."
    return "It loops over accesses: they are executed more often than they are counted." if _loops(code) else None


def _loops(code: MachineCode) -> bool:
    return code.loaded_bytes is None or code.stored_bytes is None


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
        yield _vectors(code)
    if compilation.spill_bytes:
        yield f"Registers spill {format_bytes(compilation.spill_bytes)} a work-item, which the model does not count."


def _difference(verb: str, compiled: _Range | None, model: float) -> Iterator[str]:
    if compiled is None:
        return
    holds = _holds(compiled, model)
    if holds is None:
        yield f"Guards hide how many of up to {compiled[1]:g} B a work-item {verb}; the model counts {model:.4g} B."
    if holds is False:
        yield f"A work-item {verb} {range_text(*compiled)} B as compiled, {model:.4g} B in the model."


def range_text(least: float, most: float) -> str:
    """Write bytes that branches decide on: ``16``, or ``16 to 24``."""
    return f"{most:g}" if least == most else f"{least:g} to {most:g}"


def _vectors(code: MachineCode) -> str:
    how = "mostly vectors" if code.vectorised else "mostly scalars"
    if not code.loops:
        return f"The code has no loop and is {how}."
    return f"The innermost loops are {how}: {code.vector_loops} of vectors, {code.scalar_loops} of scalars."
