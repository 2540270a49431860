"""Published results as reports: statements, predictions, transfers and their accuracy."""

import lzma
from pathlib import Path

import pandas as pd
import pytest

from gpureport.cli import main
from gpureport.records.report import load_report, save_report
from gpureport.results.published import load
from gpureport.results.replay import report_result
from gpureport.spec.database import load_database
from gpureport.validate.residuals import frame, residuals
from gpureport.validate.tables import TRANSFERS, transfer_residuals
from gpureport.validate.targets import TARGETS, judge
from gpureport.workloads import all_workloads
from tests.kept import PUBLISHED, database, record

Captured = pytest.CaptureFixture[str]
SMALL = "rtx_2070_game_of_life"


def test_a_report_of_a_record_is_held_against_the_model_as_the_record_is(tmp_path: Path) -> None:
    name = "rx_7900_xt_particles"
    save_report(record(name), tmp_path / "report.json")
    stored = report_result(load_report(tmp_path), name, database(), all_workloads())
    original = load(PUBLISHED / f"{name}.yaml", database())

    first, second = (residuals(result, features=False) for result in (stored, original))
    assert [each["predicted"] for each in first] == [each["predicted"] for each in second]


@pytest.fixture
def one_wrong(tmp_path: Path) -> Path:
    """A folder of three records, the first of which is wrong."""
    folder = tmp_path / "published"
    folder.mkdir()
    text = (PUBLISHED / "rx_570_bit_transpose.yaml").read_text()
    for name, content in (("a", text.replace("series:", "sereis:")), ("b", text), ("c", text)):
        (folder / f"{name}.yaml").write_text(content)
    return folder


@pytest.mark.parametrize("command", ["render --no-pdf --force", "validate --times"])
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


FOLDER = Path(__file__).parents[1] / "reports" / "published" / "transfers"


COLUMNS = "machine,device,to_device,to_host,to_device_while_both,to_host_while_both"


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return frame(transfer_residuals(FOLDER, load_database()))


def test_every_machine_has_four_positive_rates_and_a_known_gpu(found: pd.DataFrame) -> None:
    machines = found["conditions"].value_counts()
    assert len(machines) == 146
    assert set(machines) == {4}
    assert (found[["observed", "predicted"]] > 0).all(axis=None)


def test_targets_are_reached(found: pd.DataFrame) -> None:
    """No constant was fitted to the H100."""
    results = judge(found, TARGETS).dropna(subset="reached")
    assert results["result"].tolist() == ["pass"] * 3
    assert set(found["independence"][found["device"] == "nvidia/h100_sxm"]) == {"unseen device"}


def test_narrower_links_are_named_and_apply_to_both_directions(tmp_path: Path) -> None:
    (tmp_path / TRANSFERS).write_bytes(lzma.compress(f"{COLUMNS}\nslow,nvidia/l4,13,13,12,12".encode()))
    found = frame(transfer_residuals(tmp_path, load_database()))
    assert set(found["label"]) == {"0.5 of the link"}
    assert found["ratio"].between(0.9, 1.1).all()
