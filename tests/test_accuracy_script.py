"""The accuracy table of the README: its place and its format."""
# ruff: noqa: D103 - the names of the tests say what they check

import sys
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import pytest

from gpureport.errors import GpuReportError
from gpureport.validate.targets import TARGETS, Summary, TargetResult, judge

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    yield import_module("accuracy")
    sys.path.remove(str(ROOT / "scripts"))


def test_the_readme_has_a_row_for_each_target(script: Any) -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition(script.BEGIN)[2].partition(script.END)[0]

    named = [line.split("|")[1].strip() for line in table.strip().splitlines()[2:]]
    assert named == [target.data for target in TARGETS]


def test_the_table_is_replaced_and_nothing_else(script: Any) -> None:
    text = f"before\n{script.BEGIN}\nold\n{script.END}\nafter\n"

    once = script.with_table(text, r"| new \1 |")

    assert once == f"before\n{script.BEGIN}\n\n| new \\1 |\n\n{script.END}\nafter\n"
    assert script.with_table(once, r"| new \1 |") == once


def test_a_readme_without_marks_is_refused(script: Any) -> None:
    with pytest.raises(GpuReportError, match="lacks the lines"):
        script.with_table("nothing", "table")


def test_cells_combine_error_limit_and_result(script: Any) -> None:
    target = next(target for target in TARGETS if target.what == "n90" and target.calibrated)
    summary = Summary(n=26, median=0.7, p90=0.8, ratio=1.0, inside=1.0, not_observed=1, not_predicted=0)
    results = (
        TargetResult(target, "specification", summary, reached=inf, of_matched=0.753, passed=False),
        TargetResult(target, "calibrated", summary, reached=0.09, of_matched=0.09, passed=True),
    )

    assert script.row(results) == (
        target.data,
        "n90, median",
        "26, unmatched 1 + 0",
        f"(75.3 %) (≤ {100 * target.specification:.0f} % MISS)",
        f"9.0 % (≤ {100 * target.calibrated:.0f} % pass)",
    )
    assert script.markdown(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_targets_without_data_and_without_calibration_leave_cells_blank(script: Any) -> None:
    target = next(target for target in TARGETS if target.calibrated is None)
    (results,) = judge([], [target])

    assert script.row(results)[3:] == (f"no data (≤ {100 * target.specification:.0f} %)", "")
