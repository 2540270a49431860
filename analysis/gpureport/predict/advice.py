"""Advice on kernels: changes of their demand, with the gains that the model predicts. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpureport.predict import model_inputs
from gpureport.predict.changes import changes
from gpureport.predict.model import PointModel
from gpureport.predict.occupancy import Compiled
from gpureport.records.finding import Advice
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads.model import Parameters, Sweep, Workload

_LEAST_GAIN = constant(1.05)
"""Smaller gains are not reported."""


def advice(
    workload: Workload,
    device: Device,
    sweeps: Sequence[Sweep],
    compiled: Mapping[str, Sequence[Compiled]] | None = None,
) -> tuple[Advice, ...]:
    """Return the changes of a described *workload* that make it faster at its largest size, the largest gain first.

    Its :meth:`~.Workload.changes`, work-group shapes and occupancy are predicted. The first of its *sweeps* contains
    the largest size; *compiled* are the resources of the points of each sweep, by its name.
    """
    if not (largest := largest_point(workload, device, sweeps, compiled or {})):
        return ()
    label, parameters, base = largest
    kept = {name: getattr(base.demand, name) for name in ("isolated", "registers", "local_memory_bytes", "compiled")}
    changed = (
        (what, base._replace(demand=replace(demand, **kept)))
        for what, demand in (*workload.changes(parameters, device), *changes(base.demand, device))
    )
    gains = [(what, base.time_s / other.time_s) for what, other in changed]
    if not device.architecture.groups_as_loops:
        # Compilers for CPUs turn a work-group into loops, whose predicted differences are too uncertain for advice.
        gains += _shapes(workload, device, sweeps[1:], base.demand.work_group)
    known = (
        Advice(workload=workload.name, point=label, change=what, gain=gain)
        for what, gain in gains
        if gain >= _LEAST_GAIN
    )
    return tuple(sorted(known, key=lambda each: -each.gain))


def largest_point(
    workload: Workload, device: Device, sweeps: Sequence[Sweep], compiled: Mapping[str, Sequence[Compiled]]
) -> tuple[str, Parameters, PointModel] | None:
    """Return the label, the parameters and the model's input of a described workload's point with most work."""
    if not workload.described or not sweeps or not sweeps[0].points:
        return None
    first = sweeps[0]
    keys = [workload.point(each, first) for each in first.points]
    last = max(range(len(keys)), key=lambda i: keys[i].work)
    resources = [*compiled.get(first.name, ()), *({} for _ in keys)][last]
    return keys[last].label, first.points[last], model_inputs(device, workload, first, first.points[last], resources)


def _shapes(
    workload: Workload, device: Device, sweeps: Sequence[Sweep], usual: tuple[int, ...]
) -> Iterator[tuple[str, float]]:
    for sweep in sweeps:
        if sweep.axis.quantity != "work_group":
            continue
        times: dict[tuple[int, ...], float] = {}
        for each in sweep.points:
            point = model_inputs(device, workload, sweep, each)
            times[point.demand.work_group] = point.time_s
        best = min(times, key=times.__getitem__, default=usual)
        if usual in times:
            one, other = (" x ".join(map(str, shape)) for shape in (best, usual))
            yield f"use work-groups of {one} instead of {other} work-items", times[usual] / times[best]
