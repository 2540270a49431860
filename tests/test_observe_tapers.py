"""Tapers of synthetic curves whose truth is known: knees, and n90 also of curves that rise in steps."""

from typing import Any

import numpy as np
import pytest

from gpureport.observe.cliffs import Plateau
from gpureport.observe.features import Curve, curve_features
from gpureport.observe.tapers import OCTAVE, fit_smooth_maximum, octave_means, saturation, taper
from gpureport.records.curves import Axis, Metric
from tests.curves import features_of_curve

ITEMS = Axis(quantity="work_items", label="work-items")
BYTES = Axis(quantity="working_set", label="working set")
RATE = Metric(kind="rate", unit="cells", label="throughput")
KNEE = 50_000.0


def launch_bound(items: Any, sharpness: float = 4.0) -> Any:
    """Return times of 5 us at least, and of the work at a rate that makes the knee 50,000 work-items."""
    return 5e-6 * (1 + (items / KNEE) ** sharpness) ** (1 / sharpness)


def named(features: Any) -> dict[str, Any]:
    return {f"{f.feature} {f.position} {f.level!s}": f for f in features}


def noisy(rng: np.random.Generator, items: Any, times: Any, noise: float, bytes_each: float = 1.0) -> Curve:
    values = items / times * np.exp(noise * rng.standard_normal(len(items)))
    return Curve(items, items * bytes_each, values, items / values, np.full(len(items), noise))


def test_knee_and_n90_of_a_curve_without_noise() -> None:
    items = 2.0 ** np.arange(8, 25)
    times = launch_bound(items)

    found = named(features_of_curve(ITEMS, RATE, items, np.ones(17), items / times, times))

    assert found["taper knee device"].value == pytest.approx(KNEE, rel=0.01)
    # (1 + (k / n)^4)^(-1/4) = 0.9
    assert found["taper n90 device"].value == pytest.approx(KNEE * (0.9**-4 - 1) ** -0.25, rel=0.06)
    assert found["taper knee device"].unit == "work-items"
    assert found["taper n90 device"].ci_low is None
    assert found["rate plateau level 1"].value == pytest.approx(KNEE / 5e-6, rel=0.01)
    assert found["rate plateau level 1"].unit == "cells/s"


