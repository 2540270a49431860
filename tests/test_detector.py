"""The detector on synthetic sweeps of known truth: a small sample of what ``scripts/detector.py`` runs.

Limits leave room for the sample: about three standard errors below the figures of 2000 sweeps.
"""

import sys

import numpy as np
import pytest

import detector

CURVES = {"cliffs": 120, "flat": 60, "taper": 60, "slow taper": 60}


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    """The script's table, by the first column."""
    outcomes = [detector.outcome(kind, seed) for kind, number in CURVES.items() for seed in range(number)]
    return {row.what.strip(): row.value for row in detector.rows(outcomes)}


@pytest.mark.slow
def test_levels_are_counted_and_none_invented(figures: dict[str, float]) -> None:
    """One to four of them; flat curves, with outliers, drift or a slope, and tapers have one."""
    assert figures["level count right"] >= 97
    assert figures["false cliffs, flat"] == 0
    assert figures["false cliffs, tapers"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("position", "least"),
    [
        ("midpoint", 93),
        ("onset", 75),
        ("end", 75),
        ("taper n90", 85),
        ("taper knee", 95),
        ("slow taper n90", 75),
        ("slow taper knee", 93),
    ],
)
def test_positions_are_found_and_enclosed(figures: dict[str, float], position: str, least: float) -> None:
    """Shares in percent of positions within 5 % of the truth, where noise is at most 3 %; coverage of intervals."""
    assert figures[f"{position} within 5 %, noise <= 3 %"] >= least
    assert 87 <= figures[f"{position} 95 % interval covers"] <= 100


def test_the_truth_of_a_synthetic_cliff_is_what_it_says() -> None:
    """Without noise, the true curve is at 95 % of the upper plateau, half way, and 105 % of the lower."""
    step = sys.modules[detector.sweep.__module__]._transition(np.random.default_rng(3), 10.0)
    drop = step.drop * step.at(np.array([step.onset, step.midpoint, step.end]))
    assert drop == pytest.approx([-np.log(0.95), step.drop / 2, step.drop - np.log(1.05)], abs=0.01)
    assert 1.09 < np.exp(step.end - step.onset) < 2.01


def test_the_truth_of_a_synthetic_taper_is_what_it_says() -> None:
    """Nine tenths of the last point's rate, to the noise of 0.5 % that this seed has."""
    seed = next(s for s in range(1000) if detector.sweep("taper", s).noise < 0.006)
    made = detector.sweep("taper", seed)
    items = np.array([point.point.work_items for point in made.measurement.points])
    rates = items / np.array([np.median(point.samples_s) for point in made.measurement.points])
    at_n90 = np.exp(np.interp(np.log(made.truth["n90", "device"]), np.log(items), np.log(rates)))
    assert at_n90 / rates[-3:].mean() == pytest.approx(0.9, abs=0.02)
