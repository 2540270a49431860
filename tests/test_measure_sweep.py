"""Sweeps on a device whose clock is exact."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import BufferId
from gpureport.measure.bench import Point
from gpureport.measure.limits import SweepSettings
from gpureport.measure.rounds import FEWEST_ROUNDS, Rounds
from gpureport.measure.sweep import Task, measure_sweep, measure_workload
from gpureport.observe import observe
from gpureport.observe.disturbance import Cause, Span, Spans
from gpureport.observe.statistics import drifts
from gpureport.records.measurement import Measurement
from gpureport.workloads.model import Buffer, Dispatch, Job, Limits, Parameters, Sweep
from tests.fake_backend import LIMITS, CopyWorkload, FakeBackend, Steps

SIZES = (100, 1000, 10_000, 60_000)
FINE = sorted({round(2 ** (7 + step / 8)) for step in range(73)})  # 128 to 65 536 words


def measure(
    backend: FakeBackend,
    workload: CopyWorkload | None = None,
    sweep: Sweep | None = None,
    settings: SweepSettings | None = None,
    progress: Steps | None = None,
    seed: int = 1,
    expected: Mapping[tuple[str, str], float] | None = None,
    spans: Spans = lambda _: (),
) -> Measurement:
    workload = workload or CopyWorkload()
    sweep = sweep or workload.sweep(*SIZES)
    task = Task(workload, (sweep,), settings or SweepSettings(LIMITS), expected or {})
    return measure_sweep(backend, task, sweep, np.random.default_rng(seed), progress or Steps(), spans)


def disturbed(begin_s: float, end_s: float) -> Spans:
    return lambda _: (Span(begin_s, end_s, frozenset({Cause.PROCESSES})),)


def noisy(seed: int = 0) -> FakeBackend:
    rng = np.random.default_rng(seed)
    return FakeBackend(jitter=lambda: rng.uniform(1.0, 1.5))


def jumping(s_per_item: float) -> FakeBackend:
    return FakeBackend(seconds=lambda items, _: s_per_item * items * (4 if items > 5000 else 1))


def rounds_on(backend: FakeBackend, settings: SweepSettings | None = None) -> Rounds:
    settings = settings or SweepSettings(LIMITS, budget_s=100.0)
    return Rounds(backend, settings, [].append)


def point_of(items: int, expected_s: float | None = None, workload: CopyWorkload | None = None) -> Point:
    workload = workload or CopyWorkload()
    return Point(workload, workload.point({"items": items}, workload.sweep(items)), 0, expected_s=expected_s)


def test_times_are_those_of_the_device() -> None:
    backend = FakeBackend()
    measured = measure(backend)
    assert measured.skipped is None
    assert backend.buffers == {}
    for point, items in zip(measured.points, SIZES, strict=True):
        assert point.samples_s == pytest.approx([1e-9 * items] * len(point.samples_s))


def test_the_largest_point_runs_first_so_that_buffers_do_not_grow() -> None:
    backend = FakeBackend()
    measure(backend)
    assert backend.allocated == [4 * SIZES[-1]] * 2


def test_short_dispatches_are_batched_until_a_sample_lasts_long_enough() -> None:
    points = measure(FakeBackend(), sweep=CopyWorkload().sweep(1100, 51_000, 110_000)).points
    # 200 us at least; 182 dispatches of 1.1 us, 4 of 51 us, 2 of 110 us
    assert [p.dispatches_per_sample for p in points] == [182, 4, 2]
    slow = measure(FakeBackend(seconds=lambda items, _: 1.1e-6 * items), sweep=CopyWorkload().sweep(100, 200)).points
    assert [(p.dispatches_per_sample, p.method) for p in slow] == [(2, "batch"), (1, "event")]


def test_batches_are_whole_cycles() -> None:
    points = measure(FakeBackend(), CopyWorkload(turns=2), CopyWorkload(turns=2).sweep(70_000)).points
    assert points[0].dispatches_per_sample == 4  # 3 would be enough


def test_a_steady_point_stops_after_the_fewest_samples_and_a_noisy_one_continues() -> None:
    assert {len(p.samples_s) for p in measure(FakeBackend()).points} == {6}
    quick = SweepSettings(Limits(2**20, 2**19, 256, quick=True))
    assert {len(p.samples_s) for p in measure(FakeBackend(), settings=quick).points} == {5}
    assert {len(p.samples_s) for p in measure(noisy()).points} == {60}


def test_each_round_visits_every_point_in_a_new_order_of_the_seed() -> None:
    backend = noisy()
    measured = measure(backend)
    visits = [items for items, _ in backend.log]
    rounds = [visits[i : i + 4] for i in range(len(visits) - 240, len(visits), 4)]  # 60 rounds, after the pilot
    assert all(sorted(visited) == list(SIZES) for visited in rounds)
    assert len({tuple(visited) for visited in rounds}) > 12  # of 24 orders
    for point in measured.points:
        assert len(point.taken_at_s) == len(point.samples_s)
        assert list(point.taken_at_s) == sorted(point.taken_at_s)
    other, same = noisy(), noisy()
    measure(other, seed=2)
    measure(same)
    assert backend.log == same.log != other.log


def test_drift_does_not_look_like_shape() -> None:
    drifting = FakeBackend(seconds=lambda items, now: 1e-9 * items * (1 + 20 * now))
    points = measure(drifting).points
    rates = [np.median(p.samples_s) / p.point.work_items for p in points]
    assert max(rates) / min(rates) < 1.1
    assert max(points[0].samples_s) / min(points[0].samples_s) > 1.5


def test_the_budget_ends_the_sampling_but_every_point_gets_the_fewest_samples() -> None:
    rng = np.random.default_rng(5)
    backend = FakeBackend(seconds=lambda items, _: 1e-7 * items * rng.uniform(1, 2))
    measured = measure(backend, settings=SweepSettings(LIMITS, budget_s=0.3))
    assert all(FEWEST_ROUNDS <= len(p.samples_s) < 60 for p in measured.points)
    assert measured.duration_s == backend.clock_s < 0.45


def test_a_coarse_sweep_is_refined_where_the_time_jumps() -> None:
    sweep = replace(CopyWorkload().sweep(*FINE), coarse=8)
    measured = [point.point.work_items for point in measure(jumping(1e-9), sweep=sweep).points]
    assert measured == sorted(measured)
    assert {*FINE[::8], FINE[-1]} <= set(measured)
    assert len(measured) <= 2 * len(FINE[::8]) + 2
    last_below, first_above = max(n for n in measured if n <= 5000), min(n for n in measured if n > 5000)
    assert first_above / last_below < 1.1  # neighbours of the fine grid
    straight = measure(FakeBackend(), sweep=sweep).points
    assert [point.point.work_items for point in straight] == [*FINE[::8]]


@pytest.mark.parametrize(("coarse", "points"), [(2, 16), (1, 61)])
def test_a_slow_sweep_has_fewer_points_unless_each_was_asked_for(coarse: int, points: int) -> None:
    """Half of 31 dispatches of 0.2 s fit into twice the limit of ten seconds; both ends stay."""
    sweep = replace(CopyWorkload().sweep(*range(1000, 62_000, 1000)), coarse=coarse)
    expected = {(sweep.name, CopyWorkload().point(each, sweep).label): 0.2 for each in sweep.points}
    measured = measure(FakeBackend(seconds=lambda *_: 0.2), sweep=sweep, expected=expected).points
    assert len(measured) == points
    assert {measured[0].point.work_items, measured[-1].point.work_items} == {1000, 61_000}


def test_coarse_points_that_take_half_the_budget_are_still_refined() -> None:
    sweep = replace(CopyWorkload().sweep(*FINE), coarse=8)
    once_s = 1e-6 * sum(4 * n if n > 5000 else n for n in FINE[::8])
    found = measure(jumping(1e-6), sweep=sweep, settings=SweepSettings(LIMITS, budget_s=2 * once_s))
    assert len(found.points) > len(FINE[::8])


class Separate(CopyWorkload):
    """Every point has its own buffers."""

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        job, items = super().job(parameters, rng), parameters["items"]
        pairs = tuple(replace(each, arguments=(f"from{items}", f"to{items}")) for each in job.dispatches)
        return replace(
            job, buffers={f"{name}{items}": buffer for name, buffer in job.buffers.items()}, dispatches=pairs
        )


class Filling(FakeBackend):
    """Needs a microsecond to initialise a byte."""

    def allocate(self, buffer: Buffer) -> BufferId:
        self.clock_s += 1e-6 * buffer.nbytes
        return super().allocate(buffer)


@pytest.mark.parametrize(("budget_s", "fine"), [(0.05, False), (100.0, True)])
def test_a_sweep_is_refined_only_if_its_buffers_can_be_initialised_in_time(budget_s: float, fine: bool) -> None:
    """Points at the jump take 0.04 s to prepare, and 40 % of the budget are for refining."""
    workload = Separate()
    sweep = replace(workload.sweep(*FINE), coarse=8)
    backend = Filling(seconds=lambda items, _: 1e-9 * items * (4 if items > 5000 else 1))
    found = measure(backend, workload, sweep, SweepSettings(LIMITS, budget_s=budget_s)).points
    measured = [point.point.work_items for point in found]
    assert {*FINE[::8], FINE[-1]} <= set(measured)
    assert any(4096 < items < 8192 for items in measured) is fine


class Prepared(CopyWorkload):
    """Copies 61 words before each copy."""

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        job = super().job(parameters, rng)
        return replace(job, before=(Dispatch("copy", (61,), (1,), ("from", "to")),))


def test_the_dispatches_before_a_job_run_untimed_before_each_sample() -> None:
    ran: list[int] = []
    backend = FakeBackend(seconds=lambda items, _: ran.append(items) or 1e-6 * items)  # type: ignore[func-returns-value]
    (point,) = measure(backend, Prepared(), CopyWorkload().sweep(30_000)).points
    assert ran == [61, 30_000, 30_000] * (len(ran) // 3)  # before, warm-up, sample
    assert point.samples_s == pytest.approx([0.03] * len(point.samples_s))


def test_samples_before_an_error_are_kept() -> None:
    backend = FakeBackend()

    def fails_late(items: int, now: float) -> float:
        if items == 10_000 and now > 0.005:
            raise DeviceError("the device is gone")
        return 1e-9 * items

    backend.seconds = fails_late
    point = measure(backend).points[2]
    assert point.skipped == "the device is gone"
    assert 0 < len(point.samples_s) < 7


def test_every_point_has_a_sample_however_slow_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of fifty work-group sizes are a hundred times slower, as predicted or not: none is skipped."""
    monkeypatch.setattr(SweepSettings, "longest_s", 20.0)
    sizes = tuple(range(50, 100))
    sweep = Sweep("group", CopyWorkload.axis, tuple({"items": n, "local": n} for n in sizes), "group")
    for factor in (1.0, 100.0):
        backend = FakeBackend(seconds=lambda items, _: 0.05 if items < 75 else 5e-4)
        predicted = {("group", str(n)): factor * backend.seconds(n, 0.0) for n in sizes if factor == 1.0 or n % 2}
        settings = SweepSettings(LIMITS, budget_s=0.5)
        measured = measure(backend, sweep=sweep, settings=settings, expected=predicted)
        assert [len(p.samples_s) >= 1 for p in measured.points] == [True] * 50
        assert measured.missing_share == 0.0
        piloted = list(dict.fromkeys(items for items, _ in backend.log))
        assert sorted(piloted) == list(sizes) != piloted  # in random order


