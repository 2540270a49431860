"""The report document: stored whole, compressed, read back equal, refused in a sentence."""

import json
import lzma
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gpureport
from gpureport.cli import main
from gpureport.errors import GpuReportError, InputError
from gpureport.fleet.store import Store
from gpureport.records.report import (
    FILE_NAME,
    Report,
    load_report,
    report_file,
    report_schema,
    reports_below,
    save_report,
)
from tests.fake_run import empty_report
from tests.kept import REPORTS
from tests.make_report import make_report, stored

READ = "reads 5; read it with the gpureport that wrote it"
PACKED = f"{FILE_NAME}.xz"


@pytest.fixture
def data(report: Report) -> dict[str, Any]:
    return stored(report)


def refusal(path: Path, text: str) -> str:
    """Write *text* to *path*, and return the sentence with which it is refused."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_report(path)
    return str(caught.value)


def test_a_report_survives_the_file(report: Report, tmp_path: Path) -> None:
    """What is read is what was saved, but for figures cut to nine digits; a second pass changes nothing."""
    path = tmp_path / "report.json"
    save_report(report, path)
    first = load_report(path)
    save_report(first, tmp_path / "again.json")

    assert first == load_report(tmp_path)
    assert path.read_bytes() == (tmp_path / "again.json").read_bytes()
    assert first.findings[0].predicted == pytest.approx(report.findings[0].predicted, rel=1e-8)


def packed(file: Path) -> Path:
    """Compress *file* into another one next to it, and return that."""
    found = file.with_name(f"{file.name}.xz")
    found.write_bytes(lzma.compress(file.read_bytes()))
    return found


def test_a_compressed_report_is_the_same_report(report: Report, tmp_path: Path) -> None:
    save_report(report, tmp_path / FILE_NAME)
    plain = load_report(tmp_path)
    file = packed(tmp_path / FILE_NAME)

    assert load_report(file) == plain
    assert report_file(tmp_path).name == FILE_NAME
    (tmp_path / FILE_NAME).unlink()
    assert report_file(tmp_path) == file
    assert load_report(tmp_path) == plain


def test_reports_below_a_folder_are_one_for_each_folder(tmp_path: Path) -> None:
    for name in (PACKED, f"a/{FILE_NAME}", f"b/{FILE_NAME}", f"b/{PACKED}", f"c/d/{PACKED}", "e/other.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def names(*, deep: bool) -> list[str]:
        return [file.relative_to(tmp_path).as_posix() for file in reports_below(tmp_path, deep=deep)]

    assert names(deep=False) == [f"a/{FILE_NAME}", f"b/{FILE_NAME}"]
    assert names(deep=True) == [f"a/{FILE_NAME}", f"b/{FILE_NAME}", f"c/d/{PACKED}", PACKED]


def test_the_file_has_a_line_for_each_column(report: Report, tmp_path: Path) -> None:
    save_report(report, tmp_path / "report.json")
    lines = (tmp_path / "report.json").read_text().splitlines()

    assert sum('"samples_s"' in line for line in lines) == len(report.measurements)
    assert max(map(len, lines)) < 8000


def test_a_failed_write_leaves_the_old_file(report: Report, tmp_path: Path) -> None:
    """A value that JSON does not have is found before the old file is touched."""
    path = tmp_path / "report.json"
    save_report(report, path)
    before = path.read_bytes()
    broken = report.model_copy(update={"findings": (report.findings[0].model_copy(update={"ratio": float("nan")}),)})

    with pytest.raises(GpuReportError, match="not finite"):
        save_report(broken, path)

    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"schema_version": 5,\n "device": }', ": is not JSON (expected value at line 2 column 12)"),
        ("[1, 2]", "not a gpureport report (it has no schema_version)"),
        ('{"name": "x"}', "not a gpureport report (it has no schema_version)"),
        *(
            (
                f'{{"schema_version": {json.dumps(version)}}}',
                f"its schema_version is {version!r}, and this gpureport {READ}",
            )
            for version in (4, True, "5", 0, 5.0)
        ),
        ('{"schema_version": 5}', "tool_version: is missing (and 4 more like it)"),
    ],
)
def test_what_is_no_report_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "x.json"

    assert refusal(path, text) == f"{path}{'' if sentence.startswith(':') else ': '}{sentence}"


def test_missing_and_wrong_fields_are_named_with_their_place(data: dict[str, Any], tmp_path: Path) -> None:
    unit = data["findings"].pop("unit")
    assert ": findings.unit: is missing" in refusal(tmp_path / "x.json", json.dumps(data))

    data["findings"]["unit"] = unit
    data["device"]["compute_units"] = "many"
    wrong = refusal(tmp_path / "x.json", json.dumps(data))
    assert wrong.endswith(": device.compute_units: must be a whole number")


def test_fields_of_a_later_tool_are_ignored(data: dict[str, Any], tmp_path: Path) -> None:
    data["weather"] = "fine"
    (tmp_path / "x.json").write_text(json.dumps(data))

    assert load_report(tmp_path / "x.json").tool_version == "0.1.0"


def test_a_report_obeys_the_schema(report: Report, tmp_path: Path) -> None:
    save_report(report, tmp_path / "report.json")
    content = json.loads((tmp_path / "report.json").read_text())
    validator = jsonschema.Draft202012Validator(report_schema())
    validator.check_schema(report_schema())

    assert not list(validator.iter_errors(content))
    kept = json.loads(lzma.decompress((REPORTS / "nvidia-h200" / PACKED).read_bytes()))
    assert not list(validator.iter_errors(kept))
    del content["findings"]["unit"]
    assert [error.message for error in validator.iter_errors(content)] == ["'unit' is a required property"]


def test_a_growing_report_is_written_whole_each_time(report: Report, tmp_path: Path) -> None:
    """Records that are added, replaced or equal to others are all in it; the last, complete one is as any other."""
    path = tmp_path / "report.json"
    save = partial(save_report, path=path, known={})
    fields = ("predictions", "measurements", "observations", "findings")
    for count in (0, 1, 2, None):
        some = {name: getattr(report, name)[:count] for name in fields}
        growing = report.model_copy(update={**some, "status": "partial"})
        save(growing)
        assert load_report(path) == growing
    fewer = report.model_copy(update={"measurements": report.measurements[1:], "status": "partial"})
    save(fewer)
    assert load_report(path) == fewer
    save(report)
    save_report(report, tmp_path / "other.json")
    assert path.read_bytes() == (tmp_path / "other.json").read_bytes()


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
    """As a machine with two runs, and as nodes of a fleet."""
    save_report(REPORT, machines / "c" / "report.json")

    assert main(["compare", str(machines / "b"), f"both={machines / 'a'},{machines / 'c'}"]) == 0
    assert "give each report once" not in capsys.readouterr().err
    add = ["fleet", "add", "--store", str(machines / "store")]
    assert main([*add, str(machines / "a"), str(machines / "b")]) == 0
    assert main([*add, f"again={machines / 'c'}"]) == 0  # the run of "a" in the other form
    assert sorted(Store(machines / "store").table("runs")["node"]) == ["a", "b"]


def test_an_incomplete_run_is_decompressed_before_it_is_resumed(machines: Path, capsys: Captured) -> None:
    file = machines / "a" / "report.json.xz"
    file.write_bytes(lzma.compress(json.dumps(stored(REPORT) | {"status": "partial"}).encode()))

    assert main(["--resume", str(machines / "a")]) == 2
    what = "its run is incomplete, and it is compressed; decompress it first: xz -d"
    assert capsys.readouterr().err == f"gpureport: --resume: {file}: {what} {file}\n"
