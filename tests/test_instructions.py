"""Instruction microbenchmarks: exact references, units of work, demands."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpureport.spec.models import Device
from gpureport.workloads import sub_group
from gpureport.workloads.instructions import ARITHMETIC, EXCHANGES, WORKLOADS, Chains, Operation, Words, fma
from gpureport.workloads.model import Features, Limits
from tests.toy import MIB, TOY, on_cpu

CPU = on_cpu()
_, LATENCY, SUB_GROUP_LATENCY, _, RATE, SUB_GROUP_RATE, _ = WORKLOADS
SINGLES = st.floats(-(2.0**40), 2.0**40, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-40)


@given(SINGLES, SINGLES, SINGLES)
def test_the_reference_rounds_multiply_adds_once(a: float, b: float, c: float) -> None:
    """No other single lies nearer to the exact value; of two equally near the even one is taken."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assume(exact == 0 or abs(exact) > Fraction(2) ** -100)
    got = fma(*(np.array([x], dtype=np.float32) for x in (a, b, c)))[0]
    error = abs(Fraction(float(got)) - exact)
    for other in (np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))):
        distance = abs(Fraction(float(other)) - exact)
        assert error <= distance
        if error == distance:
            assert got.view(np.uint32) % 2 == 0


def test_rounding_twice_would_be_wrong() -> None:
    """2^-70 less than a tie: lost in double precision, which would then round up."""
    a, b, c = (np.array([x], dtype=np.float32) for x in (2.0**-12 + 2.0**-35, 2.0**-12 - 2.0**-35, 1 + 2.0**-23))
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert fma(a, b, c)[0] == np.float32(1 + 2.0**-23)
    assert twice[0] == np.float32(1 + 2.0**-22)


def _case(name: str) -> Operation:
    return next(case for case in (*ARITHMETIC, *EXCHANGES) if case.name == name)


def _words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def test_steps_are_the_operations_that_they_are_named_after() -> None:
    assert _case("add").step((_words(2**32 - 1), _words(3)), (), 0)[1].tolist() == [2]
    assert _case("int32_mul").step((_words(2**16 + 1),), (_words(7),), 0)[0].tolist() == [2**17 + 8]
    assert _case("shift").step((_words(0b1011), _words(33)), (), 0)[1].tolist() == [0b101 | 1 << 31]
    assert _case("shift").step((_words(0b1011), _words(32)), (), 0)[1].tolist() == [0b1011]
    k = (_words(0b0011), _words(0b0101), _words(0b1111), _words(0))
    ternary, x = _case("ternary"), (_words(0b0110), _words(0b1010))
    assert [each.tolist() for each in ternary.step(x, k, 0)] == [[0b0101], [0b1010]]
    assert ternary.step(x, k, 1)[0].tolist() == [2**32 - 1 & ~0b0110 & 0b1111]
    assert ternary.vector_step
    assert [each.tolist() for each in ternary.vector_step(x, k, 4)] == [[0b1010], [0b0011]]
    assert ternary.vector_step(x, k, 6)[1].tolist() == [0b1011]


def test_exchanges_are_those_of_the_sub_group() -> None:
    """A shuffle brings the word of the lane four away; a ballot one bit for each of eight lanes, to all of them."""
    lanes = np.arange(16, dtype=np.uint32)
    assert _case("shuffle").step((lanes,), (), 0)[0].tolist() == [i ^ 4 for i in range(16)]
    votes = _case("ballot").step((_words(1, 0, 0, 3, 0, 0, 0, 2),), (_words(*[0xFF] * 8),), 0)[0]
    assert votes.tolist() == [0b10001001] * 8


def test_the_chase_keeps_every_lane_in_its_bank_and_visits_all_its_rows() -> None:
    table = _case("local").operands(np.random.default_rng(1), 1)
    at = np.arange(32, dtype=np.uint32)
    rows = []
    for _ in range(32):
        at = table[at]
        assert (at % 32).tolist() == list(range(32))
        rows.append(at // 32)
    assert all(len(set(column.tolist())) == 32 for column in np.array(rows).T)


@pytest.mark.parametrize("lanes", [1, 8])
def test_multiply_adds_stay_bounded(lanes: int) -> None:
    case = _case("fp32")
    words: tuple[Words, ...] = (case.initial(np.random.default_rng(4), lanes),)
    operands = (case.operands(np.random.default_rng(5), lanes),)
    for step in range(200):
        words = case.step(words, operands, step)
    assert np.abs(words[0].view(np.float32)).max() <= 2


@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize(
    "workload", [LATENCY, RATE, SUB_GROUP_LATENCY, SUB_GROUP_RATE], ids=lambda workload: workload.name
)
def test_cases_are_labelled_by_their_class(workload: Chains, device: Device) -> None:
    """Labels are instruction classes; no work-group is larger than allowed; a CPU has no barrier to time."""
    limits = Limits(max_bytes=256 * MIB, max_buffer_bytes=128 * MIB, max_work_group=64)
    (sweep,) = workload.sweeps(device, limits)
    keys = [workload.point(parameters, sweep) for parameters in sweep.points]
    expected = [c.name for c in workload.cases if not (device is CPU and c.name == "barrier")]
    assert [key.label for key in keys] == expected
    assert all(parameters["local"] <= 64 for parameters in sweep.points)
    items = [p["groups"] * p["local"] for p in sweep.points]
    assert [key.work_items for key in keys] == items
    assert all(key.work > 0 for key in keys)


def test_exchanges_are_skipped_with_the_reason() -> None:
    def features(*extensions: str) -> Features:
        return Features(frozenset(extensions), "gpu", 1)

    mixed = features("cl_khr_subgroup_ballot", "cl_intel_subgroups")
    both = features("cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot")

    assert "no sub-group shuffle" in (SUB_GROUP_RATE.missing(features()) or "")
    assert "no sub-group ballot" in (SUB_GROUP_LATENCY.missing(features("cl_khr_subgroup_shuffle")) or "")
    assert "different extensions" in (SUB_GROUP_RATE.missing(mixed) or "")
    assert SUB_GROUP_RATE.missing(both) is None
    assert SUB_GROUP_LATENCY.options(both) == sub_group.options(both, "shuffle") != ""
    assert RATE.missing(features()) is None
