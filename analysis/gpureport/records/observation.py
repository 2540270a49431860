"""What the samples of a sweep show."""

from typing import Annotated

from gpureport.records.features import CurveFeature
from gpureport.records.keys import POINTS_ONCE, Axis, Metric, PointKey, Record, SweepKey
from gpureport.records.quantities import CompactPositive, Many, Whole


class ObservedPoint(Record):
    """The statistics of one point."""

    point: PointKey
    time_s: CompactPositive
    """Median time of one dispatch."""
    value: CompactPositive
    """Median in the sweep's metric."""
    ci_low: CompactPositive
    ci_high: CompactPositive
    """95 % interval of the median, in the sweep's metric."""
    samples: Whole


class Observation(Record):
    """What the samples show: points with intervals, and the features found in them without being told where."""

    key: SweepKey
    metric: Metric
    axis: Axis
    points: Annotated[Many[ObservedPoint], POINTS_ONCE]
    features: Many[CurveFeature]
    warnings: Many[str] = ()
    """Drift, two clock states, too few samples: what a reader must know before trusting the curve."""
