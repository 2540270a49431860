"""Readings of device and machine, from fakes of the library and of the system's files."""

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.measure.backends import nvidia
from gpureport.measure.backends.common import share
from gpureport.measure.backends.machine import Processor, core_ticks
from gpureport.measure.backends.pci import current_clock, live_state, scaled, whole
from gpureport.measure.backends.sensors import sources_of
from gpureport.measure.watch import Watch
from gpureport.observe.disturbance import Cause
from gpureport.records.measurement import Reading
from gpureport.system import usable_cores
from tests.fake_backend import PRESENT, FakeBackend
from tests.test_measure_machine import GPU, FakeNvml

STAT = """cpu  99 9 99 999 9 9 9 9 0 0
cpu0 100 10 20 5000 7 1 2 30 50 4
cpu1 200 0 30 5000 0 0 1 4 0 0
cpu10 1 1 1 1 1 1 1 1 1 1
intr 12345 0 0
"""


@pytest.mark.parametrize(
    "stat",
    [
        "",
        "cpu0 1 2 3",
        "cpu0 1 2 3 4 5 6 7",  # of a system before steal was counted
        "cpu0 0 0 0 0 0 0 0 0 0 0",  # of a sandbox that does not count
        "cpu0 1 2 3 4 5 6 seven 8",
        "cpu0 1 2 3 4 5 6 -7 8",
        "cpu0 1 2 3 4 5 6 7 ٨",
        "cpu0 1 2 3 4 5 6 7 " + "9" * 5000,
        "cpu0 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8",
        "\0\ufffd\n\ncpu0",
    ],
)
def test_ticks_are_summed_over_the_usable_cores_and_unreadable_ones_are_missing(stat: str) -> None:
    assert core_ticks(STAT, {0, 1}) == (100 + 10 + 20 + 1 + 2 + 200 + 30 + 1, 34)
    assert core_ticks(STAT, {1}) == (231, 4)
    assert core_ticks(stat, {0}) is None
    assert core_ticks(STAT, {0, 7}) is None


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    core_ticks(text, {0})
    for value in (scaled(text, 1e3), whole(text), current_clock(text)):
        assert value is None or 0 <= value < float("inf")


def test_frequency_and_utilisation_are_read_and_the_clock_of_amdgpu_is_the_marked_state() -> None:
    assert scaled("2400000\n", 1e3) == 2.4e9
    assert [scaled(text, 1e3) for text in ("0", "<unknown>", "-1")] == [None] * 3
    assert [share(whole(text)) for text in ("0\n", "100\n", "101", "", "-5")] == [0.0, 1.0, None, None, None]
    assert current_clock("0: 500Mhz\n1: 2124Mhz *\n2: 2500Mhz\n") == 2.124e9
    assert current_clock("S: 19Mhz *\n0: 500Mhz\n") is None  # asleep
    assert (current_clock("0: 500Mhz *\n1: 600Mhz *"), current_clock("0: 0Mhz *")) == (None, None)


def test_amd_and_intel_devices_are_read_from_their_folders(tmp_path: Path) -> None:
    folder = tmp_path / "0000:03:00.0"
    folder.mkdir()
    assert live_state(folder.name, tmp_path) == {}
    (folder / "gpu_busy_percent").write_text("37\n")
    (folder / "pp_dpm_sclk").write_bytes(b"0: 500Mhz\n1: 2124Mhz *\n\xff")
    assert live_state(folder.name, tmp_path) == {"utilisation": 0.37, "clock_hz": 2.124e9}
    card = tmp_path / "0000:00:02.0" / "drm" / "card0"
    card.mkdir(parents=True)
    (card / "gt_act_freq_mhz").write_text("1150\n")
    assert live_state("0000:00:02.0", tmp_path) == {"clock_hz": 1.15e9}


