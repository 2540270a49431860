"""What measured curves show: statistics of samples; plateaus, cliffs and tapers, each with an interval.

Pure functions of arrays that know of no prediction. :func:`observe` takes a measurement;
:func:`features_of_curve` and :func:`case_features` find those of a prediction by the same definitions.
"""

from gpureport.observe.features import case_features, features_of_curve, features_of_points
from gpureport.observe.observation import observe

__all__ = ["case_features", "features_of_curve", "features_of_points", "observe"]
