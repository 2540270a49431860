"""Features of curves without noise."""

from typing import Any

import numpy as np

from gpureport.observe.features import Curve, curve_features
from gpureport.records.curves import Axis, CurveFeature, Metric


def features_of_curve(axis: Axis, metric: Metric, *columns: Any) -> tuple[CurveFeature, ...]:
    """Return the features of work-items, working sets, values and times, all by ascending size."""
    return curve_features(axis, metric, Curve(*map(np.asarray, columns), np.zeros(len(columns[0]))))[0]
