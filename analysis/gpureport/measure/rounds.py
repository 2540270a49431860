"""The passes over points: pilot runs choose points and sample sizes; rounds in random order take the samples.

At the end: how points are sampled, as functions of numbers.
"""

from collections.abc import Callable, Sequence
from math import ceil

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import Backend
from gpureport.measure.bench import Bench, Point
from gpureport.measure.limits import SweepSettings
from gpureport.observe.disturbance import Spans, overlapping
from gpureport.observe.statistics import drifts, median_interval
from gpureport.records.measurement import Compilation
from gpureport.units import format_number, format_time

FEWEST_ROUNDS = 3
"""Samples that every point gets within twice the time budget; every point gets at least one."""

_FEWEST_POINTS = 16
"""The points of a sweep that is predicted to exceed its time limit are halved while there are more than these."""
_PASSES = 2.5  # times the cost of a sample: a pilot run with two untimed dispatches before it, and a sample
_OVERHEAD_S = 2e-3  # wall time of a first run beside its dispatches, at most
_SETTLED = 0.02
_SETTLING_S = 0.5
_REFINING = 0.4  # share of the budget for points beyond the coarse ones
_OVERRUN = 2.0  # times the budget: then sampling ends, even below the fewest rounds but not within the first
_AGAIN = 0.5  # times the budget, for points that are measured again
_SIMILAR = 4.0  # largest ratio of the work, or of the working sets, of similar points
_FEWEST_SIMILAR = 2
MAX_DISPATCHES = 500
"""Most dispatches in one sample: command queues accept about a thousand."""

_MULTIPLE = 20.0
_SHORTEST_SAMPLE_S = 200e-6
_BEND = 0.04
"""A gap between points is divided if the curve may deviate by more than this (in log) from the straight line across."""


