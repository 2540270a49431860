"""Hypotheses about why a curve differs from its prediction, and tests of them."""
