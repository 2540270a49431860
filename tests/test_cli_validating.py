"""``gpureport validate``: results from files, tables, JSON, exit codes."""

import json
import lzma
from math import log
from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.kernel_files import load_kernels
from gpureport.records.report import save_report
from tests.fake_run import Again, Copy, fake_report, saved_reports
from tests.make_report import make_report

Captured = pytest.CaptureFixture[str]
POINTS = 9
PUBLISHED = """
title: "Particles"
citation: "Somebody, somewhere"
url: https://example.org/
device: {device}
series:
  - workload: particles/structs32
    sweep: particles
    axis: working_set
    conditions: "by hand"
    fixed: {{local: 64}}
    columns: [count, time_us]
    rows: [[65536, 3.0], [131072, 5.0], [262144, 8.0], [524288, 16.0], [1048576, 33.0]]
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a report of test workloads, and with a published result."""
    monkeypatch.setattr("gpureport.cli.validating.all_workloads", lambda: (Copy(), Again()))
    (tmp_path / "mine").mkdir()
    save_report(fake_report(), tmp_path / "mine" / "report.json")
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "theirs.yaml").write_text(PUBLISHED.format(device="amd/rx_7900_xt"))
    return tmp_path


def test_calibrated_predictions_have_their_counterpart(results: Path, capsys: Captured) -> None:
    assert main(["validate", str(results / "mine"), "--times"]) == 0

    same = capsys.readouterr().out.partition("Times of the points with a calibrated prediction")[2]
    rows = [line.split()[2:4] for line in same.partition("\n\n")[0].splitlines() if line.startswith("mine,")]
    assert sorted(rows) == [["calibrated", str(POINTS)], ["specification", str(POINTS)]]


def test_json_holds_every_point_of_both_predictions(results: Path) -> None:
    (results / "mine").rename(results / "für mich")
    assert main(["validate", str(results / "für mich"), "--times", "--json", str(results / "new" / "all.json")]) == 0

    text = (results / "new" / "all.json").read_text(encoding="utf-8")
    assert '"für mich' in text
    written = json.loads(text)
    assert len(written) == 3 * POINTS
    assert {(w["workload"], w["kind"]) for w in written} == {
        ("test/copy", "specification"),
        ("test/again", "specification"),
        ("test/again", "calibrated"),
    }
    first = written[0]
    assert first["bottleneck"] == max(first["ceilings_s"], key=first["ceilings_s"].__getitem__)
    assert first["error"] == pytest.approx(abs(log(first["predicted"] / first["observed"])))


def test_workloads_that_this_version_lacks_are_counted(
    results: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpureport.cli.validating.all_workloads", lambda: (Copy(),))

    assert main(["validate", str(results / "mine")]) == 0

    (line,) = (line for line in capsys.readouterr().err.splitlines() if "left out" in line)
    assert line.endswith("left out 1 sweep of workloads that this version lacks")


def test_a_result_that_is_given_twice_counts_once(results: Path) -> None:
    mine, file = results / "mine", results / "all.json"
    (results / "link.json").symlink_to(mine / "report.json")

    again = (f"{mine}/../mine/report.json", str(results / "link.json"))
    assert main(["validate", str(mine), *again, "--times", "--json", str(file)]) == 0
    assert len(json.loads(file.read_text())) == 3 * POINTS


def test_a_file_that_is_there_is_not_overwritten_by_chance(results: Path, capsys: Captured) -> None:
    file = results / "all.json"
    file.write_text("old")

    assert main(["validate", str(results / "mine"), "--times", "--json", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {file}: already exists; use --force to overwrite it, or choose another place\n"
    )
    assert main(["validate", str(results / "mine"), "--times", "--json", str(results)]) == 2
    assert main(["validate", str(results / "mine"), "--times", "--json", str(file), "--force"]) == 0
    assert file.read_text() != "old"


def test_runs_beside_the_results_of_the_project_are_compared_only_if_named(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpureport.results.opening.data_dir", lambda _: results)
    (results / "kept").mkdir()
    (results / "kept" / "report.json.xz").write_bytes(lzma.compress((results / "mine" / "report.json").read_bytes()))

    assert main(["validate", "--times", "--json", str(results / "all.json")]) == 0
    assert {each["result"] for each in json.loads((results / "all.json").read_text())} == {"kept", "theirs"}


def test_misses_fail_only_if_strict(results: Path) -> None:
    slow = PUBLISHED.format(device="amd/rx_7900_xt").replace("3.0", "300.0").replace("5.0", "500.0")
    (results / "published" / "theirs.yaml").write_text(slow.replace("8.0", "800.0"))

    assert main(["validate", str(results / "published")]) == 0
    assert main(["validate", str(results / "published"), "--strict"]) == 1
    assert main(["validate", str(results / "mine"), "--strict"]) == 0


def test_a_file_that_is_left_out_fails_only_if_strict(results: Path, capsys: Captured) -> None:
    (results / "mine" / "damaged").mkdir()
    (results / "mine" / "damaged" / "report.json").write_text('{"format"')

    assert main(["validate", str(results / "mine"), "--times"]) == 0
    assert f"Left out: {results}/mine/damaged/report.json" in capsys.readouterr().err
    assert main(["validate", str(results / "mine"), "--times", "--strict"]) == 1


def test_a_folder_without_results_is_named(tmp_path: Path, capsys: Captured) -> None:
    assert main(["validate", str(tmp_path)]) == 2
    assert "contains no report.json, published/*.yaml or scoreboard/*.csv" in capsys.readouterr().err


def test_nothing_validated_is_a_failure(results: Path, capsys: Captured) -> None:
    assert main(["validate", str(results / "mine"), "--times", "-w", "particles"]) == 1
    assert "particles" in capsys.readouterr().err


def test_a_missing_parameter_is_named(tmp_path: Path, capsys: Captured) -> None:
    save_report(make_report(only=("memory",)), tmp_path / "report.json")

    assert main(["validate", str(tmp_path), "--times"]) == 1
    assert "left out memory/read/size: its points lack the parameter 'groups'" in capsys.readouterr().err


def test_kernels_of_the_user_have_their_own_rows(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpureport.measure.kernels._overrun", lambda *_: None)  # this device computes nothing
    monkeypatch.setattr("gpureport.kernel_files.KernelFileWorkload.expected", lambda *_, **__: {})
    saxpy, description = data_dir("kernels_cl") / "examples" / "saxpy.yaml", tmp_path / "saxpy.yaml"
    unverified = saxpy.read_text().partition("expect:")[0]
    description.write_text(unverified.replace("source: saxpy.cl", f"source: {saxpy.with_suffix('.cl')}"))
    save_report(saved_reports(*load_kernels([description]))[-1], tmp_path / "report.json")

    assert main(["validate", str(tmp_path / "report.json"), "--times", "--kernel", str(description)]) == 0
    out = capsys.readouterr().out
    assert "Kernels of the user" in out
    assert "saxpy/saxpy" in out
    assert main(["validate", str(tmp_path / "report.json"), "--times"]) == 1
    assert "--kernel" in capsys.readouterr().err
