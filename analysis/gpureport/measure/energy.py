"""Power and energy: a kernel runs back to back for half a second or more, while a thread reads the sensors."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from threading import Event, Thread

from gpureport.errors import DeviceError
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.bench import Bench, Point
from gpureport.measure.conditions.power import PowerSensor, sensor_of
from gpureport.measure.rounds import Progress
from gpureport.records.energy import IDLE, Energy, PowerLoad, PowerReading
from gpureport.records.keys import PointKey
from gpureport.workloads.model import Limits, Workload

LOAD_S = 0.75
"""Duration of a load."""
_SETTLED = 0.2
"""Share of a load after which clocks and power count as settled."""
_PERIOD_S = 0.02
_BATCH_S = 0.05
_MOST_DISPATCHES = 200


@dataclass(frozen=True)
class Load:
    """A point that runs while power is read.

    Attributes:
        name: what it does.
        workload: the workload.
        point: the point.
        unit: of its work.
        factor: units of work for each of the workload's own units.
    """

    name: str
    workload: Workload
    point: PointKey
    unit: str
    factor: float = 1.0


@dataclass(frozen=True)
class EnergyTask:
    """The loads of a run, after an idle phase."""

    loads: Sequence[Load]
    limits: Limits
    seed: int = 0
    load_s: float = LOAD_S


def measure_energy(backend: Backend, task: EnergyTask, progress: Progress) -> Energy:
    """Measure the power of the idle device, then of each load; empty with the reason if there is no sensor."""
    with ExitStack() as stack:
        sensor = sensor_of(backend.device, stack)
        if isinstance(sensor, str):
            return Energy(missing=sensor)
        return _measured(backend, task, sensor, progress)


def _measured(backend: Backend, task: EnergyTask, sensor: PowerSensor, progress: Progress) -> Energy:
    began = time.monotonic()
    progress.advance("power: idle", 0.0)
    loads = [_idle(sensor, task.load_s, began)]
    for number, load in enumerate(task.loads):
        progress.advance(f"power: {load.name}", number / len(task.loads))
        bench = Bench(backend, task.limits)
        try:
            loads.append(_loaded(bench, load, task, sensor, began))
        except DeviceError as error:
            loads.append(PowerLoad(name=load.name, workload=load.workload.name, skipped=str(error)))
        finally:
            backend.clear()
    known = any(load.power_w for load in loads)
    missing = "" if known else f"{sensor.name} reports neither power nor energy of this device."
    return Energy(sensor=sensor.name, scope=sensor.scope, missing=missing, limit_w=sensor.limit_w(), loads=tuple(loads))


def _idle(sensor: PowerSensor, load_s: float, began: float) -> PowerLoad:
    with _watching(sensor, began) as watched:
        time.sleep(load_s)
    return PowerLoad(name=IDLE, duration_s=load_s, **watched.power())


def _loaded(bench: Bench, load: Load, task: EnergyTask, sensor: PowerSensor, began: float) -> PowerLoad:
    point = Point(load.workload, load.point, task.seed)
    seconds = bench.run(point, 1)  # builds the kernel, initialises buffers, and sizes the batches
    batch = max(1, min(_MOST_DISPATCHES, round(_BATCH_S / max(seconds, 1e-9))))
    batch = -(-batch // bench.cycle_length(point)) * bench.cycle_length(point)
    dispatches, start = 0, time.monotonic()
    with _watching(sensor, began) as watched:
        while time.monotonic() - start < task.load_s:
            bench.run(point, batch)
            dispatches += batch + 1  # each batch is preceded by one untimed dispatch
        duration_s = time.monotonic() - start
    return PowerLoad(
        name=load.name,
        workload=load.workload.name,
        point=load.point.label,
        unit=load.unit,
        work=dispatches * load.point.work * load.factor,
        duration_s=duration_s,
        **watched.power(),
    )


@dataclass
class _Watched:
    """Readings of one load: the state, and the energy counter with the time at which it was read."""

    readings: list[PowerReading] = field(default_factory=list)
    counted: list[tuple[float, float]] = field(default_factory=list)

    def power(self) -> dict[str, object]:
        """Return power, how it was found, and the readings."""
        by_counter = counter_power_w(self.counted)
        known = [reading.power_w for reading in self.readings if reading.power_w]
        power_w = by_counter or (median(known[len(known) // 2 :]) if known else None)
        return {"power_w": power_w, "by_counter": by_counter is not None, "readings": tuple(self.readings)}


def counter_power_w(counted: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean power from readings of an energy counter, (time in s, energy in J), in the order of time.

    The counter may change rarely. The first and the last change after a fifth of the time are used, because the time of
    a change is known better than the energy between two.

    Returns:
        ``None`` with fewer than two changes, or if the counter ever fell.
    """
    if len(counted) < 2 or any(after[1] < before[1] for before, after in pairwise(counted)):
        return None
    first_s = counted[0][0] + _SETTLED * (counted[-1][0] - counted[0][0])
    changes = [after for before, after in pairwise(counted) if after[1] > before[1] and after[0] >= first_s]
    if len(changes) < 2:
        return None
    (start_s, start_j), (end_s, end_j) = changes[0], changes[-1]
    return (end_j - start_j) / (end_s - start_s)


@contextmanager
def _watching(sensor: PowerSensor, began: float) -> Iterator[_Watched]:
    """Read the sensor in a thread until the end of the context."""
    watched, end = _Watched(), Event()
    thread = Thread(target=_read, args=(sensor, watched, end.wait, began), name="power", daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        end.set()
        thread.join(1.0)


def _read(sensor: PowerSensor, watched: _Watched, ended: Callable[[float], bool], began: float) -> None:
    while True:
        at_s = time.monotonic() - began
        if (energy_j := sensor.energy_j()) is not None:
            watched.counted.append((at_s, energy_j))
        if state := sensor.state():
            watched.readings.append(PowerReading.model_validate({"at_s": at_s, **state}))
        if ended(_PERIOD_S):
            return
