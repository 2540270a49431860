"""The way of a dispatch through the model: demand and device → traffic → resources in use → ceilings → time.

====================  ==================================================================================================
step                  module
====================  ==================================================================================================
groups that run       ``occupancy``: work-groups resident on a compute unit, by the vendors' rules
traffic by level      ``traffic``: bytes; ``residency``: which level serves a working set; ``memory``: time and latency
resources in use      ``execution``, with what differs in ``gpu`` and ``cpu``: instruction classes, pipes, one group;
                      ``accesses``: single load, store and atomic instructions
ceilings, time        this one
interval              ``propagation``: the model runs on numbers that know how they depend on the device's figures, once
                      on numbers of many points, or once for each part that differs
====================  ==================================================================================================

Each ceiling is the time of the dispatch if nothing else limited it; the largest is the bottleneck::

    T = launch + max( W, groups + one group ) + last stores

``groups`` is the time that starting all work-groups takes: the last one starts after all others. ``W`` joins
instructions, traffic and ``latency``, which is the time of an isolated group, once per round of groups, plus the time
from a group's end to its successor's start. How these overlap depends on the device: :meth:`.GpuExecution.work_s` and
:meth:`.CpuExecution.work_s`. Transfers between host and device are a model of their own (``transfers``).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from math import ceil, isnan
from typing import NamedTuple

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict import traffic
from gpureport.predict.cpu import EXECUTIONS
from gpureport.predict.execution import Execution
from gpureport.predict.gpu import GpuExecution
from gpureport.predict.memory import load_latency, traffic_time, usable_capacities
from gpureport.predict.occupancy import occupancy
from gpureport.predict.propagation import Divided, apart, for_all, maximum, named, relative_deviations, together
from gpureport.predict.transfers import transfer_times
from gpureport.records.curves import Level
from gpureport.records.prediction import Occupancy
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand

_MEMORY_CLASSES = frozenset({"memory", "masked", "instruction"})


class PointModel(NamedTuple):
    """The input for one point of a sweep: a specified or calibrated device, and a dispatch."""

    device: Device
    demand: Demand

    @property
    def time_s(self) -> float:
        """Seconds of the dispatch."""
        return point_time(*self).time_s


class PointTime(NamedTuple):
    """The model's result for one dispatch, or for one dispatch of each of several points.

    *level* serves most of the working set. A transfer has no *occupancy*. *operations* are arithmetic ones, counted per
    lane. *memory_bytes* go to and from memory if caches are empty at the start.
    """

    time_s: float
    ceilings_s: Mapping[str, float]
    level: Level
    occupancy: Occupancy | None
    operations: float
    memory_bytes: float

    @property
    def bottleneck(self) -> str:
        """Name of the largest ceiling."""
        return max(self.ceilings_s, key=lambda name: self.ceilings_s[name])

    def of_points(self, count: int) -> "Iterator[PointTime]":
        """Yield the result of each of *count* points; only their own ceilings are numbers."""
        ceilings = zip(*(apart(time_s, count) for time_s in self.ceilings_s.values()), strict=True)
        others = (apart(value, count) for value in (self.time_s, *self[2:]))
        for times, time_s, *rest in zip(ceilings, *others, strict=True):
            own = zip(self.ceilings_s, times, strict=True)
            yield PointTime(time_s, {name: each for name, each in own if not isnan(each)}, *rest)


def execution_kind(device: Device) -> type[Execution]:
    """Return the kind of execution on *device*."""
    architecture = device.architecture
    return EXECUTIONS[architecture.compiler] if architecture.groups_as_loops else GpuExecution


def execution(device: Device, demand: Demand) -> Execution:
    """Return how *device* executes a kernel with *demand*."""
    return execution_kind(device)(device, demand, occupancy(device.architecture, *_used(demand)))


def _used(demand: Demand) -> tuple[tuple[int, ...], int, int, bool]:
    return demand.work_group, demand.registers, demand.local_memory_bytes, demand.compiled


def point_time(device: Device, demand: Demand) -> PointTime:
    """Predict one dispatch of *demand* on *device*; the mean of a sequence of kernels."""
    return _mean([_dispatch_time(execution(device, each)) for each in demand.dispatches])


def point_times(points: Sequence[PointModel], facts: int) -> list[tuple[PointTime, Floats]]:
    """Predict *points* on one device; return each with the relative change of its time by each of the *facts*."""
    device = points[0].device
    kind, known = execution_kind(device), cache(partial(occupancy, device.architecture))

    def run(some: Sequence[PointModel]) -> Iterator[tuple[PointTime, Floats]]:
        if len(some) > 1 and any(each.demand.accesses or each.demand.later_dispatches for each in some):
            raise Divided(range(len(some)))  # such points would disagree too often
        runs = [tuple((each, known(*_used(each))) for each in point.demand.dispatches) for point in some]
        answer = _mean([_dispatch_time(kind(device, *each)) for each in together(runs)])
        deviations = relative_deviations(answer.time_s, facts)
        return zip(answer.of_points(len(some)), np.broadcast_to(deviations, (len(some), facts)), strict=True)

    return for_all(points, run)


def _mean(parts: Sequence[PointTime]) -> PointTime:
    """Return the mean of a sequence of dispatches, with level and occupancy of the longest one."""
    if len(parts) == 1:
        return parts[0]
    count, longest = len(parts), max(parts, key=lambda part: part.time_s)
    names = dict.fromkeys(name for part in parts for name in part.ceilings_s)
    return longest._replace(
        time_s=sum(part.time_s for part in parts) / count,
        ceilings_s={name: sum(part.ceilings_s.get(name, 0.0) for part in parts) / count for name in names},
        operations=sum(part.operations for part in parts) / count,
        memory_bytes=sum(part.memory_bytes for part in parts) / count,
    )


def _dispatch_time(run: Execution) -> PointTime:
    device, demand = run.device, run.demand
    if demand.transfer is not None:
        times = transfer_times(device, demand.transfer)
        return PointTime(sum(times.values()), times, Level(), None, 0.0, 0.0)
    # Traffic, and the level that serves it
    footprint = traffic.footprint_bytes(demand.streams, device, one_buffer=demand.one_buffer)
    usable = usable_capacities(run)
    load_cycles, level = load_latency(run, footprint, usable)
    memory_s, limiting = traffic_time(run, footprint, usable) if demand.streams else (0.0, "DRAM")
    # Resources in use
    class_times = run.class_times()
    by_class = run.scheduled(class_times, run.waves_per_place)
    by_pipe = run.pipe_times(by_class)
    group = run.isolated_group(load_cycles, class_times)
    rounds = ceil(run.rounds)
    latency_s = group.time_s * rounds + run.turnover_s * (rounds - 1)
    # Time, and ceilings
    overlapped_s = run.work_s(run.computing_s(by_pipe), memory_s, latency_s, group, from_memory=limiting == "DRAM")
    work_s = maximum(overlapped_s, run.start_s + group.time_s)
    launch_s = run.launch_s(work_s)
    moving = named(limiting, memory_s) if demand.streams else {}
    return PointTime(
        time_s=launch_s + work_s + run.last_stores_s,
        ceilings_s={"launch": launch_s, "latency": latency_s, "groups": run.start_s, **by_class, **by_pipe, **moving},
        level=level,
        occupancy=run.resident,
        operations=sum(n for name, n in demand.operations.items() if name not in _MEMORY_CLASSES),
        memory_bytes=traffic.memory_bytes(demand.streams, device, every_pass=demand.reused == "kernel"),
    )
