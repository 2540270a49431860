"""``gpureport compare``: what it opens, prints, writes and returns."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from gpureport.cli import main
from gpureport.errors import GpuReportError
from gpureport.records.report import Report, save_report
from gpureport.report import render
from tests.kept import GPU, REPORTS
from tests.make_report import make_report, slower

REPORT = make_report()


def _saved(report: Report, folder: Path) -> str:
    folder.mkdir()
    save_report(report, folder / "report.json")
    return str(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two reports on the same device, the second a tenth slower throughout."""
    base = tmp_path_factory.mktemp("reports")
    return _saved(REPORT, base / "before"), _saved(slower(REPORT, 1 / 0.9), base / "after")


def _copies(report: str, folder: Path, number: int) -> list[str]:
    (file,) = Path(report).glob("report.json*")
    first = folder / "copy-0" / file.name
    first.parent.mkdir(parents=True)
    shutil.copy(file, first)
    for count in range(1, number):
        (folder / f"copy-{count}").mkdir()
        (folder / f"copy-{count}" / file.name).hardlink_to(first)
    return [str(folder / f"copy-{count}") for count in range(number)]


@pytest.mark.slow
def test_forty_reports_take_little_memory(tmp_path: Path) -> None:
    """Each of several megabytes; all of them within 1 GiB, because each is reduced to the data of a comparison."""
    limit = (2**30, resource.RLIM_INFINITY)
    ended = subprocess.run(
        [sys.executable, "-m", "gpureport", "compare", *_copies(str(REPORTS / GPU), tmp_path, 40)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "On the same device, none of 39 machines differs significantly" in ended.stdout


@pytest.mark.usefixtures("pango")
def test_reports_are_printed_and_written(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["compare", *folders, "-o", str(tmp_path / "out")]) == 0

    assert "after relative to before: " in capsys.readouterr().out
    written = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert [machine["name"] for machine in written["machines"]] == ["before", "after"]
    assert written["baseline"] == "before"
    html = (tmp_path / "out" / "comparison.html").read_text()
    assert "<h1>before and after</h1>" in html
    assert "http://" not in html.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert (tmp_path / "out" / "comparison.pdf").read_bytes().startswith(b"%PDF-")
    assert main(["compare", *folders, "-o", str(tmp_path / "out")]) == 2

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {file: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    monkeypatch.setattr(render._Pages, "with_figures", interrupted)
    assert main(["compare", folders[1], folders[0], "-o", str(tmp_path / "out"), "--force"]) == 130
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    monkeypatch.undo()

    def full(*_: object) -> NoReturn:
        raise GpuReportError("no space is left")

    monkeypatch.setattr(render, "write_files", full)
    assert main(["compare", folders[1], folders[0], "-o", str(tmp_path / "out"), "--force"]) == 1
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def test_a_regression_ends_with_3(folders: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *folders, "--fail-on-regression", "20"]) == 0
    assert main(["compare", *folders, "--fail-on-regression", "5", "--baseline", "after"]) == 0
    capsys.readouterr()
    code = main(["compare", *folders, "--fail-on-regression", "5"])

    assert code == 3
    assert "Regression: after is " in capsys.readouterr().err


def test_a_regression_below_the_minimum_effect_is_none(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    several = [_saved(slower(REPORT, 1.02), tmp_path / f"run-{number}") for number in range(4)]
    machines = (",".join(_copies(folders[0], tmp_path / "base", 4)), ",".join(several))

    assert main(["compare", *machines, "--fail-on-regression", "1"]) == 0
    assert "are within run-to-run variation" in capsys.readouterr().out
    assert main(["compare", *machines, "--fail-on-regression", "1", "--minimum-effect", "0.5"]) == 3


def test_several_runs_are_one_machine(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2, 3):
        _saved(REPORT, tmp_path / f"run-{number}")

    assert main(["compare", f"b={folders[0]},{folders[1]}", str(tmp_path), "-o", str(tmp_path / "o"), "--no-pdf"]) == 0
    written = json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert [(machine["name"], machine["runs"]) for machine in written["machines"]] == [("b", 2), (tmp_path.name, 3)]
    assert written["machines"][0]["source"].count("/before,") == 1
    assert not Path(written["machines"][0]["source"].split(",")[1]).is_absolute()
    assert main(["compare", f"{tmp_path / 'run-1'},{tmp_path / 'run-2'}", folders[0]]) == 0
    out = capsys.readouterr().out
    assert "sweeps of before are within run-to-run variation" in " ".join(out.split())
    assert "run-1" in out


def test_a_report_is_not_compared_with_itself(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folders[0])

    for again in (f"{folders[0]}/report.json", f"{folders[1]},{link}", f"other={folders[0]}/../before"):
        assert main(["compare", folders[0], again]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.endswith(f"is given twice, also as {folders[0]}; give each report and device once\n")


def test_names_devices_and_hostile_text(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = REPORT.device.model_copy(update={"name": "<script>alert(1)</script> \x1b[31m"})
    hostile = _saved(REPORT.model_copy(update={"device": device}), tmp_path / "hostile")

    for number in (1, 2):
        shutil.copytree(folders[0], tmp_path / str(number) / "before")
    copies = (str(tmp_path / "1" / "before"), str(tmp_path / "2" / "before"))

    assert main(["compare", f"mine={folders[0]}", *copies, hostile, "-o", str(tmp_path), "--no-pdf"]) == 0
    written = json.loads((tmp_path / "comparison.json").read_text())
    assert [machine["name"] for machine in written["machines"]] == ["mine", "before", "before (2)", "hostile"]
    assert "<script>alert" not in (tmp_path / "comparison.html").read_text()
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("{0}", "{1}", "nowhere"), "nowhere: there is no such file or folder, and the database has no device"),
        (("", "{1}"), "'': there is no such file or folder, and the database has no device"),
        (("{0},", "{1}"), "'': there is no such file or folder, and the database has no device"),
        (("{0}",), "needs at least two machines"),
        (("h200", "nvidia/h200_sxm"), "nvidia/h200_sxm: is given twice; give each report and device once"),
        (("{0}", "{1}", "--workload", "nothing"), "no workload is called 'nothing'"),
        (("{0}", "{1}", "--workload", "instructions"), "nothing to compare: no two of before, after have a workload"),
        (("{0}", "{1}", "--baseline", "other"), "no machine is called 'other'; choose one of before, after"),
        (
            ("{0}", "rtx 2070", "-w", "memory/read", "--fail-on-regression", "5"),
            "needs another report of the same device",
        ),
    ],
)
def test_mistakes_get_a_sentence(
    folders: tuple[str, str],
    arguments: tuple[str, ...],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(Path(folders[0]).parent)
    assert main(["compare", *(each.format(*folders) for each in arguments)]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
