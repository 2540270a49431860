"""Memory microbenchmarks: the chase, sweeps within the limits, demands."""

from dataclasses import replace

import numpy as np
import pytest

from gpureport.predict import limits_of, predict
from gpureport.spec.models import Device
from gpureport.workloads.memory import access, latency
from tests.toy import TOY, on_cpu

FULL = limits_of(TOY)
CPU = on_cpu()


def test_the_chase_visits_every_line_once() -> None:
    parameters = {"bytes": 128 * 50, "line": 128, "steps": 1, "warm_up": 32}
    order = latency.PointerChase().job(parameters, np.random.default_rng(1)).buffers["order6400"].filled()
    assert sorted(order) == list(range(0, 1600, 32))


@pytest.mark.parametrize(("device", "most"), [(TOY, 1), (CPU, CPU.compute_units)])
def test_the_cores_of_a_cpu_share_the_warm_up_far_beyond_the_caches(device: Device, most: int) -> None:
    small = device.model_copy(
        update={"caches": tuple(c.model_copy(update={"capacity_bytes": c.capacity_bytes / 64}) for c in device.caches)}
    )
    workload = latency.PointerChase()
    (sweep,) = workload.sweeps(small, FULL)
    before = [
        (each["bytes"], workload.job(each, np.random.default_rng(0)).before[0])
        for each in (*sweep.points[:2], *sweep.points[-2:])
    ]
    groups = [dispatch.global_size[0] // dispatch.local_size[0] for _, dispatch in before]
    assert groups == [most if size > 2 * small.caches[-1].capacity_bytes else 1 for size, _ in before]
    assert (groups[0], groups[-1]) == (1, most)


def test_only_cycles_in_caches_that_may_be_cold_are_traversed_many_times() -> None:
    cold = max(cache.capacity_bytes for cache in TOY.caches if not cache.persistent)
    (sweep,) = latency.PointerChase().sweeps(TOY, FULL)
    passes = {each["bytes"]: each["steps"] * each["line"] / each["bytes"] for each in sweep.points}
    within = [each for size, each in passes.items() if 2**13 * TOY.line_bytes / 128 <= size <= cold]
    assert within
    assert within == pytest.approx([128.0] * len(within))
    assert all(each < 64 for size, each in passes.items() if size > 4 * cold)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
def test_no_cache_holds_what_strides_touch(device: Device, quick: bool) -> None:
    """Of every stride, the sectors of its words are at least four times the last cache."""
    (sweep,) = access.Strided().sweeps(device, replace(FULL, quick=quick))
    last = device.caches[-1]
    for parameters in sweep.points:
        touched = parameters["count"] * min(4 * parameters["stride"], last.sector_bytes)
        assert touched >= 4 * last.capacity_bytes
        assert parameters["count"] * 4 * parameters["stride"] <= parameters["bytes"] <= 32 * last.capacity_bytes


def test_strides_cost_whole_sectors() -> None:
    """Twice the stride halves the useful rate, until each word has its own 32-byte sector."""
    (prediction,) = predict(TOY, access.Strided(), FULL)
    rates = [point.value for point in prediction.points]
    assert rates[1] / rates[0] == pytest.approx(1 / 2, rel=0.05)
    assert rates[3] / rates[0] == pytest.approx(1 / 8, rel=0.05)
    assert rates[4] / rates[3] == pytest.approx(1.0, rel=0.05)