def stat_of(ticks: int, stolen: int) -> str:
    return "".join(f"cpu{core} {ticks} 0 0 500 0 0 0 {stolen}\n" for core in usable_cores())


def test_totals_of_the_processor_count_from_the_first_reading(tmp_path: Path) -> None:
    processor = Processor(tmp_path, tmp_path)
    (tmp_path / "stat").write_text(stat_of(7000, 40))
    assert processor()["cpu_busy_total_s"] == 0.0
    per_s = os.sysconf("SC_CLK_TCK")
    (tmp_path / "stat").write_text(stat_of(7000 + 3 * per_s, 40 + per_s))
    for core in usable_cores():
        folder = tmp_path / f"cpu{core}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text("3100000\n")
    assert processor.clock() == {"clock_hz": 3.1e9}
    state = processor()
    assert (state["cpu_busy_total_s"], state["cpu_steal_total_s"]) == (pytest.approx(3.0), pytest.approx(1.0))


def test_without_proc_the_processor_is_missing_and_not_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "getloadavg", MagicMock(side_effect=OSError))
    assert set(Processor(tmp_path, tmp_path)()) == {"cpu_own_total_s"}
    monkeypatch.setattr(psutil, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert Processor(tmp_path, tmp_path)()["load_average"] == 0.0
    monkeypatch.delattr(os, "getloadavg")  # as on Windows
    assert set(Processor(tmp_path, tmp_path)()) == {"cpu_own_total_s"}
    assert Processor(tmp_path, tmp_path).clock() == {}


def test_the_machine_at_hand_is_read() -> None:
    reading = Reading.model_validate({"at_s": 0.0, **Processor()()})
    assert reading.load_average == pytest.approx(os.getloadavg()[0], abs=1.0)
    assert reading.cpu_own_total_s == 0.0


class Nvml(FakeNvml):
    """Returns the given values; other queries are not supported."""

    def __init__(self, **values: object) -> None:
        super().__init__()
        self.values = values
        self.nvmlDeviceGetComputeRunningProcesses = lambda _: [SimpleNamespace(pid=pid) for pid in self.value("pids")]
        self.nvmlDeviceGetProcessUtilization = lambda *_: [use(*entry) for entry in self.value("uses")]
        self.nvmlDeviceGetUtilizationRates = lambda _: SimpleNamespace(gpu=self.value("percent"))
        self.nvmlDeviceGetCurrentClocksThrottleReasons = lambda _: self.value("mask")

    def value(self, name: str) -> Any:
        if name not in self.values:
            raise self.NVMLError
        return self.values[name]


def use(pid: int, percent: int, stamp: int = 1) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, smUtil=percent, timeStamp=stamp)


def state(**values: object) -> dict[str, object]:
    return nvidia.Nvml(nvidia.Opened(Nvml(**values), "handle"))()


def test_unsupported_queries_are_missing() -> None:
    assert state() == {"clock_hz": 1.98e9, "power_w": 118.4}
    assert nvidia.Nvml(nvidia.Opened(SimpleNamespace(NVMLError=OSError), "handle"))() == {}  # type: ignore[arg-type]


def test_utilisation_and_reasons_are_read() -> None:
    found = state(percent=37, mask=0x4 | 0x1, pids=[os.getpid(), 5], uses=[(os.getpid(), 40), (5, 30)])
    assert found["utilisation"] == 0.37
    assert found["throttle_reasons"] == ("idle", "power cap")
    assert found["others_utilisation"] == 0.3
    assert nvidia.reasons(0x8 | 0x40 | 0x1000) == ("hardware slowdown", "hardware thermal slowdown", "reason 0x1000")
    assert nvidia.reasons(0) == ()
    assert [share(percent) for percent in (0, 100, 101, -1, None)] == [0.0, 1.0, None, None, None]