class Rounds:
    """The passes over points that share a time budget: those of one sweep, or of several workloads to compare."""

    def __init__(
        self, backend: Backend, settings: SweepSettings, progress: Callable[[float], None], spans: Spans = lambda _: ()
    ) -> None:
        self._backend = backend
        self._bench = Bench(backend, settings.limits)
        self._settings = settings
        self._progress = progress
        self._spans = spans
        self._allowed_s = settings.budget_s
        self._start = backend.now()
        self._ratios: list[tuple[float, float]] = []  # work of a point, and its measured time / predicted time
        self._set_ups: list[tuple[float, float]] = []  # bytes of a point's working set, and seconds to prepare it
        self.compilations = dict[Compilation, None]()
        progress(0.0)

    def _elapsed(self) -> float:
        return self._backend.now() - self._start

    def _report(self) -> None:
        self._progress(min(1.0, self._elapsed() / self._settings.budget_s))

    def measure(self, points: Sequence[Point], coarse: int, rng: np.random.Generator) -> list[Point]:
        """Choose points, let the clocks rise and take samples; return the points, as :meth:`chosen`."""
        chosen = self.chosen(points, coarse, rng)
        accepted = [point for point in chosen if not point.skipped]
        self.settle(accepted)
        self.rounds(accepted, rng)
        return chosen

    def chosen(self, points: Sequence[Point], coarse: int, rng: np.random.Generator) -> list[Point]:
        """Pilot every *coarse*-th point and the last, then points where the curve bends; return all piloted points.

        Slow sweeps have fewer points. With *coarse* 1 every point is piloted.
        """
        picked = [*points[:-1:coarse], *points[-1:]]
        picked = self._affordable(picked) if coarse > 1 else picked
        self._pilot(picked, rng)
        remaining = len(picked) if coarse > 1 else 0
        # Refining has its own share of the budget, even if initialising the coarse points took long.
        until = self._elapsed() + _REFINING * self._settings.budget_s
        while remaining and self._elapsed() < until:
            times = [point.s_per_work for point in points]
            bends = most_informative([point.key.x for point in points], times, remaining)
            left_s = until - self._elapsed()
            new = [points[index] for index in bends if points[index] not in picked]  # it may have been skipped
            if not (more := [point for point in new if self._with_set_up_s(point) < left_s]):
                break
            self._pilot(more, rng)
            picked += more
            remaining -= len(more)
        return sorted(picked, key=lambda point: point.key.x)

    def _with_set_up_s(self, point: Point) -> float:
        """Return the seconds to prepare (by the lowest time per byte of similar working sets) and to sample a point."""
        nbytes = point.key.working_set_bytes
        similar = [s / size for size, s in self._set_ups if size and nbytes / _SIMILAR <= size <= _SIMILAR * nbytes]
        return self._costs_s(point) + nbytes * min(similar, default=0.0)

    def _affordable(self, points: list[Point]) -> list[Point]:
        """Return every second point, or fewer, if one pilot run and one sample of each would exceed the time limit."""
        while len(points) > _FEWEST_POINTS:
            if _PASSES * sum(self._costs_s(point) for point in points) <= _OVERRUN * self._settings.budget_s:
                break
            points = [*points[:-1:2], points[-1]]
        return points

    def _pilot(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Run points in random order; decide the number of dispatches per sample of each.

        The largest points come first, so that their buffers serve all others. Every point runs, no matter how long the
        others took. Only a point whose sample would exceed the permitted time is skipped, with the reason.
        """
        largest = max((point.key.working_set_bytes for point in points), default=0.0)
        order = [points[index] for index in rng.permutation(len(points))]
        order.sort(key=lambda point: point.key.working_set_bytes < largest)
        skipped = [point for point in order if not self._piloted(point)]
        for point in skipped:  # their expected time is lower if similar points took less than predicted
            self._piloted(point)

    def _piloted(self, point: Point) -> bool:
        """Run a point for the first time; ``False`` if it is expected to take too long."""
        expected_s, most_s = self._costs_s(point), self._settings.longest_s
        point.late, point.skipped = expected_s > most_s, None
        if point.late:
            expected, most = format_time(expected_s), f"{format_number(most_s)} s"
            point.skipped = f"one sample is expected to take about {expected}, more than the limit of {most}"
            return False
        try:
            seconds = self._size_sample(point)
            point.s_per_work = seconds / point.key.work
            if point.expected_s:
                self._ratios.append((point.key.work, seconds / point.expected_s))
        except DeviceError as error:
            point.skip(error)
        self._report()
        return True

    def _costs_s(self, point: Point) -> float:
        """Return the expected seconds of a sample: one dispatch untimed, one timed."""
        return 2 * (point.expected_s or 0.0) * (self._ratio(point) or 1.0)

    def _ratio(self, point: Point) -> float | None:
        """Return the lowest measured / predicted time of similar work, if several points of such work have run.

        Higher ratios may be specific to their points.
        """
        similar = [ratio for work, ratio in self._ratios if 1 / _SIMILAR <= work / point.key.work <= _SIMILAR]
        return min(similar) if len(similar) >= _FEWEST_SIMILAR else None

    def _size_sample(self, point: Point) -> float:
        """Set the point's dispatches and cost, and keep the time to prepare it; return the time of one dispatch."""
        tick_s = self._backend.device.timer_resolution_s
        length_s = sample_length_s(tick_s, self._backend.launch_cost_s)
        began = self._backend.now()
        cycle = self._bench.cycle_length(point)  # which prepares the point
        self._set_ups.append((point.key.working_set_bytes, self._backend.now() - began))
        ratio = self._ratio(point)
        first = dispatches(length_s, point.expected_s * ratio, cycle) if point.expected_s and ratio else 1
        seconds, point.cost_s = self._timed(point, first)
        self.compilations |= dict.fromkeys(self._bench.compilations(point))  # PoCL's code exists after a launch
        if point.isolated:
            return seconds
        usual_s = (cycle + first) * seconds + max(seconds, _OVERHEAD_S)
        if first * seconds < length_s / 2 or point.cost_s >= usual_s:  # it was short, or included a build
            seconds, point.cost_s = self._timed(point, dispatches(length_s, seconds, cycle))
        point.dispatches = dispatches(length_s, seconds, cycle)
        return seconds

    def _timed(self, point: Point, batch: int) -> tuple[float, float]:
        began = self._backend.now()
        seconds = self._bench.run(point, batch)
        if seconds < 0 or (seconds == 0 and batch > 1):
            raise DeviceError("the device's timer did not advance while the kernels ran")
        return seconds, self._backend.now() - began

    def settle(self, points: Sequence[Point]) -> None:
        """Run the most expensive point until its time no longer changes: then the clocks have risen."""
        if not points:
            return
        point = max(points, key=lambda point: point.cost_s)
        until = self._backend.now() + min(_SETTLING_S, 0.1 * self._settings.budget_s)
        before, now = (point.s_per_work or 0.0) * point.key.work, self._try(point)
        while now and abs(now - before) > _SETTLED * now and self._backend.now() < until:
            before, now = now, self._try(point)

    def rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        """Take samples, each round in a new random order, until intervals are narrow or the budget is used up.

        Every point gets at least one sample. Points whose times drifted or were disturbed are measured again.
        """
        self._take_rounds(points, rng)
        disturbed = self._discard_disturbed(points)
        drifting = [point for point in points if drifts(*np.array(point.samples).reshape(-1, 2).T)]
        for point in drifting:
            point.drifted += len(point.samples)
            point.samples = []
        again = [point for point in points if point in disturbed or point in drifting]
        self._allowed_s += _AGAIN * self._settings.budget_s if again else 0.0
        self._take_rounds(again, rng)
        for point in points:
            if not (point.samples or point.skipped):
                point.skipped = "each dispatch was shorter than a tick of the device's timer"

    def _discard_disturbed(self, points: Sequence[Point]) -> list[Point]:
        """Discard samples taken while other load disturbed the device; return the points that lost samples."""
        found = self._spans(self._start)
        changed = []
        for point in points if found else ():
            kept = [
                (seconds, at)
                for seconds, at in point.samples
                if not overlapping(self._start + at, self._start + at + seconds * point.dispatches, found)
            ]
            if len(kept) < len(point.samples):
                point.discarded += len(point.samples) - len(kept)
                point.samples = kept
                changed.append(point)
        return changed

    def _take_rounds(self, points: Sequence[Point], rng: np.random.Generator) -> None:
        active = [point for point in points if not point.skipped]
        for done in range(20 if self._settings.limits.quick else 60):
            for index in rng.permutation(len(active)):
                # Every point gets one sample, and the fewest rounds have more time.
                if done and self._elapsed() > (1.0 if done >= FEWEST_ROUNDS else _OVERRUN) * self._allowed_s:
                    return
                point, taken_at = active[index], self._backend.now() - self._start
                if (seconds := self._try(point)) > 0:
                    point.samples.append((seconds, taken_at))
                self._report()
            enough = done + 1 >= self._settings.min_rounds
            active = [p for p in active if not (p.skipped or (enough and is_narrow(p.samples_s)))]

    def _try(self, point: Point) -> float:
        """Return seconds of one dispatch; 0 after a device error, which skips the point."""
        try:
            return self._timed(point, point.dispatches)[0]
        except DeviceError as error:
            point.skip(error)
            return 0.0


def sample_length_s(tick_s: float, launch_cost_s: float) -> float:
    """Return the shortest duration of a sample: timer tick and launch cost may each be at most 5 % of it."""
    return max(_SHORTEST_SAMPLE_S, _MULTIPLE * max(tick_s, launch_cost_s))


def dispatches(length_s: float, dispatch_s: float, cycle: int) -> int:
    """Return the number of dispatches of a sample: one if that is long enough, otherwise whole cycles.

    Args:
        length_s: shortest duration of a sample.
        dispatch_s: estimated time of one dispatch; 0 if it was below the timer's tick.
        cycle: number of dispatches in the job's cycle (2 for ping-pong).
    """
    if dispatch_s >= length_s:
        return 1
    most = max(1, MAX_DISPATCHES // cycle)
    cycle_s = max(dispatch_s * cycle, length_s / most)
    return min(ceil(length_s / cycle_s), most) * cycle


def is_narrow(samples: Sequence[float]) -> bool:
    """Return whether the median's confidence interval is within ± 1 % of the median; ``False`` without samples."""
    found = median_interval(np.array(samples)) if samples else None
    return bool(found and found.low and found.high and (found.high - found.low) / 2 <= 0.01 * found.value)


def most_informative(positions: Sequence[float], times: Sequence[float | None], most: int) -> list[int]:
    """Return the indices of the points to measure next, the most informative first.

    The deviation from the line across a gap is estimated from the difference between its slope and the slopes of the
    neighbouring gaps.

    Args:
        positions: of all points of the sweep on its axis, ascending, shape (n,).
        times: seconds per unit of work, ``None`` for points that were not measured, shape (n,).
        most: largest number of indices.
    """
    known = [index for index, time in enumerate(times) if time is not None]
    widths = np.diff(np.log([positions[index] for index in known]))
    steps = np.diff(np.log([time for time in times if time is not None]))
    changes = np.pad(np.abs(np.diff(steps / widths)), 1)  # of the slope, at both ends of each gap
    deviations = np.maximum(changes[:-1], changes[1:]) * widths / 2
    # A jump also changes the slope difference of its neighbours: the gap with the jump comes first.
    scores = deviations + np.abs(steps) / 4
    order = np.argsort(-scores, kind="stable").tolist()
    bent = [gap for gap in order if known[gap + 1] - known[gap] > 1 and deviations[gap] > _BEND]
    return [(known[gap] + known[gap + 1]) // 2 for gap in bent[:most]]
