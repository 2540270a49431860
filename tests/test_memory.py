"""Memory microbenchmarks: sweeps within the limits, references against known results, demands."""
# ruff: noqa: D103 - the names of the tests say what they check

from dataclasses import replace

import numpy as np
import pytest

from gpureport.predict import limits_of, predict, predict_sweep
from gpureport.spec.models import Device
from gpureport.workloads.memory import access, latency, read, stream
from gpureport.workloads.model import Parameters, Workload
from tests.toy import KIB, MIB, TOY

FULL = limits_of(TOY)
CPU = TOY.model_copy(update={"kind": "cpu"})
WORKLOADS = (*access.WORKLOADS, *latency.WORKLOADS, *read.WORKLOADS, *stream.WORKLOADS)


def test_the_chase_visits_every_line_once() -> None:
    parameters = {"bytes": 128 * 50, "line": 128, "steps": 1, "warm_up": 32}
    following = latency.PointerChase().job(parameters, np.random.default_rng(1)).buffers["next6400"].filled()
    at, seen = 0, set()
    for _ in range(50):
        seen.add(at)
        at = int(following[at])
    assert at == 0
    assert seen == set(range(0, 1600, 32))


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


def _answer(workload: Workload, parameters: Parameters) -> np.ndarray:
    job = workload.verification_job(parameters, np.random.default_rng(3))
    (answer,) = workload.expected(parameters, job, 1).values()
    return answer


def test_the_strided_reference_takes_words_with_a_stride() -> None:
    """One word per work-item: the words themselves, zero for a work-item without one."""
    parameters = {"stride": 5, "count": 7, "bytes": 4 * 35, "per_item": 1, "local": 4}
    job = access.Strided().verification_job(parameters, np.random.default_rng(3))
    words = job.buffers["data"].filled()
    assert _answer(access.Strided(), parameters).tolist() == [*words[[0, 5, 10, 15, 20, 25, 30]], 0]


def test_the_misaligned_reference_begins_at_the_offset() -> None:
    """Two 16-byte words of two work-items, 20 bytes in, each folded."""
    shape = {"per_item": 1, "local": 2, "case": 1, "passes": 1}
    parameters = {"offset": 20, "width": 16, "count": 2, "bytes": 160, **shape}
    job = access.Misaligned().verification_job(parameters, np.random.default_rng(3))
    words = job.buffers["data"].filled()
    assert _answer(access.Misaligned(), parameters).tolist() == [
        np.bitwise_xor.reduce(words[5:9]),
        np.bitwise_xor.reduce(words[9:13]),
    ]


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


def test_scattered_words_cost_whole_writes() -> None:
    """From a stride of 32 words on, every word is a separate write, and the useful rate is constant."""
    device = TOY.model_copy(
        update={"architecture": TOY.architecture.model_copy(update={"line_writes_per_cycle": 0.25})}
    )
    (prediction,) = predict(device, access.Scatter(), FULL)
    rates = {point.point.parameters["stride"]: point.value for point in prediction.points}
    assert prediction.points[-1].bottleneck == "L2 writes"
    assert rates[64] == pytest.approx(rates[32], rel=0.02)
    assert rates[32] == pytest.approx(4 * 0.25 * TOY.compute_units * TOY.clock_hz, rel=0.15)
    assert rates[1] > 4 * rates[32]
    assert access.Scatter().sweeps(CPU, FULL) == ()


def test_the_scattered_reference_leaves_the_words_between_unchanged() -> None:
    parameters = {"stride": 5, "count": 3, "bytes": 48, "per_item": 1, "local": 4, "passes": 2}
    job = access.Scatter().job(parameters, np.random.default_rng(3))
    (words,) = access.Scatter().expected(parameters, job, 1).values()
    seed = int(job.dispatches[0].arguments[-1])
    assert words.tolist() == [0] * 5 + [seed] + [0] * 4 + [2 * seed % 2**32, 0]


def test_an_offset_costs_a_line_and_a_split_word_four_accesses() -> None:
    """A wave of 4-byte words spans one line or two; of 16-byte words four or five, with four accesses if split."""
    workload = access.Misaligned()
    (sweep,) = workload.sweeps(TOY, FULL)
    demands = {(p["width"], p["offset"]): workload.demand(p, TOY) for p in sweep.points}
    assert demands[4, 0].lines_per_access == 1
    assert demands[4, 4].lines_per_access == 2
    assert demands[16, 0].lines_per_access == 4
    assert demands[16, 64].lines_per_access == 5
    assert demands[16, 4].operations["memory"] == 4 * demands[16, 0].operations["memory"]


def test_the_private_sweep_shows_the_cliff_of_the_first_cache() -> None:
    """The regions of the active compute units fit in L2 beyond the end of L1; a second sweep has all units."""
    sweeps = {sweep.name: sweep for sweep in read.ReadPrivate().sweeps(TOY, FULL)}
    groups = {p["groups"] for p in sweeps["working_set"].points}
    prediction = predict_sweep(TOY, read.ReadPrivate(), sweeps["working_set"], "specification")
    (cliff,) = [f for f in prediction.features if f.position == "midpoint"]
    assert groups == {32}
    assert str(cliff.level) == "L1"
    assert cliff.value == pytest.approx(248 * KIB, rel=0.1)
    assert max(p["bytes"] for p in sweeps["working_set"].points) == MIB
    assert {p["groups"] for p in sweeps["every_unit"].points} == {TOY.compute_units}
    assert all(p["bytes"] * p["groups"] <= 0.6 * 64 * MIB for p in sweeps["every_unit"].points)


def test_every_second_ping_pong_dispatch_copies_back() -> None:
    """The NumPy reference cannot show this: both arrays are equal after either dispatch."""
    parameters = {"vectors": 512, "per_item": 1, "local": 64}
    there, back = stream.PingPong().job(parameters, np.random.default_rng(0)).dispatches
    assert there.kernel == back.kernel == "copy"
    assert there.arguments[:2] == ("one", "other")
    assert back.arguments[:2] == ("other", "one")
    assert there.arguments[2:] == back.arguments[2:]
