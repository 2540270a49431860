"""Transfers between host and device: the link, its live state, curves, predictions, and copies on a real runtime."""

from pathlib import Path

import numpy as np
import pytest

from gpureport.findings.whole_device import link_under_load, slow_link
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.pci import highest_link, live_link
from gpureport.measure.bench import Bench, Point
from gpureport.observe.tapers import saturation_of_transfers
from gpureport.predict.transfers import TO_DEVICE_LATENCY, link_bytes_per_s, transfer_times
from gpureport.records.measurement import Conditions, Reading
from gpureport.report.text.sentences import text
from gpureport.spec.database import load_database
from gpureport.spec.models import Device, Link, PresentDevice
from gpureport.workloads import select
from gpureport.workloads.model import Buffer, HostTraffic, Limits, Transfer
from gpureport.workloads.transfer import Memory
from tests.builders import altered
from tests.fake_backend import PRESENT
from tests.make_report import make_report
from tests.toy import TOY

DATABASE = load_database()
COPIES = select(("transfer",))


@pytest.mark.parametrize(
    ("entry", "to_device", "to_host"),
    [
        ("nvidia/h100_sxm", 53.14e9, 54.69e9),  # nvbandwidth 0.8 on the held-out device
        ("nvidia/h200_sxm", 55.53e9, 55.41e9),
        ("nvidia/b200", 55.67e9, 56.37e9),
        ("nvidia/l40s", 26.87e9, 26.36e9),
        ("nvidia/a10", 24.36e9, 26.35e9),
        ("nvidia/a40", 24.08e9, 26.34e9),
    ],
)
def test_rates_of_pinned_memory_are_within_a_tenth(entry: str, to_device: float, to_host: float) -> None:
    link = DATABASE.device(entry).host_link
    assert link_bytes_per_s(link, "to_device") == pytest.approx(to_device, rel=0.1)
    assert link_bytes_per_s(link, "to_host") == pytest.approx(to_host, rel=0.1)


@pytest.mark.parametrize(
    ("generation", "lanes", "rate"), [(1, 16, 4e9), (2, 8, 4e9), (3, 16, 15.754e9), (4, 8, 15.754e9), (5, 16, 63.015e9)]
)
def test_lanes_are_counted_without_their_line_code(generation: int, lanes: int, rate: float) -> None:
    assert Link.pcie(generation, lanes).bandwidth_bytes_per_s == pytest.approx(rate, rel=1e-3)


def test_a_transfer_takes_its_latency_and_the_time_of_the_link() -> None:
    link = Link.pcie(4, 16)
    device = altered(TOY, link=link)
    size = 2.0**30
    found = sum(transfer_times(device, HostTraffic(size, 0.0, "pinned")).values())
    both = sum(transfer_times(device, HostTraffic(size, size, "pinned")).values())
    assert found == pytest.approx(TO_DEVICE_LATENCY * link.latency_s + size / link_bytes_per_s(link, "to_device"))
    assert found < both < 2 * found


def test_ordinary_memory_is_also_copied_by_the_host_and_shared_memory_only() -> None:
    device = altered(TOY, link=Link.pcie(5, 16))
    pinned, ordinary = (transfer_times(device, HostTraffic(2.0**28, 0.0, memory)) for memory in ("pinned", "pageable"))
    assert pinned["link"] == ordinary["link"]
    assert ordinary["host copy"] == pytest.approx(2.0**28 / device.host_link.host_copy_bytes_per_s)
    assert not pinned["host copy"]
    shared = altered(TOY, link=Link(kind="shared"))
    found = transfer_times(shared, HostTraffic(1e9, 0.0, "pageable"))
    assert sum(found.values()) == pytest.approx(shared.host_link.call_s + 1e9 / shared.host_link.host_copy_bytes_per_s)
    assert "link" not in found


def test_the_smallest_transfers_take_calls_or_the_latency_of_the_device() -> None:
    """Data of the device must be waited for; the second of two directions starts one call after the first."""
    device = altered(TOY, link=Link.pcie(5, 16))
    link = device.host_link

    def time_s(to_device: float, to_host: float, memory: Memory) -> float:
        return sum(transfer_times(device, HostTraffic(to_device, to_host, memory)).values())

    assert time_s(4, 0, "pageable") == pytest.approx(link.call_s, rel=1e-3)
    assert time_s(0, 4, "pageable") == pytest.approx(2 * link.call_s, rel=1e-3)
    assert time_s(0, 4, "pinned") == pytest.approx(link.latency_s, rel=1e-3)
    assert time_s(4, 4, "pinned") == pytest.approx(link.call_s, rel=1e-3)


@pytest.mark.parametrize("latency_s", [1e-6, 2e-5])
def test_n90_is_nine_times_the_latency_and_the_rate(latency_s: float) -> None:
    size = 2.0 ** np.arange(2, 31)
    plateau, n90 = saturation_of_transfers(size, size / (latency_s + size / 50e9), np.zeros(len(size)))
    assert plateau.value == pytest.approx(50e9, rel=0.01)
    assert n90 is not None
    assert n90.value == pytest.approx(9 * latency_s * 50e9, rel=0.05)
    assert n90.low is plateau.low is None


