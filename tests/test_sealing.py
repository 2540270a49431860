"""Sealed predictions and the tables of the scoreboard, from files to what ``gpureport validate`` prints."""

import json
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

from gpureport.cli import main
from gpureport.spec.database import Database
from gpureport.validate.residuals import frame
from gpureport.validate.sealing import digest, seal
from gpureport.validate.targets import OWN, contests

Captured = pytest.CaptureFixture[str]
HEADER = "device,kernel_class,operator,rows,columns,bytes,flop,li_s,time_s"
ROWS = ("nvidia/a100_pcie_40,element-wise,add,4096,1024,50331648,4194304,4e-5", "nvidia/t4,soft,fold,16,16,8,8,1e-6")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table without times."""
    (tmp_path / "scoreboard").mkdir()
    return with_times(tmp_path, "", "")


def with_times(folder: Path, *times: str) -> Path:
    lines = (HEADER, *(f"{row},{time}" for row, time in zip(ROWS, times, strict=True)))
    (folder / "scoreboard" / "layers.csv").write_text("\n".join(lines))
    return folder


def validated(folder: Path, *options: str) -> list[dict[str, object]]:
    assert main(["validate", str(folder), "--json", str(folder / "all.json"), "--force", *options]) == 0
    found: list[dict[str, object]] = json.loads((folder / "all.json").read_text())
    return found


def test_sealed_predictions_are_compared_with_later_times(folder: Path, capsys: Captured) -> None:
    sealed = folder / "sealed" / "first.json"
    assert main(["validate", str(folder), "--seal", str(sealed)]) == 0
    hashed = sha256(sealed.read_bytes().partition(b"\n")[2]).hexdigest()
    out = capsys.readouterr().out
    assert "1 row sealed, 1 without a prediction." in out
    assert f"SHA-256 of all lines after the first: {hashed}" in out
    ((key, predicted, low, high, observed),) = json.loads(sealed.read_text())["rows"]
    assert (key[1:3], observed) == (["nvidia/a100_pcie_40", "element-wise/add"], False)
    assert low < predicted < high

    (today, _) = validated(folder)
    assert (today["predicted"], today["observed"]) == (pytest.approx(predicted, rel=1e-5), None)
    assert "1 row without a prediction, 2 rows without a time" in capsys.readouterr().out
    changed = (
        sealed.read_text().replace(repr(predicted), "6e-05").replace(repr(high), "7e-05").partition("\n")[2]
    )  # as if by an earlier model
    sealed.write_text(f'{{"sha256": "{sha256(changed.encode()).hexdigest()}",\n{changed}')
    with_times(folder, "5e-5", "1e-6")
    table = folder / "scoreboard" / "layers.csv"
    pd.read_csv(table)[HEADER.split(",")[::-1]].to_csv(table, index=False)  # in another order

    (scored, unknown) = validated(folder)

    assert (scored["predicted"], scored["observed"], scored["expected"]) == (6e-5, 5e-5, [low, 7e-5])
    assert str(scored["sealed"]).startswith("first, ")
    assert (unknown["predicted"], unknown["sealed"]) == (None, "")
    assert (scored["independence"], unknown["independence"]) == ("", "seen")
    out = capsys.readouterr().out
    (row,) = (line.split() for line in out.splitlines() if line.startswith("element-wise"))
    assert row == ["element-wise", "1", "20*", "/", "20*", "35", "/", "35", "20*", "/", "20*"]
    assert "Sealed predictions" in out


def test_predictions_that_are_sealed_after_a_time_was_known_do_not_count_nor_do_later_ones(folder: Path) -> None:
    with_times(folder, "5e-5", "1e-6")
    assert main(["validate", str(folder), "--seal", str(folder / "a.json")]) == 0
    with_times(folder, "", "")
    assert main(["validate", str(folder), "--seal", str(folder / "b.json")]) == 0
    resealed(folder / "a.json", {"sealed_at": "2026-01-02T00:00:00+00:00"})
    with_times(folder, "5e-5", "1e-6")

    found = validated(folder, "--sealed", str(folder / "a.json"), "--sealed", str(folder / "b.json"))

    assert [each["sealed"] for each in found] == ["", ""]


def test_rows_that_no_table_has_are_counted(folder: Path, capsys: Captured) -> None:
    sealed = folder / "sealed" / "first.json"
    assert main(["validate", str(folder), "--seal", str(sealed)]) == 0
    (folder / "sealed" / "first.json.ots").write_text("a time stamp, which is no file of predictions")
    table = folder / "scoreboard" / "layers.csv"
    table.write_text(table.read_text().replace("4096", "2048"))

    assert [each["sealed"] for each in validated(folder)] == ["", ""]
    err = " ".join(capsys.readouterr().err.split())
    assert "first, " in err
    assert "no table has 1 of these." in err


def test_tables_without_a_prediction_are_not_sealed(folder: Path, capsys: Captured) -> None:
    table = folder / "scoreboard" / "layers.csv"
    table.write_text(table.read_text().replace(",add,", ",fold,"))

    assert main(["validate", str(folder), "--seal", str(folder / "a.json")]) == 2
    assert "--seal: no row of the tables has a prediction" in capsys.readouterr().err
    assert not (folder / "a.json").exists()


def test_options_that_sealing_does_not_use_are_refused(folder: Path, capsys: Captured) -> None:
    assert main(["validate", str(folder), "--seal", str(folder / "a.json"), "--strict", "--times"]) == 2
    assert (
        "--seal: cannot be combined with --strict and --times; omit --seal, or omit --strict and --times\n"
        in capsys.readouterr().err
    )


def test_tables_are_found_from_their_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(folder / "scoreboard")

    assert main(["validate", ".", "--seal", str(folder / "a.json")]) == 0
    assert main(["validate", "layers.csv"]) == 2
    assert "layers.csv: is a table; give its folder" in capsys.readouterr().err


def test_the_earliest_of_two_sealed_predictions_counts(folder: Path) -> None:
    for name, date in {"b": "2026-01-02", "a": "2026-01-03"}.items():
        assert main(["validate", str(folder), "--seal", str(folder / f"{name}.json")]) == 0
        resealed(folder / f"{name}.json", {"sealed_at": f"{date}T00:00:00+00:00"})

    first, _ = validated(folder, "--sealed", str(folder / "a.json"), "--sealed", str(folder / "b.json"))

    assert str(first["sealed"]).startswith("b, 2026-01-02, 1 row, SHA-256 ")


def resealed(path: Path, changes: Mapping[str, object]) -> None:
    """Change fields of a file of sealed predictions, with its hash."""
    body = json.dumps(json.loads(path.read_text()) | changes)
    body = body.replace('"sha256"', '"was"', 1)[1:]
    path.write_text(f'{{"sha256": "{sha256(body.encode()).hexdigest()}",\n{body}')


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format: must be 'gpureport sealed predictions 1'"),
        ({"rows": [[["a"], -1, 1, 1, False]]}, "rows.0.1: must be above zero"),
        ({"rows": [[["a"], 1, 2, 3, False]]}, "rows.0: the prediction must be within its interval"),
        ({"code_sha256": "G" * 64}, "code_sha256: must "),
        ({"sealed_at": "today"}, "sealed_at: must be a date and time"),
    ],
)
def test_a_wrong_field_is_named(changes: Mapping[str, object], message: str, folder: Path, capsys: Captured) -> None:
    sealed = folder / "sealed.json"
    assert main(["validate", str(folder), "--seal", str(sealed)]) == 0
    resealed(sealed, changes)

    assert main(["validate", str(folder), "--sealed", str(sealed)]) == 2
    assert f"{sealed}: {message}" in capsys.readouterr().err


def test_changed_and_other_files_are_refused(folder: Path, capsys: Captured) -> None:
    sealed, other = folder / "sealed.json", folder / "other.json"
    assert main(["validate", str(folder), "--seal", str(sealed)]) == 0
    sealed.write_text(sealed.read_text().replace("false", "true"))
    other.write_text("{}")

    assert main(["validate", str(folder), "--sealed", str(sealed)]) == 2
    assert f"{sealed}:1: was changed after it was sealed: its SHA-256 is" in capsys.readouterr().err
    assert main(["validate", str(folder), "--sealed", str(other)]) == 2
    assert f"{other}: is no file of sealed predictions" in capsys.readouterr().err
    assert main(["validate", str(folder / "scoreboard"), "--seal", str(other)]) == 2
    assert main(["validate", str(other), "--seal", str(folder / "new.json")]) == 2
    assert "--seal: there are no tables of kernels" in capsys.readouterr().err
    assert not (folder / "new.json").exists()


def test_hashes_are_those_of_standard_tools(tmp_path: Path) -> None:
    for name in ("b/one.py", "two.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    lines = subprocess.run(["sha256sum", "b/one.py", "two.py"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert digest({name: tmp_path / name for name in ("two.py", "b/one.py")}) == sha256(lines).hexdigest()


def test_the_hash_of_the_code_includes_its_tables() -> None:
    root = Path(__file__).parents[1]
    files = {
        path.relative_to(root).as_posix(): path for path in (*root.glob("analysis/**/*.py"), *root.glob("tables/*"))
    }

    assert f'"code_sha256": "{digest(files)}"' in seal([], Database({}, {}), "2026-11-30T00:00:00+00:00")[0]


def test_rivals_are_compared_on_the_rows_that_they_predict() -> None:
    """Three rows: all predict the first two, and only gpureport and the roofline the last one."""
    row = {"kernel_class": "copy", "observed": 1.0}
    rivals = ({"roofline": 0.5, "li": 1.1}, {"roofline": 0.9, "li": 1.3}, {"roofline": 0.5})
    found = frame(
        row | {"predicted": predicted, "rivals": each} for predicted, each in zip((1.1, 1.2, 1.0), rivals, strict=True)
    )

    (kernels, both), (_, alone) = contests(pd.concat([found, frame([row])]), "kernel_class")

    assert kernels == "copy"
    assert both["n"].tolist() == [2, 2, 2]
    assert dict(both["mape"]) == pytest.approx({OWN: 0.15, "roofline": 0.3, "li": 0.2})
    assert dict(both["p90"]) == pytest.approx({OWN: 0.19, "roofline": 0.46, "li": 0.28})
    assert dict(alone["mape"]) == pytest.approx({OWN: 0.0, "roofline": 0.5})
