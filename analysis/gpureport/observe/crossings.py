"""Position at which a noisy falling curve crosses a value, and its uncertainty with few points."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def falling_fit(z: Floats, weight: Floats) -> Floats:
    """Return the isotonic (never rising) least-squares fit of each row of *z*, with the weights of its columns."""
    from scipy.optimize import isotonic_regression

    return np.array([isotonic_regression(row, weights=weight, increasing=False).x for row in z])


def crossing(u: Floats, fit: Floats, target: Floats, *, straight: bool) -> tuple[Floats, Floats, Floats]:
    """Return the position at which each row falls to its target, and the range of possible positions.

    Between two points a monotone curve may run anywhere between its chord and the extensions of the neighbouring
    segments. This range is narrow for a well resolved fall, and the whole distance of the points for a sharp one.

    Args:
        u: positions, never falling, shape (n,).
        fit: never rising, shape (rows, n).
        target: shape (rows,).
        straight: estimate by the chord (at an inflection point) instead of the middle of the range (at a bend).

    Returns:
        Estimate, lower and upper end of the range, each of shape (rows,).
    """
    row = np.arange(len(fit))
    j = np.clip(np.argmax(fit <= target[:, None], axis=1), 1, len(u) - 1)
    reached = fit[:, -1] <= target
    j = np.where(reached, j, len(u) - 1)
    above, below = fit[row, j - 1], fit[row, j]
    slopes = np.diff(fit, axis=1) / np.maximum(np.diff(u), 1e-12)
    slopes = np.minimum(np.pad(slopes, ((0, 0), (1, 1))), -1e-12)
    a, b = u[j - 1], u[j]
    chord = np.clip(a + (above - target) / np.maximum(above - below, 1e-12) * (b - a), a, b)
    left = np.clip(a + (target - above) / slopes[row, j - 1], a, b)
    right = np.clip(b + (target - below) / slopes[row, j + 1], a, b)
    ends = np.sort([left, right], axis=0)
    low = np.where(ends[0] >= chord, chord, ends[0])
    high = np.where(ends[1] <= chord, chord, ends[1])
    nearer = np.where(ends[0] >= chord, ends[0], np.where(ends[1] <= chord, ends[1], low + high - chord))
    return (chord if straight else (chord + nearer) / 2.0), low, high
