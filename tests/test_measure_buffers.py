"""Buffers shared by name, on a device of little memory, and the random data that points share."""

import numpy as np
import pytest

from gpureport.measure.backends.protocol import AllocationError
from gpureport.measure.buffers import BufferPool, Draws
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Buffer, Limits
from tests.fake_backend import FakeBackend


def limits(most: float, buffer: float | None = None) -> Limits:
    return Limits(max_bytes=most, max_buffer_bytes=most if buffer is None else buffer, max_work_group=1)


def nothing(_: str, nbytes: int) -> Buffer:
    return Buffer(nbytes)


def test_a_buffer_that_is_large_enough_is_reused() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(10_000))
    first = pool.acquire({"a": 100, "b": 50}, nothing)
    assert pool.acquire({"a": 40}, nothing) == {"a": first["a"]}
    assert backend.allocated == [100, 50]


def test_growth_at_least_doubles_within_the_limits_and_frees_the_smaller_buffer() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(10_000))
    for size in (100, 110, 190, 450):
        pool.acquire({"a": size}, nothing)
    assert backend.allocated == [100, 200, 450]
    assert len(backend.buffers) == 1
    backend = FakeBackend()
    pool = BufferPool(backend, limits(250, 150))
    pool.acquire({"a": 100}, nothing)
    pool.acquire({"a": 101, "b": 120}, nothing)
    assert backend.allocated == [100, 101, 120]


def test_the_least_recently_used_buffer_is_freed() -> None:
    backend = FakeBackend()
    pool = BufferPool(backend, limits(300))
    ids = {name: pool.acquire({name: 100}, nothing)[name] for name in "abc"}
    pool.acquire({"a": 100}, nothing)
    pool.acquire({"d": 100}, nothing)
    assert [name for name in ids if ids[name] in backend.buffers] == ["a", "c"]


def test_buffers_of_other_points_are_freed_when_the_device_has_less_memory_than_the_limits() -> None:
    backend = FakeBackend(memory_bytes=250)
    pool = BufferPool(backend, limits(10_000))
    pool.acquire({"a": 100, "b": 100}, nothing)
    pool.acquire({"c": 200}, nothing)
    assert [a.nbytes for a in backend.buffers.values()] == [200]
    with pytest.raises(AllocationError, match="no room for a buffer of 300 bytes"):
        pool.acquire({"d": 300}, nothing)


def test_contents_are_made_only_to_initialise_and_are_repeated() -> None:
    backend = FakeBackend()
    made: list[str] = []

    def contents(name: str, nbytes: int) -> Buffer:
        made.append(name)
        return Buffer(nbytes, np.arange(3, dtype=np.uint8))

    pool = BufferPool(backend, limits(10_000))
    identity = pool.acquire({"a": 7}, contents)["a"]
    pool.acquire({"a": 5}, contents)
    assert made == ["a"]
    assert backend.buffers[identity].tolist() == [0, 1, 2, 0, 1, 2, 0]


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
