"""Cuts of a curve into plateaus, and cliffs behind launch cost."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpureport.observe.cliffs import LEAST_SPAN, Plateau, cheapest_cut, price
from gpureport.observe.features import Curve, curve_features
from gpureport.records.curves import Axis, Metric


def _cut(values: list[float], spacing: float) -> list[tuple[int, int]]:
    """Return where the plateaus of a nearly noiseless curve begin and end."""
    u, z = spacing * np.arange(len(values)), np.array(values)
    return [(p.start, p.stop) for p in cheapest_cut(u, price(u, z, np.full(len(z), 1e-3)))]


THIRD = float(np.log(2)) / 3  # three points an octave


@pytest.mark.parametrize(
    ("curve", "spacing", "expected"),
    [
        # A plateau between two cliffs has three points; two belong to the ramp, even if the second is a little higher.
        *(([0.0] * 6 + [-1.0] * n + [-2.0] * 6, THIRD, [(0, 6), (6, 6 + n), (6 + n, 12 + n)]) for n in (3, 4, 5)),
        ([0.0] * 6 + [-1.0, -0.99] + [-2.0] * 6, 1.5 * THIRD, [(0, 6), (8, 14)]),
        # It is four tenths of an octave long, however many points it has.
        ([0.0] * 6 + [-1.0] * 5 + [-2.0] * 6, 1.01 * LEAST_SPAN / 4, [(0, 6), (6, 11), (11, 17)]),
        # The last plateau has two points: a sweep may end soon after a cliff, but a single low point is none.
        ([0.0] * 6 + [-1.0], THIRD, [(0, 6)]),
        ([0.0] * 6 + [-1.0, -0.99], THIRD, [(0, 6), (6, 8)]),
        # The first is one point only as a peak: after a rise a curve may fall at once.
        ([-1.5, -0.7, 0.0] + [-1.0] * 6, THIRD, [(2, 3), (3, 9)]),
    ],
)
def test_plateaus_are_as_long_as_allowed(curve: list[float], spacing: float, expected: list[tuple[int, int]]) -> None:
    assert _cut(curve, spacing) == expected


def test_short_plateaus_are_none() -> None:
    assert len(_cut([0.0] * 6 + [-1.0] * 5 + [-2.0] * 6, 0.99 * LEAST_SPAN / 4)) == 2
    assert (0, 1) not in _cut([0.0] + [-1.0] * 6, THIRD)


@pytest.mark.parametrize("seed", range(20))
def test_no_cut_in_two_or_three_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u = np.log(2) / 3 * np.arange(14)
    z = np.repeat([0.0, -0.3, -0.9], [5, 4, 5]) + 0.1 * rng.standard_normal(14)
    costs = price(u, z, np.full(14, 0.1))
    found = cheapest_cut(u, costs)

    def total(plateaus: list[Plateau]) -> float:
        return costs.of(plateaus) + costs.penalty * len(plateaus) + costs.ramp[-1] - costs.ramp[plateaus[-1].stop - 1]

    long = [Plateau(i, j) for i, j in combinations(range(15), 2) if j - i >= 3]
    pairs = [[a, b] for a, b in combinations(long, 2) if a.stop <= b.start]
    threes = [[*pair, c] for pair in pairs for c in long if pair[1].stop <= c.start]
    assert total(found) <= min(map(total, [*([p] for p in long), *pairs, *threes])) + 1e-9


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
