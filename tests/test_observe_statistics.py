"""Statistics of samples: intervals, noise, strays, clock states, drift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.observe import statistics
from gpureport.observe.statistics import clock_states, correlation_time, drifts, median_interval, sampling_noise

TIMES = st.lists(st.floats(1e-7, 10.0), min_size=1, max_size=60)


@given(TIMES)
def test_the_interval_holds_the_median_and_lies_within_the_samples(times: list[float]) -> None:
    median = median_interval(np.array(times))

    assert min(times) <= median.low <= median.value <= median.high <= max(times)


@pytest.mark.parametrize(
    ("count", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (9, 2, 8), (20, 6, 15), (60, 22, 39)]
)
def test_the_interval_is_the_tabulated_pair_of_order_statistics(count: int, low: int, high: int) -> None:
    """Ranks of the 95 % interval of a median, as in tables of the sign test."""
    shuffles = (np.random.default_rng(seed).permutation(np.arange(1.0, count + 1)) for seed in range(100))
    shuffled = next(shuffle for shuffle in shuffles if correlation_time(shuffle) == 1.0)
    median = median_interval(shuffled)

    assert (median.low, median.high) == (low, high)


def autoregressive(rng: np.random.Generator, count: int, correlation: float) -> np.ndarray:
    """Return a stationary series of median 1 whose neighbours have this correlation."""
    found = np.empty(count)
    found[0] = rng.standard_normal()
    for n in range(1, count):
        found[n] = correlation * found[n - 1] + np.sqrt(1 - correlation**2) * rng.standard_normal()
    return np.exp(0.05 * found)


@pytest.mark.parametrize("count", [20, 60, 200])
@pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.94), (0.3, 0.92), (0.6, 0.88)])
def test_intervals_hold_the_median_of_series_whose_neighbours_are_alike(
    count: int, correlation: float, least: float
) -> None:
    """The interval for independent samples covers it in 65 to 71 % of cases where the correlation is 0.6."""
    rng = np.random.default_rng(8)
    found = [median_interval(autoregressive(rng, count, correlation)) for _ in range(600)]
    held = np.mean([each.low <= 1.0 <= each.high for each in found if each.low and each.high])
    assert least <= held <= 0.99


def test_correlation_time_is_that_of_the_series() -> None:
    """Of signs of a Gaussian series: correlations are 2 / pi arcsin of the values' (Sheppard's theorem)."""
    rng = np.random.default_rng(9)
    for correlation in (0.0, 0.5, 0.8):
        expected = 1 + 2 * sum(2 / np.pi * np.arcsin(correlation**k) for k in range(1, 60))
        assert correlation_time(autoregressive(rng, 20_000, correlation)) == pytest.approx(expected, rel=0.12)
    assert correlation_time(np.arange(1.0, 12)) == 1.0  # fewer than twelve cannot show any
    assert correlation_time(np.arange(1.0, 13)) > 2.0
    assert correlation_time(np.full(30, 2.0)) == 1.0


def test_a_point_does_not_drift_by_chance() -> None:
    rng = np.random.default_rng(10)
    steady = [np.exp(0.1 * rng.standard_normal(20)) for _ in range(2000)]

    assert sum(drifts(samples, np.arange(20.0)) for samples in steady) <= 8


def test_medians_of_groups_are_those_of_each_and_so_is_their_noise() -> None:
    rng = np.random.default_rng(2)
    groups = [rng.lognormal(0, 0.1, count) for count in (1, 2, 5, 6, 7, 40)]
    counts = np.array([len(group) for group in groups])

    assert list(statistics.medians(np.concatenate(groups), counts)) == [np.median(group) for group in groups]
    steps = [np.abs(np.diff(np.log(group))) for group in groups]
    sigma = 1.4826 / np.sqrt(2)
    pooled = sigma * np.median(np.concatenate(steps))
    own = np.array([sigma * np.median(step) if len(step) >= 5 else pooled for step in steps])
    excess = np.where(counts > 2, np.pi / 2, 1.0)
    assert sampling_noise(groups) == pytest.approx(np.sqrt(excess * (own**2 + pooled**2) / 2 / counts), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "variance", "most"),
    [(1, 1.0, 1.02), (2, 0.5, 1.02), (3, 1 - np.sqrt(3) / np.pi, 1.10), (4, 0.2982, 1.17)],
)
def test_the_noise_of_few_samples_is_not_taken_for_less_than_it_is(count: int, variance: float, most: float) -> None:
    """Variances of the median of so many Gaussian samples (David and Nagaraja, Order Statistics, 2003, table 3.2.2).

    Points of many samples show what one sample varies by, also for those of one.
    """
    rng = np.random.default_rng(12)
    samples = [np.exp(0.05 * rng.standard_normal(n)) for n in [6] * 4000 + [count] * 10]
    ratio = sampling_noise(samples)[-10:] / (0.05 * np.sqrt(variance))

    assert ratio == pytest.approx(ratio[0])
    assert 0.98 <= ratio[0] <= most
    assert not sampling_noise([np.array([1.0]), np.array([2.0])]).any()  # then only the curve can tell


@pytest.mark.parametrize(("alike", "found"), [(7, None), (8, 1.6)])
def test_two_states_have_the_same_ratio_at_more_than_seven_points_of_ten(alike: int, found: float | None) -> None:
    ratios = [1.6] * alike + [3.0] * (10 - alike)

    assert clock_states([np.repeat([1.0, ratio], 10) for ratio in ratios]) == (found and pytest.approx(found))


@pytest.mark.parametrize("seed", range(5))
def test_one_noisy_state_is_not_two(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gaussian = [np.exp(0.05 * rng.standard_normal(n)) for n in (7, 20, 60) * 10]
    spikes = [part * np.where(rng.uniform(size=len(part)) < 0.05, 3.0, 1.0) for part in gaussian]

    assert clock_states(gaussian) is None
    assert clock_states(spikes) is None