def test_a_point_that_is_expected_to_take_too_long_is_late_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SweepSettings, "longest_s", 0.1)
    backend = FakeBackend()
    measured = measure(backend, expected={("size", "60000"): 0.06, ("size", "10000"): 0.04})
    assert [p.late for p in measured.points] == [False, False, False, True]
    assert re.search(r"120 ms.*limit of 0\.1 s", str(measured.points[3].skipped))
    assert measured.missing_share == 0.25
    assert measured.skipped is None
    assert 60_000 not in {items for items, _ in backend.log}
    observed = observe(measured)
    assert observed is not None
    assert observed.warnings[0] == "Incomplete: 25 % of the points have no samples (60000)."


def test_a_skipped_point_in_a_bent_gap_is_chosen_once() -> None:
    """Otherwise the report, which has each point once, could not be read."""
    backend, refused = FakeBackend(), FINE[40]

    def seconds(items: int, _: float) -> float:
        if items == refused:
            raise DeviceError("it is refused")
        return 1e-8 * items * (4 if items > refused else 1)

    backend.seconds = seconds
    measured = measure(backend, sweep=replace(CopyWorkload().sweep(*FINE), coarse=8))
    labels = [point.point.label for point in measured.points]
    assert labels.count(str(refused)) == 1
    assert len(labels) == len(set(labels)) > len(FINE) / 8 + 1


