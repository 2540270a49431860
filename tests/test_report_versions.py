"""Reports of every version of the format: each opens, renders and compares like a current one.

``tests/data/report_schema_1_first.json`` is the first report of version 1, of an H200, reduced to two workloads and
five samples per point. Fields that the version got later are missing in it. Version 2 is the same report, converted.
"""

import json
from pathlib import Path

import pytest

from gpureport.compare import compare, reduced
from gpureport.notebook.frames import ReportFrames
from gpureport.records.finding import Verdict
from gpureport.records.prediction import Arithmetic
from gpureport.records.report import SCHEMA_VERSION, Report, load_report, save_report
from gpureport.records.version_1 import upgraded
from gpureport.report.render import render_html

DATA = Path(__file__).parent / "data"
KEPT = Path(__file__).parents[1] / "reports" / "nvidia-h200"


def test_version_1_has_the_records_of_version_2() -> None:
    """Both files have the same contents under different names."""
    one, two = (json.loads((DATA / f"report_schema_{version}_first.json").read_text()) for version in (1, 2))

    assert (one["schema_version"], two["schema_version"]) == (1, 2)
    assert Report.model_validate(upgraded(one)) == Report.model_validate(two)
    old = {"workload", "binding", "sums", "alone", "wave_width", "bandwidth_extent", "departure", "arrival"}
    assert old <= _names(one["predictions"]) | _names(one["device"]) | _names(one["findings"]) | {"alone", "sums"}
    assert not old & (_names(two["predictions"]) | _names(two["device"]) | _names(two["findings"]))


def _names(value: object) -> set[str]:
    """Return all keys, and all positions of features, in JSON."""
    if isinstance(value, dict):
        return set().union(value, {str(value.get("position"))}, *map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()


def test_an_arithmetic_of_version_1_keeps_its_lines() -> None:
    """Its field ``sums`` is ``steps`` in version 2."""
    line = {"name": "time", "formula": "launch.batched", "numbers": "2e-6", "value": 2e-6}
    old = {"predictions": [{"arithmetic": {"point": "8", "sums": [line]}}]}

    (prediction,) = upgraded(old)["predictions"]
    assert Arithmetic.model_validate(prediction["arithmetic"]).steps[0].formula == "launch.batched"


@pytest.fixture(params=range(1, SCHEMA_VERSION + 1))
def first(request: pytest.FixtureRequest) -> Report:
    """The first report of a version."""
    return load_report(DATA / f"report_schema_{request.param}_first.json")


def test_it_opens_renders_and_has_frames(first: Report) -> None:
    """Missing fields are empty."""
    assert first.device.name in render_html(first)
    assert not first.timings
    frames = ReportFrames(first)
    assert len(frames.findings) == len(first.findings) > 0
    assert frames.findings["predicted_low"].isna().all()
    assert frames.points["observed"].notna().any()


def test_an_overlap_of_intervals_is_no_agreement(first: Report, tmp_path: Path) -> None:
    """It was in the first reports, which open with current verdicts."""
    near, *others = (finding for finding in first.findings if finding.verdict is Verdict.AGREES and finding.ratio)
    wide = near.model_copy(update={"ratio": 1.5})
    save_report(first.model_copy(update={"findings": (wide, *others)}), tmp_path / "report.json")

    opened = load_report(tmp_path)

    assert [finding.verdict for finding in opened.findings] == [Verdict.WITHIN, *(f.verdict for f in others)]


def test_it_is_compared_with_a_report_of_today(first: Report) -> None:
    """On the same device: workload by workload, and sweep by sweep."""
    today = load_report(KEPT)
    comparison = compare({"today": reduced(today), "first": reduced(first)})

    assert {contest.workload for contest in comparison.contests} == set(first.workloads) & set(today.workloads)
    assert all(s.to_baseline for contest in comparison.contests for s in contest.standings)
    assert comparison.differences
    differing = {condition.what for condition in comparison.conditions}
    assert ("schema" in differing) is (first.schema_version != today.schema_version)
