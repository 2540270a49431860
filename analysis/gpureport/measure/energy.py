"""Power and energy: a kernel runs back to back for half a second or more, while a thread reads the sensors."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from gpureport.errors import DeviceError
from gpureport.measure import Progress
from gpureport.measure.backends.common import Backend
from gpureport.measure.backends.sensors import power_sensor
from gpureport.measure.bench import Bench, Point
from gpureport.measure.limits import SweepSettings
from gpureport.measure.watch import Watch
from gpureport.records.curves import PointKey
from gpureport.records.measurement import IDLE, Energy, PowerLoad, Reading
from gpureport.spec.models import Device
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Limits, Workload

LOAD_S = 0.75
"""Duration of a load."""
_SETTLED = 0.2
"""Share of a load after which clocks and power count as settled."""
_PERIOD_S = 0.02
_BATCH_S = 0.05
_MOST_DISPATCHES = 200
_MOST_BYTES = 2.0**30
_SOME = 0.5
"""Working set / capacity of a cache that certainly serves it."""


class Load(NamedTuple):
    """A point that runs while power is read; *factor*: units of work for each of the workload's own units."""

    name: str
    workload: Workload
    point: PointKey
    unit: str
    factor: float = 1.0


def power_loads(device: Device, limits: Limits) -> Iterator[Load]:
    """Yield the loads for a device: those of its memory, its caches and its arithmetic, and cell updates."""
    named = {workload.name: workload for workload in all_workloads()}
    read, rate, life = (named[name] for name in ("memory/read", "instructions/rate", "game_of_life/packed64"))
    yield from _sized("memory read", read, device, limits, _MOST_BYTES, "B")
    for cache in reversed(device.caches):
        workload = read if cache.scope == "device" else named["memory/read_private"]
        yield from _sized(f"{cache.name} read", workload, device, limits, _SOME * cache.capacity_bytes, "B")
    points = (rate.point(parameters, sweep) for sweep in rate.sweeps(device, limits) for parameters in sweep.points)
    yield from (Load("fp32 FMA", rate, point, "FLOP", 2.0) for point in points if point.label == "fp32")
    yield from _sized("Game of Life", life, device, limits, _MOST_BYTES, "cells")


def _sized(
    name: str, workload: Workload, device: Device, limits: Limits, most_bytes: float, unit: str
) -> Iterator[Load]:
    """Yield the load of the largest point within a size that uses all compute units, if a sweep has one."""
    sweeps = (sweep for sweep in workload.sweeps(device, limits) if sweep.axis.quantity == "working_set")
    points = (workload.point(parameters, sweep) for sweep in sweeps for parameters in sweep.points)
    units = device.compute_units
    fitting = [p for p in points if p.working_set_bytes <= most_bytes and p.parameters.get("groups", units) >= units]
    if fitting:
        yield Load(name, workload, max(fitting, key=lambda point: point.working_set_bytes), unit)


def measure_energy(backend: Backend, loads: Sequence[Load], settings: SweepSettings, progress: Progress) -> Energy:
    """Measure the power of the idle device, then of each load; empty with the reason if there is no sensor."""
    with ExitStack() as stack:
        sensor = power_sensor(backend.device, stack)
        if isinstance(sensor, str):
            return Energy(missing=sensor)
        watch = partial(Watch, backend, [sensor.read], _PERIOD_S, backend.now())
        progress("power", IDLE, 0.0)
        with watch() as watched:
            time.sleep(LOAD_S)
        measured = [PowerLoad(name=IDLE, duration_s=LOAD_S, **_power(watched.taken()))]
        for number, load in enumerate(loads):
            progress("power", load.name, number / len(loads))
            measured.append(_loaded(backend, load, settings, watch()))
        known = any(load.power_w for load in measured)
        missing = "" if known else f"{sensor.name} reports neither power nor energy of this device."
        return Energy(
            sensor=sensor.name, scope=sensor.scope, missing=missing, limit_w=sensor.limit_w(), loads=tuple(measured)
        )


def _loaded(backend: Backend, load: Load, settings: SweepSettings, watch: Watch) -> PowerLoad:
    bench, point = Bench(backend, settings.limits), Point(load.workload, load.point, settings.seed)
    try:
        seconds = bench.run(point, 1)  # builds the kernel, initialises buffers, and sizes the batches
        batch = max(1, min(_MOST_DISPATCHES, round(_BATCH_S / max(seconds, 1e-9))))
        batch = -(-batch // bench.cycle_length(point)) * bench.cycle_length(point)
        dispatches = 0
        with watch:
            start = time.monotonic()
            while time.monotonic() - start < LOAD_S:
                bench.run(point, batch)
                dispatches += batch + 1  # each batch is preceded by one untimed dispatch
            duration_s = time.monotonic() - start
    except DeviceError as error:
        return PowerLoad(name=load.name, workload=load.workload.name, skipped=str(error))
    finally:
        backend.clear()
    return PowerLoad(
        name=load.name,
        workload=load.workload.name,
        point=load.point.label,
        unit=load.unit,
        work=dispatches * load.point.work * load.factor,
        duration_s=duration_s,
        **_power(watch.taken()),
    )


def _power(readings: Sequence[Reading]) -> dict[str, object]:
    by_counter = counter_power_w([(each.at_s, each.energy_j) for each in readings if each.energy_j is not None])
    known = [reading.power_w for reading in readings if reading.power_w]
    power_w = by_counter or (median(known[len(known) // 2 :]) if known else None)
    return {"power_w": power_w, "by_counter": by_counter is not None, "readings": readings}


def counter_power_w(counted: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean power from readings of an energy counter, (time in s, energy in J), in the order of time.

    The counter may change rarely. The first and the last change after a fifth of the time are used, because the time of
    a change is known better than the energy between two. ``None`` with fewer than two changes, or if the counter ever
    fell.
    """
    if len(counted) < 2 or any(after[1] < before[1] for before, after in pairwise(counted)):
        return None
    first_s = counted[0][0] + _SETTLED * (counted[-1][0] - counted[0][0])
    changes = [after for before, after in pairwise(counted) if after[1] > before[1] and after[0] >= first_s]
    if len(changes) < 2:
        return None
    (start_s, start_j), (end_s, end_j) = changes[0], changes[-1]
    return (end_j - start_j) / (end_s - start_s)
