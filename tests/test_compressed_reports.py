"""``report.json.xz`` wherever commands take a report or a folder of reports."""

import json
import lzma
from pathlib import Path

import pytest

import gpureport
from gpureport.cli import main
from gpureport.fleet.store import Store
from gpureport.records.report import load_report, save_report, stored
from gpureport.results.opening import same_model
from tests.fake_run import empty_report
from tests.make_report import make_report

Captured = pytest.CaptureFixture[str]
REPORT = make_report(only=("memory",))
LATER = REPORT.model_copy(update={"created_at": "2026-11-23T10:00:00+00:00"})


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """A folder with a compressed report in ``a``, and a plain one of a later run in ``b``."""
    for name, report in (("a", REPORT), ("b", LATER)):
        save_report(report, tmp_path / name / "report.json")
    plain = tmp_path / "a" / "report.json"
    plain.with_name("report.json.xz").write_bytes(lzma.compress(plain.read_bytes()))
    plain.unlink()
    return tmp_path


@pytest.mark.parametrize("source", ["a", "a/report.json.xz"])
def test_it_is_compared_under_the_name_of_its_folder(source: str, machines: Path, capsys: Captured) -> None:
    assert main(["compare", str(machines / source), str(machines / "b")]) == 0
    assert "a reaches 96 % and b reaches" in capsys.readouterr().out
    assert gpureport.load_report(machines / source).report == load_report(machines / "a")


@pytest.mark.parametrize(("name", "document"), [("a/report.json.xz", "report"), ("a", "report"), ("m1.json.xz", "m1")])
def test_documents_have_its_name_without_suffixes(name: str, document: str, machines: Path, capsys: Captured) -> None:
    save_report(empty_report(), machines / "empty")
    path = machines / name
    (path / "report.json.xz" if path.is_dir() else path).write_bytes(lzma.compress((machines / "empty").read_bytes()))

    assert main(["render", str(path), "--no-pdf"]) == 0
    folder = path if path.is_dir() else path.parent
    assert capsys.readouterr().out == f"Written: {folder}/{document}.html\n"


def test_folders_of_runs_contain_it(machines: Path, capsys: Captured) -> None:
    """As a machine with two runs, as nodes of a fleet, and as other reports of a model."""
    save_report(REPORT, machines / "c" / "report.json")

    assert main(["compare", str(machines / "b"), f"both={machines / 'a'},{machines / 'c'}"]) == 0
    assert "give each report once" not in capsys.readouterr().err
    add = ["fleet", "add", "--store", str(machines / "store")]
    assert main([*add, str(machines / "a"), str(machines / "b")]) == 0
    assert main([*add, f"again={machines / 'c'}"]) == 0  # the run of "a" in the other form
    assert sorted(Store(machines / "store").table("runs")["node"]) == ["a", "b"]
    assert len(same_model(LATER, [machines])) == 2


def test_an_incomplete_run_is_decompressed_before_it_is_resumed(machines: Path, capsys: Captured) -> None:
    file = machines / "a" / "report.json.xz"
    file.write_bytes(lzma.compress(json.dumps(stored(REPORT) | {"status": "partial"}).encode()))

    assert main(["--resume", str(machines / "a")]) == 2
    what = "its run is incomplete, and it is compressed; decompress it first: xz -d"
    assert capsys.readouterr().err == f"gpureport: --resume: {file}: {what} {file}\n"
