"""Cuts of a curve into plateaus: their lengths, and the cheapest of all that are allowed."""
# ruff: noqa: D103 - the names of the tests say what they check

from itertools import combinations

import numpy as np
import pytest

from gpureport.observe.cuts import LEAST_SPAN, Plateau, cheapest_cut, price


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
