"""Address translation, lines of caches and resident work-groups: specification, prediction, results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpureport.findings.whole_device import resident_groups
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.predict.model import point_time
from gpureport.records.curves import Level, SweepKey
from gpureport.records.measurement import MeasuredPoint, Measurement
from gpureport.records.report import Report
from gpureport.spec.cores import host_values
from gpureport.spec.database import load_database
from gpureport.spec.host import read_host
from gpureport.spec.models import PAGE_WALK, Device, Tlb, Transition
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Buffer, Demand, Limits
from tests.builders import altered, host_of
from tests.make_report import make_report

GIB = 2.0**30
LIMITS = Limits(max_bytes=48 * GIB, max_buffer_bytes=19 * GIB, max_work_group=1024)
SHARP = Transition(onset=1, midpoint=1, end=1)
WORKLOADS = {workload.name: workload for workload in all_workloads()}


@pytest.fixture(scope="module")
def device() -> Device:
    """A device with two levels of 10 and 1000 pages."""
    levels = (
        Tlb(name="L1", entries=10, page_bytes=4096, miss_cycles=50, transition=SHARP),
        Tlb(name="L2", reach_bytes=1000 * 4096, page_bytes=4096, miss_cycles=500, transition=SHARP),
    )
    return altered(load_database().device("nvidia/h200_sxm"), tlb=levels)


@pytest.mark.parametrize(("pages", "added", "level"), [(5, 0, "L1 TLB"), (100, 50, "L2 TLB"), (5000, 550, "")])
def test_misses_add_their_latency_to_a_load(device: Device, pages: int, added: float, level: str) -> None:
    """Each level whose reach the range of addresses exceeds."""
    demand = Demand(1, (1,), memory_chain=1e6, phases_aligned=False, loaded=False)

    plain = point_time(device, demand)
    spread = point_time(device, replace(demand, span_bytes=4096.0 * pages))

    assert (spread.time_s - plain.time_s) * device.clock_hz / 1e6 == pytest.approx(added, rel=1e-3, abs=1e-3)
    assert spread.level == (Level(name=level) if level else PAGE_WALK)


def test_huge_pages_extend_the_reach() -> None:
    """With as many entries as there are for huge pages."""
    level = Tlb(name="L1", entries=64, huge_entries=32, page_bytes=4096, miss_cycles=7, transition=SHARP)

    assert level.covered_bytes == 64 * 4096
    assert altered(level, page_bytes=2 << 20).covered_bytes == 32 * (2 << 20)


@pytest.mark.parametrize(("enabled", "size"), [("[always] madvise never", 2 << 20), ("always [madvise] never", None)])
def test_the_system_decides_on_huge_pages(tmp_path: Path, enabled: str, size: int | None) -> None:
    """Programs do not ask for them."""
    (tmp_path / "enabled").write_text(enabled)
    (tmp_path / "hpage_pmd_size").write_text(str(2 << 20))

    host = read_host(huge_pages=tmp_path)

    assert host.huge_page_bytes == size
    assert read_host(huge_pages=tmp_path / "absent").huge_page_bytes is None


def test_huge_pages_become_the_page_size_of_a_processor() -> None:
    """As a queried value."""
    values = host_values(replace(host_of(4), huge_page_bytes=2 << 20))

    assert values["tlb.L1.page"].value == 2 << 20
    assert values["tlb.L1.page"].provenance.kind == "queried"


def test_pairs_of_loads_find_caches_full_of_another_buffer(device: Device, backend: OpenCLBackend) -> None:
    """Stores fill a buffer of four last caches; it is not the one that is read. Every word of it is written."""
    workload = WORKLOADS["memory/sectors"]
    last = device.caches[-1].capacity_bytes
    sizes = {point["bytes"] for sweep in workload.sweeps(device, LIMITS) for point in sweep.points}
    assert {size > 3.99 * last for size in sizes} == {True}

    job = workload.job(workload.verification()[0], np.random.default_rng(0))
    (evict,), (pairs,) = job.before, job.dispatches
    (filled,) = (str(name) for name in evict.arguments)
    assert filled not in pairs.arguments
    assert job.buffers[filled].nbytes == job.buffers[str(pairs.arguments[0])].nbytes

    program = backend.build(workload.source, workload.build_options(workload.verification()[0]))
    others = backend.allocate(Buffer(job.buffers[filled].nbytes, np.full(job.buffers[filled].nbytes, 0xFF, np.uint8)))
    backend.run([backend.prepare(program, evict, {filled: others})])
    written = backend.read(others, job.buffers[filled].nbytes).view(np.uint32)
    backend.free(others)
    assert (written == np.arange(written.size) // 4).all()


@pytest.fixture(scope="module")
def counted() -> Report:
    """A report in which a kernel counted 132 x 16 work-groups of 128 work-items, and ran no others."""
    report = make_report()
    device = load_database().device("nvidia/h200_sxm")
    workload = WORKLOADS["residency/work_groups"]
    (sweep,) = workload.sweeps(device, LIMITS)
    keys = [workload.point(parameters, sweep) for parameters in sweep.points]
    points = tuple(MeasuredPoint(point=k, counted=132 * 16 if k.label == "groups of 128" else None) for k in keys)
    sweep_key = SweepKey(family=workload.family, variant=workload.variant, sweep=sweep.name)
    measured = Measurement(key=sweep_key, metric=workload.metric, axis=sweep.axis, points=points)
    return altered(report, device=device, measurements=(*report.measurements, measured))


def test_counted_groups_are_compared_with_the_rules(counted: Report) -> None:
    """The rules of Hopper: 64 waves and 32 groups of a multiprocessor, 228 KiB of local memory, 64 Ki registers."""
    rows = {row.label: row for row in resident_groups(counted)}

    assert {label: row.predicted // 132 for label, row in rows.items() if "local" in label or "," not in label} == {
        "groups of 32": 32,
        "groups of 64": 32,
        "groups of 128": 16,
        "groups of 256": 8,
        "groups of 512": 4,
        "groups of 1024": 2,
        "groups of 128, 4 KiB local": 16,
        "groups of 128, 12 KiB local": 16,
        "groups of 128, 30 KiB local": 7,
    }
    assert rows["groups of 128"].counted == 132 * 16
    assert rows["groups of 64"].counted is None
