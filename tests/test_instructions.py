"""Instruction microbenchmarks: exact references, units of work, demands."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpureport.spec.models import Device
from gpureport.workloads.instructions import ARITHMETIC, WORKLOADS, Chains, fma
from gpureport.workloads.model import Limits
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


def test_the_residual_of_a_product_of_doubles_is_exact() -> None:
    x, y = np.random.default_rng(1).uniform(-2, 2, (2, 1000))
    exact = [Fraction(a) * Fraction(b) - Fraction(a * b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert fma(x, y, -x * y).tolist() == [float(each) for each in exact]


def test_the_chase_keeps_every_lane_in_its_bank_and_visits_all_its_rows() -> None:
    (case,) = (case for case in ARITHMETIC if case.name == "local")
    table = case.operands(np.random.default_rng(1), 1)
    at = np.arange(32, dtype=np.uint32)
    rows = []
    for _ in range(32):
        at = table[at]
        assert (at % 32).tolist() == list(range(32))
        rows.append(at // 32)
    assert all(len(set(column.tolist())) == 32 for column in np.array(rows).T)


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