def test_own_pid_is_known_once_the_process_was_the_only_one() -> None:
    library = Nvml(pids=[4001], uses=[(4001, 90)])
    source = nvidia.Nvml(nvidia.Opened(library, "handle"))
    assert source()["others_utilisation"] == 0.0
    library.values = {"pids": [4001, 4002], "uses": [(4001, 10), (4002, 80)]}
    assert source()["others_utilisation"] == 0.8


@pytest.mark.parametrize(
    ("uses", "own", "share"),
    [
        ([], 1, None),
        ([(1, 90)], 1, 0.0),
        ([(2, 90)], 1, 0.9),
        ([(2, 60), (3, 20)], None, 0.2),  # at least: this process may be either
        ([(1, 10), (2, 90), (3, 90)], 1, 1.0),
        ([(2, 10, 5), (2, 70, 9), (2, 30, 7)], 1, 0.7),  # the latest
        ([(2, 4294967295)], 1, None),
    ],
)
def test_use_by_others_excludes_this_process(uses: list[tuple[int, ...]], own: int | None, share: float | None) -> None:
    assert nvidia.others_share([use(*entry) for entry in uses], own) == share


def test_sources_depend_on_kind_and_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    with ExitStack() as stack:
        kinds = [
            [type(source).__name__ for source in sources_of(device, stack)]
            for device in (
                PRESENT,
                GPU,
                PRESENT.model_copy(update={"pci_address": "0000:03:00.0"}),
                PRESENT.model_copy(update={"kind": "cpu"}),
            )
        ]
    assert kinds == [["Processor"], ["Processor", "Nvml"], ["Processor", "partial"], ["Processor", "method"]]


def test_a_watch_takes_readings_until_its_end() -> None:
    backend = FakeBackend()
    with Watch(backend, [lambda: {"clock_hz": 1e9}], period_s=0.002) as watch:
        taken = watch.taken()
        while len(taken) < 3:
            time.sleep(0.002)
            taken += watch.taken()
    assert all(reading.clock_hz == 1e9 for reading in taken + watch.taken())
    time.sleep(0.02)
    assert watch.taken() == ()


def test_readings_before_and_after_are_not_marked_as_measuring() -> None:
    with Watch(FakeBackend(), [], period_s=60) as watch:
        with watch.measuring():
            watch.reading()
        readings = watch.taken()
    assert [reading.measuring for reading in readings] == [False, False, True, False]
    assert all(reading.clock_hz is None and reading.utilisation is None for reading in readings)


def test_only_calls_that_may_run_kernels_occupy_the_device() -> None:
    backend = FakeBackend()
    with Watch(backend, [], period_s=60) as watch:
        counted = watch.counted(backend)
        assert counted.device is PRESENT
        backend.clock_s += 7.0
        assert watch.reading().occupied_total_s == 0.0
        with watch.occupying():
            backend.clock_s += 3.0
            assert watch.reading().occupied_total_s == 3.0  # a call that has not ended
        assert watch.reading().at_s == 10.0
        backend.run = lambda launches: setattr(backend, "clock_s", backend.clock_s + len(launches))  # type: ignore[method-assign]
        counted.run([1, 2, 3])  # type: ignore[list-item]
        with pytest.raises(KeyError):
            counted.free(7)  # type: ignore[arg-type]
        with pytest.raises(KeyError):
            counted.read(7, 1)  # type: ignore[arg-type]
        backend.clock_s += 1.0
        assert watch.reading().occupied_total_s == 6.0  # a failed call has ended


def test_spans_are_in_the_clock_of_the_backend() -> None:
    backend = FakeBackend(clock_s=1000.0)
    with Watch(backend, [lambda: {"others_utilisation": float(backend.clock_s > 1005)}], period_s=60) as watch:
        for _ in range(100):
            backend.clock_s += 0.1
            watch.reading()
        found = watch.spans(1000.0)
    assert [span.causes for span in found] == [{Cause.PROCESSES}]
    assert 1003 < found[0].began_s <= 1005 < found[0].ended_s <= backend.now()
