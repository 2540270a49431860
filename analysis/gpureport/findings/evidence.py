"""Compiled code against the model: bytes of global memory that a work-item loads and stores. Pure.

Only PTX is compared, because its instructions are those of a single work-item. Counts are static: they include the
accesses of all branches, so that the model may count less, and say nothing about code with loops.
"""

from collections.abc import Mapping, Sequence

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
    loaded, stored = (_bytes(n) if comparable else None for n in (code.global_loads, code.global_stores))
    agreements = moves_as_modelled(loaded, loads), moves_as_modelled(stored, stores)
    return CodeEvidence(
        workload=name,
        kernel=compilation.kernel,
        options=compilation.options,
        point=point.label,
        loads_bytes_compiled=loaded,
        loads_bytes_model=loads,
        stores_bytes_compiled=stored,
        stores_bytes_model=stores,
        agrees=all(agreements) if comparable else None,
    )


def _is_comparable(code: MachineCode) -> bool:
    """Return whether static counts are the bytes of a work-item: not with calls, atomic operations or loops."""
    return code.form == "PTX" and not (code.calls or code.loops or code.counts.get("atomic"))


def _bytes(by_width: Mapping[int, int]) -> int:
    return sum(width * count for width, count in by_width.items())


def moves_as_modelled(compiled: float | None, model: float) -> bool | None:
    """Return whether the *model* counts at most the bytes of all *compiled* accesses; ``None``: these are unknown."""
    return None if compiled is None else model <= compiled * (1 + TOLERANCE)
