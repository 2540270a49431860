"""Compiled code against the model: bytes of global memory that a work-item loads and stores. Pure.

Only PTX is compared, because its instructions are those of a single work-item. Counts are static: they include the
accesses of all branches, and say nothing about code with loops around accesses.
"""

from collections.abc import Sequence

import numpy as np

from gpureport.predict.occupancy import builds_of
from gpureport.predict.traffic import requested_bytes
from gpureport.records.curves import PointKey
from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation, MachineCode, Measurement
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Workload

TOLERANCE = 0.05
"""Largest relative difference that counts as agreement."""
_BY_WORK_ITEM = "PTX"
_Ends = tuple[float | None, float | None]


def code_evidence(workload: Workload, device: Device, measurements: Sequence[Measurement]) -> tuple[CodeEvidence, ...]:
    """Compare compiled code with the model's count, once for each kernel with known code and set of build options.

    The model's count is that of the largest point with those options, where borders matter least. Points with several
    kernels are left out, because the model has only their sum.
    """
    found: dict[tuple[str, str], CodeEvidence] = {}
    for measurement in measurements:
        points = (p.point for p in measurement.points if p.samples_s)
        for point in sorted(points, key=lambda p: p.work_items, reverse=True):
            builds = builds_of(workload, point.parameters, measurement.compilation)
            new = [b for b in builds if b.code and (b.kernel, b.options) not in found]
            job = workload.job(point.parameters, np.random.default_rng(0)) if new else None
            kernels = {dispatch.kernel for dispatch in job.dispatches} if job else set()
            for build in new:
                if build.code and kernels == {build.kernel}:
                    demand = workload.demand(point.parameters, device)
                    found[build.kernel, build.options] = _compared(workload.name, build, build.code, point, demand)
    return tuple(found.values())


def _compared(name: str, compilation: Compilation, code: MachineCode, point: PointKey, demand: Demand) -> CodeEvidence:
    busy = demand.work_items - demand.idle_items
    # Bytes between registers and the first cache.
    loads, stores = (requested_bytes([s for s in demand.streams if s.write == write]) / busy for write in (False, True))
    comparable = _is_comparable(code) and bool(demand.streams)
    loaded: _Ends = (comparable and code.loaded_bytes) or (None, None)
    stored: _Ends = (comparable and code.stored_bytes) or (None, None)
    agreements = {moves_as_modelled(*loaded, loads), moves_as_modelled(*stored, stores)}
    return CodeEvidence(
        workload=name,
        kernel=compilation.kernel,
        options=compilation.options,
        point=point.label,
        loads_bytes_least=loaded[0],
        loads_bytes_compiled=loaded[1],
        loads_bytes_model=loads,
        stores_bytes_least=stored[0],
        stores_bytes_compiled=stored[1],
        stores_bytes_model=stores,
        agrees=False if False in agreements else None if None in agreements else True,
    )


def _is_comparable(code: MachineCode) -> bool:
    """Return whether static counts are the bytes of a work-item: not with calls, atomic operations or loops."""
    unknown = code.calls or code.counts.get("atomic") or code.loaded_bytes is None or code.stored_bytes is None
    return code.form == _BY_WORK_ITEM and not unknown


def moves_as_modelled(least: float | None, most: float | None, model: float) -> bool | None:
    """Return whether the model's bytes, a mean over work-items, are between the *least* and the *most* of a work-item.

    ``None``: these are unknown, or a guard may skip all accesses and the model counts less than the most.
    """
    if least is None or most is None:
        return None
    if not least * (1 - TOLERANCE) <= model <= most * (1 + TOLERANCE):
        return False
    return None if least == 0 and model < most * (1 - TOLERANCE) else True