def test_points_that_are_measured_again_get_half_the_budget_more() -> None:
    """The first samples take the budget and are all disturbed; half as many replace them."""
    rng = np.random.default_rng(5)
    backend = FakeBackend(seconds=lambda items, _: 1e-6 * items, jitter=lambda: rng.choice([1.0, 1.5]))
    sweep, settings = CopyWorkload().sweep(60_000), SweepSettings(LIMITS, budget_s=2.0)
    (point,) = measure(backend, sweep=sweep, settings=settings, spans=disturbed(0.0, 2.0)).points
    assert point.discarded > 8
    assert len(point.samples_s) == pytest.approx(point.discarded / 2, abs=2)


def test_a_point_that_drifts_is_measured_again() -> None:
    rng = np.random.default_rng(3)
    backend = FakeBackend(seconds=lambda items, now: 1e-9 * items * rng.uniform(1, 1.2) * (1.5 if now < 0.01 else 1))
    measured = measure(backend, sweep=CopyWorkload().sweep(50_000))
    (point,) = measured.points
    assert np.max(point.samples_s) < 1.3e-9 * 50_000
    assert point.drifted > 10
    assert not drifts(np.array(point.samples_s), np.array(point.taken_at_s))


def test_disturbed_samples_are_discarded_and_taken_again() -> None:
    """Another process slows the device for a while; of a device that stays disturbed the second samples are kept."""
    for end_s, most in ((0.006, 1.1), (9.0, 3.0)):
        backend = FakeBackend()
        backend.seconds = lambda items, now, end=end_s: 1e-9 * items * (2 if 0.004 < now < end else 1)  # type: ignore[misc]
        spans = disturbed(0.004, end_s)
        measured = measure(backend, spans=spans)
        assert sum(point.discarded for point in measured.points) > 0
        for point in measured.points:
            assert len(point.samples_s) >= 3
            assert max(point.samples_s) < most * 1e-9 * point.point.work_items


