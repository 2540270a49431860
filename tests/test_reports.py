"""The results kept in the repository: real devices, measured once, that today's code must still understand."""

import pytest

from gpureport.matching import match_features
from gpureport.records.finding import Verdict
from gpureport.records.report import Report
from gpureport.report.curves import curves
from gpureport.report.pdf import layout
from tests.kept import CPU, GPU, NAMES, kept, kept_html

pytestmark = pytest.mark.xdist_group("documents")
"""They share the rendered reports."""


@pytest.fixture(params=[name if name in (CPU, GPU) else pytest.param(name, marks=pytest.mark.slow) for name in NAMES])
def report(request: pytest.FixtureRequest) -> Report:
    return kept(request.param)


@pytest.mark.parametrize(("name", "most"), [(GPU, 9), (CPU, 7)])
def test_page_one_is_one_page_and_the_body_is_short(name: str, most: int) -> None:
    html = kept_html(name)
    for end, pages in (('<section class="origin"', 1), ('<h2 id="figures">', most)):
        assert len(layout(html[: html.index(end)]).pages) <= pages


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in (GPU, CPU)])
def test_all_others_can_be_rendered(name: str) -> None:
    assert kept(name).device.name in kept_html(name)


def test_it_is_complete_and_right(report: Report) -> None:
    assert report.status == "complete"
    assert all(m.verification.passed for m in report.measurements if m.verification)
    assert all(m.skipped or any(point.samples_s for point in m.points) for m in report.measurements)
    assert report.findings


def test_specification_predictions_came_first(report: Report) -> None:
    begun = {m.key: m.started_at for m in report.measurements if m.started_at}
    for prediction in report.predictions:
        limit = min(begun.values()) if prediction.kind == "specification" else begun.get(prediction.key)
        assert limit is None or prediction.made_at[:19] <= limit[:19]


def test_the_caches_of_an_h200_give_out_where_predicted() -> None:
    observed = {o.key: o for o in kept(GPU).observations}
    found = set()
    for prediction in kept(GPU).predictions:
        if prediction.key.workload in {"memory/latency", "memory/read"}:
            for match in match_features(prediction.features, observed[prediction.key].features):
                if match.predicted and match.predicted.position == "midpoint":
                    assert match.observed is not None
                    assert 1 / 1.5 < match.observed.value / match.predicted.value < 1.5
                    found.add((prediction.key.variant, str(match.predicted.level)))

    assert found == {("latency", "L1"), ("latency", "L2 near partition"), ("latency", "L2"), ("read", "L2")}


def test_no_rate_of_the_h200_breaks_a_ceiling() -> None:
    assert not [f for f in kept(GPU).findings if f.verdict == Verdict.ERROR]


def test_figures_draw_the_tapers_that_tables_list() -> None:
    listed = {(f.key, f.basis, f.predicted) for f in kept(GPU).findings if f.position == "n90"}
    drawn = [c for c in curves(kept(GPU)) if c.observation and c.prediction]
    tapers = {(c.key, c.prediction.kind, f.value) for c in drawn for f in c.prediction.features if f.position == "n90"}

    assert len(tapers) > 20
    assert tapers <= listed
