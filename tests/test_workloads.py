"""Properties of all workloads."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpureport
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import shipped_table
from gpureport.predict import limits_of, predict
from gpureport.spec.models import Device
from gpureport.workloads import all_workloads, grid, select
from gpureport.workloads.model import Calibration, Limits, Transfer, Workload
from tests.toy import MIB, TOY, on_cpu

WORKLOADS = all_workloads()
FULL = limits_of(TOY)
CPU = on_cpu()


def test_every_purpose_is_that_of_a_workload() -> None:
    package = Path(gpureport.__file__).parent
    modules = (*package.glob("workloads/**/*.py"), *package.glob("kernel_files/*.py"))
    source = "".join(path.read_text("utf-8") for path in modules)
    purposes = {
        purpose for of_all in shipped_table("sweeps", dict[str, dict[str, object]]).values() for purpose in of_all
    }
    assert {purpose for purpose in purposes if f'"{purpose}"' not in source} == set()


def _ids(workload: Workload) -> str:
    return workload.name


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_sizes_are_even_in_the_logarithm(low: float, ratio: float) -> None:
    """Powers of two and seven sizes between each pair, all within the range."""
    sizes = grid.sizes(low, low * ratio, lambda size: round(size * 2**20))
    steps = grid.FINE * (np.log2(np.array(sizes, dtype=float)) - 20)
    assert np.allclose(steps, np.round(steps), atol=1e-3)
    assert np.all(np.round(np.diff(steps)) == 1)
    assert abs(len(sizes) - grid.FINE * np.log2(ratio)) <= 1 + 1e-6
    assert all(low * 0.999 <= size / 2**20 <= low * ratio * 1.001 for size in sizes)


@pytest.mark.parametrize(("most", "quick"), [(256, False), (256, True), (64, False)])
@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=_ids)
def test_sweeps_respect_the_limits(workload: Workload, device: Device, most: int, quick: bool) -> None:
    """No point needs a larger buffer or work-group than allowed; points differ; x ascends."""
    limits = Limits(256 * MIB, 128 * MIB, most, quick=quick)
    for sweep in workload.sweeps(device, limits):
        keys = [workload.point(parameters, sweep) for parameters in sweep.points]
        assert len({key.label for key in keys}) == len(keys)
        assert len(keys) > 1 or most == 64
        assert sorted(key.x for key in keys) == [key.x for key in keys]
        for parameters, key in zip(sweep.points, keys, strict=True):
            demand = workload.demand(parameters, device)
            assert key.work > 0
            assert key.working_set_bytes <= limits.max_bytes
            assert np.prod(demand.work_group) <= limits.max_work_group
            assert demand.work_items == key.work_items
        for parameters in sweep.points[:1]:
            job = workload.job(parameters, np.random.default_rng(0))
            assert sum(buffer.nbytes for buffer in job.buffers.values()) <= limits.max_bytes + 2**20


@pytest.mark.parametrize("workload", WORKLOADS, ids=_ids)
def test_sweeps_are_dense_around_predicted_cliffs(workload: Workload) -> None:
    """At least four points lie in the octave around the midpoint of every cliff that is predicted."""
    for prediction in predict(TOY, workload, FULL):
        sizes = np.array([point.point.working_set_bytes for point in prediction.points])
        for feature in prediction.features:
            if feature.position == "midpoint":
                assert np.sum(np.abs(np.log2(sizes / feature.value)) <= 0.5) >= 4


@pytest.mark.parametrize("workload", WORKLOADS, ids=_ids)
def test_ping_pong_is_declared_in_the_demand(workload: Workload) -> None:
    """By those, and only those, whose two dispatches differ in the order of their buffers."""
    for parameters in workload.verification():
        dispatches = workload.verification_job(parameters, np.random.default_rng(0)).dispatches
        names = [[name for name in dispatch.arguments if isinstance(name, str)] for dispatch in dispatches]
        ping_pong = len(names) == 2 and names[0] != names[1] and sorted(names[0]) == sorted(names[1])
        assert workload.demand(parameters, TOY).ping_pong == ping_pong


@pytest.mark.parametrize("workload", WORKLOADS, ids=_ids)
def test_kernels_exist(workload: Workload) -> None:
    """The source and the files that it includes are shipped and define every kernel that a job launches."""
    folder = data_dir("kernels_cl")
    source = (folder / workload.source).read_text()
    source += "".join((folder / name).read_text() for name in re.findall(r'^#include "(.*)"', source, re.MULTILINE))
    for parameters in workload.verification():
        job = workload.verification_job(parameters, np.random.default_rng(0))
        for dispatch in (*job.once, *job.before, *job.dispatches):
            assert isinstance(dispatch, Transfer) or f"kernel void {dispatch.kernel}(" in source
            assert {a for a in dispatch.arguments if isinstance(a, str)} <= job.buffers.keys()


@pytest.mark.parametrize("workload", WORKLOADS, ids=_ids)
def test_the_same_seed_gives_the_same_job(workload: Workload) -> None:
    parameters = workload.verification()[0]
    first, second = (workload.verification_job(parameters, np.random.default_rng(7)) for _ in range(2))
    for name, buffer in first.buffers.items():
        if buffer.contents is not None:
            np.testing.assert_array_equal(buffer.contents, second.buffers[name].contents)


def test_names_and_titles_are_unique() -> None:
    """Family and variant identify a workload, and so does its title, which contains no identifier."""
    assert len({w.name for w in WORKLOADS}) == len({w.title for w in WORKLOADS}) == len(WORKLOADS)
    assert not [w.title for w in WORKLOADS if "_" in w.title or w.name in w.title]


def test_every_calibrated_quantity_has_a_microbenchmark() -> None:
    """Only microbenchmarks calibrate, and together they measure all quantities."""
    declared = {quantity for w in WORKLOADS for quantity in w.calibrates}
    assert declared == set(get_args(Calibration))
    assert all(w.microbenchmark for w in WORKLOADS if w.calibrates)


def test_select_takes_families_and_variants() -> None:
    """Microbenchmarks come first."""
    names = [w.name for w in select(("bit_transpose", "memory/copy"))]
    assert names[0] == "memory/copy"
    assert {"bit_transpose/local", "bit_transpose/shuffle"} < set(names[1:])
    assert all(name.startswith("bit_transpose/") for name in names[1:])


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("ping_pong", "did you mean 'memory/ping_pong'?"),
        ("memory/pingpong", "did you mean 'memory/ping_pong'?"),
        ("memori", "did you mean 'memory'?"),
        ("gol", "there are: atomics, bit_transpose, game_of_life, "),
    ],
)
def test_a_wrong_name_gets_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(InputError, match=re.escape(suggestion)):
        select((name,))
