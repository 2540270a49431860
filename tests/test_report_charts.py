"""Data of interactive charts: the numbers of the report, in the page and not in the PDF."""
# ruff: noqa: D103 - the names of the tests say what they check

import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gpureport.records.curves import Points
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, curves
from gpureport.report.figures.charts import Chart, chart_json, roofline_charts, sweep_charts
from gpureport.report.figures.roofline import roofline_dots
from gpureport.report.render import write_report
from tests.make_report import many_variants

VENDOR = Path(__file__).parents[1] / "templates" / "vendor"
HOSTILE = "</script><b>\u202e"


@cache
def report() -> Report:
    return many_variants(families=2, each=2)


def curve(quantity: str) -> CurveRecords:
    """Return the first sweep over *quantity* that was observed."""
    return next(c for c in curves(report()) if c.axis.quantity == quantity and c.observation)


def known(chart: Chart, kind: str) -> list[tuple[float, float]]:
    """Return x and value of a series, where there is a value."""
    (series,) = (each for each in chart.series if each.kind == kind)
    return [(x, value) for x, value in zip(chart.at, series.values, strict=True) if value is not None]


def test_a_curve_has_the_points_of_its_records() -> None:
    found = curve("working_set")
    assert found.prediction
    spreads = [1 + number / 8 for number in range(len(found.prediction.points))]
    banded = tuple(p.model_copy(update={"spread": s}) for p, s in zip(found.prediction.points, spreads, strict=True))
    kind = found.prediction.kind
    found = replace(found, **{kind: found.prediction.model_copy(update={"points": Points(banded)})})
    (chart,) = sweep_charts([found], ["title"])
    assert found.observation
    assert found.specification
    points = sorted(found.observation.points, key=lambda point: point.point.x)
    predicted = sorted(found.specification.points, key=lambda point: point.point.x)

    assert known(chart, "observed") == [pytest.approx((p.point.x, p.value), rel=1e-5) for p in points]
    assert known(chart, "specification") == [pytest.approx((p.point.x, p.value), rel=1e-5) for p in predicted]
    observed = next(series for series in chart.series if series.kind == "observed")
    ends = [(low, high) for low, high in zip(observed.low, observed.high, strict=True) if low is not None]
    assert ends == [pytest.approx((p.ci_low, p.ci_high), rel=1e-5) for p in points]
    (with_band,) = (series for series in chart.series if series.spread)
    assert with_band.kind == kind
    assert with_band.spread == pytest.approx(spreads)
    assert (chart.x.unit, chart.x.spacing, chart.y.unit) == ("B", "log2", found.value_unit)
    assert list(chart.at) == sorted(chart.at)


def test_a_roofline_has_its_dots_below_its_ceilings() -> None:
    device = report().device
    dots = roofline_dots([c for c in curves(report()) if c.key.family == "family_00"], device)
    charts = roofline_charts(dots, device)
    assert len(charts) == len({dot.operations for dot in dots})
    predicted = sorted(dot for chart in charts for dot in known(chart, "specification"))
    assert predicted == [pytest.approx(dot, rel=1e-5) for dot in sorted((d.intensity, d.predicted_per_s) for d in dots)]
    for chart in charts:
        ceilings = [series.values for series in chart.series if series.kind == "ceiling"]
        assert len(ceilings) == 2 + len(device.caches) + 1
        for intensity, value in known(chart, "specification"):
            here = chart.at.index(intensity)
            assert value <= 1.01 * max(ceiling[here] or 0 for ceiling in ceilings)
        slope = device.memory.bandwidth_bytes_per_s
        memory = [(x, y) for x, y in zip(chart.at, ceilings[0], strict=True) if y is not None]
        assert len(memory) >= 2
        assert memory == [pytest.approx((x, x * slope), rel=1e-4) for x, _ in memory]


def test_names_cannot_leave_their_element() -> None:
    (chart,) = sweep_charts([curve("case")], [HOSTILE], cases=True)
    text = chart_json([chart])
    assert "<" not in text
    assert "\u202e" not in text
    assert json.loads(text)[0]["title"] == "</script><b> "


def test_data_are_in_the_page_and_not_in_the_pdf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[str] = []

    def taken(pages: list[str], _: str) -> list[bytes]:
        given.extend(pages)
        return []

    monkeypatch.setattr("gpureport.report.render.pdfs", taken)
    (file,) = write_report(report(), tmp_path)
    data = re.findall(r'<script type="application/json">(.*?)</script>', file.read_text(), re.DOTALL)
    assert len(data) >= 4
    assert all(json.loads(text) for text in data)
    assert len(given) == 2
    assert not any("<script" in page for page in given)


def test_vendored_files_are_those_of_the_locked_version() -> None:
    sums = dict(reversed(line.split()) for line in (VENDOR / "sha256sums.txt").read_text().splitlines())
    files = {path.relative_to(VENDOR).as_posix(): path.read_bytes() for path in (VENDOR / "uplot").iterdir()}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == sums
    lock = json.loads((VENDOR / "package-lock.json").read_text())["packages"]
    wanted = json.loads((VENDOR / "package.json").read_text())["dependencies"]
    assert lock[""]["dependencies"] == wanted
    package = lock["node_modules/uplot"]
    assert package["integrity"].startswith("sha512-")
    assert package["license"] == "MIT"
    assert package["version"] == wanted["uplot"]
    assert f"(v{wanted['uplot']})" in files["uplot/uPlot.iife.min.js"].decode()[:100]
