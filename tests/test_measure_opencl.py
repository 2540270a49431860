"""The OpenCL backend on the device of ``--device auto``; PoCL if there is no other."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpureport.errors import DeviceError
from gpureport.measure.backends import opencl
from gpureport.measure.backends.common import AllocationError
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.limits import SweepSettings
from gpureport.measure.sweep import Task, measure_workload
from gpureport.observe.observation import observe
from gpureport.records.measurement import Measurement
from gpureport.workloads.model import Buffer, Dispatch, Limits, Local
from tests.fake_backend import CopyWorkload, Steps
from tests.present import opened, working

pytestmark = pytest.mark.xdist_group("opencl")
SOURCE = """
#include "common/hold.cl"
kernel void copy(global const uint *from, global uint *to) { size_t i = get_global_id(0); to[i] = from[i]; }
kernel void count(global uint *counter, uint step) { counter[0] += step; }
kernel void local_sum(global uint *out, local uint *mine) {
    local uint fixed[4];
    mine[get_local_id(0)] = 1; fixed[get_local_id(0) % 4] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) out[get_group_id(0)] = mine[0] + fixed[0];
}
"""


@pytest.fixture(scope="module")
def shared() -> OpenCLBackend:
    return opened(working())


@pytest.fixture
def backend(shared: OpenCLBackend) -> Iterator[OpenCLBackend]:
    yield shared
    shared.clear()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("kernels") / "test.cl"
    path.write_text(SOURCE)
    return str(path)


def test_the_loader_of_this_process_finds_one_runtime(shared: OpenCLBackend) -> None:
    candidate = working()
    listed = opencl.list_devices()
    assert [d.index for d in listed] == list(range(len(listed)))
    assert listed[candidate.position].name == shared.device.name
    assert {d.platform for d in listed} == {shared.device.platform}


@pytest.mark.parametrize("nbytes", [4, 40, 4096, 100_003])
@pytest.mark.parametrize("words", [1, 7, 1024])
def test_contents_are_repeated_or_cut_to_the_buffers_size(backend: OpenCLBackend, nbytes: int, words: int) -> None:
    contents = np.random.default_rng(0).integers(2**32, size=words, dtype=np.uint32)
    got = backend.read(backend.allocate(Buffer(nbytes, contents)), nbytes)
    assert (got == np.resize(contents.view(np.uint8), nbytes)).all()


def test_buffers_without_contents_are_not_zero(backend: OpenCLBackend) -> None:
    assert backend.read(backend.allocate(Buffer(4096)), 4096).all()


def test_kernels_run_once_each_and_in_order(backend: OpenCLBackend, source: str) -> None:
    counter = backend.allocate(Buffer(4, np.zeros(1, np.uint32)))
    program = backend.build(source, "")
    launches = [
        backend.prepare(program, Dispatch("count", (1,), (1,), ("c", np.uint32(step))), {"c": counter})
        for step in (1, 10)
    ]
    backend.run([launches[0], launches[1], launches[0]])
    assert backend.read(counter, 4).view(np.uint32)[0] == 12


def test_times_are_positive_and_grow_with_the_work(backend: OpenCLBackend, source: str) -> None:
    items = 2**20
    buffers = {name: backend.allocate(Buffer(4 * items)) for name in ("from", "to")}
    program = backend.build(source, "")
    small, large = (
        backend.prepare(program, Dispatch("copy", (n,), (64,), ("from", "to")), buffers) for n in (64, items)
    )
    for launch in (small, large):
        backend.time([launch], [launch])
    batched = min(backend.time([small], [small] * 200) / 200 for _ in range(3))
    assert 0 < batched < min(backend.time([large], [large]) for _ in range(3))
    assert backend.time((), [large]) > backend.time((), [small]) > 0
    assert backend.launch_cost_s > 0


class Refused(opencl.cl.LogicError):
    """As clCreateCommandQueue gives it."""

    code = opencl.cl.status_code.INVALID_QUEUE_PROPERTIES


def test_a_driver_that_refuses_time_stamps_is_timed_by_the_host(
    shared: OpenCLBackend, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times are similar to those of events, and each point says which clock is used."""
    queue = opencl.cl.CommandQueue

    def made(context: opencl.cl.Context, properties: object = None) -> opencl.cl.CommandQueue:
        if properties:
            raise Refused
        return queue(context)

    monkeypatch.setattr(opencl.cl, "CommandQueue", made)
    refused = opened(working())
    assert (shared.device.timed_by_host, refused.device.timed_by_host) == (False, True)
    assert 0 < refused.launch_cost_s < 0.1
    workload = CopyWorkload(source=source)
    settings = SweepSettings(Limits(2**26, 2**25, 64, quick=True), budget_s=20.0)
    sweep = workload.sweep(2**16, 2**22, local=64)
    results = [
        next(measure_workload(each, Task(workload, (sweep,), settings), Steps(), lambda _: ()))
        for each in (shared, refused)
    ]
    by_event, by_host = ({p.point.label: min(p.samples_s) for p in result.points} for result in results)
    assert all(0.5 * by_event[label] < by_host[label] for label in by_event)
    largest = max(results[0].points, key=lambda point: point.point.x).point.label
    assert by_host[largest] < 3 * by_event[largest]
    assert {point.method for point in results[1].points} == {"host"}
    observed = observe(results[1])
    assert observed is not None
    assert all(p.ci_low <= p.value / 1.04 and p.ci_high >= p.value * 1.04 for p in observed.points)


