"""Cliffs behind launch cost: sweeps of growing work whose truth is known."""
# ruff: noqa: D103 - the names of the tests say what they check

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpureport.observe.features import Curve, curve_features
from gpureport.records.curves import Axis, Metric

MIB = 2.0**20
AXIS = Axis(quantity="working_set", label="working set")
METRIC = Metric(kind="rate", unit="B", label="copied")
SIZES = 2.0 ** np.arange(16, 31, 0.5)
FLAT_S = 5e-6
MEMORY = 4.2e12


def sweep(launch: float, *, cliff: float | None, seed: int = 1) -> Curve:
    """Return a stream whose flat time is launch cost to a share, and latency (a smooth maximum of p = 3) for the rest.

    Args:
        launch: the share.
        cliff: capacity of a cache that is 1.5 times as fast as memory; ``None``: there is none.
        seed: of the noise, 1 %.
    """
    rate = np.full(len(SIZES), MEMORY)
    if cliff:
        rate *= 1.5 ** (1 / (1 + (SIZES / cliff) ** 16))
    noise = 0.01
    work = np.cbrt(((1 - launch) * FLAT_S) ** 3 + (SIZES / rate) ** 3)
    times = (launch * FLAT_S + work) * np.exp(noise * np.random.default_rng(seed).standard_normal(len(SIZES)))
    return Curve(SIZES / 16, SIZES, SIZES / times, times, np.full(len(SIZES), noise))


def middles(curve: Curve) -> list[float]:
    found, _ = curve_features(AXIS, METRIC, curve)
    return [f.value for f in found if f.position == "midpoint"]


@pytest.mark.parametrize(("launch", "cliff"), [(1.0, 36 * MIB), (1.0, 40 * MIB), (1.0, 48 * MIB), (0.9, 48 * MIB)])
def test_a_cache_that_launches_hide_most_of_is_seen_to_give_out(launch: float, cliff: float) -> None:
    """Twice the flat time is reached just where the cache ends: no more than three points are both work and in it."""
    (middle,) = middles(sweep(launch, cliff=cliff))

    assert middle == pytest.approx(cliff, rel=0.15)


@settings(deadline=None, max_examples=60)
@given(st.floats(0, 1), st.integers(0, 1000))
def test_no_cliff_is_seen_where_there_is_none(launch: float, seed: int) -> None:
    assert middles(sweep(launch, cliff=None, seed=seed)) == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("launch", [0.0, 0.5, 1.0])
def test_a_plateau_that_no_point_reaches_says_so(launch: float, seed: int) -> None:
    """What is fitted without launch cost has the best of its points beside it; all else lies among the points."""
    curve = sweep(launch, cliff=48 * MIB, seed=seed)
    plateaus = [f for f in curve_features(AXIS, METRIC, curve)[0] if f.position == "plateau"]

    assert plateaus
    assert all(f.best_point or f.value <= curve.values.max() for f in plateaus)
    for plateau in plateaus:
        assert plateau.best_point is None or plateau.best_point in curve.values
        assert plateau.best_point is None or plateau.best_point < plateau.value
        assert plateau.best_point is None or plateau.ci_low is None or plateau.ci_low <= plateau.best_point
    assert any(f.best_point for f in plateaus) is (launch == 1)
