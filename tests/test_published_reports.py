"""Published results as reports: what was claimed, what is predicted, and that nobody here measured it."""
# ruff: noqa: D103 - the names of the tests say what they check

from pathlib import Path

import pytest

from gpureport.cli import main
from gpureport.records.report import load_report, save_report
from gpureport.results.published import load, published_result
from gpureport.results.replay import report_result
from gpureport.validate.residuals import residuals
from gpureport.workloads import all_workloads
from tests.kept import PUBLISHED, database, record

Captured = pytest.CaptureFixture[str]
SMALL = "rtx_2070_game_of_life"


def test_a_report_of_a_record_is_held_against_the_model_as_the_record_is(tmp_path: Path) -> None:
    name = "rx_7900_xt_particles"
    save_report(record(name), tmp_path / "report.json")
    stored = report_result(load_report(tmp_path), name, database(), all_workloads())
    original = published_result(load(PUBLISHED / f"{name}.yaml"), database())

    first, second = (residuals(result, features=False) for result in (stored, original))
    assert [each.predicted for each in first] == [each.predicted for each in second]


@pytest.fixture
def one_wrong(tmp_path: Path) -> Path:
    """A folder of three records, the first of which is wrong."""
    folder = tmp_path / "published"
    folder.mkdir()
    text = (PUBLISHED / "rx_570_bit_transpose.yaml").read_text()
    for name, content in (("a", text.replace("series:", "sereis:")), ("b", text), ("c", text)):
        (folder / f"{name}.yaml").write_text(content)
    return folder


@pytest.mark.parametrize("command", ["render --no-pdf --force", "validate --times", "compare"])
def test_a_wrong_record_of_a_folder_is_named_and_left_out(command: str, one_wrong: Path, capsys: Captured) -> None:
    assert main([*command.split(), str(one_wrong)]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith(f"Left out: {one_wrong / 'a.yaml'}:")
    assert captured.err.count("\n") == 1
    assert "b" in captured.out
    assert not (one_wrong / "a").exists()

    assert main([*command.split(), str(one_wrong / "a.yaml"), str(one_wrong / "b.yaml")]) == 2
    for name in ("b", "c"):
        (one_wrong / f"{name}.yaml").write_text("")
    assert main([*command.split(), str(one_wrong)]) == 2
    for line in capsys.readouterr().err.splitlines():
        assert line.startswith(f"gpureport: {one_wrong / 'a.yaml'}:")


def test_no_two_reports_are_written_to_one_folder(tmp_path: Path, capsys: Captured) -> None:
    records = [tmp_path / folder / "same.yaml" for folder in ("a", "b")]
    for each in records:
        each.parent.mkdir()
        each.write_text((PUBLISHED / f"{SMALL}.yaml").read_text())
    out = tmp_path / "out"

    assert main(["render", *map(str, records), "--no-pdf", "-o", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"gpureport: {records[1]}: has the same output folder {out}/same as {records[0]}; render them one by one\n"
    )
    assert not out.exists()
