"""A fleet: what a store contains and refuses, which devices differ from their peers, and the documents."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

import gpureport
from gpureport.cli import main
from gpureport.errors import GpuReportError, InputError
from gpureport.fleet.analysis import Difference, Fleet, analyse
from gpureport.fleet.causes import reasons
from gpureport.fleet.document import FILE, _drawn, parts_of, sentence, write_documents
from gpureport.fleet.peers import MINIMUM_EFFECT, Part, changes, effects, significant_parts
from gpureport.fleet.reading import read_run
from gpureport.fleet.store import Row, Store, StoredRun
from gpureport.records.ceilings import layer_of
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import Report
from gpureport.report.text.sentences import text
from tests.make_fleet import REPORT, a_run, eight_nodes, saved, varied
from tests.toy import on_cpu

SCRIPTS = str(Path(__file__).parents[1] / "scripts")
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def faults() -> Iterator[Any]:
    sys.path.insert(0, SCRIPTS)
    yield import_module("fleet_faults")
    sys.path.remove(SCRIPTS)


def _report(day: int) -> Report:
    return REPORT.model_copy(update={"created_at": f"2026-11-{day:02d}T10:00:00Z"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return a_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def fleet_store(run: StoredRun, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return eight_nodes(run, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def fleet(fleet_store: Store) -> Fleet:
    return analyse(fleet_store)


def test_the_same_run_is_added_once(tmp_path: Path, capsys: Captured) -> None:
    store = ["--store", str(tmp_path / "store")]
    first, second = saved(tmp_path / "node1", _report(1)), saved(tmp_path / "node2" / "run-1", _report(2))

    assert main(["fleet", "add", *store, str(first), str(second)]) == 0
    assert "2 runs" in capsys.readouterr().out
    (first / "report.json").write_text((first / "report.json").read_text() + "\n")
    assert main(["fleet", "add", *store, f"other={first}"]) == 0
    assert "0 runs; 1 already there" in capsys.readouterr().out
    assert main(["fleet", "list", *store]) == 0
    assert re.findall(r"^node\d", capsys.readouterr().out, re.MULTILINE) == ["node1", "node2"]
    assert len(list((tmp_path / "store" / "runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("../evil=", "'../evil' is no name of a node, because it contains a slash"),
        ("..\\evil=", "is no name of a node, because it contains a slash or backslash"),
        ("n=", "choose another folder for"),
    ],
)
def test_a_run_that_cannot_be_added_is_named(node: str, problem: str, tmp_path: Path, capsys: Captured) -> None:
    folder = saved(tmp_path / "node1", _report(1))
    assert main(["fleet", "add", "--store", str(folder / "report.json"), f"{node}{folder}"]) == 2
    assert problem in capsys.readouterr().err


def test_a_store_that_cannot_be_written_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    folder = saved(tmp_path / "node1", _report(1))
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    assert main(["fleet", "add", "--store", str(tmp_path / "store"), str(folder)]) == 1
    assert "parquet: cannot be written (No space left on device)" in capsys.readouterr().err


def test_many_reports_are_read_in_other_processes(tmp_path: Path, capsys: Captured) -> None:
    for day in range(1, 18):
        saved(tmp_path / "runs" / f"node{day}", _report(day))
    saved(tmp_path / "runs" / "copy", _report(1))
    (tmp_path / "runs" / "node2" / "report.json").write_text("{")

    assert main(["fleet", "add", "--store", str(tmp_path / "store"), str(tmp_path / "runs")]) == 1
    printed = capsys.readouterr()
    assert "16 runs; 1 already there" in printed.out
    assert "node2" in printed.err
    assert len(Store(tmp_path / "store").table("runs")) == 16


def test_other_processes_import_neither_the_script_nor_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "socket.py").write_text("open('imported', 'w')")
    code = "from gpureport.report.processes import in_parallel; print(in_parallel(abs, [-1, -2]))"
    (tmp_path / "a.py").write_text(code)
    done = subprocess.run([sys.executable, "-P", "a.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr, len([*tmp_path.iterdir()])) == ("[1, 2]\n", "", 2)


def test_files_of_earlier_versions_lack_columns(fleet_store: Store, tmp_path: Path) -> None:
    (first, *_) = sorted((fleet_store.folder / "runs").iterdir())
    table = pd.read_parquet(first).drop(columns=["ecc", "log_speed"])
    (tmp_path / "runs").mkdir()
    table.to_parquet(tmp_path / "runs" / "run0.parquet", index=False)

    assert Store(tmp_path).table("runs")["ecc"].isna().all()
    assert len(Store(tmp_path).table("points")) == (table["kind"] == "points").sum()


def test_damaged_files_are_named_and_left_out(run: StoredRun, tmp_path: Path, capsys: Captured) -> None:
    Store(tmp_path).add(run)
    good = tmp_path / "runs" / f"{run['runs'][0]['run']}.parquet"
    content = good.read_bytes()
    flipped = bytes(byte ^ 0x5A if 500 < number < 9000 else byte for number, byte in enumerate(content))
    names = ("runs/cut", "runs/flipped", "runs/text", "runs/\udcff", "runs/fifo", "runs/folder", "runs/loop")
    files = [tmp_path / f"{name}.parquet" for name in names]
    *damaged, fifo, folder, loop = files
    for file, wrong in zip(damaged, (content[:900], flipped, b"text", b""), strict=True):
        file.write_bytes(wrong)
    os.mkfifo(fifo)
    folder.mkdir()
    loop.symlink_to(loop)
    for command in (["list"], ["query", "SELECT * FROM points"], ["export", str(tmp_path / "x.csv")], ["report"]):
        assert main(["fleet", *command, "--store", str(tmp_path)]) == 0
        named = re.findall(r"^Left out: (.+): is", capsys.readouterr().err, re.MULTILINE)
        assert set(named) == {str(file).replace("\udcff", " ") for file in files}
    good.unlink()
    assert main(["fleet", "list", "--store", str(tmp_path)]) == 2
    assert "is no regular file" in capsys.readouterr().err
    with pytest.raises(InputError, match="regular"):
        Store(tmp_path).add({"runs": ({"run": "fifo"},)})


def test_foreign_rows_change_nothing(fleet_store: Store, fleet: Fleet, tmp_path: Path) -> None:
    shutil.copytree(fleet_store.folder, tmp_path / "store")
    (first, *_) = sorted((tmp_path / "store" / "runs").iterdir())
    rows = pd.read_parquet(first)
    points = rows["kind"] == "points"
    pd.DataFrame({"node": [1], "text": ["a"]}).to_parquet(first.with_name("other.parquet"))
    pd.DataFrame({"run": [1], "kind": ["runs"], "node": [2]}).to_parquet(first.with_name("types.parquet"))
    rows.assign(run="unknown", created_at=None).to_parquet(first.with_name("unknown.parquet"))
    rows.assign(run="late", created_at=np.datetime64("9999-12-31", "us")).to_parquet(first.with_name("late.parquet"))
    rows.assign(node=[{"a": 1}] * len(rows)).to_parquet(first.with_name("structs.parquet"))
    rows.assign(x=[b"a"] * len(rows)).to_parquet(first.with_name("bytes.parquet"))
    rows[points].assign(layer=None, point="new").to_parquet(first.with_name("layers.parquet"))
    strange = rows[points][:5].assign(measured=[np.inf, np.nan, -1.0, 0.0, 1e300], point="strange")
    strange.to_parquet(first.with_name("strange.parquet"))

    found = analyse(Store(tmp_path / "store"))

    assert list(map(sentence, found.outliers)) == list(map(sentence, fleet.outliers))
    assert found.runs == fleet.runs


def test_load_by_others_is_stored_for_a_cpu(tmp_path: Path) -> None:
    readings = tuple(
        Reading(
            at_s=at, measuring=True, cpu_busy_total_s=0.9 * at, cpu_own_total_s=0.3 * at, cpu_steal_total_s=0.1 * at
        )
        for at in (0.0, 5.0, 10.0)
    )
    conditions = (Conditions(workload="memory/read", readings=readings),)
    report = REPORT.model_copy(update={"device": on_cpu(REPORT.device), "conditions": conditions})

    (row,) = read_run(saved(tmp_path, report), "node")["runs"]

    assert row["others_utilisation"] == pytest.approx(0.6)
    assert row["cpu_steal"] == pytest.approx(0.1)


def test_the_temperature_is_that_after_the_run_as_in_rows_of_earlier_versions(run: StoredRun, tmp_path: Path) -> None:
    celsius = ((0.0, 75.0), (1.0, 75.0), (2.0, 41.0))
    readings = tuple(Reading(at_s=at, measuring=at < 2, temperature_c=warm) for at, warm in celsius)
    conditions = (Conditions(workload="memory/read", readings=readings),)
    report = _report(2).model_copy(update={"conditions": conditions})
    store = Store(tmp_path / "store")
    store.add(varied(run, "earlier", "node1", 1, 0.0, temperature_c=41.0))
    store.add(read_run(saved(tmp_path, report), "node1"))

    earlier, later = (rows for _, rows in store.table("runs").groupby("created_at"))

    assert list(later["temperature_c"]) == [41.0]
    assert "temperature_c" not in {each.column for each in reasons(-0.05, later, earlier)}


def test_what_is_no_finished_run_is_left_out(tmp_path: Path, capsys: Captured) -> None:
    good, bad = saved(tmp_path / "good", _report(1)), tmp_path / "bad"
    saved(bad, _report(2).model_copy(update={"status": "partial"}))
    store = ["--store", str(tmp_path / "store")]

    assert main(["fleet", "add", *store, str(good), str(bad)]) == 1
    assert "partial" in capsys.readouterr().err
    assert main(["fleet", "add", *store, str(bad)]) == 2
    assert main(["fleet", "add", *store, str(tmp_path / "nothing.json")]) == 2
    assert main(["fleet", "list", "--store", str(tmp_path / "empty")]) == 2
    assert main(["fleet", "list"]) == 2
    for wrong in ("=runs", "node=", ""):
        assert main(["fleet", "add", *store, wrong]) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY runs TO '/tmp/out.csv'",
        "DROP TABLE runs",
        "SELECT 1; SELECT 2",
        "INSTALL httpfs",
        "ATTACH '/tmp/x.db'",
        "SET enable_external_access = true",
        "SELECT nothing FROM runs",
        "SELEC",
    ],
)
def test_queries_can_only_read_the_store(fleet_store: Store, sql: str) -> None:
    with pytest.raises(InputError, match="query"):
        fleet_store.rows(sql, 1)


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("SELECT interval '99999999 years' AS a, '\\x80'::blob AS b, now() AS c", "99999999 years  \\x80"),
        ("--store of runs\nSELECT count(*) AS a FROM runs", "a\n──\n48\n"),
        ("SELECT 1 AS a, NULL AS b, 3 AS c", "a  b  c\n"),
        ("SELECT i, i / 3 AS x FROM range(2) t(i) ORDER BY i DESC", "1  0.333333"),
        ("SELECT repeat('x', 20000000)", "gpureport: the rows have more than 10000000 characters"),
        ("SELECT repeat('x', 2000000000)", "gpureport: the query fails: Out of Memory"),
        ("SELECT '\udcff'", "is not UTF-8"),
    ],
)
def test_queries_print_what_python_cannot_represent(
    fleet_store: Store, sql: str, printed: str, capsys: Captured
) -> None:
    code = main(["fleet", "query", "--store", str(fleet_store.folder), "--", sql])
    found = capsys.readouterr()
    assert printed in (found.err if code else found.out)
    assert code == (2 if found.err else 0)


def test_a_query_that_takes_too_long_is_named(
    fleet_store: Store, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpureport.cli.fleet._MOST_S", 0.01)
    assert main(["fleet", "query", "--store", str(fleet_store.folder), "SELECT 1"]) == 2
    assert capsys.readouterr().err == "gpureport: the query takes longer than 0.01 s\n"


def test_an_interrupt_ends_a_query(fleet_store: Store) -> None:
    sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 0"
    command = [sys.executable, "-m", "gpureport", "fleet", "query", sql, "--store", str(fleet_store.folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=10)[1] == "gpureport: interrupted\n"
    assert process.returncode == 130


@pytest.mark.parametrize(
    "command", [["list"], ["query", "SELECT 1"], ["report", "-o", "site"], ["export", "x.csv"]], ids=lambda c: c[0]
)
def test_a_mistyped_store_is_one_sentence(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for name, problem in (("stroe", "no such folder"), ("file", "is a file"), ("folder", "is no store")):
        assert main(["fleet", *command, "--store", name]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{name}: " in line
        assert problem in line
    assert main(["fleet", *command, "--store", "\udcff"]) == 2
    assert "is not UTF-8; rename" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "folder"]


def test_exports_have_all_rows(
    fleet_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.delenv("GPUREPORT_STORE", raising=False)
    with pytest.raises(InputError, match=r"\(folder=DIR\), or set GPUREPORT_STORE"):
        gpureport.fleet()
    monkeypatch.setenv("GPUREPORT_STORE", str(fleet_store.folder))
    files = [tmp_path / f"figures.{suffix}" for suffix in ("csv", "parquet", "json")]
    for file in files:
        assert main(["fleet", "export", str(file)]) == 0
    frame = gpureport.fleet()
    assert (
        len(frame)
        == len(pd.read_csv(files[0]))
        == len(pd.read_parquet(files[1]))
        == len(json.loads(files[2].read_text()))
    )
    assert {"node", "name", "measured"} <= set(frame.columns)
    assert len(gpureport.fleet(table="runs")) == 48
    with pytest.raises(InputError, match="no table 'nodes'"):
        gpureport.fleet(table="nodes")  # type: ignore[arg-type]
    capsys.readouterr()
    assert main(["fleet", "export", str(files[0])]) == 2
    assert " -o" not in capsys.readouterr().err
    assert main(["fleet", "export", str(tmp_path / "figures.xls")]) == 2
    assert main(["fleet", "export", str(tmp_path / "x.csv"), "--table", "nodes"]) == 2


def test_spreadsheets_execute_no_text_of_an_export(run: StoredRun, tmp_path: Path) -> None:
    nodes = [f"{begin}1+1" for begin in "=+-@\t\r\n"]
    for number, node in enumerate(nodes):
        Store(tmp_path).add(varied(run, f"run{number}", node, 1, 0.0))
    table, file = Store(tmp_path).table("points"), BytesIO(Store(tmp_path).export("points", ".csv"))
    with TextIOWrapper(file, newline="") as lines:
        rows = list(csv.DictReader(lines))

    assert {row["node"] for row in rows} == {f"'{node}" for node in nodes}
    assert min(table["log_speed"]) < 0
    assert sorted(float(row["measured"]) for row in rows) == sorted(table["measured"])


def test_a_full_disk_is_named(fleet_store: Store) -> None:
    with pytest.raises(GpuReportError, match=r"temporary files cannot be written .No space left.*TMPDIR"):
        fleet_store.read(lambda connection: connection.execute("COPY points TO '/dev/full' (FORMAT csv)"))


def test_effects_of_days_and_devices_are_separated() -> None:
    rng = np.random.default_rng(0)
    device, day = np.repeat(np.arange(12), 6), np.tile(np.arange(6), 12)
    kept = rng.random(72) < 0.8
    device, day = device[kept], day[kept]
    parts = [Part(f"memory/read/{number}", "memory") for number in range(4)]
    values = rng.normal(0, 0.001, (len(device), 4)) - 0.05 * (device == 5)[:, None] - 0.03 * (day == 2)[:, None]
    found = effects(values, device, day, parts)
    (flags,) = significant_parts([found], MINIMUM_EFFECT)
    assert np.flatnonzero(flags.any(axis=1)).tolist() == [5]
    assert found.devices[5] == pytest.approx(-0.05, abs=0.002)
    assert found.period.tolist() == [0, 0, 1, 2, 2, 2]
    assert found.shifts[1] == pytest.approx(-0.03, abs=0.002)
    assert np.abs(found.shifts[[0, 2]]).max() == 0


def test_noise_that_all_sweeps_of_a_run_share_makes_no_periods() -> None:
    rng = np.random.default_rng(3)
    device, day = np.repeat(np.arange(4), 20), np.tile(np.arange(20), 4)
    parts = [Part(f"memory/read/{number}", "memory") for number in range(4)]
    noises = [rng.normal(0, 0.01, (80, 1)) + rng.normal(0, 0.001, (80, 4)) for _ in range(100)]

    assert sum(effects(noise, device, day, parts).period.max() > 0 for noise in noises) <= 4


def test_a_run_that_lacks_a_layer_changes_nothing_for_others() -> None:
    rng = np.random.default_rng(2)
    device = np.repeat(np.arange(4), 8)
    parts = [Part("memory/read/sizes", "memory"), Part("launch/empty/sizes", "launch")]
    values = rng.normal(0, 0.001, (32, 2))
    values[4:8, 0] -= 0.1
    values[13:16, 0] -= 0.1
    values[[14, 24], 0] = np.nan

    present = effects(values, device, np.zeros(32, int), parts).present

    assert np.flatnonzero(~present).tolist() == [0, 1, 2, 3, *range(8, 13)]


def test_changes_are_dated() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (30, 1))

    one = np.ones(1)

    assert changes(noise, one) == []
    assert changes(noise + 8 * (np.arange(30) >= 21)[:, None], one) == [21]
    assert changes(noise + 9 * (np.arange(30) >= 12)[:, None] - 9 * (np.arange(30) >= 13)[:, None], one) == [12, 13]
    assert changes(noise[:1], one) == []
    assert changes(noise[:0], one) == []


@pytest.mark.parametrize("factor", [1.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_healthy_histories_have_no_change(faults: Any, factor: float) -> None:
    noise = faults.load_noise()
    shares = {runs: faults.histories(noise, runs, 40, factor=factor) for runs in (10, 30, 100)}

    assert max(shares.values()) <= 0.05
    assert faults.histories(noise, 20, 20, step=5.0, factor=factor) >= 0.95


@pytest.mark.slow
def test_faults_are_found_and_healthy_fleets_have_none(faults: Any) -> None:
    noise = faults.load_noise()
    every = faults.slowdowns(noise, 5.0)
    found = {peers: faults.shares(noise, peers, every, 4) for peers in (3, 20)}

    assert {share for each in found.values() for share, _ in each.values()} == {1.0}
    assert faults.shares(noise, 20, {"none": None}, 20)["none"][1] <= 0.05
    assert set(every) == {"overall", "memory only", "clock only", "L1 only", "L2 only"}


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ({"clock": -0.05, "L1": -0.05, "L2": -0.05, "memory": -0.05, "launch": 0.0}, "the whole device"),
        ({"clock": 0.0, "L1": 0.0, "L2": -0.01, "memory": -0.05, "launch": 0.0}, "memory"),
        ({"clock": -0.05, "L1": -0.05, "L2": -0.04, "memory": -0.01, "launch": -0.01}, "the core clock"),
        ({"clock": 0.0, "L1": 0.0, "L2": -0.03, "memory": -0.002, "launch": 0.0}, "the L2 cache"),
        ({"clock": 0.0, "L1": 0.0, "L2": 0.0, "memory": -0.002, "launch": -0.05}, "the launch of kernels"),
        ({"clock": 0.0, "memory": 0.0, "launch": 0.0, "link": -0.05}, "the link to the host"),
        ({"clock": 0.0, "memory": -0.05, "launch": 0.0, "link": -0.05}, "memory and the link to the host"),
    ],
)
def test_the_pattern_over_layers_names_the_place(layers: dict[str, float], expected: str) -> None:
    assert text("place", FILE, parts=parts_of(layers)) == expected


def test_recorded_conditions_are_reasons() -> None:
    usual: Row = {
        "uuid": "GPU-1",
        "clock_hz": 1.98e9,
        "throttle_reasons": "",
        "others_utilisation": np.nan,
        "cpu_steal": 0.0,
        "power_limit": "700 W",
        "ecc": "on",
        "remapped_rows": "0 (0 uncorrectable)",
        "mig": "off",
        "driver": "1",
        "tool_version": "0.1.0",
        "temperature_c": 40.0,
        "cores": 2,
    }
    own = {
        **usual,
        "cores": 1,
        "clock_hz": 1.8e9,
        "throttle_reasons": "power cap",
        "others_utilisation": 0.4,
        "ecc": "off",
    }
    own |= {"temperature_c": 80.0, "remapped_rows": "3 (1 uncorrectable)"}

    runs, others = pd.DataFrame([own]), pd.DataFrame([usual] * 5)

    found = text("why", FILE, reasons=reasons(-0.05, runs, others), others="its peers", own="its")

    assert [
        text in found for text in ("9.1 %", "power cap", "40 %", "ECC was off", "80 °C", "3 (1 un", "cores was 1")
    ] == [True] * 7
    for earlier in ((), ("GPU-1", "GPU-1"), ("GPU-2", None)):
        assert list(reasons(-0.05, others, others, earlier)) == []
    assert [each.column for each in reasons(-0.05, others, others, ("GPU-2",))] == ["uuid"]
    assert list(reasons(-0.05, pd.DataFrame([usual | {"uuid": None}]), others, ("GPU-2",))) == []
    faster = text("why", FILE, reasons=reasons(0.05, runs, others), others="its peers", own="its")
    assert [text in faster for text in ("power cap", "40 %", "ECC was off")] == [False, False, True]


@pytest.mark.parametrize(
    ("family", "bottleneck", "level", "layer"),
    [
        ("memory", "DRAM", "DRAM", "memory"),
        ("memory", "latency", "L2", "L2"),
        ("memory", "latency", "L2 TLB", "L2 TLB"),
        ("memory", "L2 writes", "DRAM", "L2"),
        ("instructions", "latency", "L2", "clock"),
        ("memory", "groups", "L2", "launch"),
        ("game_of_life", "int32", "DRAM", "clock"),
        ("transfer", "link", "DRAM", "link"),
        ("transfer", "call", "DRAM", "link"),
        ("transfer", "host copy", "DRAM", "link"),
    ],
)
def test_layers(family: str, bottleneck: str, level: str, layer: str) -> None:
    assert layer_of(family, bottleneck, level, ("L1", "L2", "L2 TLB")) == layer


def test_two_devices_are_no_peers_but_their_model_is_compared_with_its_prediction(
    run: StoredRun, tmp_path: Path, capsys: Captured
) -> None:
    for node in ("one", "other"):
        Store(tmp_path).add(varied(run, node, node, 1, -1.5))

    found = analyse(Store(tmp_path))

    assert (found.devices, found.compared, found.outliers, found.changes) == (2, 0, (), ())
    assert all(each.slower and "The median of 2 devices" in sentence(each) for each in found.models)
    assert {*found.models[0].layers} < {*found.peers[0].layers}
    assert main(["fleet", "report", "--store", str(tmp_path), "--fail-on-outlier"]) == 0
    assert capsys.readouterr().out.startswith("No model has three devices or more")


@pytest.mark.parametrize(
    ("nodes", "own", "changed", "words"),
    [
        (7, 0.01, range(2, 7), "Since 2026-11-04, 5 of 7 devices"),
        (8, 0.0, range(6), "Since 2026-11-04, 6 of 8 devices"),
    ],
)
def test_a_change_of_most_devices_is_counted_by_their_own_earlier_runs(
    nodes: int, own: float, changed: range, words: str, run: StoredRun, tmp_path: Path
) -> None:
    for day in range(1, 7):
        for node in range(nodes):
            effect = own * node - 0.05 * (day >= 4 and node in changed)
            Store(tmp_path).add(varied(run, f"run{node}on{day}", f"node{node}", day, effect))

    (change,) = analyse(Store(tmp_path)).changes
    assert words in sentence(change)
    assert "no recorded condition changed" in sentence(change)


def test_models_with_most_outliers_then_with_most_devices_are_drawn_first() -> None:
    peers = [Mock(labels=range(size)) for size in (2, 3, 1)]
    assert _drawn(Mock(peers=peers, outliers=[Mock(peers=peers[2])])) == [peers[2], peers[1]]


def _with_slow_sweep(run: StoredRun) -> StoredRun:
    sweep = tuple(run["points"][0][name] for name in ("family", "variant", "sweep"))

    def slower(row: Row) -> Row:
        measured = row["measured"]
        assert isinstance(measured, float)
        same = tuple(row[name] for name in ("family", "variant", "sweep")) == sweep
        return {**row, "measured": measured * (2 if row["unit"] == "s" else 0.5) if same else measured}

    return {**run, "points": tuple(map(slower, run["points"]))}


@pytest.mark.parametrize(("runs", "found"), [(1, 0), (2, 1)])
def test_sweeps_alone_make_an_outlier_only_if_they_differ_again(
    run: StoredRun, tmp_path: Path, runs: int, found: int
) -> None:
    for day in range(1, runs + 1):
        for node in range(4):
            own = varied(run, f"run{node}on{day}", f"node{node}", day, 0.0)
            Store(tmp_path).add(_with_slow_sweep(own) if node == 2 else own)

    outliers = analyse(Store(tmp_path)).outliers
    assert len(outliers) == found
    assert all(outlier.label == "node2" for outlier in outliers)


def test_no_layer_with_slow_sweeps_is_called_unaffected() -> None:
    layers = {"memory": -0.5, "clock": -0.1, "launch": 0.2}
    sweeps = [(Part("memory/copy/working_set", "memory"), -0.5), (Part("instructions/rate/operation", "clock"), -0.4)]

    peers: Any = None
    affected = (Difference(peers, None, layers, chosen) for chosen in (sweeps, sweeps[:1]))
    both, one = (text("affects", FILE, it=each, parts_of=parts_of) for each in affected)
    assert both == "this affects memory, not launch"
    assert one == "this affects memory, not clock or launch"


@pytest.mark.parametrize(("width", "found"), [(1.0001, ["node2"]), (1.1, [])])
def test_noise_within_runs_is_no_difference_between_devices(
    width: float, found: list[str], run: StoredRun, tmp_path: Path
) -> None:
    for number in range(3):
        own = varied(run, f"run{number}", f"node{number}", 1, -0.05 * (number == 2))
        points = tuple(
            {**row, "measured_low": float(row["measured"]) / width, "measured_high": float(row["measured"]) * width}  # type: ignore[arg-type]
            for row in own["points"]
        )
        Store(tmp_path).add({**own, "points": points})

    assert [outlier.label for outlier in analyse(Store(tmp_path)).outliers] == found


@pytest.mark.parametrize("nodes", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_a_change_of_all_devices_has_a_date_and_a_cause(
    nodes: int, run: StoredRun, tmp_path: Path, capsys: Captured
) -> None:
    store = Store(tmp_path / "store")
    for day in range(1, 9):
        for node in range(nodes):
            later, slow = -0.05 * (day >= 5), -0.08 * (node == 1 and day >= 7)
            facts = {"driver": "580.2" if later else "570.1", "power_limit": "500 W" if slow else "700 W"}
            store.add(varied(run, f"run{node}on{day}", f"node{node}", day, later + slow, **facts))

    found = analyse(store)
    (change,) = found.changes

    layers = {name: effect for name, effect in change.layers.items() if name != "launch"}  # varies
    assert layers == pytest.approx(dict.fromkeys(layers, -0.05), abs=0.004)
    assert sentence(change).startswith(f"Since 2026-11-05, all {nodes} devices")
    assert re.search(r"(4\.[89]|5\.0) % slower.*580\.2.*570\.1", sentence(change))
    assert "power limit" not in sentence(change)
    assert [outlier.label for outlier in found.outliers] == ["node1"]
    assert found.outliers[0].effect == pytest.approx(-0.08, abs=0.006)
    assert found.outliers[0].since == pd.Timestamp(2026, 11, 7, 10)
    assert main(["fleet", "report", "--store", str(store.folder)]) == 0
    assert sentence(change) in " ".join(capsys.readouterr().out.split())


def test_a_change_is_found_if_few_devices_are_measured_on_a_day() -> None:
    rng = np.random.default_rng(4)
    parts = [Part(f"memory/read/{number}", "memory") for number in range(4)]
    device, day = np.tile(np.arange(7), 8), np.arange(56)
    values = rng.normal(0, 0.001, (56, 4)) - 0.05 * ((device == 2) & (day >= 21))[:, None]

    assert effects(values, device, day, parts).period.max() == 0

    found = effects(values - 0.05 * (day >= 28)[:, None], device, day, parts)

    assert found.period.max() == 1
    assert abs(int(np.argmax(found.period)) - 28) <= 4
    assert found.shifts[1] - found.shifts[0] == pytest.approx(-0.05, abs=0.002)


def test_power_and_energy_are_no_speeds(fleet: Fleet) -> None:
    rows = [(0, unit, unit, 1.0, 2.0, None) for unit in ("s", "B/s", "W", "J/B")]
    figures = pd.DataFrame(rows, columns=["member", "name", "unit", "measured", "usual", "predicted"])
    peers = replace(fleet.peers[0], figures=figures)
    assert peers.speeds("usual") == {0: {"s": 2, "B/s": 0.5}}
    assert peers.speeds("predicted") == {}


@pytest.mark.usefixtures("pango")
def test_documents_escape_names_and_fetch_nothing(fleet: Fleet, tmp_path: Path) -> None:
    page, pdf = write_documents(fleet, tmp_path)
    html = page.read_text()

    assert "<script>alert" not in html
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=\"?(https?:)?//", html)
    assert max(Counter(re.findall(r' id="([^"]+)"', html)).values(), default=1) == 1
    assert "&lt;script&gt;alert" in html
    assert len(PdfReader(pdf).pages) <= 6


@pytest.mark.parametrize(
    "report", ["/root/x/report.json", f"/{'x' * 5000}/report.json", "/a\0b.json", "/", ".", "~", None]
)
def test_reports_that_cannot_be_opened_have_no_link(report: str | None, run: StoredRun, tmp_path: Path) -> None:
    Store(tmp_path).add(varied(run, "run", "node", 1, 0.0, report=report))
    Store(tmp_path).add(varied(run, "known", "other", 1, 0.0, report="~"))

    page, *_ = write_documents(analyse(Store(tmp_path)), tmp_path / "site", with_pdf=False)

    assert not [link for link in re.findall(r'href="([^"#]+)"', page.read_text()) if "/" in link]


def test_devices_link_to_their_last_report(run: StoredRun, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b/report.html").touch()
    for day, report in ((1, "/other/report.json"), (2, str(tmp_path / "a b/report.json"))):
        Store(tmp_path).add(varied(run, f"run{day}", "node", day, 0.0, report=report))

    page, *_ = write_documents(analyse(Store(tmp_path)), tmp_path / "site", with_pdf=False)

    assert 'href="../a%20b/report.html"' in page.read_text()


def test_runs_of_different_kinds_are_compared_apart(run: StoredRun, tmp_path: Path) -> None:
    for node in range(4):
        for quick, units in ((True, 16), (False, 16), (True, 8)):
            slow = -0.2 if node == 3 and quick and units == 16 else 0.0
            facts = {"quick": quick, "compute_units": units}
            Store(tmp_path).add(varied(run, f"run{node}{quick}{units}", f"node{node}", 1, slow, **facts))

    found = analyse(Store(tmp_path))

    assert len({each.title for each in found.peers}) == len(found.peers) == 3
    (outlier,) = found.outliers
    assert "16" in outlier.peers.title
    assert "quick" in outlier.peers.title
    assert outlier.label == "node3"


def test_outliers_give_an_exit_code(fleet_store: Store, capsys: Captured) -> None:
    report = ["fleet", "report", "--store", str(fleet_store.folder)]

    assert main(report) == 0
    assert "1 of 8 devices" in capsys.readouterr().out
    assert main([*report, "--fail-on-outlier"]) == 3
    assert main([*report, "--fail-on-outlier", "--minimum-effect", "50"]) == 0
