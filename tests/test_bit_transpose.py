"""Bit transpositions (reference, back ends, layouts, demands), and particles against known physics."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict import limits_of
from gpureport.workloads import bit_transpose, grid, instructions
from gpureport.workloads.bit_transpose import ROWS, WORKLOADS, Columns, Shuffle, Transpose
from gpureport.workloads.particles import BOUNCING, advanced, drawn
from tests.fake_backend import having
from tests.toy import TOY, toy

VARIANTS: tuple[Transpose, ...] = WORKLOADS
*_, RATE, SUB_GROUP_RATE, _ = instructions.WORKLOADS


@given(st.integers(0, 2), st.integers(0, 31), st.integers(0, 31), st.integers(0, 2**32 - 1))
def test_the_reference_transposes(tile: int, row: int, column: int, seed: int) -> None:
    """Bit c of row r becomes bit r of row c; of 8 x 8 matrices, within each of the 16 of a tile."""
    words = np.random.default_rng(seed).integers(0, 2**32, (3, ROWS), dtype=np.uint32)
    whole, parts = (bit_transpose.transposed(words.ravel(), size).reshape(3, ROWS) for size in (32, 8))
    bit = words[tile, row] >> np.uint32(column) & 1
    assert whole[tile, column] >> np.uint32(row) & 1 == bit
    other_row, other_column = row - row % 8 + column % 8, column - column % 8 + row % 8
    assert parts[tile, other_row] >> np.uint32(other_column) & 1 == bit


@pytest.mark.parametrize("workload", VARIANTS, ids=lambda workload: workload.variant)
def test_dispatches_cover_all_rows_in_whole_groups(workload: Transpose) -> None:
    """Every row has a work-item, and at most one work-group is partly idle."""
    for parameters in workload.verification():
        (dispatch,) = workload.job(parameters, np.random.default_rng(1)).dispatches
        items, group = prod(dispatch.global_size), prod(dispatch.local_size)
        assert all(whole % part == 0 for whole, part in zip(dispatch.global_size, dispatch.local_size, strict=True))
        assert 0 <= items * workload.rows_per_item - parameters["tiles"] * ROWS < group * workload.rows_per_item


@pytest.mark.parametrize("workload", VARIANTS, ids=lambda workload: workload.variant)
def test_loads_fill_whole_groups(workload: Transpose) -> None:
    """Timed dispatches have no idle work-items, which would take the same time as active ones."""
    for sweep in workload.sweeps(TOY, limits_of(TOY)):
        for parameters in (sweep.points[0], sweep.points[len(sweep.points) // 3], sweep.points[-1]):
            (dispatch,) = workload.job(parameters, np.random.default_rng(1)).dispatches
            assert prod(dispatch.global_size) * workload.rows_per_item == parameters["tiles"] * ROWS


@pytest.mark.parametrize(
    ("words", "banks", "factor"),
    [
        *((range(32), 32, 1.0), ([7] * 32, 32, 1.0), (range(0, 64, 2), 32, 2.0)),
        *((range(0, 32 * 32, 32), 32, 32.0), (range(0, 32 * 33, 33), 32, 1.0)),
        *((range(0, 32, 2), 32, 1.0), (range(0, 64, 4), 32, 2.0), (range(0, 128, 2), 32, 2.0)),
        (range(0, 1024, 32), 1, 1.0),
    ],
)
def test_bank_conflicts(words: list[int], banks: int, factor: float) -> None:
    """Neighbours, one word for all, strides of 2, 32 and 33 words; waves of 16 and 64; no banks."""
    assert grid.bank_conflicts(words, toy(local_memory_banks=banks)) == factor


@pytest.mark.parametrize(("x", "y"), [(1, 32), (2, 32), (8, 32), (16, 64), (32, 32), (4, 256)])
def test_columns_conflict(x: int, y: int) -> None:
    """As many lanes access one bank as the work-group has columns."""
    device = toy(local_memory_banks=32)
    parameters = {"tiles": 1024, "local_x": x, "local_y": y, "repeats": 1}
    assert Columns().demand(parameters, device).local_conflicts == min(x, device.architecture.wave_size)


@pytest.mark.parametrize(
    ("extensions", "missing", "options"),
    [
        ((), "no sub-group shuffle and ballot", ""),
        (("cl_intel_subgroups",), "no sub-group shuffle and ballot", "-DSUB_GROUP_INTEL"),
        (("cl_intel_subgroups", "cl_khr_subgroup_ballot"), "no sub-group shuffle and ballot", "-DSUB_GROUP_INTEL"),
        (("cl_nv_device_attribute_query",), None, "-DSUB_GROUP_NVIDIA"),
        (("cl_amd_device_attribute_query",), None, "-DSUB_GROUP_AMD"),
        (
            ("cl_intel_subgroups", "cl_khr_subgroup_shuffle", "cl_intel_required_subgroup_size"),
            "no sub-group shuffle and ballot",
            "-cl-std=CL3.0 -DSUB_GROUP_KHR -DSUB_GROUP_SIZED",
        ),
    ],
)
def test_back_ends_are_found_by_extension(extensions: tuple[str, ...], missing: str | None, options: str) -> None:
    """Each vendor has its own, and Khronos' comes first; what is missing is said in a sentence."""
    present = having(*extensions)
    assert (missing or "None") in str(SUB_GROUP_RATE.missing(present))
    assert Shuffle().options(present) == options
    assert (Shuffle().missing(present) is None) == bool(options)
    assert RATE.missing(present) is None


def test_a_particle_bounces() -> None:
    """It leaves the square for one step, turns, and comes back."""
    state = np.array([[0.999, 0.5, 2.0, 0.0], [0.5, 0.001, 0.0, -2.0]], dtype=np.float32)
    one, two = (advanced(state, steps) for steps in (1, 2))
    assert one[0, 0] > 1
    assert one[1, 1] < 0
    np.testing.assert_array_equal(one[:, 2:], [[-2, 0], [0, 2]])
    np.testing.assert_allclose(two[:, :2], state[:, :2], atol=1e-6)


def test_as_many_bounce_as_the_model_says() -> None:
    """The share of particles that take the branch per step, counted over a few steps."""
    state = drawn(np.random.default_rng(1), 2**17)
    after = advanced(state, 1)
    turned = np.sum(after[:, 2:] != state[:, 2:]) / len(state)
    assert turned == pytest.approx(BOUNCING, rel=0.1)
    assert BOUNCING == 1 / 64
