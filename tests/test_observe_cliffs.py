"""Cliffs of synthetic curves whose truth is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpureport.observe.cliffs import (
    Plateau,
    cliffs,
    crossing,
    levels,
    price,
    replicated,
    staircase,
    summary,
    without_plateau,
)
from gpureport.observe.statistics import curve_noise, sampling_noise, strays

OCTAVE = float(np.log(2.0))


@dataclass(frozen=True)
class Truth:
    """Logistic steps at *centres* (ln), *drops* deep and *widths* wide."""

    centres: Any
    drops: Any
    widths: Any

    def at(self, u: Any) -> Any:
        """Return ln(rate)."""
        steps = np.clip((u[:, None] - self.centres) / self.widths * 4, -500, 500)
        return -np.sum(self.drops / (1 + np.exp(-steps)), axis=1)


def random_truth(rng: np.random.Generator, count: int) -> Truth:
    gaps = rng.uniform(3, 5, count) * OCTAVE
    return Truth(np.cumsum(gaps), rng.uniform(0.3, 1.6, count), rng.uniform(0.05, 0.6, count))


def sampled(rng: np.random.Generator, truth: Truth, per_octave: int, noise: float, samples: int) -> Any:
    """Return u, ln(rate) and its standard errors, as an observation derives them from samples with outliers."""
    end = float(truth.centres[-1]) if len(truth.centres) else 10 * OCTAVE
    u = np.arange(0.0, end + 4 * OCTAVE, OCTAVE / per_octave) + rng.uniform(0, OCTAVE / per_octave)
    times = -truth.at(u)[:, None] + noise * rng.standard_normal((len(u), samples))
    times += (rng.uniform(size=times.shape) < 0.02) * rng.exponential(0.5, times.shape)
    z = -np.median(times, axis=1)
    error = np.maximum(sampling_noise(list(np.exp(times))), curve_noise(z))
    keep = ~strays(z, error, np.full(len(u), samples))
    return u[keep], z[keep], error[keep]


@pytest.mark.parametrize(("per_octave", "noise", "samples"), [(3, 0.005, 7), (4, 0.03, 7), (8, 0.03, 1), (6, 0.08, 20)])
def test_cliffs_are_counted_located_and_enclosed(per_octave: int, noise: float, samples: int) -> None:
    """Over random curves of one to four levels: the count, the midpoints, and the coverage of the intervals."""
    rng = np.random.default_rng(per_octave)
    right, errors, covered = 0, [], []
    for trial in range(60):
        truth = random_truth(rng, trial % 4)
        u, z, error = sampled(rng, truth, per_octave, noise, samples)
        plateaus = staircase(u, z, error)
        right += len(plateaus) == trial % 4 + 1
        if len(plateaus) != trial % 4 + 1:
            continue
        found = cliffs(u, replicated(z, error, 200), error, plateaus)
        for cliff, centre in zip(found, truth.centres, strict=True):
            errors.append(abs(np.log(cliff["midpoint"].value) - centre))
            covered.append(cliff["midpoint"].low <= np.exp(centre) <= cliff["midpoint"].high)
            assert cliff["onset"].value <= cliff["midpoint"].value <= cliff["end"].value

    assert right >= 58
    assert np.quantile(errors, 0.95) < 0.4 * OCTAVE / per_octave
    assert np.mean(covered) >= 0.92


def test_onset_and_end_are_where_the_curve_leaves_and_reaches_its_plateaus() -> None:
    """A straight ramp in log-log, without noise: 95 % of the upper plateau, half way, 105 % of the lower."""
    u = np.arange(0.0, 12.0, 0.05)
    z = np.interp(u, [5.0, 6.0], [0.0, -1.0])

    (cliff,) = cliffs(u, z[None, :], np.zeros(len(u)), staircase(u, z, np.zeros(len(u))))

    assert np.log(cliff["onset"].value) == pytest.approx(5.0 - np.log(0.95), abs=0.01)
    assert np.log(cliff["midpoint"].value) == pytest.approx(5.5, abs=0.01)
    assert np.log(cliff["end"].value) == pytest.approx(6.0 - np.log(1.05), abs=0.01)
    assert cliff["midpoint"].low is None


def test_a_step_between_two_points_is_known_no_better_than_their_distance() -> None:
    u = np.arange(0.0, 12.0, 0.25)
    z = np.where(u < 6.1, 0.0, -1.0)
    noise = np.full(len(u), 1e-4)

    (cliff,) = cliffs(u, replicated(z, noise, 400), noise, staircase(u, z, noise))

    assert np.log(cliff["midpoint"].low) == pytest.approx(6.0, abs=0.03)
    assert np.log(cliff["midpoint"].high) == pytest.approx(6.25, abs=0.03)
    assert cliff["midpoint"].value == pytest.approx(np.exp(6.125))


@pytest.mark.parametrize("noise", [0.005, 0.03, 0.08])
@pytest.mark.parametrize("samples", [1, 7])
def test_a_flat_noisy_curve_has_no_cliff(noise: float, samples: int) -> None:
    rng = np.random.default_rng(9)
    flat = Truth(np.zeros(0), np.zeros(0), np.ones(0))

    found = [len(staircase(*sampled(rng, flat, 4, noise, samples))) - 1 for _ in range(100)]

    assert sum(found) <= 1


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_curve_that_only_rises_or_falls_gently_has_no_cliff(noise: float) -> None:
    """Launch cost and peak rate: rate = w / (1 + w)."""
    rng = np.random.default_rng(10)
    u = np.arange(-6.0, 6.0, 0.3)
    for _ in range(20):
        z = u - np.log1p(np.exp(u)) + noise * rng.standard_normal(len(u))
        assert len(staircase(u, z, np.full(len(u), noise))) == 1
    gentle = np.arange(0.0, 10.0 * OCTAVE, 0.2)  # a fall of 5 % an octave
    assert len(staircase(gentle, -0.07 * gentle, np.zeros(len(gentle)))) == 1


def test_the_interval_of_a_plateau_covers_how_its_points_scatter() -> None:
    """Points that differ by more than their noise says are a sample of the plateau; single ones have their noise."""
    rng = np.random.default_rng(3)
    noise = np.full(24, 1e-4)
    covered = 0
    for seed in range(100):
        z = 0.05 * rng.standard_normal(24)
        (level,) = levels(replicated(z, noise, 400, seed), noise, (Plateau(0, 24),))
        assert level.low
        assert level.high
        covered += level.low <= 1.0 <= level.high
    (single,) = levels(replicated(z, noise, 400), noise, (Plateau(0, 1),))

    assert 90 <= covered <= 99
    assert single.width - 1 == pytest.approx(2 * 1.96e-4, rel=0.15)


def test_the_range_of_a_crossing_is_that_of_the_neighbouring_stretches() -> None:
    """By hand, for a target of -0.5 between the third and the fourth point: each row has slopes of its own."""
    fit = np.array([[0.0, -0.1, -0.4, -1.0, -1.1], [0.0, -0.2, -0.4, -1.0, -1.5], [0.0, -0.4, -0.45, -0.55, -0.6]])
    rows = np.full(3, -0.5)
    chord, low, high = crossing(np.arange(5.0), fit, rows, straight=True)
    middle, *_ = crossing(np.arange(5.0), fit, rows, straight=False)

    assert chord == pytest.approx([2 + 1 / 6, 2 + 1 / 6, 2.5])
    assert low == pytest.approx([2.0, 2.0, 2.0])
    assert high == pytest.approx([2 + 1 / 3, 2.5, 3.0])
    assert middle == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("step", [0, 1])
def test_a_plateau_that_is_a_part_of_a_ramp_is_left_to_it(step: int) -> None:
    z: Any = np.concatenate([np.zeros(10), [-0.3, -0.6, -0.9, -1.2], np.full(10, -1.5)])
    u: Any = OCTAVE / 4 * np.arange(len(z))
    costs = price(u, z, np.full(len(z), 0.02))
    first, part, last = Plateau(0, 10), Plateau(11, 13), Plateau(14, 24)

    assert without_plateau([first, part, last], step, costs) == [first, last]


def test_an_interval_is_that_of_all_replicates() -> None:
    """Of two replicates at 1 and 100, in logarithms; the curve is none of them, but lies in the interval."""
    curve, replicates = np.log(10.0), np.log([1.0, 100.0])
    expected = pytest.approx((10.0, 100.0**0.025, 100.0**0.975))
    found = summary(np.array([curve, *replicates]))
    drawn = summary(np.array([curve, 0.0, 0.0]), np.array([curve, *replicates]))
    above = summary(np.array([np.log(1000.0), *replicates]))

    assert (found.value, found.low, found.high) == expected
    assert (drawn.value, drawn.low, drawn.high) == expected
    assert (above.low, above.high) == pytest.approx((100.0**0.025, 1000.0))
    assert summary(np.array([curve])).low is None
