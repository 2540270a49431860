"""Random data that points share."""
# ruff: noqa: D103 - the names of the tests say what they check

import numpy as np

from gpureport.measure.buffers import Draws
from gpureport.workloads import all_workloads


def test_equal_draws_are_equal_independent_copies_whatever_the_sizes_before() -> None:
    draws = Draws(7)
    one, other = draws.generator(), draws.generator()
    drawn = one.integers(0, 256, 1000, dtype=np.uint8)
    before_change = drawn.copy()
    drawn[:] = 0
    assert (other.integers(0, 256, 1000, dtype=np.uint8) == before_change).all()
    one.integers(0, 9, 10)
    other.integers(0, 9, 20)
    first, second = one.random(50), one.random(50)
    assert (first == other.random(50)).all()
    assert (first != second).any()
    assert (Draws(8).generator().random(50) != Draws(7).generator().random(50)).any()


def test_every_workload_can_draw_from_it() -> None:
    for workload in all_workloads():
        parameters, draws = workload.verification()[0], Draws(3)
        jobs = [workload.job(parameters, draws.generator()) for _ in range(2)]
        for name, buffer in jobs[0].buffers.items():
            if buffer.contents is not None:
                np.testing.assert_array_equal(jobs[1].buffers[name].contents, buffer.contents)
