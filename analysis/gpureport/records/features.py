"""Features of curves: cliffs, tapers, rates."""

from typing import Literal

from gpureport.records.keys import Record
from gpureport.records.levels import Level
from gpureport.records.quantities import CompactPositive, Name

Feature = Literal["cliff", "taper", "rate"]
"""What a finding is about: where a cache gives out, how much work fills the device, how fast it then runs."""


Position = Literal["onset", "midpoint", "end", "knee", "n90", "plateau", "peak", "case"]
"""Which point of the feature. Cliff: *departure* (95 % of the upper plateau), *midpoint* (half way, in log),
*arrival* (within 5 % of the lower plateau). Taper: *knee* (flat time x peak rate), *n90* (90 % of the plateau).
Rate: *plateau* (a level of the curve), *peak* (the best point of a sweep), *case* (one of several separate cases)."""


class CurveFeature(Record):
    """One position of one feature of a curve, predicted or observed."""

    feature: Feature
    position: Position
    level: Level
    """Which level it belongs to: the one that a cliff ends, the one of a plateau; ``device`` for tapers."""
    value: CompactPositive
    unit: Name
    """``B`` for cliffs, ``work-items`` for tapers, the metric's unit (``B/s``, ``s``, ``cells/s``) for rates."""
    ci_low: CompactPositive | None = None
    ci_high: CompactPositive | None = None
    """95 % interval; ``None`` for a prediction that has none."""
    best_point: CompactPositive | None = None
    """Of a plateau that is fitted without launch cost, and so lies above all of its points: the best value of these.
    ``None``: points reach the value."""


MAIN_POSITIONS = frozenset({"midpoint", "n90", "plateau", "peak", "case"})
"""The position of each feature that stands for it where there is room for one."""