def test_a_sample_is_disturbed_until_its_last_dispatch_ends() -> None:
    """It lasts 182 dispatches of 1.1 us; the disturbance begins at three quarters of it."""
    sweep = CopyWorkload().sweep(1100)
    (point,) = measure(FakeBackend(), sweep=sweep).points
    assert point.dispatches_per_sample == 182
    middle = point.taken_at_s[2] + 150e-6
    spans = disturbed(middle, middle + 1e-6)
    (point,) = measure(FakeBackend(), sweep=sweep, spans=spans).points
    assert point.discarded == 1


def test_points_that_lost_no_sample_are_not_measured_again() -> None:
    clean = measure(FakeBackend())
    middle = clean.points[3].taken_at_s[2] + 1e-6
    spans = disturbed(middle, middle + 1e-6)
    points = measure(FakeBackend(), spans=spans).points
    assert [point.discarded for point in points] == [0, 0, 0, 1]
    assert [len(point.samples_s) for point in points[:3]] == [6] * 3
    assert len(points[3].samples_s) > 6


@pytest.mark.parametrize(("budget_s", "settling_s"), [(100.0, 0.5), (2.0, 0.2)])
def test_settling_takes_at_most_half_a_second_or_a_tenth_of_the_budget(budget_s: float, settling_s: float) -> None:
    """Each dispatch takes 3 % longer than the one before: the times never settle."""
    times = (1e-3 * 1.03**n for n in range(1000))
    backend = FakeBackend(seconds=lambda *_: next(times))
    point = point_of(100)
    point.dispatches = 1
    rounds_on(backend, SweepSettings(LIMITS, budget_s=budget_s)).settle([point])
    assert settling_s <= backend.clock_s < 1.1 * settling_s


def test_a_point_is_skipped_if_all_its_dispatches_are_shorter_than_the_timers_tick() -> None:
    """A few such dispatches are ignored; a batch of them would show a timer that does not advance."""
    times = iter([0.0, 0.0, *[1e-6] * 40])
    sweep = replace(CopyWorkload().sweep(100), isolated=True)
    (point,) = measure(FakeBackend(seconds=lambda *_: next(times)), sweep=sweep).points
    assert point.skipped is None
    assert point.samples_s == pytest.approx([1e-6] * len(point.samples_s))
    measured = measure(FakeBackend(seconds=lambda *_: 0.0), sweep=sweep)
    assert "shorter than a tick" in str(measured.skipped)
    assert not measured.failed


