"""Particles: the reference against known physics."""

import numpy as np
import pytest

from gpureport.workloads.particles import BOUNCING, STEP_S, advanced, drawn


def test_a_particle_bounces() -> None:
    """It leaves the square for one step, turns, and comes back; without the bounce it moves on."""
    state = np.array([[0.999, 0.5, 2.0, 0.0], [0.5, 0.001, 0.0, -2.0]], dtype=np.float32)
    one, two = (advanced(state, steps, bounce=True) for steps in (1, 2))
    straight = advanced(state, 2, bounce=False)
    assert one[0, 0] > 1
    assert one[1, 1] < 0
    np.testing.assert_array_equal(one[:, 2:], [[-2, 0], [0, 2]])
    np.testing.assert_allclose(two[:, :2], state[:, :2], atol=1e-6)
    np.testing.assert_array_equal(straight[:, 2:], state[:, 2:])
    np.testing.assert_allclose(straight[:, :2], state[:, :2] + 2 * STEP_S * state[:, 2:], rtol=1e-6)


def test_as_many_bounce_as_the_model_says() -> None:
    """The share of particles that take the branch per step, counted over a few steps."""
    state = drawn(np.random.default_rng(1), 2**17)
    after = advanced(state, 1, bounce=True)
    turned = np.sum(after[:, 2:] != state[:, 2:]) / len(state)
    assert turned == pytest.approx(BOUNCING, rel=0.1)
    assert BOUNCING == 1 / 64
