"""Whether effects differ from zero by more than they vary by chance: one test for runs, devices and predictions.

An effect is the logarithm of a ratio of speeds. It is tested with Student's t. The false discovery rate of all tests
together is limited (Benjamini and Hochberg, 1995), and a minimum effect is required.
"""

from math import log1p, pi

import numpy as np
from numpy.typing import NDArray

from gpureport.observe.statistics import Floats

Flags = NDArray[np.bool_]

FALSE_DISCOVERIES = 0.05
"""Largest expected share of false discoveries. Among equal devices, the share of cases with any significant effect."""
EXCESS_OF_MEDIAN = pi / 2
"""Variance of the median / variance of the mean, of many normal samples."""


def shrunk(squares: Floats, dof: Floats | float, assumed: Floats, prior_dof: float) -> Floats:
    """Return the variance from a sum of *squares* and an *assumed* variance, weighted by their degrees of freedom.

    This is an empirical Bayes estimate (Smyth, Linear models and empirical Bayes methods, 2004, section 4).
    """
    return (prior_dof * assumed + squares) / (prior_dof + dof)


def p_values(effects: Floats, errors: Floats, dof: Floats | float = np.inf) -> Floats:
    """Return the probabilities of effects at least this far from zero by chance, given their standard errors."""
    from scipy.special import stdtr  # scipy.stats takes a second to load

    return np.asarray(2 * stdtr(dof, -np.abs(effects) / errors))


def interval_in_errors(dof: Floats | float) -> Floats:
    """Return the half-width of a 95 % interval / the standard error."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(dof, 0.975))


def adjusted(p_values: Floats) -> Floats:
    """Return p-values adjusted for the number of tests in their row (the last axis); 1 instead of NaN, no test."""
    order = np.argsort(p_values, axis=-1)
    ascending = np.take_along_axis(p_values, order, -1)  # NaN last
    tests = np.sum(~np.isnan(p_values), axis=-1, keepdims=True)
    raised = np.nan_to_num(ascending * (tests / np.arange(1, p_values.shape[-1] + 1)), nan=1.0)
    least = np.minimum.accumulate(raised[..., ::-1], axis=-1)[..., ::-1]
    found = np.empty_like(p_values)
    np.put_along_axis(found, order, np.minimum(least, 1.0), -1)
    return found


def significant(adjusted_p: Floats, effects: Floats, minimum_effect: float, rate: float = FALSE_DISCOVERIES) -> Flags:
    """Return which effects have an adjusted p-value of at most *rate* and reach a relative difference."""
    return (adjusted_p <= rate) & (np.abs(np.nan_to_num(effects)) >= log1p(minimum_effect))