def test_isolated_dispatches_are_taken_in_rounds_one_by_one() -> None:
    backend = noisy()
    sweep = replace(CopyWorkload().sweep(100, 1000), isolated=True)
    measured = measure(backend, sweep=sweep)
    assert [(p.dispatches_per_sample, p.method) for p in measured.points] == [(1, "event")] * 2
    first, second = (point.taken_at_s for point in measured.points)
    assert min(second) < max(first)
    assert min(first) < max(second)


def test_points_that_need_too_much_memory_are_skipped() -> None:
    tight = SweepSettings(Limits(max_bytes=300_000, max_buffer_bytes=2**19, max_work_group=256))
    skipped = measure(FakeBackend(), settings=tight).points[3].skipped
    assert re.search("469 KiB of memory.* 293 KiB", str(skipped))
    narrow = SweepSettings(Limits(max_bytes=2**20, max_buffer_bytes=200_000, max_work_group=256))
    skipped = measure(FakeBackend(), settings=narrow).points[3].skipped
    assert re.search("a buffer of 234 KiB.* 195 KiB", str(skipped))


def test_a_failed_allocation_or_launch_skips_its_point_only() -> None:
    measured = measure(FakeBackend(refused_items=1000))
    assert [p.skipped for p in measured.points] == [None, "copy failed: OUT_OF_RESOURCES", None, None]
    measured = measure(FakeBackend(memory_bytes=300_000))
    assert [p.skipped for p in measured.points[:3]] == [None] * 3
    assert measured.points[3].skipped == "no room for a buffer of 240000 bytes: OUT_OF_RESOURCES"
    assert measured.points[3].samples_s == ()


def test_a_failed_build_skips_the_points_with_its_options() -> None:
    sweep = Sweep("group", CopyWorkload.axis, ({"items": 512, "local": 8}, {"items": 512, "local": 16}), "group")
    measured = measure(FakeBackend(refused_options="-DLOCAL=16"), sweep=sweep)
    assert measured.skipped is None
    assert measured.points[1].skipped == ("copy.cl does not build: use of undeclared identifier 'x'")
    assert [c.options for c in measured.compilation] == ["-DLOCAL=8"]


def test_points_that_the_device_cannot_measure_are_recorded_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {300: "its compiler removes all of its work"}
    monkeypatch.setattr(CopyWorkload, "unsupported", lambda _, parameters, __: reasons.get(parameters["items"]))
    backend = FakeBackend()
    measured = measure(backend, sweep=CopyWorkload().sweep(100, 200, 300))
    assert [(p.point.label, p.skipped) for p in measured.points] == [
        ("100", None),
        ("200", None),
        ("300", "its compiler removes all of its work"),
    ]
    assert measured.points[2].samples_s == ()
    assert 300 not in {items for items, _ in backend.log}


def test_a_sweep_without_points_or_an_advancing_timer_is_skipped() -> None:
    measured = measure(FakeBackend(seconds=lambda *_: 0.0))
    assert "timer did not advance" in str(measured.skipped)
    assert "no points" in str(measure(FakeBackend(), sweep=CopyWorkload().sweep()).skipped)


def test_every_ping_pong_sample_follows_a_warm_up_and_the_first_one_a_whole_cycle() -> None:
    backend = FakeBackend(seconds=lambda *_: 1e-3)
    workload = CopyWorkload(turns=2)
    (point,) = measure(backend, workload, workload.sweep(61)).points
    timed = len(backend.log)
    # the first run warms up with a whole cycle, all others with one dispatch
    assert round(backend.clock_s / 1e-3) == timed + 2 + (timed - 1)
    assert len(point.samples_s) == 6


