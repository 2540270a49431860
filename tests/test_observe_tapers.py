"""Tapers of synthetic curves whose truth is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpureport.observe.cuts import Plateau
from gpureport.observe.features import Curve, curve_features
from gpureport.observe.smooth_maximum import fit_smooth_maximum
from gpureport.observe.tapers import taper
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
    assert replace(fit, times=moved, noise=np.full(len(u), 0.1)).fits_at(place, 0.02) == alike


@pytest.mark.parametrize(
    ("place", "error", "rises"), [(0, 0.99, True), (0, 1.01, False), (1, 5.0, True), (3, 5.0, True)]
)
def test_a_rise_must_stand_out_of_the_noise_of_the_first_point(place: int, error: float, rises: bool) -> None:
    """By 4.5 standard errors: those of other points do not matter, since the plateau has many."""
    u, z = np.log(100.0 * 2.0 ** np.arange(6)), np.log([[1.0, *[1.2] * 5]])
    noise = np.full(6, 0.01)
    noise[place] = error * np.log(1.2) / 4.5

    assert (taper(u, z, noise, (Plateau(1, 6),)) is not None) is rises


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