def test_the_fewest_work_items_are_no_n90() -> None:
    """Neither predicted nor observed: nothing saturates within a sweep whose smallest sizes have as many work-items."""
    number = np.arange(24)
    items, cells = 32.0 * 2.0 ** (number // 6), 3e4 * 1.4**number
    rates = 24e9 * (1 - 0.14 * 2.0**-number)

    found = features_of_curve(BYTES, RATE, items, cells, rates, cells / rates)

    assert [feature.feature for feature in found] == ["rate"]


@pytest.mark.parametrize("noise", [0.01, pytest.param(0.05, marks=pytest.mark.slow)])
def test_intervals_of_a_noisy_taper_hold_the_truth(noise: float) -> None:
    """In nearly all of 40 curves, at two points an octave."""
    rng = np.random.default_rng(1)
    items = 2.0 ** np.arange(8, 25, 0.5)
    held = []
    for _ in range(40):
        found = named(curve_features(ITEMS, RATE, noisy(rng, items, launch_bound(items), noise))[0])
        for name, truth in (("knee", KNEE), ("n90", KNEE * (0.9**-4 - 1) ** -0.25)):
            feature = found[f"taper {name} device"]
            held.append(feature.ci_low <= truth <= feature.ci_high)
            assert feature.value == pytest.approx(truth, rel=0.05 + 5 * noise)

    assert np.mean(held) >= 0.88


def test_the_plateau_of_a_taper_is_the_one_before_the_cliff() -> None:
    """A cache holds 32 MiB at 16 bytes a work-item; beyond it the rate is a third."""
    items = 2.0 ** np.arange(8, 25, 0.5)
    times = launch_bound(items) * np.where(items * 16 > 32 * 2**20, 3.0, 1.0)

    found = named(features_of_curve(BYTES, RATE, items, items * 16, items / times, times))

    assert found["taper knee device"].value == pytest.approx(KNEE, rel=0.01)
    assert found["cliff midpoint level 1"].value == pytest.approx(32 * 2**20 * 2**0.25, rel=0.01)
    assert found["cliff midpoint level 1"].unit == "B"
    assert found["rate plateau level 2"].value == pytest.approx(KNEE / 5e-6 / 3, rel=0.01)


@pytest.mark.parametrize(
    ("items", "sharpness", "noise", "positions", "words"),
    [
        # The sweep ends while the launch cost still rules.
        (2.0 ** np.arange(4, 14), 4.0, 0.01, [], "still rises at the largest size"),
        # Its shortest time is no longer that of the launch alone.
        (KNEE * 2.0 ** np.arange(-0.5, 8, 0.5), 1.5, 0.001, ["n90", "plateau"], "starts too late"),
    ],
)
def test_a_sweep_that_ends_too_early_or_starts_too_late_says_so(
    items: Any, sharpness: float, noise: float, positions: list[str], words: str
) -> None:
    curve = noisy(np.random.default_rng(3), items, launch_bound(items, sharpness), noise)
    features, warnings = curve_features(ITEMS, RATE, curve)

    assert [f.position for f in features] == positions
    assert words in warnings[0]


@pytest.mark.parametrize(("share", "alike"), [(0.97, True), (1.03, False)])
def test_points_may_differ_from_a_fit_by_the_tolerance_and_twice_the_error_of_two_means(
    share: float, alike: bool
) -> None:
    """Five points within an octave of the place, three within one of the end, 10 % noise each."""
    u = np.log(2.0 ** np.arange(8, 25, 0.4))
    fit = fit_smooth_maximum(u, np.log(launch_bound(np.exp(u), 2.0)), np.zeros(len(u)))
    place = float(u[16])
    off = share * (0.02 + 2 * 0.1 * np.sqrt(1 / 5 + 1 / 3))

    moved = fit.times + np.where(np.abs(u - place) < np.log(2.0), off, 0.0)
    assert fit._replace(times=moved, noise=np.full(len(u), 0.1)).fits_at(place, 0.02) == alike


@pytest.mark.parametrize(
    ("place", "error", "rises"), [(0, 0.99, True), (0, 1.01, False), (1, 5.0, True), (3, 5.0, True)]
)
def test_a_rise_must_stand_out_of_the_noise_of_the_first_point(place: int, error: float, rises: bool) -> None:
    """By 4.5 standard errors: those of other points do not matter, since the plateau has many."""
    u, z = np.log(100.0 * 2.0 ** np.arange(6)), np.log([[1.0, *[1.2] * 5]])
    noise = np.full(6, 0.01)
    noise[place] = error * np.log(1.2) / 4.5

    assert bool(taper(u, z, noise, (Plateau(1, 6),))) is rises


def test_the_rate_of_a_plateau_that_still_rises_is_that_of_its_end() -> None:
    """Of which n90 is nine tenths; where work does not grow, it is that of all points."""
    work = 2.0 ** np.arange(10, 26, 0.5)
    rates = 1e9 / (1.0 + 2.0**13 / work) * (1.0 + 0.02 * np.log2(work / work[0]))
    metric = Metric(kind="rate", unit="B", label="bandwidth")

    growing, fixed = (
        {f.position: f.value for f in features_of_curve(BYTES, metric, items, work, rates, work / rates)}
        for items in (work, np.full(len(work), 1024.0))
    )

    assert growing["plateau"] == pytest.approx(np.median(rates[-5:]), rel=0.02)
    assert fixed["plateau"] < 0.95 * growing["plateau"]
    reached = float(np.interp(np.log(growing["n90"]), np.log(work), rates))
    assert reached == pytest.approx(0.9 * growing["plateau"], rel=0.05)


def smooth(items: Any, exponent: float = 3.0) -> Any:
    """Return ln(rate) of a smooth maximum whose plateau is 1."""
    return -np.log(1 + (KNEE / items) ** exponent) / exponent


def in_rounds(items: Any) -> Any:
    """Return ln(rate) of rounds of 100,000 work-items, as long as they wait; the first takes as long as two later."""
    return np.log(items / (np.ceil(items / 100_000.0) + 1.0))


def value(u: Any, rates: Any, noise: float) -> float:
    found = saturation(u, rates, np.full(len(u), noise))
    return found[0].value


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

    assert twice[0].value == pytest.approx(single[0].value, rel=0.1)
    assert twice[0].high is not None
    assert single[0].high < 1.2 * single[0].value
    assert twice[0].high == pytest.approx(64 * KNEE, rel=0.2)
