"""``gpureport predict`` and ``gpureport render``: documents, inexact names, and what is wrong with a report."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from threading import Thread
from unittest.mock import Mock

import pytest
from pypdf import PdfReader

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.errors import GpuReportError
from gpureport.records.report import load_report, save_report
from gpureport.report.processes import started
from tests.fake_run import empty_report

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("folder", [".", "out"])
def test_documents_are_not_overwritten(empty: Path, folder: str, capsys: Captured) -> None:
    page = empty.parent / folder / "report.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("mine")
    page.with_suffix(".pdf").write_text("mine")
    where = ["render", str(empty), "--no-pdf"] + (["-o", str(page.parent)] if folder == "out" else [])

    assert main(where) == 2
    assert capsys.readouterr().err.startswith(f"gpureport: {page}: already exists; use --force")
    assert page.read_text() == "mine"
    assert main([*where, "--force"]) == 0
    assert not page.with_suffix(".pdf").exists()


def test_documents_have_their_report_s_name(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.report.processes._process", Mock(side_effect=OSError))  # cannot start
    files = tmp_path / "m1.json", tmp_path / "m.2.json"
    for file in files:
        save_report(empty_report(), file)

    assert main(["render", *map(str, files), "--no-pdf"]) == 0
    assert capsys.readouterr().out == f"Written: {tmp_path}/m1.html\nWritten: {tmp_path}/m.2.html\n"
    assert main(["render", str(files[0]), "--no-pdf"]) == 2
    assert f"{tmp_path}/m1.html: already exists; use --force" in capsys.readouterr().err


def test_documents_name_the_file_that_was_read(tmp_path: Path) -> None:
    """No copy of it is written beside documents in another folder."""
    run, site = tmp_path / "run", tmp_path / "site"
    run.mkdir()
    save_report(empty_report(), run / "report.json")
    for folder, named in ((site, "run/report.json"), (run, "report.json")):
        assert main(["render", str(run), "-o", str(folder), "--no-pdf"]) == 0
        assert f"<code>{named}</code>" in (folder / "report.html").read_text()


def test_errors_of_other_processes_are_raised_without_a_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.report.processes.usable_cores", lambda: [0, 1])
    monkeypatch.setattr("gpureport.report.processes._answer", lambda *_: (OSError("disk full"), None))
    function = Mock()
    with pytest.raises(OSError, match="disk full"):
        started(function, 1)()
    function.assert_not_called()


def test_without_temporary_files_this_process_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpureport.report.processes.usable_cores", lambda: [0, 1])
    monkeypatch.setattr("gpureport.report.processes._tasks", Mock(side_effect=GpuReportError))
    assert started(abs, -1)() == 1


def test_one_thread_starts_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def starting() -> Mock:
        calls.append("begin")
        time.sleep(0.1)
        calls.append("end")
        return Mock()

    monkeypatch.setattr("gpureport.report.processes.usable_cores", lambda: [0, 1])
    monkeypatch.setattr("gpureport.report.processes._tasks", starting)
    threads = [Thread(target=started, args=(abs, -1)) for _ in range(2)]
    for do in (Thread.start, Thread.join):
        list(map(do, threads))
    assert calls == ["begin", "end"] * 2


def test_a_program_that_ends_while_processes_start_leaves_no_folder(tmp_path: Path) -> None:
    program = """
        import tempfile, time
        from gpureport.report import processes
        make = tempfile.mkdtemp
        tempfile.mkdtemp = lambda **options: (make(**options), time.sleep(0.5))[0]
        processes.usable_cores = lambda: [0, 1]
        processes.prepare(pdf=True)
        time.sleep(0.2)
    """
    folder = tmp_path / "temporary"  # libraries may write to the user's folder, which is the one above
    folder.mkdir()
    command, environment = [sys.executable, "-c", dedent(program)], {**os.environ, "TMPDIR": str(folder)}
    subprocess.run(command, env=environment, check=True)
    assert not list(folder.iterdir())


def test_documents_do_not_overwrite_their_report(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "mine.html"
    save_report(empty_report(), file)
    before = file.read_bytes()
    assert main(["render", str(file), "--force"]) == 2
    assert capsys.readouterr().err == f"gpureport: {file}: its HTML or PDF would overwrite it; rename it to mine.json\n"
    assert file.read_bytes() == before


def changed(report: Path, **fields: object) -> Path:
    """Change top-level fields of a stored report; ``None`` removes one."""
    data = {**json.loads(report.read_text()), **fields}
    report.write_text(json.dumps({name: value for name, value in data.items() if value is not None}))
    return report


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"machine": None}, "machine: is missing"),
        ({"schema_version": 1, "machines": []}, "is a comparison, not a report; give the reports that it compares"),
    ],
)
def test_a_report_that_cannot_be_read_is_one_sentence(
    empty: Path, capsys: Captured, fields: dict[str, object], sentence: str
) -> None:
    assert main(["render", str(changed(empty, **fields))]) == 2
    assert capsys.readouterr() == ("", f"gpureport: {empty}: {sentence}\n")


def test_entries_of_devices_are_no_records(capsys: Captured) -> None:
    path = data_dir("devices") / "nvidia" / "h200_sxm.yaml"
    assert main(["render", str(path)]) == 2
    assert capsys.readouterr().err.endswith(f"check it with `gpureport devices check {path}`\n")


FEW = ["--quick", "-w", "memory/copy,memory/latency,launch/queued,particles/structs16"]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("devices", [["h200"], ["a40", "h200", "hd 520"]], ids="+".join)
def test_tables_are_as_wide_as_the_terminal(
    devices: list[str], columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["predict", *devices, *FEW]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_what_is_predicted(terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    saxpy = str(data_dir("kernels_cl") / "examples" / "saxpy.yaml")
    assert main(["predict", "h200", "--quick", "--kernel", saxpy]) == 0
    assert ("predicting saxpy/saxpy: " in capsys.readouterr().err) == terminal


def test_a_prediction_as_json_is_a_report(tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", "h200", *FEW, "--json"]) == 0
    (tmp_path / "report.json").write_text(capsys.readouterr().out)
    assert load_report(tmp_path).only_predicted


@pytest.mark.slow
@pytest.mark.usefixtures("pango")
def test_the_pdf_of_a_prediction_is_short(tmp_path: Path) -> None:
    assert main(["predict", "RX 7900 XT", "--pdf", "-o", str(tmp_path)]) == 0
    assert len(PdfReader(tmp_path / "report.pdf").pages) <= 4


def test_devices_side_by_side_as_json(capsys: Captured) -> None:
    assert main(["predict", "h200", "RX 7900 XT", *FEW, "--json"]) == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert not err
    assert [each["device"]["id"] for each in answer["devices"]] == ["nvidia/h200_sxm", "amd/rx_7900_xt"]
    (pair,) = answer["comparison"]["contrasts"]
    assert (answer["comparison"]["baseline"], pair["machine"]) == ("h200_sxm", "rx_7900_xt")
    memory = pair["effects"][0]
    assert (memory["bottleneck"], memory["kernels"]) == ("memory", ["memory/copy", "particles/structs16"])
    assert memory["ratio"]["ci_low"] < memory["ratio"]["value"] < memory["ratio"]["ci_high"]
    assert memory["ratio"]["value"] == pytest.approx(800 * 0.85 / (4800 * 0.92), rel=0.08)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["h200", "H200 SXM"], "nvidia/h200_sxm: is given twice; give each report and device once"),
        (["h200", "-o", "x"], "--output: has no effect without --pdf; add --pdf, or omit --output"),
        (["h200", "no such"], "the database has no device 'no such'; 'gpureport devices --known' lists all"),
    ],
    ids=["twice", "no pdf", "unknown"],
)
def test_invalid_requests(arguments: list[str], sentence: str, capsys: Captured) -> None:
    assert main(["predict", *arguments]) == 2
    assert capsys.readouterr() == ("", f"gpureport: {sentence}\n")
