"""The accuracy tables: their places and their format."""

import subprocess
import sys
from math import inf, log
from pathlib import Path

import pandas as pd
import pytest

import accuracy as script
from gpureport import __version__
from gpureport.cli.validating import target_row
from gpureport.errors import GpuReportError
from gpureport.files import write_file
from gpureport.spec.database import load_database
from gpureport.validate.residuals import frame
from gpureport.validate.sealing import seal
from gpureport.validate.targets import TARGETS, judge

ROOT = Path(__file__).parents[1]


def test_the_table_has_a_row_for_each_target() -> None:
    begin, end = script.marks("accuracy")
    table = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]

    named = [line.split("|")[1].strip() for line in table.strip().splitlines()[2:]]
    assert named == [target.data for target in TARGETS]


def test_tables_are_replaced_at_their_places_and_nothing_else() -> None:
    begin, end = script.marks("times")
    once = script.with_table(f"before\n{begin}\nold\n{end}\nafter\n", "times", r"| new \1 |")

    assert once == f"before\n{begin}\n\n| new \\1 |\n\n{end}\nafter\n"
    assert script.with_table(once, "times", r"| new \1 |") == once
    for name, document in script.PLACES.items():
        text = (ROOT / document).read_text(encoding="utf-8")
        assert script.with_table(text, name, "new") != text
    with pytest.raises(GpuReportError, match="lacks the lines"):
        script.with_table("nothing", "times", "table")


def test_calibrated_predictions_are_compared_with_those_of_the_same_points() -> None:
    """One point has no calibrated prediction, because its workload is a microbenchmark."""
    run = {"result": "run", "independence": "unseen device", "what": "times", "observed": 1.0}
    listed = {**run, "kind": "specification", "label": "kernel", "predicted": 1.2}
    measured = {**listed, "kind": "calibrated", "predicted": 1.1}
    microbenchmark = {**listed, "label": "other", "predicted": 2.0}

    (row,) = script.times_by_result(frame([listed, measured, microbenchmark]))

    assert row == (
        *("run", "unseen device", "2", "a factor of 1.5 / 60 % / a factor of 1.9"),
        *("1", "20.0 % / 20 % / 20.0 %", "10.0 % / 10 % / 10.0 %"),
    )


def test_cells_combine_error_limit_and_result() -> None:
    target = next(target for target in TARGETS if target.what == "n90" and target.calibrated)
    both = {"data": target.data, "what": "n90", "statistic": "median", "constants": "seen", "n": 26}
    both |= {"not_observed": 1, "not_predicted": 0}
    missed = {"kind": "specification", "limit": target.limit("specification"), "reached": inf, "result": "MISS"}
    passed = {"kind": "calibrated", "limit": target.limit("calibrated"), "reached": log(1.09), "result": "pass"}
    results = [both | missed | {"of_matched": log(1.753)}, both | passed | {"of_matched": log(1.09)}]

    assert target_row(pd.DataFrame(results)) == (
        target.data,
        "n90, median",
        "seen",
        "26, unmatched 1 + 0",
        f"(a factor of 1.8) (≤ {100 * target.specification - 100:.0f} % MISS)",
        f"9.0 % (≤ {100 * target.calibrated - 100:.0f} % pass)",
    )
    assert script.markdown(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_targets_without_data_and_without_calibration_leave_cells_blank() -> None:
    target = next(target for target in TARGETS if target.calibrated is None)

    assert target_row(judge(frame([]), [target]))[4:] == (f"no data (≤ {100 * target.specification - 100:.0f} %)", "")


def test_the_scoreboard_shows_losses_and_what_is_not_predicted() -> None:
    """A rival is better in the mean and worse in the 90th percentile; two of eleven times are not in the intervals."""
    row = {"data_set": "theirs", "device_class": "AMD GPU", "architecture": "cdna1", "device": "amd/mi100"}
    row |= {"kernel_class": "copy", "workload": "copy/fold", "independence": "unseen device", "observed": 1.0}
    errors = [(0.1, 0.0)] * 8 + [(0.1, 0.3)] * 2
    rows = [
        row | {"predicted": 1 + own, "expected": (0.5, 1.0), "rivals": {"roofline": 3.0, "neusight": 1 + theirs}}
        for own, theirs in errors
    ]
    rows[0]["expected"] = (0.5, 0.9)
    found = script.scores(frame([*rows, row | {"sealed": "file"}, {**rows[0], "sealed": "file"}]), load_database())

    assert found["losses"] == "\n".join(
        f"- copy, {rows} (11 rows), MAPE: NeuSight 5.5 %, gpureport 10.0 %" for rows in ("all", "of 100 µs and more")
    )
    assert "| copy | 11 | 10 / **10** | 200 / 200 | **5** / 30 |" in found["rivals"]
    assert "| AMD GPU | all | 1 | 11 | 10.0 % | 10 % | 10.0 % | 1.10 | 82 % | MISS |" in found["coverage"]
    assert "| theirs | AMD GPU | CDNA 1 | unseen device | 1 | 11 |" in found["generations"]
    assert found["unpredicted"] == "- theirs: fold (1 row)"
    assert "| file | theirs | 1 | 1 | 10.0 %" in found["sealed"]


def test_files_of_sealed_predictions_are_listed_with_their_hash(tmp_path: Path) -> None:
    row = {"result": "new", "device": "amd/mi100", "workload": "copy/fold", "predicted": 1.0, "expected": (0.5, 2.0)}
    text, hashed = seal([row | {"observed": None}], load_database(), "2026-11-29T12:00:00+00:00")
    write_file(tmp_path / "published" / "sealed" / "first.json", text)

    (line,) = script.sealed(frame([]), tmp_path)
    assert line == f"- first, 2026-11-29, gpureport {__version__}: 1 row, 0 of them with a time. SHA-256 `{hashed}`"


def test_unknown_options_start_nothing() -> None:
    mistyped = [sys.executable, ROOT / "scripts" / "accuracy.py", "--scorebord"]

    run = subprocess.run(mistyped, capture_output=True, text=True, check=False)

    assert run.returncode == 2
    assert "unrecognized arguments: --scorebord" in run.stderr
