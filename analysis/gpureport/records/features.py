"""Features of curves: cliffs, tapers, rates."""

from typing import Literal

from gpureport.records.keys import Record
from gpureport.records.levels import Level
from gpureport.records.quantities import CompactPositive, Name

Feature = Literal["cliff", "taper", "rate"]
"""``cliff``: the working set at which a cache level stops serving the accesses. ``taper``: the parallel work at which
throughput saturates. ``rate``: the value on a plateau."""


Position = Literal["onset", "midpoint", "end", "knee", "n90", "plateau", "peak", "case"]
"""Position within the feature. Cliff: *onset* (95 % of the upper plateau), *midpoint* (halfway on the log axis), *end*
(within 5 % of the lower plateau). Taper: *knee* (flat time x peak rate), *n90* (work for 90 % of the peak). Rate:
*plateau* (of the curve), *peak* (best point of a sweep), *case* (one of several separate cases)."""


class CurveFeature(Record):
    """One position of one feature of a curve, predicted or observed."""

    feature: Feature
    """``cliff`` (capacity transition), ``taper`` (saturation point) or ``rate``."""
    position: Position
    """Cliff: ``onset``, ``midpoint`` or ``end``. Taper: ``knee`` or ``n90``. Rate: ``plateau``, ``peak`` or
    ``case``."""
    level: Level
    """The level that ends at a cliff, or the level of a plateau; ``device`` for tapers."""
    value: CompactPositive
    """Position of a cliff or taper, or value of a rate, in *unit*."""
    unit: Name
    """``B`` for cliffs and for tapers of transfers, ``work-items`` for other tapers, the metric's unit (``B/s``, ``s``,
    ``cells/s``) for rates."""
    ci_low: CompactPositive | None = None
    """Lower end of the 95 % interval; ``None`` for a prediction without interval."""
    ci_high: CompactPositive | None = None
    """Upper end of the 95 % interval; ``None`` for a prediction without interval."""
    best_point: CompactPositive | None = None
    """Best measured value of a plateau that was fitted without launch cost and therefore exceeds all of its points.
    ``None``: points reach the value."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, or twice the value."""
        low, high = self.ci_low, self.ci_high
        return self.value if low is None else low, self.value if high is None else high

    def expects(self, value: float) -> bool:
        """Return whether the interval contains *value*."""
        low, high = self.ends
        return low <= value <= high


MAIN_POSITIONS = frozenset({"midpoint", "n90", "plateau", "peak", "case"})
"""The position that represents a feature where only one is shown."""
