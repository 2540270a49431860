"""The kernels that run while power is read: memory, caches, arithmetic, and cell updates."""

from collections.abc import Iterator

from gpureport.measure.energy import EnergyTask, Load
from gpureport.records.keys import PointKey
from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Limits, Workload

_MOST_BYTES = 2.0**30
_SOME = 0.5
"""Working set / capacity of a cache that certainly serves it."""


def energy_task(device: Device, limits: Limits, seed: int) -> EnergyTask:
    """Return the loads for a device: those of its memory, its caches and its arithmetic."""
    return EnergyTask(tuple(_loads(device, limits)), limits, seed)


def _loads(device: Device, limits: Limits) -> Iterator[Load]:
    named = {workload.name: workload for workload in all_workloads()}
    read, rate, life = (named[name] for name in ("memory/read", "instructions/rate", "game_of_life/packed64"))
    yield Load("memory read", read, _largest(read, device, limits), "B")
    for cache in reversed(device.caches):
        workload = read if cache.scope == "device" else named["memory/read_private"]
        point = _within(workload, device, limits, _SOME * cache.capacity_bytes)
        if point is not None:
            yield Load(f"{cache.name} read", workload, point, "B")
    for sweep in rate.sweeps(device, limits):
        for point in (rate.point(parameters, sweep) for parameters in sweep.points):
            if point.label == "fp32":
                yield Load("fp32 FMA", rate, point, "FLOP", 2.0)
    yield Load("Game of Life", life, _largest(life, device, limits), "cells")


def _by_size(workload: Workload, device: Device, limits: Limits) -> Iterator[PointKey]:
    for sweep in workload.sweeps(device, limits):
        if sweep.axis.quantity == "working_set" and not sweep.frames:
            yield from (workload.point(parameters, sweep) for parameters in sweep.points)


def _largest(workload: Workload, device: Device, limits: Limits) -> PointKey:
    every = list(_by_size(workload, device, limits))
    points = [point for point in every if point.working_set_bytes <= _MOST_BYTES] or every
    return max(points, key=lambda point: point.working_set_bytes)


def _within(workload: Workload, device: Device, limits: Limits, size_bytes: float) -> PointKey | None:
    """Return the largest point within a size that uses all compute units; ``None`` if no sweep has one."""
    units = device.compute_units
    points = (point for point in _by_size(workload, device, limits) if point.working_set_bytes <= size_bytes)
    whole = [point for point in points if point.parameters.get("groups", units) >= units]
    return max(whole, key=lambda point: point.working_set_bytes, default=None)