def test_progress_ends_within_the_sweep_even_if_the_budget_is_overrun() -> None:
    steps = Steps()
    measure(FakeBackend(), progress=steps)
    assert len(steps.seen) == 1 + 4 + 6 * 4
    assert all(0 <= done <= 1 for _, done in steps.seen)
    assert [done for _, done in steps.seen] == sorted(done for _, done in steps.seen)
    slow = FakeBackend(seconds=lambda items, _: 1e-7 * items)
    measure(slow, settings=SweepSettings(LIMITS, budget_s=0.02), progress=steps)
    assert slow.clock_s > 2 * 0.02
    assert steps.seen[-1][1] == max(done for _, done in steps.seen) == 1.0


def run_workload(backend: FakeBackend, workload: CopyWorkload) -> list[Measurement]:
    sweeps = (workload.sweep(100, 200), workload.sweep(300))
    return list(measure_workload(backend, Task(workload, sweeps, SweepSettings(LIMITS)), Steps(), lambda _: ()))


def test_a_workload_is_verified_once_and_measured_sweep_by_sweep() -> None:
    first, second = run_workload(FakeBackend(), CopyWorkload())
    assert first.verification
    assert first.verification.passed
    assert first.verification == second.verification
    assert [len(m.points) for m in (first, second)] == [2, 1]
    assert str(first.key) == "test/copy/size"


def test_wrong_results_are_never_timed() -> None:
    backend = FakeBackend(wrong=True)
    for measured in run_workload(backend, CopyWorkload()):
        assert measured.verification
        assert not measured.verification.passed
        assert str(measured.skipped).startswith("wrong results: items = 7; 1 dispatch: to: 1 of 7 elements differ")
        assert not measured.points
    assert backend.log == []


class Other(CopyWorkload):
    """Copies, with another name."""

    variant = "other"


def test_points_of_several_workloads_alternate_and_share_no_buffers() -> None:
    backend, settings = FakeBackend(memory_bytes=100_000), SweepSettings(LIMITS)
    points = [point_of(5000), point_of(7000, workload=Other())]
    rounds = rounds_on(backend, settings)
    rng = np.random.default_rng(0)
    rounds.rounds(rounds.chosen(points, 1, rng), rng)
    assert [len(point.samples_s) for point in points] == [settings.min_rounds] * 2
    assert sorted(backend.allocated) == [20_000, 20_000, 28_000, 28_000]
    order = [items for items, _ in backend.log[-2 * settings.min_rounds :]]
    assert [set(order[i : i + 2]) for i in range(0, len(order), 2)] == [{5000, 7000}] * settings.min_rounds


def test_the_time_left_is_estimated_from_the_workloads_own_points() -> None:
    # One workload takes a second for a unit of work that takes another a nanosecond.
    backend = FakeBackend(seconds=lambda items, _: 1.0 if items == 10 else 1e-9 * items)
    points = [point_of(10), point_of(50_000, workload=Other())]
    rounds = rounds_on(backend, SweepSettings(LIMITS, budget_s=5.0))
    assert [point.skipped for point in rounds.chosen(points, 1, np.random.default_rng(0))] == [None, None]


def test_times_of_samples_begin_with_the_passes() -> None:
    fresh, old = (
        measure(FakeBackend(clock_s=clock_s), sweep=CopyWorkload().sweep(30_000)).points for clock_s in (0.0, 1024.0)
    )
    assert old[0].taken_at_s == pytest.approx(fresh[0].taken_at_s, abs=1e-9)
    assert 0.0 < min(old[0].taken_at_s) < max(old[0].taken_at_s) < 1.0


@pytest.mark.parametrize(
    ("items", "longest_s", "late"),
    [(3900, 2.1, False), (3900, 1.9, True), (310, 1.9, True), (4100, 1.9, False), (290, 1.9, False)],
)
def test_points_of_a_quarter_to_four_times_the_work_are_similar(
    monkeypatch: pytest.MonkeyPatch, items: int, longest_s: float, late: bool
) -> None:
    """Two took five and ten times as long as predicted: 0.2 s become 1 s, and a sample is two dispatches."""
    backend = FakeBackend(seconds=lambda n, _: {1000: 0.05, 1200: 0.1}.get(n, 0.2))
    monkeypatch.setattr(SweepSettings, "longest_s", longest_s)
    rounds = rounds_on(backend, SweepSettings(LIMITS, budget_s=100.0))
    rounds.chosen([point_of(1000, 0.01), point_of(1200, 0.01)], 1, np.random.default_rng(0))
    (point,) = rounds.chosen([point_of(items, 0.2)], 1, np.random.default_rng(0))
    assert point.late == late


