"""Curves of transfers: a fixed cost and a rate. Large transfers have the rate of the link, or of copies by the host."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.statistics import NORMAL_95, Estimate

Floats = NDArray[np.float64]

_LARGE = 1 / 8
"""Transfers above this share of the largest belong to the plateau."""
_NINE_TENTHS = float(np.log(0.9))


@dataclass(frozen=True)
class TransferSaturation:
    """The plateau of a curve of transfers, and the size for 90 % of it.

    Attributes:
        plateau: median rate of the largest transfers.
        n90: size in bytes from which on the rate is at least 90 % of it; ``None`` if the smallest transfers reach it.
    """

    plateau: Estimate
    n90: Estimate | None


def saturation_of_transfers(size: Floats, rates: Floats, noise: Floats) -> TransferSaturation:
    """Return plateau and n90 of a curve.

    Rates may exceed the plateau before it, where caches of the host serve small transfers.

    Args:
        size: bytes of one transfer, ascending, shape (n,).
        rates: bytes/s, shape (n,).
        noise: relative standard errors of the rates, shape (n,); zeros for a predicted curve, without intervals.
    """
    large = size > size[-1] * _LARGE
    level = float(np.median(np.log(rates[large])))
    error = NORMAL_95 * float(np.median(noise[large]))
    plateau = Estimate.of_logarithm(level, error)
    u, shares = np.log(size), np.log(rates) - level
    reached = np.flatnonzero(shares >= _NINE_TENTHS)
    first = int(reached[0]) if len(reached) else 0
    if not first:
        return TransferSaturation(plateau, None)
    slope = (shares[first] - shares[first - 1]) / (u[first] - u[first - 1])
    place = float(u[first - 1] + (_NINE_TENTHS - shares[first - 1]) / slope)
    return TransferSaturation(
        plateau, Estimate.of_logarithm(place, NORMAL_95 * float(noise[first]) / max(float(slope), 0.1))
    )
