"""Reports of every version of the format that there was: each opens, and does what one of today does.

``tests/data/report_schema_N_first.json`` is the first report that was kept in version N, an H200's, with two workloads
and five samples a point of it; fields that the version got later are missing in it.
"""

from pathlib import Path

import pytest

from gpureport.compare import compare, reduced
from gpureport.notebook.frames import ReportFrames
from gpureport.records.finding import Verdict
from gpureport.records.report import SCHEMA_VERSION, Report, load_report, save_report
from gpureport.report.render import render_html

DATA = Path(__file__).parent / "data"
KEPT = Path(__file__).parents[1] / "reports" / "nvidia-h200"


@pytest.fixture(params=range(1, SCHEMA_VERSION + 1))
def first(request: pytest.FixtureRequest) -> Report:
    """The first report of a version."""
    return load_report(DATA / f"report_schema_{request.param}_first.json")


def test_it_opens_renders_and_has_frames(first: Report) -> None:
    """What it lacks is empty."""
    assert first.device.name in render_html(first)
    assert not first.timings
    frames = ReportFrames(first)
    assert len(frames.findings) == len(first.findings) > 0
    assert frames.findings["predicted_low"].isna().all()
    assert frames.points["observed"].notna().any()


def test_what_only_lies_within_an_interval_is_not_called_agreement(first: Report, tmp_path: Path) -> None:
    """The first reports called it so: they open with today's grades."""
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
