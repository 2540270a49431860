"""The measuring of sweeps: pilot runs choose points and size their samples, rounds in random order then take them."""

import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure import sampling
from gpureport.measure.backend import Backend, LaunchError
from gpureport.measure.bench import Bench, Point
from gpureport.measure.limits import Settings
from gpureport.measure.pool import BufferPool
from gpureport.measure.refinement import between
from gpureport.measure.verify import verify
from gpureport.records import Compilation, Measurement, SweepKey, Verification
from gpureport.units import format_time
from gpureport.workloads.model import Features, Sweep, Workload

FEWEST_ROUNDS = 3
"""Samples that every point gets; a point for which the time budget does not allow them is skipped."""

_LONG_S = 5e-3  # a dispatch of that length needs no second look to size its samples
_SETTLED = 0.02
_SETTLING_S = 0.5
_REFINING = 0.4  # share of the budget that may go before the last point is chosen
_OVERRUN = 2.0  # times the budget at which even the fewest rounds are cut short


class Progress(Protocol):
    """Hears how far a sweep is."""

    def advance(self, label: str, done: float) -> None:
        """Say what was just done, and which part of the sweep, 0…1, is done at least."""
        ...


def measure_workload(
    backend: Backend,
    workload: Workload,
    sweeps: Sequence[Sweep],
    features: Features,
    settings: Settings,
    progress: Progress,
) -> Iterator[Measurement]:
    """Verify a workload, then measure its sweeps, one after the other.

    Yields:
        A measurement for each sweep; skipped ones say why. Wrong results are never timed.
    """
    rng = _rng(settings, workload.name)
    reason, verification = workload.missing(features), None
    if reason is None:
        progress.advance(f"{workload.name}: checking results", 0.0)
        reason, verification = _verified(backend, workload, features, rng)
    for sweep in sweeps:
        if reason is not None:
            yield _blank(workload, sweep).model_copy(update={"skipped": reason, "verification": verification})
        else:
            order = _rng(settings, f"{workload.name}/{sweep.name}")
            measured = measure_sweep(backend, workload, sweep, features, settings, order, progress)
            yield measured.model_copy(update={"verification": verification})


def measure_sweep(
    backend: Backend,
    workload: Workload,
    sweep: Sweep,
    features: Features,
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress,
) -> Measurement:
    """Measure one sweep of a workload that was verified.

    Whatever the device refuses becomes a point's ``skipped``; if it refuses all points, the sweep's.
    """
    begun_at, start = datetime.now(UTC), backend.now()
    seeds = rng.integers(2**32, size=len(sweep.points)).tolist()
    points = [
        Point(workload.point(parameters, sweep), seed) for parameters, seed in zip(sweep.points, seeds, strict=True)
    ]
    bench = Bench(backend, workload, features, BufferPool(backend, settings.limits))
    label = f"{workload.name}: {sweep.title}"
    run = _Run(backend, bench, settings, progress, start, label)
    try:
        points = run.chosen(points, sweep.coarse)
        accepted = [p for p in points if not p.skipped]
        run.settle(accepted)
        if sweep.frames:
            run.traces(accepted, sweep.frames)
        else:
            run.rounds(accepted, rng)
    finally:
        backend.clear()
    refused = all(point.skipped and not point.samples_s for point in points)
    return _blank(workload, sweep).model_copy(
        update={
            "points": tuple(point.record() for point in points),
            "compilation": tuple(run.compilations),
            "skipped": (points[0].skipped if points else "the sweep has no points here") if refused else None,
            "started_at": begun_at.isoformat(timespec="seconds"),
            "duration_s": backend.now() - start,
        }
    )


