"""The passes over points: pilot runs choose them and size their samples, rounds in random order then take these."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure import sampling
from gpureport.measure.backends.protocol import Backend, LaunchError
from gpureport.measure.bench import Bench, Point
from gpureport.measure.limits import SweepSettings
from gpureport.measure.refinement import between
from gpureport.observe.disturbance import Spans, overlapping, undisturbed
from gpureport.observe.statistics import drifts
from gpureport.units import format_time

if TYPE_CHECKING:
    from gpureport.records.measurement import Compilation

FEWEST_ROUNDS = 3
"""Samples that every point gets within twice the time budget; one it gets in any case."""

_LONG_S = 5e-3  # a dispatch of that length needs no second look to size its samples
_SETTLED = 0.02
_SETTLING_S = 0.5
_REFINING = 0.4  # share of the budget that choosing points beyond the coarse ones may take
_LONGEST_REST_S = 0.2  # clocks that fall later do so after many seconds
_RESTING = 0.25  # share of a trace's time that is kept for the rest before it
_OVERRUN = 2.0  # times the budget at which even the fewest rounds are cut short; not the first
_SLOWEST_SET_UP_S = 5.0  # of a point that is built and filled
_AGAIN = 0.5  # times the budget, for points that are measured once more
_SIMILAR = 4.0  # times the work of another point
_FEWEST_SIMILAR = 2
_UNEXPECTED = 10.0  # times what is expected, and
_UNEXPECTED_S = 1.0  # seconds more: what takes longer is no computing


class Progress(Protocol):
    """Hears how far a sweep is."""

    def advance(self, label: str, done: float) -> None:
        """Say what was just done, and which part of the sweep, 0…1, is done at least."""
        ...


class Rounds:
    """The passes over points that share a time budget: of one sweep, or of several workloads that are compared."""

    def __init__(
        self,
        backend: Backend,
        bench: Bench,
        settings: SweepSettings,
        progress: Progress,
        label: str,
        spans: Spans = undisturbed,
    ) -> None:
        """Start the clock.

        Args:
            backend: the open device.
            bench: that runs the points.
            settings: bounds all passes together.
            progress: hears of every sample.
            label: says what they are of.
            spans: tells when other load disturbed the device.
        """
        self._backend = backend
        self._bench = bench
        self._settings = settings
        self._progress = progress
        self._label = label
        self._spans = spans
        self._allowed_s = settings.budget_s
        self._start = backend.now()
        self._ratios: list[tuple[float, float]] = []  # work of a point, and its time as a multiple of the predicted one
        self.compilations: dict[Compilation, None] = {}
        self.gap_s = 0.0
        """Seconds in which the process did not run, as when it is suspended: no part of the budget."""
        progress.advance(label, 0.0)

    def _elapsed(self) -> float:
        return self._backend.now() - self._start - self.gap_s

    def _report(self) -> None:
        self._progress.advance(self._label, min(1.0, self._elapsed() / self._settings.budget_s))

    def chosen(self, points: Sequence[Point], coarse: int, rng: np.random.Generator) -> list[Point]:
        """Pilot every *coarse*-th point and the last, then those between which the curve bends; return all of them."""
        picked = [*points[:-1:coarse], *points[-1:]]
        self._pilot(picked, rng)
        room = len(picked) if coarse > 1 else 0
        # The coarse points may have taken long to fill: those between which the curve bends are worth their time still.
        until = self._elapsed() + _REFINING * self._settings.budget_s
        while room and self._elapsed() < until:
            times = [point.s_per_work for point in points]
            bends = between([point.key.x for point in points], times, room)
            more = [points[index] for index in bends if self._costs_s(points[index]) < until - self._elapsed()]
            if not more:
                break
            self._pilot(more, rng)
            picked += more
            room -= len(more)
        return sorted(picked, key=lambda point: point.key.x)

    def _pilot(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Run points in random order; decide how many dispatches make a sample of each.

        Every point is run, however long the others took: a search that ends early is no search. Only one that would
        take longer than any may is left out, and says so.
        """
        order = [points[index] for index in rng.permutation(len(points))]
        left_out = [point for point in order if not self._piloted(point)]
        for point in left_out:  # expected to take less by now, if points like it did
            self._piloted(point)

    def _piloted(self, point: Point) -> bool:
        """Run a point for the first time; ``False`` if that should take too long."""
        expected_s, most_s = self._costs_s(point), self._settings.longest_point_s
        point.late = expected_s > most_s
        point.skipped = _too_long(expected_s, most_s) if point.late else None
        if point.late:
            return False
        try:
            with self._charging(_SLOWEST_SET_UP_S + _UNEXPECTED * expected_s):
                seconds = self._size_sample(point)
            point.s_per_work = seconds / point.key.work
            if point.expected_s:
                self._ratios.append((point.key.work, seconds / point.expected_s))
        except DeviceError as error:
            point.refuse(error)
        self._report()
        return True

    def _costs_s(self, point: Point) -> float:
        """Return the seconds that a sample should take: one dispatch untimed, one timed.

        That is as predicted; where several points of similar work have run, by as much longer or shorter as the one
        of them that took least against its prediction: some are slow for reasons of their own.
        """
        expected_s = point.expected_s or 0.0
        similar = [ratio for work, ratio in self._ratios if 1 / _SIMILAR <= work / point.key.work <= _SIMILAR]
        return 2 * expected_s * (min(similar) if len(similar) >= _FEWEST_SIMILAR else 1.0)

    @contextmanager
    def _charging(self, most_s: float) -> Iterator[None]:
        """Charge what is done inside to the budget, but at most *most_s*: beyond that the process did not run."""
        began = self._backend.now()
        try:
            yield
        finally:
            self.gap_s += max(0.0, self._backend.now() - began - most_s)

    def _size_sample(self, point: Point) -> float:
        """Set the point's dispatches and cost; return the time of one dispatch."""
        tick_s = self._backend.device.timer_resolution_s
        length_s = sampling.sample_length_s(tick_s, self._backend.launch_cost_s)
        turn = self._bench.turn(point)
        seconds, point.cost_s = self._timed(point, 1)
        self.compilations |= dict.fromkeys(self._bench.compilations(point))  # PoCL's code exists after a launch
        if point.isolated or (seconds >= _LONG_S and point.cost_s < (2 + turn) * seconds):
            return seconds
        # The first run may have built the kernel; from the second on the wall time is that of a sample.
        row = sampling.dispatches(length_s, seconds, turn)
        seconds, point.cost_s = min((self._timed(point, row) for _ in range(2)), key=lambda timed: timed[1])
        point.dispatches = sampling.dispatches(length_s, seconds, turn)
        return seconds

    def _timed(self, point: Point, row: int) -> tuple[float, float]:
        """Return seconds of one dispatch, and the wall time that finding out took."""
        began = self._backend.now()
        seconds = self._bench.trace(point, 1)[0][1] if point.isolated else self._bench.run(point, row)
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
            try:
                with self._charging(_SLOWEST_SET_UP_S + _UNEXPECTED * frames * self._costs_s(point)):
                    self._trace(point, frames, len(points) - place)
            except DeviceError as error:
                point.refuse(error)
            self._report()

    def _trace(self, point: Point, frames: int, points_left: int) -> None:
        seconds, point.cost_s = self._timed(point, 1)  # builds and fills, and tells what a frame takes
        self.compilations |= dict.fromkeys(self._bench.compilations(point))
        share_s = max(0.0, _OVERRUN * self._settings.budget_s - self._elapsed()) / points_left
        kept = min(frames, max(FEWEST_ROUNDS, int((1 - _RESTING) * share_s / max(seconds, 1e-9))))
        self._backend.rest(max(0.0, min(_LONGEST_REST_S, share_s - kept * seconds)))
        begun = self._backend.now() - self._start
        trace = self._bench.trace(point, kept)
        timed = [(begun + at, seconds) for at, seconds in trace if seconds > 0]  # not below the timer's tick
        point.samples_s, point.taken_at_s = [seconds for _, seconds in timed], [at for at, _ in timed]
        if kept < frames:
            point.skipped = f"{kept} of {frames} frames were kept: no time was left for more"

    def rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Take samples, each round in a new random order, until intervals are narrow or the time is up.

        Every point gets one at least. Points whose times drifted are measured once more.
        """
        self._take_rounds(points, rng)
        disturbed = self._discard_disturbed(points)
        drifting = [point for point in points if drifts(np.array(point.samples_s), np.array(point.taken_at_s))]
        for point in drifting:
            point.drifted += len(point.samples_s)
            point.samples_s, point.taken_at_s = [], []
        again = [point for point in points if point in disturbed or point in drifting]
        self._allowed_s += _AGAIN * self._settings.budget_s if again else 0.0
        self._take_rounds(again, rng)
        for point in points:
            if not (point.samples_s or point.skipped):
                point.skipped = "each of its dispatches was shorter than a tick of the device's timer"

    def _discard_disturbed(self, points: Sequence[Point]) -> list[Point]:
        """Discard samples taken while other load disturbed the device; return the points that lost any."""
        found = self._spans(self._start)
        changed = []
        for point in points if found else ():
            pairs = list(zip(point.samples_s, point.taken_at_s, strict=True))
            began = [self._start + at for _, at in pairs]
            ended = [at + seconds * point.dispatches for (seconds, _), at in zip(pairs, began, strict=True)]
            times = zip(pairs, began, ended, strict=True)
            kept = [pair for pair, begin, end in times if not overlapping(begin, end, found)]
            if len(kept) < len(pairs):
                point.discarded += len(pairs) - len(kept)
                point.samples_s, point.taken_at_s = [s for s, _ in kept], [at for _, at in kept]
                changed.append(point)
        return changed

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
        if not rounds_done:
            return False
        allowed = 1.0 if rounds_done >= FEWEST_ROUNDS else _OVERRUN
        return self._elapsed() > allowed * self._allowed_s

    def _sample(self, point: Point) -> None:
        taken_at = self._backend.now() - self._start
        with self._charging(_UNEXPECTED_S + _UNEXPECTED * point.cost_s):
            seconds = self._try(point)
        if seconds > 0:
            point.samples_s.append(seconds)
            point.taken_at_s.append(taken_at)

    def _try(self, point: Point) -> float:
        """Return seconds of one dispatch; 0 if the device refuses, which skips the point."""
        try:
            return self._timed(point, point.dispatches)[0]
        except DeviceError as error:
            point.refuse(error)
            return 0.0


def _too_long(expected_s: float, most_s: float) -> str:
    return f"one sample should take about {format_time(expected_s)}: longer than the {most_s:.3g} s allowed"
