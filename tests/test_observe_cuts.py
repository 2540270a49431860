"""Cuts of a curve into plateaus: their lengths, and the cheapest of all that are allowed."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.observe.cuts import LEAST_SPAN, Plateau, cheapest_cut, price


@given(st.integers(0, 20), st.integers(1, 20))
def test_a_plateau_has_as_many_points_as_its_part_of_a_curve(start: int, length: int) -> None:
    """From its first point to the one before its end."""
    plateau = Plateau(start, start + length)

    assert len(plateau) == len(plateau.of(np.arange(50.0))) == length
    assert plateau.of(np.arange(50.0))[0] == start


def _cut(values: list[float], spacing: float) -> list[tuple[int, int]]:
    """Return where the plateaus of a nearly noiseless curve begin and end."""
    u, z = spacing * np.arange(len(values)), np.array(values)
    return [(p.start, p.stop) for p in cheapest_cut(u, price(u, z, np.full(len(z), 1e-3)))]


@pytest.mark.parametrize("points", [3, 4, 5])
def test_a_plateau_between_two_cliffs_has_three_points(points: int) -> None:
    """At three points an octave."""
    curve = [0.0] * 6 + [-1.0] * points + [-2.0] * 6

    assert _cut(curve, np.log(2) / 3) == [(0, 6), (6, 6 + points), (6 + points, 12 + points)]


def test_two_points_between_two_cliffs_are_no_plateau() -> None:
    """They belong to the ramp, even if they are half an octave apart and the second is a little higher."""
    assert _cut([0.0] * 6 + [-1.0, -0.99] + [-2.0] * 6, np.log(2) / 2) == [(0, 6), (8, 14)]


@pytest.mark.parametrize(("share", "plateaus"), [(0.99, 2), (1.01, 3)])
def test_a_plateau_between_two_cliffs_is_four_tenths_of_an_octave_long(share: float, plateaus: int) -> None:
    """However many points it has: here five."""
    assert len(_cut([0.0] * 6 + [-1.0] * 5 + [-2.0] * 6, share * LEAST_SPAN / 4)) == plateaus


@pytest.mark.parametrize(("points", "expected"), [(1, [(0, 6)]), (2, [(0, 6), (6, 8)])])
def test_the_last_plateau_has_two_points(points: int, expected: list[tuple[int, int]]) -> None:
    """A sweep may end soon after a cliff; a single low point is none."""
    assert _cut([0.0] * 6 + [-1.0, -0.99][:points], np.log(2) / 3) == expected


def test_the_first_plateau_is_one_point_only_as_a_peak() -> None:
    """After a rise a curve may fall at once."""
    assert _cut([-1.5, -0.7, 0.0] + [-1.0] * 6, np.log(2) / 3) == [(2, 3), (3, 9)]
    assert (0, 1) not in _cut([0.0] + [-1.0] * 6, np.log(2) / 3)


@pytest.mark.parametrize("seed", range(20))
def test_no_cut_in_two_or_three_is_cheaper(seed: int) -> None:
    """Against all cuts of a curve with noise, tried one by one."""
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
