"""The passes over points: pilot runs choose them and size their samples, rounds in random order then take these."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure import sampling
from gpureport.measure.backend import Backend, LaunchError
from gpureport.measure.bench import Bench, Point
from gpureport.measure.limits import Settings
from gpureport.measure.refinement import between
from gpureport.units import format_time

if TYPE_CHECKING:
    from gpureport.records import Compilation

FEWEST_ROUNDS = 3
"""Samples that every point gets; a point for which the time budget does not allow them is skipped."""

_LONG_S = 5e-3  # a dispatch of that length needs no second look to size its samples
_SETTLED = 0.02
_SETTLING_S = 0.5
_REFINING = 0.4  # share of the budget that choosing points beyond the coarse ones may take
_LONGEST_REST_S = 1.0
_RESTING = 0.25  # share of a trace's time that is kept for the rest before it
_OVERRUN = 2.0  # times the budget at which even the fewest rounds are cut short


class Progress(Protocol):
    """Hears how far a sweep is."""

    def advance(self, label: str, done: float) -> None:
        """Say what was just done, and which part of the sweep, 0…1, is done at least."""
        ...


class Rounds:
    """The passes over points that share a time budget: of one sweep, or of several workloads that are compared."""

    def __init__(self, backend: Backend, bench: Bench, settings: Settings, progress: Progress, label: str) -> None:
        """Start the clock.

        Args:
            backend: the open device.
            bench: that runs the points.
            settings: bounds all passes together.
            progress: hears of every sample.
            label: says what they are of.
        """
        self._backend = backend
        self._bench = bench
        self._settings = settings
        self._progress = progress
        self._label = label
        self._start = backend.now()
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
        # The coarse points may have taken long to fill: those between which the curve bends are worth their time still.
        until = min(self._settings.budget_s, self._elapsed() + _REFINING * self._settings.budget_s)
        while room and self._elapsed() < until:
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
        committed_s, known = 0.0, dict.fromkeys((point.workload for point in points), 0.0)
        for point in sorted(points, key=lambda point: (point.key.working_set_bytes, point.key.work)):
            expected_s = 2 * known[point.workload] * point.key.work  # once untimed, once timed
            left_s = _OVERRUN * self._settings.budget_s - self._elapsed() - committed_s
            if expected_s and (1 + FEWEST_ROUNDS) * expected_s > left_s:
                point.skipped = (
                    f"one sample would take about {format_time(expected_s)}: too long for what is left "
                    f"of the sweep's {self._settings.budget_s:.3g} s"
                )
                continue
            try:
                point.s_per_work = known[point.workload] = self._size_sample(point) / point.key.work
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
        """Take successive dispatches of each point, as they come, from a device that has rested before the first.

        Frames come before rest where the time is short; where it is too short for all of them, fewer are kept.
        """
        for place, point in enumerate(points):
            if self._time_is_up(0):
                point.skipped = f"no time was left of the sweep's {self._settings.budget_s:.3g} s"
                continue
            try:
                self._trace(point, frames, len(points) - place)
            except DeviceError as error:
                point.skipped = str(error)
            self._report()

    def _trace(self, point: Point, frames: int, points_left: int) -> None:
        seconds, point.cost_s = self._timed(point, 1)  # builds and fills, and tells what a frame takes
        self.compilations |= dict.fromkeys(self._bench.compilations(point))
        share_s = (_OVERRUN * self._settings.budget_s - self._elapsed()) / points_left
        kept = min(frames, max(FEWEST_ROUNDS, int((1 - _RESTING) * share_s / max(seconds, 1e-9))))
        self._backend.rest(max(0.0, min(_LONGEST_REST_S, share_s - kept * seconds)))
        begun = self._elapsed()
        trace = self._bench.trace(point, kept)
        point.samples_s = [seconds for _, seconds in trace]
        point.taken_at_s = [begun + at for at, _ in trace]
        if kept < frames:
            point.skipped = f"{kept} of {frames} frames were kept: no time was left for more"

    def rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Take samples, each round in a new random order, until intervals are narrow or the time is up.

        A point for which no time was left says so.
        """
        self._take_rounds(points, rng)
        for point in points:
            if not (point.samples_s or point.skipped):
                point.skipped = f"no time was left of the sweep's {self._settings.budget_s:.3g} s"

    def _take_rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
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
