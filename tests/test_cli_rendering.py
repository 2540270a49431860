"""``gpureport render``: from a report to documents, and what is wrong with a report."""
# ruff: noqa: D103 - the names of the tests say what they check

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.records.report import save_report
from tests.fake_run import empty_report

Captured = pytest.CaptureFixture[str]
WITHOUT_PANGO = """
from cffi import FFI
load = FFI.dlopen
def refuse(self, name, *flags):
    if name and "pango" in name:
        raise OSError(f"cannot load library {name!r}")
    return load(self, name, *flags)
FFI.dlopen = refuse
"""
"""Of every Python that has it on its path as ``sitecustomize``."""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A stored report of a run without curves, which is soon drawn."""
    path = tmp_path / "report.json"
    save_report(empty_report(), path)
    return path


@pytest.mark.parametrize("folder", [".", "out"])
def test_documents_are_not_overwritten(report: Path, folder: str, capsys: Captured) -> None:
    page = report.parent / folder / "report.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("mine")
    where = ["render", str(report), "--no-pdf"] + (["-o", str(page.parent)] if folder == "out" else [])

    assert main(where) == 2
    assert capsys.readouterr().err.startswith(f"gpureport: {page}: already exists; use --force")
    assert page.read_text() == "mine"
    assert main([*where, "--force"]) == 0


def test_a_pdf_that_was_there_does_not_stay_beside_a_new_page(report: Path, capsys: Captured) -> None:
    report.with_name("report.pdf").write_text("mine")

    assert main(["render", str(report), "--no-pdf"]) == 2
    assert "report.pdf: already exists; use --force" in capsys.readouterr().err
    assert main(["render", str(report), "--no-pdf", "--force"]) == 0
    assert sorted(path.name for path in report.parent.iterdir()) == ["report.html", "report.json"]


def test_documents_are_named_after_their_report(tmp_path: Path, capsys: Captured) -> None:
    files = tmp_path / "m1.json", tmp_path / "m.2.json"
    for file in files:
        save_report(empty_report(), file)

    assert main(["render", *map(str, files), "--no-pdf"]) == 0
    assert capsys.readouterr().out == f"Written: {tmp_path}/m1.html\nWritten: {tmp_path}/m.2.html\n"
    assert main(["render", str(files[0]), "--no-pdf"]) == 2
    assert f"{tmp_path}/m1.html: already exists; use --force" in capsys.readouterr().err


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
        ({"machine": None}, "machine is missing"),
        ({"schema_version": 2, "machines": []}, "is a comparison, not a report; give the reports that it compares"),
    ],
)
def test_a_report_that_cannot_be_read_is_one_sentence(
    report: Path, capsys: Captured, fields: dict[str, object], sentence: str
) -> None:
    assert main(["render", str(changed(report, **fields))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"gpureport: {report}: {sentence}\n"


def test_a_report_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: Captured) -> None:
    assert main(["render", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {tmp_path}/none.json: no such file; "
        "give a report.json, a published record (YAML), or a folder of these\n"
    )


@pytest.mark.parametrize(
    ("file", "kind"), [("nvidia/h200_sxm", "a device entry"), ("architectures/hopper_90", "an architecture")]
)
def test_files_of_the_database_are_no_records(file: str, kind: str, capsys: Captured) -> None:
    path = data_dir("devices") / f"{file}.yaml"
    assert main(["render", str(path)]) == 2
    assert f"{path}: is {kind}" in (error := capsys.readouterr().err)
    assert f"gpureport devices check {path}" in error


def test_a_folder_that_cannot_be_written_is_one_sentence(report: Path, capsys: Captured) -> None:
    assert main(["render", str(report), "-o", str(report / "below")]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {report}/below: cannot be written (Not a directory); choose another folder with -o\n"
    )


@pytest.mark.slow
def test_without_pango_there_is_html_and_a_sentence(report: Path, tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(WITHOUT_PANGO)
    path = os.pathsep.join([str(tmp_path / "path"), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-m", "gpureport", "render", str(report)],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": path,
        },  # without the COLUMNS that readline, where pytest loaded it, put in behind Python's back
    )

    assert ended.returncode == 0
    assert ended.stdout == f"Written: {report.with_name('report.html')}\n"
    assert ended.stderr.startswith("gpureport: no PDF: WeasyPrint cannot load Pango")
    assert "apt-get install libpango-1.0-0" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not report.with_name("report.pdf").exists()


@pytest.mark.slow
def test_pages_are_a4_or_letter(report: Path, capsys: Captured) -> None:
    for paper, width in (("a4", 595), ("letter", 612)):
        assert main(["render", str(report), "--force", "--paper", paper]) == 0
        assert round(float(PdfReader(report.with_name("report.pdf")).pages[0].mediabox.width)) == width

    capsys.readouterr()
    assert main(["render", str(report), "--force", "--paper", "a5"]) == 2
    assert capsys.readouterr().err == "gpureport: --paper: 'a5' is not one of 'a4', 'letter'.\n"
