"""Runs of the devices of a node, which are added to a store."""

from pathlib import Path
from socket import gethostname
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from gpureport.cli import fleet, main
from gpureport.records.report import FILE_NAME, load_report
from tests.make_fleet import REPORT, saved

NODE = gethostname().partition(".")[0]


def test_measured_devices_are_added_and_failures_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    device: Any = SimpleNamespace(name="the device")
    measured = device, saved(tmp_path / "0", REPORT), ""
    came = [measured, (device, tmp_path / "1", "exit code 1: the driver hangs")]
    monkeypatch.setattr(fleet, "measure_devices", lambda *_, **__: came)
    store = str(tmp_path / "store")
    assert main(["fleet", "node", "--store", store, "-d", "0", "-d", "0"]) == 1
    assert "the device: exit code 1: the driver hangs" in capsys.readouterr().out
    assert main(["fleet", "list", "--store", store]) == 0
    assert NODE in capsys.readouterr().out


@pytest.mark.parametrize("starting", [False, True])
def test_an_interrupt_ends_the_measurements_of_all_devices(
    starting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = [Mock(**{"wait.side_effect": [0] if starting else KeyboardInterrupt}), Mock()]
    started = iter([processes[0], KeyboardInterrupt] if starting else processes)
    monkeypatch.setattr(fleet, "_started", Mock(side_effect=started))
    with pytest.raises(KeyboardInterrupt):
        list(fleet.measure_devices([(Mock(), tmp_path)] * 2, [], parallel=True))
    assert [process.terminate.called for process in processes] == [True, not starting]


@pytest.mark.slow
def test_a_node_measures_its_device(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["fleet", "node", "--store", str(tmp_path), "--quick", "--workload", "launch"]
    assert main(arguments) == 0
    (report,) = (tmp_path / "reports" / NODE).glob(f"*/*/{FILE_NAME}")
    assert {measurement.key.family for measurement in load_report(report).measurements} >= {"launch"}
    assert main([*arguments, "-o", str(report.parents[1])]) == 0
    assert "already there" in capfd.readouterr().out