@pytest.mark.parametrize(
    ("dispatch_s", "building_s", "runs"),
    [(50e-6, 0.0, 2), (4e-3, 0.0, 1), (10e-3, 0.009, 1), (10e-3, 0.011, 2)],
)
def test_a_first_run_is_repeated_if_it_is_shorter_than_a_sample_or_takes_the_time_of_three_dispatches(
    dispatch_s: float, building_s: float, runs: int
) -> None:
    """The first run is one untimed dispatch, one timed dispatch and the build."""
    backend = FakeBackend(seconds=lambda _, now: dispatch_s + (0.0 if now else building_s))
    rounds_on(backend).chosen([point_of(100)], 1, np.random.default_rng(0))
    assert len(backend.log) == runs


@pytest.mark.parametrize(("growth", "settles"), [(1.0, True), (1.015, True), (0.985, True), (1.03, False)])
def test_clocks_have_settled_when_a_time_is_within_two_percent_of_the_last(growth: float, settles: bool) -> None:
    times = (1e-3 * growth ** (n // 2) for n in range(2000))
    backend = FakeBackend(seconds=lambda *_: next(times))
    point = point_of(100)
    rounds = rounds_on(backend)
    rounds.settle([])
    assert backend.log == []
    rounds.settle([point])
    assert (len(backend.log) < 6) == settles


def test_the_most_expensive_point_settles_the_clocks() -> None:
    backend = FakeBackend()
    points = [point_of(items) for items in (100, 300, 200)]
    for point, cost_s in zip(points, (1e-3, 3e-3, 2e-3), strict=True):
        point.cost_s = cost_s
    rounds_on(backend).settle(points)
    assert {items for items, _ in backend.log} == {300}


def test_progress_is_the_used_share_of_the_budget() -> None:
    """After one second of ten it is 0.1."""
    shares: list[float] = []
    backend = FakeBackend(seconds=lambda *_: 0.5)
    Rounds(backend, SweepSettings(LIMITS), shares.append).chosen([point_of(100)], 1, np.random.default_rng(0))
    assert shares == pytest.approx([0.0, backend.clock_s / 10.0])


@pytest.mark.parametrize(("budget_s", "kept"), [(83.0, 33), (82.0, 17), (43.0, 17), (42.0, 9), (0.1, 9)])
def test_a_sweep_is_halved_until_its_pilot_runs_fit_and_both_ends_stay(budget_s: float, kept: int) -> None:
    """A point of a second costs five: two dispatches a sample, two and a half samples. Twice the budget may pass."""
    backend = FakeBackend(seconds=lambda *_: 1.0)
    points = [point_of(100 + number, expected_s=1.0) for number in range(65)]
    rounds_on(backend, SweepSettings(LIMITS, budget_s=budget_s)).chosen(points, 2, np.random.default_rng(0))
    piloted = [point.key.work_items for point in points if point.s_per_work is not None]
    assert piloted == list(range(100, 165, 64 // (kept - 1)))


def test_the_budget_begins_with_the_sweep_not_with_the_clock() -> None:
    """The number of samples does not depend on the start of the clock; the noise never ends them early."""

    def counts(clock_s: float) -> list[int]:
        rng = np.random.default_rng(5)
        backend = FakeBackend(lambda items, _: 1e-6 * items, lambda: rng.choice([1.0, 1.5]), clock_s=clock_s)
        sweep, settings = CopyWorkload().sweep(10_000, 60_000), SweepSettings(LIMITS, budget_s=2.0)
        return [len(p.samples_s) for p in measure(backend, sweep=sweep, settings=settings).points]

    assert counts(1024.0) == counts(0.0)
    assert 7 < min(counts(0.0)) < 30


def test_a_long_dispatch_runs_again_for_its_cost_if_the_first_run_built_its_kernel() -> None:
    """The kernel takes 10 ms and 2 s to build: a sample is expected to cost 20 ms, one dispatch untimed, one timed."""
    backend = FakeBackend(seconds=lambda _, now: 10e-3 if now else 2.0)
    point = point_of(100)
    rounds_on(backend, SweepSettings(LIMITS)).chosen([point], 1, np.random.default_rng(0))
    assert point.cost_s == pytest.approx(20e-3)
    assert point.dispatches == 1
