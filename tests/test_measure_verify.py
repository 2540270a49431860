"""Results against references."""
# ruff: noqa: D103 - the names of the tests say what they check

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.measure.kernels import difference, verify
from tests.fake_backend import CopyWorkload, FakeBackend


def test_right_results_pass_and_wrong_ones_are_reported() -> None:
    result = verify(FakeBackend(), CopyWorkload(), np.random.default_rng(0))
    assert result.passed
    assert result.cases == ("items = 7; 1 dispatch", "items = 187; 1 dispatch")
    assert result.message == ""
    backend = FakeBackend(wrong=True)
    result = verify(backend, CopyWorkload(), np.random.default_rng(0))
    assert not result.passed
    assert result.cases == ("items = 7; 1 dispatch",)
    assert result.message.startswith("items = 7; 1 dispatch: to: 1 of 7 elements differ, the first at 1: ")
    assert backend.buffers == {}


def test_equal_bit_by_bit() -> None:
    nan = np.array([np.nan, 1.0, -0.0], np.float32)
    assert difference(nan, nan.copy(), 0) is None
    assert difference(nan, np.array([np.nan, 1.0, 0.0], np.float32), 0) == (
        "1 of 3 elements differ, the first at 2: -0.0 instead of 0.0"
    )


def test_structures_are_compared_by_bytes() -> None:
    kind = np.dtype([("x", "f4"), ("y", "f4")])
    got, expected = np.zeros((2, 3), kind), np.zeros((2, 3), kind)
    assert difference(got, expected, 0) is None
    got["y"][1, 2] = 1
    assert str(difference(got, expected, 0)).startswith("1 of 6 elements differ, the first at 5")


@pytest.mark.parametrize(("got", "wrong"), [(1.0009, False), (1.0011, True), (np.nan, True), (np.inf, True)])
def test_a_tolerance_is_relative(got: float, *, wrong: bool) -> None:
    expected = np.array([1.0, 1.0])
    assert (difference(np.array([1.0, got]), expected, 1e-3) is not None) == wrong
    assert (difference(np.array([1e6, 1e6 * got]), 1e6 * expected, 1e-3) is not None) == wrong


def test_small_values_may_have_the_error_of_large_values() -> None:
    assert difference(np.array([1000.0, 0.5]), np.array([1000.0, 0.0]), 1e-3) is None
    assert difference(np.array([1000.0, 0.8]), np.array([1000.0, 0.0]), 1e-3) is not None


@given(st.integers(0, 63), st.integers(0, 31))
def test_every_flipped_bit_is_found(element: int, bit: int) -> None:
    expected = np.arange(64, dtype=np.uint32)
    got = expected.copy()
    got[element] ^= np.uint32(1 << bit)
    assert str(difference(got, expected, 0)).startswith(f"1 of 64 elements differ, the first at {element}:")
