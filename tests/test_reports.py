"""The results kept in the repository: real devices, measured once, that today's code must still understand."""

import pytest

from gpureport.records.report import Report
from gpureport.report.curves import curves
from gpureport.report.pdf import layout
from tests.kept import CPU, GPU, NAMES, kept, kept_html
from tests.page_boxes import strays

pytestmark = pytest.mark.xdist_group("documents")
"""They share the rendered reports."""


@pytest.fixture(params=[name if name in (CPU, GPU) else pytest.param(name, marks=pytest.mark.slow) for name in NAMES])
def report(request: pytest.FixtureRequest) -> Report:
    return kept(request.param)


@pytest.mark.usefixtures("pango")
@pytest.mark.parametrize(("name", "most"), [(GPU, 9), (CPU, 7)])
def test_page_one_is_one_page_and_the_body_is_short(name: str, most: int) -> None:
    html = kept_html(name)
    for end, pages in (('<section class="origin"', 1), ('<h2 id="figures">', most)):
        assert len(layout(html[: html.index(end)]).pages) <= pages


@pytest.mark.usefixtures("pango")
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in (GPU, CPU)])
def test_page_one_of_all_others_stays_within_its_margins(name: str) -> None:
    html = kept_html(name)
    page = layout(html[: html.index('<section class="origin"')])
    assert len(page.pages) == 1
    assert not list(strays(page))


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


def test_figures_draw_the_tapers_that_tables_list() -> None:
    listed = {(f.key, f.basis, f.predicted) for f in kept(GPU).findings if f.position == "n90"}
    drawn = [c for c in curves(kept(GPU)) if c.observation and c.prediction]
    tapers = {(c.key, c.prediction.kind, f.value) for c in drawn for f in c.prediction.features if f.position == "n90"}

    assert len(tapers) > 20
    assert tapers <= listed
