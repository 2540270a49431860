"""Choice of the points of a sweep to measure next: those where the curve bends. Pure."""

from collections.abc import Sequence

import numpy as np

BEND = 0.04
"""A gap is divided if the curve may deviate by more than this (in log) from the straight line across it."""


def between(positions: Sequence[float], times: Sequence[float | None], most: int) -> list[int]:
    """Return the indices of the points to measure next, the most informative first.

    The deviation from the line across a gap is estimated from the difference between its slope and the slopes of the
    neighbouring gaps.

    Args:
        positions: of all points of the sweep on its axis, ascending, shape (n,).
        times: seconds per unit of work, ``None`` for points that were not measured, shape (n,).
        most: largest number of indices.
    """
    known = [index for index, time in enumerate(times) if time is not None]
    widths = np.diff(np.log([positions[index] for index in known]))
    steps = np.diff(np.log([time for time in times if time is not None]))
    changes = np.pad(np.abs(np.diff(steps / widths)), 1)  # of the slope, at both ends of each gap
    deviations = np.maximum(changes[:-1], changes[1:]) * widths / 2
    # A jump also changes the slope difference of its neighbours: the gap with the jump comes first.
    scores = deviations + np.abs(steps) / 4
    order = np.argsort(-scores, kind="stable").tolist()
    bent = [gap for gap in order if known[gap + 1] - known[gap] > 1 and deviations[gap] > BEND]
    return [(known[gap] + known[gap + 1]) // 2 for gap in bent[:most]]
