"""Local-memory bandwidth: conflicts by stride, the table, the sweep."""
# ruff: noqa: D103 - the names of the tests say what they check

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict import limits_of, predict
from gpureport.workloads.local_memory import Bandwidth
from tests.toy import TOY

WORKLOAD = Bandwidth()


def _conflicts(stride: int) -> float:
    parameters = {"width": 4, "stride": stride, "groups": 1, "local": 32, "chains": 1, "steps": 1, "rounds": 1}
    return WORKLOAD.demand(parameters, TOY).local_conflicts


@given(st.integers(1, 100))
def test_conflicts_are_what_counting_banks_gives(stride: int) -> None:
    banks = np.arange(32) * stride % 32
    assert _conflicts(stride) == np.bincount(banks).max()


def test_predicted_rates_divide_by_the_conflicts() -> None:
    """128 bytes per cycle and compute unit without conflicts, for every width."""
    (prediction,) = predict(TOY, WORKLOAD, limits_of(TOY))
    rates = {point.point.label: point.value for point in prediction.points}
    assert rates["4 B, stride 1"] == pytest.approx(128 * 100 * 1e9, rel=0.03)
    assert rates["16 B, stride 1"] == pytest.approx(128 * 100 * 1e9, rel=0.08)
    assert rates["4 B, stride 33"] == pytest.approx(rates["4 B, stride 1"])
    assert rates["4 B, stride 1"] / rates["4 B, stride 16"] == pytest.approx(16, rel=0.05)
    assert {point.bottleneck for point in prediction.points} == {"local"}


@pytest.mark.parametrize("width", [4, 8, 16])
def test_chains_visit_elements_an_even_distance_apart(width: int) -> None:
    """The folded words are the index of an element a constant distance further, modulo the table."""
    parameters = {"case": 1, "width": width, "stride": 1, "groups": 1, "local": 8, "chains": 1, "steps": 1, "rounds": 1}
    job = WORKLOAD.job(parameters, np.random.default_rng(2))
    table = job.buffers[f"contents{width}"].filled().reshape(-1, width // 4)
    following = np.bitwise_xor.reduce(table, axis=1)
    distances = (following.astype(np.int64) - np.arange(len(table))) % len(table)
    assert len(table) == 2112 * 4 // width
    assert following.max() < len(table)
    assert len(set(distances.tolist())) == 1
    assert distances[0] != 0
