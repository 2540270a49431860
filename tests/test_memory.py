"""Memory microbenchmarks: sweeps within the limits, references against known results, demands."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gpureport.predict import limits_of, predict, predict_sweep
from gpureport.spec.models import Device
from gpureport.workloads.memory import access, latency, read, stream
from gpureport.workloads.model import Limits, Parameters, Workload
from tests.toy import KIB, MIB, TOY

FULL = limits_of(TOY)
TIGHT = Limits(max_bytes=256 * MIB, max_buffer_bytes=128 * MIB, max_work_group=64)
CPU = TOY.model_copy(update={"kind": "cpu"})
WORKLOADS = (*access.WORKLOADS, *latency.WORKLOADS, *read.WORKLOADS, *stream.WORKLOADS)


@pytest.mark.parametrize("device", [TOY, CPU], ids=["gpu", "cpu"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_point_stays_within_the_limits(workload: Workload, device: Device) -> None:
    """Buffers and work-groups are no larger than allowed; labels differ; x ascends; items match the dispatch."""
    for sweep in workload.sweeps(device, TIGHT):
        keys = [workload.point(parameters, sweep) for parameters in sweep.points]
        assert len({key.label for key in keys}) == len(keys) > 1
        assert all(a.x < b.x for a, b in pairwise(keys))
        for parameters, key in zip(sweep.points, keys, strict=True):
            demand = workload.demand(parameters, device)
            assert demand.work_items == key.work_items
            assert demand.work_items % np.prod(demand.work_group) == 0
            assert np.prod(demand.work_group) <= TIGHT.max_work_group
        for parameters in (sweep.points[0], sweep.points[-1]):
            job = workload.job(parameters, np.random.default_rng(0))
            assert max(buffer.nbytes for buffer in job.buffers.values()) <= TIGHT.max_buffer_bytes
            assert sum(buffer.nbytes for buffer in job.buffers.values()) <= TIGHT.max_bytes + 2**20
            assert all(d.local_size[0] <= TIGHT.max_work_group for d in (*job.before, *job.dispatches))


def test_the_chase_visits_every_line_once() -> None:
    """One traversal, whole lines apart."""
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
    """Elsewhere lines would remain in the caches of other cores."""
    workload = latency.PointerChase()
    (sweep,) = workload.sweeps(device, FULL)
    last = device.caches[-1].capacity_bytes
    before = [
        (each["bytes"], workload.job(each, np.random.default_rng(0)).before[0])
        for each in (*sweep.points[:2], *sweep.points[-2:])
    ]
    groups = [dispatch.global_size[0] // dispatch.local_size[0] for _, dispatch in before]

    assert groups == [most if size > 2 * last else 1 for size, _ in before]
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
    """Multiples of the factor, five words apart."""
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


def test_few_units_need_no_second_private_sweep() -> None:
    """Where all compute units' regions fit, one sweep shows both the cliff and the rate."""
    small = TOY.model_copy(update={"compute_units": 8})

    assert [sweep.name for sweep in read.ReadPrivate().sweeps(small, FULL)] == ["working_set"]


@pytest.mark.parametrize(
    ("workload", "arrays", "rate"),
    [(stream.Write(), 1, 0.98e12), (stream.Copy(), 2, 0.9e12), (stream.Triad(), 3, 0.9e12)],
)
def test_streams_count_every_array(workload: Workload, arrays: int, rate: float) -> None:
    """Far beyond the caches the predicted rate is the memory's, whatever the number of arrays."""
    prediction = predict(TOY, workload, FULL)[0]
    last = prediction.points[-1]

    assert last.point.work == pytest.approx(arrays * 16 * last.point.parameters["vectors"])
    assert last.value == pytest.approx(rate, rel=0.05)
    assert str(last.level) == "DRAM"


def test_every_second_ping_pong_dispatch_copies_back() -> None:
    """The NumPy reference cannot show this: both arrays are equal after either dispatch."""
    parameters = {"vectors": 512, "per_item": 1, "local": 64}
    there, back = stream.PingPong().job(parameters, np.random.default_rng(0)).dispatches

    assert there.kernel == back.kernel == "copy"
    assert there.arguments[:2] == ("one", "other")
    assert back.arguments[:2] == ("other", "one")
    assert there.arguments[2:] == back.arguments[2:]


@pytest.mark.parametrize(("workload", "kind"), [(stream.Copy(), "gpu"), (stream.Copy(), "cpu"), (read.Read(), "gpu")])
def test_work_groups_are_compared_on_the_same_bytes_beyond_the_caches(workload: Workload, kind: str) -> None:
    """Whole groups of every size; only the group differs."""
    device = TOY.model_copy(update={"kind": kind})
    (sweep,) = [sweep for sweep in workload.sweeps(device, FULL) if sweep.axis.quantity == "work_group"]
    keys = [workload.point(parameters, sweep) for parameters in sweep.points]

    assert [key.label for key in keys] == (
        ["64", "256", "1024"] if kind == "cpu" else ["32", "64", "128", "256", "512", "1024"]
    )
    assert {key.working_set_bytes for key in keys} == {4 * 64 * MIB}
    assert max(key.work for key in keys) / min(key.work for key in keys) < 1.001
    assert all(workload.demand(p, device).work_group == (p["local"],) for p in sweep.points)


def test_a_processor_reads_in_work_groups_of_one() -> None:
    """So there is no sweep of the work-group size."""
    assert [sweep.name for sweep in read.Read().sweeps(CPU, FULL)] == ["working_set"]