def test_builds_are_cached_and_failures_contain_the_first_error(backend: OpenCLBackend, tmp_path: Path) -> None:
    good = tmp_path / "good.cl"
    good.write_text("#if WIDTH != 8\n#error no width\n#endif\nkernel void f(global int *a) { a[0] = 1; }")
    assert backend.build(str(good), "-DWIDTH=8") == backend.build(str(good), "-DWIDTH=8")
    for _ in range(2):
        with pytest.raises(DeviceError, match=r"good.cl does not build: .*no width"):
            backend.build(str(good), "")


def test_errors_of_the_runtime_are_reasons(backend: OpenCLBackend, source: str) -> None:
    with pytest.raises(AllocationError, match=f"a buffer of {2**50} bytes cannot be allocated: "):
        backend.allocate(Buffer(2**50))
    program = backend.build(source, "")
    with pytest.raises(DeviceError, match="absent cannot be launched: "):
        backend.prepare(program, Dispatch("absent", (1,), (1,), ()), {})
    buffers = {name: backend.allocate(Buffer(64)) for name in ("from", "to")}
    size = 2 * backend.device.max_work_group
    large = backend.prepare(program, Dispatch("copy", (size,), (size,), ("from", "to")), buffers)
    with pytest.raises(DeviceError, match=r"copy failed: .*INVALID_WORK_GROUP_SIZE"):
        backend.time([], [large])


def test_local_memory_comes_from_the_compiler(backend: OpenCLBackend, source: str) -> None:
    program = backend.build(source, "-DUNUSED")
    out = backend.allocate(Buffer(64))
    launch = backend.prepare(program, Dispatch("local_sum", (64,), (32,), ("out", Local(128))), {"out": out})
    made = backend.compilation(launch)
    assert made.kernel == "local_sum"
    assert made.options.startswith("-DUNUSED")
    assert (made.local_memory_bytes or 0) >= 128
    assert (made.max_work_group or 0) >= 32
    backend.run([launch])
    assert backend.read(out, 8).view(np.uint32).tolist() == [1, 1]


def test_a_workload_from_verification_to_samples(backend: OpenCLBackend, source: str) -> None:
    workload = CopyWorkload(turns=2, source=source)
    # The budget includes building: on a busy machine a short one leaves a single sample of each point.
    settings = SweepSettings(Limits(2**26, 2**25, 64, quick=True), budget_s=20.0)
    task = Task(workload, (workload.sweep(64, 2**16, local=8),), settings)
    (measured,) = measure_workload(backend, task, Steps(), lambda _: ())
    assert measured.verification
    assert measured.verification.passed, measured.verification.message
    assert measured.skipped is None
    assert all(len(p.samples_s) >= 3 and min(p.samples_s) > 0 for p in measured.points)
    assert measured.points[0].dispatches_per_sample % 2 == 0
    assert [c.kernel for c in measured.compilation] == ["copy"]
    assert Measurement.model_validate_json(measured.model_dump_json()).key == measured.key
