"""Parts of observations, each by itself: thresholds, ticks, outliers, smooth maxima, lines, launch cost."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from gpureport.observe.cliffs import LEAST_SPAN, TILT, Plateau, beside, crossing, price, staircase
from gpureport.observe.features import Curve, curve_features, separate_features, without_launch
from gpureport.observe.statistics import Estimate, clock_states, curve_noise, drift, drifts, strays, timer_tick
from gpureport.observe.tapers import fit_smooth_maximum, log_slopes, log_times
from gpureport.records.curves import Axis, Metric
from tests.curves import features_of_curve

RATE, TIME = Metric(kind="rate", unit="B", label="rate"), Metric(kind="time", unit="load", label="latency")
SIZES = Axis(quantity="working_set", label="size")
PARAMETERS = st.tuples(st.floats(-3, 3), st.floats(-2, 2), st.floats(0.1, 1.8), st.floats(-4, 3)).map(np.array)


# Samples


@pytest.mark.parametrize(("count", "noise"), [(4, 0.0), (5, 1.0), (9, 1.0)])
def test_the_noise_of_a_curve_is_that_of_its_second_differences(count: int, noise: float) -> None:
    """Of a zigzag of ± 0.01 they are 0.04, which Gaussian noise of 1.4826 / sqrt 6 of it would show."""
    zigzag = 5.0 + 0.3 * np.arange(count) + 0.01 * (-1.0) ** np.arange(count)

    assert curve_noise(zigzag) == pytest.approx(noise * 1.4826 * 0.04 / np.sqrt(6))


@pytest.mark.parametrize(
    ("tick", "dispatches", "seen"), [(1e-6, 1, 1e-6), (1e-6, 4, 1e-6), (4e-8, 1, 4e-8), (1e-9, 1, 1e-9)]
)
def test_a_tick_is_what_samples_differ_by(tick: float, dispatches: int, seen: float) -> None:
    rng = np.random.default_rng(2)
    counts = [rng.integers(1000, 1080, 30), rng.integers(5000, 5060, 30)]
    samples = [tick * part / dispatches for part in counts]

    assert timer_tick(samples, [dispatches] * 2) == pytest.approx(seen, rel=1e-6)


@pytest.mark.parametrize(("half", "seen"), [(0, True), (4, True), (5, False)])
def test_nine_differences_of_ten_must_be_whole_ticks(half: int, seen: bool) -> None:
    """Forty are a tick, and some a tick and a half; samples at random are in no ticks."""
    times = 1e-3 + 1e-6 * np.cumsum([1.0] * 41 + [1.5] * half)

    assert (timer_tick([times], [1]) > 0.0) == seen
    rng = np.random.default_rng(1)
    assert timer_tick([1e-3 * rng.uniform(1, 2, 60)], [1]) == 0.0


def test_few_or_equal_samples_show_no_tick() -> None:
    assert timer_tick([1e-6 * np.arange(10.0, 30.0)], [1]) == 0.0  # 19 differences
    assert timer_tick([1e-6 * np.arange(10.0, 31.0)], [1]) == pytest.approx(1e-6)
    assert timer_tick([np.full(50, 1e-6)], [1]) == 0.0
    assert timer_tick([1e-10 * np.arange(10.0, 40.0)], [1]) == 0.0  # rounding, not ticks


@pytest.mark.parametrize(
    ("away", "noise", "apart", "count", "marked"),
    [
        (0.06, 0.001, 0.0, 5, True),
        (0.04, 0.001, 0.0, 5, False),  # less than 5 %
        (0.3, 0.05, 0.0, 5, True),
        (0.2, 0.05, 0.0, 5, False),  # less than five standard errors
        (-0.3, 0.05, 0.0, 5, True),
        (0.3, 0.001, 0.14, 5, True),
        (0.3, 0.001, 0.16, 5, False),  # neighbours that differ by more than half of it
        (0.3, 0.001, 0.0, 6, False),  # six samples are believed
    ],
)
def test_a_stray_is_far_from_neighbours_that_agree(
    away: float, noise: float, apart: float, count: int, marked: bool
) -> None:
    z = np.zeros(9)
    z[5:] = apart
    z[4] = apart / 2 + away
    counts = np.full(9, 3)
    counts[4] = count

    assert strays(z, np.full(9, noise), counts).tolist() == [False] * 4 + [marked] + [False] * 4


def test_of_two_strays_side_by_side_the_first_is_one_and_ends_are_none() -> None:
    zigzag = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    found = strays(zigzag, np.full(9, 0.01), np.ones(9, dtype=int))

    assert found.tolist() == [False, True, *[False] * 7]
    assert not strays(np.array([0.0, 0.0, 1.0, 0.0]), np.full(4, 0.01), np.ones(4, dtype=int)).any()
    assert strays(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), np.full(5, 0.01), np.ones(5, dtype=int)).tolist()[2]


@pytest.mark.parametrize(("change", "drifting"), [(1.028, False), (1.032, True), (0.972, False), (0.968, True)])
def test_a_drift_is_of_three_percent_between_the_medians_of_thirds(change: float, drifting: bool) -> None:
    steps = np.concatenate([np.linspace(-1e-4, 1e-4, 10) + level for level in (0.0, 0.5, 1.0)])
    samples = 1.0 + (change - 1.0) * steps

    assert drifts(samples, np.arange(30.0)) == drifting


def test_of_fewer_than_nine_samples_no_drift_is_said() -> None:
    rising = np.linspace(1.0, 2.0, 9)
    assert drifts(rising, np.arange(9.0))
    assert not drifts(rising[:8], np.arange(8.0))
    assert not drifts(rising, np.arange(8.0))


def test_of_any_number_of_samples_a_drift_is_found_in_time() -> None:
    """Other programs may write reports with many, too many to compare each with all others."""
    count = 200_000
    noise = 0.1 * np.random.default_rng(4).standard_normal(count)
    waves = 0.2 * np.cos(np.linspace(0, 7 * np.pi, count))  # from high to low in the end, but up and down between

    assert drifts(np.exp(noise + np.linspace(0, 0.2, count)), np.arange(float(count)))
    assert not drifts(np.exp(noise + waves), np.arange(float(count)))


@pytest.mark.parametrize("count", [9, 14, 60])
def test_one_of_a_thousand_steady_points_is_found_to_drift(count: int) -> None:
    steady = np.random.default_rng(count).lognormal(size=(10_000, count))
    found = sum(drifts(samples, np.arange(float(count))) for samples in steady)

    assert 0 < found < 20  # 2.4 (of nine samples) to 10 are expected


@pytest.mark.parametrize(("change", "said"), [(0.028, None), (0.032, 0.032), (-0.028, None), (-0.032, -0.032)])
def test_a_run_drifts_by_what_its_last_third_takes_longer(change: float, said: float | None) -> None:
    """Points whose samples were all taken within the first third are slower than themselves later."""
    when = np.arange(30.0)
    samples = [2.0**k * np.where(when < 15, 1.0, 1.0 + change) for k in range(5)]
    found = drift(samples, [when] * 5)

    assert found == (said and pytest.approx(said, abs=1e-3))
    assert drift([part[:6] for part in samples[:1]], [when[:6]]) is None
    assert drift([part[:2] for part in samples], [when[:2]] * 5) is None
    assert drift([], []) is None


TWO, ONE = np.array([1.0, 1.5] * 5), np.ones(10)


@pytest.mark.parametrize(
    ("points", "found"),
    [
        # Speeds that differ by three percent are two.
        *(
            ([np.array([1.0, r] * 5) * 2.0**k for k in range(6)], two)
            for r, two in ((1.02, None), (1.05, 1.05), (2, 2))
        ),
        # Each has a fifth of the samples.
        *(([np.array([1.0] * (10 - n) + [1.5] * n)] * 5, None if n in (1, 9) else 1.5) for n in (1, 2, 8, 9)),
        # Three points and half of all must show them.
        *(([TWO] * n + [ONE] * n, two) for n, two in ((2, None), (3, 1.5), (6, 1.5))),
        *(([TWO] * n + [ONE] * (n + 1), None) for n in (2, 3, 6)),
        # Points of four samples show them together: twenty in all are enough. Points of one sample tell nothing.
        *(
            ([*(np.array([1.0, 1.3] * 2) * 2.0**k for k in range(n)), np.array([5.0])], two)
            for n, two in ((4, None), (5, 1.3))
        ),
    ],
)
def test_two_speeds_are_seen_in_enough_points_and_samples(points: list[Any], found: float | None) -> None:
    assert clock_states(points) == (found and pytest.approx(found))


# Smooth maxima


@given(PARAMETERS, st.floats(-4, 4))
def test_the_slopes_of_a_smooth_maximum_are_its_derivatives(parameters: Any, u: float) -> None:
    step = 1e-5
    found = log_slopes(parameters, np.array([u]))[:, 0]
    for k in range(4):
        ahead, behind = (
            float(log_times(parameters + sign * step * np.eye(4)[k], np.array([u]))[0]) for sign in (1.0, -1.0)
        )
        assert found[k] == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 5.0])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_fitted_smooth_maximum_has_the_knee_and_n90_of_its_curve(share: float, exponent: float) -> None:
    """The plateau is the rate at the last point; n90 is found by trying all sizes."""

    def times(items: Any) -> Any:
        return 5e-6 * (share + (1 - share) * (1 + (items / 1000.0) ** exponent) ** (1 / exponent))

    items = 2.0 ** np.arange(4, 22, 0.25)
    found = fit_smooth_maximum(np.log(items), np.log(times(items)), np.zeros(len(items)))
    plateau = items[-1] / times(items[-1])
    fine = np.exp(np.linspace(np.log(items[0]), np.log(items[-1]), 100_001))
    n90 = fine[np.argmax(fine / times(fine) >= 0.9 * plateau)]

    assert found.knee().value == pytest.approx(5e-6 * plateau, rel=0.01)
    assert found.n90().value == pytest.approx(n90, rel=0.03)


# Lines, centres, crossings


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=7), st.integers(0, 10**6))
def test_a_line_costs_the_least_squares_of_a_slope_of_a_tenth_at_most(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, scale = np.array(values), rng.uniform(0.05, 0.3, len(values))
    u = np.cumsum(rng.uniform(0.2, 1.0, len(values)))
    lines = price(u, z, scale).lines

    def cost(slope: float, part: slice) -> float:
        weight = 1.0 / scale[part] ** 2
        rest = z[part] - slope * u[part]
        return float(np.sum(weight * (rest - np.sum(weight * rest) / np.sum(weight)) ** 2))

    for i in range(len(z)):
        for j in range(len(z)):
            if i > j:
                assert lines[i, j] == np.inf
                continue
            best = minimize_scalar(cost, bounds=(-TILT, TILT), args=(slice(i, j + 1),), method="bounded")
            ends = (cost(end, slice(i, j + 1)) for end in (-TILT, TILT))
            assert lines[i, j] == pytest.approx(min(best.fun, *ends), rel=1e-3, abs=1e-6)


def test_a_fall_that_never_reaches_its_target_ends_at_the_last_point() -> None:
    u, fit = np.arange(4.0), np.array([[0.0, -1.0, -2.0, -3.0]])

    assert crossing(u, fit, np.array([-9.0]), straight=True)[0] == pytest.approx([3.0])
    assert crossing(u, fit, np.array([5.0]), straight=True)[0] == pytest.approx([0.0])


@pytest.mark.parametrize(("drop", "steps"), [(0.09, 0), (0.12, 1)])
def test_a_step_of_ten_percent_is_one(drop: float, steps: int) -> None:
    u = np.arange(24) * 0.25 * np.log(2.0)
    z = np.where(np.arange(24) < 12, 0.0, np.log(1 - drop))

    assert len(staircase(u, z, np.zeros(24))) == 1 + steps
    assert beside(u, Plateau(0, 24), end=True).stop == 24
    assert u[-1] - u[0] > LEAST_SPAN


# Features


def _growing(times: Any, sizes: Any) -> Curve:
    return Curve(sizes / 16, sizes, sizes / times, times, np.full(len(sizes), 0.01))


@pytest.mark.parametrize(("launch", "off"), [(1.0, 0.01), (0.6, 0.25)])
def test_launch_cost_is_taken_off_times_and_noise_grows_as_much(launch: float, off: float) -> None:
    """A stream of which the flat time is launch cost, or latency that a smooth maximum of p = 3 joins to it."""
    sizes = 2.0 ** np.arange(14, 31, 0.5)
    flat = 5e-6
    times = launch * flat + np.cbrt(((1 - launch) * flat) ** 3 + (sizes / 1e12) ** 3)
    curve = _growing(times, sizes)
    net = without_launch(curve, Plateau(len(sizes) - 8, len(sizes)))

    assert len(net.times) == np.sum(times > 1.5 * times[0])
    taken = curve.times[-len(net.times) :] - net.times
    assert taken == pytest.approx(taken[0])
    assert taken[0] == pytest.approx(launch * flat, rel=off)
    assert net.values * net.times == pytest.approx(net.working_set)
    assert net.noise == pytest.approx(0.01 * curve.times[-len(net.times) :] / net.times)
    assert net.work_items == pytest.approx(net.working_set / 16)


def test_latency_and_a_time_that_is_nowhere_flat_show_no_launch_cost() -> None:
    sizes = 2.0 ** np.arange(14, 31, 0.5)
    for times in (np.cbrt(5e-6**3 + (sizes / 1e12) ** 3), sizes / 1e12, 5e-6 * (sizes / sizes[0]) ** 0.3):
        curve = _growing(times, sizes)
        assert without_launch(curve, Plateau(len(sizes) - 8, len(sizes))) is curve
    constant = _growing(5e-6 + sizes / 1e12, sizes)
    same = Curve(np.full(len(sizes), 64.0), sizes, constant.values, constant.times, constant.noise)
    assert without_launch(same, Plateau(len(sizes) - 8, len(sizes))) is same


@pytest.mark.parametrize(("metric", "best", "noise"), [(RATE, 9.0, 0.1), (TIME, 2.0, 0.05), (RATE, 9.0, 0.0)])
def test_a_peak_has_the_interval_of_its_own_point(metric: Metric, best: float, noise: float) -> None:
    values = np.array([5.0, 9.0, 2.0, 4.0])
    ends = (best * np.exp(-noise), best * np.exp(noise)) if noise else (None, None)
    points = [Estimate(value, *ends) if value == best else Estimate(value, 0.5, 20.0) for value in values.tolist()]
    axis = Axis(quantity="work_group", label="shape")
    (peak,) = separate_features(axis, metric, [("", point) for point in points])

    assert (peak.position, str(peak.level), peak.value) == ("peak", "device", best)
    assert (peak.ci_low, peak.ci_high) == pytest.approx(ends)
    assert separate_features(axis, metric, []) == ()


@pytest.mark.parametrize(("points", "warned"), [(3, True), (4, False)])
def test_a_curve_takes_four_sizes(points: int, warned: bool) -> None:
    sizes = np.repeat(2.0 ** np.arange(points), 3)
    _, warnings = curve_features(SIZES, RATE, Curve(sizes, sizes, sizes**0, sizes, 0.01 * sizes**0))

    assert any("too short" in warning for warning in warnings) == warned


@pytest.mark.parametrize(("growth", "cliffs"), [(3.9, 0), (4.1, 3)])
def test_work_items_show_cliffs_where_the_working_set_grows_four_times(growth: float, cliffs: int) -> None:
    items = 2.0 ** np.arange(10, 20, 0.25)
    bytes_ = 1e6 * np.linspace(1.0, growth, len(items))
    rate = np.where(np.arange(len(items)) < 20, 9e9, 3e9)
    axis = Axis(quantity="work_items", label="n")
    found = features_of_curve(axis, RATE, items, bytes_, rate, items / rate)

    assert len([f for f in found if f.feature == "cliff"]) == cliffs