def test_small_transfers_may_be_faster_than_large_ones() -> None:
    size = 2.0 ** np.arange(2, 27)
    rates = np.where(size < 2**22, 40e9, 10e9) * size / (size + 2**14)
    plateau, n90 = saturation_of_transfers(size, rates, np.full(len(size), 0.01))
    assert plateau.value == pytest.approx(10e9, rel=0.01)
    assert n90 is not None
    assert n90.value < 2**14
    assert n90.low < n90.value < n90.high  # type: ignore[operator]


@pytest.mark.parametrize("place", ["pinned", "pageable"])
def test_memory_of_the_host_can_be_read_and_freed(backend: OpenCLBackend, place: str) -> None:
    words = np.arange(7, dtype=np.uint32)
    identity = backend.allocate(Buffer(60, words, place))  # type: ignore[arg-type]
    assert backend.read(identity, 60).view(np.uint32).tolist() == [*range(7), *range(7), 0]
    backend.free(identity)
    backend.clear()


@pytest.mark.parametrize("workload", COPIES, ids=lambda workload: workload.variant)
def test_transfers_take_time_and_arrive(backend: OpenCLBackend, workload: object) -> None:
    """Of a point with both directions, each target has the bytes of its source."""
    limits = Limits(2**26, 2**24, 64, quick=True)
    (*_, sweep) = workload.sweeps(TOY, limits)  # type: ignore[attr-defined]
    point = Point(workload, workload.point(sweep.points[-1], sweep), 1, isolated=True)  # type: ignore[arg-type,attr-defined]
    bench = Bench(backend, limits)
    try:
        assert 0 < bench.run(point, 1) < 10
        assert bench.compilations(point) == []
        assert point.job is not None
        assert isinstance(point.job.dispatches[0], Transfer)
    finally:
        backend.clear()


def test_pci_links_are_read_from_the_system(tmp_path: Path) -> None:
    device = tmp_path / "pci0000:00" / "0000:00:01.0" / "0000:01:00.0"
    device.mkdir(parents=True)
    for folder, speed, width in ((device, "32.0 GT/s PCIe", "16"), (device.parent, "16.0 GT/s PCIe", "8")):
        (folder / "max_link_speed").write_text(f"{speed}\n")
        (folder / "max_link_width").write_text(f"{width}\n")
    (device / "current_link_speed").write_text("2.5 GT/s PCIe\n")
    (device / "current_link_width").write_text("Unknown\n")
    (tmp_path / "0000:01:00.0").symlink_to(device)
    assert highest_link("0000:01:00.0", tmp_path) == {"link_generation": 4, "link_lanes": 8}
    assert live_link(device) == {"link_generation": 1}
    assert highest_link("0000:02:00.0", tmp_path) == {}


def _present(generation: int | None, lanes: int | None) -> PresentDevice:
    units = DATABASE.device("nvidia/rtx_4090").compute_units
    return altered(PRESENT, compute_units=units, clock_hz=None, link_generation=generation, link_lanes=lanes)


@pytest.mark.parametrize(
    ("generation", "lanes", "expected"),
    [(4, 16, None), (None, None, None), (5, 16, None), (3, 16, 15.754e9), (4, 4, 7.877e9)],
)
def test_a_narrower_or_slower_link_replaces_the_listed_one_and_that_of_a_draft(
    generation: int | None, lanes: int | None, expected: float | None
) -> None:
    there = altered(_present(generation, lanes), name="NVIDIA GeForce RTX 4090", vendor="NVIDIA")
    found = DATABASE.match(there)
    assert found.entry == "nvidia/rtx_4090"
    assert any("link to the host" in note for note in found.notes) == (expected is not None)
    if expected is not None:
        assert found.device.host_link.bandwidth_bytes_per_s == pytest.approx(expected, rel=1e-3)
    draft = DATABASE.match(altered(_present(generation, lanes), name="Unheard-of 9000"))
    assert draft.draft
    assert draft.device.link == (Link.pcie(generation, lanes) if generation and lanes else None)


def test_the_link_counts_while_data_are_transferred() -> None:
    """Idle readings and other workloads do not: an idle device lowers the generation of its link."""
    device = DATABASE.device("nvidia/h200_sxm")
    idle = Reading(at_s=0.0, link_generation=1, link_lanes=16)
    busy = Reading(at_s=1.0, measuring=True, link_generation=3, link_lanes=16)
    read = Conditions(workload="memory/read", readings=(altered(busy, link_generation=5),))
    conditions = (read, Conditions(workload="transfer/pinned", readings=(idle, busy)))
    report = altered(make_report(), device=device, conditions=conditions)
    fast = altered(report, conditions=(altered(read, workload="transfer/pinned"),))
    assert link_under_load(report) == Link.pcie(3, 16)
    assert "PCIe 3.0 x16" in text("slow_link", slow=slow_link(report))
    assert not slow_link(fast)
    assert not slow_link(altered(report, conditions=()))


def test_a_runtime_may_copy_longer_data_on_all_cores(cpu: Device) -> None:
    parallel = altered(cpu, launch=altered(cpu.launch, parallel_transfer_s=1e-5))
    calls = (transfer_times(parallel, HostTraffic(moved, 0.0, "pinned"))["call"] for moved in (511, 512))

    assert [*calls] == pytest.approx([cpu.launch.transfer_s, cpu.launch.transfer_s + 1e-5])
    one, most = cpu.host_link.host_copy_bytes_per_s, cpu.memory.bandwidth_bytes_per_s / 3
    assert parallel.host_link.host_copy_bytes_per_s == max(one, min(one * cpu.compute_units, most))