class _Run:
    """The passes over the points of one sweep."""

    def __init__(
        self, backend: Backend, bench: Bench, settings: Settings, progress: Progress, start: float, label: str
    ) -> None:
        self._backend = backend
        self._bench = bench
        self._settings = settings
        self._progress = progress
        self._start = start
        self._label = label
        self.compilations: dict[Compilation, None] = {}

    def _elapsed(self) -> float:
        return self._backend.now() - self._start

    def _report(self) -> None:
        self._progress.advance(self._label, min(1.0, self._elapsed() / self._settings.budget_s))

    def chosen(self, points: Sequence[Point], coarse: int) -> list[Point]:
        """Pilot every *coarse*-th point and the last, then those between which the curve bends; return all of them."""
        picked = [*points[:-1:coarse], *points[-1:]]
        self._pilot(picked)
        room = len(picked) if coarse > 1 else 0
        while room and self._elapsed() < _REFINING * self._settings.budget_s:
            times = [point.s_per_work for point in points]
            more = [points[index] for index in between([point.key.x for point in points], times, room)]
            if not more:
                break
            self._pilot(more)
            picked += more
            room -= len(more)
        return sorted(picked, key=lambda point: point.key.x)

    def _pilot(self, points: Sequence[Point]) -> None:
        """Run points, smallest first; decide how many dispatches make a sample of each, or skip it."""
        committed_s, before = 0.0, 0.0
        for point in sorted(points, key=lambda point: (point.key.working_set_bytes, point.key.work)):
            expected_s = 2 * before * point.key.work  # once untimed, once timed
            left_s = _OVERRUN * self._settings.budget_s - self._elapsed() - committed_s
            if before and (1 + FEWEST_ROUNDS) * expected_s > left_s:
                point.skipped = (
                    f"one sample would take about {format_time(expected_s)}: too long for what is left "
                    f"of the sweep's {self._settings.budget_s:.3g} s"
                )
                continue
            try:
                before = point.s_per_work = self._size_sample(point) / point.key.work
            except DeviceError as error:
                point.skipped = str(error)
            committed_s += FEWEST_ROUNDS * point.cost_s
            self._report()

    def _size_sample(self, point: Point) -> float:
        """Set the point's dispatches and cost; return the time of one dispatch."""
        tick_s = self._backend.device.timer_resolution_s
        length_s = sampling.sample_length_s(tick_s, self._backend.launch_cost_s)
        turn = self._bench.turn(point)
        seconds, point.cost_s = self._timed(point, 1)
        self.compilations |= dict.fromkeys(self._bench.compilations(point))  # PoCL's code exists after a launch
        if seconds >= _LONG_S and point.cost_s < (2 + turn) * seconds:
            return seconds
        # The first run may have built the kernel; from the second on the wall time is that of a sample.
        row = sampling.dispatches(length_s, seconds, turn)
        seconds, point.cost_s = min((self._timed(point, row) for _ in range(2)), key=lambda timed: timed[1])
        point.dispatches = sampling.dispatches(length_s, seconds, turn)
        return seconds

    def _timed(self, point: Point, row: int) -> tuple[float, float]:
        """Return seconds of one dispatch, and the wall time that finding out took."""
        began = self._backend.now()
        seconds = self._bench.run(point, row)
        if seconds < 0 or (seconds == 0 and row > 1):
            raise LaunchError("the device's timer did not advance while the kernels ran")
        return seconds, self._backend.now() - began

    def settle(self, points: Sequence[Point]) -> None:
        """Run the costliest point until its time no longer changes: clocks have then risen."""
        if not points:
            return
        point = max(points, key=lambda point: point.cost_s)
        until = self._backend.now() + min(_SETTLING_S, 0.1 * self._settings.budget_s)
        before, now = 0.0, self._try(point)
        while now and abs(now - before) > _SETTLED * now and self._backend.now() < until:
            before, now = now, self._try(point)

    def traces(self, points: Sequence[Point], frames: int) -> None:
        """Take successive dispatches of each point, as they come."""
        for point in points:
            if self._time_is_up(FEWEST_ROUNDS):
                point.skipped = f"no time was left of the sweep's {self._settings.budget_s:.3g} s"
                continue
            begun = self._elapsed()
            try:
                trace = self._bench.trace(point, frames)
            except DeviceError as error:
                point.skipped = str(error)
                continue
            point.dispatches = 1
            point.samples_s = [seconds for _, seconds in trace]
            point.taken_at_s = [begun + at for at, _ in trace]
            self._report()

    def rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Take samples, each round in a new random order, until intervals are narrow or the time is up."""
        active = [point for point in points if not point.skipped]
        for done in range(self._settings.max_rounds):
            for index in rng.permutation(len(active)):
                if self._time_is_up(done):
                    return
                self._sample(active[index])
                self._report()
            enough = done + 1 >= self._settings.min_rounds
            active = [p for p in active if not (p.skipped or (enough and sampling.is_narrow(p.samples_s)))]

    def _time_is_up(self, rounds_done: int) -> bool:
        allowed = 1.0 if rounds_done >= FEWEST_ROUNDS else _OVERRUN
        return self._elapsed() > allowed * self._settings.budget_s

    def _sample(self, point: Point) -> None:
        taken_at = self._elapsed()
        seconds = self._try(point)
        if seconds:
            point.samples_s.append(seconds)
            point.taken_at_s.append(taken_at)

    def _try(self, point: Point) -> float:
        """Return seconds of one dispatch; 0 if the device refuses, which skips the point."""
        try:
            return self._timed(point, point.dispatches)[0]
        except DeviceError as error:
            point.skipped = str(error)
            return 0.0


def _verified(
    backend: Backend, workload: Workload, features: Features, rng: np.random.Generator
) -> tuple[str | None, Verification | None]:
    """Return why the workload must not be timed, and what its verification said."""
    try:
        verification = verify(backend, workload, features, rng)
    except DeviceError as error:
        return str(error), None
    return (None if verification.passed else f"wrong results: {verification.message}"), verification


def _blank(workload: Workload, sweep: Sweep) -> Measurement:
    key = SweepKey(workload=workload.family, variant=workload.variant, sweep=sweep.name)
    return Measurement(key=key, metric=workload.metric, axis=sweep.axis)


def _rng(settings: Settings, name: str) -> np.random.Generator:
    """Return a generator of its own for each sweep, so that none depends on which others run."""
    return np.random.default_rng([settings.seed, zlib.crc32(name.encode())])
