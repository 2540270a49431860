"""One row of the benchmark: verified, then timed alternately with a copy of the same working set."""

from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmark_rows import Row
from gpureport.errors import DeviceError
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.bench import Point
from gpureport.measure.kernels import verify
from gpureport.measure.limits import SweepSettings, features
from gpureport.measure.rounds import Progress, Rounds
from gpureport.observe.statistics import median_interval
from gpureport.spec.models import Device
from gpureport.workloads import select
from gpureport.workloads.model import Parameters, Sweep, Workload

_CPU_BEYOND = 4.0  # working sets of a CPU, as multiples of its last cache


@dataclass(frozen=True)
class Run:
    """Data of all rows of a run; *working_set* replaces their sizes."""

    backend: Backend
    device: Device
    settings: SweepSettings
    progress: Progress
    working_set: float | None = None


@dataclass(frozen=True)
class Timed:
    """A point with its samples, and the bytes or operations per unit of work."""

    point: Point
    counts: float

    @property
    def time_s(self) -> float:
        """Median time of one dispatch."""
        return median(self.point.samples_s)

    @property
    def rate(self) -> float:
        """Bytes or operations per second."""
        return self.point.key.work * self.counts / self.time_s

    @property
    def spread(self) -> float:
        """Half-width of the median's 95 % interval, relative to the median."""
        found = median_interval(np.array(self.point.samples_s))
        return ((found.high or 0.0) - (found.low or 0.0)) / 2 / self.time_s


@dataclass(frozen=True)
class Outcome:
    """The result of a row: its time and that of its copy, or the reason for having none."""

    row: Row
    reason: str = ""
    timed: Timed | None = None
    copy: Timed | None = None


def measured(run: Run, row: Row) -> Outcome:
    """Verify and time a row, alternately with a copy."""
    (workload,) = select((row.workload,))
    try:
        reason = _obstacle(run, workload)
        return Outcome(row, reason) if reason else _timed(run, row, workload)
    except DeviceError as error:
        return Outcome(row, str(error))


def _obstacle(run: Run, workload: Workload) -> str | None:
    """Return why the workload cannot be timed: a missing feature or wrong results."""
    missing = workload.missing(features(run.backend.device))
    if missing:
        return missing
    verification = verify(run.backend, workload, np.random.default_rng(run.settings.seed))
    return None if verification.passed else f"wrong results: {verification.message}"


def _timed(run: Run, row: Row, workload: Workload) -> Outcome:
    point = point_of(run, row, workload)
    beside = copy_of(run, point.key.working_set_bytes) if row.beside_copy else None
    points = [point, beside] if beside else [point]
    try:
        rounds = Rounds(run.backend, run.settings, run.progress, row.label)
        rounds.measure(points, 1, np.random.default_rng(run.settings.seed))
    finally:
        run.backend.clear()
    reason = next((each.skipped for each in points if each.skipped), None)
    if reason:
        return Outcome(row, reason)
    return Outcome(row, "", Timed(point, row.counts), Timed(beside, 1) if beside else None)


def point_of(run: Run, row: Row, workload: Workload) -> Point:
    """Return the point of the row: the one nearest to its size, with its parameters."""
    sweep = _sweep(run, workload, row.sweep)
    if row.case:
        chosen = next(p for p in sweep.points if workload.point(p, sweep).label == row.case)
    elif row.size and run.device.kind != "cpu" and not run.working_set:
        chosen = {
            **_nearest(workload, sweep, _working_set(workload, sweep, {**sweep.points[-1], **row.size})),
            **row.size,
        }
    elif row.part:
        number, part = row.part
        chosen = _nearest(workload, sweep, part * run.device.caches[number].capacity_bytes)
    else:
        chosen = _nearest(workload, sweep, _beyond(run, workload, sweep))
    return Point(workload, workload.point(chosen, sweep), run.settings.seed)


def _beyond(run: Run, workload: Workload, sweep: Sweep) -> float:
    """Return a working set larger than all caches: on a GPU the largest of the sweep."""
    if run.working_set:
        return run.working_set
    if run.device.kind == "cpu" and run.device.caches:
        return _CPU_BEYOND * run.device.caches[-1].capacity_bytes
    return _working_set(workload, sweep, sweep.points[-1])


def _sweep(run: Run, workload: Workload, name: str) -> Sweep:
    """Return the sweep of this name, or the first one if the device has none of this name."""
    sweeps = {sweep.name: sweep for sweep in workload.sweeps(run.device, run.settings.limits)}
    if not sweeps:
        raise DeviceError(f"{workload.name} has no sweep on {run.device.name}")
    return sweeps.get(name, next(iter(sweeps.values())))


def _working_set(workload: Workload, sweep: Sweep, parameters: Parameters) -> float:
    return workload.point(parameters, sweep).working_set_bytes


def _nearest(workload: Workload, sweep: Sweep, nbytes: float) -> Parameters:
    return min(sweep.points, key=lambda p: abs(np.log(_working_set(workload, sweep, p) / nbytes)))


def copy_of(run: Run, nbytes: float) -> Point:
    """Return a copy of this working set, in whole work-groups."""
    (copy,) = select(("memory/copy",))
    sweep = _sweep(run, copy, "working_set")
    chosen = _nearest(copy, sweep, nbytes)
    step = chosen["local"] * chosen["per_item"]
    vectors = max(1, round(chosen["vectors"] * nbytes / _working_set(copy, sweep, chosen) / step)) * step
    return Point(copy, copy.point({**chosen, "vectors": vectors}, sweep), run.settings.seed)
