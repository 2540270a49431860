"""Statistics of samples, and features of curves: plateaus, cliffs and tapers, each with an interval.

Pure functions of arrays, without knowledge of predictions. :func:`observe` takes a measurement;
:func:`features_of_points` applies the same definitions to predicted points.
"""

from gpureport.observe.features import features_of_points
from gpureport.observe.observation import observe

__all__ = ["features_of_points", "observe"]
