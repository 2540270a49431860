"""Random data that points share."""
# ruff: noqa: D103 - the names of the tests say what they check

import numpy as np

from gpureport.measure.draws import Draws
from gpureport.workloads import all_workloads


def test_equal_draws_of_two_generators_are_equal_and_independent_copies() -> None:
    draws = Draws(7)
    first, second = draws.generator(), draws.generator()
    drawn = first.integers(0, 256, 1000, dtype=np.uint8)
    before_change = drawn.copy()
    drawn[:] = 0
    assert (second.integers(0, 256, 1000, dtype=np.uint8) == before_change).all()


def test_successive_draws_differ_and_so_do_seeds() -> None:
    generator = Draws(7).generator()
    first, second = generator.random(50), generator.random(50)
    assert (first != second).any()
    assert (Draws(8).generator().random(50) != first).any()


def test_a_draw_does_not_depend_on_the_sizes_of_those_before() -> None:
    draws = Draws(7)
    one, other = draws.generator(), draws.generator()
    one.integers(0, 9, 10)
    other.integers(0, 9, 20)
    assert (one.random(5) == other.random(5)).all()


def test_every_workload_can_draw_from_it() -> None:
    for workload in all_workloads():
        parameters, draws = workload.verification()[0], Draws(3)
        jobs = [workload.job(parameters, draws.generator()) for _ in range(2)]
        for name, buffer in jobs[0].buffers.items():
            if buffer.contents is not None:
                again = jobs[1].buffers[name].contents
                assert again is not None
                assert (buffer.contents == again).all() or np.isnan(buffer.contents.astype(float)).any()
