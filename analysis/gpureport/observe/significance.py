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
    from scipy.stats import t as student

    return np.asarray(2 * student.sf(np.abs(effects) / errors, dof))


def interval_in_errors(dof: Floats | float) -> Floats:
    """Return the half-width of a 95 % interval / the standard error."""
    from scipy.stats import t as student

    return np.asarray(student.ppf(0.975, dof))


def adjusted(p_values: Floats) -> Floats:
    """Return p-values adjusted for the number of tests in their row (the last axis); 1 instead of NaN, no test."""
    from scipy.stats import false_discovery_control

    found = np.ones_like(p_values)
    for own, row in zip(np.atleast_2d(found), np.atleast_2d(p_values), strict=True):
        known = ~np.isnan(row)
        own[known] = false_discovery_control(row[known])
    return found


def judged(effects: Floats, errors: Floats, least: float, dof: Floats | float = np.inf) -> tuple[Floats, Flags]:
    """Return the p-values of effects, and which of them are :func:`significant`; *least* is the minimum effect."""
    chances = p_values(effects, errors, dof)
    return chances, significant(adjusted(chances), effects, least)


def significant(adjusted_p: Floats, effects: Floats, minimum_effect: float, rate: float = FALSE_DISCOVERIES) -> Flags:
    """Return which effects have an adjusted p-value of at most *rate* and reach a relative difference."""
    return (adjusted_p <= rate) & (np.abs(np.nan_to_num(effects)) >= log1p(minimum_effect))
