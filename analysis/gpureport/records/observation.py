"""Observations: what the samples of a sweep show."""

from gpureport.records.features import CurveFeature
from gpureport.records.keys import Axis, Metric, Point, Record, SweepKey
from gpureport.records.points import Points
from gpureport.records.quantities import CompactPositive, Many, Whole


class ObservedPoint(Point):
    """Statistics of one point."""

    time_s: CompactPositive
    """Median time of one dispatch."""
    value: CompactPositive
    """Median in the sweep's metric."""
    ci_low: CompactPositive
    """Lower end of the 95 % interval of the median, in the sweep's metric."""
    ci_high: CompactPositive
    """Upper end of the 95 % interval of the median, in the sweep's metric."""
    samples: Whole
    """Number of samples."""


class Observation(Record):
    """Statistics and features of a measured curve, found without knowledge of any prediction."""

    key: SweepKey
    """Which sweep."""
    metric: Metric
    """What the values of the points are."""
    axis: Axis
    """What the sweep varies."""
    points: Points[ObservedPoint]
    """Statistics of the points."""
    features: Many[CurveFeature]
    """Cliffs, tapers and rates of the observed curve."""
    warnings: Many[str] = ()
    """Reasons for caution, in sentences: drift, two clock states, too few samples."""
