"""n90 of curves that rise in steps, that no smooth maximum fits, or that one fits."""

from typing import Any

import numpy as np
import pytest

from gpureport.observe.saturation import octave_means, saturation
from gpureport.observe.smooth_maximum import OCTAVE, fit_smooth_maximum

KNEE = 50_000.0


def smooth(items: Any, exponent: float = 3.0) -> Any:
    """Return ln(rate) of a smooth maximum whose plateau is 1."""
    return -np.log(1 + (KNEE / items) ** exponent) / exponent


def in_rounds(items: Any) -> Any:
    """Return ln(rate) of rounds of 100,000 work-items, as long as they wait; the first takes as long as two later."""
    return np.log(items / (np.ceil(items / 100_000.0) + 1.0))


def value(u: Any, rates: Any, noise: float) -> float:
    found = saturation(u, rates, np.full(len(u), noise))
    return found.n90.value


@pytest.mark.parametrize("exponent", [2.0, 3.0, 6.0])
def test_a_curve_that_a_smooth_maximum_fits_has_its_n90(exponent: float) -> None:
    u = np.log(2.0 ** np.arange(8, 24, 0.5))
    rates = smooth(np.exp(u), exponent)
    cliff = np.concatenate([rates, rates[-1] - np.log([2.0, 2.0, 2.0, 2.0])])
    beyond = np.concatenate([u, u[-1] + OCTAVE * np.arange(1, 5)])
    truth = KNEE * (0.9**-exponent - 1) ** (-1 / exponent)

    assert value(u, rates, 0.001) == pytest.approx(truth, rel=0.03)
    assert value(beyond, cliff, 0.001) == pytest.approx(truth, rel=0.05)


def test_points_that_a_smooth_maximum_misses_move_n90_by_more_than_their_noise() -> None:
    """A rate at 85 % for two octaves: with little noise n90 is behind them, with much noise it is that of the fit."""
    u = np.log(2.0 ** np.arange(8, 24, 0.25))
    items = np.exp(u)
    rates = smooth(items) + np.where((items > 2 * KNEE) & (items < 8 * KNEE), np.log(0.85), 0.0)
    fit = fit_smooth_maximum(u, u - rates, np.full(len(u), 0.3))

    assert value(u, rates, 0.001) == pytest.approx(8 * KNEE, rel=0.15)
    assert value(u, rates, 0.3) == pytest.approx(fit.n90().value, rel=0.01)
    assert fit.n90().value < 6 * KNEE


def test_n90_of_a_staircase_hardly_depends_on_the_selection_of_points() -> None:
    """Where the points themselves reach 90 % depends on it: a step more or less."""
    places = []
    for offset in np.linspace(0, 0.25, 5, endpoint=False):
        u = np.log(2.0 ** np.arange(10 + offset, 26, 0.25))
        places.append(value(u, in_rounds(np.exp(u)), 0.05))

    assert max(places) / min(places) < 1.15
    assert 500_000 < min(places) < max(places) < 1_500_000


def test_few_points_have_no_smooth_curve() -> None:
    """A monotone fit then gives n90."""
    u = np.log(2.0 ** np.arange(8, 15))

    assert saturation(u, smooth(np.exp(u)), np.full(len(u), 0.01)) is None


def test_means_over_an_octave_of_a_line_are_its_values_and_of_a_corner_lie_below() -> None:
    """Also at the ends, where the octave shrinks; a corner of slope 1 to 0 is lower by an eighth of the width."""
    u = np.array([0.0, 0.5, 2.0, 3.0])

    assert octave_means(u, 2.0 * u, np.array([0.0, 0.1, 1.7, 3.0]), OCTAVE) == pytest.approx(
        [0.0, 0.2, 3.4, 6.0], abs=1e-5
    )
    assert octave_means(u, np.minimum(u, 2.0), np.array([2.0]), OCTAVE)[0] == pytest.approx(2.0 - OCTAVE / 8.0)


def test_a_curve_that_reaches_ninety_percent_twice_has_the_first_place_and_an_interval_to_the_last() -> None:
    """A cache serves medium sizes: the rate falls to 80 % behind it and rises again."""
    u = np.log(2.0 ** np.arange(8, 26, 0.125))
    items = np.exp(u)
    dip = np.where((items > 16 * KNEE) & (items < 64 * KNEE), np.log(0.8), 0.0)
    single, twice = (saturation(u, smooth(items) + each, np.full(len(u), 0.001)) for each in (0.0 * dip, dip))

    assert twice.n90.value == pytest.approx(single.n90.value, rel=0.1)
    assert twice.n90.high is not None
    assert single.n90.high < 1.2 * single.n90.value
    assert twice.n90.high == pytest.approx(64 * KNEE, rel=0.2)
