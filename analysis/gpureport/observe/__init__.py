"""Statistics of samples, and features of curves: plateaus, cliffs and tapers, each with an interval.

Pure functions of arrays, without knowledge of predictions. :func:`observe` takes a measurement;
:func:`features_of_points` applies the same definitions to predicted points.

Arrays have the same names everywhere: ``u`` is ln(size) or ln(work-items), never falling; ``z`` or ``rates`` is
ln(rate), and ``noise`` its standard errors, zeros for a curve without noise; all of shape (n,). ``copies`` is ln(rate)
of shape (rows, n): the curve in row 0, and its replicates below.
"""

from gpureport.observe.features import features_of_points
from gpureport.observe.observation import observe

__all__ = ["features_of_points", "observe"]
